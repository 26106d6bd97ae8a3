/* SPDX-License-Identifier: Apache-2.0 */
/** @file values.cu  Values of a matrix as rows and lists: softmax, and the way to a format's places. */
#include "cuda/rows.cuh"
#include "cuda/tc_probe.cuh"

namespace spmm
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

/** A warp for each row: neighbours, whose values may lie in the same sectors (vectors of rows), are in
 *  one thread block, so the second look at them is into L1. */
template <typename In, typename Out, typename T>
__global__ void __launch_bounds__(kBlock) row_softmax(spmm_softmax_args_t args)
{
    const int64_t row   = ((int64_t)blockIdx.x * kBlock + threadIdx.x) / kWarp;
    const int     lane  = (int)threadIdx.x % kWarp;
    const In     *S     = (const In *)args.S;
    const T       scale = (T)args.scale;
    T             most = -INFINITY, sum = 0;

    if (row >= args.n_rows) {
        return;
    }
    const int  from = __ldg(args.row_ptr + row), to = __ldg(args.row_ptr + row + 1);
    const auto place = [&](int e) { return args.place == NULL ? e : __ldg(args.place + e); };

    for (int e = from + lane; e < to; e += kWarp) {
        most = fmax(most, scale * widen<T>(S[place(e)]));
    }
#pragma unroll
    for (int step = kWarp / 2; step > 0; step /= 2) {
        most = fmax(most, __shfl_xor_sync(kAll, most, step));
    }
    for (int e = from + lane; e < to; e += kWarp) {
        sum += exp_of(scale * widen<T>(S[place(e)]) - most);
    }
#pragma unroll
    for (int step = kWarp / 2; step > 0; step /= 2) {
        sum += __shfl_xor_sync(kAll, sum, step);
    }
    for (int e = from + lane; e < to; e += kWarp) { /* P may be S: an element is its lane's alone */
        const int at = place(e);

        ((Out *)args.P)[at] = Narrow<Out>::from(exp_of(scale * widen<T>(S[at]) - most) / sum);
    }
}

template <typename U> __global__ void __launch_bounds__(kBlock) place_values(spmm_place_args_t args)
{
    const int64_t step = (int64_t)gridDim.x * kBlock;

    for (int64_t i = (int64_t)blockIdx.x * kBlock + threadIdx.x; i < args.count; i += step) {
        const int32_t from = __ldg(args.source + i);

        if (from >= 0) {
            ((U *)args.to)[i] = ((const U *)args.from)[from];
        }
    }
}

template <typename In, typename Out, typename T>
cudaError_t run_softmax(const spmm_softmax_args_t &args, cudaStream_t stream)
{
    const int64_t blocks = ceil_div((int64_t)args.n_rows * kWarp, kBlock);

    return blocks == 0 ? cudaSuccess
                       : launch(row_softmax<In, Out, T>, dim3((unsigned)blocks), dim3(kBlock),
                                stream, args);
}

template <typename U> cudaError_t run_place(const spmm_place_args_t &args, cudaStream_t stream)
{
    const int64_t blocks = least(ceil_div(args.count, kBlock), 65536);

    return blocks == 0
               ? cudaSuccess
               : launch(place_values<U>, dim3((unsigned)blocks), dim3(kBlock), stream, args);
}

} // namespace

cudaError_t preload_values()
{
    return preload(row_softmax<double, double, double>, row_softmax<float, float, float>,
                   row_softmax<__half, __half, float>, row_softmax<float, __half, float>,
                   row_softmax<__nv_bfloat16, __nv_bfloat16, float>,
                   row_softmax<float, __nv_bfloat16, float>, place_values<uint16_t>,
                   place_values<uint32_t>, place_values<uint64_t>);
}

} // namespace spmm

extern "C" cudaError_t spmm_cuda_row_softmax(const spmm_softmax_args_t *args, cudaStream_t stream)
{
    const bool same = args->s_type == args->p_type;

    if (!same && args->s_type != SPMM_R_32F) {
        return cudaErrorInvalidValue;
    }
    switch (args->p_type) {
    case SPMM_R_64F:
        return same ? spmm::run_softmax<double, double, double>(*args, stream)
                    : cudaErrorInvalidValue;
    case SPMM_R_32F:
        return spmm::run_softmax<float, float, float>(*args, stream);
    case SPMM_R_16F:
        return same ? spmm::run_softmax<__half, __half, float>(*args, stream)
                    : spmm::run_softmax<float, __half, float>(*args, stream);
    case SPMM_R_16BF:
        return same ? spmm::run_softmax<__nv_bfloat16, __nv_bfloat16, float>(*args, stream)
                    : spmm::run_softmax<float, __nv_bfloat16, float>(*args, stream);
    default:
        return cudaErrorInvalidValue;
    }
}

extern "C" cudaError_t spmm_cuda_place_values(const spmm_place_args_t *args, cudaStream_t stream)
{
    switch (args->elem_size) {
    case 2:
        return spmm::run_place<uint16_t>(*args, stream);
    case 4:
        return spmm::run_place<uint32_t>(*args, stream);
    case 8:
        return spmm::run_place<uint64_t>(*args, stream);
    default:
        return cudaErrorInvalidValue;
    }
}
