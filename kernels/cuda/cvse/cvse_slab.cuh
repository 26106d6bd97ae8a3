/* SPDX-License-Identifier: Apache-2.0 */
/** @file cvse_slab.cuh
 *  CVSE where windows share most rows of B, as those of pruned weights do: a thread block keeps 32
 *  or 64 columns of all of B in shared memory and multiplies windows of 8 rows with them.
 *
 *  - One warp makes the barriers and asks for B by a tensor map, 128 rows at a time.  The others
 *    read the lists of their first window meanwhile, and multiply two blocks when the last row of B
 *    that these name has arrived.
 *  - A tile of B^T, the m16 side of mma.m16n8k16, is one ldmatrix of rows wherever they stand.
 *    All those of two blocks are under way before their first mma.
 *  - Two warps share a window where there are enough of them, and one adds up their sums.
 *  - Code that runs once waits for instructions from L2, so there is little of it.
 */
#ifndef SPMM_CVSE_SLAB_CUH
#define SPMM_CVSE_SLAB_CUH

#include "cuda/cvse/cvse_format.cuh"
#include "cuda/windows/tc_bulk.cuh"

namespace spmmi
{

/* The sums of a warp of cvse_slab.cuh, a window of 8 rows by the columns
 * of the slab, and their way to C. */

/** Lane 4 g + t holds rows 2 t and 2 t + 1 of columns 16 i + g and 16 i + 8 + g. */
template <typename Half, typename Out, int kCols> struct CvseSlabSums {
    using Format                 = Cvse<Half, Out, 1>;
    static constexpr int kMma    = kCols / 16; /* for a block */
    static constexpr int kUnits  = kCols / 8;  /* of 8 columns, in a row */
    static constexpr int kStride = kCols + 4;  /* of a row of sums: no two lanes share a bank */
    static constexpr int kRoom   = 8 * kStride;
    static constexpr int kLine   = 16 / (int)sizeof(Out);

    const Format            &A;
    const spmm_tc_mm_args_t &args;
    const int                lane, first; /* first: column */
    float *const             room;        /* [8, kStride] */
    float                    sum[kMma][4];

    __device__ __forceinline__ CvseSlabSums(const Format &format, const spmm_tc_mm_args_t &mm,
                                            float *shared)
        : A(format), args(mm), lane((int)threadIdx.x % kWarp), first((int)blockIdx.y * kCols),
          room(shared)
    {
    }

    __device__ __forceinline__ void clear()
    {
#pragma unroll
        for (int k = 0; k < 4 * kMma; k++) {
            (&sum[0][0])[k] = 0.0f;
        }
    }

    /* All sums to the room, a line of lanes for each, and back, added up. */
    __device__ __forceinline__ void leave() const
    {
#pragma unroll
        for (int k = 0; k < 4 * kMma; k++) {
            room[k * kWarp + lane] = (&sum[0][0])[k];
        }
    }
    __device__ __forceinline__ void take(const float *from)
    {
#pragma unroll
        for (int k = 0; k < 4 * kMma; k++) {
            (&sum[0][0])[k] += from[k * kWarp + lane];
        }
    }

    __device__ __forceinline__ bool is_finite() const
    {
        float bad = 0.0f;

#pragma unroll
        for (int k = 0; k < 4 * kMma; k++) {
            bad = taint((&sum[0][0])[k], bad);
        }
        return __all_sync(0xffffffffu, bad == 0.0f);
    }

    /* Row @p i of A from column @p j on; NULL: it is not there. */
    __device__ __forceinline__ Out *at(int64_t i, int64_t j) const
    {
        if (i >= A.n_rows || j >= args.x.n) {
            return NULL;
        }
        return (Out *)args.x.C +
               (args.row_map == NULL ? i : (int64_t)__ldg(args.row_map + i)) * args.x.ldc + j;
    }

    __device__ __forceinline__ void store_unit(int64_t i, int64_t j, const float *x) const
    {
        Out *const c = at(i, j);

        if (c != NULL) {
#pragma unroll
            for (int e = 0; e < 8; e += kLine) {
                store_line<kLine>(args, c + e, x + e);
            }
        }
    }

    /* Through shared memory to lanes that have 8 columns of a row. */
    __device__ __forceinline__ void store_sums(int window) const
    {
        const int g = lane / 4, t = lane % 4;

#pragma unroll
        for (int i = 0; i < kMma; i++) {
            float *const to = room + 2 * t * kStride + 16 * i + g;

            to[0] = sum[i][0], to[kStride] = sum[i][1];
            to[8] = sum[i][2], to[kStride + 8] = sum[i][3];
        }
        __syncwarp();
#pragma unroll
        for (int unit = lane; unit < 8 * kUnits; unit += kWarp) {
            store_unit((int64_t)window * 8 + unit / kUnits, first + unit % kUnits * 8,
                       room + unit / kUnits * kStride + unit % kUnits * 8);
        }
    }

    /* Where 8 columns of a row stand in the room: no eight rows share a bank. */
    __device__ __forceinline__ static int unit_at(int row, int unit)
    {
        return (row * kUnits + (unit ^ (kCols == 64 ? row : row / 2 % 4))) * 16;
    }

    /* The same where C is of 16 bits and beta is 0: results are rounded first and turned on the
     * way. */
    __device__ __forceinline__ void store_rounded(int window) const
    {
        const float alpha = (float)args.x.alpha.re;

#pragma unroll
        for (int i = 0; i < kMma; i += 2) {
            uint32_t x[4];

#pragma unroll
            for (int k = 0; k < 4; k++) {
                const float *const from    = &sum[i + k / 2][k % 2 * 2];
                const Out          pair[2] = {Narrow<Out>::from(alpha * from[0]),
                                              Narrow<Out>::from(alpha * from[1])};

                x[k] = *(const uint32_t *)pair;
            }
            store_matrices(shared_address(room) + (uint32_t)unit_at(lane % 8, 2 * i + lane / 8), x);
        }
        __syncwarp();
#pragma unroll
        for (int unit = lane; unit < 8 * kUnits; unit += kWarp) {
            Out *const c = at((int64_t)window * 8 + unit / kUnits, first + unit % kUnits * 8);

            if (c != NULL) {
                __stcs((int4 *)c,
                       *(const int4 *)((const char *)room + unit_at(unit / kUnits, unit % kUnits)));
            }
        }
    }

    __device__ __forceinline__ void store(int window) const
    {
        if (!is_finite()) {
            repair_tile(A, args, window, first, kCols);
        } else if (sizeof(Out) == 2 && args.x.beta.re == 0.0) {
            store_rounded(window);
        } else {
            store_sums(window);
        }
        __syncwarp();
    }
};

/** What a launch of the kernel needs beside the product. */
struct CvseSlabWork {
    int32_t n_rows; /**< of B, up to a multiple of SPMM_CVSE_SLAB_ROWS */
    int32_t rounds; /**< windows of a warp */
    int32_t team;   /**< warps that share them: 1 or 2 */
};

template <typename Half, typename Out, int kCols> struct CvseSlab {
    using Format                = Cvse<Half, Out, 1>;
    using Sums                  = CvseSlabSums<Half, Out, kCols>;
    static constexpr int kMma   = Sums::kMma;
    static constexpr int kRow   = kCols * (int)sizeof(Half);
    static constexpr int kChunk = SPMM_CVSE_SLAB_ROWS;
    static constexpr int kBatch = 4; /* blocks whose lists a lane holds */
    static constexpr int kStep  = 2; /* blocks that are multiplied together */

    const Format      &A;
    const CvseSlabWork work;
    const int          lane, warp, n_warps;
    char *const        slab;    /* [n_rows] and a row of zeros */
    uint64_t *const    arrived; /* a barrier for each chunk of rows */
    Sums               sums;
    int32_t            col[kBatch];
    uint2              a[kBatch];
    int                window;    /* of this warp */
    int2               blocks;    /* its first, and behind its last */
    int                ready = 0; /* chunks that are known to have arrived */

    __device__ __forceinline__ CvseSlab(const Format &format, const spmm_tc_mm_args_t &mm,
                                        const CvseSlabWork &w, char *shared)
        : A(format), work(w), lane((int)threadIdx.x % kWarp), warp((int)threadIdx.x / kWarp),
          n_warps((int)blockDim.x / kWarp - 1),
          slab(shared + (SPMM_CVSE_SLAB_ALIGN - shared_address(shared) % SPMM_CVSE_SLAB_ALIGN) %
                            SPMM_CVSE_SLAB_ALIGN),
          arrived((uint64_t *)(slab + (size_t)w.n_rows * kRow + SPMM_CVSE_SLAB_ZEROS)),
          sums(format, mm, (float *)(arrived + SPMM_CVSE_SLAB_CHUNKS) + warp * Sums::kRoom)
    {
    }

    /* The row of zeros, and barriers that expect their chunks. */
    __device__ __forceinline__ void prepare(const CUtensorMap &map) const
    {
        ((int *)(slab + (size_t)work.n_rows * kRow))[lane] = 0;
        if (lane == 0) {
            prefetch_map(map);
            for (int k = 0; k < work.n_rows / kChunk; k++) {
                barrier_init(shared_address(arrived + k), 1);
            }
            show_to_copies();
            for (int k = 0; k < work.n_rows / kChunk; k++) {
                barrier_expect(shared_address(arrived + k), kChunk * kRow);
            }
        }
        __syncwarp();
    }

    __device__ __forceinline__ void ask_for_b(const CUtensorMap &map) const
    {
        for (int k = 0; lane == 0 && k < work.n_rows / kChunk; k++) {
            copy_box(shared_address(slab) + k * kChunk * kRow, map, k * kChunk, sums.first,
                     shared_address(arrived + k));
        }
    }

    /* All chunks up to number @p last. */
    __device__ __forceinline__ void wait_for_b(int last)
    {
        for (; ready <= last; ready++) {
            barrier_wait(shared_address(arrived + ready), 0);
        }
    }

    /* Of a window those of this warp. */
    __device__ __forceinline__ int2 blocks_of(int window) const
    {
        int2 b = make_int2(0, 0);

        if (window < A.n_windows) {
            b = make_int2(__ldg(A.window_ptr + window), __ldg(A.window_ptr + window + 1));
            if (work.team > 1) {
                const int half = (b.x + b.y) / 2;

                b = warp % 2 == 0 ? make_int2(b.x, half) : make_int2(half, b.y);
            }
        }
        return b;
    }

    /* Lists and values of a batch.  Row k of the mma is place k / 2 + 4 (k % 2) of a half block,
     * and lane l names row l % 8 of half l / 16 to ldmatrix. */
    __device__ __forceinline__ void read(int begin, int end)
    {
        const int at = lane % 8 / 2 * 4 + lane % 2 + lane / 16 * 2;

#pragma unroll
        for (int k = 0; k < kBatch; k++) {
            const int64_t block = begin + k;

            col[k] = SPMM_TC_NO_COLUMN;
            a[k]   = make_uint2(0, 0);
            if (block < end) {
                col[k] = __ldg(A.col + block * kCvseK + at);
                a[k]   = __ldg((const uint2 *)(A.values + block * (kCvseK * 8)) + lane);
            }
        }
    }

    /* The swizzle of the tensor map: 16-byte words of a row by the row's number. */
    __device__ __forceinline__ static int turn(int row)
    {
        return kCols == 64 ? row % 8 : row / 2 % 4;
    }

    /* Sums of an FP32 C are rounded to nearest from block to block, as those of CvseRows. */
    __device__ __forceinline__ static void add(float (&to)[4], const uint32_t (&b)[4], uint2 x)
    {
        if constexpr (std::is_same_v<Out, float>) {
            float part[4] = {0.0f, 0.0f, 0.0f, 0.0f};

            mma_half_m16n8k16<Half>(part, b, x.x, x.y);
#pragma unroll
            for (int k = 0; k < 4; k++) {
                to[k] += part[k];
            }
        } else {
            mma_half_m16n8k16<Half>(to, b, x.x, x.y);
        }
    }

    /* Two blocks, by the rows of B that this lane names. */
    __device__ __forceinline__ void step(const int (&at)[kStep], const uint2 (&x)[kStep])
    {
        uint32_t b[kStep][kMma][4];

#pragma unroll
        for (int e = 0; e < kStep * kMma; e++) {
            const int i = e % kMma, h = e / kMma;
            const int word = turn(at[h]) ^ lane / 8 % 2 ^ 2 * i;

            load_matrices(b[h][i], shared_address(slab) + (uint32_t)(at[h] * kRow + 16 * word));
        }
#pragma unroll
        for (int e = 0; e < kStep * kMma; e++) {
            add(sums.sum[e % kMma], b[e / kMma][e % kMma], x[e / kMma]);
        }
    }

    /* The batch of blocks [begin, end) that was read; reads [next, next_end) meanwhile. */
    __device__ __forceinline__ void multiply(int begin, int end, int next, int next_end)
    {
        const int n_chunks = work.n_rows / kChunk;
        int       at[kBatch / kStep][kStep];
        uint2     x[kBatch / kStep][kStep];

#pragma unroll
        for (int k = 0; k < kBatch; k++) {
            at[k / kStep][k % kStep] = col[k] >= 0 ? col[k] : work.n_rows;
            x[k / kStep][k % kStep]  = a[k];
        }
        read(next, next_end);
#pragma unroll
        for (int k = 0; k < kBatch / kStep; k++) {
            if (begin + k * kStep >= end) {
                break;
            }
            if (ready < n_chunks) {
                int last = 0; /* places without a column wait for nothing */

#pragma unroll
                for (int h = 0; h < kStep; h++) {
                    last = max(last, at[k][h] < work.n_rows ? at[k][h] : 0);
                }
                wait_for_b(__reduce_max_sync(0xffffffffu, last) / kChunk);
            }
            step(at[k], x[k]);
        }
    }

    /* The second warp of a team leaves its sums to the first. */
    __device__ __forceinline__ void add_up()
    {
        const int barrier = 2 + warp / 2;

        if (warp % 2 != 0) {
            sums.leave();
        }
        meet(barrier);
        if (warp % 2 == 0) {
            sums.take(sums.room + Sums::kRoom);
        }
        meet(barrier);
    }

    /* Both warps of a team. */
    __device__ __forceinline__ static void meet(int barrier)
    {
        asm volatile("barrier.cta.sync.aligned %0, %1;" ::"r"(barrier), "n"(2 * kWarp) : "memory");
    }

    __device__ __forceinline__ void begin()
    {
        const int mine = (int)blockIdx.x * (n_warps / work.team) * work.rounds;

        window = mine + warp / work.team;
        blocks = blocks_of(window);
        read(blocks.x, blocks.y);
    }

    __device__ __forceinline__ void run()
    {
        const int step = n_warps / work.team;

        for (int round = 0; round < work.rounds; round++, window += step) {
            const bool more = round + 1 < work.rounds;
            const int2 next = more ? blocks_of(window + step) : make_int2(0, 0);

            sums.clear();
            for (int b = blocks.x; b < blocks.y; b += kBatch) {
                const bool here = b + kBatch < blocks.y;

                multiply(b, blocks.y, here ? b + kBatch : next.x, here ? blocks.y : next.y);
            }
            if (blocks.x >= blocks.y) {
                read(next.x, next.y);
            }
            blocks = next;
            if (work.team > 1) {
                add_up();
            }
            if (window < A.n_windows && warp % work.team == 0) {
                sums.store(window);
            }
        }
        wait_for_b(work.n_rows / kChunk - 1); /* nothing may arrive behind the end */
    }
};

/* All threads of warps that multiply wait for those of the one that prepares, which does not. */
__device__ __forceinline__ void wait_until_prepared()
{
    asm volatile("barrier.cta.sync.aligned 1, %0;" ::"r"(blockDim.x) : "memory");
}
__device__ __forceinline__ void say_prepared()
{
    asm volatile("barrier.cta.arrive.aligned 1, %0;" ::"r"(blockDim.x) : "memory");
}

template <typename Half, typename Out, int kCols>
__global__ void __launch_bounds__((SPMM_CVSE_SLAB_WARPS + 1) * kWarp, 1)
    cvse_slab_mm(const __grid_constant__ CUtensorMap map,
                 const __grid_constant__ Cvse<Half, Out, 1> A,
                 const __grid_constant__ spmm_tc_mm_args_t  args,
                 const __grid_constant__ CvseSlabWork       work)
{
    extern __shared__ char     shared[];
    CvseSlab<Half, Out, kCols> block(A, args, work, shared);

    if (block.warp < block.n_warps) {
        block.begin();
        wait_until_prepared();
        block.run();
    } else {
        block.prepare(map);
        say_prepared();
        block.ask_for_b(map);
    }
}

/* When and how the kernels with B in shared memory run a product. */

/** The kernels of one pair of types. */
template <typename Half, typename Out> struct CvseSlabKernels {
    using Format = Cvse<Half, Out, 1>;

    /* @return false: another kernel is to be taken */
    static bool can_run(const spmm_cvse_slab_t &slab, const spmm_tc_mm_args_t &args,
                        CUtensorMap *map)
    {
        bool       waits = false;
        const bool suits =
            slab.columns > 0 &&
            spmmi_cvse_slab_bytes(slab.columns, slab.n_warps, slab.n_cols) <= SPMM_CVSE_SLAB_ROOM &&
            args.x.n % 8 == 0 && fits(args.x.B, 16) && fits(args.x.C, 16) &&
            fits(args.x.ldb * (int64_t)sizeof(Half), 16) &&
            fits(args.x.ldc * (int64_t)sizeof(Out), 16);

        return suits &&
               waits_itself((const void *)cvse_slab_mm<Half, Out, 64>, &waits) == cudaSuccess &&
               waits &&
               make_box_map(args.x.B, slab.n_cols, args.x.n, args.x.ldb, SPMM_CVSE_SLAB_ROWS,
                            slab.columns, map);
    }

    /* One wave of thread blocks where the windows are enough for it. */
    static cudaError_t launch(const CUtensorMap &map, const Format &A, const spmm_cvse_slab_t &slab,
                              const spmm_tc_mm_args_t &args, int n_sm, cudaStream_t stream)
    {
        const auto kernel =
            slab.columns == 64 ? cvse_slab_mm<Half, Out, 64> : cvse_slab_mm<Half, Out, 32>;
        const spmm_cvse_slab_work_t share =
            spmmi_cvse_slab_work(slab.columns, slab.n_warps, A.n_windows, args.x.n, n_sm);
        const CvseSlabWork work = {spmmi_cvse_slab_rows(slab.n_cols), share.rounds, share.team};

        return launch_with(spmmi_cvse_slab_bytes(slab.columns, slab.n_warps, slab.n_cols), kernel,
                           dim3((unsigned)share.blocks, (unsigned)share.slabs),
                           dim3((unsigned)(slab.n_warps + 1) * kWarp), stream, map, A, args, work);
    }

    static cudaError_t preload()
    {
        const cudaError_t code =
            spmmi::preload(cvse_slab_mm<Half, Out, 64>, cvse_slab_mm<Half, Out, 32>);

        (void)tensor_map_encoder();
        return code != cudaSuccess
                   ? code
                   : allow_shared(cvse_slab_mm<Half, Out, 64>, cvse_slab_mm<Half, Out, 32>);
    }
};

} // namespace spmmi

#endif /* SPMM_CVSE_SLAB_CUH */
