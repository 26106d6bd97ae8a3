/* SPDX-License-Identifier: Apache-2.0 */
/** @file sddmm_rectangles.cu
 *  Launchers of sddmm_rectangles.cuh, and what runs for rows that tensor maps do not take: a kernel
 *  that reads element by element.
 */
#include "cuda/sddmm/sddmm_rectangles.cuh"

namespace spmmi
{
namespace
{

/* A thread block for a rectangle, rows of X and Y at any address. */
template <typename T, typename Out>
__global__ void __launch_bounds__(kWarps *kWarp)
    sddmm_rectangles_plain(spmm_sddmm_rectangles_t mask, spmm_sddmm_args_t args)
{
    using S          = typename Word<T>::Sum;
    const int4 range = range_at(mask, blockIdx.x);
    const Task task  = task_at(mask, range, true);
    const int  i     = range.x + task.row;

    for (int e = 0; e < task.count; e++) {
        const int      col = __ldg(mask.col + (int64_t)(range.z + threadIdx.x) * kMost + e);
        const T *const x =
            (const T *)args.X + (mask.row_map == NULL ? i : __ldg(mask.row_map + i)) * args.ldx;
        const T *const y   = (const T *)args.Y + (range.y + col) * args.ldy;
        S              sum = 0;

        for (int64_t j = 0; j < args.k; j++) {
            sum = fma(widen<S>(x[j]), widen<S>(y[j]), sum);
        }
        store<Out>(args, (int64_t)task.place + e, sum);
    }
}

/* Boxes that cover so many rows. */
int boxes_of(int rows)
{
    return (rows + SPMM_SDDMM_BOX - 1) / SPMM_SDDMM_BOX;
}

Layout layout_of(const spmm_sddmm_rectangles_t &mask, int64_t k, int elems)
{
    Layout layout;

    layout.boxes_x = boxes_of(mask.rows);
    layout.boxes_y = boxes_of(mask.cols);
    layout.rows_x  = (int)ceil_div(mask.rows, layout.boxes_x);
    layout.rows_y  = (int)ceil_div(mask.cols, layout.boxes_y);
    layout.slices  = (int)ceil_div(k, elems);
    layout.stages  = (int)least(kForStages / layout.bytes(), kStages);
    return layout;
}

template <typename T, typename Out>
bool is_wide(const spmm_sddmm_rectangles_t &mask, const spmm_sddmm_args_t &args)
{
    constexpr int64_t kSize = (int64_t)sizeof(T);
    bool              waits = false;

    return spmmi_sddmm_holds_rectangles(args.cc) && mask.row_map == NULL && fits(args.X, 16) &&
           fits(args.Y, 16) && fits(args.ldx * kSize, 16) && fits(args.ldy * kSize, 16) &&
           args.k <= INT32_MAX - kLine &&
           waits_itself((const void *)sddmm_rectangles<T, Out>, &waits) == cudaSuccess && waits;
}

template <typename T, typename Out>
cudaError_t run(const spmm_sddmm_rectangles_t &mask, const spmm_sddmm_args_t &args,
                cudaStream_t stream)
{
    constexpr int kSize = (int)sizeof(T), kElems = kLine / kSize;
    CUtensorMap   x, y;

    if (mask.n_rectangles == 0) {
        return cudaSuccess;
    }
    if (is_wide<T, Out>(mask, args)) {
        const Layout layout = layout_of(mask, args.k, kElems);

        if (make_map(args.X, kSize, mask.n_rows, args.k, args.ldx, layout.rows_x, kElems,
                     Words::kStraight, &x) &&
            make_map(args.Y, kSize, mask.n_cols, args.k, args.ldy, layout.rows_y, kElems,
                     Words::kStraight, &y)) {
            return launch_with(kShared, sddmm_rectangles<T, Out>,
                               dim3((unsigned)least(mask.n_rectangles, args.n_sm)), dim3(kThreads),
                               stream, x, y, mask, args, layout);
        }
        *args.no_map = true;
    }
    return launch(sddmm_rectangles_plain<T, Out>, dim3((unsigned)mask.n_rectangles),
                  dim3(kWarps * kWarp), stream, mask, args);
}

template <typename T, typename Out> cudaError_t load()
{
    const cudaError_t code = preload(sddmm_rectangles<T, Out>, sddmm_rectangles_plain<T, Out>);

    return code == cudaSuccess ? allow_shared(sddmm_rectangles<T, Out>) : code;
}

} // namespace
} // namespace spmmi

extern "C" cudaError_t spmmi_cuda_sddmm_rectangles_preload(void)
{
    using namespace spmmi;
    cudaError_t code = load<double, double>();

    (void)tensor_map_encoder();
    code = code == cudaSuccess ? load<float, float>() : code;
    return code != cudaSuccess ? code : for_all_half_types([](auto types) {
        return load<typename decltype(types)::Half, typename decltype(types)::Out>();
    });
}

extern "C" bool spmmi_cuda_sddmm_rectangles_built(void)
{
    using namespace spmmi;
    bool waits = false;

    return waits_itself((const void *)sddmm_rectangles<float, float>, &waits) == cudaSuccess &&
           waits;
}

extern "C" cudaError_t spmmi_cuda_sddmm_rectangles(const spmm_sddmm_rectangles_t *mask,
                                                   const spmm_sddmm_args_t       *args,
                                                   cudaStream_t                   stream)
{
    using namespace spmmi;
    if (args->type == SPMM_R_32F && args->s_type == SPMM_R_32F) {
        return run<float, float>(*mask, *args, stream);
    }
    if (args->type == SPMM_R_64F && args->s_type == SPMM_R_64F) {
        return run<double, double>(*mask, *args, stream);
    }
    return for_half_types(args->type, args->s_type, [&](auto types) {
        return run<typename decltype(types)::Half, typename decltype(types)::Out>(*mask, *args,
                                                                                  stream);
    });
}
