/* SPDX-License-Identifier: Apache-2.0 */
/** @file bcsr.cuh
 *  C = alpha * A * B + beta * C, A in BCSR with or without 2:4 tiles, 16-bit, on tensor cores with
 *  sums in FP32.
 *
 *  A thread block takes a panel of 8 or 16 tile rows and a slice of C, step by step: the values of a
 *  step stand together in memory, and its 32 rows of B serve all of its tiles (SMaT and the thesis
 *  load them for each tile).  Both come to shared memory by asynchronous copies, kBcsrStages - 1
 *  steps ahead (mmaOBT has one).  A warp multiplies four tile rows by up to 64 columns: fragments
 *  of B, by ldmatrix from rows swizzled in words of 16 bytes, stay in registers for its up to eight
 *  tiles; fragments of A are stored as lanes take them.
 *
 *  The k32 of mma.sp takes the same fragments of B as two mma of k16.  So a step has its 2:4 tiles
 *  first and then the others, each in a loop of its own (mmaOBTS_large_separate), over one load of B.
 */
#ifndef SPMM_BCSR_CUH
#define SPMM_BCSR_CUH

#include "cuda/bcsr_sums.cuh"

namespace spmm
{

/** One piece of a panel, one slice of C. */
template <class S> struct BcsrBlock : BcsrSums<S> {
    using Half = typename S::Half;
    using Out  = typename S::Out;
    using Sums = BcsrSums<S>;
    using Sums::A, Sums::args, Sums::piece, Sums::lane, Sums::g, Sums::t, Sums::slice, Sums::sum;
    using Sums::warp_m, Sums::warp_n;

    static constexpr int kChunks = S::kWidth / 8;         /* 16-byte words of a row of B */
    static constexpr int kStride = S::kThreads / kChunks; /* rows that all threads copy at a time */
    static_assert(S::kThreads % kChunks == 0 && (kStride == 8 || kStride == 16 || kStride == 32),
                  "a thread's words of B are in the same place of their rows");

    const bool     pairs; /* not wide: 4-byte access to B */
    const uint32_t room, records;
    const int      row;     /* of a step's rows of B, the first that the thread copies */
    const int      columns; /* from that word on */
    const Half    *B;       /* the word in the first step */
    const uint32_t b_at;    /* where it goes in a stage */
    int4           next;    /* the step to be copied next */

    __device__ __forceinline__ BcsrBlock(const typename S::Format &format,
                                         const spmm_tc_mm_args_t &mm, const spmm_tc_piece_t &work,
                                         int64_t j, bool in_pairs, void *shared)
        : Sums(format, mm, work, j), pairs(in_pairs), room(shared_address(shared)),
          records(room + kBcsrStages * S::kStage), row((int)threadIdx.x / kChunks),
          columns((int)least(8, mm.n - j - 8 * ((int)threadIdx.x % kChunks))),
          B((const Half *)mm.B + row * mm.ldb + j + 8 * ((int)threadIdx.x % kChunks)),
          b_at(place_of_b(row, (int)threadIdx.x % kChunks))
    {
    }

    /* --- Copies. --- */

    /* Where the 16-byte word number @p chunk of row @p k of B stands: any eight rows of a matrix that
     * ldmatrix takes are in different banks. */
    static __device__ __forceinline__ uint32_t place_of_b(int k, int chunk)
    {
        const int turn = S::kWidth >= 64 ? k % 8 : k / 2 % 4;

        return (uint32_t)(S::kRoomA + k * S::kRowB + 16 * (chunk ^ turn));
    }

    __device__ __forceinline__ void copy_narrow(uint32_t to, const Half *from, int left) const
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

    /* The rows of B of a step, a word for each thread at a time, zeros behind the last row and column;
     * a side without tiles stays as it is, since nothing multiplies it. */
    __device__ __forceinline__ void copy_b(uint32_t stage, const int4 &s) const
    {
        const bool        sparse = (s.w & 0xffff) != 0;
        const bool        left = (s.z & 0xffff) != 0 || sparse, right = (s.z >> 16) != 0 || sparse;
        const int         rows = A.n_cols - s.x * SPMM_BCSR_WIDTH - row;
        const Half *const from = B + (int64_t)s.x * SPMM_BCSR_WIDTH * args.ldb;

#pragma unroll
        for (int k = 0; k < SPMM_BCSR_WIDTH; k += kStride) {
            if ((kStride <= 16 ? k : row) < 16 ? left : right) {
                const uint32_t to = stage + b_at + k * S::kRowB;

                if constexpr (S::kAccess) {
                    cp_async_at<16>(to, from + k * args.ldb, k < rows && columns > 0);
                } else {
                    copy_narrow(to, from + k * args.ldb, k < rows ? columns : 0);
                }
            }
        }
    }

    __device__ __forceinline__ int4 step_at(int k) const
    {
        return __ldg((const int4 *)A.step + piece.block + min(k, piece.n_blocks - 1));
    }

    static __device__ __forceinline__ int tiles_of(const int4 &s)
    {
        return __popc((uint32_t)s.z) + __popc((uint32_t)s.w);
    }

    /* Start copying step k, the next one; a commit in any case keeps the groups counted. */
    __device__ __forceinline__ void fetch(int k)
    {
        if (k < piece.n_blocks) {
            const int4     s     = next;
            const uint32_t stage = room + (uint32_t)(k % kBcsrStages) * S::kStage;
            const int      words = tiles_of(s) * (kBcsrTileBytes / 16) + 4 * __popc((uint32_t)s.w);
            const char *const from = A.values + (int64_t)s.y * SPMM_BCSR_UNIT;

            next = step_at(k + 1);
            copy_b(stage, s);
            for (int w = (int)threadIdx.x; w < words; w += S::kThreads) {
                cp_async_at<16>(stage + 16 * w, from + 16 * w);
            }
            if (threadIdx.x == 0) {
                cp_async_at<16>(records + 16 * (uint32_t)(k % kBcsrStages),
                                A.step + piece.block + k);
            }
        }
        cp_async_commit();
    }

    /* --- Products. --- */

    /* Sums of an FP32 C are rounded to nearest from tile to tile, since tensor cores cut off bits when
     * they add, which long rows would feel. */
    template <class Mma> __device__ __forceinline__ void add(float (&to)[4], Mma mma) const
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

    __device__ __forceinline__ void load_a(uint32_t (&a)[4], uint32_t tile) const
    {
        const int4 v = load_shared<int4>(tile + 16 * lane);

        a[0] = (uint32_t)v.x;
        a[1] = (uint32_t)v.y;
        a[2] = (uint32_t)v.z;
        a[3] = (uint32_t)v.w;
    }

    /* The left (kSide 0) or right tiles of the warp's rows, the first of which is at @p tile. */
    template <int kSide>
    __device__ __forceinline__ void multiply(uint32_t mask, uint32_t tile,
                                             const uint32_t (&b)[S::kN][4])
    {
#pragma unroll
        for (int r = 0; r < kBcsrRows; r++) {
            if ((mask >> r & 1) != 0) {
                uint32_t a[4];

                load_a(a, tile);
                tile += kBcsrTileBytes;
#pragma unroll
                for (int j = 0; j < S::kN; j++) {
                    add(sum[r][j], [&](float(&d)[4]) {
                        mma_half_m16n8k16<Half>(d, a, b[j][2 * kSide], b[j][2 * kSide + 1]);
                    });
                }
            }
        }
    }

    __device__ __forceinline__ void multiply_sparse(uint32_t mask, uint32_t tile, uint32_t meta,
                                                    const uint32_t (&b)[S::kN][4])
    {
#pragma unroll
        for (int r = 0; r < kBcsrRows; r++) {
            if ((mask >> r & 1) != 0) {
                const uint32_t e =
                    (uint32_t)load_shared<int32_t>(meta + 4 * (uint32_t)(2 * g + t % 2));
                uint32_t a[4];

                load_a(a, tile);
                tile += kBcsrTileBytes;
                meta += SPMM_BCSR_UNIT;
#pragma unroll
                for (int j = 0; j < S::kN; j++) {
                    add(sum[r][j], [&](float(&d)[4]) { mma_sparse_m16n8k32<Half>(d, a, b[j], e); });
                }
            }
        }
    }

    __device__ __forceinline__ void compute(int k)
    {
        const uint32_t at    = (uint32_t)(k % kBcsrStages);
        const uint32_t stage = room + at * S::kStage;
        const int4     s     = load_shared<int4>(records + 16 * at);
        const uint32_t left = (uint32_t)s.z & 0xffff, right = (uint32_t)s.z >> 16;
        const uint32_t sparse = S::kSp ? (uint32_t)s.w & 0xffff : 0;
        const int      first  = kBcsrRows * warp_m;
        const uint32_t below = (1u << first) - 1, mine = (1u << kBcsrRows) - 1;
        const int      n_sparse = S::kSp ? __popc(sparse) : 0;
        uint32_t       b[S::kN][4];

        if (((left | right | sparse) >> first & mine) == 0) {
            return;
        }
#pragma unroll
        for (int j = 0; j < S::kN; j++) {
            load_matrices(b[j], stage + place_of_b(lane, warp_n * S::kN + j));
        }
        if constexpr (S::kSp) {
            const uint32_t rank = (uint32_t)__popc(sparse & below);

            multiply_sparse(sparse >> first & mine, stage + rank * kBcsrTileBytes,
                            stage + (uint32_t)tiles_of(s) * kBcsrTileBytes + rank * SPMM_BCSR_UNIT,
                            b);
        }
        multiply<0>(left >> first & mine,
                    stage + (uint32_t)(n_sparse + __popc(left & below)) * kBcsrTileBytes, b);
        multiply<1>(right >> first & mine,
                    stage + (uint32_t)(n_sparse + __popc(left) + __popc(right & below)) *
                                kBcsrTileBytes,
                    b);
    }

    /* All steps.  The one barrier of a step shows it to all warps, and that they are done with the one
     * before, whose place the next copy takes. */
    __device__ __forceinline__ void run()
    {
        const int n = piece.n_blocks;

        if (n > 0) {
            next = step_at(0);
        }
        for (int k = 0; k < kBcsrStages - 1; k++) {
            fetch(k);
        }
        for (int k = 0; k < n; k++) {
            cp_async_wait<kBcsrStages - 2>();
            __syncthreads();
            fetch(k + kBcsrStages - 1);
            compute(k);
        }
        cp_async_wait<0>();
        __syncthreads();
    }
};

} // namespace spmm

#endif /* SPMM_BCSR_CUH */
