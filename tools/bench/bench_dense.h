/* SPDX-License-Identifier: Apache-2.0 */
/** @file bench_dense.h  Dense blocks of one width, and the error of a product. */
#ifndef BENCH_DENSE_H
#define BENCH_DENSE_H

#include "bench_options.h"
#include "driver_dense.h"

/** Sets of B and C: all B are equal. */
typedef struct {
    spmm_context_t *ctx;    /**< borrowed */
    driver_dense_t  values; /**< of B */
    int64_t         n;      /**< columns */
    int64_t         check;  /**< multiplications of the reference, at most */
    int             n_sets;
    driver_block_t *B, *C; /**< [n_sets], owned */
} bench_dense_t;

/** Allocate, draw B and upload it.  @p sets pairs are asked for, fewer are made when memory is out
 *  (at least one).  @return an exit code after a sentence on stderr */
int  bench_dense_create(spmm_context_t *ctx, const bench_options_t *options, int64_t rows,
                        int64_t cols, int64_t n, int sets, bench_dense_t *dense);
void bench_dense_free(bench_dense_t *dense);

/** Fill C of set 0 with NaN. */
int bench_dense_poison(bench_dense_t *dense);

/** max |C - ref| / (|A||B|) of C of set 0 over sampled rows; NaN in C gives infinity, as does a
 *  product of which nothing was compared.
 *  @param[out] checked       rows compared
 *  @param[out] out_of_range  their elements that were not: the terms may leave the range of the
 *  type */
int bench_dense_error(bench_dense_t *dense, const spmm_matrix_t *A, double *error, int64_t *checked,
                      int64_t *out_of_range);

#endif /* BENCH_DENSE_H */
