/* SPDX-License-Identifier: Apache-2.0 */
/** @file panel_sums.cuh
 *  What a warp of the panel kernel sums up: a window times its columns of B, by tensor cores.
 *
 *  The product is turned: 16 columns of B are the rows of m16n8k8, and 8 rows of the window its
 *  columns.  Lane 4 g + t has of a column t of a tile, and of t + 4, the columns 2 g and 2 g + 1 of
 *  each 16 of B, as 8 bytes; these are two neighbouring registers of the four of a fragment, so
 *  that nothing has to be moved between a load and its product.
 */
#ifndef SPMM_PANEL_SUMS_CUH
#define SPMM_PANEL_SUMS_CUH

#include "cuda/panel/panel_format.cuh"

namespace spmmi
{

/** Two columns of a row of C, or the first @p left of them; kWide: both or none. */
template <bool kWide> __device__ __forceinline__ float2 load_two(const float *c, int left)
{
    if constexpr (kWide) {
        return left > 0 ? *(const float2 *)c : make_float2(0.0f, 0.0f);
    } else {
        return make_float2(left > 0 ? c[0] : 0.0f, left > 1 ? c[1] : 0.0f);
    }
}

template <bool kWide> __device__ __forceinline__ void store_two(float *c, int left, float2 x)
{
    if constexpr (kWide) {
        if (left > 0) {
            __stcs((float2 *)c, x);
        }
    } else {
        if (left > 0) {
            __stcs(c, x.x);
        }
        if (left > 1) {
            __stcs(c + 1, x.y);
        }
    }
}

/** What a lane has of a tile: values of rows g and g + 8 of the window, in columns t and t + 4, as
 *  the tensor cores take them. */
template <bool kSplit> struct PanelTile {
    uint32_t hi[2][2], lo[2][2];
    uint32_t places[2];

    /* @p a are rows g and g + 8 of column t, then of t + 4. */
    __device__ __forceinline__ PanelTile(const float (&a)[4], const uint32_t (&at)[2])
        : places{at[0], at[1]}
    {
#pragma unroll
        for (int k = 0; k < 4; k++) {
            if constexpr (kSplit) {
                split_tf32(a[k], hi[k % 2][k / 2], lo[k % 2][k / 2]);
            } else {
                hi[k % 2][k / 2] = to_tf32(a[k]);
            }
        }
    }
};

/** Rows h * 8 .. of a window: the lane has columns 2 g and 2 g + 1 of the k-th 16 of B, of row 2 t
 *  + e in elements e and e + 2 of sum[k][h]. */
template <class Shape, bool kSplit> struct PanelSums {
    static constexpr int kSixteens = Shape::kWidth / 16;

    float sum[kSixteens][2][4];

    __device__ __forceinline__ void clear()
    {
#pragma unroll
        for (int k = 0; k < kSixteens * 8; k++) {
            (&sum[0][0][0])[k] = 0.0f;
        }
    }

    /* Where the lane's 8 bytes of the row of a place lie, @p before being where the step that far
     * back starts in the ring. */
    static __device__ __forceinline__ uint32_t row(uint32_t place, uint32_t ring, uint32_t before,
                                                   const PanelLane &lane)
    {
        const uint32_t at = before + place * Shape::kRow;

        return ring + min(at, at - Shape::kRing) + ((place & 3) * 32 ^ lane.bytes());
    }

    __device__ __forceinline__ void multiply(const PanelTile<kSplit> &tile, uint32_t ring,
                                             uint32_t before, const PanelLane &lane)
    {
        const uint32_t low  = row(lane.pick(tile.places[0]), ring, before, lane);
        const uint32_t high = row(lane.pick(tile.places[1]), ring, before, lane);
        uint2          b[2][2]; /* of two sixteens, one ahead of the other */

        load(b[0], low, high, 0);
#pragma unroll
        for (int k = 0; k < kSixteens; k++) {
            if (k + 1 < kSixteens) {
                load(b[(k + 1) % 2], low, high, k + 1);
            }
            multiply_both(b[k % 2][0], b[k % 2][1], tile, sum[sixteen(k)]);
        }
    }

    /* The k-th to be multiplied: first those at even places, whose bytes are turned alike: rows
     * start at multiples of 128. */
    static __device__ constexpr int sixteen(int k)
    {
        return k % (kSixteens / 2) * 2 + k / (kSixteens / 2);
    }

    static __device__ __forceinline__ void load(uint2 (&b)[2], uint32_t low, uint32_t high, int k)
    {
        const uint32_t at = sixteen(k) / 2 * 128, turn = sixteen(k) % 2 * 64;

        b[0] = load_shared<uint2>((low ^ turn) + at);
        b[1] = load_shared<uint2>((high ^ turn) + at);
    }

    /* As multiply_fragment(), for both halves of a window. */
    static __device__ __forceinline__ void
    multiply_both(uint2 b0, uint2 b1, const PanelTile<kSplit> &tile, float (&to)[2][4])
    {
        const uint32_t b[4] = {b0.x, b0.y, b1.x, b1.y};
        uint32_t       b_hi[4], b_lo[4];

#pragma unroll
        for (int k = 0; k < 4; k++) {
            if constexpr (kSplit) {
                split_tf32(__uint_as_float(b[k]), b_hi[k], b_lo[k]);
            } else {
                b_hi[k] = to_tf32(__uint_as_float(b[k]));
            }
        }
#pragma unroll
        for (int h = 0; h < 2; h++) {
            if constexpr (kSplit) {
                float part[4] = {0.0f, 0.0f, 0.0f, 0.0f};

                mma_tf32_m16n8k8(part, b_hi, tile.lo[h]);
                mma_tf32_m16n8k8(part, b_lo, tile.hi[h]);
                mma_tf32_m16n8k8(part, b_hi, tile.hi[h]);
#pragma unroll
                for (int e = 0; e < 4; e++) {
                    to[h][e] += part[e];
                }
            } else {
                mma_tf32_m16n8k8(to[h], b_hi, tile.hi[h]);
            }
        }
    }

    __device__ __forceinline__ bool is_finite() const
    {
        float t[4] = {};

#pragma unroll
        for (int k = 0; k < kSixteens * 8; k++) {
            t[k % 4] = taint((&sum[0][0][0])[k], t[k % 4]);
        }
        return __any_sync(0xffffffffu, (t[0] + t[1]) + (t[2] + t[3]) != 0.0f) == 0;
    }

    /* The window whose first row is @p first, @p width columns from @p j0 on. */
    template <bool kWide>
    __device__ __forceinline__ void store(const Panel &format, const spmm_tc_mm_args_t &args,
                                          int64_t first, int64_t j0, int width) const
    {
        const int   lane = (int)threadIdx.x % kWarp, g = lane / 4, t = lane % 4;
        const float alpha = (float)args.x.alpha.re, beta = (float)args.x.beta.re;

#pragma unroll
        for (int r = 0; r < 4; r++) {
            const int     h = r / 2, e = r % 2;
            const int64_t i              = first + h * 8 + 2 * t + e;
            const int     left           = i < format.n_rows ? width - 2 * g : 0;
            float *const  c              = row_of_c<float>(args, left > 0 ? i : 0) + j0 + 2 * g;
            float2        old[kSixteens] = {};

            if (beta != 0.0f) {
#pragma unroll
                for (int k = 0; k < kSixteens; k++) {
                    old[k] = load_two<kWide>(c + k * 16, left - k * 16);
                }
            }
#pragma unroll
            for (int k = 0; k < kSixteens; k++) {
                store_two<kWide>(c + k * 16, left - k * 16,
                                 make_float2(fmaf(beta, old[k].x, alpha * sum[k][h][e]),
                                             fmaf(beta, old[k].y, alpha * sum[k][h][e + 2])));
            }
        }
    }
};

} // namespace spmmi

#endif /* SPMM_PANEL_SUMS_CUH */
