/* SPDX-License-Identifier: Apache-2.0 */
/** @file cvse.cu  The launcher of the CVSE kernels, of which instances.cmake lists the types. */
#include "cuda/cvse/cvse.h"
#include "cuda/windows/tc_half.cuh"

namespace spmmi
{

template <typename Half, typename Out>
cudaError_t cvse_product(const spmm_cvse_arrays_t &A, const spmm_cvse_short_t &tasks,
                         const spmm_tc_work_t &work, const spmm_tc_mm_args_t &args,
                         cudaStream_t stream);
template <typename Half, typename Out> cudaError_t cvse_preload();

} // namespace spmmi

extern "C" cudaError_t spmmi_cuda_cvse_preload(void)
{
    using namespace spmmi;
    return for_all_half_types([](auto types) {
        return cvse_preload<typename decltype(types)::Half, typename decltype(types)::Out>();
    });
}

extern "C" cudaError_t spmmi_cuda_cvse_mm(const spmm_cvse_arrays_t *A,
                                          const spmm_cvse_short_t  *tasks,
                                          const spmm_tc_work_t *work, const spmm_tc_mm_args_t *args,
                                          cudaStream_t stream)
{
    return spmmi::for_half_types(A->type, *args, [&](auto types) {
        return spmmi::cvse_product<typename decltype(types)::Half, typename decltype(types)::Out>(
            *A, *tasks, *work, *args, stream);
    });
}
