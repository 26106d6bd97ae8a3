/* SPDX-License-Identifier: Apache-2.0 */
/** @file entries.h  Entries of a matrix in any order, as readers and generators make them. */
#ifndef SPMM_MATRIX_ENTRIES_H
#define SPMM_MATRIX_ENTRIES_H

#include <stdbool.h>
#include <stdint.h>

/** One entry, global indices from 0. */
typedef struct {
    int64_t row, col;
    double  value;
} spmm_entry_t;

/** A list of entries, which whoever fills it makes grow by spmmi_realloc(). */
typedef struct {
    spmm_entry_t *entry; /**< owned */
    int64_t       count, capacity;
    bool          complex; /**< each stands twice: its real part in column 2 col, its imaginary part
                                in column 2 col + 1; equal on all ranks */
} spmm_entries_t;

/** Empties the list. */
void spmmi_entries_free(spmm_entries_t *list);

#endif /* SPMM_MATRIX_ENTRIES_H */
