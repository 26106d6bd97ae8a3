/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/product/wait.h"

#include "plan/plan.h"

/* Bytes of B that a block reads, and that arrive: more are for all multiprocessors. */
enum { MOST_BYTES = 8 << 20, MOST_ARRIVING = 384 << 10 };

/* Not where bits are to be equal: which way a product goes depends on what else is under way. */
bool spmmi_plan_may_wait(const spmm_plan_t *plan, const spmm_block_t *block)
{
    const int64_t row = plan->n * (int64_t)spmm_type_size(plan->ab_type);

    return block == &plan->blocks.halo && block->nnz > 0 && block->nnz <= MOST_BYTES / row &&
           plan->shared->push.waits >= 0 && plan->op == SPMM_OP_N &&
           plan->layout == SPMM_LAYOUT_ROW && !plan->deterministic &&
           plan->exchange.state != NULL && plan->exchange.transport->arrival != NULL &&
           !spmmi_plan_rounds(plan) &&
           spmmi_halo_recv_rows(&plan->exchange.halo) <= MOST_ARRIVING / row;
}

/* Products of other streams may wait for exchanges which the device has not begun. */
static bool is_only_stream(spmm_plan_t *plan, spmm_stream_t stream)
{
    const spmm_device_ops_t *ops    = plan->device->ops;
    spmm_transport_shared_t *shared = plan->shared;
    uint64_t                 number;
    bool                     done = true;

    if (ops->is_captured(plan->device, stream) || !ops->stream_id(plan->device, stream, &number)) {
        return false;
    }
    if (shared->waiting.stream != 0 && shared->waiting.stream != number &&
        (ops->event_query(plan->device, shared->waiting.end, &done) != SPMM_OK || !done)) {
        return false;
    }
    shared->waiting.stream = number;
    shared->waiting.end    = plan->timing.marks[0].tie[SPMM_MARK_DONE];
    return true;
}

/* A graph has edges of its own, and times of the phases would include the wait. */
bool spmmi_plan_halo_waits(spmm_plan_t *plan, const spmm_operands_t *x)
{
    const spmm_block_t *block = &plan->blocks.halo;
    spmm_operands_t     y     = *x;

    y.beta = (spmm_scalar_t){.re = 1.0};
    return spmmi_plan_may_wait(plan, block) && !plan->profile && plan->captures == NULL &&
           plan->exchange.halo_rows == plan->exchange.peer_rows && block->engine != NULL &&
           block->engine->waits != NULL && block->engine->waits(block->format, &y) &&
           is_only_stream(plan, x->stream);
}

/* A block of a product that is in line. */
static bool follows(const spmm_block_t *block)
{
    return block->engine != NULL && block->engine->follows;
}

/* In line the exchange starts at once, and the local block when the exchange has: that pays where
 * the product would wait for rows.  On two H100 products of 11 matrices took 1 to 9 us less from
 * this share on, but for one that took 2 more, and up to 3 more where the exchange was half of the
 * local block and less. */
static bool is_worth_it(const spmm_plan_t *plan)
{
    static const double share = 0.8;
    const size_t        row   = (size_t)plan->n * plan->sent_size;
    const spmm_block_t *local = &plan->blocks.local;
    const double        s     = local->measured_s > 0.0 ? local->measured_s : local->predicted_s;

    return plan->exchange.transport->cost(&plan->exchange.halo, row, plan->device) >= share * s;
}

/* Copies of an exchange and of column-major blocks are on streams of their own; marks between
 * kernels keep the second from beginning early. */
bool spmmi_plan_runs_in_line(const spmm_plan_t *plan, const spmm_operands_t *x)
{
    const spmm_transport_ops_t *transport = plan->exchange.transport;

    return plan->op == SPMM_OP_N && plan->layout == SPMM_LAYOUT_ROW &&
           plan->exchange.state != NULL && transport->lets_begin != NULL &&
           plan->shared->push.waits >= 0 && !plan->profile && plan->captures == NULL &&
           !spmmi_plan_rounds(plan) && plan->exchange.halo_rows == plan->exchange.peer_rows &&
           plan->blocks.halo.nnz > 0 && follows(&plan->blocks.local) &&
           follows(&plan->blocks.halo) && transport->lets_begin(plan->exchange.state) &&
           is_worth_it(plan) && !plan->device->ops->is_captured(plan->device, x->stream);
}

void spmmi_plan_end_waits(spmm_plan_t *plan)
{
    if (plan->shared->waiting.end == plan->timing.marks[0].tie[SPMM_MARK_DONE]) {
        plan->shared->waiting.stream = 0;
        plan->shared->waiting.end    = NULL;
    }
}
