/* SPDX-License-Identifier: Apache-2.0 */
/** @file panel.cu  The launcher of the kernels on panels. */
#include "cuda/panel/panel.cuh"
#include "cuda/panel/panel.h"

namespace spmmi
{
namespace
{

using Kernel = void (*)(Panel, spmm_tc_work_t, spmm_tc_mm_args_t, bool);

/** A kernel for 16-byte accesses to B, and one for any. */
struct Choice {
    Kernel wide, narrow;
    int    width, threads, room;
};

template <class Shape, bool kSplit> Choice choice()
{
    return {panel_mm<Shape, kSplit, true>, panel_mm<Shape, kSplit, false>, Shape::kWidth,
            Shape::kThreads, Shape::kBytes};
}

constexpr int kWidths = 2;

/** The widest first. */
template <bool kSplit> const Choice (&choices())[kWidths]
{
    static const Choice list[kWidths] = {choice<PanelShape<4, 128, 6, 4>, kSplit>(),
                                         choice<PanelShape<4, 64, 12, 4>, kSplit>()};

    return list;
}

template <bool kSplit>
cudaError_t launch_mm(const spmm_panel_arrays_t &A, const spmm_tc_work_t &work,
                      const spmm_tc_mm_args_t &args, cudaStream_t stream)
{
    const Panel   format = {A.n_rows, A.part, A.piece, A.window_piece, A.col, A.packed};
    const Choice &take   = choices<kSplit>()[args.x.n > 64 ? 0 : 1];
    const int64_t size   = (int64_t)sizeof(float);
    const bool    quad   = args.x.n % 4 == 0;
    const bool    b      = quad && fits(args.x.B, 16) && fits(args.x.ldb * size, 16) &&
                   args.x.ldb * size <= (int64_t)UINT32_MAX;
    const bool c =
        quad && fits(args.x.C, 16) && fits(args.x.ldc * size, 16) && fits(work.partial, 16);
    const int64_t     slices = ceil_div(args.x.n, take.width), y = least(slices, kMaxGridYZ);
    const dim3        grid((unsigned)A.n_parts, (unsigned)y, (unsigned)ceil_div(slices, y));
    const cudaError_t code =
        launch_first(args.x, true, (size_t)take.room, b ? take.wide : take.narrow, grid,
                     dim3((unsigned)take.threads), stream, format, work, args, c);

    return code == cudaSuccess ? launch_finish(format, work, args, stream) : code;
}

template <bool kSplit> cudaError_t preload_all()
{
    cudaError_t code = cudaSuccess;

    for (const Choice &one : choices<kSplit>()) {
        for (const Kernel kernel : {one.wide, one.narrow}) {
            code = code == cudaSuccess ? preload(kernel) : code;
            code = code == cudaSuccess
                       ? cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                              one.room)
                       : code;
            code =
                code == cudaSuccess
                    ? cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout,
                                           cudaSharedmemCarveoutMaxShared)
                    : code;
        }
    }
    return code;
}

} // namespace
} // namespace spmmi

extern "C" cudaError_t spmmi_cuda_panel_preload(void)
{
    using namespace spmmi;
    cudaError_t code = preload(finish_splits<Panel>);

    code = code == cudaSuccess ? preload_all<false>() : code;
    return code == cudaSuccess ? preload_all<true>() : code;
}

extern "C" cudaError_t spmmi_cuda_panel_mm(const spmm_panel_arrays_t *A, const spmm_tc_work_t *work,
                                           const spmm_tc_mm_args_t *args, cudaStream_t stream)
{
    using namespace spmmi;

    if (A->n_rows <= 0 || args->x.n <= 0) {
        return cudaSuccess;
    }
    if (A->height != 4) {
        return cudaErrorInvalidValue;
    }
    switch (args->compute) {
    case SPMM_COMPUTE_32F:
        return launch_mm<true>(*A, *work, *args, stream);
    case SPMM_COMPUTE_32F_FAST_TF32:
        return launch_mm<false>(*A, *work, *args, stream);
    default:
        return cudaErrorInvalidValue;
    }
}
