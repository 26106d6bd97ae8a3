/* SPDX-License-Identifier: Apache-2.0 */
/** @file bcsr_sums.cuh
 *  What a thread block of the BCSR kernels is made of, and its sums: a slice of C for one work item
 *  of a panel, in the order in which mma leaves them, and the way to memory; the way of narrow
 *  rows of B to shared memory.
 */
#ifndef SPMM_BCSR_SUMS_CUH
#define SPMM_BCSR_SUMS_CUH

#include "cuda/bcsr/bcsr_format.cuh"
#include "cuda/bcsr/bcsr_place.h"

namespace spmmi
{

/** Eight columns of a row of B, of which @p left are there, to a shared address, zeros behind them.
 *  @param[in] pairs  4-byte access, which then arrives with the group of asynchronous copies */
template <typename Half>
__device__ __forceinline__ void bcsr_copy_narrow(uint32_t to, const Half *from, int left,
                                                 bool pairs)
{
    if (pairs) {
#pragma unroll
        for (int e = 0; e < 4; e++) {
            cp_async_at<4>(to + 4 * e, from + 2 * e, left > 2 * e);
        }
        return;
    }
    uint32_t word[4] = {};

#pragma unroll
    for (int e = 0; e < 8; e++) {
        if (left > e) {
            word[e / 2] |= (uint32_t)__ldg((const uint16_t *)from + e) << 16 * (e % 2);
        }
    }
    store_shared(to, word);
}

/** Lane 4 g + t holds columns 2 t and 2 t + 1 of rows g and g + 8 of each tile.
 *
 *  @tparam S  what a thread block is:
 *      Half, Out        types of A and B, and of C
 *      kM               warps over tile rows
 *      kAcross          over columns
 *      kSplit           that share tile rows and columns, of which the first has the sums at last
 *      kRows, kN        tile rows of a warp, and 8-column tiles of C of each
 *      kPanel, kWidth   tile rows and columns in all
 *      kAccess          16-byte access to B and C? */
template <class S> struct BcsrSums {
    using Shape  = S;
    using Out    = typename S::Out;
    using Format = Bcsr<typename S::Half, Out>;

    const Format            &A;
    const spmm_tc_mm_args_t &args;
    const spmm_tc_item_t     item;
    const int                lane, warp_m, warp_n, g, t; /* warp_n: of kAcross or of kSplit */
    const int64_t            slice;                      /* first column of the thread block */
    float                    sum[S::kRows][S::kN][4] = {};

    __device__ __forceinline__ BcsrSums(const Format &format, const spmm_tc_mm_args_t &mm,
                                        const spmm_tc_item_t &work, int64_t j)
        : A(format), args(mm), item(work), lane((int)threadIdx.x % kWarp),
          warp_m((int)threadIdx.x / kWarp % S::kM), warp_n((int)threadIdx.x / kWarp / S::kM),
          g(lane / 4), t(lane % 4), slice(j)
    {
    }

    /* Sums of an FP32 C are rounded to nearest from tile to tile, since tensor cores cut off
     * bits when they add, which long rows would feel. */
    template <class Mma> static __device__ __forceinline__ void add(float (&to)[4], Mma mma)
    {
        if constexpr (std::is_same_v<Out, float>) {
            float part[4] = {0.0f, 0.0f, 0.0f, 0.0f};

            mma(part);
#pragma unroll
            for (int k = 0; k < 4; k++) {
                to[k] += part[k];
            }
        } else {
            mma(to);
        }
    }

    __device__ __forceinline__ bool is_finite() const
    {
        float bad = 0.0f;

#pragma unroll
        for (int k = 0; k < S::kRows * S::kN * 4; k++) {
            bad = taint((&sum[0][0][0])[k], bad);
        }
        return __all_sync(0xffffffffu, bad == 0.0f);
    }

    /* A lane's two sums of neighbouring tiles, and those of lane t ^ 1: four columns of one
     * tile. */
    __device__ __forceinline__ float4 line(int r, int j, int i) const
    {
        const bool   odd = t % 2 != 0;
        const float *one = sum[r][j] + 2 * i, *two = sum[r][j + 1] + 2 * i;
        const float  x = __shfl_xor_sync(0xffffffffu, odd ? one[0] : two[0], 1);
        const float  y = __shfl_xor_sync(0xffffffffu, odd ? one[1] : two[1], 1);

        return odd ? make_float4(x, y, two[0], two[1]) : make_float4(one[0], one[1], x, y);
    }

    struct alignas(sizeof(Out) * 4) Line {
        Out at[4];
    };

    __device__ __forceinline__ void store_line(Out *c, const float4 &v) const
    {
        const float x[4] = {v.x, v.y, v.z, v.w}, alpha = (float)args.x.alpha.re,
                    beta = (float)args.x.beta.re;
        Line y           = {};

        if (args.x.beta.re != 0.0) {
            y = *(const Line *)c;
        }
#pragma unroll
        for (int e = 0; e < 4; e++) {
            const float product = alpha * x[e];

            y.at[e] = Narrow<Out>::from(
                args.x.beta.re == 0.0 ? product : product + beta * widen<float>(y.at[e]));
        }
        if constexpr (sizeof y == 8) {
            __stcs((int2 *)c, *(const int2 *)&y);
        } else {
            __stcs((int4 *)c, *(const int4 *)&y);
        }
    }

    /* The warp's first column. */
    __device__ __forceinline__ int64_t first_column() const
    {
        return slice + (S::kAcross > 1 ? 8 * S::kN * warp_n : 0);
    }

    /* Call put_line(row of the panel, column, four sums) or put(row, column, sum) for all sums that
     * are inside of C; rows behind the last one too, with inside false. */
    template <class PutLine, class Put>
    __device__ __forceinline__ void each(PutLine put_line, Put put) const
    {
        const int64_t first = first_column();

#pragma unroll
        for (int k = 0; k < 2 * S::kRows; k++) {
            const int row = (warp_m * S::kRows + k / 2) * 16 + k % 2 * 8 + g;

#pragma unroll
            for (int j = 0; j < S::kN; j += S::kAccess ? 2 : 1) {
                if constexpr (S::kAccess) {
                    const float4  v = line(k / 2, j, k % 2); /* all lanes take part */
                    const int64_t c = first + 8 * (j + t % 2) + 4 * (t / 2);

                    if (c < args.x.n) {
                        put_line(row, c, v);
                    }
                } else {
#pragma unroll
                    for (int e = 0; e < 2; e++) {
                        if (first + 8 * j + 2 * t + e < args.x.n) {
                            put(row, first + 8 * j + 2 * t + e, sum[k / 2][j][2 * (k % 2) + e]);
                        }
                    }
                }
            }
        }
    }

    __device__ __forceinline__ void store() const
    {
        const int64_t top = (int64_t)item.window * S::kPanel * 16;

        each(
            [&](int row, int64_t c, const float4 &v) {
                if (top + row < A.n_rows) {
                    store_line(row_of_c<Out>(args, top + row) + c, v);
                }
            },
            [&](int row, int64_t c, float v) {
                if (top + row < A.n_rows) {
                    store_c(args, row_of_c<Out>(args, top + row) + c, v);
                }
            });
    }

    /* Where a sum is not finite: see repair_tile(). */
    __device__ __forceinline__ void repair() const
    {
#pragma unroll 1
        for (int r = 0; r < S::kRows; r++) {
            repair_tile(A, args, (item.window * S::kM + warp_m) * S::kRows + r, first_column(),
                        8 * S::kN);
        }
    }

    /* Sums of a work item: [rows of the panel, n] at @p to. */
    __device__ __forceinline__ void store_partial(float *to) const
    {
        each([&](int row, int64_t c, const float4 &v) { *(float4 *)(to + row * args.x.n + c) = v; },
             [&](int row, int64_t c, float v) { to[row * args.x.n + c] = v; });
    }
};

} // namespace spmmi

#endif /* SPMM_BCSR_SUMS_CUH */
