/* SPDX-License-Identifier: Apache-2.0 */
/** @file values.h  New values of A. */
#ifndef SPMM_PLAN_VALUES_H
#define SPMM_PLAN_VALUES_H

#include "plan/blocks/block.h"

enum { SPMM_PLAN_BLOCKS = 3 }; /**< diagonal, off-diagonal, merged */

/** Where the values of a format lie on the device, and come from. */
typedef struct {
    void    *values; /**< of the format */
    int64_t  count;
    int32_t *source; /**< [count] device, owned: place in the caller's arrays, -1: none; NULL: the
                          same */
} spmm_value_list_t;

/** The part of a plan that new values on the device need.  Owned by the plan; made by the first
 *  call of spmmi_plan_take_values(). */
typedef struct {
    bool              listed;                 /**< list is made */
    spmm_value_list_t list[SPMM_PLAN_BLOCKS]; /**< of the format of each */
} spmm_plan_values_t;

/** Enqueue new values for this plan alone.  Local; the first call makes lists.
 *  @param[in] values  [local nnz] in the order of the caller's arrays, device memory */
spmm_status_t spmmi_plan_take_values(spmm_plan_t *plan, const void *values, spmm_stream_t stream);
void          spmmi_plan_free_lists(spmm_plan_t *plan);

/** refill of spmm_matrix_user_t: new values of A into all formats.  Collective. */
spmm_status_t spmmi_plan_refill(void *plan);

#endif /* SPMM_PLAN_VALUES_H */
