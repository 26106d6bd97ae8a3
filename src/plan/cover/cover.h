/* SPDX-License-Identifier: Apache-2.0 */
/** @file cover.h
 *  Covers: between two owners an entry is served by its row of B, which travels, or by the partial
 *  row of C of its row, which travels back.  Entries of the other kind move to the other owner when
 *  the plan is made, and are a matrix of their own there, transposed, with a plan of the
 *  other op:
 *
 *      C = op(A) B = op(stay) B + other op(moved) B
 *
 *  With op N the plan brings rows of B for what stays, and that of the moved entries sends sums
 *  back; with op T they change places.  The product of the plan takes the place of the local block
 *  of that of the moved entries, which has none: both exchanges are under way at once.
 */
#ifndef SPMM_PLAN_COVER_H
#define SPMM_PLAN_COVER_H

#include "base/candidate.h"
#include "matrix/matrix.h"
#include "plan/block/arrival.h"
#include "spmm_dist/plan.h"

/** The part of a plan that covers need.  Owned by the plan. */
typedef struct {
    bool   chosen;         /**< entries move */
    bool   nodes;          /**< covers are those of pairs of nodes, in two levels; else of ranks */
    double rows_s, both_s; /**< predicted time between nodes of the slowest rank, without a cover
                                and with the better one; NaN: not predicted */
    char   why[SPMM_WHY];  /**< there is none: the end of a sentence that starts with "cover both";
                                "": it would not be clearly faster */

    bool    *partial;              /**< [entries that arrive]: it moves; while entries are dealt */
    int64_t  n_out;                /**< moved from this rank */
    int64_t *out;                  /**< [n_out] which of those that arrive, by owner */
    int64_t *at;                   /**< [2 * n_out] row and column of each; until they are sent */
    int64_t *out_count, *in_count; /**< [size] to and from each rank; one piece of memory */
    int64_t  n_in;                 /**< moved to this rank */
    int64_t *place;                /**< [n_in] of each among those of the matrix */

    spmm_matrix_t *A;    /**< the moved entries, transposed: rows are columns of the plan */
    spmm_plan_t   *plan; /**< the plan on it; NULL: nothing moves */
} spmm_plan_cover_t;

/** May entries move, as far as is known before the rows are parted?  The same on all ranks. */
bool spmmi_cover_may(const spmm_plan_t *plan, const spmm_plan_options_t *o);

/** Choose, and mark what moves in plan->cover.partial.  Collective, agreed.
 *  @param[in] in  rows and columns */
spmm_status_t spmmi_cover_choose(spmm_plan_t *plan, const spmm_plan_options_t *o,
                                 const spmm_arrival_t *in);

/** List the entries that move, while their columns are there.  Local. */
spmm_status_t spmmi_cover_list(spmm_plan_t *plan, const spmm_arrival_t *in);
/** Make the matrix of the moved entries.  Collective, agreed.
 *  @param[in] values  of what has arrived */
spmm_status_t spmmi_cover_send(spmm_plan_t *plan, const void *values);
/** Values anew.  Collective, agreed. */
spmm_status_t spmmi_cover_send_values(spmm_plan_t *plan, const void *values);
/** All but the plan of the moved entries. */
void spmmi_cover_free(spmm_plan_cover_t *cover);

#endif /* SPMM_PLAN_COVER_H */
