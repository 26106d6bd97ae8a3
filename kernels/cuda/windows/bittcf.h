/* SPDX-License-Identifier: Apache-2.0 */
/** @file bittcf.h  Launchers of the BitTCF kernels, as cuda_kernels.h says of all. */
#ifndef SPMM_CUDA_BITTCF_H
#define SPMM_CUDA_BITTCF_H

#include <cuda_runtime_api.h>

#include "engine/windows/bittcf_args.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Load the kernels on the current device, so that no launch has to. */
cudaError_t spmmi_cuda_bittcf_preload(void);

/** C = alpha * A * B + beta * C on tensor cores.  Entries that A does not store take no part, also
 *  where B holds Inf or NaN.  Results have the same bits from run to run.  The arrays of A and
 *  @p work are device memory; SPMM_TC_PAD blocks of it behind col and bits. */
cudaError_t spmmi_cuda_bittcf_mm(const spmm_bittcf_arrays_t *A, const spmm_tc_work_t *work,
                                 const spmm_tc_mm_args_t *args, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif /* SPMM_CUDA_BITTCF_H */
