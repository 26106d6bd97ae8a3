/* SPDX-License-Identifier: Apache-2.0 */
/** @file forms.c  Formats, built by the engines chosen for them, and the buffers that go with them. */
#include <math.h>

#include "base/alloc.h"
#include "plan/plan.h"

spmm_status_t spmm_plan_scan(const spmm_plan_t *plan, spmm_block_t *block)
{
    if (!block->scanned) {
        SPMM_TRY(spmm_pattern_scan(plan->env, &block->csr, &block->pattern));
        block->scanned = true;
    }
    return SPMM_OK;
}

static spmm_status_t consider_engines(spmm_plan_t *plan, spmm_block_t *block, spmm_type_t c_type)
{
    block->problem = (spmm_problem_t){.ab_type       = plan->ab_type,
                                      .c_type        = c_type,
                                      .compute       = plan->compute,
                                      .layout        = plan->edge ? SPMM_LAYOUT_ROW : plan->layout,
                                      .n             = plan->n,
                                      .deterministic = plan->deterministic};
    if (block->candidates == NULL && SPMM_NEW_ZERO(block->candidates, spmm_n_engines) == NULL) {
        return spmm_fail_memory(&plan->env->err, spmm_n_engines, sizeof *block->candidates,
                                "engine candidates");
    }
    SPMM_TRY(spmm_plan_scan(plan, block));
    if (block == &plan->local && plan->layout == SPMM_LAYOUT_COL) {
        return spmm_plan_consider_edge(plan);
    }
    spmm_engine_consider(&block->pattern, &block->problem, plan->device, block->candidates);
    return SPMM_OK;
}

/* On CPUs the prediction decides: there one engine is ahead nearly always.  So it does where equal
 * bits are asked for, which times that vary must not take away. */
static spmm_status_t build_block(spmm_plan_t *plan, spmm_block_t *block, spmm_type_t c_type,
                                 const spmm_plan_options_t *o)
{
    const bool                 adds   = block == &plan->remote && plan->op == SPMM_OP_N;
    const spmm_engine_choice_t choice = {.name    = o->engine,
                                         .measure = plan->device->kind != SPMM_DEVICE_CPU &&
                                                    o->no_autotune == 0 && !plan->deterministic,
                                         .beta = adds ? 1.0 : 0.0};
    const double               start  = spmm_now();
    spmm_engine_settled_t      settled;

    SPMM_TRY(consider_engines(plan, block, c_type));
    SPMM_TRY(spmm_engine_settle(&choice, &block->csr, &block->problem, plan->device,
                                block->candidates, spmm_n_engines, &settled));
    block->engine         = settled.picked->engine;
    block->format         = settled.format;
    block->problem.layout = settled.picked->layout;
    block->predicted_s    = settled.picked->predicted_s;
    block->measured_s     = settled.picked->measured_s;
    plan->stats.tune_s += settled.tune_s;
    plan->stats.build_s += spmm_now() - start;
    spmm_log(plan->env, "format %s built in %.2f s, %.2f s of them to choose", block->engine->name,
             spmm_now() - start, settled.tune_s);
    return SPMM_OK;
}

/* The local block first: it decides on the layout of both. */
static spmm_status_t build_split(spmm_plan_t *plan, const spmm_plan_options_t *o)
{
    /* What peers add up for op T stays in the accumulator's type until the last sum. */
    const spmm_type_t remote_c = plan->op == SPMM_OP_N ? plan->c_type : plan->halo_type;

    SPMM_TRY(spmm_plan_reorder(plan, &plan->local, plan->c_type, o));
    SPMM_TRY(spmm_plan_reorder(plan, &plan->remote, remote_c, o));
    SPMM_TRY(build_block(plan, &plan->local, plan->c_type, o));
    plan->edge = plan->local.problem.layout != plan->layout;
    if (!plan->keep_input) {
        spmm_csr_free(&plan->local.csr);
    }
    SPMM_TRY(build_block(plan, &plan->remote, remote_c, o));
    if (!plan->keep_input) {
        spmm_csr_free(&plan->remote.csr);
    }
    return SPMM_OK;
}

static void free_input(spmm_block_t *block)
{
    spmm_csr_free(&block->csr);
    spmm_free(block->source);
    block->source = NULL;
}

static spmm_status_t build_joined(spmm_plan_t *plan, spmm_forms_t forms,
                                  const spmm_plan_options_t *o)
{
    spmm_block_t *block = &plan->joined[forms].block;

    SPMM_TRY(spmm_plan_join(plan, forms, block));
    if (!plan->keep_input && plan->local.engine == NULL) {
        free_input(&plan->local);
        free_input(&plan->remote);
    }
    SPMM_TRY(spmm_plan_reorder(plan, block, plan->c_type, o));
    SPMM_TRY(build_block(plan, block, plan->c_type, o));
    spmm_csr_free(&block->csr);
    return SPMM_OK;
}

spmm_forms_t spmm_plan_forms_here(const spmm_plan_t *plan, spmm_forms_t forms)
{
    return plan->alone && forms != SPMM_FORMS_GATHERED ? SPMM_FORMS_SPLIT : forms;
}

static spmm_status_t make_here(spmm_plan_t *plan, spmm_forms_t forms, const spmm_plan_options_t *o)
{
    if (plan->made[forms]) {
        return SPMM_OK;
    }
    SPMM_TRY(forms == SPMM_FORMS_SPLIT ? build_split(plan, o) : build_joined(plan, forms, o));
    return spmm_plan_make_rows(plan, forms);
}

spmm_status_t spmm_plan_make_forms(spmm_plan_t *plan, spmm_forms_t forms,
                                   const spmm_plan_options_t *o)
{
    const spmm_forms_t here = spmm_plan_forms_here(plan, forms);

    SPMM_TRY(spmm_agree(plan->env, make_here(plan, here, o)));
    if (forms == SPMM_FORMS_GATHERED && plan->gather == NULL) {
        const size_t row_bytes = (size_t)plan->n * spmm_type_size(plan->halo_type);

        SPMM_TRY(spmm_agree(plan->env, plan->transport->create(plan->shared, &plan->full, row_bytes,
                                                               &plan->gather)));
    }
    plan->made[here] = true;
    return SPMM_OK;
}

/* The format; the facts stay for explain. */
static void give_up(spmm_block_t *block)
{
    if (block->engine != NULL) {
        block->engine->destroy(block->format);
    }
    block->engine = NULL;
    block->format = NULL;
}

void spmm_plan_drop_forms(spmm_plan_t *plan, const bool keep[SPMM_FORMS])
{
    bool here[SPMM_FORMS] = {false};

    for (int f = 0; f < SPMM_FORMS; f++) {
        here[spmm_plan_forms_here(plan, (spmm_forms_t)f)] |= keep[f];
    }
    for (int f = 0; f < SPMM_FORMS; f++) {
        if (here[f]) {
            continue;
        }
        if (f == SPMM_FORMS_SPLIT) {
            give_up(&plan->local);
            give_up(&plan->remote);
            plan->edge = false;
        } else {
            give_up(&plan->joined[f].block);
            free_input(&plan->joined[f].block);
        }
        if (f == SPMM_FORMS_GATHERED && plan->gather != NULL) {
            plan->transport->destroy(plan->gather);
            plan->gather = NULL;
        }
        spmm_plan_free_rows(plan, (spmm_forms_t)f);
        plan->made[f] = false;
    }
    if (!plan->keep_input && !here[SPMM_FORMS_SPLIT]) {
        free_input(&plan->local);
        free_input(&plan->remote);
    }
}

void spmm_block_free(spmm_block_t *block)
{
    give_up(block);
    free_input(block);
    spmm_free(block->candidates);
    block->candidates = NULL;
}

const spmm_block_t *spmm_plan_main_block(const spmm_plan_t *plan)
{
    const spmm_forms_t forms = spmm_plan_forms_here(plan, plan->schedule->forms);

    return forms == SPMM_FORMS_SPLIT ? &plan->local : &plan->joined[forms].block;
}
