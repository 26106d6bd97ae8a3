/* SPDX-License-Identifier: Apache-2.0 */
/** @file stats.h  What spmm_plan_get_stats() and its like give. */
#ifndef SPMM_PLAN_STATS_H
#define SPMM_PLAN_STATS_H

#include "spmm_dist/plan.h"

/** What partition "block" would exchange, into plan->stats.  It takes 16 bytes an entry, so it
 *  comes before blocks are made.  Collective, agreed. */
spmm_status_t spmmi_plan_count_block(spmm_plan_t *plan);
/** All other volumes over all ranks, likewise. */
spmm_status_t spmmi_plan_count(spmm_plan_t *plan);
/** The choices as they stand, and the bytes held.  Local. */
void spmmi_plan_read_choices(const spmm_plan_t *plan, spmm_plan_stats_t *stats);
/** Copy plan->stats with the times of the last execute. */
spmm_status_t spmmi_plan_collect_stats(const spmm_plan_t *plan, spmm_plan_stats_t *stats);

/** As spmm_plan_get_timeline(), with room for all spans, and spmm_plan_get_traffic(). */
spmm_status_t spmmi_plan_trace(const spmm_plan_t *plan, spmm_span_t *spans, int *count);
void          spmmi_plan_trace_rows(const spmm_plan_t *plan, int64_t *rows);
/** As spmm_plan_get_halo().  Collective, agreed. */
spmm_status_t spmmi_plan_list_halo(const spmm_plan_t *plan, int64_t *rows);

#endif /* SPMM_PLAN_STATS_H */
