/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/marks.h"

#include "plan/plan.h"
#include "plan/range.h"

static bool is_tie(int mark)
{
    return mark == SPMM_MARK_START || mark == SPMM_MARK_EXCHANGED || mark == SPMM_MARK_HALO_TO ||
           mark == SPMM_MARK_DONE;
}

spmm_status_t spmmi_plan_make_marks(spmm_plan_t *plan, int slices)
{
    const spmm_device_t *device = plan->device;

    for (int c = 0; c < slices; c++) {
        for (int m = 0; m < SPMM_MARKS; m++) {
            spmm_marks_t *marks = &plan->timing.marks[c];

            if (is_tie(m) && marks->tie[m] == NULL) {
                SPMM_TRY(device->ops->event_create(device, false, &marks->tie[m]));
            }
            if (plan->profile && marks->time[m] == NULL) {
                SPMM_TRY(device->ops->event_create(device, true, &marks->time[m]));
            }
        }
    }
    return SPMM_OK;
}

void spmmi_plan_free_marks(spmm_plan_t *plan)
{
    const spmm_device_t *device = plan->device;

    for (int c = 0; c < SPMM_MOST_CHUNKS; c++) {
        for (int m = 0; m < SPMM_MARKS; m++) {
            device->ops->event_destroy(device, plan->timing.marks[c].tie[m]);
            device->ops->event_destroy(device, plan->timing.marks[c].time[m]);
        }
    }
}

spmm_event_t *spmmi_plan_event(const spmm_plan_t *plan, int index, spmm_mark_t which)
{
    return plan->timing.marks[index].time[which];
}

/* What the host enqueues between two marks, as profilers show it; NULL: nothing of its own. */
static const char *const k_ranges[SPMM_MARKS] = {[SPMM_MARK_PACK]        = "pack",
                                                 [SPMM_MARK_PACKED]      = "begin exchange",
                                                 [SPMM_MARK_ENDING]      = "end exchange",
                                                 [SPMM_MARK_LOCAL_FROM]  = "local block",
                                                 [SPMM_MARK_HALO_FROM]   = "halo block",
                                                 [SPMM_MARK_UNPACK_FROM] = "unpack"};

spmm_status_t spmmi_plan_note(spmm_plan_t *plan, int index, spmm_mark_t which, spmm_stream_t stream)
{
    spmmi_range(&plan->timing.range, k_ranges[which]);
    return plan->profile ? plan->device->ops->event_record(
                               plan->device, spmmi_plan_event(plan, index, which), stream)
                         : SPMM_OK;
}

spmm_status_t spmmi_plan_mark(spmm_plan_t *plan, int index, spmm_mark_t which, spmm_stream_t stream)
{
    SPMM_TRY(spmmi_plan_note(plan, index, which, stream));
    return plan->device->ops->event_record(plan->device, plan->timing.marks[index].tie[which],
                                           stream);
}

spmm_status_t spmmi_plan_wait(spmm_plan_t *plan, int index, spmm_mark_t which, spmm_stream_t stream)
{
    return plan->device->ops->stream_wait(plan->device, stream,
                                          plan->timing.marks[index].tie[which]);
}

spmm_status_t spmmi_plan_wait_idle(spmm_plan_t *plan)
{
    const spmm_device_ops_t *ops = plan->device->ops;
    spmm_status_t            waits, synced;

    if (!plan->timing.in_use) {
        return SPMM_OK;
    }
    waits  = spmmi_plan_wait(plan, 0, SPMM_MARK_DONE, plan->exchange.comm_stream);
    synced = ops->stream_sync(plan->device, plan->exchange.comm_stream);
    return spmmi_first_failure(waits, synced);
}
