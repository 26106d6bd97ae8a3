/* SPDX-License-Identifier: Apache-2.0 */
/** @file engine_case.h
 *  One engine on one GPU against an FP64 product of the same stored values; any engine can be put
 *  through it.
 */
#ifndef SPMM_ENGINE_CASE_H
#define SPMM_ENGINE_CASE_H

#include "gpu_test.h"

#include "engine/engine.h"

/** Row lengths of a test block: 1 to 20 with every fifth row empty; none; as MIXED, with row 3
 *  full. */
typedef enum { MIXED, NO_ENTRIES, DENSE_ROW } pattern_kind_t;

/** A block with random values; @p mapped: into every other row of C. */
void make_block(int32_t n_rows, int32_t n_cols, pattern_kind_t kind, spmm_type_t type, bool mapped,
                spmm_csr_t *block);

/** One execute: shape, scalars, dense blocks on the host. */
typedef struct {
    const spmm_csr_t *block;
    spmm_problem_t    problem;
    int64_t           n, ldb, ldc, b_size, c_size;
    double            alpha, beta;
    void             *B, *C, *got;
} product_t;

/** Allocate and draw B and C for @p n columns, leading dimensions @p extra above the least; C is
 *  NaN where beta == 0.  Free with free_product(). */
void make_product(product_t *p, int64_t n, int64_t extra);
void free_product(product_t *p);

/** Execute on a stream of its own and fetch C into p->got. */
void run_product(const spmm_engine_ops_t *engine, const spmm_device_t *device, void *format,
                 product_t *p);

/** Compare all of C: products where a row of A maps, the old bits everywhere else. */
void check_product(const product_t *p);

/** Build once and execute with changing n, ld and scalars, as plans do. */
void check_engine_block(const spmm_engine_ops_t *engine, const spmm_device_t *device,
                        const spmm_csr_t *block, spmm_type_t c_type, spmm_layout_t layout,
                        int64_t planned, bool deterministic);

#endif /* SPMM_ENGINE_CASE_H */
