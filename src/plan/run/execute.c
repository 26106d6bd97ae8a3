/* SPDX-License-Identifier: Apache-2.0 */
/** @file execute.c
 *  The way of one product, from checked operands to the last enqueue; the functions stand in the
 *  order in which the product meets them:
 *
 *      the buffers are free      after DONE of the last product, if that was on another stream
 *      captured, or as it comes  capture.c launches what it has captured, else calls enqueue()
 *      event START
 *      the schedule              overlap.c or merged.c: passes over C (products.c) and exchanges
 *                                (rows.c); a rank without peers multiplies its block
 *      C from its copy           where the blocks wrote a copy (products.c): row-major, or the sums
 *                                of several products for C of 16 bits
 *      event DONE                also behind what failed
 */
#include "plan/run/execute.h"

#include <inttypes.h>

#include "plan/plan.h"
#include "plan/run/overlap.h"
#include "plan/run/products.h"

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
    SPMM_TRY(spmmi_phase_note(&plan->phases, 0, SPMM_PHASE_START, x->stream));
    SPMM_TRY(spmmi_plan_convert_b(plan, x));
    return spmmi_plan_run_diagonal(plan, x);
}

static spmm_status_t run_schedule(spmm_plan_t *plan, const spmm_operands_t *x)
{
    const spmm_schedule_t *schedule = plan->choice.schedule;
    spmm_status_t          status;

    plan->exchange.in_line = schedule->in_line && spmmi_plan_runs_in_line(plan, x);
    SPMM_TRY(plan->exchange.in_line
                 ? spmmi_phase_note(&plan->phases, 0, SPMM_PHASE_START, x->stream)
                 : spmmi_phase_record(&plan->phases, 0, SPMM_PHASE_START, x->stream));
    status                 = schedule->run(plan, x);
    plan->exchange.in_line = false; /* blocks may run on their own */
    return status;
}

/* Into a C that the blocks write. */
static spmm_status_t run(spmm_plan_t *plan, const spmm_operands_t *x)
{
    SPMM_TRY(plan->exchange.alone ? run_alone(plan, x) : run_schedule(plan, x));
    return spmmi_plan_store_c(plan, x);
}

/* What may be captured. */
static spmm_status_t enqueue(spmm_plan_t *plan, const spmm_operands_t *x)
{
    spmm_operands_t y;

    if (!spmmi_plan_needs_sum(plan, x)) {
        return run(plan, x);
    }
    y = spmmi_plan_into_sum(plan, x);
    SPMM_TRY(run(plan, &y));
    return spmmi_plan_store_sum(plan, x);
}

/* Also what a failed execute got to enqueue works on the buffers. */
static spmm_status_t finish(spmm_plan_t *plan, const spmm_operands_t *x, uint64_t stream,
                            spmm_status_t status)
{
    spmm_plan_timing_t *timing = &plan->timing;
    const spmm_status_t ended  = spmmi_phase_record(&plan->phases, 0, SPMM_PHASE_DONE, x->stream);

    status              = spmmi_first_failure(status, ended);
    timing->in_use      = timing->in_use || ended == SPMM_OK;
    timing->has_run     = status == SPMM_OK;
    timing->last_stream = timing->has_run ? stream : 0;
    timing->last_n      = x->n;
    return status;
}

static spmm_status_t execute(spmm_plan_t *plan, const spmm_operands_t *x)
{
    uint64_t      stream = 0;
    spmm_status_t status;

    SPMM_TRY(follow_last(plan, x->stream, &stream));
    status = plan->captures != NULL ? spmmi_plan_run_captured(plan, x, enqueue) : enqueue(plan, x);
    return finish(plan, x, stream, status);
}

spmm_status_t spmmi_plan_execute(spmm_plan_t *plan, const spmm_operands_t *x)
{
    const uint32_t      begun  = plan->exchange.begun;
    const spmm_status_t status = execute(plan, x);

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
