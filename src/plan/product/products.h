/* SPDX-License-Identifier: Apache-2.0 */
/** @file products.h  Passes over C, on x->stream. */
#ifndef SPMM_PLAN_PRODUCTS_H
#define SPMM_PLAN_PRODUCTS_H

#include "plan/block/block.h"
#include "plan/product/rows.h"

/** C = beta * C + product with the local block. */
spmm_status_t spmmi_plan_run_local(spmm_plan_t *plan, const spmm_operands_t *x);
/** Op N: C += product of the halo block with slice->halo. */
spmm_status_t spmmi_plan_run_halo(spmm_plan_t *plan, const spmm_operands_t *x,
                                  const spmm_slice_t *slice);
/** Op T: slice->halo = partial rows of C for other ranks. */
spmm_status_t spmmi_plan_run_halo_transposed(spmm_plan_t *plan, const spmm_operands_t *x,
                                             const spmm_slice_t *slice);
/** Op T: C += the partial rows received. */
spmm_status_t spmmi_plan_add_received(spmm_plan_t *plan, const spmm_operands_t *x,
                                      const spmm_slice_t *slice);
/** This rank's rows of B, row-major and packed, to where the joined block reads them. */
spmm_status_t spmmi_plan_copy_own(spmm_plan_t *plan, const spmm_operands_t *x);
/** C = beta * C + product of the joined block with own and other rows. */
spmm_status_t spmmi_plan_run_joined(spmm_plan_t *plan, const spmm_operands_t *x);

#endif /* SPMM_PLAN_PRODUCTS_H */
