/* SPDX-License-Identifier: Apache-2.0 */
/** @file formats.h  Makes the formats of a plan, and the buffers that their products need. */
#ifndef SPMM_PLAN_FORMATS_H
#define SPMM_PLAN_FORMATS_H

#include <stdbool.h>

#include "plan/blocks/block.h"

/** Make the formats that the schedule needs, and their buffers.  Collective, agreed. */
spmm_status_t spmmi_plan_make_formats(spmm_plan_t *plan, const spmm_plan_options_t *o);
/** The merged block where the schedule has one, else the diagonal block. */
const spmm_block_t *spmmi_plan_main_block(const spmm_plan_t *plan);

/** May formats of @p block be made to wait themselves for ghost rows (run/execute.h)?  Local: ranks
 *  may differ. */
bool spmmi_plan_may_wait(const spmm_plan_t *plan, const spmm_block_t *block);
/** Decide how products meet their ghost rows, once formats and rows are there: set
 *  plan->exchange.in_line and .waits.  Local; bits are the same. */
void spmmi_plan_decide(spmm_plan_t *plan);

#endif /* SPMM_PLAN_FORMATS_H */
