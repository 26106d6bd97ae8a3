/* SPDX-License-Identifier: Apache-2.0 */
/** @file csr_gpu_args.h  CSR in work items, as its CUDA kernels take it. */
#ifndef SPMM_ENGINE_CSR_CSR_GPU_ARGS_H
#define SPMM_ENGINE_CSR_CSR_GPU_ARGS_H

#include <stdbool.h>

#include "operands.h"

/* CSR on CUDA cores.  The entries are dealt out evenly, wherever rows begin and end. */
enum {
    SPMM_CSR_ACCESS     = 16, /**< bytes of an access to a row of B */
    SPMM_CSR_MANY_WARPS = 16, /**< most columns of which FP32 that ends within an access has
                                   registers of 40 warps on a multiprocessor; of more it has those
                                   of 32, and work items for these */
    SPMM_CSR_WHOLE      = -1, /**< spmm_csr_item_t.split of whole rows */
    SPMM_CSR_CHAIN =
        128, /**< where work items are rows: most entries of a part of a row, of which one
                               of up to twice as many has one */
    SPMM_CSR_CHAINS = 8, /**< sums to which those of the parts of such a row are dealt out */
    SPMM_CSR_TILE = 128, /**< most rows of a work item that stores C by columns; half as many where
                             its slice is wider than the next, and a quarter of 8 bytes */
    SPMM_CSR_TILE_BYTES = 128, /**< bytes of sums in a row of a slice */
    SPMM_CSR_SLICE      = 8,   /**< fewest columns that a kernel cuts C into, if it cuts at all */
    SPMM_CSR_LONG  = 32, /**< where a product waits: most entries of a row that one warp adds */
    SPMM_CSR_WAITS = 512 /**< and most of a row in all */
};

/** What a thread block takes: the entries of consecutive rows, or a part of one long row. */
typedef struct {
    uint32_t entry;     /**< its first */
    int32_t  n_entries; /**< at least 1, or of empty rows none; negative, by its sign bit, where the
                             last row of B is among theirs, if work items are marked */
    int32_t  split;     /**< which split row this is a part of; else minus how many rows of C the
                             work item has, or SPMM_CSR_WHOLE */
    int32_t  row;       /**< first row of C, where tile_rows > 0; negative, by its sign bit, where
                             rows without entries are among them */
} spmm_csr_item_t;

/** A row that is several work items. */
typedef struct {
    int32_t row; /**< of C */
    int32_t item, n_items;
} spmm_csr_split_t;

/** A by its entries in the order of rows, in work items.  Those of split rows stand first: work
 *  item p of them leaves its sums in partial [p, n], and the thread block that is the last of its
 *  row to arrive adds them up in the order of the work items, so that results do not depend on
 *  timing. */
typedef struct {
    int64_t        n_entries; /**< at most 2^32 - 1 */
    const int32_t *col;       /**< [n_entries] row of B */
    const int32_t *row; /**< [n_entries] row of C; negative, by its sign bit, at the last entry of a
                             row that is not split */
    const void    *values;    /**< [n_entries] */
    spmm_type_t    type;      /**< of values */
    int32_t        used_cols; /**< rows of B that entries name */
    int32_t        last_col;  /**< last row of B */
    bool           is_marked; /**< work items say whether they have it; else any may */
    int32_t        c_rows;    /**< rows of C */

    int32_t tile_rows; /**< most rows of C of a work item, which then has consecutive ones, those
                                   without entries among them, and stores them by columns; 0: any */
    int32_t n_empty;
    const int32_t *empty; /**< [n_empty] rows of C of the rows of A without entries */

    int32_t                 n_items, n_partial; /**< all, and those of split rows */
    const spmm_csr_item_t  *item;               /**< [n_items], 16-byte aligned */
    const spmm_csr_split_t *split;
    void                   *partial; /**< [n_partial * n] of FP64 for FP64 data, else FP32; n
                                           rounded up to SPMM_CSR_SLICE */
    uint32_t *arrived;  /**< [splits * n_slices] work items that are done; zeros between
                                           products */
    int32_t   n_slices; /**< at least ceil(n / SPMM_CSR_SLICE) */

    bool by_rows; /**< a work item is one row, or a part of one as its length says, and its entries
                           are added one after the other: what a row becomes depends on its own
                           entries and their order alone */
    int32_t n_splits; /**< of split */
} spmm_csr_items_t;

/** A row of A with entries. */
typedef struct {
    uint32_t entry;     /**< its first */
    int32_t  n_entries; /**< at most SPMM_CSR_WAITS */
    int32_t  row;       /**< of C */
    int32_t  unused;    /**< one access */
} spmm_csr_row_t;

/** A once more, row by row, for products whose B is on its way. */
typedef struct {
    const spmm_csr_row_t *row; /**< [n_rows], 16-byte aligned: long ones first; NULL: not made */
    int32_t               n_rows, n_long; /**< all, and those that a thread block takes each */
    int32_t               most_blocks;    /**< that may wait at a time */
} spmm_csr_rows_t;

#endif /* SPMM_ENGINE_CSR_CSR_GPU_ARGS_H */
