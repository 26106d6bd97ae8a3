/* SPDX-License-Identifier: Apache-2.0 */
/** @file hrpb_args.h  The arrays of HRPB as kernels and decoders take them. */
#ifndef SPMM_ENGINE_WINDOWS_HRPB_ARGS_H
#define SPMM_ENGINE_WINDOWS_HRPB_ARGS_H

#include "engine/windows/tc_args.h"

enum {
    SPMM_HRPB_BLOCK    = 16, /**< TK: columns of a block */
    SPMM_HRPB_BRICK_M  = 16,
    SPMM_HRPB_BRICK_K  = 4,
    SPMM_HRPB_UNIT     = 16, /**< bytes that size_ptr counts in; blocks start at multiples of it */
    SPMM_HRPB_COL_PTR  = 0,  /**< bytes from the start of a packed block: uint8_t [5] */
    SPMM_HRPB_ROWS     = 8,  /**< uint8_t [8] */
    SPMM_HRPB_PATTERNS = 16  /**< uint64_t [panel_rows / 16 * 4], then the values */
};

/** HRPB: blocks of panel_rows x 16 made of 16x4 bricks (cuTeSpMM, section 3.2); FP32 values. */
typedef struct {
    int32_t              n_rows, n_panels;
    int32_t              panel_rows; /**< TM: 16 or 32 */
    const int32_t       *block_ptr;  /**< [n_panels + 1] blockedRowPtr: first block of a panel */
    const int32_t       *size_ptr;   /**< [n_blocks + 1] sizePtr, in units of 16 bytes */
    const int32_t       *col;        /**< [n_blocks * 16] activeCols: row of B of each column */
    const unsigned char *packed;     /**< packedBlocks, 16-byte aligned */
} spmm_hrpb_arrays_t;

#endif /* SPMM_ENGINE_WINDOWS_HRPB_ARGS_H */
