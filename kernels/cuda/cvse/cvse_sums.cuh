/* SPDX-License-Identifier: Apache-2.0 */
/** @file cvse_sums.cuh
 *  The sums of a warp of the CVSE kernel: a slice of C for one piece of work, in the order in which
 *  mma leaves them, and the way to memory.
 */
#ifndef SPMM_CVSE_SUMS_CUH
#define SPMM_CVSE_SUMS_CUH

#include "cuda/cvse/cvse_format.cuh"

namespace spmmi
{

/** How lanes read B and write C. */
enum class CvseAccess {
    kNarrow, /**< element by element, for any alignment and width */
    kWide,   /**< kElems at a time, of which n is a multiple */
    kEdge    /**< the same where n ends within an access, or before the slice does */
};

/** Parameters as of CvseWarp.  Lane 4 g + t holds rows 2 t and 2 t + 1 of each tile. */
template <typename Half, typename Out, int kTiles, int kLoads, int kElems, CvseAccess kAccess,
          int kWarps>
struct CvseSums {
    static constexpr bool kWide = kAccess != CvseAccess::kNarrow;
    static constexpr bool kEdge = kAccess == CvseAccess::kEdge;

    static constexpr int kWords    = kElems / 2; /* of a load, and its mma */
    static constexpr int kWidth    = kLoads * 8 * kElems;
    static constexpr int kSums     = kTiles * kLoads * kWords * 4; /* of a lane */
    static constexpr int kTeamRoom = (kWarps - 1) * kSums * kWarp;
    static constexpr int kHeight   = kTiles * 8;
    using Format = std::conditional_t<kEdge, CvseEdged<Half, Out, kTiles>, Cvse<Half, Out, kTiles>>;

    const Format            &A;
    const spmm_tc_mm_args_t &args;
    spmm_tc_piece_t          piece;
    const int                lane, g, t;
    const int                slice; /* first column that is stored */
    const int                first; /* first column that is multiplied */
    float                    sum[kTiles][kLoads][kWords][4] = {};

    /* Wide access needs kWidth columns: the last slice starts early enough, and only stores the
     * columns that are its own.  The last access to a row may reach behind n, and of a row with
     * fewer columns some lanes have none. */
    __device__ __forceinline__ CvseSums(const Format &format, const spmm_tc_mm_args_t &mm,
                                        const spmm_tc_piece_t &work, int j)
        : A(format), args(mm), piece(work), lane((int)threadIdx.x % kWarp), g(lane / 4),
          t(lane % 4), slice(j), first(first_column(j, (int)mm.x.n))
    {
    }

    static __device__ __forceinline__ int first_column(int j, int n)
    {
        return kEdge ? max(0, min(j, last_access(n) + kElems - kWidth))
                     : (kWide ? min(j, n - kWidth) : j);
    }

    /* First column of the last access to a row. */
    static __device__ __forceinline__ int last_access(int n)
    {
        return (n - 1) / kElems * kElems;
    }

    /* Sums of what lies behind the last column, which may be anything, are as if it were zeros. */
    __device__ __forceinline__ void drop_edge()
    {
#pragma unroll
        for (int k = 0; k < kTiles * kElems; k++) {
            const int tile = k / kElems, e = k % kElems;

            if (column(kLoads - 1, e) >= args.x.n) {
                sum[tile][kLoads - 1][e / 2][2 * (e % 2)]     = 0.0f;
                sum[tile][kLoads - 1][e / 2][2 * (e % 2) + 1] = 0.0f;
            }
        }
    }

    /* Column of element e of a load of this lane's sums.  Narrow access spreads a lane's elements,
     * so that those of neighbouring lanes are neighbours. */
    __device__ __forceinline__ int column(int load, int e) const
    {
        return first + load * 8 * kElems + (kWide ? kElems * g + e : g + 8 * e);
    }

    /* The warps of a thread block have each multiplied a part of the piece: add their sums up, in
     * the order of the warps.  @return whether this warp has the total
     * @param room  shared memory for kTeamRoom elements */
    __device__ __forceinline__ bool share(float *room)
    {
        const int    warp = (int)threadIdx.x / kWarp;
        float *const mine = &sum[0][0][0][0];

        __syncthreads(); /* room may still be read for the last slice */
        if (warp > 0) {
#pragma unroll
            for (int k = 0; k < kSums; k++) {
                room[((warp - 1) * kSums + k) * kWarp + lane] = mine[k];
            }
        }
        __syncthreads();
        if (warp == 0) {
#pragma unroll
            for (int k = 0; k < kSums; k++) {
#pragma unroll
                for (int other = 0; other < kWarps - 1; other++) {
                    mine[k] += room[(other * kSums + k) * kWarp + lane];
                }
            }
        }
        return warp == 0;
    }

    __device__ __forceinline__ bool is_finite() const
    {
        float bad = 0.0f;

#pragma unroll
        for (int k = 0; k < kSums; k++) {
            bad = taint((&sum[0][0][0][0])[k], bad);
        }
        return __all_sync(0xffffffffu, bad == 0.0f);
    }

    /* The lane's sums of a load in row 2 t + i of a tile. */
    __device__ __forceinline__ Pack<float, kElems> result(int tile, int load, int i) const
    {
        Pack<float, kElems> x;

#pragma unroll
        for (int e = 0; e < kElems; e++) {
            x.at[e] = sum[tile][load][e / 2][2 * (e % 2) + i];
        }
        return x;
    }

    /* Eight FP32 elements of a lane are two accesses.  So that each fills sectors of 32 bytes,
     * lanes of neighbouring columns exchange halves: both then hold a half of the first and of
     * the second's. */
    static constexpr bool kSwap = kWide && kElems == 8 && sizeof(Out) == 4;
    static constexpr int  kLine = kSwap ? 4 : kElems; /* columns of one access to C */

    __device__ __forceinline__ void swap_halves(Pack<float, kElems> &x) const
    {
        if constexpr (kSwap) {
            const bool odd = g % 2 != 0;

#pragma unroll
            for (int e = 0; e < 4; e++) {
                const float got = __shfl_xor_sync(0xffffffffu, odd ? x.at[e] : x.at[e + 4], 4);

                x.at[e]     = odd ? got : x.at[e];
                x.at[e + 4] = odd ? x.at[e + 4] : got;
            }
        }
    }

    __device__ __forceinline__ int line_column(int load, int line) const
    {
        return kSwap ? column(load, 0) + 8 * (line - g % 2) + 4 * (g % 2) : column(load, 0);
    }

    __device__ __forceinline__ void store_load(Out *c, int load, const Pack<float, kElems> &x) const
    {
        if constexpr (kWide) {
#pragma unroll
            for (int line = 0; line < kElems / kLine; line++) {
                const int j = line_column(load, line);

                if (kEdge && j + kLine > args.x.n) {
                    if (j >= slice && j < args.x.n) {
                        store_first_of<kLine>(args, c + j, x.at + line * kLine, (int)args.x.n - j);
                    }
                } else if (j >= slice) {
                    store_line<kLine>(args, c + j, x.at + line * kLine);
                }
            }
        } else {
#pragma unroll
            for (int e = 0; e < kElems; e++) {
                if (column(load, e) < args.x.n) {
                    store_c(args, c + column(load, e), x.at[e]);
                }
            }
        }
    }

    /* Of C, of the lane's row number k, k % 2 of tile k / 2; -1: behind the last row,
     * or there is no window. */
    __device__ __forceinline__ int32_t row_of(int k) const
    {
        const int64_t row = (int64_t)piece.window * kHeight + k / 2 * 8 + 2 * t + k % 2;

        if (piece.window < 0 || row >= A.n_rows) {
            return -1;
        }
        return args.row_map == NULL ? (int32_t)row : __ldg(args.row_map + row);
    }

    /* Sums of a load, to row @p row of C unless that is -1. */
    __device__ __forceinline__ void store_row(Pack<float, kElems> x, int load, int32_t row) const
    {
        swap_halves(x); /* all lanes take part */
        if (row >= 0) {
            store_load((Out *)args.x.C + row * args.x.ldc, load, x);
        }
    }

    __device__ __forceinline__ void store() const
    {
#pragma unroll
        for (int k = 0; k < 2 * kTiles; k++) {
            const int32_t row = row_of(k);

#pragma unroll
            for (int load = 0; load < kLoads; load++) {
                store_row(result(k / 2, load, k % 2), load, row);
            }
        }
    }

    /* Sums of a piece: [height, n] at @p to. */
    __device__ __forceinline__ void store_partial(float *to) const
    {
#pragma unroll
        for (int k = 0; k < 2 * kTiles; k++) {
            float *const row = to + (k / 2 * 8 + 2 * t + k % 2) * args.x.n;

#pragma unroll
            for (int load = 0; load < kLoads; load++) {
                const Pack<float, kElems> x = result(k / 2, load, k % 2);

#pragma unroll
                for (int e = 0; e < kElems; e += kWide && !kEdge ? 4 : 1) {
                    if constexpr (kEdge) { /* rows of sums begin at any address */
                        if (column(load, 0) >= slice && column(load, e) < args.x.n) {
                            row[column(load, e)] = x.at[e];
                        }
                    } else if constexpr (kWide) {
                        if (column(load, 0) >= slice) {
                            *(float4 *)(row + column(load, e)) =
                                make_float4(x.at[e], x.at[e + 1], x.at[e + 2], x.at[e + 3]);
                        }
                    } else if (column(load, e) < args.x.n) {
                        row[column(load, e)] = x.at[e];
                    }
                }
            }
        }
    }
};

} // namespace spmmi

#endif /* SPMM_CVSE_SUMS_CUH */
