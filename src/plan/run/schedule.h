/* SPDX-License-Identifier: Apache-2.0 */
/** @file schedule.h
 *  A schedule is one order of the parts of a product: packing, exchange, and passes over C.  Add
 *  one by writing its spmm_schedule_t in a file of its own and one line in schedule_list.h.
 */
#ifndef SPMM_PLAN_SCHEDULE_H
#define SPMM_PLAN_SCHEDULE_H

#include "operands.h"
#include "plan/blocks/block.h"

typedef struct spmm_schedule spmm_schedule_t;
struct spmm_schedule {
    const char *name;   /**< stable, user-visible: "overlap" */
    bool        merges; /**< it multiplies the merged block, not the two blocks */
    bool        cuts;   /**< it may cut the columns of B into chunks */

    /** May it run this plan?  By facts that are equal on all ranks.  NULL: it may; else why not,
     *  static: the end of a sentence that starts with the schedule's name.  A NULL function: it
     *  runs all plans. */
    const char *(*refuse)(const spmm_plan_t *plan);
    /** Enqueue one product, from event START up to event DONE; x->stream waits for all of it.  An
     *  exchange that peers wait for is made also where a product of this rank failed. */
    spmm_status_t (*run)(spmm_plan_t *plan, const spmm_operands_t *x);
};

#endif /* SPMM_PLAN_SCHEDULE_H */
