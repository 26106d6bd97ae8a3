/* SPDX-License-Identifier: Apache-2.0 */
/** @file args.h  The arrays of BCSR as kernels and decoders take them. */
#ifndef SPMM_ENGINE_BCSR_ARGS_H
#define SPMM_ENGINE_BCSR_ARGS_H

#include "engine/windows/tc_args.h"

/* BCSR: tiles of 16x16, and of 16x32 in 2:4 sparsity (SMaT; the thesis on sparse tensor cores). */
enum {
    SPMM_BCSR_SIDE  = 16, /**< rows and columns of a tile */
    SPMM_BCSR_WIDTH = 32, /**< columns of a step and of a 2:4 tile: the k of mma.sp.m16n8k32 */
    SPMM_BCSR_ROWS  = 16, /**< most tile rows of a panel */
    SPMM_BCSR_UNIT  = 64, /**< bytes that places count in: the metadata of a 2:4 tile */
    SPMM_BCSR_TILE  = 8   /**< units of a tile's 256 values of 16 bits, zeros among them or not */
};

/** What a panel of tile rows has in columns 32 col to 32 col + 31.  Bit r of each mask: tile row
 *  r of the panel has such a tile. */
typedef struct {
    int32_t  col;
    int32_t  at;   /**< where its values start, in units: 2:4 tiles, left, right tiles, each kind in
                       the order of rows, then the metadata of the 2:4 tiles */
    uint16_t left; /**< 16x16 tiles of columns 0 to 15 */
    uint16_t right; /**< of columns 16 to 31 */
    uint16_t
        sp24; /**< 16x32 tiles with at most two entries in any four columns 4 q to 4 q + 3; in no
                         other mask */
    uint16_t none; /**< 0: the struct is one word of 16 bytes */
} spmm_bcsr_step_t;

/** A 16x32 tile of a tile row: its step, and which row of that panel. */
typedef struct {
    int32_t step, row;
} spmm_bcsr_tile_t;

/** What a tile of a list holds. */
typedef enum { SPMM_BCSR_LEFT, SPMM_BCSR_RIGHT, SPMM_BCSR_SP24 } spmm_bcsr_kind_t;

/** A tile in the list of its tile row: one 16x16 fragment of A, 2:4 or not. */
typedef struct {
    int32_t word; /**< 4 (number of its step, of all panels) + spmm_bcsr_kind_t */
    int32_t at;   /**< its values, in units */
    int32_t meta; /**< its metadata, in units; of a 2:4 tile */
    int32_t row;  /**< first of the rows of B that it meets */
} spmm_bcsr_listed_t;

/** BCSR in panels of tile rows, so that these share the rows of B.  Kernels on GPUs walk panels,
 *  those on CPUs tile rows. */
typedef struct {
    int32_t                 n_rows, n_cols, n_tile_rows, n_panels;
    int32_t                 rows;      /**< tile rows of a panel: 4, 8 or 16 */
    const int32_t          *panel_ptr; /**< [n_panels + 1] first step of a panel */
    const spmm_bcsr_step_t *step;      /**< [n_steps], 16-byte aligned, ascending in column */
    const int32_t          *bits_ptr;  /**< [n_steps] first of the 16x32 tiles of a step */
    const uint32_t         *bits; /**< [tiles of 16x32][16] bit c of word r: entry (r, c) is stored;
                                       tiles by step, then tile row */
    const int32_t          *row_ptr;   /**< [n_tile_rows + 1] first of the 16x32 tiles of a row */
    const spmm_bcsr_tile_t *tile;      /**< [tiles of 16x32] by tile row, then column */
    const int32_t          *entry_ptr; /**< [n_tile_rows + 1] entries of the rows before */
    const void             *values;    /**< 16-byte aligned; NULL: not filled yet */
    int64_t                 n_sp24;    /**< 2:4 tiles in all */
    int32_t                 slice;     /**< most columns of C for a thread block: 32, 64 or 128 */
    spmm_type_t             type;      /**< of values: 16F or 16BF */

    const int32_t            *list_ptr; /**< [n_tile_rows + 1] */
    const spmm_bcsr_listed_t *list;     /**< by tile row, then step, 16-byte aligned */
    int32_t                   split;    /**< warps that share the list of a tile row: 1, 2 or 4;
                                              0: by steps, where access is wide; below: as many,
                                              by rows, likewise */
} spmm_bcsr_arrays_t;

SPMM_BOTH static inline int32_t spmmi_bcsr_count(uint32_t x)
{
#ifdef __CUDA_ARCH__
    return __popc(x);
#else
    x -= x >> 1 & 0x55555555u;
    x = (x & 0x33333333u) + (x >> 2 & 0x33333333u);
    x = (x + (x >> 4)) & 0x0f0f0f0fu;
    return (int32_t)(x * 0x01010101u >> 24);
#endif
}
/** Bits of @p mask below bit @p r: the number of row r among the tiles of one kind. */
SPMM_BOTH static inline int32_t spmmi_bcsr_rank(uint32_t mask, int32_t r)
{
    return spmmi_bcsr_count(mask & (((uint32_t)1 << r) - 1));
}
/** Rows of the panel that have any tile in a step. */
SPMM_BOTH static inline uint32_t spmmi_bcsr_any(spmm_bcsr_step_t s)
{
    return (uint32_t)s.left | s.right | s.sp24;
}
/** Tiles of a step. */
SPMM_BOTH static inline int32_t spmmi_bcsr_tiles(spmm_bcsr_step_t s)
{
    return spmmi_bcsr_count(s.sp24) + spmmi_bcsr_count(s.left) + spmmi_bcsr_count(s.right);
}
/** Units of a step. */
SPMM_BOTH static inline int32_t spmmi_bcsr_units(spmm_bcsr_step_t s)
{
    return SPMM_BCSR_TILE * spmmi_bcsr_tiles(s) + spmmi_bcsr_count(s.sp24);
}
/** Number of row @p r's left (@p half 0) or right (1) tile in its step. */
SPMM_BOTH static inline int32_t spmmi_bcsr_tile_at(spmm_bcsr_step_t s, int32_t half, int32_t r)
{
    return spmmi_bcsr_count(s.sp24) +
           (half == 0 ? spmmi_bcsr_rank(s.left, r)
                      : spmmi_bcsr_count(s.left) + spmmi_bcsr_rank(s.right, r));
}
/** Where (@p r, @p c) of 16x16 values stands in a tile: lane 4 g + t of a warp reads what it
 *  multiplies, 16 bytes, at 8 (4 g + t).  Column c of a 2:4 tile's values is c % 2 of the two
 *  kept in columns 4 (c / 2) to 4 (c / 2) + 3. */
SPMM_BOTH static inline int32_t spmmi_bcsr_value_at(int32_t r, int32_t c)
{
    return ((r % 8 * 4 + c % 8 / 2) * 4 + c / 8 * 2 + r / 8) * 2 + c % 2;
}
/** Metadata of four columns with the entries of @p bits, two at most: which two are kept, the first
 *  in bits 0 and 1, ascending also where there are fewer entries. */
SPMM_BOTH static inline uint32_t spmmi_bcsr_code(uint32_t bits)
{
    return (uint32_t)(0x444e4dce498e4944u >> 4 * (bits & 15)) & 15;
}
/** The metadata of 16 columns, four bits for each four. */
SPMM_BOTH static inline uint32_t spmmi_bcsr_codes(uint32_t bits)
{
    return spmmi_bcsr_code(bits) | spmmi_bcsr_code(bits >> 4) << 4 |
           spmmi_bcsr_code(bits >> 8) << 8 | spmmi_bcsr_code(bits >> 12) << 12;
}
/** Word 2 @p g + @p half of a tile's metadata, that of lane 4 g + half of mma.sp with selector 0:
 *  rows g and g + 8, columns 16 half to 16 half + 15. */
SPMM_BOTH static inline uint32_t spmmi_bcsr_meta(const uint32_t bits[SPMM_BCSR_SIDE], int32_t g,
                                                 int32_t half)
{
    return spmmi_bcsr_codes(bits[g] >> 16 * half) | spmmi_bcsr_codes(bits[g + 8] >> 16 * half)
                                                        << 16;
}
/** Column of the value kept at column @p c of a 2:4 tile's values, whose row stores @p bits. */
SPMM_BOTH static inline int32_t spmmi_bcsr_kept(uint32_t bits, int32_t c)
{
    return c / 2 * 4 + (int32_t)(spmmi_bcsr_code(bits >> c / 2 * 4) >> 2 * (c % 2) & 3);
}

#endif /* SPMM_ENGINE_BCSR_ARGS_H */
