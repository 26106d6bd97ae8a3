/* SPDX-License-Identifier: Apache-2.0 */
/** @file bcsr_rows.cuh
 *  C = alpha * A * B + beta * C, A in BCSR with or without 2:4 tiles, by tile rows, for few columns
 *  of B.
 *
 *  As in the thesis a warp has a tile row, or a share of one, and waits for nobody: tiles of A and
 *  the rows of B that they meet come to shared memory of its own by asynchronous copies.  But it
 *  has all columns of a slice, so that A is read once, and kStages tiles are on their way instead
 *  of two; where they are is read 32 tiles at a time, a lane for each, and told by shuffles.
 */
#ifndef SPMM_BCSR_ROWS_CUH
#define SPMM_BCSR_ROWS_CUH

#include "cuda/bcsr/bcsr_walk.cuh"

namespace spmmi
{

/** As of BcsrListShape; access is wide. */
template <typename H, typename O, int kWarpsM, int kWarpsK, int kTiles, bool kSparse>
struct BcsrRowShape {
    using Half                     = H;
    using Out                      = O;
    static constexpr int  kM       = kWarpsM;
    static constexpr int  kRows    = 1;
    static constexpr int  kAcross  = 1;
    static constexpr int  kSplit   = kWarpsK;
    static constexpr int  kN       = kTiles;
    static constexpr bool kSp      = kSparse;
    static constexpr bool kAccess  = true;
    static constexpr int  kPanel   = kWarpsM;
    static constexpr int  kWidth   = kTiles * 8;
    static constexpr int  kThreads = kWarpsM * kWarpsK * kWarp;
    static constexpr int  kRowB    = kWidth * 2;
    static constexpr int  kMeta    = SPMM_BCSR_TILE * SPMM_BCSR_UNIT; /* of a stage */
    static constexpr int  kB       = kMeta + (kSparse ? SPMM_BCSR_UNIT : 0);
    static constexpr int  kStage   = kB + (kSparse ? 2 : 1) * SPMM_BCSR_SIDE * kRowB;
    static constexpr int  kStages  = (kWarpsK == 1 ? 8192 : 6144) / kStage; /* of a warp */
    static constexpr int  kSums    = kWarpsM * (kWarpsK - 1) * kTiles * kWarp * 16;
    static constexpr int  kRings   = kWarpsM * kWarpsK * kStages * kStage;
    static constexpr int  kRoom    = kRings > kSums ? kRings : kSums;
    static_assert(kStages >= 3 && kStage % 16 == 0, "some on their way");
};

/** One piece of a panel, one slice of C. */
template <class S> struct BcsrRowBlock : BcsrWalk<S> {
    using Half = typename S::Half;
    using Walk = BcsrWalk<S>;
    using Sums = BcsrSums<S>;
    using Sums::A, Sums::args, Sums::lane, Sums::sum, Sums::add;
    using Walk::list, Walk::list_end, Walk::left, Walk::open_list, Walk::meet;

    static constexpr int      kChunks = S::kN;           /* 16-byte words of a row of B */
    static constexpr int      kEvery  = kWarp / kChunks; /* rows that the warp copies at a time */
    static constexpr unsigned kAll    = 0xffffffffu;

    const Half *const b_from;     /* the lane's word of row lane / kChunks of B */
    const int         row;        /* lane / kChunks */
    const bool        inside;     /* are its columns those of B? */
    const uint32_t    ring;       /* shared address of the warp's stages */
    int4              mine, next; /* places of tile lane of 32, and of the 32 behind */

    __device__ __forceinline__ BcsrRowBlock(const typename Sums::Format &format,
                                            const spmm_tc_mm_args_t     &mm,
                                            const spmm_tc_piece_t &work, int64_t j, bool,
                                            void *shared)
        : Walk(format, mm, work, j),
          b_from((const Half *)mm.x.B + lane / kChunks * mm.x.ldb + j + lane % kChunks * 8),
          row(lane / kChunks), inside(j + lane % kChunks * 8 < mm.x.n),
          ring(shared_address(shared) + (uint32_t)(threadIdx.x / kWarp) * (S::kStages * S::kStage)),
          mine(make_int4(0, 0, 0, 0)), next(mine)
    {
    }

    /* Where word @p chunk of row @p r stands: rows that ldmatrix reads together are in different
     * banks. */
    static __device__ __forceinline__ uint32_t b_at(int r, int chunk)
    {
        return (uint32_t)(r * S::kRowB + 16 * (chunk ^ r * kChunks / 8 % kChunks));
    }

    __device__ __forceinline__ int4 look_up(int t) const
    {
        const int4 *const at = list + (t + lane) * S::kSplit;

        return at < list_end ? __ldg(at) : make_int4(0, 0, 0, 0);
    }

    /* Start copying the warp's tile @p t, and the rows of B that it meets. @return its word */
    __device__ __forceinline__ int32_t fetch(int t, uint32_t stage)
    {
        if (t % kWarp == 0) {
            mine = t == 0 ? look_up(0) : next;
            next = look_up(t + kWarp);
        }
        const int32_t word   = __shfl_sync(kAll, mine.x, t % kWarp);
        const int32_t at     = __shfl_sync(kAll, mine.y, t % kWarp);
        const int32_t first  = __shfl_sync(kAll, mine.w, t % kWarp);
        const bool    sparse = S::kSp && (word & 3) == SPMM_BCSR_SP24;

        cp_async_at<16>(stage + 16 * lane, A.values + (int64_t)at * SPMM_BCSR_UNIT + 16 * lane);
        if constexpr (S::kSp) {
            const int32_t meta = __shfl_sync(kAll, mine.z, t % kWarp);

            if (sparse && lane < SPMM_BCSR_UNIT / 16) {
                cp_async_at<16>(stage + S::kMeta + 16 * lane,
                                A.values + (int64_t)meta * SPMM_BCSR_UNIT + 16 * lane);
            }
        }
#pragma unroll
        for (int k = 0; k < (S::kSp ? 2 : 1) * SPMM_BCSR_SIDE; k += kEvery) {
            if (k < SPMM_BCSR_SIDE || sparse) {
                cp_async_at<16>(stage + S::kB + b_at(row + k, lane % kChunks),
                                b_from + (int64_t)(first + k) * args.x.ldb,
                                inside && first + k + row < A.n_cols);
            }
        }
        return word;
    }

    /* Fragments of B for columns 8 j to 8 j + 15, of 16 rows from @p k on. */
    __device__ __forceinline__ void load_b(uint32_t stage, int k, int j, uint32_t (&b)[4]) const
    {
        load_matrices(b, stage + S::kB + b_at(k + lane % 16, j + lane / 16));
    }

    __device__ __forceinline__ void multiply(int32_t word, uint32_t stage)
    {
        const int4     v    = load_shared<int4>(stage + 16 * lane);
        const uint32_t a[4] = {(uint32_t)v.x, (uint32_t)v.y, (uint32_t)v.z, (uint32_t)v.w};

        if (S::kSp && (word & 3) == SPMM_BCSR_SP24) {
            const uint32_t meta =
                (uint32_t)load_shared<int32_t>(stage + S::kMeta + 8 * (lane / 4) + 4 * (lane % 2));

#pragma unroll
            for (int j = 0; j < S::kN; j += 2) {
                uint32_t top[4], low[4];

                load_b(stage, 0, j, top);
                load_b(stage, SPMM_BCSR_SIDE, j, low);
#pragma unroll
                for (int k = 0; k < 2; k++) {
                    const uint32_t b[4] = {top[2 * k], top[2 * k + 1], low[2 * k], low[2 * k + 1]};

                    add(sum[0][j + k],
                        [&](float(&d)[4]) { mma_sparse_m16n8k32<Half>(d, a, b, meta); });
                }
            }
        } else {
#pragma unroll
            for (int j = 0; j < S::kN; j += 2) {
                uint32_t b[4];

                load_b(stage, 0, j, b);
#pragma unroll
                for (int k = 0; k < 2; k++) {
                    add(sum[0][j + k], [&](float(&d)[4]) {
                        mma_half_m16n8k16<Half>(d, a, b[2 * k], b[2 * k + 1]);
                    });
                }
            }
        }
    }

    /* Words of the stages stand in lanes: those of tile t in lane t % 32. */
    __device__ __forceinline__ void run(const BcsrLists &lists, bool part, void *shared)
    {
        int32_t  words = 0;
        uint32_t stage = ring;

        open_list(lists, part);
        for (int t = 0; t < S::kStages; t++) {
            if (t < left) {
                const int32_t word = fetch(t, ring + (uint32_t)t * S::kStage);

                words = lane == t ? word : words;
            }
            cp_async_commit();
        }
        for (int t = 0; t < left; t++) {
            const int ahead = t + S::kStages;

            cp_async_wait<S::kStages - 1>();
            __syncwarp();
            multiply(__shfl_sync(kAll, words, t % kWarp), stage);
            __syncwarp();
            if (ahead < left) {
                const int32_t word = fetch(ahead, stage);

                words = lane == ahead % kWarp ? word : words;
            }
            cp_async_commit();
            stage = (t + 1) % S::kStages == 0 ? ring : stage + S::kStage;
        }
        cp_async_wait<0>();
        if constexpr (S::kSplit > 1) {
            __syncthreads();
        }
        meet((float4 *)shared);
        __syncwarp();
    }
};

} // namespace spmmi

#endif /* SPMM_BCSR_ROWS_CUH */
