/* SPDX-License-Identifier: Apache-2.0 */
/** @file operands.h  The dense operands of one product. */
#ifndef SPMM_PLAN_OPERANDS_H
#define SPMM_PLAN_OPERANDS_H

#include "spmm_dist/plan.h"

/** Arguments of one execute, already checked. */
typedef struct {
    int64_t       n;
    double        alpha, beta;
    const void   *B;
    void         *C;
    int64_t       ldb, ldc;
    spmm_stream_t stream;
} spmm_operands_t;

#endif /* SPMM_PLAN_OPERANDS_H */
