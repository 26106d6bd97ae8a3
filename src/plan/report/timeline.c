/* SPDX-License-Identifier: Apache-2.0 */
/** @file timeline.c  When the phases of an execute ran, and which ranks its rows came from. */
#include "plan/report/timeline.h"

#include "base/alloc.h"
#include "base/comm.h"

#include "plan/plan.h"
#include "plan/run/execute.h"

/* Between posting and waiting, a host transport lets the diagonal block run: two spans of
 * exchange. */
static const struct {
    const char  *phase;
    spmm_phase_t from, to;
} of_slice[] = {
    {"pack", SPMM_PHASE_PACK, SPMM_PHASE_PACKED},
    {"exchange", SPMM_PHASE_PACKED, SPMM_PHASE_BEGUN},
    {"exchange", SPMM_PHASE_ENDING, SPMM_PHASE_EXCHANGED},
    {"halo", SPMM_PHASE_OFF_DIAGONAL_FROM, SPMM_PHASE_OFF_DIAGONAL_TO},
    {"pack", SPMM_PHASE_UNPACK_FROM, SPMM_PHASE_UNPACK_TO},
};
enum { SPANS_OF_SLICE = 5 };
_Static_assert(sizeof of_slice / sizeof of_slice[0] == SPANS_OF_SLICE, "one span for each");
_Static_assert(SPANS_OF_SLICE *SPMM_MOST_CHUNKS + 1 <= SPMM_MOST_SPANS, "room for all spans");

static spmm_status_t add_span(const spmm_plan_t *plan, int slice, const char *phase,
                              spmm_phase_t from, spmm_phase_t to, spmm_span_t *spans, int *count)
{
    const spmm_device_t *device = plan->device;
    spmm_event_t *const  start  = spmmi_phase_event(&plan->phases, 0, SPMM_PHASE_START);
    spmm_span_t         *span   = &spans[*count];

    span->phase = phase;
    span->chunk = slice;
    SPMM_TRY(device->ops->event_elapsed(
        device, start, spmmi_phase_event(&plan->phases, slice, from), &span->from_s));
    SPMM_TRY(device->ops->event_elapsed(device, start, spmmi_phase_event(&plan->phases, slice, to),
                                        &span->to_s));
    ++*count;
    return SPMM_OK;
}

/* op N has events of packing, op T of adding up what was received. */
static bool has_events(const spmm_plan_t *plan, int k)
{
    return of_slice[k].from == SPMM_PHASE_PACK          ? plan->op == SPMM_OP_N
           : of_slice[k].from == SPMM_PHASE_UNPACK_FROM ? plan->op == SPMM_OP_T
                                                        : true;
}

spmm_status_t spmmi_plan_trace(const spmm_plan_t *plan, spmm_span_t *spans, int *count)
{
    spmm_slice_t slice[SPMM_MOST_CHUNKS];
    int          slices = 0;

    *count = 0;
    if (!plan->profile || !plan->timing.has_run) {
        return SPMM_OK;
    }
    if (!plan->exchange.alone) {
        slices = spmmi_plan_cut(plan, plan->timing.last_n, plan->choice.chunks, slice);
    }
    SPMM_TRY(
        add_span(plan, 0, "local", SPMM_PHASE_DIAGONAL_FROM, SPMM_PHASE_DIAGONAL_TO, spans, count));
    for (int c = 0; c < slices; c++) {
        for (int k = 0; k < SPANS_OF_SLICE; k++) {
            if (has_events(plan, k)) {
                SPMM_TRY(add_span(plan, c, of_slice[k].phase, of_slice[k].from, of_slice[k].to,
                                  spans, count));
            }
        }
    }
    return SPMM_OK;
}

static void add_rows(const spmm_plan_t *plan, int64_t *rows)
{
    const spmm_halo_t *halo    = &plan->exchange.halo;
    const bool         n       = plan->op == SPMM_OP_N;
    const int          n_peers = n ? halo->n_recv_peers : halo->n_send_peers;
    const int         *peer    = n ? halo->recv_peer : halo->send_peer;
    const int64_t     *ptr     = n ? halo->recv_ptr : halo->send_ptr;

    if (plan->exchange.node != NULL) {
        spmmi_node_exchange_trace(plan->exchange.node, rows);
        return;
    }
    for (int k = 0; k < n_peers; k++) {
        rows[peer[k]] += ptr[k + 1] - ptr[k];
    }
}

void spmmi_plan_trace_rows(const spmm_plan_t *plan, int64_t *rows)
{
    for (int p = 0; p < plan->env->size; p++) {
        rows[p] = 0;
    }
    add_rows(plan, rows);
}

/* With exchange node the halo plan of the plan has the rows that are packed, once for a node. */
static const spmm_halo_t *sent_halo(const spmm_plan_t *plan)
{
    return plan->exchange.node != NULL ? spmmi_node_exchange_flat(plan->exchange.node)
                                       : &plan->exchange.halo;
}

/* The owners of the rows name them. */
static spmm_status_t name_rows(const spmm_plan_t *plan, int64_t *owned, int64_t *count,
                               int64_t *rows)
{
    const spmm_halo_t *halo   = &plan->exchange.halo;
    const spmm_halo_t *sent   = sent_halo(plan);
    const int64_t      n      = spmmi_halo_send_rows(sent);
    int64_t *const     wanted = count + plan->env->size;

    for (int64_t i = 0; i < n; i++) {
        owned[i] = spmmi_layout_original(&plan->cols, sent->send_row[i]);
    }
    for (int k = 0; k < sent->n_send_peers; k++) {
        count[sent->send_peer[k]] = sent->send_ptr[k + 1] - sent->send_ptr[k];
    }
    for (int k = 0; k < halo->n_recv_peers; k++) {
        wanted[halo->recv_peer[k]] = halo->recv_ptr[k + 1] - halo->recv_ptr[k];
    }
    return spmmi_alltoallv(plan->env, owned, count, rows, wanted, sizeof *rows);
}

spmm_status_t spmmi_plan_list_halo(const spmm_plan_t *plan, int64_t *rows)
{
    const int64_t n      = spmmi_halo_send_rows(sent_halo(plan));
    spmm_status_t status = SPMM_OK;
    int64_t      *owned, *count;

    SPMM_NEW(owned, n);
    SPMM_NEW_ZERO(count, 2 * (int64_t)plan->env->size);
    if (owned == NULL || count == NULL) {
        status = spmmi_fail_memory(&plan->env->err, n, sizeof *owned, "the indices of ghost rows");
    }
    status = spmmi_agree(plan->env, status);
    if (status == SPMM_OK) {
        status = name_rows(plan, owned, count, rows);
    }
    spmmi_free_all(owned, count);
    return status;
}
