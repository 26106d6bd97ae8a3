/* SPDX-License-Identifier: Apache-2.0 */
/** @file args.h  The arrays of panels as kernels and decoders take them. */
#ifndef SPMM_ENGINE_PANEL_ARGS_H
#define SPMM_ENGINE_PANEL_ARGS_H

#include "engine/tc/args.h"

enum {
    SPMM_PANEL_WINDOWS = 4,  /**< of a panel */
    SPMM_PANEL_HEIGHT  = 16, /**< rows of a window */
    SPMM_PANEL_STEP    = 16, /**< columns that come into shared memory at a time */
    SPMM_PANEL_SPAN    = 2,  /**< steps from the first column of a tile to its last, at most */
    SPMM_PANEL_TILE    = 8,  /**< columns of a tile */
    SPMM_PANEL_UNIT    = 16, /**< bytes that offsets count in; tiles start at multiples of it */
    SPMM_PANEL_PLACES  = 16, /**< bytes from the start of a tile, its bits: uint8_t [8] places */
    SPMM_PANEL_STEP_AT = 24, /**< uint16_t: the step of its last column; uint8_t: its units */
    SPMM_PANEL_COUNTS  = 28, /**< uint8_t [4]: values in front of each half of the bits' words */
    SPMM_PANEL_VALUES  = 32  /**< the same: its values */
};

/** Panels: windows with tiles of 8 of their columns, and the columns that the windows of a panel
 *  use in one list, by steps.  A tile: uint64_t [2] bits, of columns 0 to 3 and 4 to 7, bit
 *  r * 4 + c; where its columns stand in the list, from the start of the first step that may be in
 *  it; the step of the last one; the values in the order of their bits, four words of 32. */
typedef struct {
    int32_t              n_rows, n_windows, n_panels;
    const int32_t       *panel_step; /**< [n_panels + 1] first step of each panel */
    const int32_t       *col; /**< [steps * SPMM_PANEL_STEP] row of B, or SPMM_TC_NO_COLUMN */
    const int32_t       *window_start; /**< [n_windows + 1] its tiles, in units */
    const unsigned char *packed;       /**< the tiles, 16-byte aligned */
    const int32_t *tile_start; /**< [n_tiles + 1] in units; on the host alone, as what follows */
    const int32_t *tile_panel; /**< [n_tiles] */
    const int32_t *tile_ptr;   /**< [n_windows + 1] */
} spmm_panel_arrays_t;

#endif /* SPMM_ENGINE_PANEL_ARGS_H */
