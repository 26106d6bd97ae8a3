/* SPDX-License-Identifier: Apache-2.0 */
/** @file bcsr_launch.cuh
 *  Which of the BCSR kernels runs a product.  One .cu file for each pair of types instantiates
 *  this, so that they compile side by side.
 */
#ifndef SPMM_BCSR_LAUNCH_CUH
#define SPMM_BCSR_LAUNCH_CUH

#include "cuda/bcsr/bcsr_rows.cuh"
#include "cuda/bcsr/bcsr_sums.cuh"
#include "cuda/windows/tc_launch.cuh"

namespace spmmi
{

/* C = alpha * A * B + beta * C, A in BCSR without 2:4 tiles, 16-bit, on tensor cores with sums
 * in FP32.
 *
 * A thread block takes a panel of four tile rows and 128 columns of C, step by step: the values
 * of a step stand together in memory, and its 32 rows of B serve all of its tiles (SMaT and the
 * thesis load them for each tile).  Both come to shared memory by asynchronous copies,
 * kBcsrStages - 1 steps ahead (mmaOBT has one).  A warp multiplies four tile rows by 64
 * columns: fragments of B, by ldmatrix from rows swizzled in words of 16 bytes, stay in
 * registers for its up to eight tiles; fragments of A are stored as lanes take them. */

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

/** One work item of a panel, one slice of C. */
template <class S> struct BcsrStepBlock : BcsrSums<S> {
    using Half = typename S::Half;
    using Out  = typename S::Out;
    using Sums = BcsrSums<S>;
    using Sums::A, Sums::item, Sums::lane, Sums::sum, Sums::add, Sums::warp_n;

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
                                             const spmm_tc_item_t &work, int64_t j,
                                             bool /* pairs */, void             *shared)
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
        if (item.n_blocks > 0) {
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
        if (k < item.n_blocks) {
            const int4 s     = next;
            const int  words = __popc((uint32_t)s.z) * (kBcsrTileBytes / 16);
            const int  mine  = words - (int)threadIdx.x;

            ahead++;
            if (k + 1 < item.n_blocks) {
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
        const int n = item.n_blocks;

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

/** @tparam Block    BcsrStepBlock, BcsrListBlock or BcsrRowBlock
 *  @tparam kBlocks  resident on a multiprocessor, at least: caps the registers */
template <class Block, int kBlocks>
__global__ void __launch_bounds__(Block::Shape::kThreads,
                                  resident_blocks(Block::Shape::kThreads, kBlocks))
    bcsr_mm(const __grid_constant__ typename Block::Format A,
            const __grid_constant__ BcsrLists lists, const __grid_constant__ spmm_tc_work_t work,
            const __grid_constant__ spmm_tc_mm_args_t args, int slices, bool pairs)
{
    using S = typename Block::Shape;
    extern __shared__ __align__(128) int4 room[];

    /* Slices of a work item are neighbours: they read the same values of A. */
    for (int64_t at = blockIdx.x; at < (int64_t)work.n_items * slices; at += gridDim.x) {
        const int64_t        p     = at / slices;
        const int4           words = __ldg((const int4 *)work.item + p);
        const spmm_tc_item_t item  = {words.x, words.y, words.z, words.w};
        const bool           part  = p < work.n_partial;
        Block                block(A, args, item, at % slices * S::kWidth, pairs, room);

        block.run(lists, part, room);
        if (!block.has_sums()) {
            continue;
        }
        if (part) {
            block.store_partial((float *)work.partial +
                                p * (S::kPanel * SPMM_BCSR_SIDE) * args.x.n);
        } else if (block.is_finite()) {
            block.store();
        } else {
            block.repair();
        }
    }
}

constexpr int kBcsrFinish = 4; /* columns of a lane at a time */

/** Sums of cut panels, in the order of their work items: a warp adds up a row of panel blockIdx.x.
 *  Panels are tall and many may be cut into few work items, where finish_splits() is made for few
 *  rows of many work items. */
template <class F>
__global__ void __launch_bounds__(kBlock)
    bcsr_finish(const __grid_constant__ F format, const __grid_constant__ spmm_tc_work_t work,
                const __grid_constant__ spmm_tc_mm_args_t args)
{
    using In                     = typename F::In;
    constexpr int         kWarps = kBlock / kWarp;
    const spmm_tc_split_t split  = work.split[blockIdx.x];
    const int             row    = (int)(blockIdx.y * kWarps + threadIdx.x / kWarp);
    const int             lane = (int)threadIdx.x % kWarp, height = (int)gridDim.y * kWarps;
    const int64_t         i    = (int64_t)split.window * height + row;
    const int64_t         step = height * args.x.n;

    if (i >= format.n_rows) {
        return;
    }
    auto *const        c    = row_of_c<typename F::Out>(args, i);
    const float *const part = (const float *)work.partial + split.item * step + row * args.x.n;

    for (int64_t j = lane; j < args.x.n; j += kBcsrFinish * kWarp) {
        float sum[kBcsrFinish] = {};

#pragma unroll 2
        for (int p = 0; p < split.n_items; p++) {
#pragma unroll
            for (int e = 0; e < kBcsrFinish; e++) {
                if (j + e * kWarp < args.x.n) {
                    sum[e] += part[p * step + j + e * kWarp];
                }
            }
        }
#pragma unroll
        for (int e = 0; e < kBcsrFinish; e++) {
            if (j + e * kWarp < args.x.n) {
                if (taint(sum[e], 0.0f) != 0.0f) {
                    sum[e] = format.exact((int32_t)(i / F::kHeight), (int32_t)(i % F::kHeight),
                                          (const In *)args.x.B, args.x.ldb, j + e * kWarp);
                }
                store_c(args, c + j + e * kWarp, sum[e]);
            }
        }
    }
}

/** The kernels of one pair of types. */
template <typename Half, typename Out> struct BcsrKernels {
    using Format = Bcsr<Half, Out>;
    using Kernel = void (*)(Format, BcsrLists, spmm_tc_work_t, spmm_tc_mm_args_t, int, bool);

    /** A kernel, what it is for, and what a launch of it needs. */
    struct Choice {
        int    rows, split;  /**< as of A */
        bool   sparse, wide; /**< 2:4 tiles; 16-byte access to B and C */
        int    width;        /**< columns of a slice */
        int    threads;      /**< of a thread block */
        int    room;         /**< bytes of shared memory */
        Kernel kernel;
    };

    template <class Block, int kBlocks> static Choice choice(int split)
    {
        using S = typename Block::Shape;

        return {S::kPanel, split,       S::kSp,   S::kAccess,
                S::kWidth, S::kThreads, S::kRoom, bcsr_mm<Block, kBlocks>};
    }

    /* Sums take 128 registers: four thread blocks on a multiprocessor. */
    static Choice steps()
    {
        return choice<BcsrStepBlock<BcsrStepShape<Half, Out>>, 4>(0);
    }

    /* 16 warps of 128 registers on a multiprocessor, more of 32 columns where they are in small
     * thread blocks. */
    template <int kWarpsM, int kWarpsK, bool kSparse, int kTiles, bool kWide> static Choice lists()
    {
        using S             = BcsrListShape<Half, Out, kWarpsM, kWarpsK, kTiles, kSparse, kWide>;
        constexpr int kMost = 16 / (kWarpsM * kWarpsK);
        constexpr int kMore = kMost > 1 && kTiles == 4 && kWide ? kMost * 5 / 4 : kMost;

        return choice<BcsrListBlock<S>, kMore>(kWarpsK);
    }

    /* As many as shared memory holds. */
    template <int kWarpsK, bool kSparse, int kTiles> static Choice rows()
    {
        using S = BcsrRowShape<Half, Out, 4, kWarpsK, kTiles, kSparse>;

        return choice < BcsrRowBlock<S>, kWarpsK == 1 ? 6 : 2 > (-kWarpsK);
    }

    /* The variants of bcsr_variant.c, narrow ones first, and for each of a kernel without wide
     * access, by lists.
     */
    static constexpr int kNumber = 22;

    static const Choice *all()
    {
        static const Choice choices[kNumber] = {
            steps(),
            lists<4, 1, false, 4, false>(),
            lists<4, 1, false, 4, true>(),
            lists<4, 1, false, 8, true>(),
            lists<4, 4, false, 4, false>(),
            lists<4, 4, false, 4, true>(),
            lists<4, 4, false, 8, true>(),
            lists<8, 2, false, 4, false>(),
            lists<8, 2, false, 4, true>(),
            lists<8, 2, false, 8, true>(),
            lists<16, 1, false, 4, false>(),
            lists<16, 1, false, 4, true>(),
            lists<16, 1, false, 8, true>(),
            lists<16, 1, true, 4, false>(),
            lists<16, 1, true, 8, true>(),
            rows<1, false, 2>(),
            rows<1, false, 4>(),
            rows<4, false, 2>(),
            rows<4, false, 4>(),
            lists<4, 1, true, 4, false>(),
            rows<1, true, 2>(),
            rows<1, true, 4>(),
        };

        return choices;
    }

    static bool is_wide(const spmm_tc_mm_args_t &args)
    {
        const int64_t in = 16, out = 4 * (int64_t)sizeof(Out);

        return args.x.n % 8 == 0 && fits(args.x.B, in) && fits(args.x.C, out) &&
               fits(args.x.ldb * (int64_t)sizeof(Half), in) &&
               fits(args.x.ldc * (int64_t)sizeof(Out), out) &&
               (uint64_t)args.x.ldb * (SPMM_BCSR_WIDTH * sizeof(Half)) <= UINT32_MAX;
    }

    /* No wider than need be: as many columns as the format was made for, at most.  What goes by
     * steps or rows goes by lists where access is not wide.
     * @return NULL: there are none of the variant of A */
    static const Choice *best(const spmm_bcsr_arrays_t &A, const spmm_tc_mm_args_t &args)
    {
        const bool    wide = is_wide(args), sparse = A.n_sp24 > 0;
        const int     split = wide ? A.split : A.split == 0 ? 1 : abs(A.split);
        const int64_t n     = least(args.x.n, A.slice);
        const Choice *take  = NULL;

        for (int k = 0; k < kNumber; k++) {
            const Choice &one = all()[k];

            if (one.rows == A.rows && one.split == split && one.sparse == sparse &&
                one.wide == wide && (take == NULL || take->width < n)) {
                take = &one;
            }
        }
        return take;
    }

    /* Add up the work items of cut panels. */
    static cudaError_t finish(const Format &format, int rows, const spmm_tc_work_t &work,
                              const spmm_tc_mm_args_t &args, cudaStream_t stream)
    {
        const dim3 grid((unsigned)work.n_splits,
                        (unsigned)(rows * SPMM_BCSR_SIDE / (kBlock / kWarp)));

        return work.n_splits == 0 ? cudaSuccess
                                  : spmmi::launch(bcsr_finish<Format>, grid, dim3(kBlock), stream,
                                                  format, work, args);
    }

    static cudaError_t launch(const spmm_bcsr_arrays_t &A, const spmm_tc_work_t &work,
                              const spmm_tc_mm_args_t &args, cudaStream_t stream)
    {
        const Choice *const one    = best(A, args);
        const BcsrLists     lists  = {A.list_ptr, (const int4 *)A.list};
        const Format        format = {A.n_rows,  A.n_cols, A.step, A.bits_ptr,
                                      A.row_ptr, A.bits,   A.tile, (const char *)A.values};
        const int64_t       slices = one == NULL ? 0 : ceil_div(args.x.n, one->width);
        const bool          pairs  = args.x.n % 2 == 0 && args.x.ldb % 2 == 0 && fits(args.x.B, 4);
        cudaError_t         code;

        if (slices == 0 || slices > INT32_MAX) {
            return cudaErrorInvalidValue;
        }
        code = launch_with(
            (size_t)one->room, one->kernel, dim3((unsigned)least(work.n_items * slices, kMaxGridX)),
            dim3(one->threads), stream, format, lists, work, args, (int)slices, pairs);
        return code != cudaSuccess ? code : finish(format, A.rows, work, args, stream);
    }
};

/** The product; nothing for empty variants. */
template <typename Half, typename Out>
cudaError_t bcsr_product(const spmm_bcsr_arrays_t &A, const spmm_tc_work_t &work,
                         const spmm_tc_mm_args_t &args, cudaStream_t stream)
{
    return work.n_items == 0 || args.x.n == 0
               ? cudaSuccess
               : BcsrKernels<Half, Out>::launch(A, work, args, stream);
}

/** Load the kernels of one pair of types. */
template <typename Half, typename Out> cudaError_t bcsr_preload()
{
    using Kernels          = BcsrKernels<Half, Out>;
    const cudaError_t code = preload(bcsr_finish<typename Kernels::Format>);

    return code != cudaSuccess ? code : preload_choices(Kernels::all(), Kernels::kNumber);
}

} // namespace spmmi

/** What CMake makes one .cu of for each line of instances.cmake, so that they compile side by
 *  side. */
#define SPMM_INSTANCE(Half, Out)                                                                   \
    template cudaError_t spmmi::bcsr_product<Half, Out>(const spmm_bcsr_arrays_t &,                \
                                                        const spmm_tc_work_t &,                    \
                                                        const spmm_tc_mm_args_t &, cudaStream_t);  \
    template cudaError_t spmmi::bcsr_preload<Half, Out>();

#endif /* SPMM_BCSR_LAUNCH_CUH */
