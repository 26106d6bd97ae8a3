/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <time.h>

#include "dist.h"
#include "tool_common.h"

static const char titles[] =
    "set\tmatrix\tranks\tcolumns\ttype\tcompute\tpartition\tvariant\tengine\thalo_engine\t"
    "transport\tschedule\trows\tnnz\thalo_rows\thalo_rows_max\ttotal_ms\tloop_ms\tpack_"
    "ms\texchange_ms\t"
    "local_ms\thalo_ms\toverlap\tlocal_max_mean\talone_exchange_ms\talone_local_ms\talone_halo_ms\t"
    "host_ms\tto_allgather\tto_"
    "needed\tto_in_place\tmax_error\tpassed\n";

void dist_print_header(const dist_bench_t *b, int argc, char **argv)
{
    char         date[32];
    const time_t now = time(NULL);
    struct tm    utc;
    int          nccl = 0, driver = 0;

    (void)ncclGetVersion(&nccl);
    (void)cudaDriverGetVersion(&driver);
    (void)strftime(date, sizeof date, "%Y-%m-%d", gmtime_r(&now, &utc));
    (void)fprintf(b->out, "# %s, %d x %s, NCCL %d, CUDA %d, median of %" PRId64 " products:", date,
                  b->job.size, b->ctx->device.description, nccl, driver, b->options.iterations);
    for (int k = 0; k < argc; k++) {
        (void)fprintf(b->out, " %s", argv[k]);
    }
    (void)fputc('\n', b->out);
    if (!b->options.append || b->options.out == NULL) {
        (void)fputs(titles, b->out);
    }
}

static void print_number(FILE *out, double x)
{
    if (isfinite(x)) {
        (void)fprintf(out, "\t%.4g", x);
    } else {
        (void)fputs(isnan(x) ? "\t-" : "\tinf", out);
    }
}

static const char *name_of(const char *name)
{
    return name != NULL && name[0] != '\0' ? name : "-";
}

void dist_print_row(const dist_bench_t *b, const dist_row_t *row, const double base_ms[])
{
    const dist_options_t *o         = &b->options;
    const dist_times_t   *t         = &row->times;
    const double          numbers[] = {t->total_ms, t->loop_ms, t->pack_ms, t->exchange_ms,
                                       t->local_ms, t->halo_ms, t->overlap, t->spread,
                                       t->comm_ms,  t->own_ms,  t->rest_ms, t->host_ms};
    const char           *slash     = strrchr(row->input, '/');

    if (b->job.rank != 0) {
        return;
    }
    (void)fprintf(b->out,
                  "%s\t%s\t%d\t%" PRId64 "\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%" PRId64 "\t%" PRId64
                  "\t%" PRId64 "\t%" PRId64,
                  o->set, slash == NULL ? row->input : slash + 1, b->job.size, row->n,
                  tool_word_name(tool_types, (int)o->type),
                  tool_word_name(tool_computes, (int)o->compute), row->partition, row->variant,
                  row->engine, name_of(row->halo_engine), name_of(row->transport),
                  name_of(row->schedule), row->rows, row->nnz, row->halo_rows, row->halo_rows_max);
    for (size_t k = 0; k < sizeof numbers / sizeof numbers[0]; k++) {
        print_number(b->out, numbers[k]);
    }
    for (int k = 0; k < DIST_BASELINES; k++) {
        print_number(b->out, base_ms[k] / t->total_ms);
    }
    print_number(b->out, row->max_error);
    (void)fprintf(b->out, "\t%s\n", row->passed ? "yes" : "no");
    (void)fflush(b->out);
}
