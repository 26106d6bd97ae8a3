/* SPDX-License-Identifier: Apache-2.0 */
/** @file settle.h  The end of choosing by use. */
#ifndef SPMM_PLAN_SETTLE_H
#define SPMM_PLAN_SETTLE_H

#include "spmm_dist/plan.h"

/** Read what times of formats are there, and free what has lost.  Local; not in an execute: it may
 *  wait for the device. */
void spmmi_plan_end_tries(spmm_plan_t *plan);

#endif /* SPMM_PLAN_SETTLE_H */
