/* SPDX-License-Identifier: Apache-2.0 */
/** @file block.h
 *  Benchmarks below the public API: a matrix as one block, B and C of its products on host and
 *  device, C against the FP64 product, times, and matrices one after the other on one GPU.
 */
#ifndef BENCH_BLOCK_H
#define BENCH_BLOCK_H

#include "engine/engine.h"
#include "matrix/csr.h"
#include "partition/reorder/reorder.h"

/** The last part of a path; a spec as it is. */
const char *bench_block_name(const char *path);

/** Read the file, or generate it where @p path is a spec, on one rank, with values of @p type;
 *  *block is the caller's to free. */
spmm_status_t bench_block_read(spmm_env_t *env, const char *path, spmm_type_t type,
                               spmm_csr_t *block);

/** The rows of @p block in the order of @p method, into *permuted, the caller's to free.
 *  @param[out] seconds  NULL, or CPU seconds of all threads that the order took */
spmm_status_t bench_block_reorder(spmm_env_t *env, const spmm_reorderer_t *method,
                                  const spmm_csr_t *block, spmm_csr_t *permuted, double *seconds);

/** Fill @p B, host [n_cols x n] of the type of @p A, with random values; for FP16 scaled by a power
 *  of two so that sums stay in range. */
void bench_block_random(const spmm_csr_t *A, int64_t n, void *B);

/** Largest |C - FP64 product| / (|A| |B|), after what underflow may cost, over rows here and there
 *  of @p A, whose rows are those of C in their order, and over all elements that are no finite
 *  numbers, where it is infinite.
 *  @param[in] B, C  host, row-major, of the type of A: [n_cols x n], [n_rows x n] */
double bench_block_error(const spmm_csr_t *A, int64_t n, const void *B, const void *C);

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

/** Median seconds of products in a format of @p engine, or in one that its build() made, and their
 *  error; C is overwritten with NaN before. */
spmm_status_t bench_operands_measure(const bench_operands_t *o, const spmm_engine_ops_t *engine,
                                     void *format, int64_t iterations, double *seconds,
                                     double *error);

/** Fetch C to host_C.  @param[out] error  as bench_block_error() */
spmm_status_t bench_operands_error(const bench_operands_t *o, double *error);

typedef spmm_status_t (*bench_run_t)(spmm_env_t *env, const char *path);

/** A program that needs no GPU: start MPI, print @p titles and run each of @p paths, which end with
 *  NULL, with one thread.  @return 0, or 3 where one failed */
int bench_block_each(const char *program, const char *titles, bench_run_t run, char **paths);

enum { BENCH_WARMUP = 3 };

/** Enqueue one product on the stream that is timed. */
typedef spmm_status_t (*bench_product_t)(void *self);

/** Median device time of @p iterations products after BENCH_WARMUP; the device waits until the
 *  host, whose launches are not timed, is ahead. */
spmm_status_t bench_block_median(const spmm_device_t *device, spmm_stream_t stream,
                                 int64_t iterations, bench_product_t product, void *self,
                                 double *seconds);

#endif /* BENCH_BLOCK_H */
