/* SPDX-License-Identifier: Apache-2.0 */
/** @file arrival.h
 *  From the caller's rows to those of this rank: rows travel to their new owners in ascending
 *  original order, so what arrives, in rank order, is this rank's part of A in its new row order.
 */
#ifndef SPMM_PLAN_ARRIVAL_H
#define SPMM_PLAN_ARRIVAL_H

#include <stdbool.h>

#include "matrix/matrix.h"
#include "partition/layout.h"
#include "plan/blocks/block.h"

/** This rank's entries after redistribution: arrays of A where no row moves, else owned. */
typedef struct {
    const spmm_device_t     *device; /**< borrowed, as are the next three; set by the caller */
    const spmm_matrix_t     *A;      /**< whose entries are dealt */
    const spmm_layout_map_t *rows, *cols;
    const int64_t           *row_ptr; /**< [rows.n_local + 1] */
    const int64_t           *col;     /**< [nnz] new global column */
    const void              *values;  /**< [nnz]; apart: of the rows from other ranks alone */
    bool                     apart; /**< the values of rows that stayed are those of the matrix: */
    int64_t  stay_at, stay_from;    /**< the first of them here, and in rows.send_row */
    int64_t *own_row_ptr, *own_col;
    void    *own_values;
    int64_t *send_count; /**< [size], owned: entries to and from each rank */
    int64_t *recv_count;
} spmm_arrival_t;

/** All but the values.  Collective, agreed.  The rest of *in must be zeroed; free it in either
 *  case. */
spmm_status_t spmmi_arrival_receive_columns(spmm_arrival_t *in);
/** All but the columns, likewise. */
spmm_status_t spmmi_arrival_receive_values(spmm_arrival_t *in);
/** Values after columns, or without them.  Collective, agreed.
 *  @param[in] apart  those of rows that stay are not copied: for spmmi_arrival_deal_values() */
spmm_status_t spmmi_arrival_add_values(spmm_arrival_t *in, bool apart);
/** To both blocks, whose columns and sources are dealt.  Local. */
void spmmi_arrival_deal_values(const spmm_arrival_t *in, const spmm_plan_blocks_t *blocks);
/** Those of a plan that has dealt them. */
void spmmi_arrival_drop_columns(spmm_arrival_t *in);
void spmmi_arrival_free(spmm_arrival_t *in);

#endif /* SPMM_PLAN_ARRIVAL_H */
