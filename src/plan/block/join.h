/* SPDX-License-Identifier: Apache-2.0 */
/** @file join.h  One block from the local and the halo block. */
#ifndef SPMM_PLAN_JOIN_H
#define SPMM_PLAN_JOIN_H

#include "plan/block/block.h"

/** block->csr and ->source = entries of both blocks; columns of the halo block follow the own ones,
 *  in the order of the halo rows.  Local. */
spmm_status_t spmmi_plan_join(const spmm_plan_t *plan, spmm_block_t *block);

#endif /* SPMM_PLAN_JOIN_H */
