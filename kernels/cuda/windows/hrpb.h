/* SPDX-License-Identifier: Apache-2.0 */
/** @file hrpb.h  Launchers of the HRPB kernels, as cuda_kernels.h says of all. */
#ifndef SPMM_CUDA_HRPB_H
#define SPMM_CUDA_HRPB_H

#include <cuda_runtime_api.h>

#include "engine/windows/hrpb_args.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Load the kernels on the current device, so that no launch has to. */
cudaError_t spmmi_cuda_hrpb_preload(void);

/** Warps of the HRPB kernel that a multiprocessor holds at a time, for 16-byte access. */
cudaError_t spmmi_cuda_hrpb_resident(spmm_compute_t compute, int *warps);
/** C = alpha * A * B + beta * C on tensor cores.  Entries that A does not store take no part, also
 *  where B holds Inf or NaN.  Results have the same bits from run to run.  The arrays of A, whose
 *  panels have 16 rows, and @p work are device memory. */
cudaError_t spmmi_cuda_hrpb_mm(const spmm_hrpb_arrays_t *A, const spmm_tc_work_t *work,
                               const spmm_tc_mm_args_t *args, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif /* SPMM_CUDA_HRPB_H */
