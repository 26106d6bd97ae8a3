/* SPDX-License-Identifier: Apache-2.0 */
/** @file ladder.h
 *  The kernels of the thesis on sparse tensor cores (paper 003) as steps of a ladder, from SMaT's
 *  first one on, for the benchmark alone: one warp computes a tile of 16 x 8 of C.
 */
#ifndef LADDER_H
#define LADDER_H

#include <stdint.h>

enum { LADDER_ROWS = 16, LADDER_WIDE = 32, LADDER_COLUMNS = 8 };
enum { LADDER_PACKED = 256, LADDER_META = 16 }; /* values and words of a 2:4 tile */

/** BCSR with tiles of 16 x width, FP16.  Tiles stand by tile row, then column; those that are 2:4
 *  and the others in a list of each kind too, in the same order. */
typedef struct {
    int32_t         n_tile_rows, n_tile_cols;
    int32_t         width;   /**< 16 or 32; 2:4 tiles with 32 only */
    const int32_t  *map;     /**< [n_tile_rows x n_tile_cols] number of a tile, -1: it is empty */
    const int32_t  *row_ptr; /**< [n_tile_rows + 1] of all tiles */
    const int32_t  *col;     /**< of each tile, in tiles */
    const int32_t  *at;      /**< of each tile: its number among those of its kind */
    const uint8_t  *sp24;    /**< of each tile: is it 2:4? */
    const int32_t  *dense_ptr, *dense_col; /**< the list of the others */
    const uint16_t *dense;                 /**< [16 x width] of each, row-major */
    const int32_t  *sparse_ptr, *sparse_col;
    const uint16_t *packed; /**< [16 x 16] of each: the two values kept of every four columns */
    const uint32_t *meta; /**< [16] of each: word 2 g + h for rows g and g + 8 (upper half), columns
                                 16 h to 16 h + 15: four bits for every four columns */
} ladder_tiles_t;

/** The steps; names in parentheses are the thesis's. */
typedef enum {
    LADDER_T,          /**< every tile of A is asked whether it is empty (mmaT) */
    LADDER_BT,         /**< list of tiles (mmaBT) */
    LADDER_CBT,        /**< asynchronous copies (mmaCBT) */
    LADDER_OBT,        /**< two stages of them (mmaOBT) */
    LADDER_ST_LARGE,   /**< LADDER_T on tiles of 16 x 32, mma.sp where they are 2:4 (mmaST_large) */
    LADDER_OBTS_LARGE, /**< LADDER_OBT on such tiles, asking each for its kind (mmaOBTS_large) */
    LADDER_OBTS_SEPARATE, /**< a loop for each kind (mmaOBTS_large_separate) */
    LADDER_STEPS
} ladder_step_t;

/** Width of the tiles of a step. */
static inline int32_t ladder_width(ladder_step_t step)
{
    return step < LADDER_ST_LARGE ? LADDER_ROWS : LADDER_WIDE;
}

#endif /* LADDER_H */
