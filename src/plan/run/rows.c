/* SPDX-License-Identifier: Apache-2.0 */
/** @file rows.c
 *  The only way of rows between ranks in an execute: schedules say which columns, when, and where
 *  the rows go; how they travel is decided here.
 */
#include "plan/run/rows.h"

#include "base/scalar.h"
#include "plan/plan.h"

int spmmi_plan_cut(const spmm_plan_t *plan, int64_t n, spmm_slice_t slice[SPMM_MOST_CHUNKS])
{
    const int64_t units[] = {32, 1, 8, 1};
    const size_t  row =
        (size_t)spmmi_halo_recv_rows(&plan->exchange.halo) * spmm_type_size(plan->halo_type);
    int64_t unit   = 1;
    int     chunks = plan->choice.chunks, count = 0;

    if (plan->captures != NULL && n % chunks != 0) {
        chunks = 1; /* engines prepare anew for another width, which may not be captured */
    }
    for (int k = 0; k < 4; k++) { /* equal in units of 32, equal, in units of 8, any */
        unit = units[k];
        if (k < 2 ? n % (unit * chunks) == 0 : n >= unit * chunks) {
            break;
        }
    }
    for (int c = 0; c < chunks; c++) {
        const int64_t all  = (n + unit - 1) / unit;
        const int64_t from = all * c / chunks * unit, to = all * (c + 1) / chunks * unit;

        if (to > from) {
            slice[count] =
                (spmm_slice_t){.index = count,
                               .first = from,
                               .n     = (to < n ? to : n) - from,
                               .halo  = (char *)plan->exchange.ghost_rows + row * (size_t)from};
            count++;
        }
    }
    return count;
}

spmm_status_t spmmi_plan_start(spmm_plan_t *plan, spmm_stream_t stream, spmm_stream_t way)
{
    if (stream == way) {
        return spmmi_phase_note(&plan->phases, 0, SPMM_PHASE_START, stream);
    }
    SPMM_TRY(spmmi_phase_record(&plan->phases, 0, SPMM_PHASE_START, stream));
    return spmmi_phase_wait(&plan->phases, 0, SPMM_PHASE_START, way);
}

/* Where the send rows of a slice lie: packed behind those of the slices before. */
static spmm_exchange_t exchange_of(const spmm_plan_t *plan, const spmm_operands_t *x,
                                   const spmm_slice_t *slice)
{
    const size_t elem = spmm_type_size(plan->halo_type);
    const size_t before =
        (size_t)spmmi_halo_send_rows(&plan->exchange.halo) * (size_t)slice->first * elem;

    return (spmm_exchange_t){
        .direction = plan->op == SPMM_OP_N ? SPMM_HALO_FORWARD : SPMM_HALO_REVERSE,
        .send_rows = (char *)plan->exchange.send_rows + before,
        .halo      = slice->halo,
        .row_bytes = (size_t)slice->n * elem,
        .step      = plan->exchange.skipped * SPMM_MOST_CHUNKS + (uint32_t)slice->index,
        .in_place =
            plan->exchange.in_place ? (const char *)x->B + (size_t)slice->first * elem : NULL,
        .ld_bytes = (size_t)x->ldb * elem,
        .tells    = slice->waits};
}

static spmm_status_t pack(spmm_plan_t *plan, const spmm_operands_t *x, const spmm_slice_t *slice,
                          void *send_rows, spmm_stream_t stream)
{
    const size_t       elem = spmm_type_size(plan->halo_type);
    const int64_t      at = plan->layout == SPMM_LAYOUT_ROW ? slice->first : slice->first * x->ldb;
    spmm_gather_args_t args = {.ld_src     = x->ldb,
                               .src_layout = plan->layout,
                               .row        = plan->exchange.send_row,
                               .n_rows     = spmmi_halo_send_rows(&plan->exchange.halo),
                               .n          = slice->n,
                               .elem_size  = elem,
                               .dst        = send_rows};

    if (args.n_rows == 0) { /* B may be NULL */
        return SPMM_OK;
    }
    args.src = (const char *)x->B + (size_t)at * elem;
    return plan->device->ops->gather_rows(plan->device, &args, stream);
}

/* The same in the type in which rows travel. */
static spmm_exchange_t sent_of(const spmm_plan_t *plan, const spmm_slice_t *slice,
                               const spmm_exchange_t *what)
{
    const size_t    n_send = (size_t)spmmi_halo_send_rows(&plan->exchange.halo);
    const size_t    n_recv = (size_t)spmmi_halo_recv_rows(&plan->exchange.halo);
    const size_t    size = plan->sent_size, first = (size_t)slice->first;
    char           *to   = plan->exchange.rounded;
    spmm_exchange_t sent = *what;

    if (spmmi_plan_rounds(plan)) {
        sent.send_rows = to + n_send * first * size;
        sent.halo      = to + (n_send * (size_t)plan->n + n_recv * first) * size;
        sent.row_bytes = (size_t)slice->n * size;
    }
    return sent;
}

/* @p rows x slice, rounded to the type that is sent, or with @p widen back from it. */
static spmm_status_t convert(const spmm_plan_t *plan, const spmm_slice_t *slice, int64_t rows,
                             const void *from, bool widen, void *to, spmm_stream_t stream)
{
    const spmm_type_t       type = spmmi_part_type(plan->halo_type);
    const spmm_round_args_t args = {.src      = from,
                                    .dst      = to,
                                    .src_type = widen ? plan->sent_type : type,
                                    .dst_type = widen ? type : plan->sent_type,
                                    .count = rows * slice->n * spmmi_type_parts(plan->halo_type)};

    return plan->device->ops->round_rows(plan->device, &args, stream);
}

static spmm_status_t begin_any(const spmm_plan_exchange_t *e, const spmm_exchange_t *what,
                               spmm_stream_t stream)
{
    return e->node != NULL ? spmmi_node_exchange_begin(e->node, what, stream)
                           : e->transport->begin(e->state, what, stream);
}

static spmm_status_t end_any(const spmm_plan_exchange_t *e, const spmm_exchange_t *what,
                             spmm_stream_t stream)
{
    return e->node != NULL ? spmmi_node_exchange_end(e->node, what, stream)
                           : e->transport->end(e->state, what, stream);
}

/* Peers count on an exchange that has begun: it is ended even where its event was not recorded. */
static spmm_status_t begin(spmm_plan_t *plan, int index, const spmm_exchange_t *what,
                           spmm_stream_t stream)
{
    spmm_status_t status;

    SPMM_TRY(spmmi_phase_note(&plan->phases, index, SPMM_PHASE_PACKED, stream));
    plan->exchange.begun++;
    SPMM_TRY(begin_any(&plan->exchange, what, stream));
    status = spmmi_phase_note(&plan->phases, index, SPMM_PHASE_BEGUN, stream);
    if (status != SPMM_OK) {
        (void)end_any(&plan->exchange, what, stream);
    }
    return status;
}

spmm_status_t spmmi_plan_begin_rows(spmm_plan_t *plan, const spmm_operands_t *x,
                                    const spmm_slice_t *slice, spmm_stream_t stream)
{
    const spmm_exchange_t what = exchange_of(plan, x, slice), sent = sent_of(plan, slice, &what);

    SPMM_TRY(spmmi_phase_note(&plan->phases, slice->index, SPMM_PHASE_PACK, stream));
    if (plan->op == SPMM_OP_N && what.in_place == NULL) {
        SPMM_TRY(pack(plan, x, slice, what.send_rows, stream));
    }
    if (spmmi_plan_rounds(plan)) {
        SPMM_TRY(convert(plan, slice, spmmi_halo_send_rows(&plan->exchange.halo), what.send_rows,
                         false, sent.send_rows, stream));
    }
    return begin(plan, slice->index, &sent, stream);
}

spmm_status_t spmmi_plan_end_rows(spmm_plan_t *plan, const spmm_operands_t *x,
                                  const spmm_slice_t *slice, spmm_stream_t stream)
{
    const spmm_exchange_t what = exchange_of(plan, x, slice), sent = sent_of(plan, slice, &what);
    const int             index = slice->index;
    const spmm_status_t   noted = spmmi_phase_note(&plan->phases, index, SPMM_PHASE_ENDING, stream);

    SPMM_TRY(spmmi_first_failure(end_any(&plan->exchange, &sent, stream), noted));
    if (spmmi_plan_rounds(plan)) {
        SPMM_TRY(convert(plan, slice, spmmi_halo_recv_rows(&plan->exchange.halo), sent.halo, true,
                         what.halo, stream));
    }
    return stream == plan->exchange.comm_stream && !slice->waits /* else nobody waits for it */
               ? spmmi_phase_record(&plan->phases, index, SPMM_PHASE_EXCHANGED, stream)
               : spmmi_phase_note(&plan->phases, index, SPMM_PHASE_EXCHANGED, stream);
}
