/* SPDX-License-Identifier: Apache-2.0 */
/** @file bcsr_launch.cuh
 *  Which of the BCSR kernels runs a product.  One .cu file for each pair of types instantiates this,
 *  so that they compile side by side.
 */
#ifndef SPMM_BCSR_LAUNCH_CUH
#define SPMM_BCSR_LAUNCH_CUH

#include "cuda/bcsr.cuh"

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

/** The kernels of one pair of types, with and without 2:4 tiles. */
template <typename Half, typename Out, int kWarpsM, bool kSparse> struct BcsrKernels {
    static constexpr int kPanel = kWarpsM * kBcsrRows;
    using Format                = Bcsr<Half, Out, kBcsrRows * 16>;
    using Panels                = Bcsr<Half, Out, kPanel * 16>;
    using Kernel                = void (*)(Format, spmm_tc_work_t, spmm_tc_mm_args_t, int, bool);

    struct Choice {
        Kernel kernel;
        int    width;   /**< columns of a slice */
        int    threads; /**< of a thread block */
        int    room;    /**< bytes of shared memory */
    };

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

    static bool is_wide(const spmm_tc_mm_args_t &args)
    {
        const int64_t in = 16, out = 4 * (int64_t)sizeof(Out);

        return args.n % 8 == 0 && fits(args.B, in) && fits(args.C, out) &&
               fits(args.ldb * (int64_t)sizeof(Half), in) &&
               fits(args.ldc * (int64_t)sizeof(Out), out) &&
               (uint64_t)args.ldb * (SPMM_BCSR_WIDTH * sizeof(Half)) <= UINT32_MAX;
    }

    /* No wider than need be: as many columns as the format was made for, at most. */
    static const Choice &best(const spmm_bcsr_arrays_t &A, const spmm_tc_mm_args_t &args)
    {
        const int64_t n = least(args.n, A.slice);

        return all()[!is_wide(args) ? kNarrow : n <= 32 ? kLeast : n <= 64 ? kMiddle : kWidest];
    }

    static cudaError_t launch(const spmm_bcsr_arrays_t &a, const spmm_tc_work_t &work,
                              const spmm_tc_mm_args_t &args, cudaStream_t stream)
    {
        const Format  A      = {a.n_rows,  a.n_cols, a.step, a.bits_ptr,
                                a.row_ptr, a.bits,   a.tile, (const char *)a.values};
        const Panels  panels = {a.n_rows,  a.n_cols, a.step, a.bits_ptr,
                                a.row_ptr, a.bits,   a.tile, (const char *)a.values};
        const Choice &choice = best(a, args);
        const int64_t slices = ceil_div(args.n, choice.width);
        const bool    pairs  = args.n % 2 == 0 && args.ldb % 2 == 0 && fits(args.B, 4);

        if (slices > INT32_MAX) {
            return cudaErrorInvalidValue;
        }
        choice.kernel<<<(unsigned)least(work.n_pieces * slices, kMaxGridX), choice.threads,
                        (size_t)choice.room, stream>>>(A, work, args, (int)slices, pairs);
        const cudaError_t code = cudaGetLastError();

        if (code != cudaSuccess || work.n_splits == 0) {
            return code;
        }
        bcsr_finish<<<(unsigned)((int64_t)work.n_splits * Panels::kHeight / (kBlock / kWarp)),
                      kBlock, 0, stream>>>(panels, work, args);
        return cudaGetLastError();
    }

    static cudaError_t preload()
    {
        cudaFuncAttributes facts;
        cudaError_t        code = cudaFuncGetAttributes(&facts, bcsr_finish<Panels>);

        for (int k = 0; k < kNumber && code == cudaSuccess; k++) {
            const Choice &one = all()[k];

            code = cudaFuncGetAttributes(&facts, one.kernel);
            if (code == cudaSuccess) { /* more than 48 KB only on request */
                code = cudaFuncSetAttribute(one.kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                            one.room);
            }
        }
        return code;
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
    switch (A.rows) {
    case 4:
        return A.n_sp24 == 0 ? BcsrKernels<Half, Out, 1, false>::launch(A, work, args, stream)
                             : BcsrKernels<Half, Out, 1, true>::launch(A, work, args, stream);
    case 8:
        return A.n_sp24 == 0 ? BcsrKernels<Half, Out, 2, false>::launch(A, work, args, stream)
                             : BcsrKernels<Half, Out, 2, true>::launch(A, work, args, stream);
    case 16:
        return A.n_sp24 == 0 ? BcsrKernels<Half, Out, 4, false>::launch(A, work, args, stream)
                             : BcsrKernels<Half, Out, 4, true>::launch(A, work, args, stream);
    default:
        return cudaErrorInvalidValue;
    }
}

/** Load the kernels of one pair of types. */
template <typename Half, typename Out> cudaError_t bcsr_preload()
{
    cudaError_t (*const load[])() = {
        BcsrKernels<Half, Out, 1, false>::preload, BcsrKernels<Half, Out, 1, true>::preload,
        BcsrKernels<Half, Out, 2, false>::preload, BcsrKernels<Half, Out, 2, true>::preload,
        BcsrKernels<Half, Out, 4, false>::preload, BcsrKernels<Half, Out, 4, true>::preload};
    cudaError_t code = cudaSuccess;

    for (auto *const one : load) {
        code = code == cudaSuccess ? one() : code;
    }
    return code;
}

} // namespace spmm

#endif /* SPMM_BCSR_LAUNCH_CUH */
