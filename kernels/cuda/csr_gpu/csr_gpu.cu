/* SPDX-License-Identifier: Apache-2.0 */
/** @file csr_gpu.cu  The launcher of the CSR kernels, of which instances.cmake lists the types. */
#include "cuda/csr_gpu/csr_gpu.h"
#include "cuda/tc/tc_half.cuh"

namespace spmmi
{

template <typename T, typename C>
cudaError_t csr_product(const spmm_csr_pieces_t &A, const spmm_operands_t &x, cudaStream_t stream);
template <typename T, typename C> cudaError_t csr_preload();

} // namespace spmmi

using spmmi::Complex;

extern "C" cudaError_t spmmi_cuda_csr_preload(void)
{
    using namespace spmmi;
    cudaError_t code = csr_preload<float, float>();

    code = code == cudaSuccess ? csr_preload<double, double>() : code;
    code = code == cudaSuccess ? csr_preload<Complex<float>, Complex<float>>() : code;
    code = code == cudaSuccess ? csr_preload<Complex<double>, Complex<double>>() : code;
    return code != cudaSuccess ? code : for_all_half_types([](auto types) {
        return csr_preload<typename decltype(types)::Half, typename decltype(types)::Out>();
    });
}

extern "C" cudaError_t spmmi_cuda_csr_mm(const spmm_csr_pieces_t *A, const spmm_operands_t *x,
                                         cudaStream_t stream)
{
    const bool wide_c = x->c_type == SPMM_R_32F;

    if (x->c_type != A->type && !wide_c) {
        return cudaErrorInvalidValue;
    }
    switch (A->type) {
    case SPMM_R_64F:
        return wide_c ? cudaErrorInvalidValue : spmmi::csr_product<double, double>(*A, *x, stream);
    case SPMM_R_32F:
        return spmmi::csr_product<float, float>(*A, *x, stream);
    case SPMM_R_16F:
        return wide_c ? spmmi::csr_product<__half, float>(*A, *x, stream)
                      : spmmi::csr_product<__half, __half>(*A, *x, stream);
    case SPMM_R_16BF:
        return wide_c ? spmmi::csr_product<__nv_bfloat16, float>(*A, *x, stream)
                      : spmmi::csr_product<__nv_bfloat16, __nv_bfloat16>(*A, *x, stream);
    case SPMM_C_64F:
        return wide_c ? cudaErrorInvalidValue
                      : spmmi::csr_product<Complex<double>, Complex<double>>(*A, *x, stream);
    case SPMM_C_32F:
        return wide_c ? cudaErrorInvalidValue
                      : spmmi::csr_product<Complex<float>, Complex<float>>(*A, *x, stream);
    case SPMM_TYPE_AUTO:
        break;
    }
    return cudaErrorInvalidValue;
}
