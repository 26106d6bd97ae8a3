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
    if (!plan->blocks.keep_input) {
        spmmi_block_free_csr(&plan->blocks.local);
    }
    SPMM_TRY(spmmi_plan_build_block(plan, &plan->blocks.halo, halo_c, o));
    if (!plan->blocks.keep_input) {
        spmmi_block_free_csr(&plan->blocks.halo);
    }
    return SPMM_OK;
}

static spmm_status_t build_joined(spmm_plan_t *plan, const spmm_plan_options_t *o)
{
    const spmm_type_t c_type = spmmi_plan_sum_type(plan, SPMM_BLOCKSET_MERGED);
    spmm_block_t     *block  = &plan->blocks.joined.block;

    SPMM_TRY(spmmi_plan_join(plan, block));
    if (!plan->blocks.keep_input && plan->blocks.local.engine == NULL) {
        spmmi_block_free_input(&plan->blocks.local);
        spmmi_block_free_input(&plan->blocks.halo);
    }
    SPMM_TRY(spmmi_plan_reorder(plan, block, c_type, o));
    if (plan->reproducible) {
        SPMM_TRY(spmmi_block_sort_by_source(plan->env, block));
    }
    SPMM_TRY(spmmi_plan_build_block(plan, block, c_type, o));
    spmmi_block_free_csr(block);
    return SPMM_OK;
}

/* What this rank needs where the schedule asks for @p blockset. */
static spmm_blockset_t blockset_here(const spmm_plan_t *plan, spmm_blockset_t blockset)
{
    return plan->exchange.alone ? SPMM_BLOCKSET_SPLIT : blockset;
}

static spmm_status_t make_here(spmm_plan_t *plan, spmm_blockset_t blockset,
                               const spmm_plan_options_t *o)
{
    if (plan->blocks.made[blockset]) {
        return SPMM_OK;
    }
    SPMM_TRY(blockset == SPMM_BLOCKSET_SPLIT ? build_split(plan, o) : build_joined(plan, o));
    SPMM_TRY(spmmi_plan_make_rows(plan, blockset));
    return spmmi_plan_make_sum(plan, blockset);
}

static void drop_blockset(spmm_plan_t *plan, spmm_blockset_t f)
{
    if (f == SPMM_BLOCKSET_SPLIT) {
        spmmi_block_give_up(&plan->blocks.local);
        spmmi_block_give_up(&plan->blocks.halo);
        plan->edge.used = plan->edge.kept;
    } else {
        spmmi_block_give_up(&plan->blocks.joined.block);
        spmmi_block_free_input(&plan->blocks.joined.block);
    }
    spmmi_plan_free_rows(plan, (spmm_blockset_t)f);
    plan->blocks.made[f] = false;
}

spmm_status_t spmmi_plan_make_blockset(spmm_plan_t *plan, spmm_blockset_t blockset,
                                       const spmm_plan_options_t *o)
{
    const spmm_blockset_t here   = blockset_here(plan, blockset);
    const spmm_status_t   status = spmmi_agree(plan->env, make_here(plan, here, o));

    if (status == SPMM_OK) {
        plan->blocks.made[here] = true;
    } else if (!plan->blocks
                    .made[here]) { /* a rank without peers has other formats than those refused */
        drop_blockset(plan, here);
    }
    return status;
}

void spmmi_plan_drop_blocksets(spmm_plan_t *plan, const bool keep[SPMM_BLOCKSETS])
{
    bool here[SPMM_BLOCKSETS] = {false};

    for (int f = 0; f < SPMM_BLOCKSETS; f++) {
        here[blockset_here(plan, (spmm_blockset_t)f)] |= keep[f];
    }
    for (int f = 0; f < SPMM_BLOCKSETS; f++) {
        if (!here[f]) {
            drop_blockset(plan, (spmm_blockset_t)f);
        }
    }
    if (!plan->blocks.keep_input && !here[SPMM_BLOCKSET_SPLIT]) {
        spmmi_block_free_input(&plan->blocks.local);
        spmmi_block_free_input(&plan->blocks.halo);
    }
}

const spmm_block_t *spmmi_plan_main_block(const spmm_plan_t *plan)
{
    const spmm_blockset_t blockset = blockset_here(plan, plan->choice.schedule->blockset);

    return blockset == SPMM_BLOCKSET_SPLIT ? &plan->blocks.local : &plan->blocks.joined.block;
}
