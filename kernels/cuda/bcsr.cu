/* SPDX-License-Identifier: Apache-2.0 */
/** @file bcsr.cu  The launcher of the BCSR kernels, which one file for each pair of types holds. */
#include "cuda/rows.cuh"
#include "cuda/tc_probe.cuh"

namespace spmm
{

template <typename Half, typename Out>
cudaError_t bcsr_product(const spmm_bcsr_arrays_t &A, const spmm_tc_work_t &work,
                         const spmm_tc_mm_args_t &args, cudaStream_t stream);
template <typename Half, typename Out> cudaError_t bcsr_preload();

/** That of bcsr_fill.cu. */
cudaError_t preload_bcsr_fill(void);

cudaError_t preload_bcsr(void)
{
    cudaError_t (*const load[])(void) = {bcsr_preload<__half, __half>, bcsr_preload<__half, float>,
                                         bcsr_preload<__nv_bfloat16, __nv_bfloat16>,
                                         bcsr_preload<__nv_bfloat16, float>};
    cudaError_t code                  = preload_bcsr_fill();

    for (auto *const one : load) {
        code = code == cudaSuccess ? one() : code;
    }
    return code;
}

} // namespace spmm

extern "C" cudaError_t spmm_cuda_bcsr_mm(const spmm_bcsr_arrays_t *A, const spmm_tc_work_t *work,
                                         const spmm_tc_mm_args_t *args, cudaStream_t stream)
{
    const bool same = args->c_type == args->ab_type;

    if (A->type != args->ab_type || (!same && args->c_type != SPMM_R_32F)) {
        return cudaErrorInvalidValue;
    }
    switch (args->ab_type) {
    case SPMM_R_16F:
        return same ? spmm::bcsr_product<__half, __half>(*A, *work, *args, stream)
                    : spmm::bcsr_product<__half, float>(*A, *work, *args, stream);
    case SPMM_R_16BF:
        return same ? spmm::bcsr_product<__nv_bfloat16, __nv_bfloat16>(*A, *work, *args, stream)
                    : spmm::bcsr_product<__nv_bfloat16, float>(*A, *work, *args, stream);
    default:
        return cudaErrorInvalidValue;
    }
}
