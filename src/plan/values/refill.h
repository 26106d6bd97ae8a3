/* SPDX-License-Identifier: Apache-2.0 */
/** @file refill.h  New values of A from the host. */
#ifndef SPMM_PLAN_REFILL_H
#define SPMM_PLAN_REFILL_H

#include "plan/block/block.h"

/** refill of spmm_matrix_user_t: new values of A into all formats.  Collective. */
spmm_status_t spmmi_plan_refill(void *plan);
/** New values into the format of a block.  Local.
 *  @param[in] arrived  host, all values of this rank in the order of arrival */
spmm_status_t spmmi_plan_refill_format(const spmm_plan_t *plan, const spmm_block_t *block,
                                       const void *arrived);

#endif /* SPMM_PLAN_REFILL_H */
