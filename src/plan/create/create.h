/* SPDX-License-Identifier: Apache-2.0 */
/** @file create.h  Plans made and freed. */
#ifndef SPMM_PLAN_CREATE_H
#define SPMM_PLAN_CREATE_H

#include "exchange/transport.h"
#include "matrix/matrix.h"
#include "spmm_dist/plan.h"

/** The plan behind spmm_plan_create().  Collective, agreed.  @p shared is the context's. */
spmm_status_t spmmi_plan_build(spmm_transport_shared_t *shared, spmm_matrix_t *A, int64_t n,
                               const spmm_plan_options_t *options, spmm_plan_t **plan);
/** A plan without formats and schedule: blocks, halo plan and transport, to bring rows of B (or
 *  others of that distribution) to the ranks that need them.  Follows no new values.  Collective,
 *  agreed. */
spmm_status_t spmmi_plan_build_exchange(spmm_transport_shared_t *shared, spmm_matrix_t *A,
                                        int64_t n, const spmm_plan_options_t *options,
                                        spmm_plan_t **plan);
/** NULL-safe; waits for executes in flight.  Collective. */
void spmmi_plan_free(spmm_plan_t *plan);

#endif /* SPMM_PLAN_CREATE_H */
