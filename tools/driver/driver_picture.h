/* SPDX-License-Identifier: Apache-2.0 */
/** @file driver_picture.h
 *  What --json holds for a picture of the product: entries of A, traffic, time lines. */
#ifndef DRIVER_PICTURE_H
#define DRIVER_PICTURE_H

#include "driver_run.h"

/** One side of the matrix in the plan's order, cut into cells: those of a rank are its own. */
typedef struct {
    int64_t *rows;  /**< [ranks] rows (columns) of each rank */
    int     *first; /**< [ranks + 1] its first cell */
    int      cells;
} driver_side_t;

/** What rank 0 writes. */
typedef struct {
    int           ranks; /**< 0: too many ranks, rows or columns for a picture */
    int          *node;  /**< [ranks] of each */
    driver_side_t row, col;
    int64_t      *entries; /**< [row.cells][col.cells] of A */
    int64_t      *traffic; /**< [ranks][ranks] rows that the first receives from the second */
    int          *n_spans; /**< [ranks] */
    spmm_span_t  *spans;   /**< [ranks][SPMM_MOST_SPANS]; phases are those of this process */
} driver_picture_t;

/** Collect a picture on rank 0.  After driver_run(); collective, agreed.
 *  @param[in,out] picture  all zero; release with driver_picture_free(), also after a failure */
int  driver_picture_collect(const driver_run_t *run, driver_picture_t *picture);
void driver_picture_free(driver_picture_t *picture);

#endif /* DRIVER_PICTURE_H */
