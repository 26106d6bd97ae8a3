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

#include "cuda/bcsr_format.cuh"

namespace spmm
{

constexpr int kBcsrStages = 4; /* steps in shared memory, that in work and those on the way */
constexpr int kBcsrRows   = 4; /* tile rows of a warp */

/** @tparam kWarpsM, kWarpsN  warps of a thread block, over tile rows and over columns
 *  @tparam kTiles            8-column tiles of C that a warp has of each of its tile rows
 *  @tparam kSparse           are there 2:4 tiles?
 *  @tparam kWide             16-byte access to B and C */
template <typename H, typename O, int kWarpsM, int kWarpsN, int kTiles, bool kSparse, bool kWide>
struct BcsrShape {
    using Half                     = H;
    using Out                      = O;
    static constexpr int  kM       = kWarpsM;
    static constexpr int  kN       = kTiles;
    static constexpr bool kSp      = kSparse;
    static constexpr bool kAccess  = kWide;
    static constexpr int  kPanel   = kWarpsM * kBcsrRows; /* tile rows */
    static constexpr int  kWidth   = kWarpsN * kTiles * 8;
    static constexpr int  kWarps   = kWarpsM * kWarpsN;
    static constexpr int  kThreads = kWarps * kWarp;
    static constexpr int  kRoomA   = kPanel * 2 * kBcsrTileBytes; /* of a step, at most */
    static constexpr int  kRowB    = kWidth * 2;
    static constexpr int  kRoomB   = SPMM_BCSR_WIDTH * kRowB;
    static constexpr int  kStage   = kRoomA + kRoomB;
    static constexpr int  kRoom    = kBcsrStages * (kStage + (int)sizeof(spmm_bcsr_step_t));
    using Format                   = Bcsr<Half, Out, kBcsrRows * 16>; /* a window: rows of a warp */
};

/** One piece of a panel, one slice of C. */
template <class S> struct BcsrBlock {
    using Half = typename S::Half;
    using Out  = typename S::Out;

    const typename S::Format &A;
    const spmm_tc_mm_args_t  &args;
    const spmm_tc_piece_t     piece;
    const int                 lane, warp_m, warp_n, g, t;
    const int64_t             slice; /* first column of the thread block */
    const bool                pairs; /* not wide: 4-byte access to B */
    const uint32_t            room, records;
    int4                      next; /* the step to be copied next */
    float                     sum[kBcsrRows][S::kN][4] = {};

    __device__ __forceinline__ BcsrBlock(const typename S::Format &format,
                                         const spmm_tc_mm_args_t &mm, const spmm_tc_piece_t &work,
                                         int64_t j, bool in_pairs, void *shared)
        : A(format), args(mm), piece(work), lane((int)threadIdx.x % kWarp),
          warp_m((int)threadIdx.x / kWarp % S::kM), warp_n((int)threadIdx.x / kWarp / S::kM),
          g(lane / 4), t(lane % 4), slice(j), pairs(in_pairs), room(shared_address(shared)),
          records(room + kBcsrStages * S::kStage)
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

    __device__ __forceinline__ void copy_b_narrow(uint32_t to, const Half *from, int64_t left)
    {
        if (pairs) {
#pragma unroll
            for (int e = 0; e < 4; e++) {
                cp_async_at<4>(to + 4 * e, left > 2 * e ? from + 2 * e : (const Half *)args.B,
                               left > 2 * e);
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

    /* The rows of B of a step, zeros behind the last row and column; a side without tiles stays as it
     * is, since nothing multiplies it. */
    __device__ __forceinline__ void copy_b(uint32_t stage, const int4 &s)
    {
        constexpr int kChunks = S::kWidth / 8, kAll = SPMM_BCSR_WIDTH * kChunks;
        const bool    left  = (s.z & 0xffff) != 0 || (s.w & 0xffff) != 0;
        const bool    right = (uint32_t)s.z >> 16 != 0 || (s.w & 0xffff) != 0;
        const int64_t first = (int64_t)s.x * SPMM_BCSR_WIDTH;

#pragma unroll
        for (int at = 0; at < kAll; at += S::kThreads) {
            const int     c = at + (int)threadIdx.x, k = c / kChunks, chunk = c % kChunks;
            const int64_t j    = slice + 8 * chunk;
            const bool    real = first + k < A.n_cols && j < args.n;
            const Half   *from = (const Half *)args.B + (real ? (first + k) * args.ldb + j : 0);

            if (kAll % S::kThreads == 0 || c < kAll) {
                if (k < 16 ? left : right) {
                    if constexpr (S::kAccess) {
                        cp_async_at<16>(stage + place_of_b(k, chunk), from, real);
                    } else {
                        copy_b_narrow(stage + place_of_b(k, chunk), from, real ? args.n - j : 0);
                    }
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

    /* --- Sums. --- */

    __device__ __forceinline__ bool is_finite() const
    {
        float bad = 0.0f;

#pragma unroll
        for (int k = 0; k < kBcsrRows * S::kN * 4; k++) {
            bad = taint((&sum[0][0][0])[k], bad);
        }
        return __all_sync(0xffffffffu, bad == 0.0f);
    }

    /* A lane's two sums of neighbouring tiles, and those of lane t ^ 1: four columns of one tile. */
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
        const float x[4] = {v.x, v.y, v.z, v.w}, alpha = (float)args.alpha, beta = (float)args.beta;
        Line        y = {};

        if (args.beta != 0.0) {
            y = *(const Line *)c;
        }
#pragma unroll
        for (int e = 0; e < 4; e++) {
            const float product = alpha * x[e];

            y.at[e] = Narrow<Out>::from(args.beta == 0.0 ? product
                                                         : product + beta * widen<float>(y.at[e]));
        }
        if constexpr (sizeof y == 8) {
            __stcs((int2 *)c, *(const int2 *)&y);
        } else {
            __stcs((int4 *)c, *(const int4 *)&y);
        }
    }

    /* Call put_line(row of the panel, column, four sums) or put(row, column, sum) for all sums that
     * are inside of C; rows behind the last one too, with inside false. */
    template <class PutLine, class Put>
    __device__ __forceinline__ void each(PutLine put_line, Put put) const
    {
        const int64_t first = slice + 8 * warp_n * S::kN;

#pragma unroll
        for (int k = 0; k < 2 * kBcsrRows; k++) {
            const int row = (warp_m * kBcsrRows + k / 2) * 16 + k % 2 * 8 + g;

#pragma unroll
            for (int j = 0; j < S::kN; j += S::kAccess ? 2 : 1) {
                if constexpr (S::kAccess) {
                    const float4  v = line(k / 2, j, k % 2); /* all lanes take part */
                    const int64_t c = first + 8 * (j + t % 2) + 4 * (t / 2);

                    if (c < args.n) {
                        put_line(row, c, v);
                    }
                } else {
#pragma unroll
                    for (int e = 0; e < 2; e++) {
                        if (first + 8 * j + 2 * t + e < args.n) {
                            put(row, first + 8 * j + 2 * t + e, sum[k / 2][j][2 * (k % 2) + e]);
                        }
                    }
                }
            }
        }
    }

    __device__ __forceinline__ void store() const
    {
        const int64_t top = (int64_t)piece.window * S::kPanel * 16;

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

    /* Sums of a piece: [rows of the panel, n] at @p to. */
    __device__ __forceinline__ void store_partial(float *to) const
    {
        each([&](int row, int64_t c, const float4 &v) { *(float4 *)(to + row * args.n + c) = v; },
             [&](int row, int64_t c, float v) { to[row * args.n + c] = v; });
    }
};

} // namespace spmm

#endif /* SPMM_BCSR_CUH */
