/* SPDX-License-Identifier: Apache-2.0 */
/** @file side.c
 *  One pass over a mask as a plan runs a product (run/overlap.c).  The operands travel on the comm
 *  stream, each a slice of the columns that the plan was made for.  Meanwhile the user stream works
 *  on the diagonal block, and then on the off-diagonal block.
 */
#include <stdint.h>

#include "plan/attention/attention.h"
#include "plan/plan.h"

/* Where column 0 of a block would be, of which slice->first is the first column of @p o. */
static spmm_operands_t operands_of(const spmm_plan_t *base, const spmm_attention_operand_t *o,
                                   const spmm_slice_t *slice, spmm_stream_t stream)
{
    const size_t before = (size_t)slice->first * spmm_type_size(base->ab_type);

    return (spmm_operands_t){.ab_type = base->ab_type,
                             .layout  = SPMM_LAYOUT_ROW,
                             .n       = o->n,
                             .B       = (const void *)((uintptr_t)o->rows - before),
                             .ldb     = o->ld,
                             .stream  = stream};
}

/* Slices of the columns; where each operand will have been received. */
static void cut(const spmm_plan_t *base, spmm_attention_operand_t *operand, int count,
                spmm_slice_t *slice)
{
    const size_t row =
        (size_t)spmmi_halo_recv_rows(&base->exchange.halo) * spmm_type_size(base->halo_type);
    int64_t first = 0;

    for (int c = 0; c < count; c++) {
        slice[c]            = (spmm_slice_t){.index = c, .first = first, .n = operand[c].n};
        slice[c].halo       = (char *)base->exchange.ghost_rows + row * (size_t)first;
        operand[c].received = slice[c].halo;
        first += operand[c].n;
    }
}

/* What failed here does not keep this rank from exchanges, which peers wait for. */
static spmm_status_t run_overlapped(spmm_attention_side_t *side, spmm_attention_operand_t *operand,
                                    int count, const spmm_attention_work_t *work,
                                    spmm_stream_t stream)
{
    spmm_plan_t  *base = side->base;
    spmm_stream_t comm = base->exchange.comm_stream;
    spmm_slice_t  slice[SPMM_ATTENTION_OPERANDS];
    spmm_status_t status = SPMM_OK;

    cut(base, operand, count, slice);
    SPMM_TRY(spmmi_phase_wait(&base->phases, 0, SPMM_PHASE_START, comm));
    for (int c = 0; c < count; c++) {
        const spmm_operands_t x = operands_of(base, &operand[c], &slice[c], stream);

        SPMM_TRY(spmmi_plan_begin_rows(base, &x, &slice[c], comm));
        if (c == 0) {
            status = work->run(&side->local, work->args, NULL, stream);
        }
        SPMM_TRY(spmmi_plan_end_rows(base, &x, &slice[c], comm));
    }
    /* Also where the diagonal block failed: the operands are the caller's again behind this. */
    status = spmmi_first_failure(
        status, spmmi_phase_wait(&base->phases, count - 1, SPMM_PHASE_EXCHANGED, stream));
    SPMM_TRY(status);
    return work->run(&side->halo, work->args, operand, stream);
}

static spmm_status_t run(spmm_attention_side_t *side, spmm_attention_operand_t *operand, int count,
                         const spmm_attention_work_t *work, spmm_stream_t stream)
{
    spmm_plan_t  *base = side->base;
    spmm_status_t status, ended;

    if (base->exchange.alone) {
        return work->run(&side->local, work->args, NULL, stream);
    }
    /* The buffers belong to the last pass until it is done, on whatever stream that was. */
    if (base->timing.in_use) {
        SPMM_TRY(spmmi_phase_wait(&base->phases, 0, SPMM_PHASE_DONE, stream));
    }
    SPMM_TRY(spmmi_phase_record(&base->phases, 0, SPMM_PHASE_START, stream));
    status              = run_overlapped(side, operand, count, work, stream);
    ended               = spmmi_phase_record(&base->phases, 0, SPMM_PHASE_DONE, stream);
    base->timing.in_use = base->timing.in_use || ended == SPMM_OK;
    return spmmi_first_failure(status, ended);
}

spmm_status_t spmmi_attention_side_run(spmm_attention_side_t    *side,
                                       spmm_attention_operand_t *operand, int count,
                                       const spmm_attention_work_t *work, spmm_stream_t stream)
{
    spmm_plan_exchange_t *exchange = &side->base->exchange;
    const uint32_t        begun    = exchange->begun;
    const spmm_status_t   status   = run(side, operand, count, work, stream);

    exchange->skipped += status != SPMM_OK && exchange->begun == begun;
    return status;
}
