/* SPDX-License-Identifier: Apache-2.0 */
/** @file split.h  From this rank's rows of A to its diagonal and its off-diagonal block. */
#ifndef SPMM_PLAN_SPLIT_H
#define SPMM_PLAN_SPLIT_H

#include "plan/blocks/block.h"
#include "spmm_dist/plan.h"

/** Fill csr and source of both blocks, plan->blocks.need and the halo plan.  Collective, agreed. */
spmm_status_t spmmi_plan_make_blocks(spmm_plan_t *plan);

/** block->csr and ->source = entries of both blocks.  Columns of the off-diagonal block follow
 *  those of the diagonal block, in the order of the ghost rows.  Local. */
spmm_status_t spmmi_plan_merge_blocks(const spmm_plan_t *plan, spmm_block_t *block);

/** Make plan->flipped for what follows, where the plan flips.  Collective, agreed. */
spmm_status_t spmmi_plan_flip(spmm_plan_t *plan);
void          spmmi_plan_unflip(spmm_plan_t *plan);

#endif /* SPMM_PLAN_SPLIT_H */
