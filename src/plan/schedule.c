/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/schedule.h"

#include <string.h>

#include "plan/plan.h"

#define SPMM_SCHEDULE(x) extern const spmm_schedule_t spmmi_schedule_##x;
#include "plan/schedule_list.h"
#undef SPMM_SCHEDULE

const spmm_schedule_t *const spmmi_schedules[] = {
#define SPMM_SCHEDULE(x) &spmmi_schedule_##x,
#include "plan/schedule_list.h"
#undef SPMM_SCHEDULE
};
const int spmmi_n_schedules = (int)(sizeof spmmi_schedules / sizeof spmmi_schedules[0]);
_Static_assert(sizeof spmmi_schedules / sizeof spmmi_schedules[0] <= SPMM_MOST_SCHEDULES,
               "raise SPMM_MOST_SCHEDULES");

const spmm_schedule_t *spmmi_schedule_find(const char *name)
{
    for (int s = 0; s < spmmi_n_schedules; s++) {
        if (strcmp(spmmi_schedules[s]->name, name) == 0) {
            return spmmi_schedules[s];
        }
    }
    return NULL;
}

bool spmmi_plan_runs_alone(const spmm_plan_t *plan)
{
    return plan->alone && plan->schedule->blockset != SPMM_BLOCKSET_GATHERED;
}

static spmm_status_t run_alone(spmm_plan_t *plan, const spmm_operands_t *x)
{
    SPMM_TRY(spmmi_plan_turn_b(plan, x));
    return spmmi_plan_run_local(plan, x);
}

static spmm_status_t enqueue(spmm_plan_t *plan, const spmm_operands_t *x)
{
    if (spmmi_plan_runs_alone(plan)) { /* on one stream */
        SPMM_TRY(spmmi_plan_note(plan, 0, SPMM_MARK_START, x->stream));
        SPMM_TRY(run_alone(plan, x));
    } else {
        SPMM_TRY(plan->schedule->in_order ? spmmi_plan_note(plan, 0, SPMM_MARK_START, x->stream)
                                          : spmmi_plan_mark(plan, 0, SPMM_MARK_START, x->stream));
        SPMM_TRY(plan->schedule->run(plan->schedule, plan, x));
    }
    return spmmi_plan_store_c(plan, x);
}

/* The buffers belong to the last execute until it is done, on whatever stream that was; on this one
 * its end is in order without a wait, which costs the stream about a microsecond. */
static spmm_status_t follow_last(spmm_plan_t *plan, spmm_stream_t stream, uint64_t *number)
{
    if (!plan->device->ops->stream_id(plan->device, stream, number)) {
        *number = 0;
    }
    if (plan->in_use && (*number == 0 || *number != plan->last_stream)) {
        return spmmi_plan_wait(plan, 0, SPMM_MARK_DONE, stream);
    }
    return SPMM_OK;
}

spmm_status_t spmmi_plan_run(spmm_plan_t *plan, const spmm_operands_t *x)
{
    uint64_t      stream = 0;
    spmm_status_t status, ended;

    SPMM_TRY(follow_last(plan, x->stream, &stream));
    /* Also what a failed execute got to enqueue works on the buffers. */
    status = plan->graphs != NULL ? spmmi_plan_run_captured(plan, x, enqueue) : enqueue(plan, x);
    ended  = spmmi_plan_mark(plan, 0, SPMM_MARK_DONE, x->stream);
    plan->in_use  = plan->in_use || ended == SPMM_OK;
    status        = status != SPMM_OK ? status : ended;
    plan->has_run = status == SPMM_OK;

    plan->last_stream = plan->has_run ? stream : 0;
    plan->last_n      = x->n;
    return status;
}
