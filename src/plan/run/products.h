/* SPDX-License-Identifier: Apache-2.0 */
/** @file products.h  Passes over C on x->stream, and the layouts and types that they need. */
#ifndef SPMM_PLAN_PRODUCTS_H
#define SPMM_PLAN_PRODUCTS_H

#include <stdbool.h>

#include "operands.h"
#include "plan/blocks/block.h"
#include "plan/run/rows.h"
#include "spmm_dist/plan.h"

/** Of column-major operands: what is copied for blocks that multiply row-major ones. */
typedef enum {
    SPMM_CONVERT_NONE,
    SPMM_CONVERT_B,      /**< blocks write columns of C: layout MIXED */
    SPMM_CONVERT_B_AND_C /**< layout ROW */
} spmm_conversion_t;

/** The layout conversions of a plan.  Owned by the plan, made with the formats. */
typedef struct {
    spmm_conversion_t kind;
    bool              sums; /**< products add up in sum, since C would round each */
    void *b;    /**< device [local rows of B x n], row-major; NULL unless B is copied, and where
                       all entries are in one block */
    void *c;    /**< device [local rows of C x n], likewise, of the type of sums; NULL unless C is
                       copied */
    void *sum;  /**< device [local rows of C x n], of that type, in the layout of C: several
                       products add up here before C gets them; NULL: in C, or in c */
    void *halo; /**< device [recv rows x n], column-major when the blocks are, else NULL */
} spmm_plan_conversion_t;

/** Ask all engines about the diagonal block of a column-major plan, each in the best of three ways.
 *  These are: the block as it is, a row-major copy of B, and copies of B and C.  Ranks may come to
 *  choose differently, since ghost rows travel row-major anyway. */
spmm_status_t spmmi_plan_consider_conversion(spmm_plan_t *plan);
/** Enqueue the row-major copy of B, where the plan has one. */
spmm_status_t spmmi_plan_convert_b(const spmm_plan_t *plan, const spmm_operands_t *x);
/** Enqueue C = copy + beta * C, where the plan has a row-major copy of C. */
spmm_status_t spmmi_plan_store_c(const spmm_plan_t *plan, const spmm_operands_t *x);

/** The same product, without beta * C, into plan->conversion.sum. */
spmm_operands_t spmmi_plan_into_sum(const spmm_plan_t *plan, const spmm_operands_t *x);
/** Enqueue C = sum + beta * C. */
spmm_status_t spmmi_plan_store_sum(const spmm_plan_t *plan, const spmm_operands_t *x);

/** C = beta * C + product with the diagonal block. */
spmm_status_t spmmi_plan_run_diagonal(spmm_plan_t *plan, const spmm_operands_t *x);
/** Op N: C += product of the off-diagonal block with slice->halo; op T: slice->halo = partial rows
 *  of C for other ranks. */
spmm_status_t spmmi_plan_run_off_diagonal(spmm_plan_t *plan, const spmm_operands_t *x,
                                          const spmm_slice_t *slice);
/** Op T: C += the partial rows received. */
spmm_status_t spmmi_plan_add_received(spmm_plan_t *plan, const spmm_operands_t *x,
                                      const spmm_slice_t *slice);
/** This rank's rows of B, row-major and packed, to where the merged block reads them. */
spmm_status_t spmmi_plan_copy_own(spmm_plan_t *plan, const spmm_operands_t *x);
/** C = beta * C + product of the merged block with own and other rows. */
spmm_status_t spmmi_plan_run_merged(spmm_plan_t *plan, const spmm_operands_t *x);

#endif /* SPMM_PLAN_PRODUCTS_H */
