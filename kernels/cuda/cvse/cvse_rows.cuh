/* SPDX-License-Identifier: Apache-2.0 */
/** @file cvse_rows.cuh
 *  Rows of B from memory into the operands of mma, and their product with a block of A: what the
 *  CVSE kernels of long and of short windows share.  Sums in FP32.
 *
 *  Transpose Mapping (SSpMM, section III): a tile of B^T, 16 columns by 16 rows of B, is the m16
 *  side of mma.m16n8k16, and the vectors of a block, 16 by 8 rows of A, are the n8 side.  V = 16
 *  is two n8 tiles, so that each fragment of B serves two mma.
 *
 *  Register Shuffle (section IV): in fragment terms (lane = 4 g + t) a lane holds, of rows t, t
 *  + 4, t + 8 and t + 12 of a block, the same 8 columns: four loads of 16 bytes.  A register of
 *  the m16 side pairs two rows of one column, so a byte permutation of two of its own words
 *  makes it: mma j takes columns 2j and 2j + 1 of each lane as its "rows" g and g + 8.  Which
 *  columns these are is free, as long as C is stored by the same rule: the lane ends up with 8
 *  consecutive columns of rows 2t and 2t + 1 of C.  No transpose in shared memory, in or out.
 *
 *  Which lane loads is another question.  A quarter of a warp, which L1 serves at a time, would
 *  in fragment order touch 32 bytes at the same place of four lines: the same banks, four
 *  wavefronts. For the 2 KiB of a block's 64 columns that makes 64 wavefronts, more than the 53
 *  to 60 cycles that an H200's L2 takes to deliver them to one multiprocessor (8.9 TB/s in all,
 *  1.75 to 1.98 GHz), so L1 would be the limit even where it never hits.  With lane 8 t + g
 *  loading what lane 4 g + t multiplies, a quarter reads 128 bytes of one row: 16 wavefronts and
 *  16 shuffles, which take as long as a wavefront each, 32 in all.  So B is shuffled (kShuffle);
 *  this is a count, from what was measured of BitTCF.  C is not shuffled: in fragment order
 *  stores fill whole sectors of 32 bytes too, and shuffles would cost what their wavefronts do.
 */
#ifndef SPMM_CVSE_ROWS_CUH
#define SPMM_CVSE_ROWS_CUH

#include "cuda/cvse/cvse_format.cuh"

namespace spmmi
{

/* The sums of a warp of the CVSE kernel: a slice of C for one work item, in the order in which
 * mma leaves them, and the way to memory. */

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
    spmm_tc_item_t           item;
    const int                lane, g, t;
    const int                slice; /* first column that is stored */
    const int                first; /* first column that is multiplied */
    float                    sum[kTiles][kLoads][kWords][4] = {};

    /* Wide access needs kWidth columns: the last slice starts early enough, and only stores the
     * columns that are its own.  The last access to a row may reach behind n, and of a row with
     * fewer columns some lanes have none. */
    __device__ __forceinline__ CvseSums(const Format &format, const spmm_tc_mm_args_t &mm,
                                        const spmm_tc_item_t &work, int j)
        : A(format), args(mm), item(work), lane((int)threadIdx.x % kWarp), g(lane / 4), t(lane % 4),
          slice(j), first(first_column(j, (int)mm.x.n))
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

    /* The warps of a thread block have each multiplied a part of the work item: add their sums up,
     * in the order of the warps.  @return whether this warp has the total
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
        const int64_t row = (int64_t)item.window * kHeight + k / 2 * 8 + 2 * t + k % 2;

        if (item.window < 0 || row >= A.n_rows) {
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

    /* Sums of a work item: [height, n] at @p to. */
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

/** @tparam kElems   columns that a lane loads at a time: 8 or 4
 *  @tparam kWarps   of the thread block: those of a team */
template <typename Half, typename Out, int kTiles, int kLoads, int kElems, CvseAccess kAccess,
          int kWarps>
struct CvseRows : CvseSums<Half, Out, kTiles, kLoads, kElems, kAccess, kWarps> {
    using Sums = CvseSums<Half, Out, kTiles, kLoads, kElems, kAccess, kWarps>;
    using Sums::A, Sums::args, Sums::lane, Sums::g, Sums::t, Sums::first, Sums::sum;
    using Sums::column, Sums::kWords, Sums::kWide, Sums::kEdge;
    static constexpr bool kShuffle = kWide;

    struct Words {
        uint32_t at[kWords];
    };

    /* What a lane holds of one block: its columns of four rows of B, its entries of each tile of
     * A. */
    struct Tile {
        Words rows[4][kLoads];
        uint2 a[kTiles];
    };

    const int   chunk, part; /* of the access to B: which columns, which rows */
    const Half *B;           /* of the lane's first column */

    __device__ __forceinline__ CvseRows(const typename Sums::Format &format,
                                        const spmm_tc_mm_args_t &mm, const spmm_tc_item_t &work,
                                        int j)
        : Sums(format, mm, work, j), chunk(kShuffle ? lane % 8 : g), part(kShuffle ? lane / 8 : t),
          B((const Half *)mm.x.B + first + offset((int)mm.x.n))
    {
        keep(B);
    }

    /* From the first column of the slice to the lane's: lanes behind the last column read it
     * again. */
    __device__ __forceinline__ int offset(int n) const
    {
        return kEdge && kLoads == 1 ? min(kElems * chunk, Sums::last_access(n) - first)
                                    : (kWide ? kElems * chunk : chunk);
    }

    /* How many columns the lane's last access to a row has. */
    __device__ __forceinline__ int columns_left() const
    {
        return (int)args.x.n - first - offset((int)args.x.n) - (kLoads - 1) * 8 * kElems;
    }

    /* The lane's columns of row @p col of B; zeros where there is none. */
    __device__ __forceinline__ void load_row(int32_t col, Words (&to)[kLoads]) const
    {
        const uint32_t    stride = (uint32_t)args.x.ldb * (uint32_t)sizeof(Half);
        const char *const row    = (const char *)B + (uint64_t)(uint32_t)col * stride;

#pragma unroll
        for (int load = 0; load < kLoads; load++) {
            if constexpr (kWide && kElems == 8) {
                int4 v = {0, 0, 0, 0};

                if (col >= 0) {
                    v = __ldg((const int4 *)(row + load * 128));
                }
                to[load] = {{(uint32_t)v.x, (uint32_t)v.y, (uint32_t)v.z, (uint32_t)v.w}};
            } else if constexpr (kWide) {
                int2 v = {0, 0};

                if (col >= 0) {
                    v = __ldg((const int2 *)(row + load * 64));
                }
                to[load] = {{(uint32_t)v.x, (uint32_t)v.y}};
            } else {
                to[load] = load_elements(col, load);
            }
        }
    }

    __device__ __forceinline__ Words load_elements(int32_t col, int load) const
    {
        const uint16_t *const from = (const uint16_t *)B + (int64_t)max(col, 0) * args.x.ldb;
        Words                 x    = {};

#pragma unroll
        for (int e = 0; e < kElems; e++) {
            if (col >= 0 && column(load, e) < args.x.n) {
                x.at[e / 2] |= (uint32_t)__ldg(from + load * 8 * kElems + 8 * e) << 16 * (e % 2);
            }
        }
        return x;
    }

    /* From lane 8 t + g, which loaded them, to lane 4 g + t, which multiplies them. */
    __device__ __forceinline__ Words fragment(const Words &x) const
    {
        Words to = x;

        if constexpr (kShuffle) {
#pragma unroll
            for (int w = 0; w < kWords; w++) {
                to.at[w] = __shfl_sync(0xffffffffu, x.at[w], t * 8 + g);
            }
        }
        return to;
    }

    /* One mma; sums of an FP32 C are rounded to nearest from block to block, since tensor cores cut
     * off bits when they add, which long rows would feel. */
    __device__ __forceinline__ void add(float (&to)[4], const uint32_t (&b)[4], uint2 a) const
    {
        if constexpr (std::is_same_v<Out, float>) {
            float part_sum[4] = {0.0f, 0.0f, 0.0f, 0.0f};

            mma_half_m16n8k16<Half>(part_sum, b, a.x, a.y);
#pragma unroll
            for (int k = 0; k < 4; k++) {
                to[k] += part_sum[k];
            }
        } else {
            mma_half_m16n8k16<Half>(to, b, a.x, a.y);
        }
    }

    __device__ __forceinline__ void multiply(const Tile &tile)
    {
#pragma unroll
        for (int load = 0; load < kLoads; load++) {
            const Words x[4] = {fragment(tile.rows[0][load]), fragment(tile.rows[1][load]),
                                fragment(tile.rows[2][load]), fragment(tile.rows[3][load])};

#pragma unroll
            for (int w = 0; w < kWords; w++) {
                const uint32_t b[4] = {__byte_perm(x[0].at[w], x[1].at[w], 0x5410),
                                       __byte_perm(x[0].at[w], x[1].at[w], 0x7632),
                                       __byte_perm(x[2].at[w], x[3].at[w], 0x5410),
                                       __byte_perm(x[2].at[w], x[3].at[w], 0x7632)};

#pragma unroll
                for (int k = 0; k < kTiles; k++) {
                    add(sum[k][load][w], b, tile.a[k]);
                }
            }
        }
    }

    /* Of the last row of B, behind which there may be nothing: the last access has @p left
     * columns. */
    __device__ __forceinline__ void load_last(int left, Words (&to)[kLoads]) const
    {
        const Half *const row = B + (int64_t)A.last_col * args.x.ldb;

#pragma unroll
        for (int load = 0; load < kLoads; load++) {
            using All              = Pack<Half, kElems>;
            const Half *const from = row + load * 8 * kElems;
            const All x = load < kLoads - 1 ? *(const All *)from : load_first<kElems>(from, left);

#pragma unroll
            for (int w = 0; w < kWords; w++) {
                to[load].at[w] = ((const uint32_t *)&x)[w];
            }
        }
    }

    /* All four rows of a block.  The last row of B, where the lane may not read all, is put off. */
    __device__ __forceinline__ void load_rows(int4 col, Tile &to) const
    {
        if constexpr (kEdge) {
            const int  left = columns_left(), none = left < kElems ? A.last_col : -2;
            const bool x = col.x == none, y = col.y == none, z = col.z == none, w = col.w == none;

            load_row(x ? -1 : col.x, to.rows[0]);
            load_row(y ? -1 : col.y, to.rows[1]);
            load_row(z ? -1 : col.z, to.rows[2]);
            load_row(w ? -1 : col.w, to.rows[3]);
            if (x || y || z || w) {
                Words last[kLoads];

                load_last(left, last);
#pragma unroll
                for (int load = 0; load < kLoads; load++) {
                    to.rows[0][load] = x ? last[load] : to.rows[0][load];
                    to.rows[1][load] = y ? last[load] : to.rows[1][load];
                    to.rows[2][load] = z ? last[load] : to.rows[2][load];
                    to.rows[3][load] = w ? last[load] : to.rows[3][load];
                }
            }
            return;
        }
        load_row(col.x, to.rows[0]);
        load_row(col.y, to.rows[1]);
        load_row(col.z, to.rows[2]);
        load_row(col.w, to.rows[3]);
    }
};

} // namespace spmmi

#endif /* SPMM_CVSE_ROWS_CUH */
