/* SPDX-License-Identifier: Apache-2.0 */
/** @file csr_cpu_args.h  CSR and its dense side, as the kernels on CPUs take them. */
#ifndef SPMM_ENGINE_CSR_CSR_CPU_ARGS_H
#define SPMM_ENGINE_CSR_CSR_CPU_ARGS_H

#include <stdbool.h>

#include "operands.h"

enum { SPMM_CSR_RUN = 64 }; /**< entries of a row summed up in the accumulation type */

/** Kernels for one kind of processor: cpu/csr/csr_rows.h. */
typedef struct spmm_csr_isa spmm_csr_isa_t;

/** C = alpha * A * B + beta * C, A in CSR. */
typedef struct {
    int64_t               n_rows;
    const int64_t        *row_ptr; /**< [n_rows + 1] */
    const int32_t        *col_idx;
    const void           *values;  /**< of x.ab_type */
    const int32_t        *row_map; /**< [n_rows] row of C of each row of A, NULL: the identity; ~r:
                                        A times B alone goes to row r of pieces */
    void                 *pieces;  /**< [* x x.n], row-major, of x.c_type */
    void                 *panel;   /**< column-major: room for some columns of B as rows, which
                                        are n_cols; NULL: columns are multiplied as they are */
    int64_t               n_cols;
    int64_t               run; /**< entries to sum up before they are added in FP64, for
                                        row-major 64F and 32F: SPMM_CSR_RUN or less */
    spmm_operands_t       x;
    const spmm_csr_isa_t *isa;
    bool                  in_order; /**< as in spmm_problem_t */
    int                   threads;  /**< OpenMP threads, 0: as many as OpenMP likes */
} spmm_csr_mm_args_t;

#endif /* SPMM_ENGINE_CSR_CSR_CPU_ARGS_H */
