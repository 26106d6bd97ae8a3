/* SPDX-License-Identifier: Apache-2.0 */
/** @file cvse_16f.cu  The CVSE kernels of FP16. */
#include "cuda/cvse/cvse_launch.cuh"

namespace spmm
{

template cudaError_t cvse_product<__half, __half>(const spmm_cvse_arrays_t &,
                                                  const spmm_cvse_short_t &, const spmm_tc_work_t &,
                                                  const spmm_tc_mm_args_t &, cudaStream_t);
template cudaError_t cvse_preload<__half, __half>();

} // namespace spmm
