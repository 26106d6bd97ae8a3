/* SPDX-License-Identifier: Apache-2.0 */
/** @file csr_gpu.h  Launchers of the CSR kernels, as cuda_kernels.h says of all. */
#ifndef SPMM_CUDA_CSR_GPU_H
#define SPMM_CUDA_CSR_GPU_H

#include <cuda_runtime_api.h>

#include "engine/csr/csr_gpu_args.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Load the kernels on the current device, so that no launch has to. */
cudaError_t spmmi_cuda_csr_preload(void);

/** A product on CUDA cores, of CSR in work items: FP64 computes in FP64, all other types in FP32,
 *  32F and 32F_FAST_TF32 alike; C in the type of A and B or, for 16-bit ones, FP32.  Products of
 *  one A must not run at the same time. */
cudaError_t spmmi_cuda_csr_mm(const spmm_csr_items_t *A, const spmm_operands_t *x,
                              cudaStream_t stream);

/** The same, C being read, as soon as x->until says that B is there: the kernel is launched early
 *  and waits itself, in rows->most_blocks thread blocks at most.  Row-major C, x->n at least 1. */
cudaError_t spmmi_cuda_csr_wait_mm(const spmm_csr_items_t *A, const spmm_csr_rows_t *rows,
                                   const spmm_operands_t *x, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif /* SPMM_CUDA_CSR_GPU_H */
