/* SPDX-License-Identifier: Apache-2.0 */
/** @file ladder.h
 *  Two kernels of the thesis on sparse tensor cores (paper 003), for the benchmark alone: the last
 *  one of SMaT's ladder, and the best one of the thesis.  One warp computes a tile of 16 x 8 of C.
 */
#ifndef LADDER_H
#define LADDER_H

#include <stdint.h>

enum { LADDER_ROWS = 16, LADDER_WIDE = 32, LADDER_COLUMNS = 8 };
enum { LADDER_PACKED = 256, LADDER_META = 16 }; /* values and words of a 2:4 tile */

/** BCSR with tiles of 16 x width, FP16: a list of those that are 2:4, and one of the others, each
 *  by tile row, then column. */
typedef struct {
    int32_t         n_tile_rows;
    int32_t         width;                 /**< 16 or 32; 2:4 tiles with 32 only */
    const int32_t  *dense_ptr, *dense_col; /**< [n_tile_rows + 1]; of each tile, in tiles */
    const uint16_t *dense;                 /**< [16 x width] of each, row-major */
    const int32_t  *sparse_ptr, *sparse_col;
    const uint16_t *packed; /**< [16 x 16] of each: the two values kept of every four columns */
    const uint32_t *meta;   /**< [16] of each: word 2 g + h for rows g and g + 8 (upper half),
                                 columns 16 h to 16 h + 15: four bits for every four columns */
} ladder_tiles_t;

/** The steps; names in parentheses are the thesis's. */
typedef enum {
    LADDER_OBT,           /**< tiles of 16 x 16, two stages of asynchronous copies (mmaOBT) */
    LADDER_OBTS_SEPARATE, /**< the same on tiles of 16 x 32, mma.sp where they are 2:4, a loop for
                               each kind (mmaOBTS_large_separate) */
    LADDER_STEPS
} ladder_step_t;

/** Width of the tiles of a step. */
static inline int32_t ladder_width(ladder_step_t step)
{
    return step == LADDER_OBT ? LADDER_ROWS : LADDER_WIDE;
}

#endif /* LADDER_H */
