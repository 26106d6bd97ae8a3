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

/** What is left of matrices and vectors. */
typedef struct {
    cudaDataType type;
} fake_descriptor_t;
typedef void              *cusparseHandle_t;
typedef fake_descriptor_t *cusparseSpMatDescr_t, *cusparseDnMatDescr_t, *cusparseDnVecDescr_t;

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

cusparseStatus_t fake_make(fake_descriptor_t **descriptor, cudaDataType type);
cusparseStatus_t fake_drop(fake_descriptor_t *descriptor);
cusparseStatus_t fake_answer(int call, const fake_descriptor_t *ab, const fake_descriptor_t *c,
                             int algorithm);

#define cusparseGetErrorString(code)                                                               \
    ((code) == CUSPARSE_STATUS_NOT_SUPPORTED ? "operation not supported" : "another failure")
#define FAKE_OK(x)                          ((void)(x), (cusparseStatus_t)CUSPARSE_STATUS_SUCCESS)
#define cusparseCreate(handle)              FAKE_OK(*(handle) = &fake_refusal)
#define cusparseDestroy(handle)             FAKE_OK(handle)
#define cusparseGetVersion(handle, version) FAKE_OK(*(version) = 12800)
#define cusparseSetStream(handle, stream)   FAKE_OK(stream)
#define cusparseCreateCsr(A, rows, cols, nnz, row_ptr, col_idx, values, row_type, col_type, base,  \
                          type)                                                                    \
    ((void)(row_type), fake_make(A, type))
#define cusparseCreateDnMat(B, rows, cols, ld, values, type, order)                                \
    ((void)(values), (void)(order), fake_make(B, type))
#define cusparseCreateDnVec(b, size, values, type) ((void)(values), fake_make(b, type))
#define cusparseDestroySpMat                       fake_drop
#define cusparseDestroyDnMat                       fake_drop
#define cusparseDestroyDnVec                       fake_drop
#define cusparseDnMatSetValues(B, values)          FAKE_OK(values)
#define cusparseDnVecSetValues(b, values)          FAKE_OK(values)

#define cusparseSpMM_bufferSize(handle, op_a, op_b, alpha, A, B, beta, C, compute, algorithm,      \
                                bytes)                                                             \
    (*(bytes) = 64, fake_answer(FAKE_SIZE, A, C, (int)(algorithm)))
#define cusparseSpMM_preprocess(handle, op_a, op_b, alpha, A, B, beta, C, compute, algorithm,      \
                                work)                                                              \
    fake_answer(FAKE_PREPROCESS, A, C, (int)(algorithm))
#define cusparseSpMM(handle, op_a, op_b, alpha, A, B, beta, C, compute, algorithm, work)           \
    fake_answer(FAKE_PRODUCT, A, C, (int)(algorithm))
#define cusparseSpMV_bufferSize(handle, op, alpha, A, b, beta, c, compute, algorithm, bytes)       \
    (*(bytes) = 64, fake_answer(FAKE_SIZE, A, c, (int)(algorithm)))
#define cusparseSpMV_preprocess(handle, op, alpha, A, b, beta, c, compute, algorithm, work)        \
    fake_answer(FAKE_PREPROCESS, A, c, (int)(algorithm))
#define cusparseSpMV(handle, op, alpha, A, b, beta, c, compute, algorithm, work)                   \
    fake_answer(FAKE_PRODUCT, A, c, (int)(algorithm))

#endif /* SPMM_EMULATED_CUSPARSE_H */
