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

#include "cuda/bcsr/bcsr_sums.cuh"

namespace spmmi
{

/* A warp's way through the list of tiles of its tile row, for the kernels that go by lists and by
 * rows, and the sums of warps that share one. */

/** @tparam S  as of BcsrSums, one tile row for a warp */
template <class S> struct BcsrWalk : BcsrSums<S> {
    using Sums = BcsrSums<S>;
    using Sums::A, Sums::item, Sums::lane, Sums::sum, Sums::warp_m, Sums::warp_n;

    const int4 *list, *list_end; /* the next tile that the warp looks up */
    int         left;            /* tiles that it has not fetched */

    using Sums::Sums;

    /* The first tile from @p lo to @p hi that is of step @p wanted or behind it; all lanes
     * search. */
    __device__ __forceinline__ int search(const int4 *tile, int lo, int hi, int wanted) const
    {
        while (lo < hi) {
            const int  width  = (hi - lo + kWarp - 1) / kWarp;
            const int  at     = lo + lane * width;
            const bool before = at < hi && __ldg(&tile[at].x) / 4 < wanted;
            const int  n      = __popc(__ballot_sync(0xffffffffu, before));

            hi = n == 0 ? lo : (int)least(hi, lo + n * width);
            lo = n == 0 ? lo : lo + (n - 1) * width + 1;
        }
        return lo;
    }

    /* @param[in] part  is the work item only a part of its panel? */
    __device__ __forceinline__ void open_list(const BcsrLists &lists, bool part)
    {
        const int tile_row = item.window * S::kM + warp_m;
        int       first = 0, last = 0;

        if ((uint32_t)tile_row < ((uint32_t)A.n_rows + SPMM_BCSR_SIDE - 1) / SPMM_BCSR_SIDE) {
            first = __ldg(lists.ptr + tile_row);
            last  = __ldg(lists.ptr + tile_row + 1);
        }
        if (part) {
            first = search(lists.tile, first, last, item.block);
            last  = search(lists.tile, first, last, item.block + item.n_blocks);
        }
        list     = lists.tile + first + warp_n;
        list_end = lists.tile + last;
        left     = (last - first - warp_n + S::kSplit - 1) / S::kSplit;
    }

    /* Where the warp's next tile is; all lanes ask for the same one. */
    __device__ __forceinline__ void look_up(int4 &to)
    {
        if (list < list_end) {
            to = __ldg(list);
        }
        list += S::kSplit;
    }

    /* Sums of all warps of a tile row to the first of them, always in the same order. */
    __device__ __forceinline__ void meet(float4 *shared)
    {
        if constexpr (S::kSplit > 1) {
            if (warp_n > 0) {
                float4 *const to = shared + ((warp_n - 1) * S::kM + warp_m) * S::kN * kWarp + lane;

#pragma unroll
                for (int j = 0; j < S::kN; j++) {
                    to[j * kWarp] =
                        make_float4(sum[0][j][0], sum[0][j][1], sum[0][j][2], sum[0][j][3]);
                }
            }
            __syncthreads();
            for (int k = 0; k < S::kSplit - 1 && warp_n == 0; k++) {
                const float4 *const from = shared + (k * S::kM + warp_m) * S::kN * kWarp + lane;

#pragma unroll
                for (int j = 0; j < S::kN; j++) {
                    const float4 v = from[j * kWarp];

                    sum[0][j][0] += v.x;
                    sum[0][j][1] += v.y;
                    sum[0][j][2] += v.z;
                    sum[0][j][3] += v.w;
                }
            }
            __syncthreads();
        }
    }

    /* After run(), where warps share a tile row. */
    __device__ __forceinline__ bool has_sums() const
    {
        return warp_n == 0;
    }
};

/* C = alpha * A * B + beta * C, A in BCSR with or without 2:4 tiles, by lists of tiles.  Where a
 * thread block goes by steps (bcsr_launch.cuh) it meets at a barrier every 32 columns, for a few
 * tiles. Here it lays up the rows of B of as many steps as fit half of its shared memory, a chunk,
 * and meets once for each, while the next one is on its way.  In between a warp goes its own way,
 * as in the thesis: it has one tile row and takes from the list of its tiles, by step; fragments of
 * A come from memory to the registers that mma takes them from, kAhead tiles ahead, chunks or not. 
 * So a 2:4 tile is one load of 512 bytes where a dense one is two.  Where tile rows are few, kSplit
 * warps take the tiles of one by turns, and their sums meet in shared memory. */

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

/** One work item of a panel, one slice of C. */
template <class S> struct BcsrListBlock : BcsrWalk<S> {
    using Half = typename S::Half;
    using Sums = BcsrSums<S>;
    using Sums::A, Sums::args, Sums::item, Sums::lane, Sums::g, Sums::t, Sums::slice, Sums::sum;
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
                                             const spmm_tc_item_t &work, int64_t j, bool in_pairs,
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

        if ((int)threadIdx.x >= S::kSteps || s >= item.n_blocks) {
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
        const int chunks = (item.n_blocks + S::kSteps - 1) / S::kSteps;
        int       c      = -1;
        int32_t   end    = 4 * item.block; /* words of the chunk are below that */
        uint32_t  base   = 0;              /* the address that step 0 of all would have */
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
                           (uint32_t)(item.block + c * S::kSteps) * S::kStepB;
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

/** One work item of a panel, one slice of C. */
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
                                            const spmm_tc_mm_args_t &mm, const spmm_tc_item_t &work,
                                            int64_t j, bool, void *shared)
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
