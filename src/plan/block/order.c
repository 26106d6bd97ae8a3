/* SPDX-License-Identifier: Apache-2.0 */
/** @file order.c
 *  Rows of a block may be multiplied in any order: engines write through a row map anyway.  An
 *  order that puts rows with the same columns into one window saves a tensor-core engine loads of
 *  B; to the others it is worth nothing here, and to the yardstick it costs a pass over C.
 */
#include "plan/block/order.h"

#include "base/alloc.h"
#include "engine/choose/constants.h"
#include "partition/reorder/sorted.h"
#include "plan/block/gain.h"
#include "plan/plan.h"

/* The rows of @p block in the order of @p method, and what it makes of the pattern. */
static spmm_status_t permute(const spmm_plan_t *plan, const spmm_block_t *block,
                             const spmm_reorderer_t *method, spmm_permuted_t *p)
{
    spmm_env_t   *env = plan->env;
    int32_t      *order;
    spmm_status_t status;

    *p = (spmm_permuted_t){.source = NULL};
    if (SPMM_NEW(order, block->csr.n_rows) == NULL) {
        return spmmi_fail_memory(&env->err, block->csr.n_rows, sizeof *order, "an order of rows");
    }
    status = spmmi_reorder(env, method, &block->csr, plan->device->threads, order);
    if (status == SPMM_OK) {
        status = spmmi_csr_permute(env, &block->csr, order, &p->csr, &p->source);
    }
    spmmi_free(order);
    for (int64_t k = 0; status == SPMM_OK && block->source != NULL && k < block->nnz; k++) {
        p->source[k] = block->source[p->source[k]];
    }
    if (status == SPMM_OK) {
        status = spmmi_pattern_scan_for(env, &p->csr, plan->layout, &p->pattern);
    }
    if (status != SPMM_OK) {
        spmmi_permuted_free(p);
    }
    return status;
}

static void apply(spmm_block_t *block, spmm_permuted_t *p)
{
    spmmi_pattern_free(&block->pattern);
    spmmi_csr_free(&block->csr);
    spmmi_free(block->source);
    block->csr                = p->csr;
    block->source             = p->source;
    block->pattern            = p->pattern;
    block->reordering.applied = true;
}

/* The method asked for, whatever it brings. */
static spmm_status_t reorder_always(const spmm_plan_t *plan, spmm_block_t *block,
                                    const spmm_reorderer_t *method)
{
    spmm_permuted_t p;

    SPMM_TRY(permute(plan, block, method, &p));
    block->reordering.method = method;
    block->reordering.before = block->pattern.tc;
    block->reordering.after  = p.pattern.tc;
    apply(block, &p);
    return SPMM_OK;
}

/* An order, if it gains, or to be measured.  A block that it cannot take, for its size or for want
 * of memory, stays as it is. */
static spmm_status_t reorder_auto(const spmm_plan_t *plan, spmm_block_t *block,
                                  const spmm_plan_options_t *o, const spmm_problem_t *problem)
{
    const char             *engine = o->engine;
    const bool              named  = !spmmi_candidate_is_auto(engine);
    spmm_reordering_t      *r      = &block->reordering;
    const spmm_pattern_t    before = block->pattern; /* borrows the windows */
    const spmm_pattern_t    bound  = spmmi_reordering_bound(&before);
    const spmm_reorderer_t *method;
    double                  worth, sample[2];
    spmm_permuted_t         p;
    spmm_status_t           status = SPMM_OK;

    if (!spmmi_reordering_gains(engine, &before, &bound, problem, plan->device)) {
        r->why = "not even the best order would make an engine much faster";
        return SPMM_OK;
    }
    worth = spmmi_reordering_worth(engine, &before, problem, plan->device, o->executes);
    if (worth <= 1.0) {
        r->why = "no order would pay for itself in the products to come (executes)";
        return SPMM_OK;
    }
    method = worth < SPMM_ORDER_MUCH ? &spmmi_reorderer_sorted : &spmmi_reorderer_affinity;
    if (worth < SPMM_ORDER_MUCH) {
        status = spmmi_sorted_sample(plan->env, &block->csr, plan->device->threads, sample);
        if (status == SPMM_OK && !spmmi_reordering_promises(&before, sample)) {
            r->why = "a sample of them in another one shares too few columns";
            return SPMM_OK;
        }
    }
    if (status == SPMM_OK) {
        status = permute(plan, block, method, &p);
    }
    if (status == SPMM_ERR_MEMORY || status == SPMM_ERR_UNSUPPORTED) {
        spmmi_log(plan->env, "rows stay in order: %s", plan->env->err.text);
        spmmi_error_clear(&plan->env->err);
        r->why = "the block is too large for it";
        return SPMM_OK;
    }
    SPMM_TRY(status);
    r->method = method;
    r->before = before.tc;
    r->after  = p.pattern.tc;
    r->why    = "it makes no engine much faster";
    if (worth < SPMM_ORDER_MUCH &&
        !spmmi_has_fewer_pairs(&before, &p.pattern, SPMM_ORDER_PROMISING)) {
        spmmi_permuted_free(&p);
    } else if (plan->measures && !named &&
               spmmi_has_fewer_pairs(&before, &p.pattern, SPMM_MEASURABLE)) {
        block->rival = p;
    } else if (spmmi_reordering_gains(engine, &before, &p.pattern, problem, plan->device)) {
        apply(block, &p);
    } else {
        spmmi_permuted_free(&p);
    }
    return SPMM_OK;
}

static spmm_status_t reorder_block(const spmm_plan_t *plan, spmm_block_t *block, spmm_type_t c_type,
                                   const spmm_reorderer_t *method, const spmm_plan_options_t *o)
{
    const spmm_problem_t problem = spmmi_plan_problem(plan, c_type, plan->n);
    const double         start   = spmmi_now();
    spmm_status_t        status  = SPMM_OK;

    if (block->nnz == 0) {
        block->reordering.why = "there are no entries";
    } else if (method == &spmmi_reorderer_none) {
        block->reordering.why = "as asked for";
    } else if (method != NULL) {
        status = reorder_always(plan, block, method);
    } else if (plan->device->kind == SPMM_DEVICE_CPU) {
        block->reordering.why = "on CPUs no engine gains by it";
    } else {
        status = reorder_auto(plan, block, o, &problem);
    }
    block->reordering.seconds = spmmi_now() - start;
    return status;
}

spmm_status_t spmmi_plan_reorder(spmm_plan_t *plan, spmm_block_t *block, spmm_type_t c_type,
                                 const spmm_plan_options_t *o)
{
    const char *const       order  = plan->tuning.order;
    const spmm_reorderer_t *method = order == NULL ? NULL : spmmi_reorderer_find(order);

    SPMM_TRY(spmmi_block_scan(plan->device, plan->layout, block));
    SPMM_TRY(reorder_block(plan, block, c_type, method, o));
    plan->stats.reorder_s += block->reordering.seconds;
    if (block->reordering.applied) {
        spmmi_log(plan->env, "rows reordered in %.2f s", block->reordering.seconds);
    }
    return SPMM_OK;
}
