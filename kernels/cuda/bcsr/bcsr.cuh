/* SPDX-License-Identifier: Apache-2.0 */
/** @file bcsr.cuh
 *  C = alpha * A * B + beta * C, A in BCSR without 2:4 tiles, 16-bit, on tensor cores with sums
 *  in FP32.
 *
 *  A thread block takes a panel of four tile rows and 128 columns of C, step by step: the values
 *  of a step stand together in memory, and its 32 rows of B serve all of its tiles (SMaT and the
 *  thesis load them for each tile).  Both come to shared memory by asynchronous copies,
 *  kBcsrStages - 1 steps ahead (mmaOBT has one).  A warp multiplies four tile rows by 64
 *  columns: fragments of B, by ldmatrix from rows swizzled in words of 16 bytes, stay in
 *  registers for its up to eight tiles; fragments of A are stored as lanes take them.
 */
#ifndef SPMM_BCSR_CUH
#define SPMM_BCSR_CUH

#include "cuda/bcsr/bcsr_sums.cuh"

namespace spmmi
{

constexpr int kBcsrStages = 4; /* steps in shared memory, that in work and those on the way */

/** Two warps side by side, each of four tile rows by 64 columns. */
template <typename H, typename O> struct BcsrStepShape {
    using Half                     = H;
    using Out                      = O;
    static constexpr int  kM       = 1;
    static constexpr int  kRows    = 4;
    static constexpr int  kAcross  = 2;
    static constexpr int  kSplit   = 1;
    static constexpr int  kN       = 8;
    static constexpr bool kAccess  = true;
    static constexpr bool kSp      = false;
    static constexpr int  kPanel   = kM * kRows;
    static constexpr int  kWidth   = kAcross * kN * 8;
    static constexpr int  kThreads = kM * kAcross * kWarp;
    static constexpr int  kRoomA   = kPanel * 2 * kBcsrTileBytes; /* of a step, at most */
    static constexpr int  kRowB    = kWidth * 2;
    static constexpr int  kStage   = kRoomA + SPMM_BCSR_WIDTH * kRowB;
    static constexpr int  kRoom    = kBcsrStages * (kStage + (int)sizeof(uint32_t));
};

/** One piece of a panel, one slice of C. */
template <class S> struct BcsrStepBlock : BcsrSums<S> {
    using Half = typename S::Half;
    using Out  = typename S::Out;
    using Sums = BcsrSums<S>;
    using Sums::A, Sums::piece, Sums::lane, Sums::sum, Sums::add, Sums::warp_n;

    static constexpr int kChunks = S::kWidth / 8;         /* 16-byte words of a row of B */
    static constexpr int kStride = S::kThreads / kChunks; /* rows that all threads copy at a time */
    static_assert(kStride == 4, "a thread's words of B are turned by four from row to row");

    static constexpr int kCopies = S::kRoomA / 16 / S::kThreads; /* words of A for a thread */

    const int       row;    /* of a step's rows of B, the first that the thread copies */
    const bool      inside; /* is its word of B? */
    const uint32_t  stride; /* bytes from step to step of B */
    uint32_t        room;   /* shared address of the stages */
    uint32_t *const masks;  /* [kBcsrStages] left and right tiles of their steps, behind them */
    const char     *b_from; /* the thread's word of B in the first step */
    const char     *a_from; /* its first of the values of the next step */
    uint32_t        b_to;   /* where it puts that of B */
    uint32_t        in = 0, out = 0; /* stages: the next to be filled, the next to be multiplied */
    const int4     *ahead;
    int4            next; /* the step to be copied next */

    __device__ __forceinline__ BcsrStepBlock(const typename Sums::Format &format,
                                             const spmm_tc_mm_args_t     &mm,
                                             const spmm_tc_piece_t &work, int64_t j,
                                             bool /* pairs */, void              *shared)
        : Sums(format, mm, work, j), row((int)threadIdx.x / kChunks),
          inside(mm.x.n - j > 8 * ((int)threadIdx.x % kChunks)),
          stride((uint32_t)mm.x.ldb * (SPMM_BCSR_WIDTH * (uint32_t)sizeof(Half))),
          room(shared_address(shared)),
          masks((uint32_t *)((char *)shared + kBcsrStages * S::kStage)),
          b_from((const char *)((const Half *)mm.x.B + row * mm.x.ldb + j +
                                8 * ((int)threadIdx.x % kChunks))),
          b_to(place_of_b(row, (int)threadIdx.x % kChunks)),
          ahead((const int4 *)format.step + work.block)
    {
        keep(room);
        keep(b_to);
        if (piece.n_blocks > 0) {
            next   = __ldg(ahead);
            a_from = A.values + (int64_t)next.y * SPMM_BCSR_UNIT + 16 * threadIdx.x;
        }
    }

    /* --- Copies. --- */

    static __device__ __forceinline__ uint32_t place_of_b(int k, int chunk)
    {
        return (uint32_t)S::kRoomA + spmmi_bcsr_b_at(S::kWidth, k, chunk);
    }

    /* The rows of B of a step, a word for each thread at a time, zeros behind the last row and
     * column; a side without tiles stays as it is, since nothing multiplies it. */
    __device__ __forceinline__ void copy_b(const int4 &s) const
    {
        const bool        left = (s.z & 0xffff) != 0, right = (s.z >> 16) != 0;
        const int         rows = inside ? A.n_cols - s.x * SPMM_BCSR_WIDTH - row : 0;
        const char *const from = b_from + (uint64_t)(uint32_t)s.x * stride;

#pragma unroll
        for (int k = 0; k < SPMM_BCSR_WIDTH; k += kStride) {
            if (k < SPMM_BCSR_SIDE ? left : right) { /* rows four apart: see spmmi_bcsr_b_at() */
                cp_async_at<16>((room + in + b_to + k * S::kRowB) ^ 16 * (k & 4),
                                from + stride / SPMM_BCSR_WIDTH * k, k < rows);
            }
        }
    }

    static __device__ __forceinline__ uint32_t after(uint32_t stage)
    {
        return stage == (kBcsrStages - 1) * S::kStage ? 0 : stage + S::kStage;
    }

    /* Start copying step k, the next one, whose values follow those of the one before; a commit
     * in any case keeps the groups counted. */
    __device__ __forceinline__ void fetch(int k)
    {
        if (k < piece.n_blocks) {
            const int4 s     = next;
            const int  words = __popc((uint32_t)s.z) * (kBcsrTileBytes / 16);
            const int  mine  = words - (int)threadIdx.x;

            ahead++;
            if (k + 1 < piece.n_blocks) {
                next = __ldg(ahead);
            }
            copy_b(s);
#pragma unroll
            for (int w = 0; w < kCopies; w++) {
                if (mine > w * S::kThreads) {
                    cp_async_at<16>(room + in + 16 * (threadIdx.x + w * S::kThreads),
                                    a_from + 16 * w * S::kThreads);
                }
            }
            a_from += 16 * words;
            if (threadIdx.x == 0) {
                masks[k % kBcsrStages] = (uint32_t)s.z;
            }
            in = after(in);
        }
        cp_async_commit();
    }

    /* --- Products. --- */

    __device__ __forceinline__ void load_a(uint32_t (&a)[4], uint32_t tile) const
    {
        const int4 v = load_shared<int4>(tile + 16 * lane);

        a[0] = (uint32_t)v.x;
        a[1] = (uint32_t)v.y;
        a[2] = (uint32_t)v.z;
        a[3] = (uint32_t)v.w;
    }

    template <int kSide>
    __device__ __forceinline__ void multiply_side(float (&to)[S::kN][4], const uint32_t (&a)[4],
                                                  const uint32_t (&b)[S::kN][4]) const
    {
#pragma unroll
        for (int j = 0; j < S::kN; j++) {
            add(to[j], [&](float(&d)[4]) {
                mma_half_m16n8k16<Half>(d, a, b[j][2 * kSide], b[j][2 * kSide + 1]);
            });
        }
    }

    /* The tiles of the warp's rows, from the first of its left and of its right ones on.  Two of
     * a row are added as one. */
    __device__ __forceinline__ void multiply(uint32_t left, uint32_t left_at, uint32_t right,
                                             uint32_t right_at, const uint32_t (&b)[S::kN][4])
    {
#pragma unroll
        for (int r = 0; r < S::kRows; r++) {
            const bool on_left = (left >> r & 1) != 0, on_right = (right >> r & 1) != 0;
            uint32_t   a[2][4];

            if (on_left) {
                load_a(a[0], left_at);
                left_at += kBcsrTileBytes;
            }
            if (on_right) {
                load_a(a[1], right_at);
                right_at += kBcsrTileBytes;
            }
            if (on_left && on_right) {
#pragma unroll
                for (int j = 0; j < S::kN; j++) {
                    add(sum[r][j], [&](float(&d)[4]) {
                        mma_half_m16n8k16<Half>(d, a[0], b[j][0], b[j][1]);
                        mma_half_m16n8k16<Half>(d, a[1], b[j][2], b[j][3]);
                    });
                }
            } else if (on_left) {
                multiply_side<0>(sum[r], a[0], b);
            } else if (on_right) {
                multiply_side<1>(sum[r], a[1], b);
            }
        }
    }

    __device__ __forceinline__ void compute(int k)
    {
        const uint32_t sides = masks[k % kBcsrStages], stage = room + out;
        const uint32_t left = sides & 0xffff, right = sides >> 16;
        uint32_t       b[S::kN][4];

        out = after(out);
        /* Tiles are words of one row of B apart, and these differ in bits of their address
         * alone. */
        const uint32_t rows = stage + place_of_b(lane, warp_n * S::kN);

#pragma unroll
        for (int j = 0; j < S::kN; j++) {
            load_matrices(b[j], rows ^ 16 * j);
        }
        multiply(left, stage, right, stage + __popc(left) * kBcsrTileBytes, b);
    }

    static __device__ __forceinline__ bool has_sums()
    {
        return true;
    }

    /* All steps; a part of a panel is like a whole one.  The one barrier of a step shows it to
     * all warps, and that they are done with the one before, whose place the next copy takes. */
    __device__ __forceinline__ void run(const BcsrLists & /* none */, bool /* part */, void *)
    {
        const int n = piece.n_blocks;

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

} // namespace spmmi

#endif /* SPMM_BCSR_CUH */
