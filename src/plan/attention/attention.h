/* SPDX-License-Identifier: Apache-2.0 */
/** @file attention.h  Sparse attention on the halo plan of a plan, and its gradients. */
#ifndef SPMM_PLAN_ATTENTION_H
#define SPMM_PLAN_ATTENTION_H

#include "engine/attention/attention.h"
#include "exchange/transport.h"
#include "matrix/matrix.h"
#include "spmm_dist/attention.h"
#include "spmm_dist/plan.h"

/** A mask, or its transpose: exchange and formats. */
typedef struct {
    spmm_plan_t    *base; /**< owned: blocks and exchange; its B are the operands that travel,
                               side by side */
    spmm_attender_t local, halo; /**< entries whose column this rank owns / does not */
} spmm_attention_side_t;

struct spmm_attention_plan {
    int64_t               heads, k;
    spmm_attention_side_t mask;
    spmm_matrix_t        *transpose;  /**< owned; NULL: no gradients, as the next two */
    spmm_attention_side_t transposed; /**< the transpose: at its columns rows of Q travel */
    void                 *stats;      /**< of spmm_attention_gradient_t, device, owned */
    void                 *lse; /**< [local rows x heads], device, owned: where the caller gives
                                    none */
};

/** Collective, agreed. */
spmm_status_t spmmi_attention_build(spmm_transport_shared_t *shared, spmm_matrix_t *mask,
                                    int64_t heads, int64_t k,
                                    const spmm_attention_options_t *options,
                                    spmm_attention_plan_t         **plan);
/** NULL-safe, collective. */
void spmmi_attention_free(spmm_attention_plan_t *plan);

/** Enqueue.  @param[in] args  checked; K and V are this rank's rows; lse NULL: the plan's */
spmm_status_t spmmi_attention_run(spmm_attention_plan_t *plan, const spmm_attention_args_t *args,
                                  spmm_stream_t stream);
/** Enqueue the gradients.
 *  @param[in] args   checked, without stats
 *  @param[in] stats  checked, without stats */
spmm_status_t spmmi_attention_run_backward(spmm_attention_plan_t           *plan,
                                           const spmm_attention_gradient_t *args,
                                           const spmm_attention_stats_t    *stats,
                                           spmm_stream_t                    stream);

#endif /* SPMM_PLAN_ATTENTION_H */
