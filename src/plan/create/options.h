/* SPDX-License-Identifier: Apache-2.0 */
/** @file options.h  What a plan was asked for. */
#ifndef SPMM_PLAN_OPTIONS_H
#define SPMM_PLAN_OPTIONS_H

#include "spmm_dist/plan.h"

/** Resolve what the caller left open into the plan's own fields, and refuse what cannot be, or what
 *  ranks ask for differently.  Collective, agreed.
 *  @param[in] by  the call, as in spmmi_tuning_options_read() */
spmm_status_t spmmi_plan_take_options(spmm_plan_t *plan, const spmm_plan_options_t *o, unsigned by);

#endif /* SPMM_PLAN_OPTIONS_H */
