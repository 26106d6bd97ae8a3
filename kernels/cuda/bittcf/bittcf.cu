/* SPDX-License-Identifier: Apache-2.0 */
/** @file bittcf.cu  The launcher of the BitTCF kernels, of which instances.cmake lists the
 *  modes. */
#include "cuda/bittcf/bittcf.h"

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
    cudaError_t code = bittcf_preload<float, SPMM_COMPUTE_32F_FAST_TF32>();

    if (code == cudaSuccess) {
        code = bittcf_preload<float, SPMM_COMPUTE_32F>();
    }
    return code != cudaSuccess ? code : bittcf_preload<double, SPMM_COMPUTE_64F>();
}

extern "C" cudaError_t spmmi_cuda_bittcf_mm(const spmm_bittcf_arrays_t *A,
                                            const spmm_tc_work_t       *work,
                                            const spmm_tc_mm_args_t *args, cudaStream_t stream)
{
    switch (args->compute) {
    case SPMM_COMPUTE_32F_FAST_TF32:
        return spmmi::bittcf_product<float, SPMM_COMPUTE_32F_FAST_TF32>(*A, *work, *args, stream);
    case SPMM_COMPUTE_32F:
        return spmmi::bittcf_product<float, SPMM_COMPUTE_32F>(*A, *work, *args, stream);
    case SPMM_COMPUTE_64F:
        return spmmi::bittcf_product<double, SPMM_COMPUTE_64F>(*A, *work, *args, stream);
    case SPMM_COMPUTE_AUTO:
        break;
    }
    return cudaErrorInvalidValue;
}
