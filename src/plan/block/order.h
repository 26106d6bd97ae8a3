/* SPDX-License-Identifier: Apache-2.0 */
/** @file order.h  The order in which rows are multiplied; row maps lead back to the rows of C. */
#ifndef SPMM_PLAN_ORDER_H
#define SPMM_PLAN_ORDER_H

#include "plan/block/block.h"

/** Order the rows of a block as tuning says, before its format is built, or where times shall
 *  decide keep the other order as rival.  Local.
 *  @param[in] c_type  of the product */
spmm_status_t spmmi_plan_reorder(spmm_plan_t *plan, spmm_block_t *block, spmm_type_t c_type,
                                 const spmm_plan_options_t *o);

#endif /* SPMM_PLAN_ORDER_H */
