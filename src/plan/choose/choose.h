/* SPDX-License-Identifier: Apache-2.0 */
/** @file choose.h  From predictions and measured times to the schedule of a plan. */
#ifndef SPMM_PLAN_CHOOSE_H
#define SPMM_PLAN_CHOOSE_H

#include "exchange/transport.h"
#include "plan/exchange.h"
#include "plan/schedule/schedule.h"

/** What ranks have equal shares of. */
typedef struct {
    bool        by_time;
    const char *engine; /**< by whose model, on this rank; NULL: it has no rows; static */
    const char *why;    /**< entries and not time; static; NULL: time, or one rank */
    const struct spmm_plan_taken *taken; /**< borrowed while the plan is made: rows are weighed by
                                              what ranks took with another partition; NULL */
    double      uneven, before; /**< largest over mean time of the ranks, now and with that other
                                     partition; 0: not measured, there was none */
    const char *enough;         /**< there is none; the end of a sentence, static */
} spmm_plan_balance_t;

/** The part of a plan that says what was compared, and which schedule runs.  Owned by the plan; the
 *  candidates stay for explain. */
typedef struct {
    bool                   travels;    /**< some rank has a peer: the schedule matters */
    const spmm_schedule_t *schedule;   /**< while schedules are tried: the one on trial */
    spmm_candidate_t      *schedules;  /**< [spmmi_n_schedules], owned */
    spmm_candidate_t      *transports; /**< [spmmi_n_transports], owned */
    spmm_levels_choice_t   levels;
    spmm_plan_balance_t    balance;
    double one_rank_s; /**< predicted of all rows on one rank; NAN: nobody asked a model */
} spmm_plan_choice_t;

/** Choose the schedule of a plan and make its formats and buffers.  Collective, agreed. */
spmm_status_t spmmi_plan_choose_schedule(spmm_plan_t *plan, const spmm_plan_options_t *options);

#endif /* SPMM_PLAN_CHOOSE_H */
