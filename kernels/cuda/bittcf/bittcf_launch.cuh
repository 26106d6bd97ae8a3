/* SPDX-License-Identifier: Apache-2.0 */
/** @file bittcf_launch.cuh
 *  Which of the BitTCF kernels runs a product.  One .cu file for each compute mode instantiates
 *  this, so that they compile side by side.
 */
#ifndef SPMM_BITTCF_LAUNCH_CUH
#define SPMM_BITTCF_LAUNCH_CUH

#include "cuda/bittcf/bittcf.cuh"

namespace spmmi
{

/** @tparam kWarps   of a thread block
 *  @tparam kBlocks  resident on a multiprocessor, at least: caps the registers */
template <typename T, spmm_compute_t kCompute, int kTiles, int kLoads, int kStages, bool kWide,
          int kWarps, int kBlocks>
__global__ void __launch_bounds__(kWarps *kWarp, kBlocks)
    bittcf_mm(const __grid_constant__ Bittcf<T, kTiles> A,
              const __grid_constant__ spmm_tc_work_t    work,
              const __grid_constant__ spmm_tc_mm_args_t args)
{
    using Warp = BittcfWarp<T, kCompute, kTiles, kLoads, kStages, kWide, kWarps>;
    __shared__ BittcfLists<kTiles> lists[kWarps];
    extern __shared__ int4         room[];
    const int                      warp  = (int)threadIdx.x / kWarp;
    const bool                     team  = blockIdx.x < (unsigned)work.n_team;
    const int64_t                  block = (int64_t)blockIdx.x;
    const int64_t p = team ? block : work.n_team + (block - work.n_team) * kWarps + warp;

    if (p >= work.n_pieces) {
        return;
    }
    const int4      words = __ldg((const int4 *)work.piece + p);
    spmm_tc_piece_t piece = {words.x, words.y, words.z, words.w};

    if (team) {
        const int from = (int)((int64_t)piece.n_blocks * warp / kWarps);

        piece.n_blocks = (int)((int64_t)piece.n_blocks * (warp + 1) / kWarps) - from;
        piece.block += from;
        piece.start = __ldg(A.value_ptr + piece.block);
    }

    for (int64_t j = (int64_t)blockIdx.y * Warp::kWidth; j < args.x.n;
         j += (int64_t)gridDim.y * Warp::kWidth) {
        Warp w(A, args, lists[warp], piece, (int)j);

        w.run();
        if (team && !w.share((T *)room)) {
            continue;
        }
        if (p < work.n_partial) {
            w.store_partial((T *)work.partial + p * Bittcf<T, kTiles>::kHeight * args.x.n);
        } else if (w.is_finite()) {
            w.store();
        } else {
            repair_tile(A, args, piece.window, j, Warp::kWidth);
        }
    }
}

/** The kernels of one element type, compute mode and window height. */
template <typename T, spmm_compute_t kCompute, int kTiles> struct BittcfKernels {
    using Kernel = void (*)(Bittcf<T, kTiles>, spmm_tc_work_t, spmm_tc_mm_args_t);

    struct Choice {
        Kernel kernel;
        int    width; /**< columns of a slice */
        int    warps; /**< of a thread block */
        bool   wide;  /**< accesses 16 bytes at a time */
        int    room;  /**< bytes of shared memory for teams */
    };

    static constexpr int kNumber = 7, kNarrow = 6;

    template <int kLoads, int kStages, bool kWide, int kWarps, int kBlocks> static Choice choice()
    {
        using Warp = BittcfWarp<T, kCompute, kTiles, kLoads, kStages, kWide, kWarps>;

        return {bittcf_mm<T, kCompute, kTiles, kLoads, kStages, kWide, kWarps, kBlocks>,
                Warp::kWidth, kWarps, kWide, Warp::kTeamRoom * (int)sizeof(T)};
    }

    /* Measured on one H200 over real matrices and stand-ins, N = 32 and 128: with several loads a
     * block keeps a warp busy, and more resident warps hide latency better than a second tile in
     * registers; with one load it is the other way round. */
    static const Choice *all()
    {
        constexpr bool kLean = kCompute == SPMM_COMPUTE_32F_FAST_TF32 && kTiles == 1;
        constexpr int  kFour = kLean ? 5 : kTiles == 1 ? 4 : 3, kTwo = kLean ? 7 : 5;
        constexpr int  kOne = kLean ? 8 : 6;

        static const Choice choices[kNumber] = {
            choice<4, 1, true, 4, kFour>(),    choice<2, 1, true, 4, kTwo>(),
            choice<1, 2, true, 4, kOne>(),     choice<4, 1, true, 8, kFour / 2>(),
            choice<2, 1, true, 8, kTwo / 2>(), choice<1, 2, true, 8, kOne / 2>(),
            choice<1, 1, false, 4, 5>(),
        };

        return choices;
    }

    /* Few windows, as many rows with many entries make them, take large teams. */
    static int warps_of_block(const spmm_tc_work_t &work)
    {
        return work.n_pieces <= SPMM_TC_FEW * work.n_sm ? 8 : 4;
    }

    /* Warps that a product has, in slices of this width. */
    static int64_t all_warps(const spmm_tc_work_t &work, const spmm_tc_mm_args_t &args, int width)
    {
        return (work.n_pieces + (int64_t)(warps_of_block(work) - 1) * work.n_team) *
               ceil_div(args.x.n, width);
    }

    /* The widest slices that compute no more columns than narrower ones and leave enough warps for
     * the device, else the narrowest. */
    static const Choice &best(const spmm_tc_work_t &work, const spmm_tc_mm_args_t &args)
    {
        constexpr int   kEnough = 12; /* warps of a multiprocessor */
        const bool      c_rows  = args.x.layout == SPMM_LAYOUT_ROW;
        const uintptr_t mix =
            (uintptr_t)args.x.B | (c_rows ? (uintptr_t)args.x.C : 0) |
            (uintptr_t)((args.x.n | args.x.ldb | (c_rows ? args.x.ldc : 0)) * (int64_t)sizeof(T));
        const bool    wide = mix % 16 == 0 && (uint64_t)args.x.ldb * sizeof(T) <= UINT32_MAX;
        const Choice *list = all();
        const Choice *take = &list[kNarrow];

        for (int k = kNarrow - 1; k >= 0; k--) {
            const Choice &one = list[k];

            if (one.warps == warps_of_block(work) && wide && args.x.n >= one.width &&
                (!take->wide || (ceil_div(args.x.n, one.width) * one.width <=
                                     ceil_div(args.x.n, take->width) * take->width &&
                                 all_warps(work, args, one.width) >= kEnough * work.n_sm))) {
                take = &one;
            }
        }
        return *take;
    }

    static cudaError_t launch(const spmm_bittcf_arrays_t &arrays, const spmm_tc_work_t &work,
                              const spmm_tc_mm_args_t &args, cudaStream_t stream)
    {
        const T *const          values = (const T *)arrays.values;
        const Bittcf<T, kTiles> A      = {arrays.n_rows, arrays.window_ptr, arrays.value_ptr,
                                          arrays.col,    arrays.bits,       values};
        const Choice           &choice = best(work, args);
        const int64_t blocks = work.n_team + ceil_div(work.n_pieces - work.n_team, choice.warps);
        const dim3    grid((unsigned)blocks,
                           (unsigned)least(ceil_div(args.x.n, choice.width), kMaxGridYZ));
        const size_t  room = work.n_team == 0 ? 0 : (size_t)choice.room;

        const cudaError_t code = launch_with(room, choice.kernel, grid, dim3(choice.warps * kWarp),
                                             stream, A, work, args);

        return code != cudaSuccess ? code : launch_finish(A, work, args, stream);
    }

    static cudaError_t preload()
    {
        cudaFuncAttributes facts;
        cudaError_t        code = cudaFuncGetAttributes(&facts, finish_splits<Bittcf<T, kTiles>>);

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

/** The product, A with 1 or 2 tiles in a window; nothing for empty shapes. */
template <typename T, spmm_compute_t kCompute>
cudaError_t bittcf_product(const spmm_bittcf_arrays_t &A, const spmm_tc_work_t &work,
                           const spmm_tc_mm_args_t &args, cudaStream_t stream)
{
    if (work.n_pieces == 0 || args.x.n == 0) {
        return cudaSuccess;
    }
    switch (A.tiles) {
    case 1:
        return BittcfKernels<T, kCompute, 1>::launch(A, work, args, stream);
    case 2:
        return BittcfKernels<T, kCompute, 2>::launch(A, work, args, stream);
    default:
        return cudaErrorInvalidValue;
    }
}

/** Load the kernels of one compute mode. */
template <typename T, spmm_compute_t kCompute> cudaError_t bittcf_preload()
{
    const cudaError_t code = BittcfKernels<T, kCompute, 1>::preload();

    return code != cudaSuccess ? code : BittcfKernels<T, kCompute, 2>::preload();
}

} // namespace spmmi

/** What CMake makes one .cu of for each line of instances.cmake, so that they compile side by
 *  side. */
#define SPMM_INSTANCE(T, kCompute)                                                                 \
    template cudaError_t spmmi::bittcf_product<T, kCompute>(                                       \
        const spmm_bittcf_arrays_t &, const spmm_tc_work_t &, const spmm_tc_mm_args_t &,           \
        cudaStream_t);                                                                             \
    template cudaError_t spmmi::bittcf_preload<T, kCompute>();

#endif /* SPMM_BITTCF_LAUNCH_CUH */
