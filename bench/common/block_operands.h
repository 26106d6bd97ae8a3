/* SPDX-License-Identifier: Apache-2.0 */
/** @file block_operands.h  B and C of products of one block, on host and device; C against the FP64
 *  product. */
#ifndef BENCH_BLOCK_OPERANDS_H
#define BENCH_BLOCK_OPERANDS_H

#include "engine/engine.h"
#include "matrix/csr.h"

typedef struct {
    const spmm_device_t *device; /**< borrowed, as is block */
    const spmm_csr_t    *block;
    int64_t              n;
    void                *B, *C;           /**< device, owned, row-major, of the type of block */
    void                *host_B, *host_C; /**< owned */
    spmm_stream_t        stream;
} bench_operands_t;

/** B [n_cols x n] random, C [c_rows x n].  Close @p o after a failure, too. */
spmm_status_t bench_operands_open(const spmm_device_t *device, const spmm_csr_t *block, int64_t n,
                                  bench_operands_t *o);
void          bench_operands_close(bench_operands_t *o);

/** Overwrite C with NaN, so that rows which a product forgets show. */
spmm_status_t bench_operands_poison(const bench_operands_t *o);

/** Enqueue a product in a format of @p engine. */
spmm_status_t bench_operands_multiply(const bench_operands_t *o, const spmm_engine_ops_t *engine,
                                      void *format);

/** Median seconds of products in a format of @p engine, or in one that its build() made, and their
 *  error; C is overwritten with NaN before. */
spmm_status_t bench_operands_measure(const bench_operands_t *o, const spmm_engine_ops_t *engine,
                                     void *format, int64_t iterations, double *seconds,
                                     double *error);

/** Fetch C to host_C.  @param[out] error  as bench_block_error() */
spmm_status_t bench_operands_error(const bench_operands_t *o, double *error);

#endif /* BENCH_BLOCK_OPERANDS_H */
