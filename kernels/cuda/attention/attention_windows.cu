/* SPDX-License-Identifier: Apache-2.0 */
/** @file attention_windows.cu  Launcher of attention_windows.cuh. */
#include "cuda/attention/attention_windows.cuh"

namespace spmmi
{
namespace
{

/* Of a thread block, at most: a group of more windows gives each warp two. */
constexpr int kWarps   = 16;
constexpr int kThreads = kWarps * kWarp;

using Kernel = void(spmm_attention_windows_t, spmm_attention_args_t);

template <typename Half, int kK, int kTiles>
Kernel *kernel_for(const spmm_attention_windows_t &mask)
{
    if constexpr (kK == 64 && kTiles == 1) {
        if (mask.windows > kWarps) {
            return attention_windows<Half, kK, kTiles, 2, kThreads, 1>;
        }
    }
    return mask.windows > kWarps ? NULL : attention_windows<Half, kK, kTiles, 1, kThreads, 1>;
}

template <typename Half> Kernel *kernel_for(const spmm_attention_windows_t &mask, int64_t k)
{
    if (k <= 64) {
        return mask.height == 8 ? kernel_for<Half, 64, 1>(mask) : kernel_for<Half, 64, 2>(mask);
    }
    return mask.height == 8 ? kernel_for<Half, 128, 1>(mask) : kernel_for<Half, 128, 2>(mask);
}

template <typename Half> cudaError_t load(int height, int windows, int64_t k)
{
    spmm_attention_windows_t mask = {};

    mask.height  = height;
    mask.windows = windows;
    return allow_shared(kernel_for<Half>(mask, k));
}

template <typename Half> cudaError_t load_all()
{
    cudaError_t code = cudaSuccess;

    for (int which = 0; which < 8 && code == cudaSuccess; which++) {
        code = load<Half>(which % 2 == 0 ? 8 : 16, which / 2 % 2 == 0 ? kWarps : 2 * kWarps,
                          which / 4 == 0 ? 64 : 128);
    }
    return code;
}

} // namespace
} // namespace spmmi

extern "C" cudaError_t spmmi_cuda_attention_windows_preload(void)
{
    const cudaError_t code = spmmi::load_all<__half>();

    return code == cudaSuccess ? spmmi::load_all<__nv_bfloat16>() : code;
}

extern "C" cudaError_t spmmi_cuda_attention_windows(const spmm_attention_windows_t *mask,
                                                    const spmm_attention_args_t    *args,
                                                    cudaStream_t                    stream)
{
    using namespace spmmi;
    const int     warps  = mask->windows > kWarps ? mask->windows / 2 : mask->windows;
    const int     shared = attention_shared(mask->width, args->k <= 64 ? 64 : 128);
    const dim3    grid((unsigned)mask->n_groups, (unsigned)args->heads);
    Kernel *const kernel = args->type == SPMM_R_16F ? kernel_for<__half>(*mask, args->k)
                                                    : kernel_for<__nv_bfloat16>(*mask, args->k);

    if (kernel == NULL || args->k > 128 || args->k % 8 != 0 || args->ldk > INT32_MAX ||
        args->ldv > INT32_MAX) {
        return cudaErrorInvalidValue;
    }
    if (mask->n_groups == 0) {
        return cudaSuccess;
    }
    return launch_with((size_t)shared, kernel, grid, dim3((unsigned)(warps * kWarp)), stream, *mask,
                       *args);
}
