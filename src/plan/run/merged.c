/* SPDX-License-Identifier: Apache-2.0 */
/** @file merged.c
 *  One format over the columns of own and of ghost rows, and one pass over C.  Columns are streams,
 *  time runs down:
 *
 *      user stream          comm stream
 *      START       ----->   wait
 *      copy own rows of B   pack send rows
 *                           exchange: ghost rows come right behind the own rows
 *      wait        <-----   EXCHANGED
 *      merged block
 *
 *  No product hides the exchange.  In return C is written once, not written, read and written
 *  again, and a window of rows has all its columns in one list.  That pays where the off-diagonal
 *  block is no smaller than the diagonal block.
 */
#include "plan/plan.h"
#include "plan/run/products.h"

static spmm_status_t copy_own(spmm_plan_t *plan, const spmm_operands_t *x)
{
    SPMM_TRY(spmmi_phase_note(&plan->phases, 0, SPMM_PHASE_DIAGONAL_FROM, x->stream));
    SPMM_TRY(spmmi_plan_copy_own(plan, x));
    return spmmi_phase_note(&plan->phases, 0, SPMM_PHASE_DIAGONAL_TO, x->stream);
}

static spmm_status_t run(spmm_plan_t *plan, const spmm_operands_t *x)
{
    char        *rows = plan->blocks.merged.rows;
    const size_t own  = (size_t)plan->cols.n_local * (size_t)x->n * spmm_type_size(plan->ab_type);
    const spmm_slice_t  all = {.index = 0, .first = 0, .n = x->n, .halo = rows + own};
    const spmm_stream_t way = plan->exchange.comm_stream;
    spmm_status_t       work;

    SPMM_TRY(spmmi_plan_start(plan, x->stream, way));
    SPMM_TRY(spmmi_plan_begin_rows(plan, x, &all, way));
    work = copy_own(plan, x);
    SPMM_TRY(spmmi_plan_end_rows(plan, x, &all, way));
    /* Also where the copy failed: B is the caller's again behind this. */
    SPMM_TRY(spmmi_phase_wait(&plan->phases, 0, SPMM_PHASE_EXCHANGED, x->stream));
    SPMM_TRY(work);
    return spmmi_plan_run_merged(plan, x);
}

static const char *refuse(const spmm_plan_t *plan)
{
    if (plan->op == SPMM_OP_T) {
        return "is for op N: with op T the exchange would wait for the whole product";
    }
    return plan->layout == SPMM_LAYOUT_COL && !plan->reproducible ? "is for row-major B and C"
                                                                  : NULL;
}

const spmm_schedule_t spmmi_schedule_merged = {
    .name   = "merged",
    .merges = true,
    .refuse = refuse,
    .run    = run,
};
