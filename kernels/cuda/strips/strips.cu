/* SPDX-License-Identifier: Apache-2.0 */
/** @file strips.cu  Which of the kernels of strips runs a product. */
#include "cuda/strips/strips.cuh"

#include <algorithm>

#include "cuda/strips/strips.h"

namespace spmmi
{
namespace
{

template <typename T, int kLanes>
cudaError_t launch_strips(const spmm_strips_args_t &A, const spmm_operands_t &x,
                          cudaStream_t stream)
{
    using Kernel          = Strip<T, kLanes>;
    const int64_t slices  = ceil_div(x.n, Kernel::kWidth);
    constexpr int kBlocks = 16; /* of a multiprocessor, in all */
    const int64_t wanted  = ceil_div((int64_t)kBlocks * A.n_sm, A.n_strips);
    const int64_t each    = ceil_div(slices, std::min({wanted, slices, (int64_t)kMaxGridYZ}));
    StripDense<T> dense   = {};

    dense.B        = (const T *)x.B;
    dense.C        = (T *)x.C;
    dense.ldb      = x.ldb;
    dense.ldc      = x.ldc;
    dense.alpha    = Factor<T>::of(x.alpha);
    dense.beta     = Factor<T>::of(x.beta);
    dense.has_beta = !is_zero(x.beta);
    dense.n        = (int32_t)x.n;
    dense.slices   = (int32_t)each;
    return launch_early(Kernel::room(A), strips_mm<T, kLanes>,
                        dim3((unsigned)A.n_strips, (unsigned)ceil_div(slices, each)),
                        dim3(kStripBlock), stream, A, dense);
}

template <typename T>
cudaError_t launch_strips(const spmm_strips_args_t &A, const spmm_operands_t &x,
                          cudaStream_t stream)
{
    if (x.n > INT32_MAX / 2) {
        return cudaErrorInvalidValue;
    }
    return x.n * (int64_t)sizeof(T) <= SPMM_STRIP_SLICE ? launch_strips<T, 2>(A, x, stream)
                                                        : launch_strips<T, 4>(A, x, stream);
}

template <typename T, int kLanes> cudaError_t preload_strips()
{
    spmm_strips_args_t most = {};
    const cudaError_t  code = preload(strips_mm<T, kLanes>);

    most.most_cols    = SPMM_STRIP_COLS;
    most.most_entries = SPMM_STRIP_ENTRIES;
    return code == cudaSuccess ? cudaFuncSetAttribute(strips_mm<T, kLanes>,
                                                      cudaFuncAttributeMaxDynamicSharedMemorySize,
                                                      (int)Strip<T, kLanes>::room(most))
                               : code;
}

} // namespace
} // namespace spmmi

extern "C" cudaError_t spmmi_cuda_strips_preload(void)
{
    cudaError_t (*const load[])() = {
        spmmi::preload_strips<double, 2>, spmmi::preload_strips<double, 4>,
        spmmi::preload_strips<float, 2>, spmmi::preload_strips<float, 4>};
    cudaError_t code = cudaSuccess;

    for (size_t k = 0; k < sizeof load / sizeof *load && code == cudaSuccess; k++) {
        code = load[k]();
    }
    return code;
}

extern "C" cudaError_t spmmi_cuda_strips_mm(const spmm_strips_args_t *A, const spmm_operands_t *x,
                                            cudaStream_t stream)
{
    if (A->n_strips == 0 || x->n <= 0) {
        return cudaSuccess;
    }
    switch (A->type) {
    case SPMM_R_64F:
        return spmmi::launch_strips<double>(*A, *x, stream);
    case SPMM_R_32F:
        return spmmi::launch_strips<float>(*A, *x, stream);
    default:
        return cudaErrorInvalidValue;
    }
}
