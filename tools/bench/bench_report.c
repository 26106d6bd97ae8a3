/* SPDX-License-Identifier: Apache-2.0 */
#include "bench_report.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "tool_common.h"

enum { SHOWN = 32 }; /* bytes of a number */

/* @p value as "%.*f", or "-". */
static const char *shown(char text[SHOWN], double value, int digits)
{
    (void)snprintf(text, SHOWN, isfinite(value) ? "%.*f" : "-", digits, value);
    return text;
}

/* @p value as a whole number, "inf", or "-". */
static const char *shown_count(char text[SHOWN], double value)
{
    return isinf(value) ? strcpy(text, "inf") : shown(text, value, 0);
}

void bench_report_titles(const bench_report_t *report)
{
    (void)printf("%-32s %9s %10s %-9s %5s %11s %7s %11s %7s %9s %10s %9s\n", "matrix", "rows",
                 "nnz", "engine", "N", "median ms", "ratio", "rotated ms", "ratio", "GFLOP/s",
                 "build ms", "error");
    if (report->tsv != NULL) {
        (void)fprintf(report->tsv,
                      "matrix\trows\tcols\tnnz\tengine\tN\ttype\tcompute\tmedian_ms\t"
                      "ratio_to_cusparse\tgflops\tmax_error\trows_checked\tbuild_ms\t"
                      "rotated_ms\trotated_ratio\tchosen\tpassed\tpredicted_ms\treordering\t"
                      "reorder_ms\tformat_ms\ttune_ms\tbreak_even\tbreak_even_net\n");
    }
}

void bench_row_break_even(bench_row_t *row, double cusparse_seconds, double cusparse_build)
{
    const double saved = cusparse_seconds - row->seconds;
    const double more  = row->build_seconds - cusparse_build;

    if (isnan(saved)) { /* no baseline */
        row->break_even = row->break_even_net = (double)NAN;
        return;
    }
    row->break_even     = saved > 0.0 ? row->build_seconds / saved : (double)INFINITY;
    row->break_even_net = saved > 0.0 ? fmax(more, 0.0) / saved : (double)INFINITY;
}

void bench_report_row(const bench_report_t *report, const bench_row_t *row)
{
    const double gflops = 2e-9 * (double)row->nnz * (double)row->n / row->seconds;
    char         t[11][SHOWN];

    shown(t[0], 1e3 * row->seconds, 6);
    shown(t[1], row->ratio, 4);
    shown(t[2], 1e3 * row->rotated_seconds, 6);
    shown(t[3], row->rotated_ratio, 4);
    shown(t[4], 1e3 * row->build_seconds, 3);
    shown(t[5], 1e3 * row->predicted_seconds, 6);
    shown(t[6], 1e3 * row->reorder_seconds, 3);
    shown(t[7], 1e3 * row->format_seconds, 3);
    shown(t[8], 1e3 * row->tune_seconds, 3);
    shown_count(t[9], row->break_even);
    shown_count(t[10], row->break_even_net);
    (void)printf("%-32s %9" PRId64 " %10" PRId64 " %-9s %5" PRId64
                 " %11s %7s %11s %7s %9.1f %10s %9.2e%s%s\n",
                 row->matrix, row->rows, row->nnz, row->engine, row->n, t[0], t[1], t[2], t[3],
                 gflops, t[4], row->error, strcmp(row->engine, row->chosen) == 0 ? "" : " ran ",
                 strcmp(row->engine, row->chosen) == 0 ? "" : row->chosen);
    (void)fflush(stdout);
    if (report->tsv != NULL) {
        (void)fprintf(report->tsv,
                      "%s\t%" PRId64 "\t%" PRId64 "\t%" PRId64 "\t%s\t%" PRId64
                      "\t%s\t%s\t%s\t%s\t%.2f\t%.3e\t%" PRId64 "\t%s\t%s\t%s\t%s\t%s\t%s\t%s"
                      "\t%s\t%s\t%s\t%s\t%s\n",
                      row->matrix, row->rows, row->cols, row->nnz, row->engine, row->n,
                      tool_word_name(tool_types, (int)report->options->type),
                      tool_word_name(tool_computes, (int)report->options->compute), t[0], t[1],
                      gflops, row->error, row->checked, t[4], t[2], t[3], row->chosen,
                      row->passed ? "yes" : "no", t[5], row->reordering, t[6], t[7], t[8], t[9],
                      t[10]);
        (void)fflush(report->tsv);
    }
}
