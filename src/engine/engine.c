/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/engine.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

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
    return spmm_tc_facts_scan(env, block, &pattern->tc, &pattern->used_cols);
}

static void consider(const spmm_engine_ops_t *engine, const spmm_pattern_t *pattern,
                     const spmm_problem_t *problem, const spmm_device_t *device,
                     spmm_engine_candidate_t *candidate)
{
    candidate->engine      = engine;
    candidate->why[0]      = '\0';
    candidate->predicted_s = INFINITY;
    candidate->usable      = engine->supports(problem, device, candidate->why);
    if (candidate->usable) {
        candidate->predicted_s = engine->cost(pattern, problem, device);
    }
}

spmm_status_t spmm_engine_choose(const char *name, const spmm_pattern_t *pattern,
                                 const spmm_problem_t *problem, const spmm_device_t *device,
                                 spmm_engine_candidate_t  *candidates,
                                 const spmm_engine_ops_t **chosen)
{
    const bool               free_choice = name == NULL || strcmp(name, "auto") == 0;
    const spmm_engine_ops_t *best        = NULL;
    double                   least       = INFINITY;

    for (int e = 0; e < spmm_n_engines; e++) {
        consider(spmm_engines[e], pattern, problem, device, &candidates[e]);
        if (candidates[e].usable && (best == NULL || candidates[e].predicted_s < least)) {
            best  = spmm_engines[e];
            least = candidates[e].predicted_s;
        }
    }
    if (free_choice) {
        *chosen = best;
        return best != NULL ? SPMM_OK
                            : spmm_fail(&device->env->err, SPMM_ERR_UNSUPPORTED,
                                        "no engine can run this problem on %s; --explain or "
                                        "spmm_plan_explain() of a smaller problem says why",
                                        device->description);
    }
    for (int e = 0; e < spmm_n_engines; e++) {
        if (strcmp(spmm_engines[e]->name, name) == 0) {
            if (!candidates[e].usable) {
                return spmm_fail(&device->env->err, SPMM_ERR_UNSUPPORTED, "engine %s %s", name,
                                 candidates[e].why);
            }
            *chosen = spmm_engines[e];
            return SPMM_OK;
        }
    }
    return spmm_fail(&device->env->err, SPMM_ERR_ARGUMENT,
                     "there is no engine \"%.60s\"; spmm_dist --list-engines prints all", name);
}
