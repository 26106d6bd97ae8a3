/* SPDX-License-Identifier: Apache-2.0 */
/** @file strips_args.h  A in strips of rows, as its CUDA kernels take it. */
#ifndef SPMM_ENGINE_CSR_STRIPS_ARGS_H
#define SPMM_ENGINE_CSR_STRIPS_ARGS_H

#include "operands.h"

enum {
    SPMM_STRIP_ROWS    = 128,  /**< most rows of a strip */
    SPMM_STRIP_COLS    = 256,  /**< most columns of A that it uses */
    SPMM_STRIP_ENTRIES = 2048, /**< most entries of it */
    SPMM_STRIP_SUMS  = 32, /**< of a work item of a long row, to which its entries are dealt out */
    SPMM_STRIP_SLICE = 32  /**< fewest bytes of a row of B that a slice has */
};

/** Consecutive rows that share one copy of the rows of B which they use; or a work item of a row
 *  that has more than SPMM_STRIP_COLS entries. */
typedef struct {
    int32_t  row;                       /**< first row of the block */
    int32_t  split;                     /**< which split row it is a work item of; -1: none */
    int32_t  item;                      /**< counted over all split rows */
    int32_t  ptr;                       /**< first of n_sums + 1 of its own */
    uint32_t entry, col;                /**< its first ones */
    uint16_t n_entries, n_cols, n_sums; /**< n_sums: rows, or SPMM_STRIP_SUMS */
    uint16_t unused;                    /**< two accesses */
} spmm_strip_t;

/** A row that is several work items. */
typedef struct {
    int32_t item, n_items;
} spmm_strip_split_t;

/** A by its entries in the order of rows. */
typedef struct {
    int32_t                   n_strips;
    int32_t                   most_cols, most_entries; /**< of a strip */
    int32_t                   n_sm;                    /**< of the device */
    const spmm_strip_t       *strip;                   /**< [n_strips], 16-byte aligned */
    const spmm_strip_split_t *split;
    const int32_t            *col;   /**< rows of B that a strip uses, ascending */
    const uint16_t           *index; /**< [entries] which of its strip's */
    const uint16_t *ptr;    /**< first entry of each sum of a strip, from that of the strip */
    const void     *values; /**< [entries] of type */
    spmm_type_t     type;
    const int32_t  *row_map; /**< row of C of each row; NULL: the same */
    void           *partial; /**< [items * n] of type: sums of work items */
    uint32_t       *arrived; /**< [splits * n_slices] work items that are done; zeros between
                                            products */
    int32_t         n_slices;
} spmm_strips_args_t;

#endif /* SPMM_ENGINE_CSR_STRIPS_ARGS_H */
