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

#include "cuda/cvse/cvse_sums.cuh"

namespace spmmi
{

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
                                        const spmm_tc_mm_args_t &mm, const spmm_tc_piece_t &work,
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
