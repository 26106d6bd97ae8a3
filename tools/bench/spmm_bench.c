/* SPDX-License-Identifier: Apache-2.0 */
/** @file spmm_bench.c  All engines on one GPU: one row per matrix, engine and width. */
#include <inttypes.h>
#include <math.h>
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench_measure.h"
#include "tool_common.h"

static void print_header(const bench_t *bench, FILE *out, int argc, char **argv)
{
    const bench_options_t *options = &bench->options;
    const time_t           now     = time(NULL);
    struct tm              utc;
    char                   date[32] = "";

    if (gmtime_r(&now, &utc) != NULL) {
        (void)strftime(date, sizeof date, "%Y-%m-%d %H:%M UTC", &utc);
    }
    if (options->note != NULL) {
        (void)fprintf(out, "# %s\n", options->note);
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
    (void)fprintf(
        out, "\n# type %s, compute %s, layout %s, median of %" PRId64 " after %" PRId64 "\n",
        tool_word_name(tool_types, (int)options->type),
        tool_word_name(tool_computes, (int)options->compute),
        options->layout == SPMM_LAYOUT_COL ? "col" : "row", options->iterations, options->warmup);
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

/* Names of engines in the order of their rows: the baseline, then what is asked for. */
static const char *engine_at(const bench_options_t *options, int k, bool *skip)
{
    spmm_component_info_t info = {.struct_size = sizeof info};
    const char           *name;

    *skip = false;
    if (k == 0) {
        *skip = options->no_baseline && !wanted(options, "cusparse");
        return "cusparse";
    }
    if (options->n_engines > 0) {
        name = k <= options->n_engines ? options->engine[k - 1] : NULL;
    } else {
        name  = spmm_engine_info(k - 1, &info) == SPMM_OK ? info.name : NULL;
        *skip = name != NULL && !info.built;
    }
    *skip = *skip || (name != NULL && strcmp(name, "cusparse") == 0);
    return name;
}

/* All engines at one width; the seconds of @p row are those of a baseline of another type, else
 * NaN and cusparse is the baseline; it is measured also where only others are asked for, unless
 * the run has none.
 * @return false when the run must end */
static bool run_width(bench_t *bench, spmm_matrix_t *A, bench_dense_t *dense, bench_row_t row)
{
    const bench_options_t *options = &bench->options;
    const bool             own     = options->baseline == options->type;
    double                 warm = row.seconds, rotated = row.rotated_seconds; /* of the baseline */
    double                 build = row.build_seconds;
    const char            *engine;
    bool                   skip;

    for (int k = 0; (engine = engine_at(options, k, &skip)) != NULL; k++) {
        int code = BENCH_GOOD;

        if (skip) {
            continue;
        }
        row.engine = row.chosen = engine;
        row.reordering          = "none";
        row.seconds = row.rotated_seconds = row.predicted_seconds = NAN;
        code = bench_measure(bench, A, dense, &row);
        if (!bench_survives(bench, code)) {
            return false;
        }
        if (code != BENCH_GOOD) {
            (void)fprintf(stderr, "spmm_bench: no time of %s on %s, N = %" PRId64 "\n", engine,
                          row.matrix, row.n);
            continue;
        }
        if (isnan(row.seconds)) {
            continue;
        }
        row.passed = row.error <= tool_tolerance(options->type, options->compute);
        if (!row.passed) {
            (void)fprintf(stderr, "spmm_bench: the error of %s on %s is above its bound\n", engine,
                          row.matrix);
            bench->inaccurate = true;
        }
        if (k == 0 && own && row.passed) { /* a wrong product is no baseline */
            warm    = row.seconds;
            rotated = row.rotated_seconds;
            build   = row.build_seconds;
        }
        row.ratio = warm / row.seconds;
        bench_row_break_even(&row, warm, build);
        row.rotated_ratio = rotated / row.rotated_seconds;
        if (wanted(options, engine)) {
            bench_report_row(&bench->report, &row);
        }
    }
    return true;
}

/* @p baseline: A in the type of the baseline; NULL: that of A */
static bool run_widths(bench_t *bench, spmm_matrix_t *A, spmm_matrix_t *baseline,
                       const spmm_matrix_info_t *info, bench_row_t row)
{
    const bench_options_t *options = &bench->options;
    const size_t           elem    = spmm_type_size(options->type);

    for (int w = 0; w < options->n_widths; w++) {
        const size_t  pair = (size_t)(info->rows + info->cols) * (size_t)options->width[w] * elem;
        const int     sets = bench_timer_sets(&bench->timer, options, pair);
        bench_dense_t dense;
        int           code;
        bool          alive;

        row.n       = options->width[w];
        row.seconds = row.rotated_seconds = row.predicted_seconds = NAN;
        row.reordering                                            = "none";
        if (baseline != NULL && !bench_baseline(bench, baseline, info, &row)) {
            return false;
        }
        code = bench_dense_create(bench->ctx, options, info->rows, info->cols, row.n, sets, &dense);
        alive = bench_survives(bench, code);
        if (code == BENCH_GOOD) {
            alive = run_width(bench, A, &dense, row);
            bench_dense_free(&dense);
        }
        if (!alive) {
            return false;
        }
    }
    return true;
}

/* @return false when the run must end */
static bool run_matrix(bench_t *bench, const bench_input_t *input, spmm_matrix_t *A,
                       spmm_matrix_t *baseline)
{
    const char        *slash = input->generated ? NULL : strrchr(input->name, '/');
    spmm_matrix_info_t info  = {.struct_size = sizeof info};
    bench_row_t        row   = {.matrix = slash != NULL ? slash + 1 : input->name};

    if (spmm_matrix_get_info(A, &info) != SPMM_OK) {
        return bench_survives(bench, bench_fail(bench, BENCH_OTHER));
    }
    row.rows = info.rows;
    row.cols = info.cols;
    row.nnz  = info.nnz;
    return run_widths(bench, A, baseline, &info, row);
}

static int make_matrix(bench_t *bench, const bench_input_t *input, spmm_type_t type,
                       spmm_matrix_t **A)
{
    const uint64_t      seed   = bench->options.seed;
    const spmm_status_t status = input->generated
                                     ? spmm_matrix_generate(bench->ctx, input->name, type, seed, A)
                                     : spmm_matrix_read(bench->ctx, input->name, type, seed, A);

    if (status == SPMM_OK) {
        return BENCH_GOOD;
    }
    return bench_fail(bench, status == SPMM_ERR_MEMORY || status == SPMM_ERR_DEVICE ? BENCH_OTHER
                                                                                    : BENCH_INPUT);
}

/* @return false when the run must end */
static bool run_input(bench_t *bench, const bench_input_t *input)
{
    const bench_options_t *options  = &bench->options;
    spmm_matrix_t         *A        = NULL;
    spmm_matrix_t         *baseline = NULL; /* where its type is another */
    int                    code     = make_matrix(bench, input, options->type, &A);
    bool                   alive;

    if (code == BENCH_GOOD && options->baseline != options->type) {
        code = make_matrix(bench, input, options->baseline, &baseline);
    }
    alive =
        code == BENCH_GOOD ? run_matrix(bench, input, A, baseline) : bench_survives(bench, code);
    if (spmm_matrix_destroy(&A) != SPMM_OK || spmm_matrix_destroy(&baseline) != SPMM_OK) {
        alive = bench_survives(bench, bench_fail(bench, BENCH_OTHER)) && alive;
    }
    return alive;
}

static int check_engines(const bench_options_t *options)
{
    for (int k = 0; k < options->n_engines; k++) {
        spmm_component_info_t info  = {.struct_size = sizeof info};
        bool                  found = strcmp(options->engine[k], "auto") == 0;

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

static int check_output(const bench_t *bench, int error)
{
    if (error != 0) {
        (void)fprintf(stderr, "spmm_bench: cannot write %s: %s\n", bench->options.out,
                      strerror(error));
    }
    return error == 0 ? BENCH_GOOD : BENCH_OTHER;
}

static int run(bench_t *bench, int argc, char **argv)
{
    int  code  = bench_timer_create(bench->options.iterations, &bench->timer);
    bool alive = true;

    if (code != BENCH_GOOD) {
        return code;
    }
    bench->report.options = &bench->options;
    if (bench->options.out != NULL) {
        code = check_output(bench,
                            spmmi_output_open(&bench->out, bench->options.out, SPMM_OUTPUT_FOLLOW));
        if (code != BENCH_GOOD) {
            bench_timer_destroy(&bench->timer);
            return code;
        }
        bench->report.tsv = bench->out.stream;
        print_header(bench, bench->report.tsv, argc, argv);
    }
    print_header(bench, stdout, argc, argv);
    bench_report_titles(&bench->report);
    for (int k = 0; k < bench->options.n_inputs && alive; k++) {
        alive = run_input(bench, &bench->options.input[k]);
    }
    code = check_output(bench, spmmi_output_close(&bench->out, true));
    bench_timer_destroy(&bench->timer);
    code = bench->failed != BENCH_GOOD ? bench->failed : code;
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
        return bench_fail(bench, BENCH_OTHER);
    }
    code = run(bench, argc, argv);
    if (spmm_context_destroy(&bench->ctx) != SPMM_OK && code == BENCH_GOOD) {
        code = bench_fail(bench, BENCH_OTHER);
    }
    return code;
}

int main(int argc, char **argv)
{
    static bench_t bench; /* tens of KB */
    const char    *lost;
    int            code;

    tool_hold_streams();
    code = bench_options_parse(argc, argv, &bench.options);
    (void)setenv("SPMM_REMEMBER", "0", 0); /* tables do not depend on those made before */
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
    lost = tool_flush_output();
    if (lost != NULL && code == BENCH_GOOD) {
        (void)fprintf(stderr, "spmm_bench: cannot write to the standard output: %s\n", lost);
        code = BENCH_OTHER;
    }
    return code;
}
