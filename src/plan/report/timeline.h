/* SPDX-License-Identifier: Apache-2.0 */
/** @file timeline.h  When the phases of an execute ran, and which ranks its rows came from. */
#ifndef SPMM_PLAN_TIMELINE_H
#define SPMM_PLAN_TIMELINE_H

#include "spmm_dist/plan.h"

/** As spmm_plan_get_timeline(), with room for all spans, and spmm_plan_get_traffic(). */
spmm_status_t spmmi_plan_trace(const spmm_plan_t *plan, spmm_span_t *spans, int *count);
void          spmmi_plan_trace_rows(const spmm_plan_t *plan, int64_t *rows);
/** As spmm_plan_get_halo().  Collective, agreed. */
spmm_status_t spmmi_plan_list_halo(const spmm_plan_t *plan, int64_t *rows);

#endif /* SPMM_PLAN_TIMELINE_H */
