/* SPDX-License-Identifier: Apache-2.0 */
/** @file kernel_args.h
 *  Arguments of the kernels, CPU and CUDA: plain structs over borrowed memory of one device; those of
 *  SDDMM are in sddmm_args.h.
 *  Kernels see this file and types.h, never MPI.  Offsets and leading dimensions count elements.
 */
#ifndef SPMM_KERNEL_ARGS_H
#define SPMM_KERNEL_ARGS_H

#include "operands.h"
#include "spmm_dist/types.h"

/** dst[i, j] = src[row[i], j], i < n_rows, j < n: pack rows for peers. */
typedef struct {
    const void    *src;
    int64_t        ld_src;
    spmm_layout_t  src_layout; /**< ROW or COL */
    const int32_t *row;        /**< [n_rows], NULL: the identity (a plain transpose for COL) */
    int64_t        n_rows, n;
    size_t         elem_size; /**< 2, 4 or 8 */
    void          *dst;       /**< [n_rows x n], row-major, ld = n */
    int            threads;   /**< CPU kernels: OpenMP threads, 0: as many as OpenMP likes */
} spmm_gather_args_t;

/** dst[row[i], j] = src[i, j]: the way back; no row twice. */
typedef struct {
    const void    *src; /**< [n_rows x n], row-major, ld = n */
    const int32_t *row; /**< [n_rows], NULL: the identity */
    int64_t        n_rows, n;
    size_t         elem_size;
    void          *dst;
    int64_t        ld_dst;
    spmm_layout_t  dst_layout;
    int            threads; /**< CPU kernels: OpenMP threads, 0: as many as OpenMP likes */
} spmm_scatter_args_t;

/** dst[row[u], j] += sum of src[pos[k], j] over k in [ptr[u], ptr[u + 1]), in the order of k: adds
 *  the partial rows that peers send back for op T.  Deterministic. */
typedef struct {
    const void    *src;      /**< [* x n], row-major, ld = n, of src_type */
    spmm_type_t    src_type; /**< 64F or 32F: the accumulator type */
    const int32_t *row;      /**< [n_rows], no row twice */
    const int32_t *ptr;      /**< [n_rows + 1] */
    const int32_t *pos;      /**< [ptr[n_rows]] */
    int64_t        n_rows, n;
    void          *dst;
    spmm_type_t    dst_type;
    int64_t        ld_dst;
    spmm_layout_t  dst_layout;
    int            threads; /**< CPU kernels: OpenMP threads, 0: as many as OpenMP likes */
} spmm_scatter_add_args_t;

/** dst[i, j] = src[i, j] + beta * dst[i, j]: a row-major product into column-major C; beta == 0
 *  does not read dst.  Sums are in the accumulator's type and rounded once. */
typedef struct {
    const void *src; /**< [n_rows x n], row-major, ld = n */
    int64_t     n_rows, n;
    double      beta;
    void       *dst; /**< [n_rows x n], column-major */
    int64_t     ld_dst;
    spmm_type_t type;    /**< of src and dst */
    int         threads; /**< CPU kernels: OpenMP threads, 0: as many as OpenMP likes */
} spmm_store_args_t;

/** C = alpha * A * B + beta * C, A in CSR. */
typedef struct {
    int64_t         n_rows;
    const int64_t  *row_ptr; /**< [n_rows + 1] */
    const int32_t  *col_idx;
    const void     *values;  /**< of x.ab_type */
    const int32_t  *row_map; /**< [n_rows] row of C of each row of A, NULL: the identity */
    spmm_operands_t x;
    int             threads; /**< OpenMP threads, 0: as many as OpenMP likes */
} spmm_csr_mm_args_t;

/* Tensor-core formats: flat arrays, offsets of 32 bits.  docs/formats.md draws them. */
enum {
    SPMM_TC_NO_COLUMN  = -1, /**< pads lists of columns: no row of B belongs to it */
    SPMM_TC_PAD        = 4,  /**< blocks that kernels may read behind the last one */
    SPMM_TC_FEW        = 4,  /**< pieces for each multiprocessor that leave it idle */
    SPMM_BITTCF_SIDE   = 8,  /**< rows and columns of a TC block */
    SPMM_CVSE_BLOCK    = 16, /**< vectors of a block: the k of m16n8k16 */
    SPMM_HRPB_BLOCK    = 16, /**< TK: columns of a block */
    SPMM_HRPB_BRICK_M  = 16,
    SPMM_HRPB_BRICK_K  = 4,
    SPMM_HRPB_UNIT     = 16, /**< bytes that size_ptr counts in; blocks start at multiples of it */
    SPMM_HRPB_COL_PTR  = 0,  /**< bytes from the start of a packed block: uint8_t [5] */
    SPMM_HRPB_ROWS     = 8,  /**< uint8_t [8] */
    SPMM_HRPB_PATTERNS = 16  /**< uint64_t [panel_rows / 16 * 4], then the values */
};

/** BitTCF: TC blocks of 8 condensed columns (Acc-SpMM, section 3.3).  The paper's windows have 8
 *  rows; here a window may have 1, 2 or 4 tiles of 8 rows, which share the columns of its blocks. */
typedef struct {
    int32_t         n_rows, n_windows;
    int32_t         tiles;      /**< of 8 rows in a window: 1, 2 or 4 */
    const int32_t  *window_ptr; /**< [n_windows + 1] RowWindowOffset: first block of a window */
    const int32_t  *value_ptr;  /**< [n_blocks + 1] TCOffset: first value of a block */
    const int32_t  *col;        /**< [n_blocks * 8] SparseAToB: row of B of each column */
    const uint64_t *bits;       /**< [n_blocks * tiles] TCLocalBit of each tile: bit r * 8 + c:
                                     entry (r, c) is stored */
    const void     *values; /**< [nnz], of each block in the order of its tiles and their bits */
    spmm_type_t     type;   /**< of values */
} spmm_bittcf_arrays_t;

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

/** Windows dealt out so that every warp has few blocks: none is cut, 1 to 16 warps share it. */
typedef struct {
    int32_t slice;   /**< most columns of a warp: 32, 64 or 128; 0: there are no tasks */
    int32_t n_warps; /**< of a thread block: 4, 8 or 16 */
    int32_t end[SPMM_CVSE_TEAMS]; /**< thread blocks of teams of 16, of 16 or 8, ..., all */
    const spmm_cvse_task_t *task; /**< [end[4] * n_warps] */
    const int32_t *col;    /**< [end[4] * n_warps * 16] of the first blocks, as of the format */
    const void    *values; /**< [end[4] * n_warps * 16 * height] */
} spmm_cvse_short_t;

#ifdef __CUDACC__
#define SPMM_BOTH __host__ __device__
#else
#define SPMM_BOTH
#endif

/** Where place @p p of a block stands in its list: lane 4 g + t of the product reads places t, t +
 *  4, t + 8 and t + 12 as one 16-byte word. */
SPMM_BOTH static inline int32_t spmmi_cvse_col_at(int32_t p)
{
    return p % 4 * 4 + p / 4;
}
/** Where row @p r of the vector at place @p p stands among the values of a block: lane 4 g + t reads
 *  what it multiplies, rows g (and g + 8) of those four places, as one word. */
SPMM_BOTH static inline int32_t spmmi_cvse_value_at(int32_t height, int32_t r, int32_t p)
{
    return ((r % 8 * 4 + p % 4) * (height / 8) + r / 8) * 4 + p / 4;
}

/* BCSR: tiles of 16x16, and of 16x32 in 2:4 sparsity (SMaT; the thesis on sparse tensor cores). */
enum {
    SPMM_BCSR_SIDE  = 16, /**< rows and columns of a tile */
    SPMM_BCSR_WIDTH = 32, /**< columns of a step and of a 2:4 tile: the k of mma.sp.m16n8k32 */
    SPMM_BCSR_ROWS  = 16, /**< most tile rows of a panel */
    SPMM_BCSR_UNIT  = 64, /**< bytes that places count in: the metadata of a 2:4 tile */
    SPMM_BCSR_TILE  = 8   /**< units of a tile's 256 values of 16 bits, zeros among them or not */
};

/** What a panel of tile rows has in columns 32 col to 32 col + 31.  Bit r of each mask: tile row r of
 *  the panel has such a tile. */
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
    int32_t none; /**< 0: the struct is one word of 16 bytes */
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
                                              0: by steps, not by lists, where access is wide */
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
 *  multiplies, 16 bytes, at 8 (4 g + t).  Column c of a 2:4 tile's values is c % 2 of the two kept in
 *  columns 4 (c / 2) to 4 (c / 2) + 3. */
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

/** HRPB: blocks of panel_rows x 16 made of 16x4 bricks (cuTeSpMM, section 3.2); FP32 values. */
typedef struct {
    int32_t              n_rows, n_panels;
    int32_t              panel_rows; /**< TM: 16 or 32 */
    const int32_t       *block_ptr;  /**< [n_panels + 1] blockedRowPtr: first block of a panel */
    const int32_t       *size_ptr;   /**< [n_blocks + 1] sizePtr, in units of 16 bytes */
    const int32_t       *col;        /**< [n_blocks * 16] activeCols: row of B of each column */
    const unsigned char *packed;     /**< packedBlocks, 16-byte aligned */
} spmm_hrpb_arrays_t;

/** A piece of the work of a CUDA kernel: consecutive blocks of one window.  A window of few blocks
 *  is one piece, empty windows too; a long one is several, so that no row keeps one warp busy
 *  while the others have finished. */
typedef struct {
    int32_t window;
    int32_t block, n_blocks; /**< first block, and how many */
    int32_t start; /**< where its values start: value_ptr or size_ptr of the first block, if any */
} spmm_tc_piece_t;

/** A window that is several pieces. */
typedef struct {
    int32_t window, piece, n_pieces;
} spmm_tc_split_t;

/** All pieces, the longest first.  Those of split windows: piece p of them leaves its sums in
 *  partial [p, height, n], and a second kernel adds them up in the order of the pieces, so that
 *  results do not depend on timing.  Then whole windows that all warps of a thread block share.  Then
 *  whole windows for one warp each. */
typedef struct {
    int32_t                n_pieces, n_partial; /**< all, and those of split windows */
    int32_t                n_team;              /**< n_partial and those for a thread block */
    int32_t                n_splits;
    int32_t                n_sm;  /**< multiprocessors of the device */
    const spmm_tc_piece_t *piece; /**< [n_pieces], 16-byte aligned */
    const spmm_tc_split_t *split; /**< [n_splits] */
    void *partial;                /**< [n_partial * height * n] of FP64 for FP64 data, else FP32 */
} spmm_tc_work_t;

/** The dense side of a product with a tensor-core format. */
typedef struct {
    spmm_operands_t x;       /**< row-major */
    const int32_t  *row_map; /**< [n_rows] row of C of each row of A, NULL: the identity */
    spmm_compute_t  compute; /**< 64F, 32F or 32F_FAST_TF32 */
    int             threads; /**< CPU kernels: OpenMP threads, 0: as many as OpenMP likes */
} spmm_tc_mm_args_t;

/* CSR on CUDA cores.  The non-zeros are dealt out evenly, wherever rows begin and end. */
enum {
    SPMM_CSR_WHOLE = -1, /**< spmm_csr_piece_t.split of whole rows */
    SPMM_CSR_SLICE = 16  /**< fewest columns that a kernel cuts C into, if it cuts at all */
};

/** What a thread block takes: the entries of consecutive rows, or a part of one long row. */
typedef struct {
    int32_t entry, n_entries; /**< first entry, and how many: at least 1 */
    int32_t split;            /**< which split row this is a part of, or SPMM_CSR_WHOLE */
    int32_t unused;           /**< keeps pieces from straddling sectors of 32 bytes */
} spmm_csr_piece_t;

/** A row that is several pieces. */
typedef struct {
    int32_t row; /**< of C */
    int32_t piece, n_pieces;
} spmm_csr_split_t;

/** A by its entries in the order of rows, in pieces.  Those of split rows stand first: piece p of
 *  them leaves its sums in partial [p, n], and the thread block that is the last of its row to
 *  arrive adds them up in the order of the pieces, so that results do not depend on timing. */
typedef struct {
    int32_t        n_entries;
    const int32_t *col; /**< [n_entries] row of B */
    const int32_t *row; /**< [n_entries] row of C; negative, by its sign bit, at the last entry of a
                             row that is not split */
    const void    *values;    /**< [n_entries] */
    spmm_type_t    type;      /**< of values */
    int32_t        used_cols; /**< rows of B that entries name */

    int32_t        n_empty;
    const int32_t *empty; /**< [n_empty] rows of C of the rows of A without entries */

    int32_t                 n_pieces, n_partial; /**< all, and those of split rows */
    const spmm_csr_piece_t *piece;               /**< [n_pieces], 16-byte aligned */
    const spmm_csr_split_t *split;
    void                   *partial;  /**< [n_partial * n] of FP64 for FP64 data, else FP32 */
    uint32_t               *arrived;  /**< [splits * n_slices] pieces that are done; zeros between
                                           products */
    int32_t                 n_slices; /**< at least ceil(n / SPMM_CSR_SLICE) */
} spmm_csr_pieces_t;

/** to[i] = from[source[i]]: new values to where a format keeps them. */
typedef struct {
    const void    *from;
    const int32_t *source; /**< [count]; -1: to[i] stays as it is */
    int64_t        count;
    size_t         elem_size; /**< 2, 4 or 8 */
    void          *to;        /**< at a multiple of 32 bytes, source of 16 */
    int            threads;   /**< CPU kernels: OpenMP threads, 0: as many as OpenMP likes */
} spmm_place_args_t;

#endif /* SPMM_KERNEL_ARGS_H */
