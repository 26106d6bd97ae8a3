/* SPDX-License-Identifier: Apache-2.0 */
/** @file cusparse.h
 *  As much of cuSPARSE as engine cusparse takes, by a library that multiplies nothing and can be
 *  told what to refuse.
 */
#ifndef SPMM_EMULATED_CUSPARSE_H
#define SPMM_EMULATED_CUSPARSE_H

#include <stdint.h>

#include "cuda_runtime_api.h"

#define CUSPARSE_VERSION 12600

typedef enum {
    CUSPARSE_STATUS_SUCCESS,
    CUSPARSE_STATUS_ALLOC_FAILED,
    CUSPARSE_STATUS_INVALID_VALUE,
    CUSPARSE_STATUS_ARCH_MISMATCH,
    CUSPARSE_STATUS_EXECUTION_FAILED,
    CUSPARSE_STATUS_NOT_SUPPORTED,
    CUSPARSE_STATUS_INSUFFICIENT_RESOURCES
} cusparseStatus_t;
typedef enum {
    CUSPARSE_SPMM_CSR_ALG1 = 4,
    CUSPARSE_SPMM_CSR_ALG2 = 6,
    CUSPARSE_SPMM_CSR_ALG3 = 12
} cusparseSpMMAlg_t;
typedef enum { CUSPARSE_SPMV_CSR_ALG1 = 2, CUSPARSE_SPMV_CSR_ALG2 = 3 } cusparseSpMVAlg_t;
typedef enum { CUSPARSE_INDEX_32I = 2, CUSPARSE_INDEX_64I = 3 } cusparseIndexType_t;
typedef enum { CUSPARSE_INDEX_BASE_ZERO } cusparseIndexBase_t;
typedef enum { CUSPARSE_OPERATION_NON_TRANSPOSE } cusparseOperation_t;
typedef enum { CUSPARSE_ORDER_COL = 1, CUSPARSE_ORDER_ROW = 2 } cusparseOrder_t;

typedef struct fake_cusparse   *cusparseHandle_t;
typedef struct fake_descriptor *cusparseSpMatDescr_t, *cusparseDnMatDescr_t, *cusparseDnVecDescr_t;

/** Calls that may refuse, as bits. */
enum { FAKE_SIZE = 1, FAKE_PREPROCESS = 2, FAKE_PRODUCT = 4 };

/** What the library refuses, and how: calls with A and B of one type and C of another, or with one
 *  algorithm. */
typedef struct {
    int              calls;
    cudaDataType     ab, c;
    int              algorithm; /**< 0: all; negative: all but this */
    cusparseStatus_t code;
} fake_refusal_t;

extern fake_refusal_t fake_refusal;
extern int            fake_descriptors; /**< there are */

const char      *cusparseGetErrorString(cusparseStatus_t code);
cusparseStatus_t cusparseCreate(cusparseHandle_t *handle);
cusparseStatus_t cusparseDestroy(cusparseHandle_t handle);
cusparseStatus_t cusparseGetVersion(cusparseHandle_t handle, int *version);
cusparseStatus_t cusparseSetStream(cusparseHandle_t handle, cudaStream_t stream);
cusparseStatus_t cusparseCreateCsr(cusparseSpMatDescr_t *A, int64_t rows, int64_t cols, int64_t nnz,
                                   void *row_ptr, void *col_idx, void *values,
                                   cusparseIndexType_t row_type, cusparseIndexType_t col_type,
                                   cusparseIndexBase_t base, cudaDataType type);
cusparseStatus_t cusparseDestroySpMat(cusparseSpMatDescr_t A);
cusparseStatus_t cusparseCreateDnMat(cusparseDnMatDescr_t *B, int64_t rows, int64_t cols,
                                     int64_t ld, void *values, cudaDataType type,
                                     cusparseOrder_t order);
cusparseStatus_t cusparseDestroyDnMat(cusparseDnMatDescr_t B);
cusparseStatus_t cusparseDnMatSetValues(cusparseDnMatDescr_t B, void *values);
cusparseStatus_t cusparseCreateDnVec(cusparseDnVecDescr_t *b, int64_t size, void *values,
                                     cudaDataType type);
cusparseStatus_t cusparseDestroyDnVec(cusparseDnVecDescr_t b);
cusparseStatus_t cusparseDnVecSetValues(cusparseDnVecDescr_t b, void *values);

#define FAKE_SPMM(name, ...)                                                                       \
    cusparseStatus_t name(cusparseHandle_t handle, cusparseOperation_t op_a,                       \
                          cusparseOperation_t op_b, const void *alpha, cusparseSpMatDescr_t A,     \
                          cusparseDnMatDescr_t B, const void *beta, cusparseDnMatDescr_t C,        \
                          cudaDataType compute, cusparseSpMMAlg_t algorithm, __VA_ARGS__)
#define FAKE_SPMV(name, ...)                                                                       \
    cusparseStatus_t name(cusparseHandle_t handle, cusparseOperation_t op, const void *alpha,      \
                          cusparseSpMatDescr_t A, cusparseDnVecDescr_t b, const void *beta,        \
                          cusparseDnVecDescr_t c, cudaDataType compute,                            \
                          cusparseSpMVAlg_t algorithm, __VA_ARGS__)

FAKE_SPMM(cusparseSpMM_bufferSize, size_t *bytes);
FAKE_SPMM(cusparseSpMM_preprocess, void *work);
FAKE_SPMM(cusparseSpMM, void *work);
FAKE_SPMV(cusparseSpMV_bufferSize, size_t *bytes);
FAKE_SPMV(cusparseSpMV_preprocess, void *work);
FAKE_SPMV(cusparseSpMV, void *work);

#endif /* SPMM_EMULATED_CUSPARSE_H */
