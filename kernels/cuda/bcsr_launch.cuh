/* SPDX-License-Identifier: Apache-2.0 */
/** @file bcsr_launch.cuh
 *  Which of the BCSR kernels runs a product.  One .cu file for each pair of types instantiates this,
 *  so that they compile side by side.
 */
#ifndef SPMM_BCSR_LAUNCH_CUH
#define SPMM_BCSR_LAUNCH_CUH

#include "cuda/bcsr.cuh"
#include "cuda/bcsr_lists.cuh"
#include "cuda/tc_half.cuh"

namespace spmm
{

/** @tparam kBlocks  resident on a multiprocessor, at least: caps the registers */
template <class S, int kBlocks>
__global__ void __launch_bounds__(S::kThreads, kBlocks)
    bcsr_mm(const __grid_constant__ typename S::Format A,
            const __grid_constant__ spmm_tc_work_t     work,
            const __grid_constant__ spmm_tc_mm_args_t args, int slices, bool pairs)
{
    extern __shared__ __align__(128) int4 room[];

    /* Slices of a piece are neighbours: they read the same values of A. */
    for (int64_t at = blockIdx.x; at < (int64_t)work.n_pieces * slices; at += gridDim.x) {
        const int64_t         p     = at / slices;
        const int4            words = __ldg((const int4 *)work.piece + p);
        const spmm_tc_piece_t piece = {words.x, words.y, words.z, words.w};
        BcsrBlock<S>          block(A, args, piece, at % slices * S::kWidth, pairs, room);

        block.run();
        if (p < work.n_partial) {
            block.store_partial((float *)work.partial + p * (S::kPanel * 16) * args.n);
        } else if (block.is_finite()) {
            block.store();
        } else {
            repair_tile(A, args, piece.window * S::kM + block.warp_m,
                        block.slice + 8 * S::kN * block.warp_n, 8 * S::kN);
        }
    }
}

/** The same by lists. */
template <class S, int kBlocks>
__global__ void __launch_bounds__(S::kThreads, kBlocks)
    bcsr_lists_mm(const __grid_constant__ typename S::Format A,
                  const __grid_constant__ BcsrLists          lists,
                  const __grid_constant__ spmm_tc_work_t     work,
                  const __grid_constant__ spmm_tc_mm_args_t args, int slices, bool pairs)
{
    extern __shared__ __align__(128) int4 room[];

    for (int64_t at = blockIdx.x; at < (int64_t)work.n_pieces * slices; at += gridDim.x) {
        const int64_t         p     = at / slices;
        const int4            words = __ldg((const int4 *)work.piece + p);
        const spmm_tc_piece_t piece = {words.x, words.y, words.z, words.w};
        const bool            part  = p < work.n_partial;
        BcsrListBlock<S>      block(A, args, piece, at % slices * S::kWidth, pairs, room);

        block.run(lists, part, (float4 *)room);
        if (block.split > 0) {
            continue;
        }
        if (part) {
            block.store_partial((float *)work.partial + p * (S::kPanel * 16) * args.n);
        } else if (block.is_finite()) {
            block.store();
        } else {
            repair_tile(A, args, piece.window * S::kM + block.warp_m, block.slice, S::kWidth);
        }
    }
}

constexpr int kBcsrFinish = 4; /* columns of a lane at a time */

/** Sums of cut panels, in the order of their pieces: a warp adds up a row.  Panels are tall and many may
 *  be cut into few pieces, where finish_splits() is made for few rows of many pieces. */
template <class F>
__global__ void __launch_bounds__(kBlock)
    bcsr_finish(const __grid_constant__ F format, const __grid_constant__ spmm_tc_work_t work,
                const __grid_constant__ spmm_tc_mm_args_t args)
{
    using In                    = typename F::In;
    const int64_t         warp  = (int64_t)blockIdx.x * (kBlock / kWarp) + threadIdx.x / kWarp;
    const spmm_tc_split_t split = work.split[warp / F::kHeight];
    const int             row = (int)(warp % F::kHeight), lane = (int)threadIdx.x % kWarp;
    const int64_t         i    = (int64_t)split.window * F::kHeight + row;
    const int64_t         step = (int64_t)F::kHeight * args.n;

    if (i >= format.n_rows) {
        return;
    }
    auto *const        c    = row_of_c<typename F::Out>(args, i);
    const float *const part = (const float *)work.partial + split.piece * step + row * args.n;

    for (int64_t j = lane; j < args.n; j += kBcsrFinish * kWarp) {
        float sum[kBcsrFinish] = {};

#pragma unroll 2
        for (int p = 0; p < split.n_pieces; p++) {
#pragma unroll
            for (int e = 0; e < kBcsrFinish; e++) {
                if (j + e * kWarp < args.n) {
                    sum[e] += part[p * step + j + e * kWarp];
                }
            }
        }
#pragma unroll
        for (int e = 0; e < kBcsrFinish; e++) {
            if (j + e * kWarp < args.n) {
                if (taint(sum[e], 0.0f) != 0.0f) {
                    sum[e] = format.exact(split.window, row, (const In *)args.B, args.ldb,
                                          j + e * kWarp);
                }
                store_c(args, c + j + e * kWarp, sum[e]);
            }
        }
    }
}

/** 16-byte access to B and C? */
template <typename Half, typename Out> bool bcsr_is_wide(const spmm_tc_mm_args_t &args)
{
    const int64_t in = 16, out = 4 * (int64_t)sizeof(Out);

    return args.n % 8 == 0 && fits(args.B, in) && fits(args.C, out) &&
           fits(args.ldb * (int64_t)sizeof(Half), in) &&
           fits(args.ldc * (int64_t)sizeof(Out), out) &&
           (uint64_t)args.ldb * (SPMM_BCSR_WIDTH * sizeof(Half)) <= UINT32_MAX;
}

template <class Format> Format bcsr_format(const spmm_bcsr_arrays_t &a)
{
    return {a.n_rows,  a.n_cols, a.step, a.bits_ptr,
            a.row_ptr, a.bits,   a.tile, (const char *)a.values};
}

/** Add up the pieces of cut panels of kPanel tile rows. */
template <typename Half, typename Out, int kPanel>
cudaError_t bcsr_launch_finish(const spmm_bcsr_arrays_t &a, const spmm_tc_work_t &work,
                               const spmm_tc_mm_args_t &args, cudaStream_t stream)
{
    using Panels           = Bcsr<Half, Out, kPanel * 16>;
    const cudaError_t code = cudaGetLastError();

    if (code != cudaSuccess || work.n_splits == 0) {
        return code;
    }
    bcsr_finish<<<(unsigned)((int64_t)work.n_splits * Panels::kHeight / (kBlock / kWarp)), kBlock,
                  0, stream>>>(bcsr_format<Panels>(a), work, args);
    return cudaGetLastError();
}

/** A kernel and what a launch of it needs. */
template <typename Kernel> struct BcsrChoice {
    Kernel kernel;
    int    width;   /**< columns of a slice */
    int    threads; /**< of a thread block */
    int    room;    /**< bytes of shared memory */

    template <typename... Params>
    cudaError_t launch(const spmm_tc_work_t &work, const spmm_tc_mm_args_t &args,
                       cudaStream_t stream, const Params &...formats) const
    {
        const int64_t slices = ceil_div(args.n, width);
        const bool    pairs  = args.n % 2 == 0 && args.ldb % 2 == 0 && fits(args.B, 4);

        if (slices > INT32_MAX) {
            return cudaErrorInvalidValue;
        }
        kernel<<<(unsigned)least(work.n_pieces * slices, kMaxGridX), threads, (size_t)room,
                 stream>>>(formats..., work, args, (int)slices, pairs);
        return cudaSuccess;
    }
};

/** The kernels of one pair of types that go by steps, with and without 2:4 tiles. */
template <typename Half, typename Out, int kWarpsM, bool kSparse> struct BcsrKernels {
    static constexpr int kPanel = kWarpsM * kBcsrRows;
    using Format                = Bcsr<Half, Out, kBcsrRows * 16>;
    using Choice = BcsrChoice<void (*)(Format, spmm_tc_work_t, spmm_tc_mm_args_t, int, bool)>;

    enum { kNarrow, kLeast, kMiddle, kWidest, kNumber };

    template <int kWarpsN, int kTiles, bool kWide, int kBlocks> static Choice choice()
    {
        using S = BcsrShape<Half, Out, kWarpsM, kWarpsN, kTiles, kSparse, kWide>;

        return {bcsr_mm<S, kBlocks>, S::kWidth, S::kThreads, S::kRoom};
    }

    /* 64 columns of four tile rows take 128 registers for sums: two thread blocks of four warps or one
     * of eight. */
    static const Choice *all()
    {
        constexpr int kLeastBlocks = kWarpsM == 1 ? 9 : kWarpsM == 2 ? 5 : 3;
        constexpr int kMost        = 8 / kWarpsM; /* warps of 64 columns on a multiprocessor: 8 */

        static const Choice choices[kNumber] = {
            choice<1, 4, false, kMost>(),
            choice<1, 4, true, kLeastBlocks>(),
            choice<1, 8, true, kMost>(),
            choice<2, 8, true, kMost / 2>(),
        };

        return choices;
    }

    /* No wider than need be: as many columns as the format was made for, at most. */
    static cudaError_t launch(const spmm_bcsr_arrays_t &a, const spmm_tc_work_t &work,
                              const spmm_tc_mm_args_t &args, cudaStream_t stream)
    {
        const int64_t     n    = least(args.n, a.slice);
        const Choice     &best = all()[!bcsr_is_wide<Half, Out>(args) ? kNarrow
                                       : n <= 32                      ? kLeast
                                       : n <= 64                      ? kMiddle
                                                                      : kWidest];
        const cudaError_t code = best.launch(work, args, stream, bcsr_format<Format>(a));

        return code != cudaSuccess ? code
                                   : bcsr_launch_finish<Half, Out, kPanel>(a, work, args, stream);
    }

    static cudaError_t preload()
    {
        const cudaError_t code = spmm::preload(bcsr_finish<Bcsr<Half, Out, kPanel * 16>>);

        return code != cudaSuccess ? code : preload_choices(all(), kNumber);
    }
};

/** Those that go by lists, kWarpsK warps for a tile row. */
template <typename Half, typename Out, int kWarpsM, int kWarpsK, bool kSparse>
struct BcsrListKernels {
    using Format = Bcsr<Half, Out, 16>;
    using Choice =
        BcsrChoice<void (*)(Format, BcsrLists, spmm_tc_work_t, spmm_tc_mm_args_t, int, bool)>;

    enum { kNarrow, kLeast, kWidest, kNumber };

    template <int kTiles, bool kWide, int kBlocks> static Choice choice()
    {
        using S = BcsrListShape<Half, Out, kWarpsM, kWarpsK, kTiles, kSparse, kWide>;

        return {bcsr_lists_mm<S, kBlocks>, S::kWidth, S::kThreads, S::kRoom};
    }

    /* 16 warps of 128 registers on a multiprocessor, more of 32 columns where they are in small
     * thread blocks. */
    static const Choice *all()
    {
        constexpr int kMost = 16 / (kWarpsM * kWarpsK), kMore = kMost > 1 ? kMost * 5 / 4 : 1;

        static const Choice choices[kNumber] = {choice<4, false, kMost>(), choice<4, true, kMore>(),
                                                choice<8, true, kMost>()};

        return choices;
    }

    static cudaError_t launch(const spmm_bcsr_arrays_t &a, const spmm_tc_work_t &work,
                              const spmm_tc_mm_args_t &args, cudaStream_t stream)
    {
        const BcsrLists   lists = {a.list_ptr, (const int4 *)a.list};
        const Choice     &best  = all()[!bcsr_is_wide<Half, Out>(args) ? kNarrow
                                        : least(args.n, a.slice) <= 32 ? kLeast
                                                                       : kWidest];
        const cudaError_t code  = best.launch(work, args, stream, bcsr_format<Format>(a), lists);

        return code != cudaSuccess ? code
                                   : bcsr_launch_finish<Half, Out, kWarpsM>(a, work, args, stream);
    }

    static cudaError_t preload()
    {
        const cudaError_t code = spmm::preload(bcsr_finish<Bcsr<Half, Out, kWarpsM * 16>>);

        return code != cudaSuccess ? code : preload_choices(all(), kNumber);
    }
};

/** The kernels of one pair of types, with or without 2:4 tiles: those whose shape is that of A. */
template <typename Half, typename Out, bool kSparse> struct BcsrTable {
    using Launch = cudaError_t (*)(const spmm_bcsr_arrays_t &, const spmm_tc_work_t &,
                                   const spmm_tc_mm_args_t &, cudaStream_t);

    struct Line {
        int    rows, split; /* of a panel; 0: by steps */
        Launch launch;
        cudaError_t (*preload)();
    };

    template <class Kernels> static Line line(int rows, int split)
    {
        return {rows, split, Kernels::launch, Kernels::preload};
    }

    template <class Use> static cudaError_t each(Use use)
    {
        const Line lines[] = {
            line<BcsrKernels<Half, Out, 1, kSparse>>(4, 0),
            line<BcsrListKernels<Half, Out, 4, 1, kSparse>>(4, 1),
            line<BcsrListKernels<Half, Out, 4, 4, kSparse>>(4, 4),
            line<BcsrListKernels<Half, Out, 8, 2, kSparse>>(8, 2),
            line<BcsrListKernels<Half, Out, 16, 1, kSparse>>(16, 1),
        };
        cudaError_t code = cudaErrorInvalidValue; /* where none is used */

        for (const Line &one : lines) {
            if (!use(one, code)) {
                break;
            }
        }
        return code;
    }

    static cudaError_t launch(const spmm_bcsr_arrays_t &A, const spmm_tc_work_t &work,
                              const spmm_tc_mm_args_t &args, cudaStream_t stream)
    {
        const int split = A.list == NULL ? 0 : A.split;

        return each([&](const Line &one, cudaError_t &code) {
            const bool is = one.rows == A.rows && one.split == split;

            code = is ? one.launch(A, work, args, stream) : code;
            return !is;
        });
    }

    static cudaError_t preload()
    {
        return each([](const Line &one, cudaError_t &code) {
            code = one.preload();
            return code == cudaSuccess;
        });
    }
};

/** The product; nothing for empty shapes. */
template <typename Half, typename Out>
cudaError_t bcsr_product(const spmm_bcsr_arrays_t &A, const spmm_tc_work_t &work,
                         const spmm_tc_mm_args_t &args, cudaStream_t stream)
{
    if (work.n_pieces == 0 || args.n == 0) {
        return cudaSuccess;
    }
    return A.n_sp24 == 0 ? BcsrTable<Half, Out, false>::launch(A, work, args, stream)
                         : BcsrTable<Half, Out, true>::launch(A, work, args, stream);
}

/** Load the kernels of one pair of types. */
template <typename Half, typename Out> cudaError_t bcsr_preload()
{
    const cudaError_t code = BcsrTable<Half, Out, false>::preload();

    return code != cudaSuccess ? code : BcsrTable<Half, Out, true>::preload();
}

} // namespace spmm

#endif /* SPMM_BCSR_LAUNCH_CUH */
