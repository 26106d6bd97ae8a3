/* SPDX-License-Identifier: Apache-2.0 */
/** @file attention.h  Launchers of sparse attention, as cuda_kernels.h says of all. */
#ifndef SPMM_CUDA_ATTENTION_H
#define SPMM_CUDA_ATTENTION_H

#include <cuda_runtime_api.h>

#include "engine/attention/args.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Load the kernels of a file on the current device, so that no launch has to. */
cudaError_t spmmi_cuda_attention_rows_preload(void);
cudaError_t spmmi_cuda_attention_windows_preload(void);
cudaError_t spmmi_cuda_attention_gradient_preload(void);

/** As spmmi_cpu_attention() and its gradients, device memory.  The same bits from run to run. */
cudaError_t spmmi_cuda_attention_rows(const spmm_attention_rows_t *mask,
                                      const spmm_attention_args_t *args, cudaStream_t stream);
cudaError_t spmmi_cuda_attention_stats(const spmm_attention_stats_t *args, cudaStream_t stream);
cudaError_t spmmi_cuda_attention_query(const spmm_attention_rows_t     *mask,
                                       const spmm_attention_gradient_t *args, cudaStream_t stream);
cudaError_t spmmi_cuda_attention_key(const spmm_attention_rows_t     *mask,
                                     const spmm_attention_gradient_t *args, cudaStream_t stream);
/** Attention on tensor cores: FP16 and BF16, k a multiple of 8 up to 128, Q, K, V and O at
 *  multiples of 16 bytes, ld below 2^31. */
cudaError_t spmmi_cuda_attention_windows(const spmm_attention_windows_t *mask,
                                         const spmm_attention_args_t *args, cudaStream_t stream);
/** Its gradients, k up to 64; those of keys for windows of 8 rows in groups of up to 16. */
cudaError_t spmmi_cuda_attention_query_windows(const spmm_attention_windows_t  *mask,
                                               const spmm_attention_gradient_t *args,
                                               cudaStream_t                     stream);
cudaError_t spmmi_cuda_attention_key_windows(const spmm_attention_windows_t  *mask,
                                             const spmm_attention_gradient_t *args,
                                             cudaStream_t                     stream);

#ifdef __cplusplus
}
#endif
#endif /* SPMM_CUDA_ATTENTION_H */
