/* SPDX-License-Identifier: Apache-2.0 */
/** @file spmm_bench.c  All engines on one GPU: one row per matrix, engine and width. */
#include <inttypes.h>
#include <math.h>
#include <mpi.h>
#include <string.h>
#include <time.h>

#include "bench_time.h"
#include "tool_common.h"

/* What the rows of one run share. */
typedef struct {
    bench_options_t options;
    bench_timer_t   timer;
    spmm_context_t *ctx;
    FILE           *tsv; /**< NULL: none */
    bool            inaccurate;
} bench_t;

/* One measurement. */
typedef struct {
    const char *matrix, *engine;
    int64_t     rows, cols, nnz, n, checked;
    double      seconds, ratio, error;
} row_t;

static int fail(const bench_t *bench, int code)
{
    (void)fprintf(stderr, "spmm_bench: %s\n", spmm_last_error(bench->ctx));
    return code;
}

static void print_header(const bench_t *bench, FILE *out, int argc, char **argv)
{
    const bench_options_t *options = &bench->options;
    const time_t           now     = time(NULL);
    struct tm              utc;
    char                   date[32] = "";

    if (gmtime_r(&now, &utc) != NULL) {
        (void)strftime(date, sizeof date, "%Y-%m-%d %H:%M UTC", &utc);
    }
    (void)fprintf(out, "# spmm_dist %s on %s, %s\n", spmm_version(), bench->timer.device, date);
    (void)fprintf(out, "# CUDA runtime %d.%d, driver %d.%d, L2 %zu MB\n",
                  bench->timer.runtime / 1000, bench->timer.runtime % 1000 / 10,
                  bench->timer.driver / 1000, bench->timer.driver % 1000 / 10,
                  bench->timer.l2_bytes >> 20);
    (void)fprintf(out, "# command:");
    for (int k = 0; k < argc; k++) {
        (void)fprintf(out, " %s", argv[k]);
    }
    (void)fprintf(out,
                  "\n# type %s, layout %s, median of %" PRId64 " after %" PRId64 ", caches %s\n",
                  tool_word_name(tool_types, (int)options->type),
                  options->layout == SPMM_LAYOUT_COL ? "col" : "row", options->iterations,
                  options->warmup, bench_cache_text(options->cache));
}

static void print_titles(const bench_t *bench)
{
    (void)printf("%-32s %10s %12s %-10s %5s %12s %8s %10s %10s %10s\n", "matrix", "rows", "nnz",
                 "engine", "N", "median ms", "ratio", "GFLOP/s", "error", "of rows");
    if (bench->tsv != NULL) {
        (void)fprintf(bench->tsv, "matrix\trows\tcols\tnnz\tengine\tN\ttype\tmedian_ms\t"
                                  "ratio_to_cusparse\tgflops\tmax_error\trows_checked\n");
    }
}

static void print_row(const bench_t *bench, const row_t *row)
{
    const double ms     = 1e3 * row->seconds;
    const double gflops = 2e-9 * (double)row->nnz * (double)row->n / row->seconds;

    (void)printf("%-32s %10" PRId64 " %12" PRId64 " %-10s %5" PRId64
                 " %12.5f %8.3f %10.1f %10.2e %10" PRId64 "\n",
                 row->matrix, row->rows, row->nnz, row->engine, row->n, ms, row->ratio, gflops,
                 row->error, row->checked);
    (void)fflush(stdout);
    if (bench->tsv != NULL) {
        (void)fprintf(bench->tsv,
                      "%s\t%" PRId64 "\t%" PRId64 "\t%" PRId64 "\t%s\t%" PRId64
                      "\t%s\t%.6f\t%.4f\t%.2f\t%.3e\t%" PRId64 "\n",
                      row->matrix, row->rows, row->cols, row->nnz, row->engine, row->n,
                      tool_word_name(tool_types, (int)bench->options.type), ms, row->ratio, gflops,
                      row->error, row->checked);
        (void)fflush(bench->tsv);
    }
}

static bool wanted(const bench_options_t *options, const char *engine)
{
    for (int k = 0; k < options->n_engines; k++) {
        if (strcmp(options->engine[k], engine) == 0) {
            return true;
        }
    }
    return options->n_engines == 0;
}

/* Plan, check once against the reference, time.  @p row has its matrix, engine and width; its
 * seconds stay NaN where the engine cannot run the problem. */
static int measure(bench_t *bench, spmm_matrix_t *A, bench_dense_t *dense, row_t *row)
{
    spmm_plan_options_t options = SPMM_PLAN_OPTIONS_INIT;
    spmm_plan_t        *plan    = NULL;
    spmm_status_t       status;
    int                 code;

    options.layout        = bench->options.layout;
    options.compute       = bench->options.compute;
    options.engine        = row->engine;
    options.deterministic = bench->options.deterministic;
    status                = spmm_plan_create(A, row->n, &options, &plan);
    if (status == SPMM_ERR_UNSUPPORTED) {
        (void)fprintf(stderr, "spmm_bench: skipped: %s\n", spmm_last_error(bench->ctx));
        return BENCH_GOOD;
    }
    if (status != SPMM_OK) {
        return fail(bench, BENCH_OTHER);
    }
    code = bench_dense_poison(dense);
    if (code == BENCH_GOOD &&
        (spmm_execute(plan, row->n, 1.0, dense->B[0], dense->ldb, 0.0, dense->C[0], dense->ldc,
                      bench->timer.stream) != SPMM_OK ||
         spmm_stream_synchronize(bench->ctx, bench->timer.stream) != SPMM_OK)) {
        code = fail(bench, BENCH_OTHER);
    }
    if (code == BENCH_GOOD) {
        code = bench_dense_error(dense, A, &row->error, &row->checked);
    }
    if (code == BENCH_GOOD) {
        code = bench_time_plan(&bench->timer, &bench->options, plan, dense, &row->seconds);
    }
    if (spmm_plan_destroy(&plan) != SPMM_OK && code == BENCH_GOOD) {
        code = fail(bench, BENCH_OTHER);
    }
    return code;
}

/* All engines at one width; cusparse is measured also where only others are asked for. */
static int run_width(bench_t *bench, spmm_matrix_t *A, bench_dense_t *dense, row_t row)
{
    spmm_component_info_t info      = {.struct_size = sizeof info};
    double                yardstick = NAN;

    for (int k = -1; k < 0 || spmm_engine_info(k, &info) == SPMM_OK; k++) {
        const char *engine = k < 0 ? "cusparse" : info.name;
        int         code;

        if (k >= 0 &&
            (strcmp(engine, "cusparse") == 0 || !info.built || !wanted(&bench->options, engine))) {
            continue;
        }
        row.engine  = engine;
        row.seconds = NAN;
        code        = measure(bench, A, dense, &row);
        if (code != BENCH_GOOD) {
            return code;
        }
        if (isnan(row.seconds)) {
            continue;
        }
        yardstick = k < 0 ? row.seconds : yardstick;
        row.ratio = yardstick / row.seconds;
        if (wanted(&bench->options, engine)) {
            print_row(bench, &row);
        }
        if (!(row.error <= tool_tolerance(bench->options.type, bench->options.compute))) {
            (void)fprintf(stderr, "spmm_bench: the error of %s on %s is above its bound\n", engine,
                          row.matrix);
            bench->inaccurate = true;
        }
    }
    return BENCH_GOOD;
}

static int run_matrix(bench_t *bench, const bench_input_t *input, spmm_matrix_t *A)
{
    const bench_options_t *options = &bench->options;
    const char            *slash   = input->generated ? NULL : strrchr(input->name, '/');
    spmm_matrix_info_t     info    = {.struct_size = sizeof info};
    row_t                  row     = {.matrix = slash != NULL ? slash + 1 : input->name};
    int                    code    = BENCH_GOOD;

    if (spmm_matrix_get_info(A, &info) != SPMM_OK) {
        return fail(bench, BENCH_OTHER);
    }
    row.rows = info.rows;
    row.cols = info.cols;
    row.nnz  = info.nnz;
    for (int w = 0; w < options->n_widths && code == BENCH_GOOD; w++) {
        const size_t  elem = spmm_type_size(options->type);
        const size_t  pair = (size_t)(info.rows + info.cols) * (size_t)options->width[w] * elem;
        bench_dense_t dense;

        row.n = options->width[w];
        code  = bench_dense_create(bench->ctx, options, info.rows, info.cols, row.n,
                                   bench_timer_sets(&bench->timer, options, pair), &dense);
        if (code == BENCH_GOOD) {
            code = run_width(bench, A, &dense, row);
            bench_dense_free(&dense);
        }
    }
    return code;
}

static int run_input(bench_t *bench, const bench_input_t *input)
{
    const bench_options_t *options = &bench->options;
    spmm_matrix_t         *A       = NULL;
    spmm_status_t          status;
    int                    code;

    status = input->generated
                 ? spmm_matrix_generate(bench->ctx, input->name, options->type, options->seed, &A)
                 : spmm_matrix_read(bench->ctx, input->name, options->type, options->seed, &A);
    if (status != SPMM_OK) {
        return fail(bench, status == SPMM_ERR_MEMORY || status == SPMM_ERR_DEVICE ? BENCH_OTHER
                                                                                  : BENCH_INPUT);
    }
    code = run_matrix(bench, input, A);
    if (spmm_matrix_destroy(&A) != SPMM_OK && code == BENCH_GOOD) {
        code = fail(bench, BENCH_OTHER);
    }
    return code;
}

static int check_engines(const bench_options_t *options)
{
    for (int k = 0; k < options->n_engines; k++) {
        spmm_component_info_t info  = {.struct_size = sizeof info};
        bool                  found = false;

        for (int e = 0; spmm_engine_info(e, &info) == SPMM_OK; e++) {
            found = found || strcmp(info.name, options->engine[k]) == 0;
        }
        if (!found) {
            (void)fprintf(stderr, "spmm_bench: there is no engine \"%s\"\n", options->engine[k]);
            return BENCH_USAGE;
        }
    }
    return BENCH_GOOD;
}

static int run(bench_t *bench, int argc, char **argv)
{
    int code = bench_timer_create(bench->options.iterations, &bench->timer);

    if (code != BENCH_GOOD) {
        return code;
    }
    if (bench->options.out != NULL) {
        bench->tsv = fopen(bench->options.out, "w");
        if (bench->tsv == NULL) {
            (void)fprintf(stderr, "spmm_bench: cannot write %s\n", bench->options.out);
            bench_timer_destroy(&bench->timer);
            return BENCH_OTHER;
        }
        print_header(bench, bench->tsv, argc, argv);
    }
    print_header(bench, stdout, argc, argv);
    print_titles(bench);
    for (int k = 0; k < bench->options.n_inputs && code == BENCH_GOOD; k++) {
        code = run_input(bench, &bench->options.input[k]);
    }
    if (bench->tsv != NULL) {
        const bool bad = ferror(bench->tsv) != 0;

        if ((fclose(bench->tsv) != 0 || bad) && code == BENCH_GOOD) {
            (void)fprintf(stderr, "spmm_bench: writing %s failed\n", bench->options.out);
            code = BENCH_OTHER;
        }
    }
    bench_timer_destroy(&bench->timer);
    return code == BENCH_GOOD && bench->inaccurate ? BENCH_INACCURATE : code;
}

static int open_and_run(bench_t *bench, int argc, char **argv)
{
    spmm_context_options_t options = SPMM_CONTEXT_OPTIONS_INIT;
    int                    ranks   = 0;
    int                    code;

    if (MPI_Comm_size(MPI_COMM_WORLD, &ranks) != MPI_SUCCESS || ranks != 1) {
        (void)fprintf(stderr, "spmm_bench: runs on one rank, not on %d\n", ranks);
        return BENCH_USAGE;
    }
    options.device = SPMM_DEVICE_CUDA;
    if (spmm_context_create(MPI_COMM_WORLD, &options, &bench->ctx) != SPMM_OK) {
        return fail(bench, BENCH_OTHER);
    }
    code = run(bench, argc, argv);
    if (spmm_context_destroy(&bench->ctx) != SPMM_OK && code == BENCH_GOOD) {
        code = fail(bench, BENCH_OTHER);
    }
    return code;
}

int main(int argc, char **argv)
{
    static bench_t bench; /* tens of KB */
    int            code = bench_options_parse(argc, argv, &bench.options);

    if (code == BENCH_GOOD && bench.options.help) {
        bench_print_help(stdout);
    } else if (code == BENCH_GOOD) {
        code = check_engines(&bench.options);
        if (code == BENCH_GOOD && MPI_Init(&argc, &argv) != MPI_SUCCESS) {
            code = BENCH_OTHER;
        } else if (code == BENCH_GOOD) {
            code = open_and_run(&bench, argc, argv);
            (void)MPI_Finalize();
        }
    }
    bench_options_free(&bench.options);
    return code;
}
