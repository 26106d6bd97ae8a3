/* SPDX-License-Identifier: Apache-2.0 */
/** @file cuda_kernels.h
 *  Launchers of the CUDA kernels.  They enqueue on @p stream of the current device, allocate
 *  nothing and return the launch error; empty shapes are success.
 */
#ifndef SPMM_CUDA_KERNELS_H
#define SPMM_CUDA_KERNELS_H

#include <cuda_runtime_api.h>
#include <stdbool.h>

#include "cuda/exchange/push_args.h"
#include "kernel_args.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Load the kernels that are no engine's on the current device, so that no launch has to;
 *  cudaErrorNoKernelImageForDevice when this build holds no code for it. */
cudaError_t spmmi_cuda_probe(void);
/** The capability, as 90 for 9.0, that the code was made for which the current device runs, be it
 *  code of its own or what the driver makes from PTX.  All kernels are built for the same ones. */
cudaError_t spmmi_cuda_code(int *code);

cudaError_t spmmi_cuda_gather_rows(const spmm_gather_args_t *args, cudaStream_t stream);
cudaError_t spmmi_cuda_scatter_rows(const spmm_scatter_args_t *args, cudaStream_t stream);
cudaError_t spmmi_cuda_scatter_add_rows(const spmm_scatter_add_args_t *args, cudaStream_t stream);
cudaError_t spmmi_cuda_store_columns(const spmm_store_args_t *args, cudaStream_t stream);
cudaError_t spmmi_cuda_merge_rows(const spmm_merge_args_t *args, cudaStream_t stream);
cudaError_t spmmi_cuda_round_rows(const spmm_round_args_t *args, cudaStream_t stream);

/** Read about @p bytes in random rows of 512 bytes out of the first @p set bytes of @p memory, all
 *  zeros: to be timed. */
cudaError_t spmmi_cuda_gather_probe(void *memory, size_t set, size_t bytes, cudaStream_t stream);

/** Wait on the device, 1 ms at most. */
cudaError_t spmmi_cuda_delay(double seconds, cudaStream_t stream);

cudaError_t spmmi_cuda_place_values(const spmm_place_args_t *args, cudaStream_t stream);

/** Write rows to peers and wait for theirs, on the device. */
cudaError_t spmmi_cuda_push(const spmm_push_args_t *args, cudaStream_t stream);
/** May kernels that are launched behind it run beside it? */
cudaError_t spmmi_cuda_push_lets_begin(bool *lets);

#ifdef __cplusplus
}
#endif
#endif /* SPMM_CUDA_KERNELS_H */
