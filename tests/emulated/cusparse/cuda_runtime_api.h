/* SPDX-License-Identifier: Apache-2.0 */
/** @file cuda_runtime_api.h  As much of it as engine cusparse takes, for fake_cusparse.c. */
#ifndef SPMM_EMULATED_CUDA_RUNTIME_API_H
#define SPMM_EMULATED_CUDA_RUNTIME_API_H

#include <string.h>

typedef int                 cudaError_t;
typedef struct CUstream_st *cudaStream_t;
typedef enum {
    CUDA_R_32F,
    CUDA_R_64F,
    CUDA_R_16F,
    CUDA_C_32F,
    CUDA_C_64F,
    CUDA_R_16BF
} cudaDataType;

enum { cudaSuccess };

#define cudaGetLastError()                       cudaSuccess
#define cudaMemsetAsync(to, byte, bytes, stream) (memset(to, byte, bytes), cudaSuccess)

#endif /* SPMM_EMULATED_CUDA_RUNTIME_API_H */
