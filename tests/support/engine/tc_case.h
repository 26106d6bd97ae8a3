/* SPDX-License-Identifier: Apache-2.0 */
/** @file tc_case.h
 *  What an engine on a tensor-core format owes, on GPUs and on CPUs; engines of CSR owe the same.
 */
#ifndef SPMM_TC_CASE_H
#define SPMM_TC_CASE_H

#include "engine_case.h"

/** Who is to show it. */
typedef struct {
    const spmm_engine_ops_t *engine;
    const spmm_device_t     *device;
    spmm_compute_t           compute;    /**< 64F for FP64 data, else 32F or 32F_FAST_TF32 */
    spmm_type_t              type;       /**< of A and B; AUTO: FP64 or FP32, as compute says */
    bool                     wide_c;     /**< of 16-bit A and B: C in FP32 */
    bool                     by_columns; /**< B and C are column-major */
    bool                     small;      /**< fewer and smaller cases, for CPUs and sanitizers */
} tc_case_t;

/** Every width, shape, leading dimension, alignment and scalar. */
void tc_case_shapes(const tc_case_t *t);
/** Row-major: n that ends within an access of 16 bytes, or of 8; B ends with its last element, and
 *  what lies between its rows is NaN. */
void tc_case_edges(const tc_case_t *t);
/** One of them: @p k picks beta, leading dimension and alignment; @p variant as of the problem. */
void tc_case_edge(const tc_case_t *t, const spmm_csr_t *block, int64_t n, int k, int variant);
/** A long row of positive values: what a sum loses when it is not rounded to nearest. */
void tc_case_positive(const tc_case_t *t);
/** Values from 1e-30 to 1e30, in FP16 from 0.03 to 30, against |A| |B|. */
void tc_case_magnitudes(const tc_case_t *t);
/** Values whose TF32 or split form overflows although the product does not. */
void tc_case_huge(const tc_case_t *t);
/** Inf and NaN in rows of B, referenced and not; explicit zeros of A times Inf. */
void tc_case_not_finite(const tc_case_t *t);
/** Equal bits over runs and rebuilt formats, asked for or not. */
void tc_case_same_bits(const tc_case_t *t);
/** Refill and failed allocations. */
void tc_case_life(const tc_case_t *t);
/** What supports() says. */
void tc_case_supports(const tc_case_t *t);

/** A problem of @p n columns. */
spmm_problem_t tc_case_problem(const tc_case_t *t, int64_t n);
/** Products of @p width [n] columns with leading dimensions @p extra above them.
 *  @param[in] half  which half of them, 0 or 1; -1: all */
void tc_case_widths(const tc_case_t *t, const spmm_csr_t *block, const int64_t *width, int n,
                    const int64_t extra[3], int half);
/** Build, execute and check products that only differ in their dense blocks' values. */
void tc_case_check(const tc_case_t *t, product_t *p);

#endif /* SPMM_TC_CASE_H */
