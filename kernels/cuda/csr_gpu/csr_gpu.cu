/* SPDX-License-Identifier: Apache-2.0 */
/** @file csr_gpu.cu  The launcher of the CSR kernels, and those of FP32 and FP64. */
#include "cuda/csr_gpu/csr_gpu_launch.cuh"
#include "cuda/tc/tc_probe.cuh"

namespace spmm
{

extern template cudaError_t csr_product<__half, __half>(const spmm_csr_pieces_t &,
                                                        const spmm_operands_t &, cudaStream_t);
extern template cudaError_t csr_product<__half, float>(const spmm_csr_pieces_t &,
                                                       const spmm_operands_t &, cudaStream_t);
extern template cudaError_t csr_product<__nv_bfloat16, __nv_bfloat16>(const spmm_csr_pieces_t &,
                                                                      const spmm_operands_t &,
                                                                      cudaStream_t);
extern template cudaError_t
csr_product<__nv_bfloat16, float>(const spmm_csr_pieces_t &, const spmm_operands_t &, cudaStream_t);
extern template cudaError_t csr_preload<__half, __half>();
extern template cudaError_t csr_preload<__half, float>();
extern template cudaError_t csr_preload<__nv_bfloat16, __nv_bfloat16>();
extern template cudaError_t csr_preload<__nv_bfloat16, float>();

cudaError_t preload_csr(void)
{
    cudaError_t (*const all[])() = {csr_preload<float, float>,
                                    csr_preload<double, double>,
                                    csr_preload<__half, __half>,
                                    csr_preload<__half, float>,
                                    csr_preload<__nv_bfloat16, __nv_bfloat16>,
                                    csr_preload<__nv_bfloat16, float>};
    cudaError_t code             = cudaSuccess;

    for (size_t k = 0; k < sizeof all / sizeof all[0] && code == cudaSuccess; k++) {
        code = all[k]();
    }
    return code;
}

} // namespace spmm

extern "C" cudaError_t spmmi_cuda_csr_mm(const spmm_csr_pieces_t *A, const spmm_operands_t *x,
                                         cudaStream_t stream)
{
    const bool wide_c = x->c_type == SPMM_R_32F;

    if (x->c_type != A->type && !wide_c) {
        return cudaErrorInvalidValue;
    }
    switch (A->type) {
    case SPMM_R_64F:
        return wide_c ? cudaErrorInvalidValue : spmm::csr_product<double, double>(*A, *x, stream);
    case SPMM_R_32F:
        return spmm::csr_product<float, float>(*A, *x, stream);
    case SPMM_R_16F:
        return wide_c ? spmm::csr_product<__half, float>(*A, *x, stream)
                      : spmm::csr_product<__half, __half>(*A, *x, stream);
    case SPMM_R_16BF:
        return wide_c ? spmm::csr_product<__nv_bfloat16, float>(*A, *x, stream)
                      : spmm::csr_product<__nv_bfloat16, __nv_bfloat16>(*A, *x, stream);
    case SPMM_TYPE_AUTO:
        break;
    }
    return cudaErrorInvalidValue;
}
