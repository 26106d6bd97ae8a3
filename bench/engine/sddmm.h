/* SPDX-License-Identifier: Apache-2.0 */
/** @file sddmm.h  SDDMM through cuSPARSE, for bench_sddmm. */
#ifndef BENCH_SDDMM_H
#define BENCH_SDDMM_H

#include <cusparse.h>

#include "spmm_dist/spmm_dist.h"

/** Operands on the device, owned by the caller. */
typedef struct {
    int64_t     rows, cols, nnz, k;
    spmm_type_t type; /**< of X, Y and S */
    int32_t    *row_ptr, *col_idx;
    void       *X, *Y, *S; /**< [rows x k], [cols x k] row-major, [nnz] */
} bench_sddmm_t;

/** A prepared product. */
typedef struct {
    cusparseHandle_t     handle;
    cusparseSpMatDescr_t mask;
    cusparseDnMatDescr_t a, b;
    cudaDataType         compute;
    cusparseOperation_t  op_b;
    void                *work;
} bench_cusparse_t;

/** @param[in] turned  Y^T as the transpose of a row-major Y; else as it lies, column-major
 *  @return NULL, or why cuSPARSE cannot */
const char *bench_cusparse_open(const bench_sddmm_t *x, int turned, bench_cusparse_t *c);
/** Enqueue S = X Y^T at the mask on the default stream. */
const char *bench_cusparse_run(const bench_cusparse_t *c);
void        bench_cusparse_close(bench_cusparse_t *c);

#endif /* BENCH_SDDMM_H */
