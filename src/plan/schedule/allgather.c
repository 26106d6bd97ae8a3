/* SPDX-License-Identifier: Apache-2.0 */
/** @file allgather.c
 *  Every rank gets all of B, [own | all other] rows, and multiplies once: the product of schedule
 *  merged without packing, for matrices of which a rank needs nearly all rows of B.  Rows that lie
 *  packed are sent from where they lie.
 */
#include <inttypes.h>
#include <stdio.h>

#include "plan/plan.h"
#include "plan/product/products.h"

/* The copy of own rows is local work where they are sent from B, else it stands for packing. */
static spmm_status_t copy_own(spmm_plan_t *plan, const spmm_operands_t *x,
                              const spmm_slice_t *slice, void *to, bool direct)
{
    const spmm_stream_t stream = direct ? x->stream : plan->exchange.comm_stream;

    SPMM_TRY(spmmi_plan_note(plan, 0, direct ? SPMM_MARK_LOCAL_FROM : SPMM_MARK_PACK, stream));
    SPMM_TRY(spmmi_plan_copy_own(plan, x, slice, to, stream));
    return direct ? spmmi_plan_note(plan, 0, SPMM_MARK_LOCAL_TO, stream) : SPMM_OK;
}

static spmm_status_t run(const spmm_schedule_t *self, spmm_plan_t *plan, const spmm_operands_t *x)
{
    char        *rows   = plan->blocks.joined[SPMM_BLOCKSET_GATHERED].rows;
    const size_t own    = (size_t)plan->cols.n_local * (size_t)x->n * spmm_type_size(plan->ab_type);
    const bool   direct = plan->layout == SPMM_LAYOUT_ROW && x->ldb == x->n;
    const void  *from   = direct ? x->B : rows;
    const spmm_slice_t all = {.index = 0, .first = 0, .n = x->n, .halo = rows + own};
    spmm_status_t      work;

    (void)self;
    SPMM_TRY(spmmi_plan_wait(plan, 0, SPMM_MARK_START, plan->exchange.comm_stream));
    if (direct) {
        SPMM_TRY(spmmi_plan_note(plan, 0, SPMM_MARK_PACK, plan->exchange.comm_stream));
    } else {
        SPMM_TRY(spmmi_plan_note(plan, 0, SPMM_MARK_LOCAL_FROM, x->stream));
        SPMM_TRY(spmmi_plan_note(plan, 0, SPMM_MARK_LOCAL_TO, x->stream));
        SPMM_TRY(copy_own(plan, x, &all, rows, false));
    }
    SPMM_TRY(spmmi_plan_begin_all_rows(plan, &all, from, plan->exchange.comm_stream));
    work = direct ? copy_own(plan, x, &all, rows, true) : SPMM_OK;
    SPMM_TRY(spmmi_plan_end_all_rows(plan, &all, from, plan->exchange.comm_stream));
    /* Also where the copy failed: B is the caller's again behind this. */
    work = spmmi_first_failure(work, spmmi_plan_wait(plan, 0, SPMM_MARK_EXCHANGED, x->stream));
    SPMM_TRY(work);
    return spmmi_plan_run_joined(plan, SPMM_BLOCKSET_GATHERED, x, &all, rows);
}

static bool applies(const spmm_plan_t *plan, char why[SPMM_WHY])
{
    why[0] = '\0';
    if (plan->op == SPMM_OP_T) {
        (void)snprintf(why, SPMM_WHY, "is for op N: op T sends sums, not rows of B");
    } else if (spmmi_plan_rounds(plan)) {
        (void)snprintf(why, SPMM_WHY, "sends rows as they are, and option halo_type rounds them");
    } else if (plan->layout == SPMM_LAYOUT_COL && !plan->edge.kept) {
        (void)snprintf(why, SPMM_WHY, "is for row-major B and C");
    } else if (!plan->exchange.transport->sends_same) {
        (void)snprintf(why, SPMM_WHY, "needs another transport: %s brings needed rows only",
                       plan->exchange.transport->name);
    } else if (plan->cols.n_global > INT32_MAX) {
        (void)snprintf(why, SPMM_WHY,
                       "has one local column for each row of B: %" PRId64 " are more than 2^31 - 1",
                       plan->cols.n_global);
    }
    return why[0] == '\0';
}

static double predict(const spmm_schedule_t *self, const spmm_plan_t *plan, const spmm_terms_t *t)
{
    (void)self;
    (void)plan;
    return 2.0 * t->hop_s + spmmi_terms_both(t, t->chunk[1].own_s, t->gather_s) +
           t->chunk[1].joined_s;
}

const spmm_schedule_t spmmi_schedule_allgather = {
    .name        = "allgather",
    .description = "all of B to every rank, one product",
    .blockset    = SPMM_BLOCKSET_GATHERED,
    .chunks      = 1,
    .applies     = applies,
    .predict     = predict,
    .run         = run,
};
