/* SPDX-License-Identifier: Apache-2.0 */
/** @file blockset.c  Formats, built by the engines chosen for them, and their buffers. */
#include "plan/block/blockset.h"

#include "plan/block/format.h"
#include "plan/block/join.h"
#include "plan/block/order.h"
#include "plan/plan.h"
#include "plan/product/buffers.h"

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
