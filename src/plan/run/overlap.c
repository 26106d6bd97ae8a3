/* SPDX-License-Identifier: Apache-2.0 */
/** @file overlap.c
 *  The diagonal block hides the exchange.  Columns are streams, time runs down:
 *
 *      op N    user stream           comm stream       op T    user stream           comm stream
 *              START  ----------->   wait                      off-diagonal -> rows
 *              diagonal block        pack send rows            OFF_DIAGONAL_TO -->   wait
 *                                    exchange                  diagonal block        exchange
 *              wait   <-----------   EXCHANGED                 wait  <------------   EXCHANGED
 *              off-diagonal (beta 1)                           add received rows
 *
 *  An off-diagonal block of few entries waits itself for its rows, where transport and engine can
 *  (overlap.h).  Its kernel comes right behind the diagonal block, and no stream waits for event
 *  EXCHANGED.
 *
 *  Where exchange and blocks can (overlap.h), all is on the user stream.  The exchange and the
 *  diagonal block are concurrent, the off-diagonal block comes after both.  Then no stream waits
 *  for event START either.
 *
 *  The diagonal block touches no remote row, so the exchange is free while it is the shorter of the
 *  two.  hypre and PETSc order their products the same way (hypre_ParCSRMatrixMatvec,
 *  MatMult_MPIAIJ).
 *
 *  The exchange is enqueued first.  After a diagonal block that fills the device its kernel would
 *  get no multiprocessor before that block has ended.  So 1.14 ms and an exchange of 0.07 ms took
 *  1.22 ms.
 *
 *  The columns of B may be cut into 2 or 4 chunks, which travel one after the other.  The
 *  off-diagonal block multiplies a chunk (op T: makes the rows of one) while the next one travels.
 *  An exchange that is longer than the diagonal block then hides the off-diagonal block, too, which
 *  is read once for each chunk.
 *
 *  Where the plan works on row-major copies of column-major B and C (products.c), B is copied on
 *  the user stream before the first block that reads it.  Both blocks write the copy of C, and C
 *  gets its part last.  Packing reads the caller's B, so the exchange does not wait for the copy.
 */
#include "plan/run/overlap.h"

#include "plan/plan.h"
#include "plan/run/products.h"

/* Bytes of B that a block reads, and that arrive: more are for all multiprocessors. */
enum { MOST_BYTES = 8 << 20, MOST_ARRIVING = 384 << 10 };

/* Not where bits are to be equal: which way a product goes depends on what else is under way. */
bool spmmi_plan_may_wait(const spmm_plan_t *plan, const spmm_block_t *block)
{
    const int64_t row = plan->n * (int64_t)spmm_type_size(plan->ab_type);

    return block == &plan->blocks.off_diagonal && block->nnz > 0 &&
           block->nnz <= MOST_BYTES / row && plan->shared->push.waits >= 0 &&
           plan->op == SPMM_OP_N && plan->layout == SPMM_LAYOUT_ROW && !plan->deterministic &&
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
    shared->waiting.end    = plan->phases.events[0].sync[SPMM_PHASE_DONE];
    return true;
}

/* A graph has edges of its own, and times of the phases would include the wait. */
bool spmmi_plan_halo_waits(spmm_plan_t *plan, const spmm_operands_t *x)
{
    const spmm_block_t *block = &plan->blocks.off_diagonal;

    return x->n > 0 && block->problem.waits && spmmi_plan_may_wait(plan, block) && !plan->profile &&
           plan->captures == NULL && plan->exchange.ghost_rows == plan->exchange.peer_rows &&
           block->engine != NULL && block->pattern.max_row <= block->engine->facts.waits &&
           is_only_stream(plan, x->stream);
}

/* A block of a product that is in line. */
static bool follows(const spmm_block_t *block)
{
    return block->engine != NULL && block->engine->facts.follows;
}

/* In line the exchange starts at once, and the diagonal block when the exchange has.  That pays
 * where the product would wait for rows.  On two H100, products of 11 matrices took 1 to 9 us less
 * from this share on, but for one that took 2 more.  They took up to 3 more where the exchange was
 * half of the diagonal block and less. */
static bool is_worth_it(const spmm_plan_t *plan)
{
    static const double share = 0.8;
    const size_t        row   = (size_t)plan->n * plan->sent_size;
    const spmm_block_t *local = &plan->blocks.diagonal;
    const double        s     = local->measured_s > 0.0 ? local->measured_s : local->predicted_s;

    return plan->exchange.transport->cost(&plan->exchange.halo, row, plan->device) >= share * s;
}

/* Copies of an exchange and of column-major blocks are on streams of their own.  Events between
 * kernels keep the second from beginning early. */
bool spmmi_plan_runs_in_line(const spmm_plan_t *plan, const spmm_operands_t *x)
{
    const spmm_transport_ops_t *transport = plan->exchange.transport;

    return plan->op == SPMM_OP_N && plan->layout == SPMM_LAYOUT_ROW &&
           plan->exchange.state != NULL && transport->lets_begin != NULL &&
           plan->shared->push.waits >= 0 && !plan->profile && plan->captures == NULL &&
           !spmmi_plan_rounds(plan) && plan->exchange.ghost_rows == plan->exchange.peer_rows &&
           plan->blocks.off_diagonal.nnz > 0 && follows(&plan->blocks.diagonal) &&
           follows(&plan->blocks.off_diagonal) && transport->lets_begin(plan->exchange.state) &&
           is_worth_it(plan) && !plan->device->ops->is_captured(plan->device, x->stream);
}

void spmmi_plan_end_waits(spmm_plan_t *plan)
{
    if (plan->shared->waiting.end == plan->phases.events[0].sync[SPMM_PHASE_DONE]) {
        plan->shared->waiting.stream = 0;
        plan->shared->waiting.end    = NULL;
    }
}

static int cut(const spmm_plan_t *plan, int64_t n, spmm_slice_t slice[SPMM_MOST_CHUNKS])
{
    const size_t row =
        (size_t)spmmi_halo_recv_rows(&plan->exchange.halo) * spmm_type_size(plan->halo_type);
    const int count = spmmi_plan_cut(plan, n, plan->choice.chunks, slice);

    for (int c = 0; c < count; c++) {
        slice[c].halo = (char *)plan->exchange.ghost_rows + row * (size_t)slice[c].first;
    }
    return count;
}

/* Also where a product failed: B is the caller's again behind this. */
static spmm_status_t multiply_arrived(spmm_plan_t *plan, const spmm_operands_t *x,
                                      const spmm_slice_t *slice, spmm_status_t work)
{
    if (!slice->waits && !plan->exchange.in_line) {
        work = spmmi_first_failure(
            work, spmmi_phase_wait(&plan->phases, slice->index, SPMM_PHASE_EXCHANGED, x->stream));
    }
    if (work == SPMM_OK) {
        work = spmmi_plan_run_off_diagonal(plan, x, slice);
    }
    if (work != SPMM_OK && slice->waits && !plan->exchange.in_line) {
        SPMM_TRY(spmmi_phase_record(&plan->phases, slice->index, SPMM_PHASE_EXCHANGED,
                                    plan->exchange.comm_stream));
        SPMM_TRY(spmmi_phase_wait(&plan->phases, slice->index, SPMM_PHASE_EXCHANGED, x->stream));
    }
    return work;
}

/* A product that failed does not keep this rank from the exchanges that are to come. */
static spmm_status_t run_op_n(spmm_plan_t *plan, const spmm_operands_t *x)
{
    spmm_slice_t  slice[SPMM_MOST_CHUNKS];
    const int     count = cut(plan, x->n, slice);
    spmm_stream_t way   = plan->exchange.in_line ? x->stream : plan->exchange.comm_stream;
    spmm_status_t work;

    slice[0].waits = count == 1 && spmmi_plan_halo_waits(plan, x);
    if (!plan->exchange.in_line) {
        SPMM_TRY(spmmi_phase_wait(&plan->phases, 0, SPMM_PHASE_START, way));
    }
    SPMM_TRY(spmmi_plan_begin_rows(plan, x, &slice[0], way));
    work = spmmi_plan_convert_b(plan, x);
    if (work == SPMM_OK) {
        work = spmmi_plan_run_diagonal(plan, x);
    }
    for (int c = 0; c < count; c++) {
        SPMM_TRY(spmmi_plan_end_rows(plan, x, &slice[c], way));
        if (c + 1 < count) {
            SPMM_TRY(spmmi_plan_begin_rows(plan, x, &slice[c + 1], way));
        }
        work = multiply_arrived(plan, x, &slice[c], work);
    }
    return work;
}

/* Ghost rows of a slice are on their way once the comm stream has seen them made. */
static spmm_status_t send_back(spmm_plan_t *plan, const spmm_operands_t *x,
                               const spmm_slice_t *slice)
{
    SPMM_TRY(
        spmmi_phase_record(&plan->phases, slice->index, SPMM_PHASE_OFF_DIAGONAL_TO, x->stream));
    SPMM_TRY(spmmi_phase_wait(&plan->phases, slice->index, SPMM_PHASE_OFF_DIAGONAL_TO,
                              plan->exchange.comm_stream));
    return spmmi_plan_begin_rows(plan, x, slice, plan->exchange.comm_stream);
}

static spmm_status_t run_op_t(spmm_plan_t *plan, const spmm_operands_t *x)
{
    spmm_slice_t  slice[SPMM_MOST_CHUNKS];
    const int     count = cut(plan, x->n, slice);
    spmm_status_t work  = spmmi_plan_convert_b(plan, x);

    if (work == SPMM_OK) {
        work = spmmi_plan_run_off_diagonal_transposed(plan, x, &slice[0]);
    }
    for (int c = 0; c < count; c++) {
        SPMM_TRY(send_back(plan, x, &slice[c]));
        if (work == SPMM_OK) {
            work = c + 1 < count ? spmmi_plan_run_off_diagonal_transposed(plan, x, &slice[c + 1])
                                 : spmmi_plan_run_diagonal(plan, x);
        }
        SPMM_TRY(spmmi_plan_end_rows(plan, x, &slice[c], plan->exchange.comm_stream));
    }
    for (int c = 0; c < count; c++) {
        SPMM_TRY(spmmi_phase_wait(&plan->phases, c, SPMM_PHASE_EXCHANGED, x->stream));
        if (work == SPMM_OK) {
            work = spmmi_plan_add_received(plan, x, &slice[c]);
        }
    }
    return work;
}

static spmm_status_t run(spmm_plan_t *plan, const spmm_operands_t *x)
{
    return plan->op == SPMM_OP_N ? run_op_n(plan, x) : run_op_t(plan, x);
}

const spmm_schedule_t spmmi_schedule_overlap = {
    .name    = "overlap",
    .merges  = false,
    .cuts    = true,
    .in_line = true,
    .run     = run,
};
