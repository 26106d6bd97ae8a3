/* SPDX-License-Identifier: Apache-2.0 */
/** @file execute.c
 *  The way of one product, from checked operands to the last enqueue.
 *
 *  The buffers are free after DONE of the last product, if that was on another stream.  Then
 *  capture.c launches what it has captured, or enqueue() is called: event START, the schedule, and
 *  C from its copy, where the blocks wrote a copy (products.c).  Event DONE comes also behind what
 *  failed.
 *
 *  Schedule overlap: the diagonal block hides the exchange.  Columns are streams, time runs down:
 *
 *      op N    user stream           comm stream       op T    user stream           comm stream
 *              START  ----------->   wait                      off-diagonal -> rows
 *              diagonal block        pack send rows            OFF_DIAGONAL_TO -->   wait
 *                                    exchange                  diagonal block        exchange
 *              wait   <-----------   EXCHANGED                 wait  <------------   EXCHANGED
 *              off-diagonal (beta 1)                           add received rows
 *
 *  An off-diagonal block of few entries waits itself for its rows, where transport and engine can
 *  (execute.h).  Its kernel comes right behind the diagonal block, and no stream waits for event
 *  EXCHANGED.
 *
 *  Where exchange and blocks can (execute.h), all is on the user stream.  The exchange and the
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
#include "plan/run/execute.h"

#include <inttypes.h>

#include "plan/plan.h"
#include "plan/run/products.h"

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

bool spmmi_plan_waits_itself(spmm_plan_t *plan, const spmm_operands_t *x)
{
    return x->n > 0 && plan->exchange.waits && is_only_stream(plan, x->stream);
}

bool spmmi_plan_runs_in_line(const spmm_plan_t *plan, const spmm_operands_t *x)
{
    return plan->exchange.in_line && !plan->device->ops->is_captured(plan->device, x->stream);
}

void spmmi_plan_end_waits(spmm_plan_t *plan)
{
    if (plan->shared->waiting.end == plan->phases.events[0].sync[SPMM_PHASE_DONE]) {
        plan->shared->waiting.stream = 0;
        plan->shared->waiting.end    = NULL;
    }
}

/* Also where a product failed: B is the caller's again behind this. */
static spmm_status_t follow_exchange(spmm_plan_t *plan, const spmm_slice_t *slice,
                                     spmm_stream_t stream, spmm_status_t work)
{
    return spmmi_first_failure(
        work, spmmi_phase_wait(&plan->phases, slice->index, SPMM_PHASE_EXCHANGED, stream));
}

static spmm_status_t multiply_arrived(spmm_plan_t *plan, const spmm_operands_t *x,
                                      const spmm_slice_t *slice, bool in_line, spmm_status_t work)
{
    spmm_operands_t y = *x;

    if (slice->waits) {
        y.until = plan->exchange.transport->arrival(plan->exchange.state);
    } else if (in_line) {
        y.follows = SPMM_FOLLOWS_ALL;
    } else {
        work = follow_exchange(plan, slice, x->stream, work);
    }
    if (work == SPMM_OK) {
        work = spmmi_plan_run_off_diagonal(plan, &y, slice);
    }
    if (work != SPMM_OK && slice->waits && !in_line) {
        SPMM_TRY(spmmi_phase_record(&plan->phases, slice->index, SPMM_PHASE_EXCHANGED,
                                    plan->exchange.comm_stream));
        work = follow_exchange(plan, slice, x->stream, work);
    }
    return work;
}

/* A product that failed does not keep this rank from the exchanges that are to come. */
static spmm_status_t run_op_n(spmm_plan_t *plan, const spmm_operands_t *x)
{
    const bool      in_line = spmmi_plan_runs_in_line(plan, x);
    spmm_stream_t   way     = in_line ? x->stream : plan->exchange.comm_stream;
    spmm_operands_t own     = *x;
    spmm_slice_t    slice[SPMM_MOST_CHUNKS];
    const int       count = spmmi_plan_cut(plan, x->n, slice);
    spmm_status_t   work;

    slice[0].waits = count == 1 && spmmi_plan_waits_itself(plan, x);
    own.follows    = in_line ? SPMM_FOLLOWS_CONCURRENT : SPMM_FOLLOWS_LAST;
    SPMM_TRY(spmmi_plan_start(plan, x->stream, way));
    SPMM_TRY(spmmi_plan_begin_rows(plan, x, &slice[0], way));
    work = spmmi_plan_convert_b(plan, x);
    if (work == SPMM_OK) {
        work = spmmi_plan_run_diagonal(plan, &own);
    }
    for (int c = 0; c < count; c++) {
        SPMM_TRY(spmmi_plan_end_rows(plan, x, &slice[c], way));
        if (c + 1 < count) {
            SPMM_TRY(spmmi_plan_begin_rows(plan, x, &slice[c + 1], way));
        }
        work = multiply_arrived(plan, x, &slice[c], in_line, work);
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
    const int     count = spmmi_plan_cut(plan, x->n, slice);
    spmm_status_t work;

    SPMM_TRY(spmmi_plan_start(plan, x->stream, x->stream));
    work = spmmi_plan_convert_b(plan, x);
    if (work == SPMM_OK) {
        work = spmmi_plan_run_off_diagonal(plan, x, &slice[0]);
    }
    for (int c = 0; c < count; c++) {
        SPMM_TRY(send_back(plan, x, &slice[c]));
        if (work == SPMM_OK) {
            work = c + 1 < count ? spmmi_plan_run_off_diagonal(plan, x, &slice[c + 1])
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

static spmm_status_t run_overlap(spmm_plan_t *plan, const spmm_operands_t *x)
{
    return plan->op == SPMM_OP_N ? run_op_n(plan, x) : run_op_t(plan, x);
}

const spmm_schedule_t spmmi_schedule_overlap = {
    .name   = "overlap",
    .merges = false,
    .cuts   = true,
    .run    = run_overlap,
};

/* The buffers belong to the last execute until it is done, on whatever stream that was; on this one
 * its end is in order without a wait, which costs the stream about a microsecond. */
static spmm_status_t follow_last(spmm_plan_t *plan, spmm_stream_t stream, uint64_t *number)
{
    if (!plan->device->ops->stream_id(plan->device, stream, number)) {
        *number = 0;
    }
    if (plan->timing.in_use && (*number == 0 || *number != plan->timing.last_stream)) {
        return spmmi_phase_wait(&plan->phases, 0, SPMM_PHASE_DONE, stream);
    }
    return SPMM_OK;
}

/* All on the user stream. */
static spmm_status_t run_alone(spmm_plan_t *plan, const spmm_operands_t *x)
{
    SPMM_TRY(spmmi_plan_start(plan, x->stream, x->stream));
    SPMM_TRY(spmmi_plan_convert_b(plan, x));
    return spmmi_plan_run_diagonal(plan, x);
}

/* Into a C that the blocks write. */
static spmm_status_t run(spmm_plan_t *plan, const spmm_operands_t *x)
{
    SPMM_TRY(plan->exchange.alone ? run_alone(plan, x) : plan->choice.schedule->run(plan, x));
    return spmmi_plan_store_c(plan, x);
}

/* What may be captured. */
static spmm_status_t enqueue(spmm_plan_t *plan, const spmm_operands_t *x)
{
    spmm_operands_t y;

    if (!plan->conversion.sums) {
        return run(plan, x);
    }
    y = spmmi_plan_into_sum(plan, x);
    SPMM_TRY(run(plan, &y));
    return spmmi_plan_store_sum(plan, x);
}

/* Also what a failed execute got to enqueue works on the buffers. */
static spmm_status_t finish(spmm_plan_t *plan, int64_t n, spmm_stream_t stream, uint64_t number,
                            spmm_status_t status)
{
    spmm_plan_timing_t *timing = &plan->timing;
    const spmm_status_t ended  = spmmi_phase_record(&plan->phases, 0, SPMM_PHASE_DONE, stream);

    status              = spmmi_first_failure(status, ended);
    timing->in_use      = timing->in_use || ended == SPMM_OK;
    timing->has_run     = status == SPMM_OK;
    timing->last_stream = timing->has_run ? number : 0;
    timing->last_n      = n;
    return status;
}

static spmm_status_t execute(spmm_plan_t *plan, const spmm_operands_t *x)
{
    uint64_t      number = 0;
    spmm_status_t status;

    SPMM_TRY(follow_last(plan, x->stream, &number));
    status = plan->captures != NULL ? spmmi_plan_run_captured(plan, x, enqueue) : enqueue(plan, x);
    return finish(plan, x->n, x->stream, number, status);
}

spmm_status_t spmmi_plan_execute(spmm_plan_t *plan, const spmm_operands_t *x)
{
    const uint32_t      begun  = plan->exchange.begun;
    const spmm_status_t status = execute(plan, x);

    plan->exchange.skipped += status != SPMM_OK && plan->exchange.begun == begun;
    return status;
}

/* Where column 0 of a block would be, of which slice->first is the first column of @p o. */
static spmm_operands_t operands_of(const spmm_plan_t *plan, const spmm_pass_operand_t *o,
                                   const spmm_slice_t *slice, spmm_stream_t stream)
{
    const size_t before = (size_t)slice->first * spmm_type_size(plan->ab_type);

    return (spmm_operands_t){.ab_type = plan->ab_type,
                             .layout  = SPMM_LAYOUT_ROW,
                             .n       = o->n,
                             .B       = (const void *)((uintptr_t)o->rows - before),
                             .ldb     = o->ld,
                             .stream  = stream};
}

/* What failed here does not keep this rank from exchanges, which peers wait for. */
static spmm_status_t overlap_pass(spmm_plan_t *plan, const spmm_pass_t *pass, spmm_stream_t stream)
{
    const size_t row =
        (size_t)spmmi_halo_recv_rows(&plan->exchange.halo) * spmm_type_size(plan->halo_type);
    spmm_pass_operand_t operand[SPMM_PASS_OPERANDS];
    spmm_stream_t       comm   = plan->exchange.comm_stream;
    spmm_status_t       status = SPMM_OK;
    int64_t             first  = 0;

    SPMM_TRY(spmmi_plan_start(plan, stream, comm));
    for (int c = 0; c < pass->count; c++) {
        const spmm_slice_t    slice = {.index = c,
                                       .first = first,
                                       .n     = pass->operand[c].n,
                                       .halo =
                                           (char *)plan->exchange.ghost_rows + row * (size_t)first};
        const spmm_operands_t x     = operands_of(plan, &pass->operand[c], &slice, stream);

        operand[c] = (spmm_pass_operand_t){.rows = slice.halo, .ld = slice.n, .n = slice.n};
        first += slice.n;
        SPMM_TRY(spmmi_plan_begin_rows(plan, &x, &slice, comm));
        if (c == 0) {
            status = pass->run(pass->self, pass->args, NULL, stream);
        }
        SPMM_TRY(spmmi_plan_end_rows(plan, &x, &slice, comm));
    }
    /* Also where the diagonal block failed: the operands are the caller's again behind this. */
    status = spmmi_first_failure(
        status, spmmi_phase_wait(&plan->phases, pass->count - 1, SPMM_PHASE_EXCHANGED, stream));
    SPMM_TRY(status);
    return pass->run(pass->self, pass->args, operand, stream);
}

static spmm_status_t run_pass(spmm_plan_t *plan, const spmm_pass_t *pass, spmm_stream_t stream)
{
    uint64_t number = 0;

    /* One kernel and nothing else: there are no buffers, and memory in use is not released. */
    if (plan->exchange.alone) {
        return pass->run(pass->self, pass->args, NULL, stream);
    }
    SPMM_TRY(follow_last(plan, stream, &number));
    return finish(plan, 0, stream, number, overlap_pass(plan, pass, stream));
}

spmm_status_t spmmi_plan_run_pass(spmm_plan_t *plan, const spmm_pass_t *pass, spmm_stream_t stream)
{
    const uint32_t      begun  = plan->exchange.begun;
    const spmm_status_t status = run_pass(plan, pass, stream);

    plan->exchange.skipped += status != SPMM_OK && plan->exchange.begun == begun;
    return status;
}

void spmmi_plan_skip(spmm_plan_t *plan)
{
    plan->exchange.skipped += !plan->env->check; /* else all ranks refuse, perhaps other calls */
}

spmm_status_t spmmi_plan_check_sequence(const spmm_plan_t *plan)
{
    if (plan->exchange.skipped == plan->exchange.agreed || plan->exchange.alone ||
        plan->exchange.transport->sees_steps) {
        return SPMM_OK;
    }
    return spmmi_fail(&plan->env->err, SPMM_ERR_ARGUMENT,
                      "this rank may be out of step: an execute of this plan was refused or failed "
                      "before rows travelled, and transport %s cannot tell whether on all ranks; "
                      "call spmm_plan_resync() on all ranks, or destroy the plan",
                      plan->exchange.transport->name);
}

spmm_status_t spmmi_plan_resync(spmm_plan_t *plan)
{
    const int64_t skipped  = plan->exchange.skipped;
    const bool    alone    = plan->exchange.alone; /* nobody's rows are at stake */
    int64_t       range[2] = {alone ? INT64_MAX : skipped, alone ? INT64_MAX : -skipped};

    SPMM_TRY(spmmi_allreduce(plan->env, range, 2, MPI_INT64_T, MPI_MIN));
    if (range[0] != INT64_MAX && range[0] != -range[1]) {
        return spmmi_fail(&plan->env->err, SPMM_ERR_COMM,
                          "ranks are out of step: one left out %" PRId64 " executes of this plan, "
                          "another %" PRId64 ", and rows still wait for them; destroy the plan and "
                          "its context",
                          -range[1], range[0]);
    }
    plan->exchange.agreed = plan->exchange.skipped;
    return SPMM_OK;
}

spmm_status_t spmmi_plan_wait_idle(spmm_plan_t *plan)
{
    const spmm_device_ops_t *ops = plan->device->ops;
    spmm_status_t            waits, synced;

    if (!plan->timing.in_use) {
        return SPMM_OK;
    }
    waits  = spmmi_phase_wait(&plan->phases, 0, SPMM_PHASE_DONE, plan->exchange.comm_stream);
    synced = ops->stream_sync(plan->device, plan->exchange.comm_stream);
    return spmmi_first_failure(waits, synced);
}
