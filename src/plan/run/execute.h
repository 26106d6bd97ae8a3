/* SPDX-License-Identifier: Apache-2.0 */
/** @file execute.h  The way of one product. */
#ifndef SPMM_PLAN_EXECUTE_H
#define SPMM_PLAN_EXECUTE_H

#include <stdbool.h>

#include "operands.h"
#include "spmm_dist/plan.h"

/** Enqueue one product by the plan's schedule, captured where the plan captures.
 *  @param[in] x  checked */
spmm_status_t spmmi_plan_execute(spmm_plan_t *plan, const spmm_operands_t *x);
/** An execute is refused before it begins.  Local. */
void spmmi_plan_skip(spmm_plan_t *plan);
/** SPMM_ERR_ARGUMENT where this rank has skipped executes and the transport would take the rows of
 *  one for those of another.  Local. */
spmm_status_t spmmi_plan_check_sequence(const spmm_plan_t *plan);
/** Find out whether all ranks have skipped the same number of executes.  Collective, agreed. */
spmm_status_t spmmi_plan_resync(spmm_plan_t *plan);

/** Wait on the host for the last execute, and for values taken; its errors are returned. */
spmm_status_t spmmi_plan_wait_idle(spmm_plan_t *plan);

#endif /* SPMM_PLAN_EXECUTE_H */
