/* SPDX-License-Identifier: Apache-2.0 */
#include "matrix/generate/generate.h"

#include <inttypes.h>

#include "base/alloc.h"
#include "cpu/cpu_kernels.h"
#include "matrix/generate/spec.h"

/* A rank's units are cut into this many runs of about equal length for its threads. */
enum { N_RUNS = 512 };

/* Fewer entries than this are not worth waking threads for. */
enum { PARALLEL_ENTRIES = 1 << 15 };

/* This rank's share of the work. */
typedef struct {
    const spmm_generator_t *generator;
    spmm_sink_t             sink;             /* what every run starts from */
    int64_t                 unit[N_RUNS + 1]; /* run r makes units [r] .. [r + 1] - 1 */
    int64_t                 at[N_RUNS + 1];   /* where its entries go */
} work_t;

static void cut_runs(const spmm_env_t *env, work_t *work)
{
    const int64_t n = work->generator->n_units, share = n / env->size, extra = n % env->size;
    const int64_t first = share * env->rank + (env->rank < extra ? env->rank : extra);

    spmmi_even_offsets(share + (env->rank < extra), N_RUNS, work->unit);
    for (int r = 0; r <= N_RUNS; r++) {
        work->unit[r] += first;
    }
}

/* Entries of each run into at[r + 1], then summed up. */
static void count_runs(work_t *work, int team)
{
    const spmm_generator_t *g = work->generator;

    work->at[0] = 0;
    /* most times units is below 2^40 */
#pragma omp parallel for schedule(dynamic)                                                         \
    num_threads(team) if (g->most * g->n_units > PARALLEL_ENTRIES)
    for (int r = 0; r < N_RUNS; r++) {
        spmm_sink_t sink = {0};

        for (int64_t unit = work->unit[r]; !g->exact && unit < work->unit[r + 1]; unit++) {
            g->kind->emit(g, unit, &sink);
        }
        work->at[r + 1] = g->exact ? (work->unit[r + 1] - work->unit[r]) * g->most : sink.count;
    }
    for (int r = 0; r < N_RUNS; r++) {
        work->at[r + 1] += work->at[r];
    }
}

static void fill_runs(const work_t *work, int team, spmm_entry_t *entry)
{
    const spmm_generator_t *g = work->generator;

#pragma omp parallel for schedule(dynamic)                                                         \
    num_threads(team) if (work->at[N_RUNS] > PARALLEL_ENTRIES)
    for (int r = 0; r < N_RUNS; r++) {
        spmm_sink_t sink = work->sink;

        sink.entry = entry + work->at[r];
        for (int64_t unit = work->unit[r]; unit < work->unit[r + 1]; unit++) {
            g->kind->emit(g, unit, &sink);
        }
    }
}

/* This rank's entries; local. */
static spmm_status_t make_entries(spmm_env_t *env, const spmm_generator_t *g, spmm_entries_t *list)
{
    const int      team = spmmi_cpu_team(env->threads);
    work_t         work = {.generator = g};
    spmm_shuffle_t row, col;

    if (g->shuffle) {
        spmmi_shuffle_init(&row, g->rows, g->seed, 1);
        spmmi_shuffle_init(&col, g->cols, g->seed, g->rows == g->cols ? 1 : 2);
        work.sink = (spmm_sink_t){.row = &row, .col = &col};
    }
    cut_runs(env, &work);
    count_runs(&work, team);
    list->count = list->capacity = work.at[N_RUNS];
    if (SPMM_NEW(list->entry, list->count) == NULL) {
        return spmmi_fail_memory(&env->err, list->count, sizeof *list->entry, "generated entries");
    }
    fill_runs(&work, team, list->entry);
    return SPMM_OK;
}

/* The rows must find room on the ranks before any time is spent on them. */
static spmm_status_t check_size(spmm_env_t *env, const spmm_generator_t *g)
{
    const int64_t most = (int64_t)env->size * INT32_MAX;

    if (g->rows > most || g->cols > most) {
        return spmmi_fail(&env->err, SPMM_ERR_RANGE,
                          "a matrix of %" PRId64 " x %" PRId64
                          " leaves some of %d ranks more than 2147483647 rows or columns; use more "
                          "ranks",
                          g->rows, g->cols, env->size);
    }
    return SPMM_OK;
}

spmm_status_t spmmi_matrix_from_spec(spmm_env_t *env, const char *spec, spmm_type_t type,
                                     uint64_t seed, spmm_matrix_t **A)
{
    spmm_generator_t generator;
    spmm_entries_t   list = {0};
    spmm_status_t    status;

    status = spmmi_agree(env, spmmi_spec_parse(&env->err, spec, seed, &generator));
    if (status == SPMM_OK) {
        status = check_size(env, &generator);
    }
    if (status == SPMM_OK) {
        status = spmmi_agree(env, make_entries(env, &generator, &list));
    }
    if (status == SPMM_OK) {
        status = spmmi_assemble(env, generator.rows, generator.cols, &list, SPMM_DUPLICATES_DROP,
                                seed, type == SPMM_TYPE_AUTO ? SPMM_R_64F : type, A);
    }
    spmmi_entries_free(&list);
    return status;
}
