/* SPDX-License-Identifier: Apache-2.0 */
/** @file sddmm_batches.cu
 *  SDDMM of unstructured masks in FP16 and BF16: a warp takes 32 entries, whatever their rows of Y, and
 *  the 8 rows of X at most that they are in (sddmm_mma.cuh).  Of the 8 products of a row of Y only the
 *  one with the entry's own row of X is kept: the tensor cores, idle otherwise, save the conversions, the
 *  multiplications and the shuffles that 8 lanes for an entry take on CUDA cores, so that what is left
 *  are the loads.
 *
 *  Batches come by panels of columns whose rows of Y fit L1 (sddmm_panels.c).  One thread block fills a
 *  multiprocessor and takes a run of batches, warp by warp: all of it works on one panel at a time.
 */
#include "cuda/sddmm_mma.cuh"
#include "cuda/tc_probe.cuh"

namespace spmm
{
namespace
{

constexpr int kBatch   = SPMM_SDDMM_BATCH;
constexpr int kRows    = SPMM_SDDMM_BATCH_ROWS;
constexpr int kThreads = 640; /* as many as registers allow without spills */

/* What lane l reads of a batch. */
struct Batch {
    int entry, place; /* of entry l */
    int row;          /* of X: number l % 8 */
};

__device__ __forceinline__ Batch batch_at(const spmm_sddmm_batches_t &mask, int64_t b, int lane)
{
    return {__ldg(mask.entry + b * kBatch + lane), __ldg(mask.place + b * kBatch + lane),
            __ldg(mask.row + b * kRows + lane % kRows)};
}

/* The sum of entry `lane`, which lane 4 (lane % 8) + q / 2 has, q the number of its row of X. */
template <class Product>
__device__ __forceinline__ float own_sum(const Product &product, const int (&entry)[kSddmmParts],
                                         int own, int lane)
{
    const int from = 4 * (lane % 8) + own % kRows / 2;
    float     sum  = 0.0f;

#pragma unroll
    for (int p = 0; p < kSddmmParts; p++) {
        const float *const pair = product.sum[p / 2][0] + 2 * (p % 2);
        const float x = __shfl_sync(0xffffffffu, entry[p] % 2 != 0 ? pair[1] : pair[0], from);

        sum = lane / 8 == p ? x : sum;
    }
    return sum;
}

template <typename In, typename Out, bool kWide>
__global__ void __launch_bounds__(kThreads, 1)
    sddmm_batches(spmm_sddmm_batches_t mask, spmm_sddmm_args_t args, int64_t chunk)
{
    constexpr int              kStep = kThreads / kWarp;
    const int                  lane = (int)threadIdx.x % kWarp, g = lane / 4;
    const int64_t              end     = least((blockIdx.x + 1) * chunk, (int64_t)mask.n_batches);
    int64_t                    b       = blockIdx.x * chunk + threadIdx.x / kWarp;
    Batch                      next    = {-1, 0, -1};
    SddmmProduct<In, 1, kWide> product = {g, lane % 4, {}};

    if (b < end) {
        next = batch_at(mask, b, lane);
    }
    for (; b < end; b += kStep) {
        const Batch now = next;
        const int   row = __shfl_sync(0xffffffffu, now.row, g);
        const In   *x[1], *y[kSddmmParts];
        int         entry[kSddmmParts];

        x[0] = row < 0 ? NULL : (const In *)args.X + row * args.ldx;
#pragma unroll
        for (int p = 0; p < kSddmmParts; p++) {
            entry[p] = __shfl_sync(0xffffffffu, now.entry, 8 * p + g);
            y[p]     = entry[p] < 0 ? NULL : (const In *)args.Y + entry[p] / kRows * args.ldy;
        }
        if (b + kStep < end) {
            next = batch_at(mask, b + kStep, lane);
        }
        product.multiply(x, y, args.k);

        const float fresh = (float)args.alpha * own_sum(product, entry, now.entry, lane);

        if (now.entry >= 0) {
            Out *const s = (Out *)args.S + now.place;

            *s = Narrow<Out>::from(args.beta == 0.0 ? fresh
                                                    : fresh + (float)args.beta * widen<float>(*s));
        }
    }
}

template <typename In, typename Out>
cudaError_t run(const spmm_sddmm_batches_t &mask, const spmm_sddmm_args_t &args,
                cudaStream_t stream)
{
    if (mask.n_batches == 0) {
        return cudaSuccess;
    }
    const int64_t chunk = ceil_div(mask.n_batches, args.n_sm);
    const dim3    grid((unsigned)ceil_div(mask.n_batches, chunk));

    return launch(sddmm_is_wide<In>(args) ? sddmm_batches<In, Out, true>
                                          : sddmm_batches<In, Out, false>,
                  grid, dim3(kThreads), stream, mask, args, chunk);
}

template <typename In, typename Out> cudaError_t load()
{
    return preload_cached(sddmm_batches<In, Out, true>, sddmm_batches<In, Out, false>);
}

} // namespace

cudaError_t preload_sddmm_batches()
{
    cudaError_t (*const all[])() = {load<__half, __half>, load<__half, float>,
                                    load<__nv_bfloat16, __nv_bfloat16>, load<__nv_bfloat16, float>};
    cudaError_t code             = cudaSuccess;

    for (auto *const one : all) {
        code = code == cudaSuccess ? one() : code;
    }
    return code;
}

} // namespace spmm

extern "C" cudaError_t spmm_cuda_sddmm_batches(const spmm_sddmm_batches_t *mask,
                                               const spmm_sddmm_args_t *args, cudaStream_t stream)
{
    const bool same = args->s_type == args->type;

    if (!same && args->s_type != SPMM_R_32F) {
        return cudaErrorInvalidValue;
    }
    switch (args->type) {
    case SPMM_R_16F:
        return same ? spmm::run<__half, __half>(*mask, *args, stream)
                    : spmm::run<__half, float>(*mask, *args, stream);
    case SPMM_R_16BF:
        return same ? spmm::run<__nv_bfloat16, __nv_bfloat16>(*mask, *args, stream)
                    : spmm::run<__nv_bfloat16, float>(*mask, *args, stream);
    default:
        return cudaErrorInvalidValue;
    }
}
