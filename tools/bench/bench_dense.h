/* SPDX-License-Identifier: Apache-2.0 */
/** @file bench_dense.h  Dense blocks, and the FP64 reference on the host. */
#ifndef BENCH_DENSE_H
#define BENCH_DENSE_H

#include "bench_options.h"

/** The dense operands of one width: host images and sets of device buffers. */
typedef struct {
    spmm_context_t *ctx; /**< borrowed */
    spmm_type_t     type;
    spmm_layout_t   layout;
    int64_t         rows, cols, n; /**< C [rows x n], B [cols x n] */
    int64_t         ldb, ldc;
    size_t          b_bytes, c_bytes;
    int64_t         check;           /**< multiplications of the reference, at most */
    void           *host_b, *host_c; /**< owned */
    int             n_sets;
    void          **B, **C; /**< [n_sets] device buffers, owned; all B are equal */
} bench_dense_t;

/** Allocate, draw B and upload it.  @p sets pairs are asked for, fewer are made when memory is out
 *  (at least one).  @return an exit code after a sentence on stderr */
int  bench_dense_create(spmm_context_t *ctx, const bench_options_t *options, int64_t rows,
                        int64_t cols, int64_t n, int sets, bench_dense_t *dense);
void bench_dense_free(bench_dense_t *dense);

/** Fill C of set 0 with NaN. */
int bench_dense_poison(bench_dense_t *dense);

/** max |C - ref| / (|A||B|) of C of set 0 over sampled rows; NaN in C gives infinity.
 *  @param[out] checked       rows compared
 *  @param[out] out_of_range  their elements that were not: the terms may leave the range of the
 *  type */
int bench_dense_error(bench_dense_t *dense, const spmm_matrix_t *A, double *error, int64_t *checked,
                      int64_t *out_of_range);

#endif /* BENCH_DENSE_H */
