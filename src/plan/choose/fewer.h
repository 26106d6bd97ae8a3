/* SPDX-License-Identifier: Apache-2.0 */
/** @file fewer.h  Would one rank alone be faster than all? */
#ifndef SPMM_PLAN_FEWER_H
#define SPMM_PLAN_FEWER_H

#include "engine/pattern.h"
#include "plan/create.h"

/** Predict a product of all rows on one rank, from the facts of what the ranks have: into
 *  plan->choice.one_rank_s, NAN for op T, whose blocks lie the other way.  Collective, agreed.
 *  @param[in] own  facts of all entries of this rank */
spmm_status_t spmmi_plan_predict_one(spmm_plan_t *plan, const char *engine,
                                     const spmm_pattern_t *own);

/** Is one rank predicted to be faster than the schedule that was chosen? */
bool spmmi_plan_one_is_faster(const spmm_plan_t *plan);
/** So clearly that all rows should move there? */
bool spmmi_plan_one_pays(const spmm_plan_t *plan);

#endif /* SPMM_PLAN_FEWER_H */
