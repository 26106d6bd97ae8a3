/* SPDX-License-Identifier: Apache-2.0 */
/** @file explain.h  What spmm_plan_explain() prints. */
#ifndef SPMM_PLAN_EXPLAIN_H
#define SPMM_PLAN_EXPLAIN_H

#include <stdio.h>

#include "spmm_dist/plan.h"

/** Local. */
spmm_status_t spmmi_plan_print(const spmm_plan_t *plan, FILE *out);

#endif /* SPMM_PLAN_EXPLAIN_H */
