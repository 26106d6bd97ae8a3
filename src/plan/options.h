/* SPDX-License-Identifier: Apache-2.0 */
/** @file options.h  What a plan was asked for. */
#ifndef SPMM_PLAN_OPTIONS_H
#define SPMM_PLAN_OPTIONS_H

#include "base/env.h"
#include "spmm_dist/plan.h"

/** Resolve what the caller left open into the plan's own fields, and refuse what cannot be, or what
 *  ranks ask for differently.  Collective, agreed. */
spmm_status_t spmmi_plan_take_options(spmm_plan_t *plan, const spmm_plan_options_t *o);
/** Ranks that plan different products would wait for each other for ever: find out at once.
 *  Collective over the ranks of @p env, agreed. */
spmm_status_t spmmi_plan_compare(spmm_env_t *env, const spmm_plan_t *plan, int64_t n,
                                 const spmm_plan_options_t *o);

#endif /* SPMM_PLAN_OPTIONS_H */
