/* SPDX-License-Identifier: Apache-2.0 */
/** @file bittcf_32f.cu  The BitTCF kernels in FP32 by three TF32 products. */
#include "cuda/bittcf/bittcf_launch.cuh"

namespace spmm
{

template cudaError_t bittcf_product<float, SPMM_COMPUTE_32F>(const spmm_bittcf_arrays_t &,
                                                             const spmm_tc_work_t &,
                                                             const spmm_tc_mm_args_t &,
                                                             cudaStream_t);
template cudaError_t bittcf_preload<float, SPMM_COMPUTE_32F>();

} // namespace spmm
