/* SPDX-License-Identifier: Apache-2.0 */
/** @file bittcf.cu  The launcher of the BitTCF kernels, of which instances.cmake lists the
 *  modes. */
#include "cuda/dense/complex.cuh"
#include "cuda/windows/bittcf.h"

namespace spmmi
{

template <typename T, spmm_compute_t kCompute>
cudaError_t bittcf_product(const spmm_bittcf_arrays_t &A, const spmm_tc_work_t &work,
                           const spmm_tc_mm_args_t &args, cudaStream_t stream);
template <typename T, spmm_compute_t kCompute> cudaError_t bittcf_preload();

} // namespace spmmi

extern "C" cudaError_t spmmi_cuda_bittcf_preload(void)
{
    using namespace spmmi;
    cudaError_t (*const load[])() = {
        bittcf_preload<float, SPMM_COMPUTE_32F_FAST_TF32>,
        bittcf_preload<float, SPMM_COMPUTE_32F>,
        bittcf_preload<double, SPMM_COMPUTE_64F>,
        bittcf_preload<Complex<float>, SPMM_COMPUTE_32F_FAST_TF32>,
        bittcf_preload<Complex<float>, SPMM_COMPUTE_32F>,
        bittcf_preload<Complex<double>, SPMM_COMPUTE_64F>,
    };
    cudaError_t code = cudaSuccess;

    for (size_t k = 0; k < sizeof load / sizeof *load && code == cudaSuccess; k++) {
        code = load[k]();
    }
    return code;
}

namespace
{

template <typename Single, typename Double>
cudaError_t product(const spmm_bittcf_arrays_t &A, const spmm_tc_work_t &work,
                    const spmm_tc_mm_args_t &args, cudaStream_t stream)
{
    using namespace spmmi;

    switch (args.compute) {
    case SPMM_COMPUTE_32F_FAST_TF32:
        return bittcf_product<Single, SPMM_COMPUTE_32F_FAST_TF32>(A, work, args, stream);
    case SPMM_COMPUTE_32F:
        return bittcf_product<Single, SPMM_COMPUTE_32F>(A, work, args, stream);
    case SPMM_COMPUTE_64F:
        return bittcf_product<Double, SPMM_COMPUTE_64F>(A, work, args, stream);
    case SPMM_COMPUTE_AUTO:
        break;
    }
    return cudaErrorInvalidValue;
}

} // namespace

extern "C" cudaError_t spmmi_cuda_bittcf_mm(const spmm_bittcf_arrays_t *A,
                                            const spmm_tc_work_t       *work,
                                            const spmm_tc_mm_args_t *args, cudaStream_t stream)
{
    if (A->type == SPMM_C_64F || A->type == SPMM_C_32F) {
        return product<spmmi::Complex<float>, spmmi::Complex<double>>(*A, *work, *args, stream);
    }
    return product<float, double>(*A, *work, *args, stream);
}
