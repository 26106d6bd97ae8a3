/* SPDX-License-Identifier: Apache-2.0 */
/** @file pairs.h  Stable sort of the entries of one row by column. */
#ifndef SPMM_MATRIX_PAIRS_H
#define SPMM_MATRIX_PAIRS_H

#include <stdbool.h>
#include <stdint.h>

/** A column and what travels with it. */
typedef struct {
    int64_t col;
    union {
        double  value;
        int64_t from; /**< where the entry stood before */
    };
} spmm_pair_t;

/** Sort by column; equal columns keep their order.  O(n log n), O(n) when sorted already.
 *  @param[in] scratch  [n], overwritten */
void spmmi_pairs_sort(spmm_pair_t *pair, int64_t n, spmm_pair_t *scratch);

#endif /* SPMM_MATRIX_PAIRS_H */
