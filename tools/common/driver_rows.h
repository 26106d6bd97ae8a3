/* SPDX-License-Identifier: Apache-2.0 */
/** @file driver_rows.h
 *  This rank's rows of op(A) in the original distribution, made from the original A alone: what the
 *  reference multiplies with.
 */
#ifndef DRIVER_ROWS_H
#define DRIVER_ROWS_H

#include "driver_job.h"

typedef struct {
    int64_t        first, n_rows; /**< original indices [first, first + n_rows) of op(A)'s rows */
    const int64_t *row_ptr;       /**< [n_rows + 1] */
    const int64_t *col;           /**< [nnz] global, in any order in a row */
    const void    *values;        /**< [nnz] */
    spmm_type_t    type;          /**< of values */
    void          *owned[3];      /**< arrays to free; NULL where they are borrowed from A */
} driver_rows_t;

/** Op N borrows the rows of @p A; op T and H send every entry to the owner of its column.
 *  Collective, agreed. */
int  driver_rows_create(driver_job_t *job, const spmm_context_t *ctx, const spmm_matrix_t *A,
                        spmm_op_t op, driver_rows_t *rows);
void driver_rows_free(driver_rows_t *rows);

/** Largest sum of magnitudes of a row, over all ranks.  Collective. */
double driver_rows_max_sum(driver_job_t *job, const driver_rows_t *rows);

#endif /* DRIVER_ROWS_H */
