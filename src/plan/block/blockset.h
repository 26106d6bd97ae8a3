/* SPDX-License-Identifier: Apache-2.0 */
/** @file blockset.h  Formats and the buffers that go with them, for one kind of schedule. */
#ifndef SPMM_PLAN_BLOCKSET_H
#define SPMM_PLAN_BLOCKSET_H

#include "plan/block/block.h"

/** Make formats and buffers unless they are there.  Collective, agreed; when it fails the caller
 *  drops what there is. */
spmm_status_t spmmi_plan_make_blockset(spmm_plan_t *plan, spmm_blockset_t blockset,
                                       const spmm_plan_options_t *o);
/** Free all formats and buffers but those that schedules with @p keep need.  Collective. */
void spmmi_plan_drop_blocksets(spmm_plan_t *plan, const bool keep[SPMM_BLOCKSETS]);
/** The block with the rows of all entries, or the local one. */
const spmm_block_t *spmmi_plan_main_block(const spmm_plan_t *plan);

#endif /* SPMM_PLAN_BLOCKSET_H */
