/* SPDX-License-Identifier: Apache-2.0 */
/** @file block_error.h  B for a product of one block, and C against the FP64 product. */
#ifndef BENCH_BLOCK_ERROR_H
#define BENCH_BLOCK_ERROR_H

#include "matrix/csr.h"

/** Fill @p B, host [n_cols x n] of the type of @p A, with random values; for FP16 scaled by a power
 *  of two so that sums stay in range. */
void bench_block_random(const spmm_csr_t *A, int64_t n, void *B);

/** Largest |C - FP64 product| / (|A| |B|), after what underflow may cost, over rows here and there
 *  of @p A, whose rows are those of C in their order, and over all elements that are no finite
 *  numbers, where it is infinite.
 *  @param[in] B, C  host, row-major, of the type of A: [n_cols x n], [n_rows x n] */
double bench_block_error(const spmm_csr_t *A, int64_t n, const void *B, const void *C);

#endif /* BENCH_BLOCK_ERROR_H */
