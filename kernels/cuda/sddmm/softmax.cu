/* SPDX-License-Identifier: Apache-2.0 */
/** @file softmax.cu  Softmax of the rows of a sparse matrix. */
#include "cuda/dense/rows.cuh"
#include "cuda/sddmm/sddmm.h"

namespace spmmi
{
namespace
{

constexpr unsigned kAll = 0xffffffffu;

__device__ __forceinline__ float exp_of(float x)
{
    return expf(x);
}
__device__ __forceinline__ double exp_of(double x)
{
    return exp(x);
}

struct Max {
    template <typename T> static __device__ __forceinline__ T of(T a, T b)
    {
        return fmax(a, b);
    }
};
struct Sum {
    template <typename T> static __device__ __forceinline__ T of(T a, T b)
    {
        return a + b;
    }
};

/** Over the threads with the same row of a group of kVector, of a warp (kThreads 32) or of the
 *  whole thread block; every thread gets it. */
template <class Op, int kVector, int kThreads, typename T>
__device__ __forceinline__ T reduce(T x, T (*shared)[kVector])
{
    const int lane = (int)threadIdx.x % kWarp, warp = (int)threadIdx.x / kWarp;

#pragma unroll
    for (int step = kWarp / 2; step >= kVector; step /= 2) {
        x = Op::of(x, __shfl_xor_sync(kAll, x, step));
    }
    if constexpr (kThreads > kWarp) {
        if (lane < kVector) {
            shared[warp][lane] = x;
        }
        __syncthreads();
        x = shared[0][lane % kVector];
#pragma unroll
        for (int w = 1; w < kThreads / kWarp; w++) {
            x = Op::of(x, shared[w][lane % kVector]);
        }
    }
    return x;
}

/** A thread block for each group of rows, or a warp for each row where they come alone.  All
 *  look at the values three times, of which two find them in L1. */
template <typename In, typename Out, typename T, int kVector>
__global__ void __launch_bounds__(kBlock) row_softmax(spmm_softmax_args_t args)
{
    constexpr int kThreads = kVector == 1 ? kWarp : kBlock;
    constexpr int kStep    = kThreads / kVector;
    __shared__ T  most_of[kBlock / kWarp][kVector], sum_of[kBlock / kWarp][kVector];
    const int64_t group = ((int64_t)blockIdx.x * kBlock + threadIdx.x) / kThreads;
    const int     r     = (int)threadIdx.x % kVector;
    const In     *S     = (const In *)args.S;
    const T       scale = (T)args.scale;
    T             most = -INFINITY, sum = 0;

    if (group >= args.n_groups) { /* whole warps, and never one of several of a group */
        return;
    }
    /* Unsigned: a step past the last of 2^31 entries is no wrong place. */
    const uint32_t from  = __ldg(args.group_ptr + group) + threadIdx.x % kThreads / kVector;
    const uint32_t to    = __ldg(args.group_ptr + group + 1);
    const auto     place = [&](uint32_t p) {
        return (args.place == NULL ? (int64_t)p * kVector : (int64_t)__ldg(args.place + p)) + r;
    };

    for (uint32_t p = from; p < to; p += kStep) {
        most = fmax(most, scale * widen<T>(S[place(p)]));
    }
    most = reduce<Max, kVector, kThreads>(most, most_of);
    for (uint32_t p = from; p < to; p += kStep) {
        sum += exp_of(scale * widen<T>(S[place(p)]) - most);
    }
    sum = reduce<Sum, kVector, kThreads>(sum, sum_of);
    for (uint32_t p = from; p < to; p += kStep) { /* P may be S: a value is its thread's alone */
        const int64_t at = place(p);

        ((Out *)args.P)[at] = Narrow<Out>::from(exp_of(scale * widen<T>(S[at]) - most) / sum);
    }
}

template <typename In, typename Out, typename T>
cudaError_t run_softmax(const spmm_softmax_args_t &args, cudaStream_t stream)
{
    const int64_t threads = args.vector == 1 ? kWarp : kBlock;
    const dim3    grid((unsigned)ceil_div(args.n_groups * threads, kBlock)), block(kBlock);

    if (args.n_groups == 0) {
        return cudaSuccess;
    }
    switch (args.vector) {
    case 1:
        return launch(row_softmax<In, Out, T, 1>, grid, block, stream, args);
    case 2:
        return launch(row_softmax<In, Out, T, 2>, grid, block, stream, args);
    case 4:
        return launch(row_softmax<In, Out, T, 4>, grid, block, stream, args);
    case 8:
        return launch(row_softmax<In, Out, T, 8>, grid, block, stream, args);
    case 16:
        return launch(row_softmax<In, Out, T, 16>, grid, block, stream, args);
    default:
        return cudaErrorInvalidValue;
    }
}

template <typename In, typename Out, typename T> cudaError_t load_softmax()
{
    return preload(row_softmax<In, Out, T, 1>, row_softmax<In, Out, T, 2>,
                   row_softmax<In, Out, T, 4>, row_softmax<In, Out, T, 8>,
                   row_softmax<In, Out, T, 16>);
}

} // namespace
} // namespace spmmi

extern "C" cudaError_t spmmi_cuda_softmax_preload(void)
{
    using namespace spmmi;
    cudaError_t (*const all[])() = {load_softmax<double, double, double>,
                                    load_softmax<float, float, float>,
                                    load_softmax<__half, __half, float>,
                                    load_softmax<float, __half, float>,
                                    load_softmax<__nv_bfloat16, __nv_bfloat16, float>,
                                    load_softmax<float, __nv_bfloat16, float>};
    cudaError_t code             = cudaSuccess;

    for (auto *const one : all) {
        code = code == cudaSuccess ? one() : code;
    }
    return code;
}

extern "C" cudaError_t spmmi_cuda_row_softmax(const spmm_softmax_args_t *args, cudaStream_t stream)
{
    const bool same = args->s_type == args->p_type;

    if (!same && args->s_type != SPMM_R_32F) {
        return cudaErrorInvalidValue;
    }
    switch (args->p_type) {
    case SPMM_R_64F:
        return same ? spmmi::run_softmax<double, double, double>(*args, stream)
                    : cudaErrorInvalidValue;
    case SPMM_R_32F:
        return spmmi::run_softmax<float, float, float>(*args, stream);
    case SPMM_R_16F:
        return same ? spmmi::run_softmax<__half, __half, float>(*args, stream)
                    : spmmi::run_softmax<float, __half, float>(*args, stream);
    case SPMM_R_16BF:
        return same ? spmmi::run_softmax<__nv_bfloat16, __nv_bfloat16, float>(*args, stream)
                    : spmmi::run_softmax<float, __nv_bfloat16, float>(*args, stream);
    default:
        return cudaErrorInvalidValue;
    }
}
