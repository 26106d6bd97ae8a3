/* SPDX-License-Identifier: Apache-2.0 */
/** @file args.h
 *  The arrays of octet as its kernel and its decoder take them.  Rows stand in windows of 8; the
 *  columns that have an entry in a window, condensed, in blocks of 4.  A block is what mma.m8n8k4
 *  takes for A.
 */
#ifndef SPMM_ENGINE_OCTET_ARGS_H
#define SPMM_ENGINE_OCTET_ARGS_H

#include "engine/windows/tc_args.h"

enum {
    SPMM_OCTET_ROWS = 8, /**< of a window */
    SPMM_OCTET_COLS = 4  /**< of a block */
};

typedef struct {
    int32_t         n_rows, n_windows;
    const int32_t  *block_ptr; /**< [n_windows + 1] first block of a window */
    const int32_t  *col;  /**< [n_blocks * 4] row of B of each column; SPMM_TC_NO_COLUMN: none */
    const uint32_t *bits; /**< [n_blocks] bit 4 r + c: entry (r, c) is stored */
    const int32_t  *value_ptr; /**< [n_blocks + 1] first value of a block */
    const double   *values;    /**< [nnz] of each block in the order of its bits */
} spmm_octet_arrays_t;

#endif /* SPMM_ENGINE_OCTET_ARGS_H */
