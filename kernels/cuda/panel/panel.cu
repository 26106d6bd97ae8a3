/* SPDX-License-Identifier: Apache-2.0 */
/** @file panel.cu  The launcher of the kernels on panels. */
#include "cuda/panel/panel.cuh"
#include "cuda/panel/panel.h"

namespace spmmi
{
namespace
{

using Shape  = PanelShape<128, 9, 3>;
using Half   = PanelShape<64, 18, 3>;
using Kernel = void (*)(Panel, spmm_tc_mm_args_t, bool, unsigned, unsigned, int);

static_assert(Half::kBlocks == Shape::kBlocks && Half::kThreads == Shape::kThreads,
              "blocks of both are as many on the device");

/** What both kernels of a product take. */
struct Launch {
    const spmm_tc_mm_args_t &args;
    cudaStream_t             stream;
    Panel                    format;
    bool                     wide_c;

    /* Panels and slices from number @p first on, @p n of them, each by @p cuts blocks. */
    template <class S>
    cudaError_t operator()(Kernel kernel, unsigned first, unsigned n, unsigned cuts,
                           int which) const
    {
        const dim3 grid(n * cuts), block((unsigned)S::kThreads);

        return which == kPanelSecond
                   ? launch_early((size_t)S::kBytes, kernel, grid, block, stream, format, args,
                                  wide_c, first, cuts, which)
                   : launch_first(args.x, true, (size_t)S::kBytes, kernel, grid, block, stream,
                                  format, args, wide_c, first, cuts, which);
    }
};

/** The last round of thread blocks takes as long as another, however few they are: where at most
 *  half of the device would be busy, two share the columns of one.  There are not 2^32 blocks: C
 *  would have no room. */
template <bool kSplit, bool kWide> cudaError_t launch_wide(const Launch &launch, int n_sm)
{
    const Kernel   whole = panel_mm<Shape, kSplit, kWide>, half = panel_mm<Half, kSplit, kWide>;
    const int64_t  n     = launch.args.x.n;
    const unsigned all   = (unsigned)(launch.format.n_panels * ceil_div(n, Shape::kWidth));
    const unsigned slots = (unsigned)(Shape::kBlocks * n_sm), tail = all % slots;

    if (n <= Half::kWidth) {
        return launch.operator()<Half>(half, 0, all, 1, kPanelAlone);
    }
    if (tail == 0 || tail > slots / 2) {
        return launch.operator()<Shape>(whole, 0, all, 1, kPanelAlone);
    }
    if (tail == all) {
        return launch.operator()<Half>(half, 0, all, 2, kPanelAlone);
    }
    const cudaError_t code = launch.operator()<Shape>(whole, 0, all - tail, 1, kPanelFirst);

    return code != cudaSuccess ? code
                               : launch.operator()<Half>(half, all - tail, tail, 2, kPanelSecond);
}

template <bool kSplit>
cudaError_t launch_mm(const spmm_panel_arrays_t &A, int n_sm, const spmm_tc_mm_args_t &args,
                      cudaStream_t stream)
{
    const int64_t size = (int64_t)sizeof(float);
    const bool    b    = args.x.n % 4 == 0 && fits(args.x.B, 16) && fits(args.x.ldb * size, 16) &&
                   args.x.ldb * size <= (int64_t)UINT32_MAX;
    const bool   c = args.x.n % 2 == 0 && fits(args.x.C, 8) && fits(args.x.ldc * size, 8);
    const Launch launch{
        args,
        stream,
        {A.n_rows, A.n_windows, A.n_panels, A.panel_step, A.col, A.window_start, A.packed},
        c};

    return b ? launch_wide<kSplit, true>(launch, n_sm) : launch_wide<kSplit, false>(launch, n_sm);
}

cudaError_t preload_one(Kernel kernel, int room)
{
    cudaError_t code = preload(kernel);

    code = code == cudaSuccess
               ? cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, room)
               : code;
    return code == cudaSuccess
               ? cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout,
                                      cudaSharedmemCarveoutMaxShared)
               : code;
}

template <class S> cudaError_t preload_all()
{
    cudaError_t code = cudaSuccess;

    for (const Kernel kernel : {panel_mm<S, false, true>, panel_mm<S, false, false>,
                                panel_mm<S, true, true>, panel_mm<S, true, false>}) {
        code = code == cudaSuccess ? preload_one(kernel, S::kBytes) : code;
    }
    return code;
}

} // namespace
} // namespace spmmi

extern "C" cudaError_t spmmi_cuda_panel_preload(void)
{
    using namespace spmmi;
    const cudaError_t code = preload_all<Shape>();

    return code == cudaSuccess ? preload_all<Half>() : code;
}

extern "C" cudaError_t spmmi_cuda_panel_mm(const spmm_panel_arrays_t *A, int n_sm,
                                           const spmm_tc_mm_args_t *args, cudaStream_t stream)
{
    using namespace spmmi;

    if (A->n_rows <= 0 || args->x.n <= 0) {
        return cudaSuccess;
    }
    switch (args->compute) {
    case SPMM_COMPUTE_32F:
        return launch_mm<true>(*A, n_sm, *args, stream);
    case SPMM_COMPUTE_32F_FAST_TF32:
        return launch_mm<false>(*A, n_sm, *args, stream);
    default:
        return cudaErrorInvalidValue;
    }
}
