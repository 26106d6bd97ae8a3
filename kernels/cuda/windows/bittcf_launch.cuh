/* SPDX-License-Identifier: Apache-2.0 */
/** @file bittcf_launch.cuh
 *  Which of the BitTCF kernels runs a product.  One .cu file for each compute mode instantiates
 *  this, so that they compile side by side.
 */
#ifndef SPMM_BITTCF_LAUNCH_CUH
#define SPMM_BITTCF_LAUNCH_CUH

#include "cuda/windows/bittcf.cuh"
#include "cuda/windows/tc_launch.cuh"

namespace spmmi
{

/** @tparam kWarps   of a thread block
 *  @tparam kBlocks  resident on a multiprocessor, at least: caps the registers */
template <typename T, spmm_compute_t kCompute, int kTiles, int kLoads, int kStages,
          BittcfAccess kAccess, int kWarps, int kBlocks>
__global__ void __launch_bounds__(kWarps *kWarp, resident_blocks(kWarps *kWarp, kBlocks))
    bittcf_mm(const __grid_constant__ Bittcf<T, kTiles> A,
              const __grid_constant__ spmm_tc_work_t    work,
              const __grid_constant__ spmm_tc_mm_args_t args)
{
    using Warp = BittcfWarp<T, kCompute, kTiles, kLoads, kStages, kAccess, kWarps>;
    __shared__ BittcfLists<kTiles> lists[kWarps];
    extern __shared__ int4         room[];
    const int                      warp  = (int)threadIdx.x / kWarp;
    const bool                     team  = blockIdx.x < (unsigned)work.n_team;
    const int64_t                  block = (int64_t)blockIdx.x;
    const int64_t p = team ? block : work.n_team + (block - work.n_team) * kWarps + warp;

    if (!is_turned(kAccess) && args.x.follows != SPMM_FOLLOWS_CONCURRENT) {
        wait_for_earlier();
    }
    let_next_begin();
    if (p >= work.n_items) {
        return;
    }
    const int4     words = __ldg((const int4 *)work.item + p);
    spmm_tc_item_t item  = {words.x, words.y, words.z, words.w};

    if (team) {
        const int from = (int)((int64_t)item.n_blocks * warp / kWarps);

        item.n_blocks = (int)((int64_t)item.n_blocks * (warp + 1) / kWarps) - from;
        item.block += from;
        item.start = __ldg(A.value_ptr + item.block);
    }

    for (int64_t j = (int64_t)blockIdx.y * Warp::kWidth; j < args.x.n * Warp::kParts;
         j += (int64_t)gridDim.y * Warp::kWidth) {
        Warp w(A, args, lists[warp], item, (int)j);

        w.run();
        if (team && !w.share((typename Warp::T *)room)) {
            continue;
        }
        if (p < work.n_partial) {
            w.store_partial((typename Warp::T *)((T *)work.partial +
                                                 p * Bittcf<T, kTiles>::kHeight * args.x.n));
        } else if (w.is_finite()) {
            w.store();
        } else {
            repair_tile(A, args, item.window, j / Warp::kParts, Warp::kWidth / Warp::kParts);
        }
    }
}

/** The kernels of one element type, compute mode and window height. */
template <typename T, spmm_compute_t kCompute, int kTiles> struct BittcfKernels {
    using Format = Bittcf<T, kTiles>;
    using Choice = TcItems<Format>;

    static constexpr int  kNumber = 7, kColumns = 4;
    static constexpr int  kEnoughItems = 12; /* of a multiprocessor, to give a warp more columns */
    static constexpr bool kPairs       = kCompute == SPMM_COMPUTE_64F && sizeof(T) == 8;
    static constexpr int  kParts       = (int)(sizeof(T) / sizeof(typename RealOf<T>::type));

    template <int kLoads, int kStages, BittcfAccess kAccess, int kWarps, int kBlocks>
    static Choice choice()
    {
        using Warp = BittcfWarp<T, kCompute, kTiles, kLoads, kStages, kAccess, kWarps>;

        return {bittcf_mm<T, kCompute, kTiles, kLoads, kStages, kAccess, kWarps, kBlocks>,
                Warp::kWidth / Warp::kParts, kWarps,
                kAccess == BittcfAccess::kNarrow ? 1 : Warp::kElems,
                Warp::kTeamRoom * (int)sizeof(typename Warp::T)};
    }

    /* Measured on one H200 over real matrices and stand-ins, N = 32 and 128: with several loads a
     * block keeps a warp busy, and more resident warps hide latency better than a second tile in
     * registers; with one load it is the other way round. */
    template <BittcfAccess kAccess> static const Choice *rows()
    {
        constexpr bool kLean   = kCompute == SPMM_COMPUTE_32F_FAST_TF32 && kTiles == 1;
        constexpr int  kFour   = kLean ? 5 : kTiles == 1 ? 4 : 3;
        constexpr int  kTwo    = kLean ? 7 : kTiles == 2 && kParts == 2 ? 4 : 5;
        constexpr int  kOne    = kLean ? 8 : kTiles == 2 && kParts == 2 ? 5 : 6;
        constexpr int  kTeam   = kParts == 2 ? 2 : kOne / 2; /* of eight warps */
        constexpr int  kNarrow = kTiles * kParts == 1 ? 6 : 5;

        static const Choice choices[kNumber] = {
            choice<4, 1, kAccess, 4, kFour>(),
            choice<2, 1, kAccess, 4, kTwo>(),
            choice<1, 2, kAccess, 4, kOne>(),
            choice<4, 1, kAccess, 8, kFour / 2>(),
            choice<2, 1, kAccess, 8, kTwo / 2>(),
            choice<1, 2, kAccess, 8, kTeam>(),
            choice<1, 1, BittcfAccess::kNarrow, 4, kNarrow>(),
        };

        return choices;
    }

    /* A width between those of slices takes as long as the next multiple of the least one, but for
     * the loads that are left out; in FP64, from seven of them on, of two, since slices of one load
     * take longer.  Of few columns most lanes would have none: they come element by element. */
    static const Choice &best_rows(const spmm_tc_work_t &work, int64_t n, bool wide, bool c_rows)
    {
        const Choice *const list = rows<BittcfAccess::kWide>();
        const int64_t       one  = list[2].width;
        const int64_t       step = kPairs && n > 6 * one ? 2 * one : one;
        const int64_t       up   = 2 * n > one ? ceil_div(n, step) * step : n;
        const Choice       &best =
            best_choice<Format>(list, kNumber, work, up, [=](int) { return wide; });
        const int64_t at   = &best - list;
        const bool    full = n % best.width == 0, edge = n * (int64_t)sizeof(T) % 16 != 0;

        if (!c_rows) {
            return (full   ? rows<BittcfAccess::kTurned>()
                    : edge ? rows<BittcfAccess::kTurnedEdge>()
                           : rows<BittcfAccess::kTurnedMasked>())[at];
        }
        return full   ? best
               : edge ? rows<BittcfAccess::kEdge>()[at]
                      : rows<BittcfAccess::kMasked>()[at];
    }

    /* Those that read column-major B: teams of four warps, and of eight, narrow and wide.  FP64 has
     * registers for a block ahead beside more thread blocks. */
    static const Choice *columns()
    {
        constexpr bool kReal   = kTiles * kParts == 1;
        constexpr bool kAhead  = kCompute == SPMM_COMPUTE_64F && kReal;
        constexpr int  kStages = kAhead ? 2 : 1, kOne = kReal ? 6 : 5, kTwo = kAhead ? 5 : 4;
        constexpr int  kLarge = kReal && !kAhead ? 3 : 2;

        static const Choice choices[kColumns] = {
            choice<1, kStages, BittcfAccess::kColumns, 4, kOne>(),
            choice<2, kStages, BittcfAccess::kColumns, 4, kTwo>(),
            choice<1, 1, BittcfAccess::kColumns, 8, kLarge>(),
            choice<2, 1, BittcfAccess::kColumns, 8, 2>(),
        };

        return choices;
    }

    static const Choice &best_columns(const spmm_tc_work_t &work, int64_t n)
    {
        const Choice *list = columns() + (warps_of_block(work) == 8 ? 2 : 0);

        return list[n > list[0].width && work.n_items >= kEnoughItems * work.n_sm];
    }

    static cudaError_t launch(const spmm_bittcf_arrays_t &arrays, const spmm_tc_work_t &work,
                              const spmm_tc_mm_args_t &args, cudaStream_t stream)
    {
        const T *const  values = (const T *)arrays.values;
        const Format    A      = {arrays.n_rows,
                                  arrays.n_cols - 1,
                                  arrays.window_ptr,
                                  arrays.value_ptr,
                                  arrays.col,
                                  arrays.bits,
                                  values};
        const bool      c_rows = args.x.layout == SPMM_LAYOUT_ROW;
        const uintptr_t mix =
            (uintptr_t)args.x.B | (c_rows ? (uintptr_t)args.x.C : 0) |
            (uintptr_t)((args.x.ldb | (c_rows ? args.x.ldc : 0)) * (int64_t)sizeof(T));
        const bool wide = mix % 16 == 0 && (uint64_t)args.x.ldb * sizeof(T) <= UINT32_MAX;

        if (args.x.layout == SPMM_LAYOUT_COL) {
            return launch_items(best_columns(work, args.x.n), A, work, args, stream, true);
        }
        return launch_items(best_rows(work, args.x.n, wide, c_rows), A, work, args, stream, true);
    }

    static cudaError_t preload()
    {
        const Choice *const rows_of[] = {
            rows<BittcfAccess::kWide>(),         rows<BittcfAccess::kMasked>(),
            rows<BittcfAccess::kEdge>(),         rows<BittcfAccess::kTurned>(),
            rows<BittcfAccess::kTurnedMasked>(), rows<BittcfAccess::kTurnedEdge>()};
        cudaError_t code = spmmi::preload(finish_splits<Format>);

        for (const Choice *list : rows_of) {
            code = code == cudaSuccess ? preload_choices(list, kNumber) : code;
        }
        return code == cudaSuccess ? preload_choices(columns(), kColumns) : code;
    }
};

/** The product, A with 1 or 2 tiles in a window; nothing for empty shapes. */
template <typename T, spmm_compute_t kCompute>
cudaError_t bittcf_product(const spmm_bittcf_arrays_t &A, const spmm_tc_work_t &work,
                           const spmm_tc_mm_args_t &args, cudaStream_t stream)
{
    if (work.n_items == 0 || args.x.n == 0) {
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
