/* SPDX-License-Identifier: Apache-2.0 */
/** @file cvse.h  Launchers of the CVSE kernels, as cuda_kernels.h says of all. */
#ifndef SPMM_CUDA_CVSE_H
#define SPMM_CUDA_CVSE_H

#include <cuda_runtime_api.h>

#include "engine/cvse/args.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Load the kernels on the current device, so that no launch has to. */
cudaError_t spmmi_cuda_cvse_preload(void);

/** C = alpha * A * B + beta * C on tensor cores: A of FP16 or BF16, as args->x.ab_type says of
 *  B; C of that type or FP32.  Entries that A does not store take no part, also where B holds
 *  Inf or NaN.  Results have the same bits from run to run.  The arrays of A and @p work are
 *  device memory.
 *  @param[in] tasks  taken where there are any and B, C and n suit them; else @p work is */
cudaError_t spmmi_cuda_cvse_mm(const spmm_cvse_arrays_t *A, const spmm_cvse_short_t *tasks,
                               const spmm_tc_work_t *work, const spmm_tc_mm_args_t *args,
                               cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif /* SPMM_CUDA_CVSE_H */
