/* SPDX-License-Identifier: Apache-2.0 */
/** @file ablation.cu  BitTCF kernels for TF32 with one of their measures left out. */
#include "ablation.h"

#include <algorithm>

#include "cuda/bittcf/bittcf_launch.cuh"

namespace
{

using namespace spmm;

constexpr spmm_compute_t kTf32 = SPMM_COMPUTE_32F_FAST_TF32;

/** The kernels of one variant, chosen between as the library does (BittcfKernels).
 *  @tparam kMost   loads of a lane for each row of B, at most
 *  @tparam kAhead  also: a second tile in registers where the library has one */
template <int kTiles, int kMost, bool kPermute, bool kAhead> struct Variant {
    using Kernel = void (*)(Bittcf<float, kTiles>, spmm_tc_work_t, spmm_tc_mm_args_t);

    struct Choice {
        Kernel kernel;
        int    width, warps, room;
    };

    template <int kLoads, int kWarps, int kBlocks> static Choice choice()
    {
        constexpr int kStages = kLoads == 1 && kAhead ? 2 : 1;
        using Warp =
            BittcfWarp<float, kTf32, kTiles, kLoads, kStages, true, kWarps, kPermute, kAhead>;

        return {bittcf_mm<float, kTf32, kTiles, kLoads, kStages, true, kWarps, kBlocks, kPermute,
                          kAhead>,
                Warp::kWidth, kWarps, Warp::kTeamRoom * (int)sizeof(float)};
    }

    static const Choice &best(const spmm_tc_work_t &work, const spmm_tc_mm_args_t &args)
    {
        constexpr int kFour = kTiles == 1 ? 5 : 3, kTwo = kTiles == 1 ? 7 : 5;
        constexpr int kOne = kTiles == 1 ? 8 : 6, kEnough = 12;

        static const Choice list[6] = {
            choice<1, 4, kOne>(),     choice<2, 4, kTwo>(),     choice<4, 4, kFour>(),
            choice<1, 8, kOne / 2>(), choice<2, 8, kTwo / 2>(), choice<4, 8, kFour / 2>(),
        };
        const bool    few  = work.n_pieces <= SPMM_TC_FEW * work.n_sm;
        const Choice *from = few ? list + 3 : list, *take = from;

        for (int k = 1; k < 3 && (1 << k) <= kMost; k++) {
            const Choice &one   = from[k];
            const int64_t warps = (work.n_pieces + (int64_t)(one.warps - 1) * work.n_team) *
                                  ceil_div(args.x.n, one.width);

            if (args.x.n >= one.width &&
                ceil_div(args.x.n, one.width) * one.width <=
                    ceil_div(args.x.n, take->width) * take->width &&
                warps >= (int64_t)kEnough * work.n_sm) {
                take = &one;
            }
        }
        return *take;
    }

    static cudaError_t launch(const spmm_bittcf_arrays_t &arrays, const spmm_tc_work_t &work,
                              const spmm_tc_mm_args_t &args, cudaStream_t stream)
    {
        const Bittcf<float, kTiles> A      = {arrays.n_rows,    arrays.window_ptr,
                                              arrays.value_ptr, arrays.col,
                                              arrays.bits,      (const float *)arrays.values};
        const Choice               &choice = best(work, args);
        const int64_t blocks = work.n_team + ceil_div(work.n_pieces - work.n_team, choice.warps);
        const dim3    grid((unsigned)blocks,
                           (unsigned)least(ceil_div(args.x.n, choice.width), kMaxGridYZ));
        const size_t  room = work.n_team == 0 ? 0 : (size_t)choice.room;
        cudaError_t   code = cudaFuncSetAttribute(
              choice.kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, choice.room);

        if (code == cudaSuccess) {
            choice.kernel<<<grid, choice.warps * kWarp, room, stream>>>(A, work, args);
            code = cudaGetLastError();
        }
        return code != cudaSuccess ? code : launch_finish(A, work, args, stream);
    }
};

template <int kMost, bool kPermute, bool kAhead>
cudaError_t product(const spmm_bittcf_arrays_t &A, const spmm_tc_work_t &work,
                    const spmm_tc_mm_args_t &args, cudaStream_t stream)
{
    return A.tiles == 2 ? Variant<2, kMost, kPermute, kAhead>::launch(A, work, args, stream)
                        : Variant<1, kMost, kPermute, kAhead>::launch(A, work, args, stream);
}

} // namespace

extern "C" cudaError_t ablation_mm(ablation_kernel_t kernel, const spmm_bittcf_arrays_t *A,
                                   const spmm_tc_work_t *work, const spmm_tc_mm_args_t *args,
                                   cudaStream_t stream)
{
    switch (kernel) {
    case ABLATION_NOT_AHEAD:
        return product<4, true, false>(*A, *work, *args, stream);
    case ABLATION_NOT_PERMUTED:
        return product<4, false, true>(*A, *work, *args, stream);
    case ABLATION_NARROW:
        return product<1, true, true>(*A, *work, *args, stream);
    }
    return cudaErrorInvalidValue;
}
