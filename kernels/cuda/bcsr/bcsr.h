/* SPDX-License-Identifier: Apache-2.0 */
/** @file bcsr.h  Launchers of the BCSR kernels, as cuda_kernels.h says of all. */
#ifndef SPMM_CUDA_BCSR_H
#define SPMM_CUDA_BCSR_H

#include <cuda_runtime_api.h>

#include "engine/bcsr/args.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Load the kernels on the current device, so that no launch has to. */
cudaError_t spmmi_cuda_bcsr_preload(void);

/** C = alpha * A * B + beta * C on tensor cores: A of FP16 or BF16, as args->x.ab_type says of
 *  B; C of that type or FP32.  Entries that A does not store take no part, also where B holds
 *  Inf or NaN.  Results have the same bits from run to run.  The arrays of A and @p work are
 *  device memory; work items are of panels. */
cudaError_t spmmi_cuda_bcsr_mm(const spmm_bcsr_arrays_t *A, const spmm_tc_work_t *work,
                               const spmm_tc_mm_args_t *args, cudaStream_t stream);
/** Values and metadata of A from those of CSR: the bits that spmmi_bcsr_fill() gives.
 *  @param[in]  values  [nnz] device memory
 *  @param[out] to      what A->values is to be */
cudaError_t spmmi_cuda_bcsr_fill(const spmm_bcsr_arrays_t *A, const void *values, void *to,
                                 cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif /* SPMM_CUDA_BCSR_H */
