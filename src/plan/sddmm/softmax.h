/* SPDX-License-Identifier: Apache-2.0 */
/** @file softmax.h  Softmax over the rows of what an SDDMM made. */
#ifndef SPMM_PLAN_SOFTMAX_H
#define SPMM_PLAN_SOFTMAX_H

#include "plan/sddmm/sddmm.h"

/** P = softmax(scale * S), row by row.  Local; the first call makes lists. */
spmm_status_t spmmi_sddmm_run_softmax(spmm_sddmm_plan_t *plan, double scale, const void *S, void *P,
                                      spmm_stream_t stream);

#endif /* SPMM_PLAN_SOFTMAX_H */
