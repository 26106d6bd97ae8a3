/* SPDX-License-Identifier: Apache-2.0 */
/** @file round.cu  Rows that travel in a shorter type. */
#include <type_traits>

#include "cuda/dense/rows.cuh"

namespace spmmi
{
namespace
{

/** Of two types that hold the same numbers, one with more bits of each. */
template <typename D, typename S> using wider_t = std::conditional_t<(sizeof(D) > sizeof(S)), D, S>;

/** V elements for each thread, which both sides have in one access. */
template <typename D, typename S, int V>
__global__ void __launch_bounds__(kBlock)
    round_all(const S *__restrict__ src, D *__restrict__ dst, int64_t count)
{
    const int64_t step = (int64_t)gridDim.x * kBlock * V;

    for (int64_t i = ((int64_t)blockIdx.x * kBlock + threadIdx.x) * V; i < count; i += step) {
        const Pack<S, V> from = *(const Pack<S, V> *)(src + i);
        Pack<D, V>       to;

#pragma unroll
        for (int k = 0; k < V; k++) {
            to.at[k] = Narrow<D>::from(widen<wider_t<D, S>>(from.at[k]));
        }
        *(Pack<D, V> *)(dst + i) = to;
    }
}

template <typename D, typename S, int V>
cudaError_t run(const spmm_round_args_t &args, cudaStream_t stream)
{
    const int64_t blocks = least(ceil_div(args.count, (int64_t)V * kBlock), 65536);

    return blocks == 0 ? cudaSuccess
                       : launch(round_all<D, S, V>, dim3((unsigned)blocks), dim3(kBlock), stream,
                                (const S *)args.src, (D *)args.dst, args.count);
}

template <typename D, typename S>
cudaError_t run_widest(const spmm_round_args_t &args, cudaStream_t stream)
{
    constexpr int kV = 16 / (sizeof(D) > sizeof(S) ? sizeof(D) : sizeof(S));

    return args.count % kV == 0 && fits(args.src, kV * sizeof(S)) && fits(args.dst, kV * sizeof(D))
               ? run<D, S, kV>(args, stream)
               : run<D, S, 1>(args, stream);
}

template <typename D, typename S> cudaError_t preload_pair()
{
    constexpr int kV = 16 / (sizeof(D) > sizeof(S) ? sizeof(D) : sizeof(S));

    return preload(round_all<D, S, kV>, round_all<D, S, 1>);
}

} // namespace

cudaError_t preload_round()
{
    cudaError_t (*const all[])() = {
        preload_pair<float, double>,        preload_pair<double, float>,
        preload_pair<__half, float>,        preload_pair<float, __half>,
        preload_pair<__nv_bfloat16, float>, preload_pair<float, __nv_bfloat16>};
    cudaError_t code = cudaSuccess;

    for (auto *const load : all) {
        code = code == cudaSuccess ? load() : code;
    }
    return code;
}

} // namespace spmmi

extern "C" cudaError_t spmmi_cuda_round_rows(const spmm_round_args_t *args, cudaStream_t stream)
{
    using namespace spmmi;

    if (args->src_type == SPMM_R_64F) {
        return run_widest<float, double>(*args, stream);
    }
    if (args->dst_type == SPMM_R_64F) {
        return run_widest<double, float>(*args, stream);
    }
    if (args->dst_type == SPMM_R_16F) {
        return run_widest<__half, float>(*args, stream);
    }
    if (args->src_type == SPMM_R_16F) {
        return run_widest<float, __half>(*args, stream);
    }
    return args->dst_type == SPMM_R_16BF ? run_widest<__nv_bfloat16, float>(*args, stream)
                                         : run_widest<float, __nv_bfloat16>(*args, stream);
}
