/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/plan.h"

spmm_event_t *spmm_plan_event(const spmm_plan_t *plan, int index, spmm_mark_t which)
{
    return index == 0 ? plan->marks[which] : plan->later[index - 1][which];
}

spmm_status_t spmm_plan_mark(spmm_plan_t *plan, int index, spmm_mark_t which, spmm_stream_t stream)
{
    return plan->device->ops->event_record(plan->device, spmm_plan_event(plan, index, which),
                                           stream);
}

spmm_status_t spmm_plan_note(spmm_plan_t *plan, int index, spmm_mark_t which, spmm_stream_t stream)
{
    return plan->profile ? spmm_plan_mark(plan, index, which, stream) : SPMM_OK;
}

spmm_status_t spmm_plan_wait(spmm_plan_t *plan, int index, spmm_mark_t which, spmm_stream_t stream)
{
    return plan->device->ops->stream_wait(plan->device, stream,
                                          spmm_plan_event(plan, index, which));
}
