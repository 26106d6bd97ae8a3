/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/engine.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cpu/cpu_kernels.h"
#include "spmm_dist/context.h"

#define SPMM_ENGINE(x) extern const spmm_engine_ops_t spmmi_engine_##x;
#include "engine/engine_list.h"
#undef SPMM_ENGINE

const spmm_engine_ops_t *const spmmi_engines[] = {
#define SPMM_ENGINE(x) &spmmi_engine_##x,
#include "engine/engine_list.h"
#undef SPMM_ENGINE
};
_Static_assert(sizeof spmmi_engines / sizeof spmmi_engines[0] <= SPMM_MOST_ENGINES,
               "more engines than lists have room for");
const int spmmi_n_engines = (int)(sizeof spmmi_engines / sizeof spmmi_engines[0]);

const spmm_engine_ops_t *spmmi_engine_find(const char *name)
{
    for (int e = 0; e < spmmi_n_engines; e++) {
        if (strcmp(spmmi_engines[e]->name, name) == 0) {
            return spmmi_engines[e];
        }
    }
    return NULL;
}

/* Lengths of rows: their most and how they vary.  Squares of whole numbers, so that threads may add
 * them in any order. */
static void scan_lengths(const spmm_csr_t *block, int team, spmm_pattern_t *pattern)
{
    const double  mean  = (double)pattern->nnz / block->n_rows;
    const int64_t whole = (int64_t)mean;
    int64_t       most = 0, square = 0;

#pragma omp parallel for schedule(static) num_threads(team) reduction(max : most) reduction(+ : square)
    for (int32_t i = 0; i < block->n_rows; i++) {
        const int64_t length = block->row_ptr[i + 1] - block->row_ptr[i];

        most = length > most ? length : most;
        square += (length - whole) * (length - whole);
    }
    pattern->max_row = most;
    pattern->row_cv =
        sqrt((double)square / block->n_rows - (mean - (double)whole) * (mean - (double)whole)) /
        mean;
}

spmm_status_t spmmi_pattern_scan(spmm_env_t *env, const spmm_csr_t *block, spmm_pattern_t *pattern)
{
    spmm_used_columns_t columns;
    spmm_status_t       status;

    *pattern = (spmm_pattern_t){.n_rows = block->n_rows,
                                .n_cols = block->n_cols,
                                .c_rows = block->c_rows,
                                .nnz    = spmmi_csr_nnz(block)};
    if (pattern->nnz > 0) {
        scan_lengths(block, spmmi_cpu_team(env->threads), pattern);
    }
    SPMM_TRY(spmmi_windows_create(env, block, SPMM_WINDOWS_TALL, env->threads, &pattern->windows));
    status = spmmi_tc_facts_of(env, block, &pattern->windows, &pattern->tc, &columns);
    if (status != SPMM_OK) {
        spmmi_pattern_free(pattern);
        return status;
    }
    for (int k = 0; k < 3 && spmm_type_size(block->type) == 2; k++) {
        pattern->bcsr[k] =
            spmmi_bcsr_measure(&pattern->windows, block->n_rows, 4 << k, env->threads);
    }
    pattern->used_cols = columns.used;
    pattern->near_cols = columns.near;
    return SPMM_OK;
}

void spmmi_pattern_free(spmm_pattern_t *pattern)
{
    spmmi_windows_free(&pattern->windows);
}

const spmm_windows_t *spmmi_pattern_windows(const spmm_pattern_t *pattern)
{
    return pattern == NULL || pattern->windows.col == NULL ? NULL : &pattern->windows;
}

void spmmi_engine_consider(const spmm_pattern_t *pattern, const spmm_problem_t *problem,
                           const spmm_device_t *device, spmm_candidate_t *candidates)
{
    for (int e = 0; e < spmmi_n_engines; e++) {
        const spmm_engine_ops_t *engine = spmmi_engines[e];
        spmm_candidate_t        *c      = &candidates[e];

        *c             = spmmi_candidate_new(engine->name);
        c->engine      = engine;
        c->layout      = problem->layout;
        c->usable      = engine->supports(problem, device, c->why);
        c->predicted_s = c->usable ? engine->cost(pattern, problem, device) : (double)INFINITY;
    }
}

spmm_status_t spmmi_engine_pick(const char *name, const spmm_device_t *device,
                                const spmm_candidate_t *candidates, int n,
                                const spmm_candidate_t **picked)
{
    spmm_error_t *err  = &device->env->err;
    const bool    free = spmmi_candidate_is_auto(name);
    const int     choice =
        free ? spmmi_candidate_least(candidates, n, -1) : spmmi_candidate_find(candidates, n, name);

    if (choice < 0 && free) {
        return spmmi_fail(err, SPMM_ERR_UNSUPPORTED,
                          "no engine can run this problem on %s; --explain or "
                          "spmm_plan_explain() of a smaller problem says why",
                          device->description);
    }
    if (choice < 0) {
        return spmmi_fail(err, SPMM_ERR_ARGUMENT,
                          "there is no engine \"%.60s\"; spmm_dist --list-engines prints all",
                          name);
    }
    SPMM_TRY(spmmi_candidate_check(err, "engine", &candidates[choice]));
    *picked = &candidates[choice];
    return SPMM_OK;
}
