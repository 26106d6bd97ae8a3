/* SPDX-License-Identifier: Apache-2.0 */
/** @file block_main.h  Benchmarks of one block on one GPU: matrices one after the other, and the
 *  time of a product. */
#ifndef BENCH_BLOCK_MAIN_H
#define BENCH_BLOCK_MAIN_H

#include "block_operands.h"

enum { BENCH_WIDTHS = 16, BENCH_WARMUP = 3 };

/** What a benchmark does with a matrix.  @return an exit code: 0, 1 wrong product, 3 matrix, 4
 *  other */
typedef int (*bench_block_run_t)(const spmm_device_t *device, const char *path, void *self);

/** Start MPI and the GPU, let @p head print the first lines, and run each of @p paths, which end
 *  with NULL.  @return the largest exit code, 4 where there is no GPU */
int bench_block_main(const char *program, char **paths, void (*head)(const spmm_device_t *, void *),
                     bench_block_run_t run, void *self);

/** Print the error of the device's environment and clear it.  @return 3, or 0 for SPMM_OK */
int bench_block_failed(const char *program, const char *path, const spmm_device_t *device,
                       spmm_status_t status);

/** Products of a matrix at one width.  @p problem has the facts of the pattern; *is_wrong is set
 *  where a C was. */
typedef spmm_status_t (*bench_block_width_t)(const bench_operands_t *o,
                                             const spmm_problem_t *problem, const char *name,
                                             bool *is_wrong);

/** A program `N,N,... MATRIX...`: @p one with FP16 operands of each width of each matrix.
 *  @param[in] usage      arguments, as the sentence about wrong ones has them
 *  @param[in] arguments  those, without options before them
 *  @return the exit code */
int bench_block_widths_main(const char *program, const char *usage, char **arguments,
                            void (*head)(const spmm_device_t *, void *), bench_block_width_t one);

/** Enqueue one product on the stream that is timed. */
typedef spmm_status_t (*bench_product_t)(void *self);

/** Median device time of @p iterations products after BENCH_WARMUP; the device waits until the
 *  host, whose launches are not timed, is ahead. */
spmm_status_t bench_block_median(const spmm_device_t *device, spmm_stream_t stream,
                                 int64_t iterations, bench_product_t product, void *self,
                                 double *seconds);

#endif /* BENCH_BLOCK_MAIN_H */
