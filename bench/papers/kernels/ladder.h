/* SPDX-License-Identifier: Apache-2.0 */
/** @file ladder.h
 *  The kernels of the thesis on sparse tensor cores (paper 003), SMaT's ones among them, as steps
 *  of a ladder, for the benchmark alone.  One warp computes a tile of 16 x 8 of C.
 */
#ifndef LADDER_H
#define LADDER_H

#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stdint.h>

enum { LADDER_ROWS = 16, LADDER_WIDE = 32, LADDER_COLUMNS = 8 };
enum { LADDER_BLOCK = 2 }; /* tiles of 16 x 16 along each side of a tile of mmaOBT_tiled */

/** A tile in the list of all. */
typedef struct {
    int32_t col; /**< in tiles */
    int32_t at;  /**< twice its number among those of its kind, and 1 where it is 2:4 */
} ladder_listed_t;

/** BCSR with tiles of 16 x width, FP16, by tile row, then column: all, and a list for each kind. */
typedef struct {
    int32_t                n_tile_rows, n_tile_cols;
    int32_t                width; /**< 16 or 32 */
    const int32_t         *map; /**< [n_tile_rows x n_tile_cols] number of a tile, -1: it is empty;
                                       NULL: too many */
    const int32_t         *ptr; /**< [n_tile_rows + 1] of all tiles */
    const ladder_listed_t *list;
    const int32_t         *dense_ptr, *dense_col; /**< of those that are not 2:4 */
    const uint16_t        *dense;                 /**< [16 x width] of each, row-major */
    const int32_t         *sparse_ptr, *sparse_col;
    const uint16_t *packed; /**< [16 x width / 2]: the two values kept of every four columns */
    const uint32_t *meta; /**< [width / 2]: word g width / 16 + h for rows g and g + 8 (upper half),
                                 columns 16 h to 16 h + 15: four bits for every four columns */
} ladder_tiles_t;

/** How tiles are made. */
typedef enum {
    LADDER_DENSE_16,  /**< 16 x 16, none 2:4 */
    LADDER_SPARSE_16, /**< 2:4 where they can be */
    LADDER_SPARSE_32,
    LADDER_MERGED, /**< squares of LADDER_BLOCK x LADDER_BLOCK tiles of 16 x 16 with any in it,
                        one behind the other, row-major; tile rows and columns count squares */
    LADDER_FORMS
} ladder_form_t;

/** The steps; names in parentheses are the thesis's. */
typedef enum {
    LADDER_T,             /**< every tile of A is asked whether it is empty (mmaT) */
    LADDER_BT,            /**< list of tiles (mmaBT) */
    LADDER_CBT,           /**< asynchronous copies (mmaCBT) */
    LADDER_OBT,           /**< two stages of them (mmaOBT) */
    LADDER_ST,            /**< LADDER_T, mma.sp where tiles are 2:4 (mmaST) */
    LADDER_ST_LARGE,      /**< the same with tiles of 16 x 32 (mmaST_large) */
    LADDER_OBTS,          /**< LADDER_OBT, asking each tile for its kind (mmaOBTS) */
    LADDER_OBTS_LARGE,    /**< the same with tiles of 16 x 32 (mmaOBTS_large) */
    LADDER_OBTS_SEPARATE, /**< a loop for each kind (mmaOBTS_large_separate) */
    LADDER_OBT_TILED,     /**< LADDER_OBT, 4 warps share a square of tiles (mmaOBT_tiled) */
    LADDER_STEPS
} ladder_step_t;

/** The tiles that a step takes. */
static inline ladder_form_t ladder_form(ladder_step_t step)
{
    return step == LADDER_OBT_TILED                   ? LADDER_MERGED
           : step <= LADDER_OBT                       ? LADDER_DENSE_16
           : step == LADDER_ST || step == LADDER_OBTS ? LADDER_SPARSE_16
                                                      : LADDER_SPARSE_32;
}

/** Does it look tiles up in the map? */
static inline bool ladder_has_map(ladder_step_t step)
{
    return step == LADDER_T || step == LADDER_ST || step == LADDER_ST_LARGE;
}

#ifdef __cplusplus
extern "C" {
#endif

/** C = A * B in FP16, sums in FP32.
 *  @param[in]  Bt  [n x ldb] B by columns; ldb covers whole tiles of A, in which what B does
 *                  not have is finite
 *  @param[out] C   [n_tile_rows * 16 x n], row-major
 *  @param[in]  n   a multiple of 8 */
cudaError_t ladder_mm(ladder_step_t step, const ladder_tiles_t *A, const void *Bt, int64_t ldb,
                      void *C, int64_t n, cudaStream_t stream);

#ifdef __cplusplus
}
#endif

#endif /* LADDER_H */
