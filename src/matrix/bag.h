/* SPDX-License-Identifier: Apache-2.0 */
/** @file bag.h
 *  Many entries in little memory: 16 bytes each where indices allow, in pieces, so that a bag grows
 *  without being copied and is freed while it is emptied.
 */
#ifndef SPMM_MATRIX_BAG_H
#define SPMM_MATRIX_BAG_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

/** One entry, global indices from 0. */
typedef struct {
    int64_t row, col;
    double  value;
} spmm_entry_t;

/** A list of entries, in any order; whoever fills it makes it grow by spmmi_realloc(). */
typedef struct {
    spmm_entry_t *entry; /**< owned */
    int64_t       count, capacity;
    bool          complex; /**< each stands twice: its real part in column 2 col, its imaginary part
                                in column 2 col + 1; equal on all ranks */
} spmm_entries_t;

/** Empties the list. */
void spmmi_entries_free(spmm_entries_t *list);

/** One entry whose indices fit 32 bits. */
typedef struct {
    uint32_t row, col;
    double   value;
} spmm_packed_t;

typedef struct {
    void   *data;  /**< [capacity] spmm_packed_t, or spmm_entry_t in a wide bag */
    void   *block; /**< owned: data, memory that holds it, or NULL where another piece owns that */
    int64_t count, capacity;
} spmm_piece_t;

/** Entries in order: those of a piece follow those of the one before. */
typedef struct {
    spmm_piece_t *piece; /**< [n], owned */
    int64_t       n, room;
    int64_t       count;   /**< of entries */
    bool          wide;    /**< of spmm_entry_t */
    bool          complex; /**< by parts, as in spmm_entries_t */
} spmm_bag_t;

/** Do entries of a matrix of these sizes need a wide bag?  @p parts: 2 for a complex one */
bool spmmi_bag_must_be_wide(int64_t rows, int64_t cols, int parts);

/** Bytes of an entry. */
static inline size_t spmmi_bag_entry_size(const spmm_bag_t *bag)
{
    return bag->wide ? sizeof(spmm_entry_t) : sizeof(spmm_packed_t);
}

/** Entry @p k of @p data of a bag. */
static inline spmm_entry_t spmmi_bag_get(const void *data, bool wide, int64_t k)
{
    if (wide) {
        return ((const spmm_entry_t *)data)[k];
    }
    const spmm_packed_t *packed = (const spmm_packed_t *)data + k;

    return (spmm_entry_t){.row = packed->row, .col = packed->col, .value = packed->value};
}

/** Turn entries, in their place, into what a bag holds. */
void spmmi_bag_pack(const spmm_bag_t *bag, spmm_entry_t *entry, int64_t count);
/** Put entries, in the form of the bag, behind the others.
 *  @param[in] capacity  of a piece that is begun */
spmm_status_t spmmi_bag_put(spmm_error_t *err, spmm_bag_t *bag, const void *entries, int64_t count,
                            int64_t capacity);
/** Begin one more piece, of @p count entries that the caller writes. */
spmm_status_t spmmi_bag_grow(spmm_error_t *err, spmm_bag_t *bag, int64_t count);
/** Put all of @p from, which is emptied, behind the others. */
spmm_status_t spmmi_bag_take(spmm_error_t *err, spmm_bag_t *bag, spmm_bag_t *from);
/** Put one more piece behind the others; on failure it stays the caller's. */
spmm_status_t spmmi_bag_add(spmm_error_t *err, spmm_bag_t *bag, spmm_piece_t piece);
/** The memory of one piece. */
void spmmi_piece_free(spmm_piece_t *piece);
/** Empties the bag. */
void spmmi_bag_free(spmm_bag_t *bag);

#endif /* SPMM_MATRIX_BAG_H */
