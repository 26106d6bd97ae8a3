/* SPDX-License-Identifier: Apache-2.0 */
/** @file values.cu  Values of a matrix to the places of a format. */
#include "cuda/dense/rows.cuh"

namespace spmmi
{
namespace
{

/** Or the conjugate: the sign of its imaginary part is the highest bit of a complex number. */
template <typename U> __device__ __forceinline__ U taken(U x, bool conjugate)
{
    return conjugate ? x ^ (U(1) << (8 * sizeof(U) - 1)) : x;
}
__device__ __forceinline__ uint4 taken(uint4 x, bool conjugate)
{
    x.w = taken(x.w, conjugate);
    return x;
}

/** Four values for each thread. */
template <typename U> __global__ void __launch_bounds__(kBlock) place_values(spmm_place_args_t args)
{
    const int64_t  step = (int64_t)gridDim.x * kBlock * 4;
    const U *const from = (const U *)args.from;
    U *const       to   = (U *)args.to;
    const bool     flip = args.conjugate != 0;

    for (int64_t i = ((int64_t)blockIdx.x * kBlock + threadIdx.x) * 4; i < args.count; i += step) {
        if (i + 4 <= args.count) {
            const int4 at = __ldg((const int4 *)(args.source + i));

            if (at.x >= 0 && at.y >= 0 && at.z >= 0 && at.w >= 0) {
                *(Pack<U, 4> *)(to + i) = {taken(from[at.x], flip), taken(from[at.y], flip),
                                           taken(from[at.z], flip), taken(from[at.w], flip)};
                continue;
            }
        }
        for (int64_t k = i; k < i + 4 && k < args.count; k++) {
            const int32_t at = __ldg(args.source + k);

            if (at >= 0) {
                to[k] = taken(from[at], flip);
            }
        }
    }
}

template <typename U> cudaError_t run_place(const spmm_place_args_t &args, cudaStream_t stream)
{
    const int64_t blocks = least(ceil_div(args.count, 4 * kBlock), 65536);

    return blocks == 0
               ? cudaSuccess
               : launch(place_values<U>, dim3((unsigned)blocks), dim3(kBlock), stream, args);
}

} // namespace

cudaError_t preload_values()
{
    return preload(place_values<uint16_t>, place_values<uint32_t>, place_values<uint64_t>,
                   place_values<uint4>);
}

} // namespace spmmi

extern "C" cudaError_t spmmi_cuda_place_values(const spmm_place_args_t *args, cudaStream_t stream)
{
    switch (args->elem_size) {
    case 2:
        return spmmi::run_place<uint16_t>(*args, stream);
    case 4:
        return spmmi::run_place<uint32_t>(*args, stream);
    case 8:
        return spmmi::run_place<uint64_t>(*args, stream);
    case 16:
        return spmmi::run_place<uint4>(*args, stream);
    default:
        return cudaErrorInvalidValue;
    }
}
