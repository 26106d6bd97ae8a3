/* SPDX-License-Identifier: Apache-2.0 */
/** @file cvse.cu  The launcher of the CVSE kernels, which one file for each pair of types holds. */
#include "cuda/rows.cuh"
#include "cuda/tc_probe.cuh"

namespace spmm
{

template <typename Half, typename Out>
cudaError_t cvse_product(const spmm_cvse_arrays_t &A, const spmm_cvse_short_t &tasks,
                         const spmm_tc_work_t &work, const spmm_tc_mm_args_t &args,
                         cudaStream_t stream);
template <typename Half, typename Out> cudaError_t cvse_preload();

cudaError_t preload_cvse(void)
{
    cudaError_t (*const load[])(void) = {cvse_preload<__half, __half>, cvse_preload<__half, float>,
                                         cvse_preload<__nv_bfloat16, __nv_bfloat16>,
                                         cvse_preload<__nv_bfloat16, float>};
    cudaError_t code                  = cudaSuccess;

    for (auto *const one : load) {
        code = code == cudaSuccess ? one() : code;
    }
    return code;
}

} // namespace spmm

extern "C" cudaError_t spmm_cuda_cvse_mm(const spmm_cvse_arrays_t *A,
                                         const spmm_cvse_short_t *tasks, const spmm_tc_work_t *work,
                                         const spmm_tc_mm_args_t *args, cudaStream_t stream)
{
    const bool same = args->c_type == args->ab_type;

    if (A->type != args->ab_type || (!same && args->c_type != SPMM_R_32F)) {
        return cudaErrorInvalidValue;
    }
    switch (args->ab_type) {
    case SPMM_R_16F:
        return same ? spmm::cvse_product<__half, __half>(*A, *tasks, *work, *args, stream)
                    : spmm::cvse_product<__half, float>(*A, *tasks, *work, *args, stream);
    case SPMM_R_16BF:
        return same ? spmm::cvse_product<__nv_bfloat16, __nv_bfloat16>(*A, *tasks, *work, *args,
                                                                       stream)
                    : spmm::cvse_product<__nv_bfloat16, float>(*A, *tasks, *work, *args, stream);
    default:
        return cudaErrorInvalidValue;
    }
}
