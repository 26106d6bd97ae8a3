/* SPDX-License-Identifier: Apache-2.0 */
/** @file driver_plot.h  --plot: the matrix, its traffic and one execute as a picture (SVG). */
#ifndef DRIVER_PLOT_H
#define DRIVER_PLOT_H

#include "driver_run.h"

enum {
    DRIVER_PLOT_CELLS = 240, /**< about so many cells on each side of the matrix */
    DRIVER_PLOT_RANKS = 512  /**< most ranks of a picture */
};

/** One side of the matrix in the plan's order, cut into cells: those of a rank are its own. */
typedef struct {
    int64_t *rows;  /**< [ranks] rows (columns) of each rank */
    int     *first; /**< [ranks + 1] its first cell */
    int      cells;
} driver_side_t;

/** What rank 0 draws. */
typedef struct {
    int           ranks;
    int          *node; /**< [ranks] of each */
    driver_side_t row, col;
    int64_t      *entries; /**< [row.cells][col.cells] of A */
    int64_t      *traffic; /**< [ranks][ranks] rows that the first receives from the second */
    int          *n_spans; /**< [ranks] */
    spmm_span_t  *spans;   /**< [ranks][SPMM_MOST_SPANS]; phases are those of this process */
} driver_picture_t;

/** Collect and, on rank 0, write options->plot.  After driver_run(); collective, agreed. */
int driver_plot(const driver_run_t *run);

/** Draw (driver_svg.c).  Local. */
void driver_draw(FILE *out, const driver_options_t *options, const driver_report_t *report,
                 const driver_picture_t *picture);

#endif /* DRIVER_PLOT_H */
