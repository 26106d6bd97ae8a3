/* SPDX-License-Identifier: Apache-2.0 */
/** @file exchange.h  Transport and levels of a plan: chosen, made, asked. */
#ifndef SPMM_PLAN_EXCHANGE_H
#define SPMM_PLAN_EXCHANGE_H

#include "exchange/node/node_exchange.h"
#include "spmm_dist/plan.h"

/** What an exchange in one level, and in two, was predicted to take. */
typedef struct {
    bool   chosen;         /**< a node-aware exchange are taken */
    double flat_s, node_s; /**< of the slowest rank; NaN: not predicted */
    char   why[SPMM_WHY];  /**< there are none: the end of a sentence that starts with "exchange
                               node";
                               "": no reason */
} spmm_node_exchange_choice_t;

/** Choose, and make all that moves ghost rows but their memory; says whether this rank is alone.
 *  Collective, agreed. */
spmm_status_t spmmi_plan_make_exchange(spmm_plan_t *plan, const spmm_plan_options_t *options);
/** NULL-safe inside; before the rows of exchanges are freed.  Collective. */
void spmmi_plan_free_exchange(spmm_plan_t *plan);
/** Predicted seconds of one exchange of rows of @p row_bytes, this rank's. */
double spmmi_plan_exchange_s(const spmm_plan_t *plan, size_t row_bytes);

#endif /* SPMM_PLAN_EXCHANGE_H */
