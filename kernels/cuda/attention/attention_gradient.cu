/* SPDX-License-Identifier: Apache-2.0 */
/** @file attention_gradient.cu  Launchers of attention_gradient.cuh. */
#include "cuda/attention/attention_gradient.cuh"

namespace spmmi
{
namespace
{

/* Of a thread block, at most: a group of more windows gives each warp two. */
constexpr int kWarps   = 16;
constexpr int kThreads = kWarps * kWarp;
constexpr int kMost    = 64; /* columns of a head */

using Kernel = void(spmm_attention_windows_t, spmm_attention_gradient_t, GradientSides);

template <typename Half> Kernel *kernel_for(int height, int windows, bool key)
{
    if (height == 16) {
        return windows > kWarps || key ? NULL
                                       : attention_gradient<Half, kMost, 2, 1, kThreads, false>;
    }
    if (key) {
        return windows > kWarps ? NULL : attention_gradient<Half, kMost, 1, 1, kThreads, true>;
    }
    return windows > kWarps ? attention_gradient<Half, kMost, 1, 2, kThreads, false>
                            : attention_gradient<Half, kMost, 1, 1, kThreads, false>;
}

template <typename Half> cudaError_t load(int height, int windows, bool key)
{
    return allow_shared(kernel_for<Half>(height, windows, key));
}

cudaError_t run(const spmm_attention_windows_t &mask, const spmm_attention_gradient_t &args,
                const GradientSides &sides, bool key, cudaStream_t stream)
{
    const int     warps  = mask.windows > kWarps ? mask.windows / 2 : mask.windows;
    const int     shared = attention_shared(mask.width, kMost, key);
    Kernel *const kernel = args.type == SPMM_R_16F
                               ? kernel_for<__half>(mask.height, mask.windows, key)
                               : kernel_for<__nv_bfloat16>(mask.height, mask.windows, key);

    if (kernel == NULL || args.k > kMost || args.k % 8 != 0 || sides.ld_x > INT32_MAX ||
        sides.ld_y > INT32_MAX) {
        return cudaErrorInvalidValue;
    }
    return mask.n_groups == 0
               ? cudaSuccess
               : launch_with((size_t)shared, kernel,
                             dim3((unsigned)mask.n_groups, (unsigned)args.heads),
                             dim3((unsigned)(warps * kWarp)), stream, mask, args, sides);
}

} // namespace
} // namespace spmmi

extern "C" cudaError_t spmmi_cuda_attention_gradient_preload(void)
{
    using namespace spmmi;
    cudaError_t code = cudaSuccess;

    for (int which = 0; which < 8 && code == cudaSuccess; which++) {
        const int  height = which % 2 == 0 ? 8 : 16, windows = which / 2 % 2 == 0 ? 16 : 32;
        const bool key = which / 4 == 1;

        code = load<__half>(height, windows, key);
        code = code == cudaSuccess ? load<__nv_bfloat16>(height, windows, key) : code;
    }
    return code;
}

extern "C" cudaError_t spmmi_cuda_attention_query_windows(const spmm_attention_windows_t  *mask,
                                                          const spmm_attention_gradient_t *args,
                                                          cudaStream_t                     stream)
{
    return spmmi::run(
        *mask, *args,
        {args->Q, args->dO, args->K, args->V, args->ldq, args->ldo, args->ldk, args->ldv}, false,
        stream);
}

extern "C" cudaError_t spmmi_cuda_attention_key_windows(const spmm_attention_windows_t  *mask,
                                                        const spmm_attention_gradient_t *args,
                                                        cudaStream_t                     stream)
{
    return spmmi::run(
        *mask, *args,
        {args->K, args->V, args->Q, args->dO, args->ldk, args->ldv, args->ldq, args->ldo}, true,
        stream);
}
