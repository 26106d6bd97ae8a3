/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/schedule.h"

#include <string.h>

#include "plan/plan.h"

#define SPMM_SCHEDULE(x) extern const spmm_schedule_t spmm_schedule_##x;
#include "plan/schedule_list.h"
#undef SPMM_SCHEDULE

const spmm_schedule_t *const spmm_schedules[] = {
#define SPMM_SCHEDULE(x) &spmm_schedule_##x,
#include "plan/schedule_list.h"
#undef SPMM_SCHEDULE
};
const int spmm_n_schedules = (int)(sizeof spmm_schedules / sizeof spmm_schedules[0]);
_Static_assert(sizeof spmm_schedules / sizeof spmm_schedules[0] <= SPMM_MOST_SCHEDULES,
               "raise SPMM_MOST_SCHEDULES");

const spmm_schedule_t *spmm_schedule_find(const char *name)
{
    for (int s = 0; s < spmm_n_schedules; s++) {
        if (strcmp(spmm_schedules[s]->name, name) == 0) {
            return spmm_schedules[s];
        }
    }
    return NULL;
}

bool spmm_plan_runs_alone(const spmm_plan_t *plan)
{
    return plan->alone && plan->schedule->forms != SPMM_FORMS_GATHERED;
}

static spmm_status_t run_alone(spmm_plan_t *plan, const spmm_operands_t *x)
{
    SPMM_TRY(spmm_plan_turn_b(plan, x));
    return spmm_plan_run_local(plan, x);
}

static spmm_status_t enqueue(spmm_plan_t *plan, const spmm_operands_t *x)
{
    if (spmm_plan_runs_alone(plan)) { /* on one stream */
        SPMM_TRY(spmm_plan_note(plan, 0, SPMM_MARK_START, x->stream));
        SPMM_TRY(run_alone(plan, x));
    } else {
        SPMM_TRY(plan->schedule->in_order ? spmm_plan_note(plan, 0, SPMM_MARK_START, x->stream)
                                          : spmm_plan_mark(plan, 0, SPMM_MARK_START, x->stream));
        SPMM_TRY(plan->schedule->run(plan->schedule, plan, x));
    }
    return spmm_plan_store_c(plan, x);
}

/* The buffers belong to the last execute until it is done, on whatever stream that was; on this one
 * its end is in order without a wait, which costs the stream about a microsecond. */
static spmm_status_t follow_last(spmm_plan_t *plan, spmm_stream_t stream, uint64_t *number)
{
    if (!plan->device->ops->stream_id(plan->device, stream, number)) {
        *number = 0;
    }
    if (plan->in_use && (*number == 0 || *number != plan->last_stream)) {
        return spmm_plan_wait(plan, 0, SPMM_MARK_DONE, stream);
    }
    return SPMM_OK;
}

spmm_status_t spmm_plan_run(spmm_plan_t *plan, const spmm_operands_t *x)
{
    uint64_t      stream = 0;
    spmm_status_t status, ended;

    SPMM_TRY(follow_last(plan, x->stream, &stream));
    /* Also what a failed execute got to enqueue works on the buffers. */
    status        = plan->graphs != NULL ? spmm_plan_run_graph(plan, x, enqueue) : enqueue(plan, x);
    ended         = spmm_plan_mark(plan, 0, SPMM_MARK_DONE, x->stream);
    plan->in_use  = plan->in_use || ended == SPMM_OK;
    status        = status != SPMM_OK ? status : ended;
    plan->has_run = status == SPMM_OK;

    plan->last_stream = plan->has_run ? stream : 0;
    plan->last_n      = x->n;
    return status;
}
