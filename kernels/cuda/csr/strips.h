/* SPDX-License-Identifier: Apache-2.0 */
/** @file strips.h  Launchers of the kernels of strips, as cuda_kernels.h says of all. */
#ifndef SPMM_CUDA_STRIPS_H
#define SPMM_CUDA_STRIPS_H

#include <cuda_runtime_api.h>

#include "engine/csr/strips_args.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Load the kernels on the current device, so that no launch has to. */
cudaError_t spmmi_cuda_strips_preload(void);

/** A product of column-major blocks in FP64 or FP32. */
cudaError_t spmmi_cuda_strips_mm(const spmm_strips_args_t *A, const spmm_operands_t *x,
                                 cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif /* SPMM_CUDA_STRIPS_H */
