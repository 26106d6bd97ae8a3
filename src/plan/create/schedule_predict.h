/* SPDX-License-Identifier: Apache-2.0 */
/** @file schedule_predict.h  Times of schedule overlap, predicted before any format is built. */
#ifndef SPMM_PLAN_PREDICT_H
#define SPMM_PLAN_PREDICT_H

#include "spmm_dist/plan.h"

/** Fill the predictions of the numbers of chunks.  Collective, agreed. */
spmm_status_t spmmi_plan_predict(spmm_plan_t *plan, const char *engine);

#endif /* SPMM_PLAN_PREDICT_H */
