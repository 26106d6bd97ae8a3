/* SPDX-License-Identifier: Apache-2.0 */
/** @file halo_first.c
 *  The exchange ahead of the blocks, all on the user stream: nothing overlaps, and nothing waits
 *  for another stream or shares the device.  For exchanges that take hardly longer than the two
 *  joins of streams, and for local blocks whose kernels leave the exchange no multiprocessor.
 */
#include "plan/plan.h"
#include "plan/product/products.h"

static spmm_status_t run(const spmm_schedule_t *self, spmm_plan_t *plan, const spmm_operands_t *x)
{
    const spmm_slice_t all  = {.index = 0, .first = 0, .n = x->n, .halo = plan->exchange.halo_rows};
    const bool         op_t = plan->op == SPMM_OP_T;
    spmm_status_t      work = spmmi_plan_turn_b(plan, x);

    (void)self;
    if (work == SPMM_OK && op_t) {
        work = spmmi_plan_run_halo_transposed(plan, x, &all);
    }
    SPMM_TRY(spmmi_plan_begin_rows(plan, x, &all, x->stream));
    SPMM_TRY(spmmi_plan_end_rows(plan, x, &all, x->stream));
    if (work == SPMM_OK) { /* first the block that has all rows of C, and so applies beta */
        work = spmmi_plan_run_local(plan, x);
    }
    SPMM_TRY(work);
    return op_t ? spmmi_plan_add_received(plan, x, &all) : spmmi_plan_run_halo(plan, x, &all);
}

static bool applies(const spmm_plan_t *plan, char why[SPMM_WHY])
{
    (void)plan;
    why[0] = '\0';
    return true;
}

static double predict(const spmm_schedule_t *self, const spmm_plan_t *plan, const spmm_terms_t *t)
{
    const spmm_chunk_terms_t *chunk = &t->chunk[1];

    (void)self;
    return (plan->op == SPMM_OP_N ? chunk->pack_s : t->add_s) + chunk->exchange_s + t->local_s +
           chunk->halo_s;
}

const spmm_schedule_t spmmi_schedule_halo_first = {
    .name        = "halo-first",
    .description = "exchange, then both blocks, one after the other",
    .blockset    = SPMM_BLOCKSET_SPLIT,
    .chunks      = 1,
    .in_order    = true,
    .applies     = applies,
    .predict     = predict,
    .run         = run,
};
