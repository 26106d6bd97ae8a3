/* SPDX-License-Identifier: Apache-2.0 */
#include "bench_measure.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <time.h>

#include "base/scalar.h"
#include "tool_common.h"

int bench_fail(const bench_t *bench, int code)
{
    (void)fprintf(stderr, "spmm_bench: %s\n", spmm_last_error(bench->ctx));
    return code;
}

bool bench_survives(bench_t *bench, int code)
{
    if (code == BENCH_GOOD) {
        return true;
    }
    bench->failed = bench->failed == BENCH_GOOD ? code : bench->failed;
    return bench_timer_alive();
}

static double host_seconds(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* One product checked against the reference, then the timings of @p row. */
static int check_and_time(bench_t *bench, spmm_matrix_t *A, spmm_plan_t *plan, bench_dense_t *dense,
                          bench_row_t *row)
{
    const bench_options_t *o            = &bench->options;
    int                    code         = bench_dense_poison(dense);
    int64_t                out_of_range = 0;

    if (code == BENCH_GOOD &&
        (spmm_execute(plan, row->n, 1.0, dense->B[0].data, dense->B[0].ld, 0.0, dense->C[0].data,
                      dense->C[0].ld, bench->timer.stream) != SPMM_OK ||
         spmm_stream_synchronize(bench->ctx, bench->timer.stream) != SPMM_OK)) {
        code = bench_fail(bench, BENCH_OTHER);
    }
    if (code == BENCH_GOOD) {
        code = bench_dense_error(dense, A, &row->error, &row->checked, &out_of_range);
    }
    if (out_of_range > 0) {
        (void)fprintf(stderr,
                      "spmm_bench: %s, %" PRId64 " columns: %" PRId64
                      " elements may leave the range "
                      "of %s and were not compared\n",
                      row->matrix, row->n, out_of_range, tool_word_name(tool_types, (int)o->type));
    }
    if (code == BENCH_GOOD) {
        code = bench_time_plan(&bench->timer, o->warmup, false, plan, dense, &row->seconds);
    }
    if (code == BENCH_GOOD && o->also_rotate) {
        code = bench_time_plan(&bench->timer, o->warmup, true, plan, dense, &row->rotated_seconds);
    }
    return code;
}

int bench_measure(bench_t *bench, spmm_matrix_t *A, bench_dense_t *dense, bench_row_t *row)
{
    spmm_plan_options_t options = SPMM_PLAN_OPTIONS_INIT;
    spmm_plan_stats_t   stats   = {.struct_size = sizeof stats};
    spmm_plan_t        *plan    = NULL;
    const double        begin   = host_seconds();
    spmm_status_t       status;
    int                 code;

    options.layout        = bench->options.layout;
    options.compute       = bench->options.compute;
    options.engine        = row->chosen;
    options.deterministic = bench->options.deterministic;
    options.executes      = bench->options.executes;
    /* The baseline multiplies the matrix as its user has it. */
    options.tuning = strcmp(row->chosen, "cusparse") == 0 ? "order=none" : bench->options.tuning;
    status         = spmm_plan_create(A, row->n, &options, &plan);
    row->build_seconds = host_seconds() - begin;
    if (status == SPMM_ERR_UNSUPPORTED) {
        (void)fprintf(stderr, "spmm_bench: skipped: %s\n", spmm_last_error(bench->ctx));
        return BENCH_GOOD;
    }
    if (status != SPMM_OK || spmm_plan_get_stats(plan, &stats) != SPMM_OK) {
        code = bench_fail(bench, BENCH_OTHER);
    } else {
        row->chosen            = stats.engine;
        row->reordering        = stats.reordering;
        row->predicted_seconds = stats.local_predicted_s;
        row->reorder_seconds   = stats.reorder_s;
        row->format_seconds    = stats.build_s - stats.tune_s;
        row->tune_seconds      = stats.tune_s;
        code                   = check_and_time(bench, A, plan, dense, row);
    }
    if (spmm_plan_destroy(&plan) != SPMM_OK && code == BENCH_GOOD) {
        code = bench_fail(bench, BENCH_OTHER);
    }
    return code;
}

bool bench_baseline(bench_t *bench, spmm_matrix_t *A, const spmm_matrix_info_t *info,
                    bench_row_t *row)
{
    bench_options_t     *options = &bench->options;
    const spmm_type_t    type    = options->type;
    const spmm_compute_t compute = options->compute;
    const size_t         pair =
        (size_t)(info->rows + info->cols) * (size_t)row->n * spmm_type_size(options->baseline);
    const int     sets  = bench_timer_sets(&bench->timer, options, pair);
    bench_row_t   other = *row;
    bench_dense_t dense;
    int           code;

    options->type    = options->baseline;
    options->compute = spmmi_is_64f(options->type) ? SPMM_COMPUTE_64F : SPMM_COMPUTE_32F;
    other.engine     = "baseline";
    other.chosen     = "cusparse";
    code = bench_dense_create(bench->ctx, options, info->rows, info->cols, row->n, sets, &dense);
    if (code == BENCH_GOOD) {
        code = bench_measure(bench, A, &dense, &other);
        bench_dense_free(&dense);
    }
    if (code == BENCH_GOOD && !isnan(other.seconds)) {
        other.passed = other.error <= tool_tolerance(options->type, options->compute);
        if (other.passed) {
            row->seconds         = other.seconds;
            row->build_seconds   = other.build_seconds;
            row->rotated_seconds = other.rotated_seconds;
        } else { /* a wrong product is no baseline */
            (void)fprintf(stderr,
                          "spmm_bench: the error of the baseline on %s is above its bound\n",
                          other.matrix);
            bench->inaccurate = true;
        }
        other.ratio         = row->seconds / other.seconds;
        other.rotated_ratio = row->rotated_seconds / other.rotated_seconds;
        bench_row_break_even(&other, row->seconds, row->build_seconds);
        bench_report_row(&bench->report, &other);
    }
    options->type    = type;
    options->compute = compute;
    return bench_survives(bench, code);
}
