/* SPDX-License-Identifier: Apache-2.0 */
/** @file bench_measure.h  One engine on one matrix: checked, then timed. */
#ifndef BENCH_MEASURE_H
#define BENCH_MEASURE_H

#include "base/output.h"
#include "bench_report.h"
#include "bench_time.h"

/** What the rows of one run share. */
typedef struct {
    bench_options_t options;
    bench_timer_t   timer;
    bench_report_t  report;
    spmm_output_t   out; /**< of --out */
    spmm_context_t *ctx;
    int             failed; /**< exit code of the first failure the run went on after */
    bool            inaccurate;
} bench_t;

/** The sentence of the library on stderr.  @return @p code */
int bench_fail(const bench_t *bench, int code);

/** After @p code: can the run go on?  A failure is kept for the exit code, and only a lost device
 *  ends the run. */
bool bench_survives(bench_t *bench, int code);

/** Make the plan and measure.  @p row has its matrix, width and, as chosen, its engine; its seconds
 *  stay NaN where the engine cannot run the problem. */
int bench_measure(bench_t *bench, spmm_matrix_t *A, bench_dense_t *dense, bench_row_t *row);

/** The baseline of another type than the rows': its row, and its seconds into @p row.
 *  @param[in] A  of options->baseline
 *  @return false when the run must end */
bool bench_baseline(bench_t *bench, spmm_matrix_t *A, const spmm_matrix_info_t *info,
                    bench_row_t *row);

#endif /* BENCH_MEASURE_H */
