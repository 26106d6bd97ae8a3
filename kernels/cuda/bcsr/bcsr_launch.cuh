/* SPDX-License-Identifier: Apache-2.0 */
/** @file bcsr_launch.cuh
 *  Which of the BCSR kernels runs a product.  One .cu file for each pair of types instantiates
 *  this, so that they compile side by side.
 */
#ifndef SPMM_BCSR_LAUNCH_CUH
#define SPMM_BCSR_LAUNCH_CUH

#include "cuda/bcsr/bcsr.cuh"
#include "cuda/bcsr/bcsr_lists.cuh"
#include "cuda/bcsr/bcsr_rows.cuh"
#include "cuda/tc/tc_launch.cuh"

namespace spmmi
{

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

    /* Slices of a piece are neighbours: they read the same values of A. */
    for (int64_t at = blockIdx.x; at < (int64_t)work.n_pieces * slices; at += gridDim.x) {
        const int64_t         p     = at / slices;
        const int4            words = __ldg((const int4 *)work.piece + p);
        const spmm_tc_piece_t piece = {words.x, words.y, words.z, words.w};
        const bool            part  = p < work.n_partial;
        Block                 block(A, args, piece, at % slices * S::kWidth, pairs, room);

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

/** Sums of cut panels, in the order of their pieces: a warp adds up a row of panel blockIdx.x.
 *  Panels are tall and many may be cut into few pieces, where finish_splits() is made for few
 *  rows of many pieces. */
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
    const float *const part = (const float *)work.partial + split.piece * step + row * args.x.n;

    for (int64_t j = lane; j < args.x.n; j += kBcsrFinish * kWarp) {
        float sum[kBcsrFinish] = {};

#pragma unroll 2
        for (int p = 0; p < split.n_pieces; p++) {
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

    /* Add up the pieces of cut panels. */
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
        code =
            launch_with((size_t)one->room, one->kernel,
                        dim3((unsigned)least(work.n_pieces * slices, kMaxGridX)),
                        dim3(one->threads), stream, format, lists, work, args, (int)slices, pairs);
        return code != cudaSuccess ? code : finish(format, A.rows, work, args, stream);
    }
};

/** The product; nothing for empty variants. */
template <typename Half, typename Out>
cudaError_t bcsr_product(const spmm_bcsr_arrays_t &A, const spmm_tc_work_t &work,
                         const spmm_tc_mm_args_t &args, cudaStream_t stream)
{
    return work.n_pieces == 0 || args.x.n == 0
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
