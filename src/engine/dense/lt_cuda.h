/* SPDX-License-Identifier: Apache-2.0 */
/** @file lt_cuda.h
 *  The functions of cuBLASLt that the engine calls.  The library is loaded when a block is first
 *  built: it takes 50 to 300 ms and 150 MB of host memory, which most programs never need.
 */
#ifndef SPMM_ENGINE_DENSE_LT_CUDA_H
#define SPMM_ENGINE_DENSE_LT_CUDA_H

#include <cublasLt.h>

#include "device/device_cuda.h"

/** By the names of cublasLt.h, without their "cublasLt". */
typedef struct {
    cublasStatus_t (*Create)(cublasLtHandle_t *handle);
    cublasStatus_t (*Destroy)(cublasLtHandle_t handle);
    const char *(*GetStatusString)(cublasStatus_t status);
    cublasStatus_t (*MatmulDescCreate)(cublasLtMatmulDesc_t *desc, cublasComputeType_t compute,
                                       cudaDataType_t scale);
    cublasStatus_t (*MatmulDescDestroy)(cublasLtMatmulDesc_t desc);
    cublasStatus_t (*MatmulDescSetAttribute)(cublasLtMatmulDesc_t           desc,
                                             cublasLtMatmulDescAttributes_t attribute,
                                             const void *value, size_t bytes);
    cublasStatus_t (*MatrixLayoutCreate)(cublasLtMatrixLayout_t *layout, cudaDataType type,
                                         uint64_t rows, uint64_t cols, int64_t ld);
    cublasStatus_t (*MatrixLayoutDestroy)(cublasLtMatrixLayout_t layout);
    cublasStatus_t (*MatmulPreferenceCreate)(cublasLtMatmulPreference_t *preference);
    cublasStatus_t (*MatmulPreferenceDestroy)(cublasLtMatmulPreference_t preference);
    cublasStatus_t (*MatmulPreferenceSetAttribute)(cublasLtMatmulPreference_t           preference,
                                                   cublasLtMatmulPreferenceAttributes_t attribute,
                                                   const void *value, size_t bytes);
    cublasStatus_t (*MatmulAlgoGetHeuristic)(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc,
                                             cublasLtMatrixLayout_t A, cublasLtMatrixLayout_t B,
                                             cublasLtMatrixLayout_t C, cublasLtMatrixLayout_t D,
                                             cublasLtMatmulPreference_t preference, int most,
                                             cublasLtMatmulHeuristicResult_t results[], int *found);
    cublasStatus_t (*Matmul)(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc, const void *alpha,
                             const void *A, cublasLtMatrixLayout_t a, const void *B,
                             cublasLtMatrixLayout_t b, const void *beta, const void *C,
                             cublasLtMatrixLayout_t c, void *D, cublasLtMatrixLayout_t d,
                             const cublasLtMatmulAlgo_t *algorithm, void *work, size_t bytes,
                             cudaStream_t stream);
} spmm_lt_t;

/** Load it, once in a process.
 *  @return SPMM_ERR_UNSUPPORTED where it is not installed, or lacks a function */
spmm_status_t spmmi_lt_open(const spmm_device_t *device, const spmm_lt_t **lt);

/** About what loading it takes, its first list of algorithms included; 0: it is loaded. */
double spmmi_lt_load_s(void);

/** Record a failed call; SPMM_OK for success. */
spmm_status_t spmmi_lt_check(const spmm_device_t *device, const spmm_lt_t *lt, cublasStatus_t code,
                             const char *what);

#endif /* SPMM_ENGINE_DENSE_LT_CUDA_H */
