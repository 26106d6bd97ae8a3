/* SPDX-License-Identifier: Apache-2.0 */
/** @file split.h  From this rank's rows of A to its local and its halo block. */
#ifndef SPMM_PLAN_SPLIT_H
#define SPMM_PLAN_SPLIT_H

#include "spmm_dist/plan.h"

/** Fill csr and source of both blocks, plan->blocks.need and the halo plan.  Collective, agreed. */
spmm_status_t spmmi_plan_make_blocks(spmm_plan_t *plan);

#endif /* SPMM_PLAN_SPLIT_H */
