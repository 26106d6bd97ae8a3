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
    SPMM_TRY(spmm_plan_mark(plan, 0, SPMM_MARK_START, x->stream));
    SPMM_TRY(spmm_plan_runs_alone(plan) ? run_alone(plan, x)
                                        : plan->schedule->run(plan->schedule, plan, x));
    return spmm_plan_store_c(plan, x);
}

spmm_status_t spmm_plan_run(spmm_plan_t *plan, const spmm_operands_t *x)
{
    spmm_status_t status, ended;

    /* The buffers belong to the last execute until it is done, on whatever stream that was. */
    if (plan->in_use) {
        SPMM_TRY(spmm_plan_wait(plan, 0, SPMM_MARK_DONE, x->stream));
    }
    /* Also what a failed execute got to enqueue works on the buffers. */
    status        = plan->graphs != NULL ? spmm_plan_run_graph(plan, x, enqueue) : enqueue(plan, x);
    ended         = spmm_plan_mark(plan, 0, SPMM_MARK_DONE, x->stream);
    plan->in_use  = plan->in_use || ended == SPMM_OK;
    status        = status != SPMM_OK ? status : ended;
    plan->has_run = status == SPMM_OK;
    plan->last_n  = x->n;
    return status;
}
