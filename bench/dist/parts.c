/* SPDX-License-Identifier: Apache-2.0 */
/** @file parts.c
 *  The local blocks of the ranks of a partition, one after the other on one rank:
 *
 *      bench_parts [-p RANKS] [-n N,N...] [-c COMPUTE] [-m block|metis] [-e] [-i ITERATIONS]
 *                  FILE|SPEC...
 *
 *  For rows weighed by entries and by time a line for each matrix and N: rows of B that travel, of
 *  the local blocks the largest over the mean entries, predicted and measured times, and the
 *  largest of both times; with -e also a line for each rank and engine.  Without a GPU the model's
 *  machine is one H200, and nothing is measured, as with -i 0.
 */
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/context.h"
#include "base/alloc.h"
#include "block.h"
#include "engine/choose/weigh.h"
#include "partition/scale/scale.h"
#include "tool_common.h"

enum { MOST_WIDTHS = 8, MOST_RANKS = 64 };

typedef struct {
    spmm_context_t *ctx;
    spmm_env_t     *env;
    spmm_device_t   model; /**< whose times are predicted */
    bool            measures, all_engines;
    int             ranks, n_widths;
    int64_t         widths[MOST_WIDTHS], iterations;
    const char     *method, *compute_name;
    spmm_compute_t  compute;
    spmm_type_t     type;
    int             code;
} bench_t;

/** What a rank has. */
typedef struct {
    int64_t entries, rows, halo_rows;
    double  predicted_s, measured_s;
} rank_t;

static void must(const bench_t *b, spmm_status_t status, const char *what)
{
    if (status != SPMM_OK) {
        (void)fprintf(stderr, "bench_parts: %s: %s\n", what, b->env->err.text);
        MPI_Abort(MPI_COMM_WORLD, 4);
    }
}

static spmm_problem_t problem_of(const bench_t *b, int64_t n, const spmm_pattern_t *pattern)
{
    return (spmm_problem_t){.ab_type = b->type,
                            .c_type  = b->type,
                            .compute = b->compute,
                            .layout  = SPMM_LAYOUT_ROW,
                            .n       = n,
                            .pattern = pattern};
}

/* The rows of @p part, as a block of the columns of @p part, renumbered. */
static spmm_status_t local_block(const bench_t *b, const spmm_scale_t *s, int part,
                                 spmm_csr_t *block, int64_t *halo_rows)
{
    const spmm_matrix_t *A      = s->A;
    const size_t         size   = spmm_type_size(A->type);
    int32_t              n_rows = 0, n_cols = 0, row = 0, *number;
    int64_t              nnz = 0, at = 0;

    *halo_rows = 0;
    if (SPMM_NEW(number, A->cols) == NULL) {
        return spmmi_fail_memory(&b->env->err, A->cols, sizeof *number, "numbers of columns");
    }
    for (int32_t j = 0; j < A->cols; j++) {
        number[j] = s->col_part[j] == part ? n_cols++ : -1;
    }
    for (int32_t i = 0; i < A->n_rows; i++) {
        n_rows += s->row_part[i] == part;
        for (int64_t k = A->row_ptr[i]; s->row_part[i] == part && k < A->row_ptr[i + 1]; k++) {
            nnz += number[A->col_idx[k]] >= 0;
            *halo_rows += number[A->col_idx[k]] == -1;
            number[A->col_idx[k]] -= number[A->col_idx[k]] == -1; /* counted once */
        }
    }
    if (spmmi_csr_alloc(b->env, n_rows, n_cols, nnz, A->type, block) != SPMM_OK) {
        spmmi_free(number);
        return SPMM_ERR_MEMORY;
    }
    block->row_ptr[0] = 0;
    for (int32_t i = 0; i < A->n_rows; i++) {
        for (int64_t k = A->row_ptr[i]; s->row_part[i] == part && k < A->row_ptr[i + 1]; k++) {
            if (number[A->col_idx[k]] >= 0) {
                block->col_idx[at] = number[A->col_idx[k]];
                memcpy((char *)block->values + size * (size_t)at,
                       (const char *)A->values + size * (size_t)k, size);
                at++;
            }
        }
        if (s->row_part[i] == part) {
            block->row_ptr[++row] = at;
        }
    }
    spmmi_free(number);
    return SPMM_OK;
}

/* One engine on one block; NAN where it does not run. */
static double measure(bench_t *b, const bench_operands_t *o, const spmm_engine_ops_t *engine,
                      const spmm_problem_t *problem)
{
    void         *format  = NULL;
    double        seconds = NAN, error = 0.0;
    spmm_status_t status = engine->build(o->block, problem, o->device, &format);

    if (status == SPMM_OK) {
        status = bench_operands_measure(o, engine, format, b->iterations, &seconds, &error);
    }
    engine->destroy(format);
    if (status != SPMM_OK) {
        (void)fprintf(stderr, "bench_parts: %s: %s\n", engine->name, b->env->err.text);
        spmmi_error_clear(&b->env->err);
        return NAN;
    }
    if (!(error <= 1.0)) { /* far above any bound of a type */
        b->code = 1;
    }
    return seconds;
}

static void run_block(bench_t *b, const spmm_csr_t *block, int64_t n, const char *title,
                      rank_t *rank)
{
    spmm_pattern_t   pattern = {0};
    spmm_problem_t   problem;
    bench_operands_t o = {0};
    char             why[SPMM_WHY];

    rank->predicted_s = rank->measured_s = INFINITY;
    must(b, spmmi_pattern_scan(b->env, block, &pattern), "the facts of a block");
    problem = problem_of(b, n, &pattern);
    if (b->measures) {
        must(b, bench_operands_open(&b->ctx->device, block, n, &o), "operands");
    }
    for (int e = 0; e < spmmi_n_engines; e++) {
        const spmm_engine_ops_t *engine = spmmi_engines[e];
        double                   predicted, measured = NAN;

        if (!engine->supports(&problem, &b->model, why)) {
            continue;
        }
        predicted = engine->cost(&pattern, &problem, &b->model);
        if (b->measures) {
            measured = measure(b, &o, engine, &problem);
        }
        rank->predicted_s = fmin(rank->predicted_s, predicted);
        rank->measured_s  = fmin(rank->measured_s, measured); /* of no number: the other */
        if (b->all_engines) {
            (void)printf("# %s\t%s\t%lld\t%.2f\t%.2f\n", title, engine->name,
                         (long long)rank->entries, 1e6 * predicted, 1e6 * measured);
        }
    }
    if (b->measures) {
        bench_operands_close(&o);
    }
    spmmi_pattern_free(&pattern);
}

/* Weights by time, NULL where no model says them. */
static int64_t *weigh(bench_t *b, const spmm_matrix_t *A, int64_t n, const char **engine)
{
    spmm_csr_t      block   = {0};
    spmm_pattern_t  pattern = {0};
    int64_t        *weight  = NULL;
    spmm_problem_t  problem;
    spmm_row_cost_t cost;

    must(b,
         spmmi_csr_alloc(b->env, A->n_rows, (int32_t)A->cols, spmmi_matrix_local_nnz(A), A->type,
                         &block),
         "a block");
    memcpy(block.row_ptr, A->row_ptr, ((size_t)A->n_rows + 1) * sizeof *A->row_ptr);
    for (int64_t k = 0; k < spmmi_matrix_local_nnz(A); k++) {
        block.col_idx[k] = (int32_t)A->col_idx[k];
    }
    must(b, spmmi_pattern_scan(b->env, &block, &pattern), "the facts of a matrix");
    problem = problem_of(b, n, NULL);
    cost    = spmmi_row_cost(NULL, &pattern, &problem, &b->model);
    *engine = cost.engine == NULL ? "-" : cost.engine->name;
    if (cost.engine != NULL && SPMM_NEW(weight, A->n_rows) != NULL) {
        spmmi_weigh_rows(&cost, &block, &pattern,
                         cost.all / fmax((double)A->nnz, 32.0 * (double)A->rows), 1, weight);
    }
    spmmi_pattern_free(&pattern);
    spmmi_csr_free(&block);
    return weight;
}

/** Of the ranks. */
typedef struct {
    double largest, over_mean;
} spread_t;

static double value_of(const rank_t *rank, int what)
{
    return what == 0 ? (double)rank->entries : what == 1 ? rank->predicted_s : rank->measured_s;
}

static spread_t spread_of(const rank_t *rank, int ranks, int what)
{
    spread_t s   = {0.0, 0.0};
    double   sum = 0.0;

    for (int p = 0; p < ranks; p++) {
        s.largest = fmax(s.largest, value_of(&rank[p], what));
        sum += value_of(&rank[p], what);
    }
    s.over_mean = s.largest / sum * ranks;
    return s;
}

static void print(const bench_t *b, const char *name, int64_t n, const char *balance,
                  const char *engine, const rank_t *rank)
{
    const spread_t entries = spread_of(rank, b->ranks, 0), predicted = spread_of(rank, b->ranks, 1);
    const spread_t measured = spread_of(rank, b->ranks, 2);
    int64_t        halo     = 0;

    for (int p = 0; p < b->ranks; p++) {
        halo += rank[p].halo_rows;
    }
    (void)printf("%s\t%d\t%lld\t%s\t%s\t%s\t%s\t%lld\t%.3f\t%.3f\t%.2f", name, b->ranks,
                 (long long)n, b->compute_name, b->method, balance, engine, (long long)halo,
                 entries.over_mean, predicted.over_mean, 1e6 * predicted.largest);
    if (b->measures) {
        (void)printf("\t%.3f\t%.2f\n", measured.over_mean, 1e6 * measured.largest);
    } else {
        (void)printf("\t-\t-\n");
    }
    (void)fflush(stdout);
}

static void run_weighed(bench_t *b, const spmm_matrix_t *A, const char *name, int64_t n,
                        const char *balance, const char *engine, const int64_t *weight)
{
    const spmm_partition_options_t options = {.weight = weight};
    spmm_scale_t                   scale;
    rank_t                         rank[MOST_RANKS];
    char                           title[128];

    must(b, spmmi_scale_create(A, b->ranks, 0, b->method, &options, false, &scale), "a partition");
    for (int p = 0; p < b->ranks; p++) {
        spmm_csr_t block = {0};

        must(b, local_block(b, &scale, p, &block, &rank[p].halo_rows), "a local block");
        rank[p].entries = spmmi_csr_nnz(&block);
        rank[p].rows    = block.n_rows;
        (void)snprintf(title, sizeof title, "%s\t%lld\t%s\t%d", name, (long long)n, balance, p);
        run_block(b, &block, n, title, &rank[p]);
        spmmi_csr_free(&block);
    }
    print(b, name, n, balance, engine, rank);
    spmmi_scale_free(&scale);
}

static void run_matrix(bench_t *b, const char *path)
{
    const char *dot  = strchr(path, '.');
    const bool  file = dot != NULL && (strstr(dot, ".mtx") != NULL || strstr(dot, ".csr") != NULL);
    spmm_matrix_t *A = NULL;

    must(b,
         file ? spmm_matrix_read(b->ctx, path, b->type, 1, &A)
              : spmm_matrix_generate(b->ctx, path, b->type, 1, &A),
         path);
    for (int w = 0; w < b->n_widths; w++) {
        const char *engine;
        int64_t    *weight = weigh(b, A, b->widths[w], &engine);

        run_weighed(b, A, bench_block_name(path), b->widths[w], "entries", "-", NULL);
        if (weight != NULL) {
            run_weighed(b, A, bench_block_name(path), b->widths[w], "time", engine, weight);
        }
        spmmi_free(weight);
    }
    must(b, spmm_matrix_destroy(&A), "spmm_matrix_destroy");
}

static bool parse(bench_t *b, int argc, char **argv)
{
    const tool_word_t *word;
    int                code;

    while ((code = getopt(argc, argv, "p:n:c:m:ei:")) != -1) {
        switch (code) {
        case 'p':
            b->ranks = atoi(optarg);
            break;
        case 'n':
            b->n_widths = tool_read_widths(optarg, 1, b->widths, MOST_WIDTHS);
            break;
        case 'c':
            word = tool_word_find(tool_computes, optarg);
            if (word == NULL) {
                return false;
            }
            b->compute_name = word->name;
            b->compute      = (spmm_compute_t)word->value;
            b->type         = b->compute == SPMM_COMPUTE_64F ? SPMM_R_64F : SPMM_R_32F;
            break;
        case 'm':
            b->method = optarg;
            break;
        case 'e':
            b->all_engines = true;
            break;
        case 'i':
            b->iterations = atoi(optarg);
            break;
        default:
            return false;
        }
    }
    return b->n_widths > 0 && b->ranks > 1 && b->ranks <= MOST_RANKS && b->iterations >= 0;
}

int main(int argc, char **argv)
{
    spmm_context_options_t o = SPMM_CONTEXT_OPTIONS_INIT;
    bench_t                b = {.ranks        = 2,
                                .widths       = {32, 128},
                                .n_widths     = 2,
                                .iterations   = 21,
                                .method       = "metis",
                                .compute      = SPMM_COMPUTE_32F_FAST_TF32,
                                .compute_name = "32f-fast-tf32",
                                .type         = SPMM_R_32F};

    MPI_Init(&argc, &argv);
    if (!parse(&b, argc, argv)) {
        (void)fprintf(stderr, "bench_parts: see the head of bench/dist/parts.c\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    if (spmm_context_create(MPI_COMM_SELF, &o, &b.ctx) != SPMM_OK) {
        (void)fprintf(stderr, "bench_parts: %s\n", spmm_last_error(NULL));
        MPI_Abort(MPI_COMM_WORLD, 4);
    }
    b.env      = &b.ctx->env;
    b.model    = b.ctx->device;
    b.measures = b.iterations > 0 && b.model.kind == SPMM_DEVICE_CUDA;
    if (b.model.kind != SPMM_DEVICE_CUDA) { /* one H200, nothing of which was measured */
        b.model = (spmm_device_t){
            .kind = SPMM_DEVICE_CUDA, .cc = 90, .n_sm = 132, .threads = 1, .mem_bw = 4.8e12};
    }
    (void)printf("matrix\tranks\tN\tcompute\tpartition\tbalance\tmodel\thalo_rows\t"
                 "entries_max_mean\tpredicted_max_mean\tpredicted_us\tmeasured_max_mean\t"
                 "measured_us\n");
    for (int k = optind; k < argc; k++) {
        run_matrix(&b, argv[k]);
    }
    must(&b, spmm_context_destroy(&b.ctx), "spmm_context_destroy");
    MPI_Finalize();
    return b.code;
}
