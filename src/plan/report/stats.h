/* SPDX-License-Identifier: Apache-2.0 */
/** @file stats.h  What spmm_plan_get_stats() gives. */
#ifndef SPMM_PLAN_STATS_H
#define SPMM_PLAN_STATS_H

#include "spmm_dist/plan.h"

/** Volumes over all ranks, into plan->stats.  Collective, agreed. */
spmm_status_t spmmi_plan_count(spmm_plan_t *plan);
/** The choices as they stand, and the bytes held.  Local. */
void spmmi_plan_read_choices(const spmm_plan_t *plan, spmm_plan_stats_t *stats);
/** Copy plan->stats with the times of the last execute. */
spmm_status_t spmmi_plan_collect_stats(const spmm_plan_t *plan, spmm_plan_stats_t *stats);

#endif /* SPMM_PLAN_STATS_H */
