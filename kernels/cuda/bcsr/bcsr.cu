/* SPDX-License-Identifier: Apache-2.0 */
/** @file bcsr.cu  The launcher of the BCSR kernels, of which instances.cmake lists the types. */
#include "cuda/bcsr/bcsr.h"
#include "cuda/windows/tc_half.cuh"

namespace spmmi
{

template <typename Half, typename Out>
cudaError_t bcsr_product(const spmm_bcsr_arrays_t &A, const spmm_tc_work_t &work,
                         const spmm_tc_mm_args_t &args, cudaStream_t stream);
template <typename Half, typename Out> cudaError_t bcsr_preload();

/** That of bcsr_fill.cu. */
cudaError_t preload_bcsr_fill(void);

} // namespace spmmi

extern "C" cudaError_t spmmi_cuda_bcsr_preload(void)
{
    using namespace spmmi;
    const cudaError_t code = preload_bcsr_fill();

    return code != cudaSuccess ? code : for_all_half_types([](auto types) {
        return bcsr_preload<typename decltype(types)::Half, typename decltype(types)::Out>();
    });
}

extern "C" cudaError_t spmmi_cuda_bcsr_mm(const spmm_bcsr_arrays_t *A, const spmm_tc_work_t *work,
                                          const spmm_tc_mm_args_t *args, cudaStream_t stream)
{
    return spmmi::for_half_types(A->type, *args, [&](auto types) {
        return spmmi::bcsr_product<typename decltype(types)::Half, typename decltype(types)::Out>(
            *A, *work, *args, stream);
    });
}
