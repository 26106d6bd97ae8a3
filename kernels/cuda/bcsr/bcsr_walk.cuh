/* SPDX-License-Identifier: Apache-2.0 */
/** @file bcsr_walk.cuh
 *  A warp's way through the list of tiles of its tile row, for the kernels that go by lists and by
 *  rows, and the sums of warps that share one.
 */
#ifndef SPMM_BCSR_WALK_CUH
#define SPMM_BCSR_WALK_CUH

#include "cuda/bcsr/bcsr_sums.cuh"

namespace spmmi
{

/** @tparam S  as of BcsrSums, one tile row for a warp */
template <class S> struct BcsrWalk : BcsrSums<S> {
    using Sums = BcsrSums<S>;
    using Sums::A, Sums::piece, Sums::lane, Sums::sum, Sums::warp_m, Sums::warp_n;

    const int4 *list, *list_end; /* the next tile that the warp looks up */
    int         left;            /* tiles that it has not fetched */

    using Sums::Sums;

    /* The first tile from @p lo to @p hi that is of step @p wanted or behind it; all lanes
     * search. */
    __device__ __forceinline__ int search(const int4 *tile, int lo, int hi, int wanted) const
    {
        while (lo < hi) {
            const int  width  = (hi - lo + kWarp - 1) / kWarp;
            const int  at     = lo + lane * width;
            const bool before = at < hi && __ldg(&tile[at].x) / 4 < wanted;
            const int  n      = __popc(__ballot_sync(0xffffffffu, before));

            hi = n == 0 ? lo : (int)least(hi, lo + n * width);
            lo = n == 0 ? lo : lo + (n - 1) * width + 1;
        }
        return lo;
    }

    /* @param[in] part  is the piece only a part of its panel? */
    __device__ __forceinline__ void open_list(const BcsrLists &lists, bool part)
    {
        const int tile_row = piece.window * S::kM + warp_m;
        int       first = 0, last = 0;

        if ((uint32_t)tile_row < ((uint32_t)A.n_rows + SPMM_BCSR_SIDE - 1) / SPMM_BCSR_SIDE) {
            first = __ldg(lists.ptr + tile_row);
            last  = __ldg(lists.ptr + tile_row + 1);
        }
        if (part) {
            first = search(lists.tile, first, last, piece.block);
            last  = search(lists.tile, first, last, piece.block + piece.n_blocks);
        }
        list     = lists.tile + first + warp_n;
        list_end = lists.tile + last;
        left     = (last - first - warp_n + S::kSplit - 1) / S::kSplit;
    }

    /* Where the warp's next tile is; all lanes ask for the same one. */
    __device__ __forceinline__ void look_up(int4 &to)
    {
        if (list < list_end) {
            to = __ldg(list);
        }
        list += S::kSplit;
    }

    /* Sums of all warps of a tile row to the first of them, always in the same order. */
    __device__ __forceinline__ void meet(float4 *shared)
    {
        if constexpr (S::kSplit > 1) {
            if (warp_n > 0) {
                float4 *const to = shared + ((warp_n - 1) * S::kM + warp_m) * S::kN * kWarp + lane;

#pragma unroll
                for (int j = 0; j < S::kN; j++) {
                    to[j * kWarp] =
                        make_float4(sum[0][j][0], sum[0][j][1], sum[0][j][2], sum[0][j][3]);
                }
            }
            __syncthreads();
            for (int k = 0; k < S::kSplit - 1 && warp_n == 0; k++) {
                const float4 *const from = shared + (k * S::kM + warp_m) * S::kN * kWarp + lane;

#pragma unroll
                for (int j = 0; j < S::kN; j++) {
                    const float4 v = from[j * kWarp];

                    sum[0][j][0] += v.x;
                    sum[0][j][1] += v.y;
                    sum[0][j][2] += v.z;
                    sum[0][j][3] += v.w;
                }
            }
            __syncthreads();
        }
    }

    /* After run(), where warps share a tile row. */
    __device__ __forceinline__ bool has_sums() const
    {
        return warp_n == 0;
    }
};

} // namespace spmmi

#endif /* SPMM_BCSR_WALK_CUH */
