/* SPDX-License-Identifier: Apache-2.0 */
/** @file schedule_trial.h  Times of products in a number of chunks, measured. */
#ifndef SPMM_PLAN_TRIAL_H
#define SPMM_PLAN_TRIAL_H

#include "spmm_dist/plan.h"

/** Times executes of the plan with scratch operands. */
typedef struct spmm_schedule_trial spmm_schedule_trial_t;

/** Collective, agreed.  @return SPMM_ERR_MEMORY: no room for the operands on some rank */
spmm_status_t spmmi_schedule_trial_open(spmm_plan_t *plan, spmm_schedule_trial_t **trial);
/** NULL-safe; local. */
void spmmi_schedule_trial_close(spmm_schedule_trial_t *trial);
/** Seconds of one execute at the planned width: median of some batches of this
 *  rank, and of them the slowest rank's.  Collective, agreed. */
spmm_status_t spmmi_schedule_trial_measure(spmm_schedule_trial_t *trial, double *seconds);

#endif /* SPMM_PLAN_TRIAL_H */
