/* SPDX-License-Identifier: Apache-2.0 */
/** @file bench_report.h  Rows of results, on stdout and as tab-separated values. */
#ifndef BENCH_REPORT_H
#define BENCH_REPORT_H

#include "bench_options.h"

/** One measurement; NaN stands for what was not measured and is printed as "-". */
typedef struct {
    const char *matrix, *engine; /**< borrowed */
    const char *chosen;          /**< what the plan runs, where the engine is "auto" */
    int64_t     rows, cols, nnz, n;
    int64_t     checked; /**< rows compared with the reference */
    double      seconds, rotated_seconds, build_seconds;
    double      ratio, rotated_ratio; /**< time of cusparse over that of the engine */
    double      error;
    bool        passed;            /**< error within its bound */
    double      predicted_seconds; /**< by the engine's model */
    const char *reordering;        /**< of rows, that the plan applied, or "none" */
    /** Parts of build_seconds: rows ordered (with the scan of the pattern), formats built and
     *  uploaded, engines measured. */
    double reorder_seconds, format_seconds, tune_seconds;
    /** Products until the plan has saved what it took, or what it took more than that of cusparse
     *  (0: no more); INFINITY: it saves nothing. */
    double break_even, break_even_net;
} bench_row_t;

typedef struct {
    const bench_options_t *options; /**< borrowed */
    FILE                  *tsv;     /**< borrowed; NULL: none */
} bench_report_t;

/** Fill in both from the times of cusparse at the same width; NaN where those are. */
void bench_row_break_even(bench_row_t *row, double cusparse_seconds, double cusparse_build);

void bench_report_titles(const bench_report_t *report);
void bench_report_row(const bench_report_t *report, const bench_row_t *row);

#endif /* BENCH_REPORT_H */
