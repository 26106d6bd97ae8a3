/* SPDX-License-Identifier: Apache-2.0 */
/** @file assemble.h  From entries scattered over ranks, in any order, to a distributed matrix. */
#ifndef SPMM_MATRIX_ASSEMBLE_H
#define SPMM_MATRIX_ASSEMBLE_H

#include "matrix/bag.h"
#include "matrix/matrix.h"

typedef enum {
    SPMM_DUPLICATES_SUM, /**< Matrix Market: in the order of ranks, then of the lists */
    SPMM_DUPLICATES_DROP /**< patterns, never complex lists: one entry stays, its value is drawn by
                              position */
} spmm_duplicates_t;

/** Send every entry to the owner of its row, sort, merge duplicates and convert to @p type.
 *  Rows are split into consecutive blocks of about equal numbers of entries (before merging);
 *  columns of a square matrix like rows, of a rectangular one evenly.  Collective, agreed.
 *  @param[in,out] list  this rank's entries; emptied on the way to save memory
 *  @param[in]     seed  with DROP: value (i, j) by spmmi_value_draw()
 *  @return SPMM_ERR_RANGE when a value overflows @p type (position and value in the sentence) or
 *          a rank would own 2^31 rows or more */
spmm_status_t spmmi_assemble(spmm_env_t *env, int64_t rows, int64_t cols, spmm_entries_t *list,
                             spmm_duplicates_t duplicates, uint64_t seed, spmm_type_t type,
                             spmm_matrix_t **A);

/** The same for a bag of entries that are inside the matrix; wide and complex are equal on all
 *  ranks. */
spmm_status_t spmmi_assemble_bag(spmm_env_t *env, int64_t rows, int64_t cols, spmm_bag_t *bag,
                                 spmm_duplicates_t duplicates, uint64_t seed, spmm_type_t type,
                                 spmm_matrix_t **A);

#endif /* SPMM_MATRIX_ASSEMBLE_H */
