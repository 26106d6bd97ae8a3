/* SPDX-License-Identifier: Apache-2.0 */
/** @file bittcf.cuh
 *  C = alpha * A * B + beta * C, A in BitTCF (Acc-SpMM, section 3.4), on tensor cores.
 *
 *  One warp takes one piece of work times kLoads * 8 * (16 / sizeof(T)) columns of B.  Operands
 *  are swapped: a tile of B^T, 16 columns by 8 rows of B, is the m16 side of mma.m16n8k8, and a
 *  tile of A^T, 8 condensed columns by 8 rows of A, is the n8 side, so windows can be 8 rows
 *  high.
 *
 *  In fragment terms (lane = 4 g + t) a lane multiplies rows t and t + 4 of the 8 of a block,
 *  and of each the 16 bytes at column g of eight: the m16 side of two TF32 mma (or of one FP64
 *  mma), whose "rows" are then columns of B in a permuted order, and the lane ends up with 16
 *  consecutive bytes of rows 2t and 2t + 1 of C.  B goes straight to registers; nothing is
 *  staged.
 *
 *  But a quarter of a warp, which L1 serves at a time, would touch four rows of 32 bytes in this
 *  order, and L1 would deliver a quarter of what it can (measured: 16 wavefronts for each load,
 *  77 to 89 % of L1's peak).  So lane 8 t + g loads what lane 4 g + t multiplies, 128 bytes of
 *  one row for each quarter, and shuffles bring it there; C goes the other way.
 *
 *  Column lists and bit words come to shared memory by asynchronous copies, two groups of four
 *  blocks ahead; rows of B and values of A to registers kStages - 1 blocks ahead.
 */
#ifndef SPMM_BITTCF_CUH
#define SPMM_BITTCF_CUH

#include "cuda/bittcf/bittcf_format.cuh"

namespace spmmi
{

/** Lanes load in the order that L1 serves at its full rate, not in that of the fragments; lists are
 *  copied ahead of their use.
 *  @tparam kWarps  of the thread block: those of a team */
template <typename T, spmm_compute_t kCompute, int kTiles, int kLoads, int kStages, bool kWide,
          int kWarps>
struct BittcfWarp {
    static constexpr int kElems    = 16 / (int)sizeof(T);
    static constexpr int kHalf     = kElems / 2; /* mma of one load */
    static constexpr int kWidth    = kLoads * 8 * kElems;
    static constexpr int kSums     = kTiles * kLoads * kHalf * 4; /* of a lane */
    static constexpr int kTeamRoom = (kWarps - 1) * kSums * kWarp;
    using Tile                     = BittcfTile<T, kTiles, kLoads>;
    using Lists                    = BittcfLists<kTiles>;
    using Wide                     = Pack<T, kElems>;

    const Bittcf<T, kTiles> &A;
    const spmm_tc_mm_args_t &args;
    Lists                   &lists;
    const spmm_tc_piece_t    piece;
    const int                lane, g, t;
    const int                chunk, part; /* wide access: 8 part + chunk = lane */
    const int                slice;       /* first column that is stored */
    const int                j0;          /* first column of the lane */
    const T                 *B;           /* wide access: of that column */
    uint32_t                 col_at,
        bits_at;    /* shared addresses: of the lane's column in block 0 of the ring, of its bits */
    uint32_t value; /* of the next block to load */
    T        sum[kTiles][kLoads][kHalf][4] = {};

    /* Wide access needs kWidth columns: the last slice starts early enough, and only stores the
     * columns that are its own. */
    __device__ __forceinline__ BittcfWarp(const Bittcf<T, kTiles> &format,
                                          const spmm_tc_mm_args_t &mm, Lists &shared,
                                          const spmm_tc_piece_t &work, int first)
        : A(format), args(mm), lists(shared), piece(work), lane((int)threadIdx.x % kWarp),
          g(lane / 4), t(lane % 4), slice(first), chunk(lane % 8), part(lane / 8),
          j0(kWide ? min(first, (int)mm.x.n - kWidth) + kElems * chunk : first + g),
          B((const T *)mm.x.B + j0), col_at(shared_address(&shared.col[0][kWide ? part : t])),
          bits_at(shared_address(&shared.bits[0][0])), value((uint32_t)work.start)
    {
        keep(B);
        keep(col_at);
        keep(bits_at);
    }

    /* Column of element e of a load.  Narrow access spreads a lane's elements, so that those of
     * neighbouring lanes are neighbours. */
    __device__ __forceinline__ int column(int load, int e) const
    {
        return j0 + load * 8 * kElems + (kWide ? e : 8 * e);
    }

    /* Start copying the lists of four blocks; a commit in any case keeps the groups counted. */
    __device__ __forceinline__ void fetch_lists(int group)
    {
        const int first = group * kGroup, ring = first % kRing;

        if (first < piece.n_blocks) {
            const int64_t block = piece.block + first;

            if (lane < 2 * kGroup) {
                cp_async<16>(&lists.col[ring][4 * lane], A.col + block * kSide + 4 * lane);
            } else if (lane < 2 * kGroup + kGroup * kTiles) {
                const int word = lane - 2 * kGroup;

                cp_async<8>(&lists.bits[ring][word], A.bits + block * kTiles + word);
            }
        }
        cp_async_commit();
    }

    /* kLoads times 16 bytes of row @p col of B. */
    __device__ __forceinline__ void load_row(int32_t col, Pack<T, kElems> (&to)[kLoads]) const
    {
        if constexpr (kWide) {
            const uint32_t    stride = (uint32_t)args.x.ldb * (uint32_t)sizeof(T);
            const char *const row    = (const char *)B + (uint64_t)(uint32_t)col * stride;

#pragma unroll
            for (int load = 0; load < kLoads; load++) {
                load_16(to[load], row + load * 128);
            }
        } else {
            const T *const row = (const T *)args.x.B + col * args.x.ldb;

#pragma unroll
            for (int k = 0; k < kLoads * kElems; k++) {
                const int j = column(k / kElems, k % kElems);

                to[k / kElems].at[k % kElems] = j < args.x.n ? __ldg(row + j) : (T)0;
            }
        }
    }

    /* Entries (g, t) and (g, t + 4) of a tile with these bits. */
    __device__ __forceinline__ void load_entries(uint2 word, T (&to)[2])
    {
        const uint32_t half = g < 4 ? word.x : word.y, in_low = (uint32_t)__popc(word.x);
        const int      shift = g % 4 * kSide + t;
        const uint32_t mine  = half >> shift;
        const uint32_t at =
            value + (uint32_t)__popc(half & ((1u << shift) - 1)) + (g < 4 ? 0u : in_low);

        to[0] = (mine & 1) != 0 ? __ldg(A.values + at) : (T)0;
        to[1] = (mine & 16) != 0 ? __ldg(A.values + (at + (uint32_t)__popc(mine & 15))) : (T)0;
        value += in_low + (uint32_t)__popc(word.y);
    }

    /* Rows of B and entries of A of block k: blocks are loaded in order. */
    __device__ __forceinline__ void load(int k, Tile &to)
    {
        const uint32_t ring = (uint32_t)k % kRing;

        if (k % kGroup == 0) {
            cp_async_wait<1>();
            __syncwarp();
        }
        load_row(load_shared<int32_t>(col_at + ring * (kSide * 4)), to.b[0]);
        load_row(load_shared<int32_t>(col_at + ring * (kSide * 4) + 16), to.b[1]);
#pragma unroll
        for (int tile = 0; tile < kTiles; tile++) {
            load_entries(load_shared<uint2>(bits_at + (ring * kTiles + (uint32_t)tile) * 8),
                         to.a[tile]);
        }
        if (k % kGroup == kGroup - 1) {
            __syncwarp();
            fetch_lists(k / kGroup + 2);
        }
    }

    static __device__ __forceinline__ Wide fragment(const Wide &x)
    {
        return kWide ? to_fragment(x) : x;
    }

    /* The lane's columns of a load in row 2 r + i of a tile, r = row_pair(): mma e / 2 has column
     * e % 2 of each pair in rows g and g + 8 of its m16 side. */
    __device__ __forceinline__ int row_pair() const
    {
        return kWide ? part : t;
    }

    __device__ __forceinline__ Wide result(int tile, int load, int i) const
    {
        Wide x;

#pragma unroll
        for (int e = 0; e < kElems; e++) {
            x.at[e] = sum[tile][load][e / 2][2 * (e % 2) + i];
        }
        return kWide ? from_fragment(x) : x;
    }

    __device__ __forceinline__ void multiply(const BittcfTile<double, kTiles, kLoads> &x)
    {
#pragma unroll
        for (int load = 0; load < kLoads; load++) {
            const Wide   low = fragment(x.b[0][load]), high = fragment(x.b[1][load]);
            const double b[4] = {low.at[0], low.at[1], high.at[0], high.at[1]};

#pragma unroll
            for (int tile = 0; tile < kTiles; tile++) {
                mma_f64_m16n8k8(sum[tile][load][0], b, x.a[tile]);
            }
        }
    }

    /* TF32: operands rounded, sums in the tensor core.  32F: each operand in two parts, and the
     * three products that count, least first, in a fragment of the block's own: tensor cores cut
     * off bits when they add, which long rows would feel, so the running sums are added in FP32. */
    __device__ __forceinline__ void multiply(const BittcfTile<float, kTiles, kLoads> &x)
    {
        uint32_t a_hi[kTiles][2], a_lo[kTiles][2];

#pragma unroll
        for (int k = 0; k < 2 * kTiles; k++) {
            split_tf32(x.a[k / 2][k % 2], a_hi[k / 2][k % 2], a_lo[k / 2][k % 2]);
        }
#pragma unroll
        for (int load = 0; load < kLoads; load++) {
            const Wide b[2] = {fragment(x.b[0][load]), fragment(x.b[1][load])};

#pragma unroll
            for (int half = 0; half < kHalf; half++) {
                uint32_t hi[4], lo[4];

#pragma unroll
                for (int k = 0; k < 4; k++) {
                    split_tf32(b[k / 2].at[2 * half + k % 2], hi[k], lo[k]);
                }
#pragma unroll
                for (int tile = 0; tile < kTiles; tile++) {
                    if constexpr (kCompute == SPMM_COMPUTE_32F_FAST_TF32) {
                        mma_tf32_m16n8k8(sum[tile][load][half], hi, a_hi[tile]);
                    } else {
                        float part[4] = {0.0f, 0.0f, 0.0f, 0.0f};

                        mma_tf32_m16n8k8(part, lo, a_hi[tile]);
                        mma_tf32_m16n8k8(part, hi, a_lo[tile]);
                        mma_tf32_m16n8k8(part, hi, a_hi[tile]);
#pragma unroll
                        for (int k = 0; k < 4; k++) {
                            sum[tile][load][half][k] += part[k];
                        }
                    }
                }
            }
        }
    }

    /* All blocks: kStages register tiles in rotation, so indices are constants after unrolling. */
    __device__ __forceinline__ void run()
    {
        Tile      tile[kStages];
        const int n = piece.n_blocks;

        fetch_lists(0);
        fetch_lists(1);
#pragma unroll
        for (int k = 0; k < kStages - 1; k++) {
            if (k < n) {
                load(k, tile[k]);
            }
        }
        for (int first = 0; first < n; first += kStages) {
#pragma unroll
            for (int k = 0; k < kStages; k++) {
                if (first + k < n) {
                    if (first + k + kStages - 1 < n) {
                        load(first + k + kStages - 1, tile[(k + kStages - 1) % kStages]);
                    }
                    multiply(tile[k]);
                }
            }
        }
        cp_async_wait<0>();
        __syncwarp();
    }

    /* The warps of a thread block have each multiplied a part of the piece: add their sums up, in
     * the order of the warps.  @return whether this warp has the total
     * @param room  shared memory for kTeamRoom elements */
    __device__ __forceinline__ bool share(T *room)
    {
        const int warp = (int)threadIdx.x / kWarp;
        T *const  mine = &sum[0][0][0][0];

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
        T bad = 0;

#pragma unroll
        for (int k = 0; k < kTiles * kLoads * kHalf * 4; k++) {
            bad = taint(
                sum[k / (kLoads * kHalf * 4)][k / (kHalf * 4) % kLoads][k / 4 % kHalf][k % 4], bad);
        }
        return __all_sync(0xffffffffu, bad == (T)0);
    }

    __device__ __forceinline__ void store_load(T *c, int load, const Wide &x) const
    {
        const T alpha = (T)args.x.alpha.re, beta = (T)args.x.beta.re;

        if constexpr (kWide) {
            Wide to = {};

            if (column(load, 0) < slice) {
                return;
            }
            if (args.x.beta.re != 0.0) {
                to = *(const Wide *)(c + column(load, 0));
            }
#pragma unroll
            for (int e = 0; e < kElems; e++) {
                const T product = alpha * x.at[e];

                to.at[e] = args.x.beta.re == 0.0 ? product : product + beta * to.at[e];
            }
            __stcs((int4 *)(c + column(load, 0)), *(const int4 *)&to);
        } else {
#pragma unroll
            for (int e = 0; e < kElems; e++) {
                if (column(load, e) < args.x.n) {
                    store_c(args, c + column(load, e), x.at[e]);
                }
            }
        }
    }

    /* Into column-major C, from lanes as the fragments have them: those of one g hold the eight rows
     * of a tile, which are neighbours in a column. */
    __device__ __forceinline__ void store_columns() const
    {
        const int first = kWide ? j0 + kElems * (g - chunk) : j0;

#pragma unroll
        for (int k = 0; k < 2 * kTiles; k++) {
            const int64_t row =
                (int64_t)piece.window * (kTiles * kSide) + k / 2 * kSide + 2 * t + k % 2;

            if (row >= A.n_rows) {
                continue;
            }
#pragma unroll
            for (int e = 0; e < kLoads * kElems; e++) {
                const int j =
                    first + e / kElems * 8 * kElems + (kWide ? e % kElems : 8 * (e % kElems));

                if (j >= slice && j < args.x.n) {
                    store_c(args, at_c<T>(args, row, j),
                            sum[k / 2][e / kElems][e % kElems / 2][2 * (e % 2) + k % 2]);
                }
            }
        }
    }

    __device__ __forceinline__ void store() const
    {
        if (args.x.layout == SPMM_LAYOUT_MIXED) {
            store_columns();
            return;
        }
#pragma unroll
        for (int k = 0; k < 2 * kTiles; k++) {
            const int64_t row =
                (int64_t)piece.window * (kTiles * kSide) + k / 2 * kSide + 2 * row_pair() + k % 2;
            const bool inside = row < A.n_rows;
            T *const   c      = row_of_c<T>(args, inside ? row : 0);

#pragma unroll
            for (int load = 0; load < kLoads; load++) {
                const Wide x = result(k / 2, load, k % 2); /* all lanes take part */

                if (inside) {
                    store_load(c, load, x);
                }
            }
        }
    }

    /* Sums of a piece: [height, n] at @p to. */
    __device__ __forceinline__ void store_partial(T *to) const
    {
#pragma unroll
        for (int k = 0; k < 2 * kTiles; k++) {
            T *const row = to + (k / 2 * kSide + 2 * row_pair() + k % 2) * args.x.n;

#pragma unroll
            for (int load = 0; load < kLoads; load++) {
                const Wide x = result(k / 2, load, k % 2);

                if constexpr (kWide) {
                    if (column(load, 0) >= slice) {
                        *(Wide *)(row + column(load, 0)) = x;
                    }
                } else {
#pragma unroll
                    for (int e = 0; e < kElems; e++) {
                        if (column(load, e) < args.x.n) {
                            row[column(load, e)] = x.at[e];
                        }
                    }
                }
            }
        }
    }
};

} // namespace spmmi

#endif /* SPMM_BITTCF_CUH */
