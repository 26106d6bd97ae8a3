/* SPDX-License-Identifier: Apache-2.0 */
/** @file capture.h  Executes captured once and launched many times. */
#ifndef SPMM_PLAN_CAPTURE_H
#define SPMM_PLAN_CAPTURE_H

#include "operands.h"
#include "spmm_dist/plan.h"

typedef struct spmm_captures spmm_captures_t;

/** Enqueues one product on x->stream, all of it between its start and its end there. */
typedef spmm_status_t (*spmm_enqueue_t)(spmm_plan_t *plan, const spmm_operands_t *x);

/** Set plan->captures, or leave it NULL with the reason in plan->captures_why.  Local. */
spmm_status_t spmmi_plan_make_captures(spmm_plan_t *plan, const spmm_plan_options_t *options);
/** NULL-safe; the plan is idle. */
void spmmi_plan_free_captures(spmm_plan_t *plan);

/** Enqueue one product: by a graph from the second call with these arguments on. */
spmm_status_t spmmi_plan_run_captured(spmm_plan_t *plan, const spmm_operands_t *x,
                                      spmm_enqueue_t enqueue);

/** Graphs captured and launches of them since the plan was made. */
void spmmi_plan_count_captures(const spmm_plan_t *plan, int64_t *captured, int64_t *launched);

#endif /* SPMM_PLAN_CAPTURE_H */
