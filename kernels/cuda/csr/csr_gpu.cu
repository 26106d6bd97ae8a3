/* SPDX-License-Identifier: Apache-2.0 */
/** @file csr_gpu.cu  The launcher of the CSR kernels, of which instances.cmake lists the types. */
#include "cuda/csr/csr_gpu.h"
#include "cuda/windows/tc_half.cuh"

namespace spmmi
{

template <typename T, typename C>
cudaError_t csr_product(const spmm_csr_items_t &A, const spmm_operands_t &x, cudaStream_t stream);
template <typename T, typename C>
cudaError_t csr_wait_product(const spmm_csr_items_t &A, const spmm_csr_rows_t &rows,
                             const spmm_operands_t &x, cudaStream_t stream);
template <typename T, typename C> cudaError_t csr_preload();

template <typename T, typename C> struct CsrTypes {
    using In  = T;
    using Out = C;
};

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

/* Calls use(types) with the types of A and of C. */
template <class Use> static cudaError_t for_types(spmm_type_t type, spmm_type_t c_type, Use use)
{
    using namespace spmmi;
    const bool wide_c = c_type == SPMM_R_32F;

    if (c_type != type && !wide_c) {
        return cudaErrorInvalidValue;
    }
    switch (type) {
    case SPMM_R_64F:
        return wide_c ? cudaErrorInvalidValue : use(CsrTypes<double, double>());
    case SPMM_R_32F:
        return use(CsrTypes<float, float>());
    case SPMM_R_16F:
        return wide_c ? use(CsrTypes<__half, float>()) : use(CsrTypes<__half, __half>());
    case SPMM_R_16BF:
        return wide_c ? use(CsrTypes<__nv_bfloat16, float>())
                      : use(CsrTypes<__nv_bfloat16, __nv_bfloat16>());
    case SPMM_C_64F:
        return wide_c ? cudaErrorInvalidValue : use(CsrTypes<Complex<double>, Complex<double>>());
    case SPMM_C_32F:
        return wide_c ? cudaErrorInvalidValue : use(CsrTypes<Complex<float>, Complex<float>>());
    case SPMM_TYPE_AUTO:
        break;
    }
    return cudaErrorInvalidValue;
}

extern "C" cudaError_t spmmi_cuda_csr_mm(const spmm_csr_items_t *A, const spmm_operands_t *x,
                                         cudaStream_t stream)
{
    return for_types(A->type, x->c_type, [&](auto types) {
        return spmmi::csr_product<typename decltype(types)::In, typename decltype(types)::Out>(
            *A, *x, stream);
    });
}

extern "C" cudaError_t spmmi_cuda_csr_wait_mm(const spmm_csr_items_t *A,
                                              const spmm_csr_rows_t *rows, const spmm_operands_t *x,
                                              cudaStream_t stream)
{
    return for_types(A->type, x->c_type, [&](auto types) {
        return spmmi::csr_wait_product<typename decltype(types)::In, typename decltype(types)::Out>(
            *A, *rows, *x, stream);
    });
}
