/* SPDX-License-Identifier: Apache-2.0 */
/** @file bcsr_16f.cu  The BCSR kernels of FP16. */
#include "cuda/bcsr/bcsr_launch.cuh"

namespace spmm
{

template cudaError_t bcsr_product<__half, __half>(const spmm_bcsr_arrays_t &,
                                                  const spmm_tc_work_t &, const spmm_tc_mm_args_t &,
                                                  cudaStream_t);
template cudaError_t bcsr_preload<__half, __half>();

} // namespace spmm
