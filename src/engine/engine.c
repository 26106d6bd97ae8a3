/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/engine.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"

#define SPMM_ENGINE(x) extern const spmm_engine_ops_t spmm_engine_##x;
#include "engine/engine_list.h"
#undef SPMM_ENGINE

const spmm_engine_ops_t *const spmm_engines[] = {
#define SPMM_ENGINE(x) &spmm_engine_##x,
#include "engine/engine_list.h"
#undef SPMM_ENGINE
};
const int spmm_n_engines = (int)(sizeof spmm_engines / sizeof spmm_engines[0]);

const spmm_engine_ops_t *spmm_engine_find(const char *name)
{
    for (int e = 0; e < spmm_n_engines; e++) {
        if (strcmp(spmm_engines[e]->name, name) == 0) {
            return spmm_engines[e];
        }
    }
    return NULL;
}

/* Columns used by rows from .. to - 1.  @p seen has a bit for each column, all 0. */
static int64_t count_columns(const spmm_csr_t *block, int32_t from, int32_t to, uint64_t *seen)
{
    int64_t n = 0;

    for (int64_t k = block->row_ptr[from]; k < block->row_ptr[to]; k++) {
        uint64_t      *word = &seen[block->col_idx[k] / 64];
        const uint64_t bit  = (uint64_t)1 << block->col_idx[k] % 64;

        n += (*word & bit) == 0;
        *word |= bit;
    }
    return n;
}

/* Over some groups of rows, evenly spread. */
static spmm_status_t scan_near(spmm_env_t *env, const spmm_csr_t *block, double *near_cols)
{
    enum { MOST_GROUPS = 4 };
    const int64_t rows  = block->n_rows < SPMM_NEAR_ROWS ? block->n_rows : SPMM_NEAR_ROWS;
    const int64_t apart = block->n_rows - rows; /* of the first group from the last */
    const int     groups =
        apart < (MOST_GROUPS - 1) * rows ? (int)(apart / (rows + !rows)) + 1 : MOST_GROUPS;
    const int64_t n_words = (int64_t)block->n_cols / 64 + 1;
    uint64_t     *seen;
    int64_t       sum = 0;

    if (SPMM_NEW(seen, n_words) == NULL) {
        return spmm_fail_memory(&env->err, n_words, sizeof *seen, "the columns of a block");
    }
    for (int g = 0; g < groups; g++) {
        const int64_t from = groups == 1 ? 0 : apart * g / (groups - 1);

        memset(seen, 0, (size_t)n_words * sizeof *seen);
        sum += count_columns(block, (int32_t)from, (int32_t)(from + rows), seen);
    }
    spmm_free(seen);
    *near_cols = (double)sum / groups;
    return SPMM_OK;
}

spmm_status_t spmm_pattern_scan(spmm_env_t *env, const spmm_csr_t *block, spmm_pattern_t *pattern)
{
    const int64_t nnz    = spmm_csr_nnz(block);
    const double  mean   = block->n_rows == 0 ? 0.0 : (double)nnz / block->n_rows;
    double        square = 0.0;

    *pattern = (spmm_pattern_t){
        .n_rows = block->n_rows, .n_cols = block->n_cols, .c_rows = block->c_rows, .nnz = nnz};
    for (int32_t i = 0; i < block->n_rows; i++) {
        const int64_t length = block->row_ptr[i + 1] - block->row_ptr[i];

        pattern->max_row = length > pattern->max_row ? length : pattern->max_row;
        square += ((double)length - mean) * ((double)length - mean);
    }
    pattern->row_cv = nnz == 0 ? 0.0 : sqrt(square / block->n_rows) / mean;
    if (nnz > 0) {
        SPMM_TRY(scan_near(env, block, &pattern->near_cols));
    }
    return spmm_tc_facts_scan(env, block, &pattern->tc, &pattern->used_cols);
}

void spmm_engine_consider(const spmm_pattern_t *pattern, const spmm_problem_t *problem,
                          const spmm_device_t *device, spmm_engine_candidate_t *candidates)
{
    for (int e = 0; e < spmm_n_engines; e++) {
        const spmm_engine_ops_t *engine = spmm_engines[e];
        spmm_engine_candidate_t *c      = &candidates[e];

        c->engine      = engine;
        c->layout      = problem->layout;
        c->why[0]      = '\0';
        c->predicted_s = INFINITY;
        c->measured_s  = NAN;
        c->copies_s    = 0.0;
        c->tried       = false;
        c->usable      = engine->supports(problem, device, c->why);
        if (c->usable) {
            c->predicted_s = engine->cost(pattern, problem, device);
        }
    }
}

static spmm_status_t pick_fastest(const spmm_device_t           *device,
                                  const spmm_engine_candidate_t *candidates, int n,
                                  const spmm_engine_candidate_t **picked)
{
    const spmm_engine_candidate_t *best = NULL;

    for (int e = 0; e < n; e++) {
        const spmm_engine_candidate_t *c = &candidates[e];

        if (c->usable && (best == NULL || c->predicted_s < best->predicted_s)) {
            best = c;
        }
    }
    *picked = best;
    return best != NULL ? SPMM_OK
                        : spmm_fail(&device->env->err, SPMM_ERR_UNSUPPORTED,
                                    "no engine can run this problem on %s; --explain or "
                                    "spmm_plan_explain() of a smaller problem says why",
                                    device->description);
}

spmm_status_t spmm_engine_pick(const char *name, const spmm_device_t *device,
                               const spmm_engine_candidate_t *candidates, int n,
                               const spmm_engine_candidate_t **picked)
{
    if (name == NULL || strcmp(name, "auto") == 0) {
        return pick_fastest(device, candidates, n, picked);
    }
    for (int e = 0; e < n; e++) {
        if (strcmp(candidates[e].engine->name, name) == 0) {
            if (!candidates[e].usable) {
                return spmm_fail(&device->env->err, SPMM_ERR_UNSUPPORTED, "engine %s %s", name,
                                 candidates[e].why);
            }
            *picked = &candidates[e];
            return SPMM_OK;
        }
    }
    return spmm_fail(&device->env->err, SPMM_ERR_ARGUMENT,
                     "there is no engine \"%.60s\"; spmm_dist --list-engines prints all", name);
}
