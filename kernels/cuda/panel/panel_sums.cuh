/* SPDX-License-Identifier: Apache-2.0 */
/** @file panel_sums.cuh
 *  What a warp of the panel kernel sums up: a window times its columns of B, by tensor cores.
 */
#ifndef SPMM_PANEL_SUMS_CUH
#define SPMM_PANEL_SUMS_CUH

#include "cuda/panel/panel_format.cuh"

namespace spmmi
{

/** What a warp sums up. */
template <class Shape, bool kSplit> struct PanelSums {
    float                           sum[Shape::kGroups][kHrpbFragments][4];
    __device__ __forceinline__ void clear()
    {
#pragma unroll
        for (int k = 0; k < Shape::kGroups * kHrpbFragments * 4; k++) {
            (&sum[0][0][0])[k] = 0.0f;
        }
    }

    /* Where the lane's word of the row of a place lies, @p before being where its step that far
     * back starts in the ring. */
    static __device__ __forceinline__ uint32_t row(uint32_t place, uint32_t ring, uint32_t before,
                                                   const PanelLane &lane)
    {
        const uint32_t at = before + place * Shape::kRow;

        return ring + min(at, at - Shape::kRing) + ((place & 3) * 16 ^ lane.word_bytes());
    }

    __device__ __forceinline__ void multiply(const float (&a)[4], const uint32_t (&places)[2],
                                             uint32_t ring, uint32_t before, const PanelLane &lane)
    {
        const uint32_t low  = row(lane.pick(places[0]), ring, before, lane);
        const uint32_t high = row(lane.pick(places[1]), ring, before, lane);
        uint32_t       hi[4], lo[4];

#pragma unroll
        for (int k = 0; k < 4; k++) {
            if constexpr (kSplit) {
                split_tf32(a[k], hi[k], lo[k]);
            } else {
                hi[k] = to_tf32(a[k]);
            }
        }
#pragma unroll
        for (int k = 0; k < Shape::kGroups; k++) {
            const uint4 b0 = load_shared<uint4>(low + k * 128);
            const uint4 b1 = load_shared<uint4>(high + k * 128);

            multiply_fragment<kSplit>(hi, lo, b0.x, b1.x, sum[k][0]);
            multiply_fragment<kSplit>(hi, lo, b0.y, b1.y, sum[k][1]);
            multiply_fragment<kSplit>(hi, lo, b0.z, b1.z, sum[k][2]);
            multiply_fragment<kSplit>(hi, lo, b0.w, b1.w, sum[k][3]);
        }
    }

    __device__ __forceinline__ bool is_finite() const
    {
        float t[kHrpbFragments] = {};

#pragma unroll
        for (int k = 0; k < Shape::kGroups; k++) {
#pragma unroll
            for (int e = 0; e < kHrpbFragments * 4; e++) {
                t[e / 4] = taint(sum[k][e / 4][e % 4], t[e / 4]);
            }
        }
        return __any_sync(0xffffffffu, (t[0] + t[1]) + (t[2] + t[3]) != 0.0f) == 0;
    }

    /* Four columns of a row: element @p from of the fragments of group k. */
    template <bool kWide, bool kAdds>
    __device__ __forceinline__ void store_four(const HrpbTarget &to, float *c, int left, int k,
                                               int from) const
    {
        float4 old = {};

        if (kAdds) {
            old = load_quad<kWide>(c, left);
        }
        const float x = to.alpha * sum[k][0][from], y = to.alpha * sum[k][1][from];
        const float z = to.alpha * sum[k][2][from], w = to.alpha * sum[k][3][from];

        if (kAdds) {
            store_quad<kWide>(c, left, fmaf(to.beta, old.x, x), fmaf(to.beta, old.y, y),
                              fmaf(to.beta, old.z, z), fmaf(to.beta, old.w, w));
        } else {
            store_quad<kWide>(c, left, x, y, z, w);
        }
    }

    /* Rows g and g + 8 of the window whose row is @p first. */
    template <bool kWide, bool kAdds>
    __device__ __forceinline__ void store_rows(const Panel &format, const HrpbTarget &to,
                                               int64_t first) const
    {
        const int lane = (int)threadIdx.x % kWarp, g = lane / 4, t = lane % 4;

#pragma unroll
        for (int h = 0; h < 2; h++) {
            const int64_t i    = first + h * 8 + g;
            const bool    real = i < format.n_rows;
            const int64_t row  = real && to.row_map != NULL ? __ldg(to.row_map + i) : i;
            float *const  c    = to.base + row * to.ld + 4 * t;
            const int     left = real ? to.width - 4 * t : 0;

#pragma unroll
            for (int k = 0; k < 2 * Shape::kGroups; k++) {
                store_four<kWide, kAdds>(to, c + k * 16, left - k * 16, k / 2, 2 * h + k % 2);
            }
        }
    }

    __device__ __forceinline__ void store(const Panel &format, const HrpbTarget &to, int64_t first,
                                          bool wide) const
    {
        if (wide && to.beta == 0.0f) {
            store_rows<true, false>(format, to, first);
        } else if (wide) {
            store_rows<true, true>(format, to, first);
        } else if (to.beta == 0.0f) {
            store_rows<false, false>(format, to, first);
        } else {
            store_rows<false, true>(format, to, first);
        }
    }
};

} // namespace spmmi

#endif /* SPMM_PANEL_SUMS_CUH */
