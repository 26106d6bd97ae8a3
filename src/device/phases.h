/* SPDX-License-Identifier: Apache-2.0 */
/** @file phases.h  Events between the phases of a product: what streams wait for, and what
 *  profiling looks at. */
#ifndef SPMM_DEVICE_PHASES_H
#define SPMM_DEVICE_PHASES_H

#include <stdbool.h>

#include "device/device.h"

enum { SPMM_MOST_CHUNKS = 4 }; /**< exchanges of one execute */

/** Where phases of one product begin and end, in stream order.  If columns travel in chunks,
 *  each has events of its own from PACK to EXCHANGED, of OFF_DIAGONAL and of UNPACK. */
typedef enum {
    SPMM_PHASE_START,         /**< user stream: before anything */
    SPMM_PHASE_PACK,          /**< comm stream: before packing */
    SPMM_PHASE_PACKED,        /**< comm stream: before begin() of the transport */
    SPMM_PHASE_BEGUN,         /**< comm stream: after begin() */
    SPMM_PHASE_ENDING,        /**< comm stream: before end() */
    SPMM_PHASE_EXCHANGED,     /**< comm stream: after end() */
    SPMM_PHASE_DIAGONAL_FROM, /**< user stream: around the diagonal block */
    SPMM_PHASE_DIAGONAL_TO,
    SPMM_PHASE_OFF_DIAGONAL_FROM, /**< user stream: around the off-diagonal block */
    SPMM_PHASE_OFF_DIAGONAL_TO,
    SPMM_PHASE_UNPACK_FROM, /**< user stream, op T: around the sum of received rows */
    SPMM_PHASE_UNPACK_TO,
    SPMM_PHASE_DONE, /**< user stream: after everything */
    SPMM_PHASES
} spmm_phase_t;

/** The events of one chunk.  Those that streams wait for take no times: that costs the stream
 *  less. */
typedef struct {
    spmm_event_t *sync[SPMM_PHASES]; /**< START, EXCHANGED, OFF_DIAGONAL_TO, DONE */
    spmm_event_t *time[SPMM_PHASES]; /**< NULL unless they are timed */
} spmm_phase_events_t;

/** The events of a plan.  Zeroed but for device and timed, then spmmi_phases_create(). */
typedef struct {
    const spmm_device_t *device; /**< borrowed */
    bool                 timed;
    bool                 range; /**< a phase is open on the time line of a profiler */
    spmm_phase_events_t  events[SPMM_MOST_CHUNKS]; /**< of each chunk; NULL: none */
} spmm_phases_t;

/** Events for @p chunks chunks; those that are there stay.  Local. */
spmm_status_t spmmi_phases_create(spmm_phases_t *phases, int chunks);
void          spmmi_phases_free(spmm_phases_t *phases);
/** The time of an event of @p chunk; phases are timed. */
spmm_event_t *spmmi_phase_event(const spmm_phases_t *phases, int chunk, spmm_phase_t which);
/** Record an event that streams wait for. */
spmm_status_t spmmi_phase_record(spmm_phases_t *phases, int chunk, spmm_phase_t which,
                                 spmm_stream_t stream);
/** Record an event that only profiling looks at. */
spmm_status_t spmmi_phase_note(spmm_phases_t *phases, int chunk, spmm_phase_t which,
                               spmm_stream_t stream);
/** Work enqueued on @p stream from here on starts after the event. */
spmm_status_t spmmi_phase_wait(const spmm_phases_t *phases, int chunk, spmm_phase_t which,
                               spmm_stream_t stream);

#endif /* SPMM_DEVICE_PHASES_H */
