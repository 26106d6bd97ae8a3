/* SPDX-License-Identifier: Apache-2.0 */
/** @file order.h  The order in which rows are multiplied; row maps lead back to the rows of C. */
#ifndef SPMM_PLAN_ORDER_H
#define SPMM_PLAN_ORDER_H

#include "engine/engine.h"
#include "plan/blocks/block.h"

/** Is the best engine for pattern @p after, of those that @p engine (NULL or "auto": all) admits,
 *  predicted to beat the best one for @p before clearly? */
bool spmmi_reordering_gains(const char *engine, const spmm_pattern_t *before,
                            const spmm_pattern_t *after, const spmm_problem_t *problem,
                            const spmm_device_t *device);
/** Condensed columns in windows of 8 or of 16 rows: at most @p share of what there were? */
bool spmmi_has_fewer_pairs(const spmm_pattern_t *before, const spmm_pattern_t *after, double share);
/** The facts that no order of rows can better. */
spmm_pattern_t spmmi_reordering_bound(const spmm_pattern_t *pattern);
/** Is order `sorted` worth looking into, of which a sample has so many pairs for each entry at
 *  heights 8 and 16? */
bool spmmi_reordering_promises(const spmm_pattern_t *before, const double sample[2]);
/** Least predicted time on a pattern, of the engines that @p engine admits; INFINITY where none
 *  runs. */
double spmmi_best_time(const char *engine, const spmm_pattern_t *pattern,
                       const spmm_problem_t *problem, const spmm_device_t *device);
/** What @p executes products (as the option) would save in the best thinkable order, over the least
 *  at which order `sorted` has been seen to come back. */
double spmmi_reordering_worth(const char *engine, const spmm_pattern_t *before,
                              const spmm_problem_t *problem, const spmm_device_t *device,
                              int64_t executes);

/** What an order of rows is chosen by. */
typedef struct {
    const spmm_device_t  *device;
    const spmm_problem_t *problem;  /**< of the product, row-major */
    spmm_layout_t         layout;   /**< of the plan's B and C */
    const char           *order;    /**< key of tuning; NULL: by times */
    bool                  measures; /**< engines are chosen by times */
    const char           *engine;   /**< option; NULL or "auto": all */
    int64_t               executes; /**< option */
} spmm_order_choice_t;

/** Order the rows of a block that has been scanned, before its format is built.  Where times are to
 *  decide, the rows stay, and block->other_order gets the other order.  Local. */
spmm_status_t spmmi_block_reorder(const spmm_order_choice_t *by, spmm_block_t *block);

#endif /* SPMM_PLAN_ORDER_H */
