/* SPDX-License-Identifier: Apache-2.0 */
/** @file taken.h  What the ranks of a plan take for their entries, to part the rows anew by it. */
#ifndef SPMM_PLAN_TAKEN_H
#define SPMM_PLAN_TAKEN_H

#include "plan/create.h"

/** Of a plan. */
typedef struct spmm_plan_taken {
    int32_t *part;    /**< [A->n_rows] rank of each row, owned */
    double  *seconds; /**< [size] of each rank's blocks, one after the other, without the exchange;
                           owned */
    double   largest, mean;
} spmm_plan_taken_t;

/** Seconds in which this rank multiplies its blocks by scratch operands.  Local.  A variable, for
 *  tests. */
extern spmm_status_t (*spmmi_own_seconds)(spmm_plan_t *plan, double *seconds);

/** Collective, agreed.  Free with spmmi_taken_free() when it succeeds.
 *  @return SPMM_ERR_MEMORY: among others where a rank has no room for the operands */
spmm_status_t spmmi_taken_measure(spmm_plan_t *plan, spmm_plan_taken_t *taken);
void          spmmi_taken_free(spmm_plan_taken_t *taken);

/** Why another partition is not worth planning the products anew; static; NULL: it is.
 *  @param[in] executes  products to come, as the plan option
 *  @param[in] plan_s    seconds that making the plan took; equal on all ranks */
const char *spmmi_taken_enough(const spmm_plan_taken_t *taken, int64_t executes, double plan_s);

/** Weigh the rows so that those of a rank weigh together what it has taken.  Collective, agreed.
 *  @param[in,out] weight  [plan->A->n_rows] as from spmmi_plan_weigh(); NULL: allocated here */
spmm_status_t spmmi_taken_weigh(const spmm_plan_t *plan, const spmm_plan_taken_t *taken,
                                int64_t **weight);

#endif /* SPMM_PLAN_TAKEN_H */
