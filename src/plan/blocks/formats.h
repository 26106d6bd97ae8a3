/* SPDX-License-Identifier: Apache-2.0 */
/** @file formats.h  The formats of a plan and the buffers that go with them. */
#ifndef SPMM_PLAN_FORMATS_H
#define SPMM_PLAN_FORMATS_H

#include "plan/blocks/block.h"

/** Make those that the schedule needs.  Collective, agreed. */
spmm_status_t spmmi_plan_make_formats(spmm_plan_t *plan, const spmm_plan_options_t *o);
/** The block with the rows of all entries, or the local one. */
const spmm_block_t *spmmi_plan_main_block(const spmm_plan_t *plan);

#endif /* SPMM_PLAN_FORMATS_H */
