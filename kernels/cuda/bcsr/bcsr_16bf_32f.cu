/* SPDX-License-Identifier: Apache-2.0 */
/** @file bcsr_16bf_32f.cu  The BCSR kernels of BF16 with C in FP32. */
#include "cuda/bcsr/bcsr_launch.cuh"

namespace spmm
{

template cudaError_t bcsr_product<__nv_bfloat16, float>(const spmm_bcsr_arrays_t &,
                                                        const spmm_tc_work_t &,
                                                        const spmm_tc_mm_args_t &, cudaStream_t);
template cudaError_t bcsr_preload<__nv_bfloat16, float>();

} // namespace spmm
