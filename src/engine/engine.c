/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/engine.h"

#include <math.h>
#include <string.h>

#include "base/scalar.h"
#include "engine/tune/roofline.h"
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
        if (strcmp(spmmi_engines[e]->facts.name, name) == 0) {
            return spmmi_engines[e];
        }
    }
    return NULL;
}

spmm_status_t spmmi_engines_preload(const spmm_device_t *device)
{
    for (int e = 0; e < spmmi_n_engines && device->kind != SPMM_DEVICE_CPU; e++) {
        if (spmmi_engines[e]->preload != NULL) {
            SPMM_TRY(spmmi_engines[e]->preload(device));
        }
    }
    return SPMM_OK;
}

spmm_status_t spmmi_pattern_scan(spmm_env_t *env, const spmm_csr_t *block, spmm_pattern_t *pattern)
{
    return spmmi_pattern_scan_for(env, block, SPMM_LAYOUT_COL, pattern);
}

spmm_status_t spmmi_pattern_scan_for(spmm_env_t *env, const spmm_csr_t *block, spmm_layout_t layout,
                                     spmm_pattern_t *pattern)
{
    spmm_status_t status = spmmi_pattern_measure(env, block, pattern);

    for (int e = 0; e < spmmi_n_engines && status == SPMM_OK; e++) {
        const spmm_pattern_facts_t *facts = spmmi_engines[e]->facts.pattern;

        if (facts != NULL && (layout == SPMM_LAYOUT_COL || !facts->by_column)) {
            status = spmmi_pattern_add_facts(env, block, facts, pattern);
        }
    }
    if (status != SPMM_OK) {
        spmmi_pattern_free(pattern);
    }
    return status;
}

bool spmmi_engine_supports(const spmm_engine_ops_t *engine, const spmm_problem_t *problem,
                           const spmm_device_t *device, char why[SPMM_WHY])
{
    const spmm_engine_facts_t *facts = &engine->facts;
    spmm_problem_t             rows  = *problem;

    if (facts->lacks != NULL) {
        (void)snprintf(why, SPMM_WHY, "needs a build with %s", facts->lacks);
        return false;
    }
    if (facts->device != SPMM_DEVICE_AUTO && facts->device != device->kind) {
        (void)snprintf(why, SPMM_WHY, "%s",
                       facts->device == SPMM_DEVICE_CPU
                           ? "computes on the CPU and B and C are on a GPU"
                           : "needs a GPU");
        return false;
    }
    rows.layout = problem->layout == SPMM_LAYOUT_MIXED ? SPMM_LAYOUT_ROW : problem->layout;
    if (!engine->supports(&rows, device, why)) {
        return false;
    }
    if (problem->layout == SPMM_LAYOUT_MIXED &&
        !(facts->stores_columns && device->kind == SPMM_DEVICE_CUDA)) {
        (void)snprintf(why, SPMM_WHY, "stores row-major C");
        return false;
    }
    if (problem->in_order && !facts->in_order) {
        (void)snprintf(why, SPMM_WHY,
                       "sums no row for itself in the order of its entries, as option reproducible "
                       "asks");
        return false;
    }
    return true;
}

double spmmi_engine_cost(const spmm_engine_ops_t *engine, const spmm_pattern_t *pattern,
                         const spmm_problem_t *problem, const spmm_device_t *device)
{
    spmm_cost_term_t terms[SPMM_COST_TERMS];

    if (engine->facts.few_entries && pattern->nnz > INT32_MAX) {
        return INFINITY;
    }
    return spmmi_cost_sum(terms, engine->cost(pattern, problem, device, terms));
}

spmm_status_t spmmi_engine_refill(const spmm_engine_ops_t *engine, const spmm_device_t *device,
                                  spmm_type_t type, void *format, const void *values)
{
    void    *to;
    int64_t  count;
    int32_t *from;

    if (engine->refill != NULL) {
        return engine->refill(format, values);
    }
    SPMM_TRY(engine->places(format, &to, &count, &from));
    return spmmi_device_write(device, to, values, (size_t)count * spmm_type_size(type));
}

void spmmi_engine_consider(const spmm_pattern_t *pattern, const spmm_problem_t *problem,
                           const spmm_device_t *device, spmm_candidate_t *candidates)
{
    for (int e = 0; e < spmmi_n_engines; e++) {
        const spmm_engine_ops_t *engine = spmmi_engines[e];
        spmm_candidate_t        *c      = &candidates[e];

        *c        = spmmi_candidate_new(engine->facts.name);
        c->engine = engine;
        c->layout = problem->layout;
        c->c_type = problem->c_type;
        c->usable = spmmi_engine_supports(engine, problem, device, c->why);
        c->predicted_s =
            c->usable ? spmmi_engine_cost(engine, pattern, problem, device) : (double)INFINITY;
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
