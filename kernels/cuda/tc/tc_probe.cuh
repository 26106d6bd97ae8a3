/* SPDX-License-Identifier: Apache-2.0 */
/** @file tc_probe.cuh  What spmmi_cuda_probe() loads besides the kernels of its own file. */
#ifndef SPMM_TC_PROBE_CUH
#define SPMM_TC_PROBE_CUH

#include "cuda/cuda_kernels.h"

namespace spmm
{

cudaError_t preload_bittcf(void);
cudaError_t preload_hrpb(void);
cudaError_t preload_csr(void);
cudaError_t preload_cvse(void);
cudaError_t preload_bcsr(void);
cudaError_t preload_sddmm_tasks(void);
cudaError_t preload_sddmm_tiles(void);
cudaError_t preload_sddmm_batches(void);
cudaError_t preload_sddmm_panels(void);
cudaError_t preload_values(void);

} // namespace spmm

#endif /* SPMM_TC_PROBE_CUH */
