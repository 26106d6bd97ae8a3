/* SPDX-License-Identifier: Apache-2.0 */
/** @file args.h  The arrays of CVSE as kernels and decoders take them. */
#ifndef SPMM_ENGINE_CVSE_ARGS_H
#define SPMM_ENGINE_CVSE_ARGS_H

#include "engine/windows/tc_args.h"

enum {
    SPMM_CVSE_BLOCK = 16 /**< vectors of a block: the k of m16n8k16 */
};

/** CVSE: vectors of 8 or 16 rows, in blocks of 16 (SSpMM, section 5; vectorSparse, section 4).
 *  Place p of a block is its vector number p, in the order of columns; a place past the last vector
 *  of a window has no column and zeros for values. */
typedef struct {
    int32_t         n_rows, n_windows;
    int32_t         height;     /**< V: rows of a window: 8 or 16 */
    const int32_t  *window_ptr; /**< [n_windows + 1] first block of a window */
    const int32_t  *col;        /**< [n_blocks * 16] row of B of each vector, place p at
                                    spmmi_cvse_col_at(p); SPMM_TC_NO_COLUMN: none */
    const uint16_t *bits;   /**< [n_blocks * height] bit p: the vector at place p stores this row */
    const void     *values; /**< [n_blocks * 16 * height] at spmmi_cvse_value_at() */
    spmm_type_t     type;   /**< of values: 16F or 16BF */
} spmm_cvse_arrays_t;

/** What a warp takes of a window.  Its first block stands by itself at the number of the warp. */
typedef struct {
    int32_t window;              /**< -1: nothing */
    int32_t block, more, unused; /**< of the format: the second block, and how many from it on; 0 */
} spmm_cvse_task_t;

enum { SPMM_CVSE_TEAMS = 5 }; /**< sizes of teams: 16, 8, 4, 2 and 1 warps */

/** Thread blocks that keep a slab of B, some columns of all its rows, in shared memory. */
typedef struct {
    int32_t columns; /**< 32 or 64; 0: none does */
    int32_t n_warps; /**< that multiply: 4, 8 or 16 */
    int32_t n_cols;  /**< of A: rows of B */
} spmm_cvse_slab_t;

enum {
    SPMM_CVSE_SLAB_ROWS   = 128,       /**< rows of B that arrive together */
    SPMM_CVSE_SLAB_CHUNKS = 32,        /**< most of those */
    SPMM_CVSE_SLAB_WARPS  = 16,        /**< most that multiply */
    SPMM_CVSE_SLAB_ALIGN  = 1024,      /**< bytes: where a slab may begin */
    SPMM_CVSE_SLAB_ZEROS  = 128,       /**< bytes behind it, for places without a column */
    SPMM_CVSE_SLAB_ROOM   = 227 * 1024 /**< shared memory that a thread block of 9.0 may have */
};

/** Windows dealt out so that every warp has few blocks: none is cut, 1 to 16 warps share it. */
typedef struct {
    int32_t slice;   /**< most columns of a warp: 32, 64 or 128; 0: there are no tasks */
    int32_t n_warps; /**< of a thread block: 4, 8 or 16 */
    int32_t end[SPMM_CVSE_TEAMS]; /**< thread blocks of teams of 16, of 16 or 8, ..., all */
    const spmm_cvse_task_t *task; /**< [end[4] * n_warps] */
    const int32_t   *col;    /**< [end[4] * n_warps * 16] of the first blocks, as of the format */
    const void      *values; /**< [end[4] * n_warps * 16 * height] */
    spmm_cvse_slab_t slab;
} spmm_cvse_short_t;

/** Rows of a slab for @p n_cols rows of B. */
SPMM_BOTH static inline int32_t spmmi_cvse_slab_rows(int32_t n_cols)
{
    return (n_cols + SPMM_CVSE_SLAB_ROWS - 1) / SPMM_CVSE_SLAB_ROWS * SPMM_CVSE_SLAB_ROWS;
}
/** Shared memory of such a thread block: the slab, barriers, and sums of each warp, [8, columns +
 *  4] in FP32. */
SPMM_BOTH static inline int64_t spmmi_cvse_slab_bytes(int32_t columns, int32_t n_warps,
                                                      int32_t n_cols)
{
    return SPMM_CVSE_SLAB_ALIGN + (int64_t)spmmi_cvse_slab_rows(n_cols) * columns * 2 +
           SPMM_CVSE_SLAB_ZEROS + 8 * SPMM_CVSE_SLAB_CHUNKS + (int64_t)n_warps * 32 * (columns + 4);
}

/** How thread blocks share a product with slabs. */
typedef struct {
    int32_t slabs;  /**< of columns */
    int32_t blocks; /**< thread blocks of a slab */
    int32_t team;   /**< warps that share a window: 2 where a thread block has enough, else 1 */
    int32_t rounds; /**< windows of a team, one after the other */
} spmm_cvse_slab_work_t;

/** One wave of thread blocks where the windows are enough for it.
 *  @param[in] n_windows  at least 1 */
SPMM_BOTH static inline spmm_cvse_slab_work_t
spmmi_cvse_slab_work(int32_t columns, int32_t n_warps, int32_t n_windows, int64_t n, int32_t n_sm)
{
    const int64_t slabs = (n + columns - 1) / columns, wave = slabs < n_sm ? n_sm / slabs : 1;
    const int64_t each = (n_windows + wave - 1) / wave; /* windows of a thread block */
    const int64_t team = 2 * each <= n_warps ? 2 : 1, teams = n_warps / team;
    const int64_t rounds = (each + teams - 1) / teams, here = teams * rounds;

    const spmm_cvse_slab_work_t w = {(int32_t)slabs, (int32_t)((n_windows + here - 1) / here),
                                     (int32_t)team, (int32_t)rounds};

    return w;
}

/** Where place @p p of a block stands in its list: lane 4 g + t of the product reads places t, t +
 *  4, t + 8 and t + 12 as one 16-byte word. */
SPMM_BOTH static inline int32_t spmmi_cvse_col_at(int32_t p)
{
    return p % 4 * 4 + p / 4;
}
/** Where row @p r of the vector at place @p p stands among the values of a block: lane 4 g + t
 *  reads what it multiplies, rows g (and g + 8) of those four places, as one word. */
SPMM_BOTH static inline int32_t spmmi_cvse_value_at(int32_t height, int32_t r, int32_t p)
{
    return ((r % 8 * 4 + p % 4) * (height / 8) + r / 8) * 4 + p / 4;
}

#endif /* SPMM_ENGINE_CVSE_ARGS_H */
