/* SPDX-License-Identifier: Apache-2.0 */
#include "device/phases.h"

#include "base/range.h"

static bool is_waited_for(int phase)
{
    return phase == SPMM_PHASE_START || phase == SPMM_PHASE_EXCHANGED ||
           phase == SPMM_PHASE_OFF_DIAGONAL_TO || phase == SPMM_PHASE_DONE;
}

spmm_status_t spmmi_phases_create(spmm_phases_t *phases, int chunks)
{
    const spmm_device_t *device = phases->device;

    for (int c = 0; c < chunks; c++) {
        for (int k = 0; k < SPMM_PHASES; k++) {
            spmm_phase_events_t *events = &phases->events[c];

            if (is_waited_for(k) && events->sync[k] == NULL) {
                SPMM_TRY(device->ops->event_create(device, false, &events->sync[k]));
            }
            if (phases->timed && events->time[k] == NULL) {
                SPMM_TRY(device->ops->event_create(device, true, &events->time[k]));
            }
        }
    }
    return SPMM_OK;
}

void spmmi_phases_free(spmm_phases_t *phases)
{
    const spmm_device_t *device = phases->device;

    for (int c = 0; c < SPMM_MOST_CHUNKS; c++) {
        for (int k = 0; k < SPMM_PHASES; k++) {
            device->ops->event_destroy(device, phases->events[c].sync[k]);
            device->ops->event_destroy(device, phases->events[c].time[k]);
        }
    }
}

spmm_event_t *spmmi_phase_event(const spmm_phases_t *phases, int chunk, spmm_phase_t which)
{
    return phases->events[chunk].time[which];
}

/* What the host enqueues between two events, as profilers show it; NULL: nothing of its own. */
static const char *const k_ranges[SPMM_PHASES] = {
    [SPMM_PHASE_PACK]              = "pack",
    [SPMM_PHASE_PACKED]            = "begin exchange",
    [SPMM_PHASE_ENDING]            = "end exchange",
    [SPMM_PHASE_DIAGONAL_FROM]     = "diagonal block",
    [SPMM_PHASE_OFF_DIAGONAL_FROM] = "off-diagonal block",
    [SPMM_PHASE_UNPACK_FROM]       = "unpack",
};

spmm_status_t spmmi_phase_note(spmm_phases_t *phases, int chunk, spmm_phase_t which,
                               spmm_stream_t stream)
{
    spmmi_range(&phases->range, k_ranges[which]);
    return phases->timed ? phases->device->ops->event_record(
                               phases->device, spmmi_phase_event(phases, chunk, which), stream)
                         : SPMM_OK;
}

spmm_status_t spmmi_phase_record(spmm_phases_t *phases, int chunk, spmm_phase_t which,
                                 spmm_stream_t stream)
{
    SPMM_TRY(spmmi_phase_note(phases, chunk, which, stream));
    return phases->device->ops->event_record(phases->device, phases->events[chunk].sync[which],
                                             stream);
}

spmm_status_t spmmi_phase_wait(const spmm_phases_t *phases, int chunk, spmm_phase_t which,
                               spmm_stream_t stream)
{
    return phases->device->ops->stream_wait(phases->device, stream,
                                            phases->events[chunk].sync[which]);
}
