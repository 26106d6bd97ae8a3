/* SPDX-License-Identifier: Apache-2.0 */
/** @file cvse_launch.cuh
 *  Which of the CVSE kernels runs a product.  One .cu file for each pair of types instantiates
 *  this, so that they compile side by side.
 */
#ifndef SPMM_CVSE_LAUNCH_CUH
#define SPMM_CVSE_LAUNCH_CUH

#include "cuda/cvse/cvse.cuh"
#include "cuda/cvse/cvse_short_launch.cuh"
#include "cuda/cvse/cvse_slab_launch.cuh"

namespace spmmi
{

/** @tparam kWarps   of a thread block
 *  @tparam kBlocks  resident on a multiprocessor, at least: caps the registers */
template <typename Half, typename Out, int kTiles, int kLoads, int kElems, int kStages, bool kWide,
          int kWarps, int kBlocks>
__global__ void __launch_bounds__(kWarps *kWarp, kBlocks)
    cvse_mm(const __grid_constant__ Cvse<Half, Out, kTiles> A,
            const __grid_constant__ spmm_tc_work_t          work,
            const __grid_constant__ spmm_tc_mm_args_t       args)
{
    using Warp = CvseWarp<Half, Out, kTiles, kLoads, kElems, kStages, kWide, kWarps>;
    __shared__ CvseRing<Half, kTiles> ring[kWarps];
    extern __shared__ int4            room[];
    const int                         warp  = (int)threadIdx.x / kWarp;
    const bool                        team  = blockIdx.x < (unsigned)work.n_team;
    const int64_t                     block = (int64_t)blockIdx.x;
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
    }

    for (int64_t j = (int64_t)blockIdx.y * Warp::kWidth; j < args.x.n;
         j += (int64_t)gridDim.y * Warp::kWidth) {
        Warp w(A, args, ring[warp], piece, (int)j);

        w.run();
        if (team && !w.share((float *)room)) {
            continue;
        }
        if (p < work.n_partial) {
            w.store_partial((float *)work.partial + p * Warp::kHeight * args.x.n);
        } else if (w.is_finite()) {
            w.store();
        } else {
            repair_tile(A, args, piece.window, j, Warp::kWidth);
        }
    }
}

/** The kernels of one pair of types and window height. */
template <typename Half, typename Out, int kTiles> struct CvseKernels {
    using Format = Cvse<Half, Out, kTiles>;
    using Short  = CvseShortKernels<Half, Out, kTiles>;
    using Slab   = CvseSlabKernels<Half, Out>;
    using Choice = TcPieces<Format>;

    static constexpr int kNumber = 9;

    template <int kLoads, int kElems, int kStages, bool kWide, int kWarps, int kBlocks>
    static Choice choice()
    {
        using Warp = CvseWarp<Half, Out, kTiles, kLoads, kElems, kStages, kWide, kWarps>;

        return {cvse_mm<Half, Out, kTiles, kLoads, kElems, kStages, kWide, kWarps, kBlocks>,
                Warp::kWidth, kWarps, kWide ? kElems : 1, Warp::kTeamRoom * (int)sizeof(float)};
    }

    /* Of each size of thread block the widest first.  256 columns of 16 rows would leave two
     * warps to a scheduler: they take 128.  Slices of 64 columns load a block ahead, as BitTCF
     * does; those of 32 have more warps instead. */
    static const Choice *all()
    {
        constexpr int kMost = kTiles == 1 ? 4 : 2, kFour = kTiles == 1 ? 3 : 4;
        constexpr int kTwo = kTiles == 1 ? 5 : 4, kOne = kTiles == 1 ? 5 : 4;

        static const Choice choices[kNumber] = {
            choice<kMost, 8, 1, true, 4, kFour>(),
            choice<2, 8, 1, true, 4, kTwo>(),
            choice<1, 8, 2, true, 4, kOne>(),
            choice<1, 4, 1, true, 4, 8>(),
            choice<kMost, 8, 1, true, 8, kFour / 2>(),
            choice<2, 8, 1, true, 8, kTwo / 2>(),
            choice<1, 8, 2, true, 8, kOne / 2>(),
            choice<1, 4, 1, true, 8, 4>(),
            choice<1, 4, 1, false, 4, 5>(),
        };

        return choices;
    }

    static cudaError_t launch(const spmm_cvse_arrays_t &arrays, const spmm_cvse_short_t &tasks,
                              const spmm_tc_work_t &work, const spmm_tc_mm_args_t &args,
                              cudaStream_t stream)
    {
        const Format A      = {arrays.n_rows, arrays.n_windows, arrays.window_ptr,
                               arrays.col,    arrays.bits,      (const Half *)arrays.values};
        const auto  *choice = Short::best(tasks, args);
        CUtensorMap  map;

        if constexpr (kTiles == 1) {
            if (Slab::can_run(tasks.slab, args, &map)) {
                return Slab::launch(map, A, tasks.slab, args, work.n_sm, stream);
            }
        }
        if (choice != NULL) {
            return Short::launch(*choice, A, tasks, args, stream);
        }
        return launch_pieces(
            best_choice<Format>(all(), kNumber, work, args.x.n,
                                [&](int elems) { return Short::is_aligned(args, elems); }),
            A, work, args, stream);
    }

    static cudaError_t preload()
    {
        cudaError_t code = spmmi::preload(finish_splits<Format>);

        code = code == cudaSuccess ? preload_choices(all(), kNumber) : code;
        code = code == cudaSuccess && kTiles == 1 ? Slab::preload() : code;
        return code == cudaSuccess ? Short::preload() : code;
    }
};

/** The product; nothing for empty shapes. */
template <typename Half, typename Out>
cudaError_t cvse_product(const spmm_cvse_arrays_t &A, const spmm_cvse_short_t &tasks,
                         const spmm_tc_work_t &work, const spmm_tc_mm_args_t &args,
                         cudaStream_t stream)
{
    if (work.n_pieces == 0 || args.x.n == 0) {
        return cudaSuccess;
    }
    switch (A.height) {
    case 8:
        return CvseKernels<Half, Out, 1>::launch(A, tasks, work, args, stream);
    case 16:
        return CvseKernels<Half, Out, 2>::launch(A, tasks, work, args, stream);
    default:
        return cudaErrorInvalidValue;
    }
}

/** Load the kernels of one pair of types. */
template <typename Half, typename Out> cudaError_t cvse_preload()
{
    const cudaError_t code = CvseKernels<Half, Out, 1>::preload();

    return code != cudaSuccess ? code : CvseKernels<Half, Out, 2>::preload();
}

} // namespace spmmi

/** What CMake makes one .cu of for each line of instances.cmake, so that they compile side by
 *  side. */
#define SPMM_INSTANCE(Half, Out)                                                                   \
    template cudaError_t spmmi::cvse_product<Half, Out>(                                           \
        const spmm_cvse_arrays_t &, const spmm_cvse_short_t &, const spmm_tc_work_t &,             \
        const spmm_tc_mm_args_t &, cudaStream_t);                                                  \
    template cudaError_t spmmi::cvse_preload<Half, Out>();

#endif /* SPMM_CVSE_LAUNCH_CUH */
