/* SPDX-License-Identifier: Apache-2.0 */
/** @file bcsr_lists.cuh
 *  C = alpha * A * B + beta * C, A in BCSR with or without 2:4 tiles, by lists of tiles.
 *
 *  Where a thread block goes by steps (bcsr.cuh) it meets at a barrier every 32 columns, for a
 *  few tiles. Here it lays up the rows of B of as many steps as fit half of its shared memory, a
 *  chunk, and meets once for each, while the next one is on its way.  In between a warp goes its
 *  own way, as in the thesis: it has one tile row and takes from the list of its tiles, by step;
 *  fragments of A come from memory to the registers that mma takes them from, kAhead tiles
 *  ahead, chunks or not.  So a 2:4 tile is one load of 512 bytes where a dense one is two.
 *  Where tile rows are few, kSplit warps take the tiles of one by turns, and their sums meet in
 *  shared memory.
 */
#ifndef SPMM_BCSR_LISTS_CUH
#define SPMM_BCSR_LISTS_CUH

#include "cuda/bcsr/bcsr_walk.cuh"

namespace spmmi
{

/** @tparam kWarpsM  tile rows of a thread block
 *  @tparam kWarpsK  warps of a tile row
 *  The others as of BcsrShape. */
template <typename H, typename O, int kWarpsM, int kWarpsK, int kTiles, bool kSparse, bool kWide>
struct BcsrListShape {
    using Half                     = H;
    using Out                      = O;
    static constexpr int  kM       = kWarpsM;
    static constexpr int  kRows    = 1;
    static constexpr int  kAcross  = 1;
    static constexpr int  kSplit   = kWarpsK;
    static constexpr int  kN       = kTiles;
    static constexpr bool kSp      = kSparse;
    static constexpr bool kAccess  = kWide;
    static constexpr int  kPanel   = kWarpsM;
    static constexpr int  kWidth   = kTiles * 8;
    static constexpr int  kThreads = kWarpsM * kWarpsK * kWarp;
    static constexpr int  kRowB    = kWidth * 2;
    static constexpr int  kStepB   = SPMM_BCSR_WIDTH * kRowB;
    static constexpr int  kPasses  = 6; /* words of B that a thread copies for a chunk; two
                                         chunks fit 99 KB, what sm_86 has */
    static constexpr int  kSteps   = kPasses * 16 * kThreads / kStepB; /* of a chunk */
    static constexpr int  kChunk   = kSteps * kStepB;
    static constexpr int  kRoom    = 2 * kChunk + 2 * kSteps * (int)sizeof(int2);
    static_assert(kSteps > 0 && kPasses * 16 * kThreads == kChunk, "whole steps");
    static_assert(kWarpsM * (kWarpsK - 1) * kTiles * kWarp * 16 <= 2 * kChunk, "sums meet there");
    static_assert(kSteps <= kWarp, "a lane for each");
};

/** One piece of a panel, one slice of C. */
template <class S> struct BcsrListBlock : BcsrWalk<S> {
    using Half = typename S::Half;
    using Sums = BcsrSums<S>;
    using Sums::A, Sums::args, Sums::piece, Sums::lane, Sums::g, Sums::t, Sums::slice, Sums::sum;
    using Sums::add, Sums::warp_m, Sums::warp_n;
    using Walk = BcsrWalk<S>;
    using Walk::look_up, Walk::left, Walk::meet, Walk::open_list;

    static constexpr int kAhead  = 3;                     /* tiles of A on their way */
    static constexpr int kChunks = S::kWidth / 8;         /* 16-byte words of a row of B */
    static constexpr int kStride = S::kThreads / kChunks; /* rows that all threads copy at a time */
    static constexpr int32_t kNone = INT32_MAX;           /* behind the last tile */
    static_assert(kStride % 8 == 0, "a thread's words of B are turned alike");

    /* Bytes from step to step of B: where access is wide, 32 bits are enough. */
    using Stride = std::conditional_t<S::kAccess, uint32_t, uint64_t>;

    struct Tile {
        uint32_t a[4], meta;
        int32_t  word; /* see spmm_bcsr_listed_t */
    };

    const bool        pairs;   /* not wide: 4-byte access to B */
    const int         row;     /* of a chunk's rows of B, the first that the thread copies */
    const int         columns; /* from its word on */
    const Stride      stride;
    const char *const b_from;                /* the thread's word of B in step 0 */
    const uint32_t    room;                  /* shared address of the two chunks */
    const uint32_t    b_to;                  /* where in a chunk it puts that of B */
    const uint32_t    sparse_row, dense_row; /* see spmmi_bcsr_sparse_row() */
    const int4 *const step;
    int2 *const       steps; /* [2][kSteps] shared, of the chunk to be copied and the one behind */

    __device__ __forceinline__ BcsrListBlock(const typename Sums::Format &format,
                                             const spmm_tc_mm_args_t     &mm,
                                             const spmm_tc_piece_t &work, int64_t j, bool in_pairs,
                                             void *shared)
        : Walk(format, mm, work, j), pairs(in_pairs), row((int)threadIdx.x / kChunks),
          columns((int)least(8, mm.x.n - j - 8 * ((int)threadIdx.x % kChunks))),
          stride((Stride)mm.x.ldb * (SPMM_BCSR_WIDTH * (Stride)sizeof(Half))),
          b_from((const char *)((const Half *)mm.x.B + row % SPMM_BCSR_WIDTH * mm.x.ldb + j +
                                8 * ((int)threadIdx.x % kChunks))),
          room(shared_address(shared)),
          b_to(spmmi_bcsr_b_at(S::kWidth, row, (int)threadIdx.x % kChunks)),
          sparse_row(spmmi_bcsr_sparse_row(S::kWidth, (int)threadIdx.x % kWarp)),
          dense_row(spmmi_bcsr_dense_row(S::kWidth, (int)threadIdx.x % kWarp)),
          step((const int4 *)format.step + work.block),
          steps((int2 *)((char *)shared + 2 * S::kChunk))
    {
    }

    /* --- Copies of B. --- */

    /* Step threadIdx.x of chunk @p c: its number of columns / 32 and which sides it has, bit 0
     * the left; no thread copies a side without tiles, since nothing multiplies it. */
    __device__ __forceinline__ int2 look(int c) const
    {
        const int s = c * S::kSteps + (int)threadIdx.x;

        if ((int)threadIdx.x >= S::kSteps || s >= piece.n_blocks) {
            return make_int2(0, 0);
        }
        const int4     one  = __ldg(step + s);
        const uint32_t left = (uint32_t)one.z & 0xffff, right = (uint32_t)one.z >> 16;

        return make_int2(one.x, one.w != 0 ? 3 : (left != 0) + 2 * (right != 0));
    }

    __device__ __forceinline__ void note(int c, int2 one) const
    {
        if ((int)threadIdx.x < S::kSteps) {
            steps[(c & 1) * S::kSteps + (int)threadIdx.x] = one;
        }
    }

    /* Start copying chunk @p c, zeros behind the last row and column of B. */
    __device__ __forceinline__ void copy(int c) const
    {
        constexpr int     kWidth = SPMM_BCSR_WIDTH;
        const uint32_t    to     = room + (uint32_t)(c & 1) * S::kChunk + b_to;
        const int2 *const from   = steps + (c & 1) * S::kSteps + row / kWidth;

#pragma unroll
        for (int p = 0; p < S::kPasses; p++) {
            const int2 one   = from[p * kStride / kWidth];
            const int  below = p * kStride % kWidth; /* 0 or, with kStride 16, 16 */
            const int  k     = below + row % kWidth;

            if ((one.y >> (k >= SPMM_BCSR_SIDE) & 1) != 0) {
                const bool        inside = one.x * kWidth + k < A.n_cols;
                const char *const at =
                    b_from + (uint64_t)(uint32_t)one.x * stride + stride / kWidth * below;

                if constexpr (S::kAccess) {
                    cp_async_at<16>(to + p * kStride * S::kRowB, at, inside && columns > 0);
                } else {
                    bcsr_copy_narrow(to + p * kStride * S::kRowB, (const Half *)at,
                                     inside ? columns : 0, pairs);
                }
            }
        }
        cp_async_commit();
    }

    /* --- Tiles of A. --- */

    /* The tile there starts on its way, and so does the place of the kAhead'th behind it: nothing
     * here waits for what it loads. */
    __device__ __forceinline__ void fetch(Tile &tile, int4 &from)
    {
        tile.word = kNone;
        if (left > 0) {
            const int4 v =
                __ldg((const int4 *)(A.values + (int64_t)from.y * SPMM_BCSR_UNIT) + lane);

            tile.word = from.x;
            tile.a[0] = (uint32_t)v.x;
            tile.a[1] = (uint32_t)v.y;
            tile.a[2] = (uint32_t)v.z;
            tile.a[3] = (uint32_t)v.w;
            if (S::kSp && (tile.word & 3) == SPMM_BCSR_SP24) {
                tile.meta = __ldg((const uint32_t *)(A.values + (int64_t)from.z * SPMM_BCSR_UNIT) +
                                  2 * (lane / 4) + lane % 2);
            }
        }
        left--;
        look_up(from);
    }

    /* --- Products. --- */

    /* @param[in] rows  shared address of the step's rows of B */
    __device__ __forceinline__ void multiply_sparse(const Tile &tile, uint32_t rows)
    {
        constexpr int kGroup = 4; /* fragments of B at a time */

#pragma unroll
        for (int j = 0; j < S::kN; j += kGroup) {
            uint32_t b[kGroup][4];

#pragma unroll
            for (int k = 0; k < kGroup; k++) {
                load_matrices(b[k], (rows + sparse_row) ^ 16 * (j + k));
            }
#pragma unroll
            for (int k = 0; k < kGroup; k++) {
                add(sum[0][j + k],
                    [&](float(&d)[4]) { mma_sparse_m16n8k32<Half>(d, tile.a, b[k], tile.meta); });
            }
        }
    }

    __device__ __forceinline__ void multiply_dense(const Tile &tile, uint32_t rows)
    {
        constexpr int  kGroup = 2; /* loads at a time: two fragments each */
        const uint32_t from =
            rows + dense_row + (uint32_t)(tile.word & 1) * (SPMM_BCSR_SIDE * S::kRowB);

#pragma unroll
        for (int j = 0; j < S::kN; j += 2 * kGroup) {
            uint32_t b[kGroup][4];

#pragma unroll
            for (int k = 0; k < kGroup; k++) {
                load_matrices(b[k], from ^ 16 * (j + 2 * k));
            }
#pragma unroll
            for (int k = 0; k < 2 * kGroup; k++) {
                add(sum[0][j + k], [&](float(&d)[4]) {
                    mma_half_m16n8k16<Half>(d, tile.a, b[k / 2][2 * (k % 2)],
                                            b[k / 2][2 * (k % 2) + 1]);
                });
            }
        }
    }

    __device__ __forceinline__ void multiply(const Tile &tile, uint32_t rows)
    {
        if (S::kSp && (tile.word & 3) == SPMM_BCSR_SP24) {
            multiply_sparse(tile, rows);
        } else {
            multiply_dense(tile, rows);
        }
    }

    /* Chunk @p c may be multiplied.  The barrier shows it to all warps, and that they are done
     * with the one before, whose place the next copy takes.  Warps come to it from different
     * places of the code, each as often as there are chunks, which rules out __syncthreads():
     * barrier.sync counts threads, whichever instruction they come from. */
    __device__ __forceinline__ void enter(int c, int2 &ahead) const
    {
        note(c + 1, ahead);
        cp_async_wait<0>();
        asm volatile("barrier.sync 1, %0;" ::"n"(S::kThreads) : "memory");
        copy(c + 1);
        ahead = look(c + 2);
    }

    /* All tiles, kAhead of them on their way, and all chunks, which each warp enters when its
     * next tile is there, or at the end. */
    __device__ __forceinline__ void multiply_all(int2 ahead)
    {
        const int chunks = (piece.n_blocks + S::kSteps - 1) / S::kSteps;
        int       c      = -1;
        int32_t   end    = 4 * piece.block; /* words of the chunk are below that */
        uint32_t  base   = 0;               /* the address that step 0 of all would have */
        Tile      ring[kAhead];
        int4      from[kAhead];

#pragma unroll
        for (int k = 0; k < kAhead; k++) {
            from[k] = make_int4(0, 0, 0, 0);
            look_up(from[k]);
        }
#pragma unroll
        for (int k = 0; k < kAhead; k++) {
            fetch(ring[k], from[k]);
        }
        for (;;) {
#pragma unroll
            for (int k = 0; k < kAhead; k++) {
                while (ring[k].word >= end) {
                    if (++c >= chunks) {
                        return;
                    }
                    enter(c, ahead);
                    base = room + (uint32_t)(c & 1) * S::kChunk -
                           (uint32_t)(piece.block + c * S::kSteps) * S::kStepB;
                    end += 4 * S::kSteps;
                }
                multiply(ring[k], base + (uint32_t)(ring[k].word >> 2) * S::kStepB);
                fetch(ring[k], from[k]);
            }
        }
    }

    __device__ __forceinline__ void run(const BcsrLists &lists, bool part, void *shared)
    {
        note(0, look(0));

        const int2 ahead = look(1);

        open_list(lists, part);
        __syncthreads();
        copy(0);
        multiply_all(ahead);
        __syncthreads();
        meet((float4 *)shared);
    }
};

} // namespace spmmi

#endif /* SPMM_BCSR_LISTS_CUH */
