/* SPDX-License-Identifier: Apache-2.0 */
/** @file cvse_short_launch.cuh  Which of the CVSE kernels for short windows runs a product. */
#ifndef SPMM_CVSE_SHORT_LAUNCH_CUH
#define SPMM_CVSE_SHORT_LAUNCH_CUH

#include <algorithm>

#include "cuda/cvse/cvse_short.cuh"
#include "cuda/tc/tc_launch.cuh"

namespace spmmi
{

/** The kernels of one pair of types, window height and access. */
template <typename Half, typename Out, int kTiles, CvseAccess kAccess> struct CvseShortKernels {
    template <int kLoads, int kElems, int kWarps>
    using Warp                  = CvseShort<Half, Out, kTiles, kLoads, kElems, kAccess, kWarps>;
    using Format                = typename Warp<1, 4, 4>::Format;
    using Choice                = TcChoice<void (*)(Format, spmm_cvse_short_t, spmm_tc_mm_args_t)>;
    static constexpr bool kEdge = kAccess == CvseAccess::kEdge;

    static constexpr int kNumber = 8;

    template <int kLoads, int kElems, int kWarps, int kBlocks> static Choice choice()
    {
        using One = Warp<kLoads, kElems, kWarps>;

        return {cvse_short_mm<One, kWarps, kBlocks>, One::kWidth, kWarps, kElems,
                One::kRoom * (int)sizeof(float4)};
    }

    /* The widest first.  As many thread blocks as registers for the sums and one block's rows of B
     * allow. */
    static const Choice *all()
    {
        constexpr int kTwo = kTiles == 1 ? 5 : 4, kOne = kTiles == 1 ? 7 : 5;

        static const Choice choices[kNumber] = {
            choice<2, 8, 4, kTwo>(),     choice<1, 8, 4, kOne>(),     choice<1, 4, 4, 8>(),
            choice<2, 8, 8, kTwo / 2>(), choice<1, 8, 8, kOne / 2>(), choice<1, 4, 8, 4>(),
            choice<1, 8, 16, 1>(),       choice<1, 4, 16, 2>(),
        };

        return choices;
    }

    /* Whether rows of B and C begin, and unless there are edges end, with accesses of so many
     * elements. */
    static bool is_aligned(const spmm_tc_mm_args_t &args, int elems)
    {
        const int64_t in  = elems * (int64_t)sizeof(Half);
        const int64_t out = least(16, elems * (int64_t)sizeof(Out));

        return fits(args.x.B, in) && fits(args.x.C, out) && (kEdge || args.x.n % elems == 0) &&
               fits(args.x.ldb * (int64_t)sizeof(Half), in) &&
               fits(args.x.ldc * (int64_t)sizeof(Out), out) &&
               (uint64_t)args.x.ldb * sizeof(Half) <= UINT32_MAX;
    }

    /* Whether n columns fill a slice; with edges the narrowest need not be full. */
    static bool fills(int64_t n, int width, int elems)
    {
        return width <= (kEdge ? std::max(ceil_div(n, elems) * elems, (int64_t)kCvseNarrow) : n);
    }

    /* The widest that the tasks are made for; NULL: these kernels cannot do it. */
    static const Choice *best(const spmm_cvse_short_t &tasks, const spmm_tc_mm_args_t &args)
    {
        for (int k = 0; k < kNumber && tasks.slice > 0; k++) {
            const Choice &one = all()[k];

            if (one.warps == tasks.n_warps && one.width <= tasks.slice &&
                fills(args.x.n, one.width, one.elems) && is_aligned(args, one.elems) &&
                ceil_div(args.x.n, one.width) <= kMaxGridYZ) {
                return &one;
            }
        }
        return NULL;
    }

    static cudaError_t launch(const Choice &choice, const Format &A, const spmm_cvse_short_t &tasks,
                              const spmm_tc_mm_args_t &args, cudaStream_t stream)
    {
        const dim3 grid((unsigned)tasks.end[SPMM_CVSE_TEAMS - 1],
                        (unsigned)ceil_div(args.x.n, choice.width));
        const bool teams = tasks.end[SPMM_CVSE_TEAMS - 2] > 0;

        return launch_with(teams ? (size_t)choice.room : 0, choice.kernel, grid,
                           dim3(choice.warps * kWarp), stream, A, tasks, args);
    }

    static cudaError_t preload()
    {
        return preload_choices(all(), kNumber);
    }
};

} // namespace spmmi

#endif /* SPMM_CVSE_SHORT_LAUNCH_CUH */
