/* SPDX-License-Identifier: Apache-2.0 */
/** @file edge.c
 *  Column-major B and C for engines that multiply row-major blocks: B is copied once per execute,
 *  C comes out of a row-major product at the end.  Halo rows travel row-major anyway and are used
 *  as they arrive.
 */
#include "plan/product/edge.h"

#include "base/alloc.h"
#include "plan/move.h"
#include "plan/plan.h"

/* B is read and written; the product C is read, and C is written and, as in the engines' models,
 * read, since beta may be non-zero.  On GPUs two launches more. */
static double predict(const spmm_plan_t *plan)
{
    const double launches = plan->device->kind == SPMM_DEVICE_CPU ? 0.0 : 2 * 3e-6;
    const double b        = (double)spmmi_plan_map(plan, SPMM_OPERAND_B)->n_local *
                     (double)spmm_type_size(plan->ab_type);
    const double c = (double)spmmi_plan_map(plan, SPMM_OPERAND_C)->n_local *
                     (double)spmm_type_size(plan->c_type);

    return launches + (double)plan->n * (2.0 * b + 3.0 * c) / plan->device->mem_bw;
}

/* Keep the better of the two ways for each engine; the direct one where it is no slower. */
static void merge(const spmm_candidate_t *turned, double edge_s, spmm_candidate_t *direct)
{
    for (int e = 0; e < spmmi_n_engines; e++) {
        const double turned_s = turned[e].predicted_s + edge_s;

        if (!direct[e].usable || (turned[e].usable && turned_s < direct[e].predicted_s)) {
            direct[e]             = turned[e];
            direct[e].predicted_s = turned_s;
            direct[e].copies_s    = edge_s;
        }
    }
}

spmm_status_t spmmi_plan_consider_edge(spmm_plan_t *plan)
{
    spmm_block_t     *block  = &plan->blocks.local;
    spmm_problem_t    turned = block->problem;
    spmm_candidate_t *candidates;

    if (SPMM_NEW_ZERO(candidates, spmmi_n_engines) == NULL) {
        return spmmi_fail_memory(&plan->env->err, spmmi_n_engines, sizeof *candidates,
                                 "engine candidates");
    }
    turned.layout          = SPMM_LAYOUT_ROW;
    plan->edge.predicted_s = predict(plan);
    spmmi_engine_consider(&block->pattern, &block->problem, plan->device, block->candidates);
    spmmi_engine_consider(&block->pattern, &turned, plan->device, candidates);
    merge(candidates, plan->edge.predicted_s, block->candidates);
    spmmi_free(candidates);
    return SPMM_OK;
}

spmm_operands_t spmmi_plan_inner(const spmm_plan_t *plan, const spmm_operands_t *x)
{
    spmm_operands_t y = *x;

    if (plan->edge.used) {
        y.layout = SPMM_LAYOUT_ROW;
        y.beta   = (spmm_scalar_t){0};
        y.B      = plan->edge.b;
        y.ldb    = x->n;
        y.C      = plan->edge.c;
        y.ldc    = x->n;
    }
    return y;
}

spmm_status_t spmmi_plan_turn_b(const spmm_plan_t *plan, const spmm_operands_t *x)
{
    const spmm_gather_args_t args = {.src        = x->B,
                                     .ld_src     = x->ldb,
                                     .src_layout = SPMM_LAYOUT_COL,
                                     .n_rows     = spmmi_plan_map(plan, SPMM_OPERAND_B)->n_local,
                                     .n          = x->n,
                                     .elem_size  = spmm_type_size(plan->ab_type),
                                     .dst        = plan->edge.b};

    return plan->edge.used ? plan->device->ops->gather_rows(plan->device, &args, x->stream)
                           : SPMM_OK;
}

spmm_status_t spmmi_plan_store_c(const spmm_plan_t *plan, const spmm_operands_t *x)
{
    const spmm_store_args_t args = {.src    = plan->edge.c,
                                    .n_rows = spmmi_plan_map(plan, SPMM_OPERAND_C)->n_local,
                                    .n      = x->n,
                                    .beta   = x->beta,
                                    .dst    = x->C,
                                    .ld_dst = x->ldc,
                                    .type   = plan->c_type};

    return plan->edge.used ? plan->device->ops->store_columns(plan->device, &args, x->stream)
                           : SPMM_OK;
}
