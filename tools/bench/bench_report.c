/* SPDX-License-Identifier: Apache-2.0 */
#include "bench_report.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
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

    if (isnan(saved)) { /* no yardstick */
        row->break_even = row->break_even_net = (double)NAN;
        return;
    }
    row->break_even     = saved > 0.0 ? row->build_seconds / saved : (double)INFINITY;
    row->break_even_net = saved > 0.0 ? fmax(more, 0.0) / saved : (double)INFINITY;
}

/* The group of @p row, made where it is the first of it; NULL when memory is out. */
static bench_group_t *group_of(bench_report_t *report, const bench_row_t *row)
{
    bench_group_t *group;

    for (int k = 0; k < report->n_groups; k++) {
        if (report->group[k].n == row->n && strcmp(report->group[k].engine, row->engine) == 0) {
            return &report->group[k];
        }
    }
    group = realloc(report->group, ((size_t)report->n_groups + 1) * sizeof *group);
    if (group == NULL) {
        return NULL;
    }
    report->group = group;
    group += report->n_groups++;
    *group = (bench_group_t){.engine = row->engine, .n = row->n};
    return group;
}

/* Without memory for them the medians are of the others. */
static void note_even(const bench_row_t *row, bench_group_t *group)
{
    const size_t bytes = ((size_t)group->n_even + 1) * sizeof(double);
    double      *grown;

    if (isnan(row->break_even) || isnan(row->break_even_net)) {
        return;
    }
    grown = realloc(group->even, bytes);
    if (grown == NULL) {
        return;
    }
    group->even = grown;
    grown       = realloc(group->even_net, bytes);
    if (grown == NULL) {
        return;
    }
    group->even_net                = grown;
    group->even[group->n_even]     = row->break_even;
    group->even_net[group->n_even] = row->break_even_net;
    group->n_even++;
}

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* The lower one of an even number, so that it is one of them. */
static double median(double *values, int n)
{
    if (n == 0) {
        return (double)NAN;
    }
    qsort(values, (size_t)n, sizeof *values, ascending);
    return values[(n - 1) / 2];
}

static void count(const bench_row_t *row, bench_group_t *group)
{
    if (isfinite(row->ratio) && row->ratio > 0.0) {
        if (group->matrices == 0 || row->ratio < group->least) {
            group->least = row->ratio;
            group->worst = row->matrix;
        }
        group->matrices++;
        group->faster += row->ratio > 1.0;
        group->log_ratio += log(row->ratio);
    }
    if (isfinite(row->rotated_ratio) && row->rotated_ratio > 0.0) {
        group->rotated++;
        group->log_rotated += log(row->rotated_ratio);
    }
    note_even(row, group);
}

int bench_report_row(bench_report_t *report, const bench_row_t *row)
{
    const double   gflops = 2e-9 * (double)row->nnz * (double)row->n / row->seconds;
    bench_group_t *group  = group_of(report, row);
    char           t[11][SHOWN];

    if (group == NULL) {
        (void)fprintf(stderr, "spmm_bench: out of host memory\n");
        return BENCH_OTHER;
    }
    if (row->passed) {
        count(row, group);
    }
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
    return BENCH_GOOD;
}

static double geomean(double log_sum, int count_of)
{
    return count_of > 0 ? exp(log_sum / count_of) : (double)NAN;
}

static void print_group(bench_group_t *g, const char *compute, FILE *tsv)
{
    const double faster = g->matrices > 0 ? (double)g->faster / g->matrices : (double)NAN;
    const char  *worst  = g->matrices > 0 ? g->worst : "-";
    char         t[6][SHOWN];

    shown(t[0], geomean(g->log_ratio, g->matrices), 4);
    shown(t[1], g->matrices > 0 ? g->least : (double)NAN, 4);
    shown(t[2], faster, 3);
    shown(t[3], geomean(g->log_rotated, g->rotated), 4);
    shown_count(t[4], median(g->even, g->n_even));
    shown_count(t[5], median(g->even_net, g->n_even));
    (void)printf("%-10s %5" PRId64 " %8d %9s %9s %7s %9s %10s %9s  %s\n", g->engine, g->n,
                 g->matrices, t[0], t[1], t[2], t[3], t[4], t[5], worst);
    if (tsv != NULL) {
        (void)fprintf(tsv,
                      "# summary engine=%s N=%" PRId64 " compute=%s matrices=%d geomean=%s min=%s "
                      "faster=%s rotated_geomean=%s break_even=%s break_even_net=%s "
                      "min_matrix=%s\n",
                      g->engine, g->n, compute, g->matrices, t[0], t[1], t[2], t[3], t[4], t[5],
                      worst);
    }
}

void bench_report_summary(const bench_report_t *report)
{
    const char *compute = tool_word_name(tool_computes, (int)report->options->compute);

    (void)printf("\nratio to cusparse %s over all matrices, type %s, compute %s\n",
                 tool_word_name(tool_types, (int)report->options->yardstick),
                 tool_word_name(tool_types, (int)report->options->type), compute);
    (void)printf("%-10s %5s %8s %9s %9s %7s %9s %10s %9s  %s\n", "engine", "N", "matrices",
                 "geomean", "minimum", "faster", "rotated", "break even", "net", "minimum at");
    for (int k = 0; k < report->n_groups; k++) {
        print_group(&report->group[k], compute, report->tsv);
    }
}

void bench_report_free(bench_report_t *report)
{
    for (int k = 0; k < report->n_groups; k++) {
        free(report->group[k].even);
        free(report->group[k].even_net);
    }
    free(report->group);
    report->group    = NULL;
    report->n_groups = 0;
}
