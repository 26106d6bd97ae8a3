/* SPDX-License-Identifier: Apache-2.0 */
/** @file marks.h  Marks of an execute on its streams: what waits, and what profiling looks at. */
#ifndef SPMM_PLAN_MARKS_H
#define SPMM_PLAN_MARKS_H

#include "device/device.h"
#include "plan/product/rows.h"

/** Marks of one execute, in stream order; timed when the plan profiles.  Where a schedule works on
 *  slices of columns, each has its own from PACK to EXCHANGED, of HALO and of UNPACK. */
typedef enum {
    SPMM_MARK_START,      /**< user stream: before anything */
    SPMM_MARK_PACK,       /**< comm stream: before packing */
    SPMM_MARK_PACKED,     /**< comm stream: before begin() of the transport */
    SPMM_MARK_BEGUN,      /**< comm stream: after begin() */
    SPMM_MARK_ENDING,     /**< comm stream: before end() */
    SPMM_MARK_EXCHANGED,  /**< comm stream: after end() */
    SPMM_MARK_LOCAL_FROM, /**< user stream: around the local block */
    SPMM_MARK_LOCAL_TO,
    SPMM_MARK_HALO_FROM, /**< user stream: around the halo block */
    SPMM_MARK_HALO_TO,
    SPMM_MARK_UNPACK_FROM, /**< user stream, op T: around the sum of received rows */
    SPMM_MARK_UNPACK_TO,
    SPMM_MARK_DONE, /**< user stream: after everything */
    SPMM_MARKS
} spmm_mark_t;

/** The events of one slice.  Those that streams wait for take no times: that costs the stream
 *  less. */
typedef struct {
    spmm_event_t *tie[SPMM_MARKS];  /**< START, EXCHANGED, HALO_TO, DONE */
    spmm_event_t *time[SPMM_MARKS]; /**< NULL unless the plan profiles */
} spmm_marks_t;

/** The part of a plan that says when its products start and end.  Owned by the plan, from
 *  spmmi_plan_make_buffers() on. */
typedef struct {
    spmm_marks_t marks[SPMM_MOST_CHUNKS]; /**< of each slice; NULL: none */
    uint64_t last_stream; /**< number of the stream that DONE was recorded on; 0: wait for DONE */
    bool     range;       /**< a phase is open on the time line of a profiler */
    bool     in_use;      /**< DONE has been recorded: streams may be at work on the buffers */
    bool     has_run;     /**< the last execute succeeded: all marks are of it */
    int64_t  last_n;      /**< columns of the last execute */
} spmm_plan_timing_t;

/** Events for @p slices slices.  Local. */
spmm_status_t spmmi_plan_make_marks(spmm_plan_t *plan, int slices);
void          spmmi_plan_free_marks(spmm_plan_t *plan);
/** The time of a mark of slice @p index, of a plan that profiles. */
spmm_event_t *spmmi_plan_event(const spmm_plan_t *plan, int index, spmm_mark_t which);
/** A mark that streams wait for. */
spmm_status_t spmmi_plan_mark(spmm_plan_t *plan, int index, spmm_mark_t which,
                              spmm_stream_t stream);
/** A mark that only profiling looks at. */
spmm_status_t spmmi_plan_note(spmm_plan_t *plan, int index, spmm_mark_t which,
                              spmm_stream_t stream);
/** Work enqueued on @p stream from here on starts after the mark. */
spmm_status_t spmmi_plan_wait(spmm_plan_t *plan, int index, spmm_mark_t which,
                              spmm_stream_t stream);

/** Wait on the host for the last execute, and for values taken; its errors are returned. */
spmm_status_t spmmi_plan_wait_idle(spmm_plan_t *plan);

#endif /* SPMM_PLAN_MARKS_H */
