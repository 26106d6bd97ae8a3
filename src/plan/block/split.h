/* SPDX-License-Identifier: Apache-2.0 */
/** @file split.h  From this rank's rows of A to its local and its halo block. */
#ifndef SPMM_PLAN_SPLIT_H
#define SPMM_PLAN_SPLIT_H

#include "spmm_dist/plan.h"

/** Choose the cover; fill csr and source of both blocks, plan->blocks.need and the halo plan, and
 *  plan->cover.A.  Collective, agreed. */
spmm_status_t spmmi_plan_make_blocks(spmm_plan_t *plan, const spmm_plan_options_t *options);

#endif /* SPMM_PLAN_SPLIT_H */
