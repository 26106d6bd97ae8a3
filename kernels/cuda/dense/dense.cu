/* SPDX-License-Identifier: Apache-2.0 */
/** @file dense.cu
 *  What engine dense does beside the product of cuBLASLt.  That multiplies the zeros of places
 *  without an entry, too, and makes NaN where B is not finite: such elements of C are computed
 *  again from the entries.
 */
#include "cuda/dense/dense.h"
#include "cuda/dense/rows.cuh"

namespace spmmi
{
namespace
{

constexpr int kWarps = kBlock / kWarp;
constexpr int kDepth = 8; /* loads of a thread on their way */
constexpr int kTall  = kWarps * kDepth;
constexpr int kPacks = 4; /* of 16 bytes, for each thread */

/** Stays 0 as long as all that is added up is finite. */
template <typename A> __device__ __forceinline__ A taint(A x, A so_far)
{
    return fma(x, (A)0, so_far);
}

template <typename U>
__global__ void __launch_bounds__(kBlock) scatter(spmm_dense_args_t A, const U *values)
{
    const int lane = (int)threadIdx.x % kWarp;

    for (int64_t i = (int64_t)blockIdx.x * kWarps + threadIdx.x / kWarp; i < A.n_rows;
         i += (int64_t)gridDim.x * kWarps) {
        for (int64_t e = (int64_t)A.row_ptr[i] + lane; e < A.row_ptr[i + 1]; e += kWarp) {
            ((U *)A.values)[i * A.ld + A.col[e]] = values[e];
        }
    }
}

/** A thread block looks at a group of columns of B and rows from..to of it. */
template <typename A, typename In>
__device__ __forceinline__ bool is_spoilt(const spmm_operands_t &x, int64_t j0, int64_t from,
                                          int64_t to)
{
    const In *const B    = (const In *)x.B;
    const int       lane = (int)threadIdx.x % kWarp, warp = (int)threadIdx.x / kWarp;
    A               sum = 0;

    if (x.layout == SPMM_LAYOUT_COL) {
        for (int64_t j = j0 + warp; j < j0 + SPMM_DENSE_GROUP && j < x.n; j += kWarps) {
#pragma unroll 4
            for (int64_t k = from + lane; k < to; k += kWarp) {
                sum = taint(widen<A>(B[k + j * x.ldb]), sum);
            }
        }
    } else if (j0 + lane < x.n) {
#pragma unroll 8
        for (int64_t k = from + warp; k < to; k += kWarps) {
            sum = taint(widen<A>(B[k * x.ldb + j0 + lane]), sum);
        }
    }
    return sum != (A)0;
}

template <typename A, typename In>
__global__ void __launch_bounds__(kBlock)
    mark(int64_t n_rows, spmm_operands_t x, spmm_dense_marks_t marks)
{
    const int64_t from = n_rows * blockIdx.y / gridDim.y,
                  to   = n_rows * (blockIdx.y + 1) / gridDim.y;

    if (__syncthreads_or(is_spoilt<A, In>(x, (int64_t)blockIdx.x * SPMM_DENSE_GROUP, from, to)) !=
            0 &&
        threadIdx.x == 0) {
        marks.of[blockIdx.x] = marks.number;
    }
}

/** Element (i, j) of A B. */
template <typename A, typename In>
__device__ __noinline__ A exact(const spmm_dense_args_t &D, const spmm_operands_t &x, int64_t i,
                                int64_t j)
{
    const In *const row = (const In *)D.values + i * D.ld, *const B = (const In *)x.B;
    A sum = 0;

    for (int64_t e = D.row_ptr[i]; e < D.row_ptr[i + 1]; e++) {
        const int64_t k = D.col[e];

        sum = fma(widen<A>(row[k]),
                  widen<A>(x.layout == SPMM_LAYOUT_COL ? B[k + j * x.ldb] : B[k * x.ldb + j]), sum);
    }
    return sum;
}

/** May columns j..j + wide of C hold what is to be computed again? */
__device__ __forceinline__ bool is_marked(const spmm_dense_marks_t &marks, int64_t j, int wide)
{
    bool found = marks.of == nullptr;

    for (int64_t g = j / SPMM_DENSE_GROUP;
         !found && g <= marks.last && g * SPMM_DENSE_GROUP < j + wide; g++) {
        found = marks.of[g] == marks.number;
    }
    return found;
}

/** Elements at..at + count of a C without gaps. */
template <typename A, typename In, typename Out>
__device__ __noinline__ void repair_pack(const spmm_dense_args_t &D, const spmm_operands_t &x,
                                         int64_t at, int count)
{
    for (int64_t k = at; k < at + count; k++) {
        const int64_t out = k / x.ldc, in = k % x.ldc;
        const bool    by_row = x.layout == SPMM_LAYOUT_ROW;

        if (taint(widen<A>(((const Out *)x.C)[k]), (A)0) != (A)0) {
            ((Out *)x.C)[k] = Narrow<Out>::from(
                (A)x.alpha.re * exact<A, In>(D, x, by_row ? out : in, by_row ? in : out));
        }
    }
}

/** Tiles of C: kWarp elements that follow each other, kTall times.  Those of rows along x of the
 *  grid, of columns along y.  Arguments stay where they are, for exact() to read. */
template <typename A, typename In, typename Out>
__global__ void __launch_bounds__(kBlock)
    repair(const __grid_constant__ spmm_dense_args_t D, const __grid_constant__ spmm_operands_t x,
           const __grid_constant__ spmm_dense_marks_t marks)
{
    const bool    by_row = x.layout == SPMM_LAYOUT_ROW;
    const int     lane = (int)threadIdx.x % kWarp, warp = (int)threadIdx.x / kWarp;
    const int     high = by_row ? kTall : kWarp, wide = by_row ? kWarp : kTall;
    const int64_t j0    = (int64_t)blockIdx.y * wide;
    const int64_t outer = by_row ? D.n_rows : x.n;

#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
    if (!is_marked(marks, j0, wide)) {
        return;
    }
    for (int64_t i0 = (int64_t)blockIdx.x * high; i0 < D.n_rows; i0 += (int64_t)gridDim.x * high) {
        const int64_t in    = (by_row ? j0 : i0) + lane;
        const int64_t first = (by_row ? i0 : j0) + warp;
        const bool    there = in < (by_row ? x.n : D.n_rows);
        A             at[kDepth];

#pragma unroll
        for (int k = 0; k < kDepth; k++) {
            const int64_t out = first + k * kWarps;

            at[k] = there && out < outer ? widen<A>(((const Out *)x.C)[out * x.ldc + in]) : (A)0;
        }
#pragma unroll
        for (int k = 0; k < kDepth; k++) {
            const int64_t out = first + k * kWarps;

            if (taint(at[k], (A)0) != (A)0) {
                ((Out *)x.C)[out * x.ldc + in] = Narrow<Out>::from(
                    (A)x.alpha.re * exact<A, In>(D, x, by_row ? out : in, by_row ? in : out));
            }
        }
    }
}

/** The same for a C without gaps, as one long row of packs of 16 bytes. */
template <typename A, typename In, typename Out>
__global__ void __launch_bounds__(kBlock)
    repair_packed(const __grid_constant__ spmm_dense_args_t D,
                  const __grid_constant__ spmm_operands_t x, int64_t count)
{
    constexpr int V     = 16 / (int)sizeof(Out);
    using Row           = Pack<Out, V>;
    const int64_t first = (int64_t)blockIdx.x * kBlock * kPacks + threadIdx.x;
    Row           pack[kPacks];

#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
#pragma unroll
    for (int k = 0; k < kPacks; k++) {
        const int64_t at = first + k * kBlock;

        pack[k] = at < count ? ((const Row *)x.C)[at] : Row{};
    }
#pragma unroll
    for (int k = 0; k < kPacks; k++) {
        A sum = 0;

#pragma unroll
        for (int v = 0; v < V; v++) {
            sum = taint(widen<A>(pack[k].at[v]), sum);
        }
        if (sum != (A)0) {
            repair_pack<A, In, Out>(D, x, (first + k * kBlock) * V, V);
        }
    }
}

template <typename U>
cudaError_t run_scatter(const spmm_dense_args_t &A, const void *values, cudaStream_t stream)
{
    return launch(scatter<U>, dim3((unsigned)ceil_div(A.n_rows, kWarps)), dim3(kBlock), stream, A,
                  (const U *)values);
}

/** Parts of the rows of B: enough blocks to fill the device, and loads to keep them busy. */
constexpr int64_t kBlocks = 264, kPartRows = kTall;

template <typename A, typename In>
cudaError_t run_mark(const spmm_dense_args_t &D, const spmm_operands_t &x,
                     const spmm_dense_marks_t &marks, cudaStream_t stream)
{
    const int64_t groups = ceil_div(x.n, SPMM_DENSE_GROUP);
    const int64_t parts  = least(ceil_div(kBlocks, groups), ceil_div(D.n_cols, kPartRows));

    return launch(mark<A, In>, dim3((unsigned)groups, (unsigned)parts), dim3(kBlock), stream,
                  (int64_t)D.n_cols, x, marks);
}

/** Begins while the product in front of it ends.  Only code for 9.0 and later waits for that
 *  product itself, so that code for 8.0 on a later GPU begins behind it. */
template <typename... Params, typename... Args>
cudaError_t launch_early(void (*kernel)(Params...), dim3 grid, cudaStream_t stream, Args... args)
{
    cudaLaunchAttribute early  = {};
    cudaLaunchConfig_t  config = {};
    cudaFuncAttributes  made   = {};
    const cudaError_t   code   = cudaFuncGetAttributes(&made, kernel);

    if (code != cudaSuccess) {
        return code;
    }
    early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    early.val.programmaticStreamSerializationAllowed = 1;
    config.gridDim                                   = grid;
    config.blockDim                                  = dim3(kBlock);
    config.stream                                    = stream;
    config.attrs                                     = &early;
    config.numAttrs                                  = made.ptxVersion >= 90 ? 1 : 0;
    return cudaLaunchKernelEx(&config, kernel, Params(args)...);
}

template <typename A, typename In, typename Out>
cudaError_t run_repair(const spmm_dense_args_t &D, const spmm_operands_t &x,
                       const spmm_dense_marks_t &marks, cudaStream_t stream)
{
    constexpr int64_t V      = 16 / (int64_t)sizeof(Out);
    const bool        by_row = x.layout == SPMM_LAYOUT_ROW;
    const int64_t     count = D.n_rows * x.n, tall = ceil_div(D.n_rows, by_row ? kTall : kWarp);
    const int64_t     wide   = ceil_div(x.n, by_row ? kWarp : kTall);
    const int64_t     few    = ceil_div(kBlocks, wide); /* most have nothing to do behind marks */
    const int64_t     blocks = ceil_div(count, V * kBlock * kPacks);

    if (marks.of == nullptr && x.ldc == (by_row ? x.n : D.n_rows) && count % V == 0 &&
        fits(x.C, 16) && blocks <= kMaxGridX) {
        return launch_early(repair_packed<A, In, Out>, dim3((unsigned)blocks), stream, D, x,
                            count / V);
    }
    return launch_early(
        repair<A, In, Out>,
        dim3((unsigned)(marks.of == nullptr ? tall : least(tall, few)), (unsigned)wide), stream, D,
        x, marks);
}

template <typename A, typename In, typename Out> cudaError_t preload_types()
{
    return preload(mark<A, In>, repair<A, In, Out>, repair_packed<A, In, Out>);
}

} // namespace
} // namespace spmmi

using namespace spmmi;

extern "C" cudaError_t spmmi_cuda_dense_preload(void)
{
    cudaError_t (*const all[])() = {preload_types<double, double, double>,
                                    preload_types<float, float, float>,
                                    preload_types<float, __half, __half>,
                                    preload_types<float, __half, float>,
                                    preload_types<float, __nv_bfloat16, __nv_bfloat16>,
                                    preload_types<float, __nv_bfloat16, float>};
    cudaError_t code             = preload(scatter<uint16_t>, scatter<uint32_t>, scatter<uint64_t>);

    for (auto *const load : all) {
        code = code == cudaSuccess ? load() : code;
    }
    return code;
}

extern "C" cudaError_t spmmi_cuda_dense_scatter(const spmm_dense_args_t *A, const void *values,
                                                cudaStream_t stream)
{
    if (A->n_rows <= 0) {
        return cudaSuccess;
    }
    switch (A->type) {
    case SPMM_R_64F:
        return run_scatter<uint64_t>(*A, values, stream);
    case SPMM_R_32F:
        return run_scatter<uint32_t>(*A, values, stream);
    case SPMM_R_16F:
    case SPMM_R_16BF:
        return run_scatter<uint16_t>(*A, values, stream);
    default:
        return cudaErrorInvalidValue;
    }
}

extern "C" cudaError_t spmmi_cuda_dense_mark(const spmm_dense_args_t *A, const spmm_operands_t *x,
                                             spmm_dense_marks_t marks, cudaStream_t stream)
{
    if (A->n_cols <= 0 || x->n <= 0) {
        return cudaSuccess;
    }
    switch (A->type) {
    case SPMM_R_64F:
        return run_mark<double, double>(*A, *x, marks, stream);
    case SPMM_R_32F:
        return run_mark<float, float>(*A, *x, marks, stream);
    case SPMM_R_16F:
        return run_mark<float, __half>(*A, *x, marks, stream);
    case SPMM_R_16BF:
        return run_mark<float, __nv_bfloat16>(*A, *x, marks, stream);
    default:
        return cudaErrorInvalidValue;
    }
}

extern "C" cudaError_t spmmi_cuda_dense_repair(const spmm_dense_args_t *A, const spmm_operands_t *x,
                                               spmm_dense_marks_t marks, cudaStream_t stream)
{
    const bool wide = x->c_type == SPMM_R_32F;

    if (A->n_rows <= 0 || x->n <= 0) {
        return cudaSuccess;
    }
    switch (A->type) {
    case SPMM_R_64F:
        return run_repair<double, double, double>(*A, *x, marks, stream);
    case SPMM_R_32F:
        return run_repair<float, float, float>(*A, *x, marks, stream);
    case SPMM_R_16F:
        return wide ? run_repair<float, __half, float>(*A, *x, marks, stream)
                    : run_repair<float, __half, __half>(*A, *x, marks, stream);
    case SPMM_R_16BF:
        return wide ? run_repair<float, __nv_bfloat16, float>(*A, *x, marks, stream)
                    : run_repair<float, __nv_bfloat16, __nv_bfloat16>(*A, *x, marks, stream);
    default:
        return cudaErrorInvalidValue;
    }
}
