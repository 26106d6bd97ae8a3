/* SPDX-License-Identifier: Apache-2.0 */
/** @file edge.h  Column-major B and C for engines that multiply row-major blocks. */
#ifndef SPMM_PLAN_EDGE_H
#define SPMM_PLAN_EDGE_H

#include <stdbool.h>

#include "operands.h"
#include "spmm_dist/plan.h"

/** The part of a plan that copies between row-major and column-major.  Owned by the plan, made with
 *  the formats. */
typedef struct {
    bool   used;        /**< B and C are column-major, the blocks' row-major copies */
    double predicted_s; /**< of the copies; column-major plans only */
    void  *b;           /**< device [local rows of B x n], row-major; NULL unless used */
    void  *c;           /**< device [local rows of C x n], likewise */
    void  *halo;        /**< device [recv rows x n], column-major when the blocks are, else NULL */
} spmm_plan_edge_t;

/** Ask all engines about the local block of a column-major plan, each in the better of two ways:
 *  on the block as it is, or on row-major copies.  Ranks may come to choose differently, since halo
 *  rows travel row-major anyway. */
spmm_status_t spmmi_plan_consider_edge(spmm_plan_t *plan);
/** What the blocks multiply and write: @p x itself, or the copies of the edge. */
spmm_operands_t spmmi_plan_inner(const spmm_plan_t *plan, const spmm_operands_t *x);
/** Enqueue the copy of B, where there is an edge. */
spmm_status_t spmmi_plan_turn_b(const spmm_plan_t *plan, const spmm_operands_t *x);
/** Enqueue C = copy + beta * C, where there is an edge. */
spmm_status_t spmmi_plan_store_c(const spmm_plan_t *plan, const spmm_operands_t *x);

#endif /* SPMM_PLAN_EDGE_H */
