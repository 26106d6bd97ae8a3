/* SPDX-License-Identifier: Apache-2.0 */
#include "driver_report.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* Widths: "%-11s" for the names of lines. */

/** @p value with commas between thousands. */
static const char *grouped(int64_t value, char text[32])
{
    char         digits[24];
    const size_t n    = (size_t)snprintf(digits, sizeof digits, "%" PRId64, value);
    size_t       used = 0;

    for (size_t i = 0; i < n; i++) {
        if (i > 0 && (n - i) % 3 == 0 && digits[i - 1] != '-') {
            text[used++] = ',';
        }
        text[used++] = digits[i];
    }
    text[used] = '\0';
    return text;
}

static const char *bytes_text(double bytes, char text[32])
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};

    size_t k = 0;

    while (bytes >= 1024.0 && k + 1 < sizeof units / sizeof units[0]) {
        bytes /= 1024.0;
        k++;
    }
    (void)snprintf(text, 32, k == 0 ? "%.0f %s" : "%.1f %s", bytes, units[k]);
    return text;
}

/** @p seconds in the unit that needs no exponent. */
static const char *duration_text(double seconds, char text[32])
{
    if (seconds >= 1.0) {
        (void)snprintf(text, 32, "%.3f s", seconds);
    } else {
        (void)snprintf(text, 32, "%.3f ms", 1e3 * seconds);
    }
    return text;
}

/** @p part in percent of @p whole, "-" where there is no whole. */
static const char *percent(int64_t part, int64_t whole, char text[32])
{
    if (whole > 0) {
        (void)snprintf(text, 32, "%.3g %%", 100.0 * (double)part / (double)whole);
    } else {
        (void)snprintf(text, 32, "-");
    }
    return text;
}

static void print_problem(FILE *out, const driver_options_t *o, const driver_report_t *r)
{
    char rows[32], cols[32], nnz[32], took[32];

    (void)fprintf(out, "%-11s %s\n", "matrix", o->matrix != NULL ? o->matrix : o->generate);
    (void)fprintf(out, "%-11s %s x %s, %s entries of %s, %s in %s\n", "",
                  grouped(r->matrix.rows, rows), grouped(r->matrix.cols, cols),
                  grouped(r->matrix.nnz, nnz), driver_type_name(o->type),
                  o->matrix != NULL ? "read" : "generated", duration_text(r->input_s, took));
    if (o->matrix != NULL) {
        (void)fprintf(out, "%-11s digest %016" PRIx64 "\n", "", r->matrix.digest);
    }
    (void)fprintf(out,
                  "%-11s C = %g * %s * B + %g * C, %" PRId64 " columns, %s-major, compute %s\n",
                  "product", o->alpha,
                  o->op == SPMM_OP_N   ? "A"
                  : o->op == SPMM_OP_T ? "A^T"
                                       : "A^H",
                  o->beta, o->columns, o->layout == SPMM_LAYOUT_COL ? "column" : "row",
                  driver_compute_name(driver_compute_resolve(o)));
    (void)fprintf(out, "%-11s %d on %s (%s)", "ranks", r->context.size, r->context.device,
                  r->context.device_name);
    if (r->context.nodes > 1) {
        (void)fprintf(out, ", %d nodes", r->context.nodes);
    }
    (void)fputc('\n', out);
}

/** Nothing on one node. */
static void print_network(FILE *out, const driver_report_t *r)
{
    const spmm_flow_t *f = &r->stats.between;
    char               a[32], b[32], c[32], d[32];

    if (r->context.nodes == 1) {
        return;
    }
    (void)fprintf(out, "%-11s %s rows between %d nodes in %s messages, %s for each execute\n",
                  "network", grouped(f->rows, a), r->context.nodes, grouped(f->messages, b),
                  bytes_text((double)f->bytes, c));
    (void)fprintf(out, "%-11s %s rows in or out at most on a rank, %s messages, %s\n", "",
                  grouped(f->rows_max, a), grouped(f->messages_max, b),
                  bytes_text((double)f->bytes_max, c));
    f = &r->stats.within;
    (void)fprintf(out, "%-11s %s rows within nodes, %s at most on a rank, %s and %s messages\n", "",
                  grouped(f->rows, a), grouped(f->rows_max, b), grouped(f->messages, c),
                  grouped(f->messages_max, d));
}

static void print_plan(FILE *out, const driver_options_t *o, const driver_report_t *r)
{
    const spmm_plan_stats_t *s = &r->stats;
    char                     a[32], b[32], c[32];

    (void)fprintf(out, "%-11s %s, imbalance %.3f, made in %s, formats in %s\n", "partition",
                  s->partition, s->imbalance, duration_text(s->partition_s, a),
                  duration_text(s->build_s, b));
    (void)fprintf(out, "%-11s %s, decided in %s\n", "reordering", s->reordering,
                  duration_text(s->reorder_s, a));
    (void)fprintf(out, "%-11s %s rows in all, %s at most on a rank, %s for each execute\n", "halo",
                  grouped(s->halo_rows_total, a), grouped(s->halo_rows_max, b),
                  bytes_text((double)r->recv_bytes_total, c));
    if (s->allgather_rows_total > 0) { /* not on one rank */
        (void)fprintf(out, "%-11s ", "");
        if (o->op == SPMM_OP_N) { /* of op T rows of C travel */
            (void)fprintf(out, "%s of allgather (%s rows), ",
                          percent(s->halo_rows_total, s->allgather_rows_total, a),
                          grouped(s->allgather_rows_total, b));
        }
        (void)fprintf(out, "%s of partition block (%s rows)\n",
                      percent(s->halo_rows_total, s->block_halo_rows_total, a),
                      grouped(s->block_halo_rows_total, b));
    }
    print_network(out, r);
    (void)fprintf(out, "%-11s %s", "engine", r->engine);
    if (r->halo_engine[0] != '\0') {
        (void)fprintf(out, ", %s for the off-diagonal block", r->halo_engine);
    }
    (void)fprintf(out, "\n%-11s %s", "transport", s->transport != NULL ? s->transport : "-");
    (void)fprintf(out, r->context.nodes > 1 ? ", exchange %s\n" : "\n", s->exchange);
    if (s->chunks > 1) {
        (void)fprintf(out, "%-11s %s, %d chunks\n", "schedule", s->schedule, s->chunks);
    } else {
        (void)fprintf(out, "%-11s %s\n", "schedule", s->schedule);
    }
    if (strcmp(r->context.device, "cpu") == 0) {
        (void)fprintf(out, "%-11s %s at most on a rank\n", "plan holds",
                      bytes_text((double)r->host_bytes_max + (double)r->device_bytes_max, a));
    } else {
        (void)fprintf(out, "%-11s %s on the host, %s on the device at most on a rank\n",
                      "plan holds", bytes_text((double)r->host_bytes_max, a),
                      bytes_text((double)r->device_bytes_max, b));
    }
}

static void print_number(FILE *out, double value)
{
    if (isfinite(value)) {
        (void)fprintf(out, " %11.4f", value);
    } else {
        (void)fprintf(out, " %11s", "-");
    }
}

static void print_times(FILE *out, const driver_options_t *o, const driver_report_t *r)
{
    static const char *const names[DRIVER_PHASES] = {"pack", "exchange", "local", "halo", "total"};

    (void)fprintf(out, "\n%-11s %11s %11s %11s   over ranks, median of %" PRId64 "\n", "time (ms)",
                  "min", "avg", "max", o->iterations);
    for (int k = 0; k < DRIVER_PHASES; k++) {
        (void)fprintf(out, "  %-9s", names[k]);
        print_number(out, 1e3 * r->phase[k].min);
        print_number(out, 1e3 * r->phase[k].avg);
        print_number(out, 1e3 * r->phase[k].max);
        (void)fputc('\n', out);
    }
    if (r->overlap <= 0.0) { /* the phases in sum took no longer than the whole */
        (void)fprintf(out, "%-11s none: exchange and products took turns\n", "overlap");
    } else if (isfinite(r->overlap)) {
        (void)fprintf(out, "%-11s %.2f of the exchange is hidden (of the products, if shorter)\n",
                      "overlap", r->overlap);
    } else {
        (void)fprintf(out, "%-11s -\n", "overlap");
    }
    (void)fprintf(out,
                  "%-11s %.4g GFLOP/s (%g * entries * columns / %.4g ms, the median of the slowest "
                  "rank's)\n",
                  "speed", r->gflops, r->flops, 1e3 * r->total_s);
}

static void print_verdict(FILE *out, const driver_options_t *o, const driver_report_t *r)
{
    char a[32];

    (void)fprintf(out, "%-11s max error %.2g of bound %.2g: %s\n", "verify", r->verdict.max_error,
                  r->tolerance, r->passed ? "passed" : "FAILED");
    if (r->verdict.out_of_range > 0) {
        (void)fprintf(out, "%-11s %s elements may leave the range of %s and were not compared\n",
                      "", grouped(r->verdict.out_of_range, a), driver_type_name(o->type));
    }
}

void driver_print_report(FILE *out, const driver_options_t *options, const driver_report_t *report)
{
    print_problem(out, options, report);
    print_plan(out, options, report);
    print_times(out, options, report);
    if (report->verified) {
        print_verdict(out, options, report);
    }
}

void driver_print_components(FILE *out, spmm_status_t (*describe)(int, spmm_component_info_t *))
{
    spmm_component_info_t info = {.struct_size = sizeof info};

    for (int i = 0; describe(i, &info) == SPMM_OK; i++) {
        (void)fprintf(out, "%-14s %s%s\n", info.name, info.description,
                      info.built ? "" : " (not in this build)");
    }
}
