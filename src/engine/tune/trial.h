/* SPDX-License-Identifier: Apache-2.0 */
/** @file trial.h  Products with scratch B and C, to time an engine with. */
#ifndef SPMM_ENGINE_TRIAL_H
#define SPMM_ENGINE_TRIAL_H

#include "engine/engine.h"

typedef struct {
    const spmm_device_t *device;
    spmm_type_t          ab_type;
    spmm_type_t          c_type;  /**< may become that of sums, for which C has room */
    int64_t              n;       /**< columns: the planned ones, or as many as fit */
    int64_t              planned; /**< columns */
    int64_t              b_rows, c_rows;
    double               beta;
    bool                 travels; /**< B goes to other ranks: plain device memory */
    void                *B, *C; /**< device memory, owned; C holds numbers only if beta is not 0 */
    spmm_stream_t        stream;
    spmm_event_t        *from, *to;
} spmm_trial_t;

/** Make scratch operands for products with @p block, @p travels as in the struct: random, since
 *  zeros and constants draw less power.  Fewer columns where the planned ones do not fit, down
 *  to a quarter.
 *  @return SPMM_ERR_MEMORY, among others; *trial is then closed */
spmm_status_t spmmi_trial_open(const spmm_device_t *device, const spmm_csr_t *block,
                               const spmm_problem_t *problem, double beta, bool travels,
                               spmm_trial_t *trial);
void          spmmi_trial_close(spmm_trial_t *trial);

/** B and C packed in @p layout, with alpha 1. */
spmm_operands_t spmmi_trial_operands(const spmm_trial_t *trial, spmm_layout_t layout);

/** About what spmmi_trial_measure() takes for a product of @p product_s, and spmmi_trial_open(). */
double spmmi_trial_seconds(double product_s);
#define SPMM_TRIAL_OPEN_S 0.2e-3

/** Seconds of one product at the planned width, in a warm cache: the median of three batches of
 *  0.1 ms, at least one product and at most ten each, after two to warm up.
 *  @param[in]  best     measuring ends early where the warm-up takes 1.5 times this, or a batch
 *                       1.15 times; INFINITY: never
 *  @param[out] seconds  of what was measured last, when it ended early */
spmm_status_t spmmi_trial_measure(const spmm_trial_t *trial, const spmm_engine_ops_t *engine,
                                  void *format, spmm_layout_t layout, double best, double *seconds);

#endif /* SPMM_ENGINE_TRIAL_H */
