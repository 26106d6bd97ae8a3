/* SPDX-License-Identifier: Apache-2.0 */
/** @file blockset.c  Formats, built by the engines chosen for them, and the buffers
 *  that go with them. */
#include "base/alloc.h"
#include "plan/plan.h"

spmm_status_t spmmi_plan_scan(const spmm_plan_t *plan, spmm_block_t *block)
{
    if (!block->scanned) {
        SPMM_TRY(spmmi_pattern_scan(plan->env, &block->csr, &block->pattern));
        block->scanned = true;
    }
    return SPMM_OK;
}

/* The local block first: it decides on the layout of both. */
static spmm_status_t build_split(spmm_plan_t *plan, const spmm_plan_options_t *o)
{
    /* What peers add up for op T stays in the accumulator's type until the last sum. */
    const spmm_type_t remote_c = plan->op == SPMM_OP_N ? plan->c_type : plan->halo_type;

    SPMM_TRY(spmmi_plan_reorder(plan, &plan->local, plan->c_type, o));
    SPMM_TRY(spmmi_plan_reorder(plan, &plan->remote, remote_c, o));
    SPMM_TRY(spmmi_plan_build_block(plan, &plan->local, plan->c_type, o));
    plan->edge = plan->local.problem.layout != plan->layout;
    if (!plan->keep_input) {
        spmmi_csr_free(&plan->local.csr);
    }
    SPMM_TRY(spmmi_plan_build_block(plan, &plan->remote, remote_c, o));
    if (!plan->keep_input) {
        spmmi_csr_free(&plan->remote.csr);
    }
    return SPMM_OK;
}

static void free_input(spmm_block_t *block)
{
    spmmi_csr_free(&block->csr);
    spmmi_free(block->source);
    block->source = NULL;
    spmmi_pattern_free(&block->pattern);
    spmmi_permuted_free(&block->rival);
}

static spmm_status_t build_joined(spmm_plan_t *plan, spmm_blockset_t blockset,
                                  const spmm_plan_options_t *o)
{
    spmm_block_t *block = &plan->joined[blockset].block;

    SPMM_TRY(spmmi_plan_join(plan, blockset, block));
    if (!plan->keep_input && plan->local.engine == NULL) {
        free_input(&plan->local);
        free_input(&plan->remote);
    }
    SPMM_TRY(spmmi_plan_reorder(plan, block, plan->c_type, o));
    SPMM_TRY(spmmi_plan_build_block(plan, block, plan->c_type, o));
    spmmi_csr_free(&block->csr);
    return SPMM_OK;
}

spmm_blockset_t spmmi_plan_blockset_here(const spmm_plan_t *plan, spmm_blockset_t blockset)
{
    return plan->alone && blockset != SPMM_BLOCKSET_GATHERED ? SPMM_BLOCKSET_SPLIT : blockset;
}

static spmm_status_t make_here(spmm_plan_t *plan, spmm_blockset_t blockset,
                               const spmm_plan_options_t *o)
{
    if (plan->made[blockset]) {
        return SPMM_OK;
    }
    SPMM_TRY(blockset == SPMM_BLOCKSET_SPLIT ? build_split(plan, o)
                                             : build_joined(plan, blockset, o));
    return spmmi_plan_make_rows(plan, blockset);
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

void spmmi_plan_close_gather(spmm_plan_t *plan)
{
    if (plan->gather != NULL) {
        plan->transport->destroy(plan->gather);
        plan->gather = NULL;
    }
}

static void drop_form(spmm_plan_t *plan, spmm_blockset_t f)
{
    if (f == SPMM_BLOCKSET_SPLIT) {
        give_up(&plan->local);
        give_up(&plan->remote);
        plan->edge = false;
    } else {
        give_up(&plan->joined[f].block);
        free_input(&plan->joined[f].block);
    }
    if (f == SPMM_BLOCKSET_GATHERED) {
        spmmi_plan_close_gather(plan);
    }
    spmmi_plan_free_rows(plan, (spmm_blockset_t)f);
    plan->made[f] = false;
}

static spmm_status_t make_all(spmm_plan_t *plan, spmm_blockset_t blockset,
                              const spmm_plan_options_t *o)
{
    SPMM_TRY(spmmi_agree(plan->env, make_here(plan, spmmi_plan_blockset_here(plan, blockset), o)));
    if (blockset == SPMM_BLOCKSET_GATHERED && plan->gather == NULL) {
        const size_t row_bytes = (size_t)plan->n * spmm_type_size(plan->halo_type);

        SPMM_TRY(spmmi_agree(plan->env, plan->transport->create(plan->shared, &plan->full,
                                                                row_bytes, &plan->gather)));
    }
    return SPMM_OK;
}

spmm_status_t spmmi_plan_make_blockset(spmm_plan_t *plan, spmm_blockset_t blockset,
                                       const spmm_plan_options_t *o)
{
    const spmm_blockset_t here   = spmmi_plan_blockset_here(plan, blockset);
    const spmm_status_t   status = make_all(plan, blockset, o);

    if (status == SPMM_OK) {
        plan->made[here] = true;
    } else if (!plan->made[here]) { /* a rank without peers has other formats than those refused */
        drop_form(plan, here);
    }
    return status;
}

void spmmi_plan_drop_blocksets(spmm_plan_t *plan, const bool keep[SPMM_BLOCKSETS])
{
    bool here[SPMM_BLOCKSETS] = {false};

    for (int f = 0; f < SPMM_BLOCKSETS; f++) {
        here[spmmi_plan_blockset_here(plan, (spmm_blockset_t)f)] |= keep[f];
    }
    for (int f = 0; f < SPMM_BLOCKSETS; f++) {
        if (!here[f]) {
            drop_form(plan, (spmm_blockset_t)f);
        }
    }
    if (!plan->keep_input && !here[SPMM_BLOCKSET_SPLIT]) {
        free_input(&plan->local);
        free_input(&plan->remote);
    }
}

void spmmi_block_free(spmm_block_t *block)
{
    give_up(block);
    free_input(block);
    spmmi_free(block->candidates);
    block->candidates = NULL;
}

const spmm_block_t *spmmi_plan_main_block(const spmm_plan_t *plan)
{
    const spmm_blockset_t blockset = spmmi_plan_blockset_here(plan, plan->schedule->blockset);

    return blockset == SPMM_BLOCKSET_SPLIT ? &plan->local : &plan->joined[blockset].block;
}
