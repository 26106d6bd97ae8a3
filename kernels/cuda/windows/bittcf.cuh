/* SPDX-License-Identifier: Apache-2.0 */
/** @file bittcf.cuh
 *  C = alpha * A * B + beta * C, A in BitTCF (Acc-SpMM, section 3.4), on tensor cores.
 *
 *  One warp takes one work item times kLoads * 8 * (16 / sizeof(T)) columns of B.  Operands are
 *  swapped: a tile of B^T, 16 columns by 8 rows of B, is the m16 side of mma.m16n8k8, and a tile of
 *  A^T, 8 condensed columns by 8 rows of A, is the n8 side, so windows can be 8 rows high.
 *
 *  In fragment terms (lane = 4 g + t) a lane multiplies rows t and t + 4 of the 8 of a block, and
 *  of each the 16 bytes at column g of eight: the m16 side of two TF32 mma (or of one FP64 mma),
 *  whose "rows" are then columns of B in a permuted order.  It ends up with 16 bytes of rows 2t and
 *  2t + 1 of C.  B goes straight to registers; nothing is staged.
 *
 *  In this order a quarter of a warp, which L1 serves at a time, would touch four rows of 32 bytes:
 *  a quarter of what L1 can deliver (16 wavefronts for each load, 77 to 89 % of its peak).  So lane
 *  8 t + g loads what lane 4 g + t multiplies, 128 bytes of a row for each quarter, and shuffles
 *  bring it there; C goes the other way.
 *
 *  Column lists and bit words come to shared memory by asynchronous copies, two groups of four
 *  blocks ahead; rows of B and values of A to registers kStages - 1 blocks ahead.
 */
#ifndef SPMM_BITTCF_CUH
#define SPMM_BITTCF_CUH

#include "cuda/windows/bittcf_sums.cuh"

namespace spmmi
{

/** A warp at work.  @tparam kWarps  of the thread block: those of a team */
template <typename Element, spmm_compute_t kCompute, int kTiles, int kLoads, int kStages,
          BittcfAccess kAccess, int kWarps>
struct BittcfWarp : BittcfSums<Element, kCompute, kTiles, kLoads, is_wide(kAccess)> {
    static constexpr bool kWide = is_wide(kAccess), kMasked = is_masked(kAccess);
    static constexpr bool kTurns = knows_columns(kAccess), kEdge = has_edge(kAccess);
    using Sums = BittcfSums<Element, kCompute, kTiles, kLoads, kWide>;
    using T    = typename Sums::T;
    using Tile = typename Sums::Tile;
    using Wide = typename Sums::Wide;
    using Sums::kElems, Sums::kHalf, Sums::sum;
    static constexpr int kParts    = (int)(sizeof(Element) / sizeof(T));
    static constexpr int kWidth    = kLoads * 8 * kElems;
    static constexpr int kSums     = kTiles * kLoads * kHalf * 4; /* of a lane */
    static constexpr int kTeamRoom = (kWarps - 1) * kSums * kWarp;
    using Lists                    = BittcfLists<kTiles>;
    using Elements                 = Pack<Element, kElems / kParts>; /* the same bytes */

    const Bittcf<Element, kTiles> &A;
    const spmm_tc_mm_args_t       &args;
    Lists                         &lists;
    const spmm_tc_item_t           item;
    const int                      lane, g, t;
    const int                      chunk, part; /* wide access: 8 part + chunk = lane */
    const int                      j0;          /* first column of the lane */
    const T                       *B;           /* wide access: of that column */
    uint32_t                       col_at,
        bits_at;    /* shared addresses: of the lane's column in block 0 of the ring, of its bits */
    uint32_t value; /* of the next block to load */

    __device__ __forceinline__ BittcfWarp(const Bittcf<Element, kTiles> &format,
                                          const spmm_tc_mm_args_t &mm, Lists &shared,
                                          const spmm_tc_item_t &work, int first)
        : A(format), args(mm), lists(shared), item(work), lane((int)threadIdx.x % kWarp),
          g(lane / 4), t(lane % 4), chunk(lane % 8), part(lane / 8),
          j0(first + (kWide ? kElems * chunk : kParts * g)), B((const T *)mm.x.B + j0),
          col_at(shared_address(&shared.col[0][kWide ? part : t])),
          bits_at(shared_address(&shared.bits[0][0])), value((uint32_t)work.start)
    {
        keep(B);
        keep(col_at);
        keep(bits_at);
    }

    /* Columns of B. */
    __device__ __forceinline__ int n() const
    {
        return (int)args.x.n * kParts;
    }

    /* Column of number e of a load, from the lane's first one.  Narrow access spreads a lane's
     * elements, so that those of neighbouring lanes are neighbours. */
    static __device__ __forceinline__ int offset(int load, int e)
    {
        return load * 8 * kElems + (kWide ? e : e / kParts * 8 * kParts + e % kParts);
    }

    __device__ __forceinline__ int column(int load, int e) const
    {
        return j0 + offset(load, e);
    }

    /* Start copying the lists of four blocks; a commit in any case keeps the groups counted. */
    __device__ __forceinline__ void fetch_lists(int group)
    {
        const int first = group * kGroup, ring = first % kRing;

        if (first < item.n_blocks) {
            const int64_t block = item.block + first;

            if (lane < 2 * kGroup) {
                cp_async<16>(&lists.col[ring][4 * lane], A.col + block * kSide + 4 * lane);
            } else if (lane < 2 * kGroup + kGroup * kTiles) {
                const int word = lane - 2 * kGroup;

                cp_async<8>(&lists.bits[ring][word], A.bits + block * kTiles + word);
            }
        }
        cp_async_commit();
    }

    /* Wide access: whether n has the lane's columns of a load. */
    __device__ __forceinline__ bool is_inside(int load) const
    {
        return !kMasked || column(load, 0) < n();
    }

    /* The columns that there are, from the lane's first one on. */
    __device__ __forceinline__ void load_elements(const T *row, Pack<T, kElems> (&to)[kLoads]) const
    {
#pragma unroll
        for (int k = 0; k < kLoads * kElems; k++) {
            const int load = k / kElems, e = k % kElems;

            to[load].at[e] = column(load, e) < n() ? __ldg(row + offset(load, e)) : (T)0;
        }
    }

    /* kLoads times 16 bytes of row @p col of B, which only where kLast may be the last one. */
    template <bool kLast>
    __device__ __forceinline__ void load_row(int32_t col, Pack<T, kElems> (&to)[kLoads]) const
    {
        if constexpr (kWide) {
            const uint32_t    stride = (uint32_t)args.x.ldb * (uint32_t)sizeof(Element);
            const char *const row    = (const char *)B + (uint64_t)(uint32_t)col * stride;

            if (kEdge && kLast && __any_sync(0xffffffffu, col == A.last_col)) {
                load_elements((const T *)row, to); /* nothing may be behind */
                return;
            }
#pragma unroll
            for (int load = 0; load < kLoads; load++) {
                to[load] = {};
                if (is_inside(load)) {
                    load_16(to[load], row + load * 128);
                }
            }
        } else {
            constexpr bool kColumns = kAccess == BittcfAccess::kColumns;
            const T *const row = (const T *)args.x.B + (kColumns ? col : col * args.x.ldb) * kParts;

#pragma unroll
            for (int k = 0; k < kLoads * kElems; k++) {
                const int     j  = column(k / kElems, k % kElems);
                const int64_t at = kColumns ? j / kParts * args.x.ldb * kParts + j % kParts : j;

                to[k / kElems].at[k % kElems] = j < n() ? __ldg(row + at) : (T)0;
            }
        }
    }

    /* Entries (g, t) and (g, t + 4) of a tile with these bits. */
    __device__ __forceinline__ void load_entries(uint2 word, Element (&to)[2])
    {
        const uint32_t half = g < 4 ? word.x : word.y, in_low = (uint32_t)__popc(word.x);
        const int      shift = g % 4 * kSide + t;
        const uint32_t mine  = half >> shift;
        const uint32_t at =
            value + (uint32_t)__popc(half & ((1u << shift) - 1)) + (g < 4 ? 0u : in_low);

        to[0] = (mine & 1) != 0 ? load_value(A.values + at) : Element{};
        to[1] = (mine & 16) != 0 ? load_value(A.values + (at + (uint32_t)__popc(mine & 15)))
                                 : Element{};
        value += in_low + (uint32_t)__popc(word.y);
    }

    /* Rows of B and entries of A of block k: blocks are loaded in order.  Columns of a window
     * ascend, so that no block but its last one names the last row of B. */
    __device__ __forceinline__ void load(int k, Tile &to)
    {
        if (kEdge && k == item.n_blocks - 1) {
            load_block<true>(k, to);
        } else {
            load_block<false>(k, to);
        }
    }

    template <bool kLast> __device__ __forceinline__ void load_block(int k, Tile &to)
    {
        const uint32_t ring = (uint32_t)k % kRing;

        if (k % kGroup == 0) {
            cp_async_wait<1>();
            __syncwarp();
        }
        load_row<kLast>(load_shared<int32_t>(col_at + ring * (kSide * 4)), to.b[0]);
        load_row<kLast>(load_shared<int32_t>(col_at + ring * (kSide * 4) + 16), to.b[1]);
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

    /* Sums of what lies behind the last column, which may be anything, are as if it were zeros. */
    __device__ __forceinline__ void drop_edge()
    {
        const int first = j0 + kElems * (g - chunk); /* of the lane's sums, as fragments are */

#pragma unroll
        for (int k = 0; k < kTiles * kLoads * kElems; k++) {
            const int tile = k / (kLoads * kElems), load = k / kElems % kLoads, e = k % kElems;

            if (first + offset(load, e) >= n()) {
                sum[tile][load][e / 2][2 * (e % 2)]     = 0;
                sum[tile][load][e / 2][2 * (e % 2) + 1] = 0;
            }
        }
    }

    /* The lane's columns of a load in row 2 r + i of a tile, r = row_pair(): mma e / 2 has column
     * e % 2 of each pair in rows g and g + 8 of its m16 side. */
    __device__ __forceinline__ int row_pair() const
    {
        return kWide ? part : t;
    }

    __device__ __forceinline__ Wide result(int tile, int load, int i) const
    {
        const Wide x = this->sums_of(tile, load, i);

        return kWide ? from_fragment(x) : x;
    }

    /* All blocks: kStages register tiles in rotation, so indices are constants after unrolling. */
    __device__ __forceinline__ void run()
    {
        Tile      tile[kStages];
        const int blocks = item.n_blocks;

        fetch_lists(0);
        fetch_lists(1);
        if (is_turned(kAccess) && args.x.follows != SPMM_FOLLOWS_CONCURRENT) {
            wait_for_earlier();
        }
#pragma unroll
        for (int k = 0; k < kStages - 1; k++) {
            if (k < blocks) {
                load(k, tile[k]);
            }
        }
        for (int first = 0; first < blocks; first += kStages) {
#pragma unroll
            for (int k = 0; k < kStages; k++) {
                if (first + k < blocks) {
                    if (first + k + kStages - 1 < blocks) {
                        load(first + k + kStages - 1, tile[(k + kStages - 1) % kStages]);
                    }
                    this->multiply(tile[k]);
                }
            }
        }
        cp_async_wait<0>();
        __syncwarp();
        if constexpr (kEdge) {
            drop_edge();
        }
    }

    /* The warps of a thread block have each multiplied a part of the work item: add their sums up,
     * in the order of the warps.  @return whether this warp has the total
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

    __device__ __forceinline__ void store_load(T *c, int load, const Wide &x) const
    {
        const Elements &sums  = (const Elements &)x;
        const Element   alpha = Factor<Element>::of(args.x.alpha);
        const Element   beta  = Factor<Element>::of(args.x.beta);

        if (kWide && (!kEdge || column(load, kElems - 1) < n())) {
            Elements to = {};

            if (!is_inside(load)) {
                return;
            }
            if (!is_zero(args.x.beta)) {
                to = *(const Elements *)(c + column(load, 0));
            }
#pragma unroll
            for (int e = 0; e < kElems / kParts; e++) {
                const Element product = alpha * sums.at[e];

                to.at[e] = is_zero(args.x.beta) ? product : product + beta * to.at[e];
            }
            __stcs((int4 *)(c + column(load, 0)), *(const int4 *)&to);
        } else {
#pragma unroll
            for (int e = 0; e < kElems / kParts; e++) {
                const int j = column(load, kParts * e);

                if (j < n()) {
                    store_c(args, (Element *)(c + j), sums.at[e]);
                }
            }
        }
    }

    /* Into column-major C, from lanes as the fragments have them: those of one g hold the eight
     * rows of a tile, neighbours in a column, each lane two. */
    __device__ __forceinline__ void store_columns() const
    {
        const int  first  = kWide ? j0 + kElems * (g - chunk) : j0;
        const bool paired = sizeof(Element) < 16 && args.row_map == NULL &&
                            ((uintptr_t)args.x.C | (uintptr_t)args.x.ldc * sizeof(Element)) %
                                    (2 * sizeof(Element)) ==
                                0;

#pragma unroll
        for (int tile = 0; tile < kTiles; tile++) {
            const int64_t row = ((int64_t)item.window * kTiles + tile) * kSide + 2 * t;

#pragma unroll
            for (int load = 0; load < kLoads; load++) {
                const Wide x[2] = {this->sums_of(tile, load, 0), this->sums_of(tile, load, 1)};

#pragma unroll
                for (int e = 0; e < kElems / kParts; e++) {
                    const int     j       = first + offset(load, kParts * e);
                    const Element both[2] = {((const Elements &)x[0]).at[e],
                                             ((const Elements &)x[1]).at[e]};

                    if (j < n()) {
                        store_pair(row, j / kParts, both, paired);
                    }
                }
            }
        }
    }

    /* Rows @p row and the next one, in one access where C allows it. */
    __device__ __forceinline__ void store_pair(int64_t row, int j, const Element (&x)[2],
                                               bool paired) const
    {
        if (paired && row + 1 < A.n_rows) {
            auto *const      to = (Pack<Element, 2> *)at_c<Element>(args, row, j);
            Pack<Element, 2> c;

            if (!is_zero(args.x.beta)) {
                c = *to;
            }
#pragma unroll
            for (int k = 0; k < 2; k++) {
                const Element product = Factor<Element>::of(args.x.alpha) * x[k];

                c.at[k] = is_zero(args.x.beta)
                              ? product
                              : product + Factor<Element>::of(args.x.beta) * c.at[k];
            }
            *to = c;
            return;
        }
        for (int k = 0; k < 2 && row + k < A.n_rows; k++) {
            store_c(args, at_c<Element>(args, row + k, j), x[k]);
        }
    }

    __device__ __forceinline__ void store() const
    {
        if constexpr (kTurns) {
            if (args.x.layout != SPMM_LAYOUT_ROW) {
                store_columns();
                return;
            }
        }
#pragma unroll
        for (int k = 0; k < 2 * kTiles; k++) {
            const int64_t row =
                (int64_t)item.window * (kTiles * kSide) + k / 2 * kSide + 2 * row_pair() + k % 2;
            const bool inside = row < A.n_rows;
            T *const   c      = (T *)row_of_c<Element>(args, inside ? row : 0);

#pragma unroll
            for (int load = 0; load < kLoads; load++) {
                const Wide x = result(k / 2, load, k % 2); /* all lanes take part */

                if (inside) {
                    store_load(c, load, x);
                }
            }
        }
    }

    /* Sums of a work item: [height, n] at @p to. */
    __device__ __forceinline__ void store_partial(T *to) const
    {
#pragma unroll
        for (int k = 0; k < 2 * kTiles; k++) {
            T *const row = to + (k / 2 * kSide + 2 * row_pair() + k % 2) * n();

#pragma unroll
            for (int load = 0; load < kLoads; load++) {
                const Wide x = result(k / 2, load, k % 2);

                if constexpr (kWide && !kEdge) {
                    if (is_inside(load)) {
                        *(Wide *)(row + column(load, 0)) = x;
                    }
                } else {
#pragma unroll
                    for (int e = 0; e < kElems; e++) {
                        if (column(load, e) < n()) {
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
