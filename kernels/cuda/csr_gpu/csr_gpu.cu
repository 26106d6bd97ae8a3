/* SPDX-License-Identifier: Apache-2.0 */
/** @file csr_gpu.cu  The launcher of the CSR kernels, of which instances.cmake lists the types. */
#include "cuda/csr_gpu/csr_gpu.h"
#include "cuda/tc/tc_half.cuh"

namespace spmm
{

template <typename T, typename C>
cudaError_t csr_product(const spmm_csr_pieces_t &A, const spmm_tc_mm_args_t &args,
                        cudaStream_t stream);
template <typename T, typename C> cudaError_t csr_preload();

} // namespace spmm

extern "C" cudaError_t spmmi_cuda_csr_preload(void)
{
    using namespace spmm;
    cudaError_t code = csr_preload<float, float>();

    code = code == cudaSuccess ? csr_preload<double, double>() : code;
    return code != cudaSuccess ? code : for_all_half_types([](auto types) {
        return csr_preload<typename decltype(types)::Half, typename decltype(types)::Out>();
    });
}

extern "C" cudaError_t spmmi_cuda_csr_mm(const spmm_csr_pieces_t *A, const spmm_tc_mm_args_t *args,
                                         cudaStream_t stream)
{
    const bool wide_c = A->c_type == SPMM_R_32F;

    if (A->c_type != A->ab_type && !wide_c) {
        return cudaErrorInvalidValue;
    }
    switch (A->ab_type) {
    case SPMM_R_64F:
        return wide_c ? cudaErrorInvalidValue
                      : spmm::csr_product<double, double>(*A, *args, stream);
    case SPMM_R_32F:
        return spmm::csr_product<float, float>(*A, *args, stream);
    case SPMM_R_16F:
        return wide_c ? spmm::csr_product<__half, float>(*A, *args, stream)
                      : spmm::csr_product<__half, __half>(*A, *args, stream);
    case SPMM_R_16BF:
        return wide_c ? spmm::csr_product<__nv_bfloat16, float>(*A, *args, stream)
                      : spmm::csr_product<__nv_bfloat16, __nv_bfloat16>(*A, *args, stream);
    case SPMM_TYPE_AUTO:
        break;
    }
    return cudaErrorInvalidValue;
}
