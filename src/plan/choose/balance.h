/* SPDX-License-Identifier: Apache-2.0 */
/** @file balance.h  What ranks get equal shares of: time or entries. */
#ifndef SPMM_PLAN_BALANCE_H
#define SPMM_PLAN_BALANCE_H

#include "plan/create.h"

/** Where partitioners balance time by a model, the rows of this rank weighed by it.  Collective,
 *  agreed; plan->choice.balance says what was taken and why.
 *  @param[out] weight  [plan->A->n_rows], for spmm_partition_options_t; the caller's to free; NULL:
 *                      rows weigh as much as they have entries */
spmm_status_t spmmi_plan_weigh(spmm_plan_t *plan, const spmm_plan_options_t *options,
                               int64_t **weight);

/** Are rows to be parted once more by the times that ranks take? */
bool spmmi_balance_is_measured(const spmm_plan_options_t *options);
/** Does the plan part rows as it likes, by the partition that @p name asks for? */
bool spmmi_partition_is_own(const char *name);

#endif /* SPMM_PLAN_BALANCE_H */
