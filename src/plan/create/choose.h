/* SPDX-License-Identifier: Apache-2.0 */
/** @file choose.h  From predictions and measured times to the schedule of a plan. */
#ifndef SPMM_PLAN_CHOOSE_H
#define SPMM_PLAN_CHOOSE_H

#include "exchange/transport.h"
#include "plan/create/exchange.h"
#include "plan/run/schedule.h"

enum { SPMM_CUTS = 3 }; /**< numbers of chunks to choose from: 1, 2 and 4 */

/** The part of a plan that says what was compared, and which schedule runs.  Owned by the plan; the
 *  candidates stay for explain. */
typedef struct {
    bool                   travels; /**< some rank has a peer: the schedule matters */
    const spmm_schedule_t *schedule;
    int                    chunks; /**< that B is cut into at most; while numbers are tried: the one
                                        on trial */
    spmm_candidate_t       cuts[SPMM_CUTS]; /**< number k: 2^k chunks */
    spmm_candidate_t      *transports;      /**< [spmmi_n_transports], owned */
    spmm_node_exchange_choice_t node;
} spmm_plan_choice_t;

/** Choose the schedule of a plan, make its formats and buffers, and choose the number of chunks.
 *  Collective, agreed. */
spmm_status_t spmmi_plan_choose_schedule(spmm_plan_t *plan, const spmm_plan_options_t *options);

/** Predict times of schedule overlap in 1, 2 and 4 chunks, from the models of engines and
 *  transport.  Collective, agreed. */
spmm_status_t spmmi_plan_predict(spmm_plan_t *plan, const char *engine);
/** @p name: of one that there is. */
const spmm_schedule_t *spmmi_schedule_find(const char *name);

/** The candidate that was chosen. */
static inline const spmm_candidate_t *spmmi_chosen_cut(const spmm_plan_choice_t *choice)
{
    return &choice->cuts[choice->chunks / 2]; /* 1, 2, 4 */
}

#endif /* SPMM_PLAN_CHOOSE_H */
