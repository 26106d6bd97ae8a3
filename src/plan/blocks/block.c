/* SPDX-License-Identifier: Apache-2.0 */
/** @file block.c  Blocks of a plan: engines are chosen for them, formats and buffers are made. */
#include "plan/blocks/block.h"

#include <string.h>

#include "base/alloc.h"
#include "cpu/cpu_kernels.h"
#include "engine/choose/constants.h"
#include "plan/blocks/order.h"
#include "plan/blocks/split.h"
#include "plan/create/buffers.h"
#include "plan/plan.h"
#include "plan/run/overlap.h"
#include "spmm_dist/context.h"

spmm_status_t spmmi_block_scan(const spmm_device_t *device, spmm_layout_t layout,
                               spmm_block_t *block)
{
    if (!block->scanned) {
        SPMM_TRY(spmmi_pattern_scan_for(device->env, &block->csr, layout, &block->pattern));
        if (device->kind == SPMM_DEVICE_CPU) {
            spmmi_pattern_free(
                &block->pattern); /* no order is made of the windows, and no format */
        }
        block->scanned = true;
    }
    return SPMM_OK;
}

/* The sources of a whole row of A are consecutive numbers. */
static void sort_row(const spmm_block_t *block, int64_t from, int64_t to, spmm_csr_t *csr)
{
    const size_t size  = spmm_type_size(csr->type);
    int64_t      least = INT64_MAX;

    for (int64_t k = from; k < to; k++) {
        least = block->source[k] < least ? block->source[k] : least;
    }
    for (int64_t k = from; k < to; k++) {
        const int64_t at = from + block->source[k] - least;

        csr->col_idx[at] = block->csr.col_idx[k];
        memcpy((char *)csr->values + (size_t)at * size,
               (const char *)block->csr.values + (size_t)k * size, size);
    }
    for (int64_t k = from; k < to; k++) {
        block->source[k] = (uint32_t)(least + k - from);
    }
}

spmm_status_t spmmi_block_sort_by_source(spmm_env_t *env, spmm_block_t *block)
{
    spmm_csr_t *old = &block->csr, csr;

    if (block->source == NULL) {
        return SPMM_OK;
    }
    SPMM_TRY(spmmi_csr_alloc(env, old->n_rows, old->n_cols, block->nnz, old->type, &csr));
#pragma omp parallel for schedule(dynamic, 256) num_threads(spmmi_cpu_team(env->threads))
    for (int32_t i = 0; i < old->n_rows; i++) {
        sort_row(block, old->row_ptr[i], old->row_ptr[i + 1], &csr);
    }
    memcpy(csr.row_ptr, old->row_ptr, ((size_t)old->n_rows + 1) * sizeof *csr.row_ptr);
    csr.row_map  = old->row_map;
    csr.c_rows   = old->c_rows;
    old->row_map = NULL;
    spmmi_csr_free(old);
    *old = csr;
    return SPMM_OK;
}

void spmmi_block_free_csr(spmm_block_t *block)
{
    if (block->lent) {
        block->engine->adopt(block->format);
        block->csr.col_idx = NULL;
        block->csr.values  = NULL;
        block->lent        = false;
    }
    spmmi_csr_free(&block->csr);
}

void spmmi_permuted_free(spmm_permuted_t *p)
{
    spmmi_pattern_free(&p->pattern);
    spmmi_csr_free(&p->csr);
    spmmi_free(p->source);
    p->source = NULL;
}

void spmmi_block_free_input(spmm_block_t *block)
{
    spmmi_block_free_csr(block);
    spmmi_free(block->source);
    block->source = NULL;
    spmmi_pattern_free(&block->pattern);
    spmmi_permuted_free(&block->rival);
}

void spmmi_block_free(spmm_block_t *block)
{
    if (block->engine != NULL) {
        block->engine->destroy(block->format);
    }
    block->engine = NULL;
    block->format = NULL;
    block->lent   = false;
    spmmi_block_free_input(block);
    spmmi_free(block->candidates);
    block->candidates = NULL;
}

/* Op T: the halo block makes rows for peers. */
static spmm_layout_t layout_of(const spmm_plan_t *plan, const spmm_block_t *block)
{
    const bool by_columns = block == &plan->blocks.halo && plan->op == SPMM_OP_N;

    if (!plan->edge.used) {
        return plan->layout;
    }
    return by_columns && plan->edge.direct ? SPMM_LAYOUT_MIXED : SPMM_LAYOUT_ROW;
}

static spmm_status_t consider_engines(spmm_plan_t *plan, spmm_block_t *block, spmm_type_t c_type)
{
    const spmm_layout_t layout   = layout_of(plan, block);
    const bool          copies_c = layout == SPMM_LAYOUT_ROW && plan->layout == SPMM_LAYOUT_COL;

    block->problem =
        spmmi_plan_problem(plan, copies_c ? spmmi_accum_type(c_type) : c_type, plan->n);
    block->problem.layout  = layout;
    block->problem.pattern = &block->pattern;
    block->problem.waits   = spmmi_plan_may_wait(plan, block);
    if (SPMM_NEW_ZERO(block->candidates, spmmi_n_engines) == NULL) {
        return spmmi_fail_memory(&plan->env->err, spmmi_n_engines, sizeof *block->candidates,
                                 "engine candidates");
    }
    SPMM_TRY(spmmi_block_scan(plan->device, plan->layout, block));
    if (block == &plan->blocks.local && plan->layout == SPMM_LAYOUT_COL && !plan->reproducible) {
        return spmmi_plan_consider_edge(plan);
    }
    spmmi_engine_consider(&block->pattern, &block->problem, plan->device, block->candidates);
    return SPMM_OK;
}

/* Take the engine chosen; the windows are not needed any more. */
static void install(spmm_block_t *block, const spmm_engine_settled_t *settled)
{
    block->engine         = settled->picked->engine;
    block->lent           = block->problem.lends && block->engine->adopt != NULL;
    block->format         = settled->format;
    block->problem.layout = settled->picked->layout;
    block->problem.c_type = settled->picked->c_type;
    block->predicted_s    = settled->picked->predicted_s;
    block->measured_s     = settled->picked->measured_s;
    block->remembered     = settled->remembered;
    spmmi_pattern_free(&block->pattern);
    spmmi_permuted_free(&block->rival);
}

/* The yardstick runs on rows as they are: in another order it needs a pass over C. */
static void leave_out_yardstick(spmm_candidate_t *candidates)
{
    for (int e = 0; e < spmmi_n_engines; e++) {
        if (candidates[e].engine->yardstick && candidates[e].usable) {
            spmmi_candidate_leave_out(&candidates[e],
                                      "is measured on rows in their own order only");
        }
    }
}

/* Put the other order of rows in the place of @p block, choose its engine, and go back to what is
 * @p settled unless that was clearly faster.  One format is held beside the other meanwhile. */
static spmm_status_t try_order(spmm_plan_t *plan, spmm_block_t *block, spmm_type_t c_type,
                               const spmm_engine_choice_t *choice, spmm_engine_settled_t *settled)
{
    const spmm_error_t    before = plan->env->err;
    spmm_block_t          own    = *block;
    spmm_engine_settled_t other  = {.format = NULL};
    spmm_status_t         status;

    block->csr        = own.rival.csr;
    block->source     = own.rival.source;
    block->pattern    = own.rival.pattern;
    block->candidates = NULL;
    block->rival      = (spmm_permuted_t){.source = NULL};
    status            = consider_engines(plan, block, c_type);
    if (status == SPMM_OK) {
        leave_out_yardstick(block->candidates);
        status = spmmi_engine_settle(choice, &block->csr, &block->problem, plan->device,
                                     block->candidates, spmmi_n_engines, &other);
    }
    if (status == SPMM_OK) {
        plan->stats.tune_s += other.tune_s;
        block->reordering.own_s   = settled->picked->measured_s;
        block->reordering.other_s = other.picked->measured_s;
    }
    if (status == SPMM_OK &&
        other.picked->measured_s < SPMM_MEASURABLE * settled->picked->measured_s) {
        settled->picked->engine->destroy(settled->format);
        spmmi_pattern_free(&own.pattern);
        spmmi_csr_free(&own.csr);
        spmmi_free_all(own.source, own.candidates);
        block->reordering.applied = true;
        *settled                  = other;
        return SPMM_OK;
    }
    if (other.format != NULL) {
        other.picked->engine->destroy(other.format);
    }
    own.reordering = block->reordering;
    own.rival =
        (spmm_permuted_t){.csr = block->csr, .source = block->source, .pattern = block->pattern};
    spmmi_free(block->candidates);
    *block = own;
    if (spmmi_is_refusal(status)) {
        spmmi_log(plan->env, "rows stay in order: %s", plan->env->err.text);
        plan->env->err        = before;
        block->reordering.why = "no engine could take the rows in it";
        return SPMM_OK;
    }
    return status;
}

/* Is there one format, and the block dealt to memory as one on CPUs wants it?  A transpose, and
 * rows in another order, lie where other threads put them. */
static bool may_lend(const spmm_plan_t *plan, const spmm_block_t *block)
{
    return plan->device->kind == SPMM_DEVICE_CPU && plan->op == SPMM_OP_N &&
           block->rival.csr.row_ptr == NULL && !block->reordering.applied;
}

/* On so few entries engines differ by less than is saved where one waits itself. */
static const char *engine_for(const spmm_block_t *block, const spmm_plan_options_t *o)
{
    if (!block->problem.waits || o->graph != 0 || !spmmi_candidate_is_auto(o->engine)) {
        return o->engine;
    }
    for (int e = 0; e < spmmi_n_engines; e++) {
        if (block->candidates[e].usable && block->candidates[e].engine->waits != NULL) {
            return block->candidates[e].engine->name;
        }
    }
    return o->engine;
}

spmm_status_t spmmi_plan_build_block(spmm_plan_t *plan, spmm_block_t *block, spmm_type_t c_type,
                                     const spmm_plan_options_t *o)
{
    const bool            rivals = block->rival.csr.row_ptr != NULL;
    const bool            adds   = block == &plan->blocks.halo && plan->op == SPMM_OP_N;
    spmm_engine_choice_t  choice = {.measures = rivals || plan->measures,
                                    .compared = rivals,
                                    .beta     = adds ? 1.0 : 0.0,
                                    .executes = o->executes};
    const double          start  = spmmi_now();
    spmm_engine_settled_t settled;
    spmm_status_t         status = SPMM_OK;

    SPMM_TRY(consider_engines(plan, block, c_type));
    block->problem.lends = may_lend(plan, block);
    choice.name          = engine_for(block, o);
    SPMM_TRY(spmmi_engine_settle(&choice, &block->csr, &block->problem, plan->device,
                                 block->candidates, spmmi_n_engines, &settled));
    plan->stats.tune_s += settled.tune_s;
    if (rivals) { /* two orders of its rows are compared by times that are there now */
        status = try_order(plan, block, c_type, &choice, &settled);
    }
    if (status != SPMM_OK) {
        settled.picked->engine->destroy(settled.format);
        return status;
    }
    install(block, &settled);
    plan->stats.build_s += spmmi_now() - start;
    spmmi_log(plan->env, "format %s built in %.2f s, %.2f s of them to choose", block->engine->name,
              spmmi_now() - start, settled.tune_s);
    return SPMM_OK;
}

/* The local block first: it decides on the layout of both. */
static spmm_status_t build_split(spmm_plan_t *plan, const spmm_plan_options_t *o)
{
    /* What peers add up for op T stays in the accumulator's type until the last sum. */
    const spmm_type_t c_type = spmmi_plan_sum_type(plan, SPMM_BLOCKSET_SPLIT);
    const spmm_type_t halo_c = plan->op == SPMM_OP_N ? c_type : plan->halo_type;

    SPMM_TRY(spmmi_plan_reorder(plan, &plan->blocks.local, c_type, o));
    SPMM_TRY(spmmi_plan_reorder(plan, &plan->blocks.halo, halo_c, o));
    SPMM_TRY(spmmi_plan_build_block(plan, &plan->blocks.local, c_type, o));
    plan->edge.used   = plan->blocks.local.problem.layout != plan->layout;
    plan->edge.direct = plan->blocks.local.problem.layout == SPMM_LAYOUT_MIXED;
    spmmi_block_free_csr(&plan->blocks.local);
    SPMM_TRY(spmmi_plan_build_block(plan, &plan->blocks.halo, halo_c, o));
    spmmi_block_free_csr(&plan->blocks.halo);
    return SPMM_OK;
}

static spmm_status_t build_joined(spmm_plan_t *plan, const spmm_plan_options_t *o)
{
    const spmm_type_t c_type = spmmi_plan_sum_type(plan, SPMM_BLOCKSET_MERGED);
    spmm_block_t     *block  = &plan->blocks.joined.block;

    SPMM_TRY(spmmi_plan_join(plan, block));
    spmmi_block_free_input(&plan->blocks.local);
    spmmi_block_free_input(&plan->blocks.halo);
    SPMM_TRY(spmmi_plan_reorder(plan, block, c_type, o));
    if (plan->reproducible) {
        SPMM_TRY(spmmi_block_sort_by_source(plan->env, block));
    }
    SPMM_TRY(spmmi_plan_build_block(plan, block, c_type, o));
    spmmi_block_free_csr(block);
    return SPMM_OK;
}

/* What this rank has, which multiplies its local block alone where it has no peers. */
static spmm_blockset_t blockset_of(const spmm_plan_t *plan)
{
    return plan->exchange.alone ? SPMM_BLOCKSET_SPLIT : plan->choice.schedule->blockset;
}

static spmm_status_t make(spmm_plan_t *plan, const spmm_plan_options_t *o)
{
    const spmm_blockset_t blockset = blockset_of(plan);

    SPMM_TRY(blockset == SPMM_BLOCKSET_SPLIT ? build_split(plan, o) : build_joined(plan, o));
    SPMM_TRY(spmmi_plan_make_rows(plan, blockset));
    return spmmi_plan_make_sum(plan, blockset);
}

spmm_status_t spmmi_plan_make_blockset(spmm_plan_t *plan, const spmm_plan_options_t *o)
{
    return spmmi_agree(plan->env, make(plan, o));
}

const spmm_block_t *spmmi_plan_main_block(const spmm_plan_t *plan)
{
    return blockset_of(plan) == SPMM_BLOCKSET_SPLIT ? &plan->blocks.local
                                                    : &plan->blocks.joined.block;
}
