/* SPDX-License-Identifier: Apache-2.0 */
/** @file csr_gpu_16.cu  The CSR kernels of FP16 and BF16. */
#include "cuda/csr_gpu/csr_gpu_launch.cuh"

namespace spmm
{

template cudaError_t csr_product<__half, __half>(const spmm_csr_pieces_t &, const spmm_operands_t &,
                                                 cudaStream_t);
template cudaError_t csr_product<__half, float>(const spmm_csr_pieces_t &, const spmm_operands_t &,
                                                cudaStream_t);
template cudaError_t csr_product<__nv_bfloat16, __nv_bfloat16>(const spmm_csr_pieces_t &,
                                                               const spmm_operands_t &,
                                                               cudaStream_t);
template cudaError_t csr_product<__nv_bfloat16, float>(const spmm_csr_pieces_t &,
                                                       const spmm_operands_t &, cudaStream_t);
template cudaError_t csr_preload<__half, __half>();
template cudaError_t csr_preload<__half, float>();
template cudaError_t csr_preload<__nv_bfloat16, __nv_bfloat16>();
template cudaError_t csr_preload<__nv_bfloat16, float>();

} // namespace spmm
