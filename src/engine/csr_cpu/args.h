/* SPDX-License-Identifier: Apache-2.0 */
/** @file args.h  CSR and its dense side, as the kernel on CPUs takes them. */
#ifndef SPMM_ENGINE_CSR_CPU_ARGS_H
#define SPMM_ENGINE_CSR_CPU_ARGS_H

#include "operands.h"

/** C = alpha * A * B + beta * C, A in CSR. */
typedef struct {
    int64_t         n_rows;
    const int64_t  *row_ptr; /**< [n_rows + 1] */
    const int32_t  *col_idx;
    const void     *values;  /**< of x.ab_type */
    const int32_t  *row_map; /**< [n_rows] row of C of each row of A, NULL: the identity */
    spmm_operands_t x;
    int             threads; /**< OpenMP threads, 0: as many as OpenMP likes */
} spmm_csr_mm_args_t;

#endif /* SPMM_ENGINE_CSR_CPU_ARGS_H */
