/* SPDX-License-Identifier: Apache-2.0 */
/** @file attention_again.cuh
 *  Rows of a window from their own entries alone, where a sum is not finite: a row without a column
 *  of its window weighs it with 0, and 0 Inf is NaN.  A warp takes row after row, its lanes every
 *  32nd column of the head.
 */
#ifndef SPMM_ATTENTION_AGAIN_CUH
#define SPMM_ATTENTION_AGAIN_CUH

#include "cuda/attention/attention_chunk.cuh"

namespace spmmi
{

/** The entries of a window's row. */
struct AttentionEntries {
    int first, end; /* panels of the group */
    int window;     /* of the group */
    int row;        /* of the window */

    /* @p work gets the column of each. */
    template <class Work>
    __device__ __forceinline__ void walk(const spmm_attention_windows_t &mask, Work work) const
    {
        const int32_t *const from =
            mask.chunks + (int64_t)first * mask.windows + (int64_t)window * (end - first);

        for (int panel = first; panel < end; panel++) {
            const int64_t last = (int64_t)__ldg(from + panel - first + 1) * kChunk;

            for (int64_t at = (int64_t)__ldg(from + panel - first) * kChunk; at < last; at++) {
                const uint32_t slot = __ldg(mask.slot + at);

                if ((slot >> (SPMM_ATTENTION_BITS + row) & 1u) != 0) {
                    work(__ldg(mask.col + (int64_t)panel * mask.width + (int)(slot & kIndexBits)));
                }
            }
        }
    }
};

/** What a lane holds of a row of a head: every 32nd of up to kK columns. */
template <typename Half, int kK> struct LaneRow {
    static constexpr int kMine = kK / kWarp;
    float                at[kMine];

    __device__ __forceinline__ static LaneRow load(const Half *row, int64_t k)
    {
        LaneRow x;

#pragma unroll
        for (int l = 0; l < kMine; l++) {
            const int c = (int)threadIdx.x % kWarp + l * kWarp;

            x.at[l] = c < k ? widen<float>(row[c]) : 0.0f;
        }
        return x;
    }
    __device__ __forceinline__ void store(Half *row, int64_t k) const
    {
#pragma unroll
        for (int l = 0; l < kMine; l++) {
            const int c = (int)threadIdx.x % kWarp + l * kWarp;

            if (c < k) {
                row[c] = Narrow<Half>::from(at[l]);
            }
        }
    }
    __device__ __forceinline__ void add(float weight, const LaneRow &x)
    {
#pragma unroll
        for (int l = 0; l < kMine; l++) {
            at[l] += weight * x.at[l];
        }
    }
    __device__ __forceinline__ void scale(float factor)
    {
#pragma unroll
        for (int l = 0; l < kMine; l++) {
            at[l] *= factor;
        }
    }
    /* The dot product, in all lanes. */
    __device__ __forceinline__ float dot(const LaneRow &x) const
    {
        float sum = 0.0f;

#pragma unroll
        for (int l = 0; l < kMine; l++) {
            sum += at[l] * x.at[l];
        }
#pragma unroll
        for (int step = kWarp / 2; step > 0; step /= 2) {
            sum += __shfl_xor_sync(0xffffffffu, sum, step);
        }
        return sum;
    }
};

/** Is it of all @p n sums of the warp's lanes? */
__device__ __forceinline__ bool all_finite(const float *sum, int n)
{
    float bad = 0.0f;

#pragma unroll
    for (int k = 0; k < n; k++) {
        bad = taint(sum[k], bad);
    }
    return __all_sync(0xffffffffu, bad == 0.0f);
}

} // namespace spmmi

#endif /* SPMM_ATTENTION_AGAIN_CUH */
