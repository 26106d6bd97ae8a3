/* SPDX-License-Identifier: Apache-2.0 */
/** @file pair_matrix.h  A matrix of which a row is itself and twice another one, mostly of another
 *  rank: all sums of a row are the same, and an exchange that gives old or wrong rows is seen. */
#ifndef SPMM_PAIR_MATRIX_H
#define SPMM_PAIR_MATRIX_H

#include "spmm_dist/spmm_dist.h"

enum { PAIR_ROW_SUM = 3 };

/** The other row of @p row, where each rank has @p rows. */
int64_t pair_other(int64_t row, int64_t rows);

/** @p rows on each rank, square, FP32.  Collective; asserts that it can be made. */
spmm_matrix_t *pair_matrix(spmm_context_t *ctx, int64_t rows);
/** The same; the first @p full rows of each rank have entries in all columns of the rank, of which
 *  all others are 0. */
spmm_matrix_t *pair_matrix_full(spmm_context_t *ctx, int64_t rows, int64_t full);

#endif /* SPMM_PAIR_MATRIX_H */
