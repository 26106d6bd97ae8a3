/* SPDX-License-Identifier: Apache-2.0 */
/** @file format.h  The format of one block: its engine, chosen and built. */
#ifndef SPMM_PLAN_FORMAT_H
#define SPMM_PLAN_FORMAT_H

#include "plan/block/block.h"

/** Choose an engine and build the format of a block whose rows have been ordered; its CSR stays.
 *  Local. */
spmm_status_t spmmi_plan_build_block(spmm_plan_t *plan, spmm_block_t *block, spmm_type_t c_type,
                                     const spmm_plan_options_t *o);

#endif /* SPMM_PLAN_FORMAT_H */
