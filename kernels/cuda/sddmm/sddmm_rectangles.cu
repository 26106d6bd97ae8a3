/* SPDX-License-Identifier: Apache-2.0 */
/** @file sddmm_rectangles.cu
 *  Launchers of sddmm_rectangles.cuh and sddmm_rectangles_half.cuh, and what runs for rows that
 *  tensor maps do not take: kernels that read element by element.
 */
#include "cuda/sddmm/sddmm_rectangles_half.cuh"

namespace spmmi
{
namespace
{

constexpr int kPlain = 256; /* threads of a block that has a rectangle */

/* Row @p i and column @p j of the mask. */
template <typename T, typename Out, typename S>
__device__ __forceinline__ void put(const spmm_sddmm_rectangles_t &mask,
                                    const spmm_sddmm_args_t &args, int i, int j, int64_t place)
{
    const T *const x =
        (const T *)args.X + (mask.row_map == NULL ? i : __ldg(mask.row_map + i)) * args.ldx;
    const T *const y   = (const T *)args.Y + j * args.ldy;
    S              sum = 0;

    for (int64_t k = 0; k < args.k; k++) {
        sum = fma(widen<S>(x[k]), widen<S>(y[k]), sum);
    }
    store<Out>(args, place, sum);
}

template <typename T>
__global__ void __launch_bounds__(kPlain)
    plain_tasks(spmm_sddmm_rectangles_t mask, spmm_sddmm_args_t args)
{
    const int4 range = range_at(mask, blockIdx.x);

    for (int64_t t = range.z + (int)threadIdx.x; t < range.w; t += kPlain) {
        const int what = __ldg(mask.task + 2 * t), place = __ldg(mask.task + 2 * t + 1);

        for (int e = 0; e < what >> 16; e++) {
            put<T, T, T>(mask, args, range.x + (what & 0xffff),
                         range.y + __ldg(mask.col + t * kMost + e), (int64_t)place + e);
        }
    }
}

template <typename Half, typename Out>
__global__ void __launch_bounds__(kPlain)
    plain_batches(spmm_sddmm_rectangles_t mask, spmm_sddmm_args_t args)
{
    constexpr int64_t kSize = SPMM_SDDMM_BATCH;
    const int4        range = range_at(mask, blockIdx.x);

    for (int64_t at = range.z * kSize + threadIdx.x; at < range.w * kSize; at += kPlain) {
        const int entry = __ldg(mask.entry + at), place = __ldg(mask.place + at);

        if (place >= 0) {
            const int row = __ldg(mask.row + at / kSize * SPMM_SDDMM_BATCH_ROWS + (entry >> 16));

            put<Half, Out, float>(mask, args, range.x + row, range.y + (entry & 0xffff), place);
        }
    }
}

using Kernel = void (*)(CUtensorMap, CUtensorMap, spmm_sddmm_rectangles_t, spmm_sddmm_args_t,
                        Layout);

/* Boxes that cover so many rows. */
int boxes_of(int rows)
{
    return (rows + SPMM_SDDMM_BOX - 1) / SPMM_SDDMM_BOX;
}

Layout layout_of(const spmm_sddmm_rectangles_t &mask, int64_t k, int elems, int room)
{
    Layout layout;

    layout.boxes_x = boxes_of(mask.rows);
    layout.boxes_y = boxes_of(mask.cols);
    layout.rows_x  = (int)ceil_div(mask.rows, layout.boxes_x);
    layout.rows_y  = (int)ceil_div(mask.cols, layout.boxes_y);
    layout.slices  = (int)ceil_div(k, elems);
    layout.stages  = (int)least(room / layout.bytes(), kStages);
    return layout;
}

bool is_wide(const spmm_sddmm_rectangles_t &mask, const spmm_sddmm_args_t &args, int64_t size,
             Kernel kernel)
{
    bool waits = false;

    return spmmi_sddmm_holds_rectangles(args.cc) && mask.row_map == NULL && fits(args.X, 16) &&
           fits(args.Y, 16) && fits(args.ldx * size, 16) && fits(args.ldy * size, 16) &&
           args.k <= INT32_MAX - kLine &&
           waits_itself((const void *)kernel, &waits) == cudaSuccess && waits;
}

/* @p room: bytes for stages; @p plain: for other rows. */
cudaError_t run(const spmm_sddmm_rectangles_t &mask, const spmm_sddmm_args_t &args,
                cudaStream_t stream, int size, Kernel kernel, int threads, int room,
                void (*plain)(spmm_sddmm_rectangles_t, spmm_sddmm_args_t))
{
    const int   elems = kLine / size;
    CUtensorMap x, y;

    if (mask.n_rectangles == 0) {
        return cudaSuccess;
    }
    if (is_wide(mask, args, size, kernel)) {
        const Layout layout = layout_of(mask, args.k, elems, room);

        if (make_map(args.X, size, mask.n_rows, args.k, args.ldx, layout.rows_x, elems,
                     Words::kStraight, &x) &&
            make_map(args.Y, size, mask.n_cols, args.k, args.ldy, layout.rows_y, elems,
                     Words::kStraight, &y)) {
            return launch_with(kShared, kernel, dim3((unsigned)least(mask.n_rectangles, args.n_sm)),
                               dim3((unsigned)threads), stream, x, y, mask, args, layout);
        }
        *args.no_map = true;
    }
    return launch(plain, dim3((unsigned)mask.n_rectangles), dim3(kPlain), stream, mask, args);
}

template <typename T>
cudaError_t run(const spmm_sddmm_rectangles_t &mask, const spmm_sddmm_args_t &args,
                cudaStream_t stream)
{
    return run(mask, args, stream, sizeof(T), sddmm_rectangles<T>, kThreads, kForStages,
               plain_tasks<T>);
}

template <class Main, class Plain> cudaError_t load(Main *kernel, Plain *plain)
{
    const cudaError_t code = preload(kernel, plain);

    return code == cudaSuccess ? allow_shared(kernel) : code;
}

} // namespace
} // namespace spmmi

extern "C" cudaError_t spmmi_cuda_sddmm_rectangles_preload(void)
{
    using namespace spmmi;
    cudaError_t code = load(sddmm_rectangles<double>, plain_tasks<double>);

    (void)tensor_map_encoder();
    code = code == cudaSuccess ? load(sddmm_rectangles<float>, plain_tasks<float>) : code;
    return code != cudaSuccess ? code : for_all_half_types([](auto types) {
        using Types = decltype(types);

        return load(sddmm_rectangles_half<typename Types::Half, typename Types::Out>,
                    plain_batches<typename Types::Half, typename Types::Out>);
    });
}

extern "C" cudaError_t spmmi_cuda_sddmm_rectangles(const spmm_sddmm_rectangles_t *mask,
                                                   const spmm_sddmm_args_t       *args,
                                                   cudaStream_t                   stream)
{
    using namespace spmmi;
    if (args->type == SPMM_R_32F && args->s_type == SPMM_R_32F) {
        return run<float>(*mask, *args, stream);
    }
    if (args->type == SPMM_R_64F && args->s_type == SPMM_R_64F) {
        return run<double>(*mask, *args, stream);
    }
    return for_half_types(args->type, args->s_type, [&](auto types) {
        using Half = typename decltype(types)::Half;
        using Out  = typename decltype(types)::Out;

        return run(*mask, *args, stream, sizeof(Half), sddmm_rectangles_half<Half, Out>,
                   kHalfThreads, kForHalf, plain_batches<Half, Out>);
    });
}
