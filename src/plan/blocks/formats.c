/* SPDX-License-Identifier: Apache-2.0 */
/** @file formats.c
 *  The formats of a plan.  Each block gets an engine.  Where order.c has left a second order of
 *  rows, the times of both decide on the order, too.
 */
#include "plan/blocks/formats.h"

#include "base/alloc.h"
#include "engine/tune/constants.h"
#include "plan/blocks/order.h"
#include "plan/blocks/split.h"
#include "plan/create/exchange.h"
#include "plan/plan.h"

/* Bytes of B that a block reads, and that arrive: more are for all multiprocessors. */
enum { MOST_BYTES = 8 << 20, MOST_ARRIVING = 384 << 10 };

/* Not where bits are to be equal: which way a product goes depends on what else is under way. */
bool spmmi_plan_may_wait(const spmm_plan_t *plan, const spmm_block_t *block)
{
    const int64_t row = plan->n * (int64_t)spmm_type_size(plan->ab_type);

    return block == &plan->blocks.off_diagonal && block->nnz > 0 &&
           block->nnz <= MOST_BYTES / row && plan->shared->push.waits >= 0 &&
           plan->op == SPMM_OP_N && plan->layout == SPMM_LAYOUT_ROW && !plan->deterministic &&
           plan->exchange.state != NULL && plan->exchange.transport->arrival != NULL &&
           !spmmi_plan_rounds(plan) &&
           spmmi_halo_recv_rows(&plan->exchange.halo) <= MOST_ARRIVING / row;
}

/* The off-diagonal block of op T makes rows for peers, not columns of C. */
static spmm_layout_t layout_of(const spmm_plan_t *plan, const spmm_block_t *block)
{
    const bool by_columns = block == &plan->blocks.off_diagonal && plan->op == SPMM_OP_N;

    if (plan->conversion.kind == SPMM_CONVERT_NONE) {
        return plan->layout;
    }
    return by_columns && plan->conversion.kind == SPMM_CONVERT_B ? SPMM_LAYOUT_MIXED
                                                                 : SPMM_LAYOUT_ROW;
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
    if (block == &plan->blocks.diagonal && plan->layout == SPMM_LAYOUT_COL && !plan->reproducible) {
        return spmmi_plan_consider_conversion(plan);
    }
    spmmi_engine_consider(&block->pattern, &block->problem, plan->device, block->candidates);
    return SPMM_OK;
}

/* Take the engine chosen; the windows are not needed any more. */
static void install(spmm_block_t *block, const spmm_engine_settled_t *settled)
{
    block->engine         = settled->picked->engine;
    block->borrowed       = block->problem.lends && block->engine->facts.borrows;
    block->format         = settled->format;
    block->problem.layout = settled->picked->layout;
    block->problem.c_type = settled->picked->c_type;
    block->predicted_s    = settled->picked->predicted_s;
    block->measured_s     = settled->picked->measured_s;
    block->remembered     = settled->remembered;
    spmmi_pattern_free(&block->pattern);
    spmmi_permuted_free(&block->other_order);
}

/* The baseline runs on rows in their own order: in another one it needs a pass over C. */
static void leave_out_baseline(spmm_candidate_t *candidates)
{
    for (int e = 0; e < spmmi_n_engines; e++) {
        if (candidates[e].engine->facts.baseline && candidates[e].usable) {
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

    block->csr         = own.other_order.csr;
    block->source      = own.other_order.source;
    block->pattern     = own.other_order.pattern;
    block->candidates  = NULL;
    block->other_order = (spmm_permuted_t){.source = NULL};
    status             = consider_engines(plan, block, c_type);
    if (status == SPMM_OK) {
        leave_out_baseline(block->candidates);
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
    own.other_order =
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

/* May the format borrow the block?  There must be one format, and each thread must have written the
 * rows that it multiplies: not so of a transpose, nor of rows in another order. */
static bool may_lend(const spmm_plan_t *plan, const spmm_block_t *block)
{
    return plan->device->kind == SPMM_DEVICE_CPU && plan->op == SPMM_OP_N &&
           block->other_order.csr.row_ptr == NULL && !block->reordering.applied;
}

/* On so few entries engines differ by less than is saved where one waits itself. */
static const char *engine_for(const spmm_block_t *block, const spmm_plan_options_t *o)
{
    if (!block->problem.waits || o->graph != 0 || !spmmi_candidate_is_auto(o->engine)) {
        return o->engine;
    }
    for (int e = 0; e < spmmi_n_engines; e++) {
        if (block->candidates[e].usable && block->candidates[e].engine->facts.waits > 0) {
            return block->candidates[e].engine->facts.name;
        }
    }
    return o->engine;
}

static spmm_status_t build_block(spmm_plan_t *plan, spmm_block_t *block, spmm_type_t c_type,
                                 const spmm_plan_options_t *o)
{
    const bool            two_orders = block->other_order.csr.row_ptr != NULL;
    const bool            adds       = block == &plan->blocks.off_diagonal && plan->op == SPMM_OP_N;
    spmm_engine_choice_t  choice     = {.measures = two_orders || plan->measures,
                                        .compared = two_orders,
                                        .beta     = adds ? 1.0 : 0.0,
                                        .executes = o->executes};
    const double          start      = spmmi_now();
    spmm_engine_settled_t settled;
    spmm_status_t         status = SPMM_OK;

    SPMM_TRY(consider_engines(plan, block, c_type));
    block->problem.lends = may_lend(plan, block);
    choice.name          = engine_for(block, o);
    SPMM_TRY(spmmi_engine_settle(&choice, &block->csr, &block->problem, plan->device,
                                 block->candidates, spmmi_n_engines, &settled));
    plan->stats.tune_s += settled.tune_s;
    if (two_orders) { /* the time of its own order is there now */
        status = try_order(plan, block, c_type, &choice, &settled);
    }
    if (status != SPMM_OK) {
        settled.picked->engine->destroy(settled.format);
        return status;
    }
    install(block, &settled);
    plan->stats.build_s += spmmi_now() - start;
    spmmi_log(plan->env, "format %s built in %.2f s, %.2f s of them to choose",
              block->engine->facts.name, spmmi_now() - start, settled.tune_s);
    return SPMM_OK;
}

/* A block of a product that is in line. */
static bool follows(const spmm_block_t *block)
{
    return block->engine != NULL && block->engine->facts.follows;
}

/* In line the exchange starts at once, and the diagonal block when the exchange has.  That pays
 * where the product would wait for rows.  On two H100, products of 11 matrices took 1 to 9 us less
 * from this share on, but for one that took 2 more.  They took up to 3 more where the exchange was
 * half of the diagonal block and less. */
static bool is_worth_it(const spmm_plan_t *plan)
{
    static const double share = 0.8;
    const size_t        row   = (size_t)plan->n * plan->sent_size;
    const spmm_block_t *local = &plan->blocks.diagonal;
    const double        s     = local->measured_s > 0.0 ? local->measured_s : local->predicted_s;

    return plan->exchange.transport->cost(&plan->exchange.halo, row, plan->device) >= share * s;
}

/* Copies of an exchange and of column-major blocks are on streams of their own.  Events between
 * kernels keep the second from beginning early.  A graph has edges of its own, and times of the
 * phases would include the wait. */
void spmmi_plan_decide(spmm_plan_t *plan)
{
    spmm_plan_exchange_t       *e         = &plan->exchange;
    const spmm_transport_ops_t *transport = e->transport;
    const spmm_block_t         *block     = &plan->blocks.off_diagonal;
    const bool may = !plan->profile && plan->captures == NULL && e->ghost_rows == e->peer_rows &&
                     block->engine != NULL;

    e->waits = may && block->problem.waits && spmmi_plan_may_wait(plan, block) &&
               block->pattern.max_row <= block->engine->facts.waits;
    e->in_line = may && plan->op == SPMM_OP_N && plan->layout == SPMM_LAYOUT_ROW &&
                 e->state != NULL && transport->lets_begin != NULL &&
                 plan->shared->push.waits >= 0 && !spmmi_plan_rounds(plan) && block->nnz > 0 &&
                 follows(&plan->blocks.diagonal) && follows(block) &&
                 transport->lets_begin(e->state) && is_worth_it(plan);
}

static spmm_status_t reorder(spmm_plan_t *plan, spmm_block_t *block, spmm_type_t c_type,
                             const spmm_plan_options_t *o)
{
    const spmm_problem_t      problem = spmmi_plan_problem(plan, c_type, plan->n);
    const spmm_order_choice_t by      = {.device   = plan->device,
                                         .problem  = &problem,
                                         .layout   = plan->layout,
                                         .order    = plan->tuning.order,
                                         .measures = plan->measures,
                                         .engine   = o->engine,
                                         .executes = o->executes};

    SPMM_TRY(spmmi_block_scan(plan->device, plan->layout, block));
    SPMM_TRY(spmmi_block_reorder(&by, block));
    plan->stats.reorder_s += block->reordering.seconds;
    return SPMM_OK;
}

/* The diagonal block first: it decides on the layout of both. */
static spmm_status_t build_split(spmm_plan_t *plan, const spmm_plan_options_t *o)
{
    /* What peers add up for op T stays in the accumulator's type until the last sum. */
    const spmm_type_t c_type = spmmi_plan_sum_type(plan, false);
    const spmm_type_t halo_c = plan->op == SPMM_OP_N ? c_type : plan->halo_type;

    SPMM_TRY(reorder(plan, &plan->blocks.diagonal, c_type, o));
    SPMM_TRY(reorder(plan, &plan->blocks.off_diagonal, halo_c, o));
    SPMM_TRY(build_block(plan, &plan->blocks.diagonal, c_type, o));
    if (plan->blocks.diagonal.problem.layout != plan->layout) {
        plan->conversion.kind = plan->blocks.diagonal.problem.layout == SPMM_LAYOUT_MIXED
                                    ? SPMM_CONVERT_B
                                    : SPMM_CONVERT_B_AND_C;
    }
    spmmi_block_free_csr(&plan->blocks.diagonal);
    SPMM_TRY(build_block(plan, &plan->blocks.off_diagonal, halo_c, o));
    spmmi_block_free_csr(&plan->blocks.off_diagonal);
    return SPMM_OK;
}

static spmm_status_t build_merged(spmm_plan_t *plan, const spmm_plan_options_t *o)
{
    const spmm_type_t c_type = spmmi_plan_sum_type(plan, true);
    spmm_block_t     *block  = &plan->blocks.merged.block;

    SPMM_TRY(spmmi_plan_merge_blocks(plan, block));
    spmmi_block_free_input(&plan->blocks.diagonal);
    spmmi_block_free_input(&plan->blocks.off_diagonal);
    SPMM_TRY(reorder(plan, block, c_type, o));
    if (plan->reproducible) {
        SPMM_TRY(spmmi_block_sort_by_source(plan->env, block));
    }
    SPMM_TRY(build_block(plan, block, c_type, o));
    spmmi_block_free_csr(block);
    return SPMM_OK;
}

/* Does this rank have a merged block?  Without peers it multiplies its diagonal block alone. */
static bool merges(const spmm_plan_t *plan)
{
    return !plan->exchange.alone && plan->choice.schedule->merges;
}

static spmm_status_t make(spmm_plan_t *plan, const spmm_plan_options_t *o)
{
    const bool merged = merges(plan);

    SPMM_TRY(merged ? build_merged(plan, o) : build_split(plan, o));
    SPMM_TRY(spmmi_plan_make_rows(plan, merged));
    SPMM_TRY(spmmi_plan_make_sum(plan, merged));
    spmmi_plan_decide(plan);
    return SPMM_OK;
}

spmm_status_t spmmi_plan_make_formats(spmm_plan_t *plan, const spmm_plan_options_t *o)
{
    return spmmi_agree(plan->env, make(plan, o));
}

const spmm_block_t *spmmi_plan_main_block(const spmm_plan_t *plan)
{
    return merges(plan) ? &plan->blocks.merged.block : &plan->blocks.diagonal;
}
