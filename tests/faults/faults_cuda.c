/* SPDX-License-Identifier: Apache-2.0 */
/* The CUDA runtime.  cudaGetLastError() stands for a kernel that could not be launched. */
#define _GNU_SOURCE /* RTLD_NEXT */
#include <cuda_runtime.h>

#include "faults_next.h"

#define CUDA(name, parameters, arguments)                                                          \
    FAULTS_NEXT(cudaError_t, name, cudaErrorUnknown, parameters, arguments)
#define CUDA_MEMORY(name, parameters, arguments)                                                   \
    FAULTS_NEXT(cudaError_t, name, cudaErrorMemoryAllocation, parameters, arguments)

CUDA(cudaGetDeviceCount, (int *n), (n))
CUDA(cudaSetDevice, (int device), (device))
CUDA(cudaDeviceSynchronize, (void), ())
CUDA(cudaGetLastError, (void), ())
CUDA(cudaDeviceGetAttribute, (int *x, enum cudaDeviceAttr what, int device), (x, what, device))
CUDA(cudaFuncSetAttribute, (const void *f, enum cudaFuncAttribute a, int x), (f, a, x))
CUDA(cudaMemGetInfo, (size_t * left, size_t *all), (left, all))
CUDA(cudaPointerGetAttributes, (struct cudaPointerAttributes * a, const void *p), (a, p))
CUDA_MEMORY(cudaMalloc, (void **p, size_t bytes), (p, bytes))
CUDA_MEMORY(cudaHostAlloc, (void **p, size_t bytes, unsigned flags), (p, bytes, flags))
CUDA_MEMORY(cudaMallocFromPoolAsync,
            (void **p, size_t bytes, cudaMemPool_t pool, cudaStream_t stream),
            (p, bytes, pool, stream))
CUDA(cudaMemPoolCreate, (cudaMemPool_t * pool, const struct cudaMemPoolProps *props), (pool, props))
CUDA(cudaMemPoolSetAttribute, (cudaMemPool_t pool, enum cudaMemPoolAttr a, void *x), (pool, a, x))
CUDA(cudaMemcpyAsync,
     (void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind, cudaStream_t stream),
     (to, from, bytes, kind, stream))
CUDA(cudaMemcpy, (void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind),
     (to, from, bytes, kind))
CUDA(cudaMemsetAsync, (void *to, int x, size_t bytes, cudaStream_t stream), (to, x, bytes, stream))
CUDA(cudaStreamCreateWithFlags, (cudaStream_t * stream, unsigned flags), (stream, flags))
CUDA(cudaStreamCreateWithPriority, (cudaStream_t * stream, unsigned flags, int priority),
     (stream, flags, priority))
CUDA(cudaStreamSynchronize, (cudaStream_t stream), (stream))
CUDA(cudaStreamWaitEvent, (cudaStream_t stream, cudaEvent_t event, unsigned flags),
     (stream, event, flags))
CUDA(cudaEventCreateWithFlags, (cudaEvent_t * event, unsigned flags), (event, flags))
CUDA(cudaEventRecord, (cudaEvent_t event, cudaStream_t stream), (event, stream))
CUDA(cudaEventSynchronize, (cudaEvent_t event), (event))
CUDA(cudaEventQuery, (cudaEvent_t event), (event))
CUDA(cudaEventElapsedTime, (float *ms, cudaEvent_t a, cudaEvent_t b), (ms, a, b))
