/* SPDX-License-Identifier: Apache-2.0 */
/** @file sddmm.h  SDDMM on the halo plan of a plan. */
#ifndef SPMM_PLAN_SDDMM_H
#define SPMM_PLAN_SDDMM_H

#include "engine/sddmm/sddmm.h"
#include "exchange/transport.h"
#include "matrix/matrix.h"
#include "spmm_dist/plan.h"
#include "spmm_dist/sddmm.h"

struct spmm_sddmm_plan {
    spmm_plan_t   *base; /**< owned: blocks and exchange; its B is Y */
    spmm_type_t    s_type;
    spmm_sampler_t local, halo; /**< entries whose column this rank owns / does not */
    int32_t        vector;      /**< of spmm_softmax_args_t; 0: its lists are not made yet */
    void          *group_ptr;   /**< its lists, device, owned */
    void          *place;
};

/** Collective, agreed. */
spmm_status_t spmmi_sddmm_build(spmm_transport_shared_t *shared, spmm_matrix_t *mask, int64_t k,
                                const spmm_sddmm_options_t *options, spmm_sddmm_plan_t **plan);
/** NULL-safe, collective. */
void spmmi_sddmm_free(spmm_sddmm_plan_t *plan);

/** Enqueue one product.
 *  @param[in] args  checked; Y is this rank's part of it */
spmm_status_t spmmi_sddmm_run(spmm_sddmm_plan_t *plan, const spmm_sddmm_args_t *args,
                              spmm_stream_t stream);

/** P = softmax(scale * S), row by row.  Local; the first call makes lists. */
spmm_status_t spmmi_sddmm_run_softmax(spmm_sddmm_plan_t *plan, double scale, const void *S, void *P,
                                      spmm_stream_t stream);

#endif /* SPMM_PLAN_SDDMM_H */
