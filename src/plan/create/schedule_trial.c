/* SPDX-License-Identifier: Apache-2.0 */
/** @file schedule_trial.c
 *  Executes as a program would make them, on all ranks at once, with real exchanges of scratch B.
 *  Nothing hides the launches, since nothing will but graphs, which come later and gain most where
 *  there are many launches; ranks start together and then run free.
 */
#include "plan/create/schedule_trial.h"

#include "base/alloc.h"
#include "base/sort.h"
#include "engine/tune/trial.h"
#include "plan/plan.h"
#include "plan/run/execute.h"

enum {
    N_WARM    = 2, /* the first also loads and prepares */
    N_BATCHES = 5,
    MOST_RUNS = 20 /* of a batch */
};
static const double batch_seconds = 4e-3; /* aimed at */

struct spmm_schedule_trial {
    spmm_plan_t    *plan;     /**< borrowed */
    spmm_trial_t    operands; /**< B and C in the plan's layout, stream and events */
    spmm_operands_t x;
};

/* Ranks with little memory left may have room for fewer columns. */
static spmm_status_t share_columns(spmm_schedule_trial_t *t)
{
    spmm_env_t *env = t->plan->env;

    SPMM_TRY(spmmi_allreduce(env, &t->operands.n, 1, MPI_INT64_T, MPI_MIN));
    t->x = spmmi_trial_operands(&t->operands, t->plan->layout);
    return SPMM_OK;
}

static spmm_status_t open_here(spmm_plan_t *plan, spmm_schedule_trial_t *t)
{
    const spmm_csr_t     sizes   = {.n_cols = spmmi_plan_map(plan, SPMM_OPERAND_B)->n_local,
                                    .c_rows = spmmi_plan_map(plan, SPMM_OPERAND_C)->n_local};
    const spmm_problem_t problem = {.ab_type = plan->ab_type, .c_type = plan->c_type, .n = plan->n};

    if (t == NULL) {
        return spmmi_fail_memory(&plan->env->err, 1, sizeof *t, "a trial of chunks");
    }
    t->plan = plan;
    return spmmi_trial_open(plan->device, &sizes, &problem, 0.0, true, &t->operands);
}

spmm_status_t spmmi_schedule_trial_open(spmm_plan_t *plan, spmm_schedule_trial_t **trial)
{
    spmm_schedule_trial_t *t;
    spmm_status_t          status;

    (void)SPMM_NEW_ZERO(t, 1);
    status = spmmi_agree(plan->env, open_here(plan, t));
    if (status == SPMM_OK) {
        status = share_columns(t);
    }
    if (status != SPMM_OK) {
        spmmi_schedule_trial_close(t);
        return status;
    }
    *trial = t;
    return SPMM_OK;
}

void spmmi_schedule_trial_close(spmm_schedule_trial_t *trial)
{
    if (trial != NULL) {
        spmmi_trial_close(&trial->operands);
        spmmi_free(trial);
    }
}

/* Seconds of one of @p runs products in a row.  A rank that fails goes on, for its peers. */
static spmm_status_t time_runs(spmm_schedule_trial_t *t, int runs, double *seconds)
{
    const spmm_device_t *device = t->plan->device;
    const spmm_trial_t  *on     = &t->operands;
    spmm_status_t        status = SPMM_OK;

    SPMM_TRY(spmmi_barrier(t->plan->env));
    status = device->ops->event_record(device, on->from, on->stream);
    for (int k = 0; k < runs; k++) {
        status = spmmi_first_failure(status, spmmi_plan_execute(t->plan, &t->x));
    }
    SPMM_TRY(status);
    SPMM_TRY(device->ops->event_record(device, on->to, on->stream));
    SPMM_TRY(device->ops->event_elapsed(device, on->from, on->to, seconds));
    *seconds /= runs;
    return spmmi_transport_check(t->plan->shared);
}

static spmm_status_t slowest(const spmm_plan_t *plan, double *seconds)
{
    SPMM_TRY(spmmi_allreduce(plan->env, seconds, 1, MPI_DOUBLE, MPI_MAX));
    return SPMM_OK;
}

static spmm_status_t measure(spmm_schedule_trial_t *t, double *seconds)
{
    spmm_env_t *env = t->plan->env;
    double      took[N_BATCHES], once = 0.0;
    int         runs = MOST_RUNS;

    for (int warm = 0; warm < N_WARM; warm++) {
        SPMM_TRY(spmmi_agree(env, time_runs(t, 1, &once)));
    }
    SPMM_TRY(slowest(t->plan, &once));
    if (once * MOST_RUNS > batch_seconds) {
        runs = (int)(batch_seconds / once) + 1;
    }
    for (int b = 0; b < N_BATCHES; b++) {
        SPMM_TRY(spmmi_agree(env, time_runs(t, runs, &took[b])));
    }
    *seconds = spmmi_median(took, N_BATCHES) * (double)t->operands.planned / (double)t->x.n;
    return slowest(t->plan, seconds);
}

/* The times of the trial are not those of a user's execute, nor are its phase events. */
spmm_status_t spmmi_schedule_trial_measure(spmm_schedule_trial_t *trial, double *seconds)
{
    spmm_plan_t  *plan    = trial->plan;
    const bool    profile = plan->profile;
    spmm_status_t status, synced;

    plan->profile        = false;
    status               = measure(trial, seconds);
    plan->profile        = profile;
    plan->timing.has_run = false;
    /* What was enqueued before a failure may be at work on buffers that are freed next. */
    synced = plan->device->ops->stream_sync(plan->device, plan->exchange.comm_stream);
    return status != SPMM_OK ? status : spmmi_agree(plan->env, synced);
}
