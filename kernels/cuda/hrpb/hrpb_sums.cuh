/* SPDX-License-Identifier: Apache-2.0 */
/** @file hrpb_sums.cuh
 *  The sums of a warp of the HRPB kernel, in the order in which mma leaves them, on their way to
 *  memory.
 */
#ifndef SPMM_HRPB_SUMS_CUH
#define SPMM_HRPB_SUMS_CUH

#include "cuda/hrpb/hrpb.cuh"

namespace spmmi
{

__device__ __forceinline__ bool all_finite(const float (&sum)[kHrpbFragments][4])
{
    float t = 0.0f;

#pragma unroll
    for (int k = 0; k < kHrpbFragments * 4; k++) {
        t = taint(sum[k / 4][k % 4], t);
    }
    return __any_sync(0xffffffffu, t != 0.0f) == 0;
}

/* Four columns of a row of C, or the first `left` of them; kWide: all or none. */
template <bool kWide> __device__ __forceinline__ float4 load_quad(const float *c, int left)
{
    if constexpr (kWide) {
        return left > 0 ? *(const float4 *)c : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    } else {
        return make_float4(left > 0 ? c[0] : 0.0f, left > 1 ? c[1] : 0.0f, left > 2 ? c[2] : 0.0f,
                           left > 3 ? c[3] : 0.0f);
    }
}

template <bool kWide>
__device__ __forceinline__ void store_quad(float *c, int left, float x, float y, float z, float w)
{
    if constexpr (kWide) {
        if (left > 0) {
            __stcs((float4 *)c, make_float4(x, y, z, w));
        }
    } else {
        if (left > 0) {
            __stcs(c, x);
        }
        if (left > 1) {
            __stcs(c + 1, y);
        }
        if (left > 2) {
            __stcs(c + 2, z);
        }
        if (left > 3) {
            __stcs(c + 3, w);
        }
    }
}

/* Where the sums of a window go: rows of C, or of work.partial as they are. */
struct HrpbTarget {
    const int32_t *row_map; /* NULL: the identity */
    float         *base;    /* row 0, or that of row 0 of A, and the tile's first column */
    int64_t        ld;
    float          alpha, beta;
    int            width;
};

/* Rows g and g + 8 of the window whose row is `first`, 4 columns at chunk t and at chunk t + 4. */
template <bool kWide>
__device__ __forceinline__ void store_sums(const Hrpb &format, const HrpbTarget &to, int64_t first,
                                           int lane, const float (&sum)[kHrpbFragments][4])
{
    const int g = lane / 4, t = lane % 4;
    float    *c[4];
    float4    old[4] = {};
    int       left[4];

#pragma unroll
    for (int k = 0; k < 4; k++) {
        const int64_t i    = first + k / 2 * 8 + g;
        const bool    real = i < format.n_rows;
        const int64_t row  = real && to.row_map != NULL ? __ldg(to.row_map + i) : i;

        c[k]    = to.base + row * to.ld + 4 * t + k % 2 * 16;
        left[k] = real ? to.width - 4 * t - k % 2 * 16 : 0;
    }
    if (to.beta != 0.0f) {
#pragma unroll
        for (int k = 0; k < 4; k++) {
            old[k] = load_quad<kWide>(c[k], left[k]);
        }
    }
#pragma unroll
    for (int k = 0; k < 4; k++) {
        store_quad<kWide>(c[k], left[k], fmaf(to.beta, old[k].x, to.alpha * sum[0][k]),
                          fmaf(to.beta, old[k].y, to.alpha * sum[1][k]),
                          fmaf(to.beta, old[k].z, to.alpha * sum[2][k]),
                          fmaf(to.beta, old[k].w, to.alpha * sum[3][k]));
    }
}

} // namespace spmmi

#endif /* SPMM_HRPB_SUMS_CUH */
