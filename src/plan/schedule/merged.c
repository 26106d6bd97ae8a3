/* SPDX-License-Identifier: Apache-2.0 */
/** @file merged.c
 *  One format over [own | halo] columns and one pass over C:
 *
 *      user stream          comm stream
 *      mark START  ----->   wait
 *      copy own rows of B   pack mirror rows
 *                           exchange, straight behind the own rows
 *      wait        <-----   mark EXCHANGED
 *      the product
 *
 *  No product hides the exchange, but C is written once, not written, read and written again, and a
 *  window of rows has all its columns in one list: for halo blocks that are no smaller than the
 *  local ones.  merged2 cuts the columns of B, as chunks2 does (overlap.c).
 */
#include <stdio.h>

#include "plan/plan.h"
#include "plan/product/products.h"

/* Each slice is packed on its own: own rows, then halo rows. */
static char *rows_of(const spmm_plan_t *plan, const spmm_slice_t *slice)
{
    const size_t rows =
        (size_t)plan->cols.n_local + (size_t)spmmi_halo_recv_rows(&plan->exchange.halo);

    return (char *)plan->blocks.joined[SPMM_BLOCKSET_MERGED].rows +
           rows * (size_t)slice->first * spmm_type_size(plan->ab_type);
}

static int cut(const spmm_schedule_t *self, const spmm_plan_t *plan, int64_t n,
               spmm_slice_t slice[SPMM_MOST_CHUNKS])
{
    const size_t own   = (size_t)plan->cols.n_local * spmm_type_size(plan->ab_type);
    const int    count = spmmi_plan_cut(plan, n, self->chunks, slice);

    for (int c = 0; c < count; c++) {
        slice[c].halo = rows_of(plan, &slice[c]) + own * (size_t)slice[c].n;
    }
    return count;
}

static spmm_status_t copy_all(spmm_plan_t *plan, const spmm_operands_t *x, int count,
                              const spmm_slice_t *slice)
{
    SPMM_TRY(spmmi_plan_note(plan, 0, SPMM_MARK_LOCAL_FROM, x->stream));
    for (int c = 0; c < count; c++) {
        SPMM_TRY(spmmi_plan_copy_own(plan, x, &slice[c], rows_of(plan, &slice[c]), x->stream));
    }
    return spmmi_plan_note(plan, 0, SPMM_MARK_LOCAL_TO, x->stream);
}

static spmm_status_t run(const spmm_schedule_t *self, spmm_plan_t *plan, const spmm_operands_t *x)
{
    spmm_slice_t  slice[SPMM_MOST_CHUNKS];
    const int     count = cut(self, plan, x->n, slice);
    spmm_status_t work;

    SPMM_TRY(spmmi_plan_wait(plan, 0, SPMM_MARK_START, plan->exchange.comm_stream));
    SPMM_TRY(spmmi_plan_begin_rows(plan, x, &slice[0], plan->exchange.comm_stream));
    work = copy_all(plan, x, count, slice);
    for (int c = 0; c < count; c++) {
        SPMM_TRY(spmmi_plan_end_rows(plan, x, &slice[c], plan->exchange.comm_stream));
        if (c + 1 < count) {
            SPMM_TRY(spmmi_plan_begin_rows(plan, x, &slice[c + 1], plan->exchange.comm_stream));
        }
        /* Also where a product failed: B is the caller's again behind this. */
        work = spmmi_first_failure(work, spmmi_plan_wait(plan, c, SPMM_MARK_EXCHANGED, x->stream));
        if (work == SPMM_OK) {
            work = spmmi_plan_run_joined(plan, SPMM_BLOCKSET_MERGED, x, &slice[c],
                                         rows_of(plan, &slice[c]));
        }
    }
    return work;
}

static bool applies(const spmm_plan_t *plan, char why[SPMM_WHY])
{
    why[0] = '\0';
    if (plan->op == SPMM_OP_T) {
        (void)snprintf(why, SPMM_WHY,
                       "is for op N: with op T the exchange would wait for the whole product");
    } else if (plan->layout == SPMM_LAYOUT_COL && !plan->edge.kept) {
        (void)snprintf(why, SPMM_WHY, "is for row-major B and C");
    }
    return why[0] == '\0';
}

static double predict(const spmm_schedule_t *self, const spmm_plan_t *plan, const spmm_terms_t *t)
{
    const spmm_chunk_terms_t *chunk = &t->chunk[self->chunks];

    (void)plan;
    return t->hop_s + spmmi_terms_pipeline(t, self->chunks, self->chunks * chunk->own_s,
                                           chunk->pack_s + chunk->exchange_s, chunk->joined_s);
}

const spmm_schedule_t spmmi_schedule_merged = {
    .name        = "merged",
    .description = "own and halo rows in one buffer, one product with both",
    .blockset    = SPMM_BLOCKSET_MERGED,
    .chunks      = 1,
    .applies     = applies,
    .predict     = predict,
    .run         = run,
};

const spmm_schedule_t spmmi_schedule_merged2 = {
    .name        = "merged2",
    .description = "as merged, but rows travel in 2 chunks of columns, multiplied on arrival",
    .blockset    = SPMM_BLOCKSET_MERGED,
    .chunks      = 2,
    .applies     = applies,
    .predict     = predict,
    .run         = run,
};
