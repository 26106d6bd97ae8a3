/* SPDX-License-Identifier: Apache-2.0 */
/** @file bittcf_args.h  The arrays of BitTCF as kernels and decoders take them. */
#ifndef SPMM_ENGINE_WINDOWS_BITTCF_ARGS_H
#define SPMM_ENGINE_WINDOWS_BITTCF_ARGS_H

#include "engine/windows/tc_args.h"

enum {
    SPMM_BITTCF_SIDE = 8 /**< rows and columns of a TC block */
};

/** BitTCF: TC blocks of 8 condensed columns (Acc-SpMM, section 3.3).  The paper's windows have 8
 *  rows; here a window may have 1, 2 or 4 tiles of 8 rows, which share the columns of its
 *  blocks. */
typedef struct {
    int32_t         n_rows, n_cols, n_windows;
    int32_t         tiles;      /**< of 8 rows in a window: 1, 2 or 4 */
    const int32_t  *window_ptr; /**< [n_windows + 1] RowWindowOffset: first block of a window */
    const int32_t  *value_ptr;  /**< [n_blocks + 1] TCOffset: first value of a block */
    const int32_t  *col;        /**< [n_blocks * 8] SparseAToB: row of B of each column */
    const uint64_t *bits;       /**< [n_blocks * tiles] TCLocalBit of each tile: bit r * 8 + c:
                                     entry (r, c) is stored */
    const void     *values; /**< [nnz], of each block in the order of its tiles and their bits */
    spmm_type_t     type;   /**< of values */
} spmm_bittcf_arrays_t;

#endif /* SPMM_ENGINE_WINDOWS_BITTCF_ARGS_H */
