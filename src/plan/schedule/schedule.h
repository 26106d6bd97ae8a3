/* SPDX-License-Identifier: Apache-2.0 */
/** @file schedule.h
 *  A schedule is one order of the parts of a product: packing, exchange, and passes over C.  Add
 *  one by writing its spmm_schedule_t in a file of its own and one line in schedule_list.h.
 */
#ifndef SPMM_PLAN_SCHEDULE_H
#define SPMM_PLAN_SCHEDULE_H

#include "operands.h"
#include "plan/block/block.h"
#include "plan/schedule/terms.h"

enum { SPMM_MOST_SCHEDULES = 16 };

typedef struct spmm_schedule spmm_schedule_t;
struct spmm_schedule {
    const char     *name;        /**< stable, user-visible: "overlap" */
    const char     *description; /**< one line */
    spmm_blockset_t blockset;
    int             chunks;  /**< most slices that B is cut into */
    bool            in_line; /**< all may be on the user stream, as plan/product/wait.h says */

    /** May it run this plan?  By facts that are equal on all ranks.  When not, @p why gets the
     *  reason: the end of a sentence that starts with the schedule's name. */
    bool (*applies)(const spmm_plan_t *plan, char why[SPMM_WHY]);
    /** Predicted seconds of one execute of this rank; the model stands above the function. */
    double (*predict)(const spmm_schedule_t *self, const spmm_plan_t *plan,
                      const spmm_terms_t *terms);
    /** Enqueue one product between marks START and DONE; everything is joined to x->stream.  An
     *  exchange that peers wait for is made also where a product of this rank failed. */
    spmm_status_t (*run)(const spmm_schedule_t *self, spmm_plan_t *plan, const spmm_operands_t *x);
};

/** All schedules; the first is the one that others must beat. */
extern const spmm_schedule_t *const spmmi_schedules[];
extern const int                    spmmi_n_schedules;

/** NULL when there is none of that name. */
const spmm_schedule_t *spmmi_schedule_find(const char *name);

#endif /* SPMM_PLAN_SCHEDULE_H */
