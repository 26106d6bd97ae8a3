/* SPDX-License-Identifier: Apache-2.0 */
/** @file bittcf_64f.cu  The BitTCF kernels in FP64. */
#include "cuda/bittcf/bittcf_launch.cuh"

namespace spmm
{

template cudaError_t bittcf_product<double, SPMM_COMPUTE_64F>(const spmm_bittcf_arrays_t &,
                                                              const spmm_tc_work_t &,
                                                              const spmm_tc_mm_args_t &,
                                                              cudaStream_t);
template cudaError_t bittcf_preload<double, SPMM_COMPUTE_64F>();

} // namespace spmm
