/* SPDX-License-Identifier: Apache-2.0 */
/** @file exchange.h
 *  The exchange of a plan, flat or node-aware: chosen, made, asked; the buffers of its products.
 */
#ifndef SPMM_PLAN_EXCHANGE_H
#define SPMM_PLAN_EXCHANGE_H

#include "exchange/node/node_exchange.h"
#include "spmm_dist/plan.h"

/** What a flat and what a node-aware exchange was predicted to take. */
typedef struct {
    bool   chosen;         /**< the node-aware exchange is taken */
    double flat_s, node_s; /**< of the slowest rank; NaN: not predicted */
    char   why[SPMM_WHY];  /**< no node-aware exchange is possible: the end of a sentence that
                                starts with "exchange node"; "": it is possible */
} spmm_node_exchange_choice_t;

/** Choose and make all that moves ghost rows but their memory, lists, events and the comm stream
 *  included.  Fills exchange.alone, too.  Collective, agreed. */
spmm_status_t spmmi_plan_make_exchange(spmm_plan_t *plan, const spmm_plan_options_t *options);
/** NULL-safe inside; before the rows of exchanges are freed.  Collective. */
void spmmi_plan_free_exchange(spmm_plan_t *plan);
/** Predicted seconds of one exchange of rows of @p row_bytes, this rank's. */
double spmmi_plan_exchange_s(const spmm_plan_t *plan, size_t row_bytes);
/** Free all device memory of a plan but its formats, and the comm stream.  Local. */
void spmmi_plan_free_buffers(spmm_plan_t *plan);
/** Allocate rows to exchange, and copies of B and C; @p merged: for a merged block.  Local. */
spmm_status_t spmmi_plan_make_rows(spmm_plan_t *plan, bool merged);
/** Allocate what the blocks write in place of a C of 16 bits, if they do, once their formats are
 *  there.  Local. */
spmm_status_t spmmi_plan_make_sum(spmm_plan_t *plan, bool merged);

#endif /* SPMM_PLAN_EXCHANGE_H */
