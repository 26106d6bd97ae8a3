/* SPDX-License-Identifier: Apache-2.0 */
/** @file rows_add.cu
 *  Add rows into a dense block: partial rows that peers sent back, or a product of the non-empty
 *  rows of A.  Sums are in the accumulator type and rounded to C's once; no atomics, so results
 *  are the same from run to run.
 */
#include "cuda/dense/rows.cuh"

namespace spmmi
{
namespace
{

/* Row-major: V neighbouring columns of one destination row per thread, summed in the order of k. */
template <typename A, typename D, int V>
__global__ void __launch_bounds__(kBlock) add_rows(const spmm_scatter_add_args_t args)
{
    const Pack<A, V> *src   = (const Pack<A, V> *)args.src;
    Pack<D, V>       *dst   = (Pack<D, V> *)args.dst;
    const int64_t     width = args.n / V;
    const int64_t     ld    = args.ld_dst / V;
    const int64_t     step  = int64_t(gridDim.x) * blockDim.y;
    const A           alpha = Factor<A>::of(args.alpha);

    for (int64_t u = int64_t(blockIdx.x) * blockDim.y + threadIdx.y; u < args.n_rows; u += step) {
        const int32_t first = args.ptr[u], last = args.ptr[u + 1];

        for (int64_t j = threadIdx.x; j < width; j += blockDim.x) {
            Pack<D, V> *at     = dst + int64_t(args.row[u]) * ld + j;
            Pack<D, V>  out    = *at;
            A           sum[V] = {};

            for (int32_t k = first; k < last; k++) {
                const Pack<A, V> part = src[int64_t(args.pos[k]) * width + j];

#pragma unroll
                for (int v = 0; v < V; v++) {
                    sum[v] += part.at[v];
                }
            }
#pragma unroll
            for (int v = 0; v < V; v++) {
                out.at[v] = Narrow<D>::from(fma(alpha, sum[v], widen<A>(out.at[v])));
            }
            *at = out;
        }
    }
}

/* Column-major: the destination turns through shared memory on its way in and out, so that src is
 * read along its rows and dst is accessed along its columns. */
template <typename A, typename D>
__global__ void __launch_bounds__(kTile *kTileY) add_columns(const spmm_scatter_add_args_t args)
{
    __shared__ A  tile[kTile][kTile + 1];
    const A      *src   = (const A *)args.src;
    D            *dst   = (D *)args.dst;
    const int64_t u0    = int64_t(blockIdx.x) * kTile;
    const int64_t u     = u0 + threadIdx.x; /* row of this lane when it runs along dst */
    const int64_t to    = u < args.n_rows ? args.row[u] : 0;
    const A       alpha = Factor<A>::of(args.alpha);

    for (int64_t j0 = int64_t(blockIdx.y) * kTile; j0 < args.n; j0 += int64_t(gridDim.y) * kTile) {
        const int64_t j = j0 + threadIdx.x; /* column of this lane when it runs along src */

        for (int y = threadIdx.y; y < kTile; y += kTileY) {
            if (u < args.n_rows && j0 + y < args.n) {
                tile[threadIdx.x][y] = widen<A>(dst[to + (j0 + y) * args.ld_dst]);
            }
        }
        __syncthreads();
        for (int y = threadIdx.y; y < kTile; y += kTileY) {
            if (u0 + y < args.n_rows && j < args.n) {
                A sum = {};

                for (int32_t k = args.ptr[u0 + y]; k < args.ptr[u0 + y + 1]; k++) {
                    sum += src[int64_t(args.pos[k]) * args.n + j];
                }
                tile[y][threadIdx.x] = fma(alpha, sum, tile[y][threadIdx.x]);
            }
        }
        __syncthreads();
        for (int y = threadIdx.y; y < kTile; y += kTileY) {
            if (u < args.n_rows && j0 + y < args.n) {
                dst[to + (j0 + y) * args.ld_dst] = Narrow<D>::from(tile[threadIdx.x][y]);
            }
        }
        __syncthreads(); /* the next tile of this block overwrites */
    }
}

/* C = sum + beta * C, V elements along the contiguous direction of C per thread.  kByRow: that is
 * along a row (row-major); else over rows (column-major, V = 1). */
template <typename A, typename D, int V, bool kByRow>
__global__ void __launch_bounds__(kBlock) merge(const spmm_merge_args_t args)
{
    const A       beta  = Factor<A>::of(args.beta);
    const int64_t inner = (kByRow ? args.n : args.n_rows) / V;
    const int64_t outer = kByRow ? args.n_rows : args.n;
    const int64_t step  = int64_t(gridDim.x) * blockDim.y;

    for (int64_t o = int64_t(blockIdx.x) * blockDim.y + threadIdx.y; o < outer; o += step) {
        for (int64_t i = threadIdx.x + int64_t(blockIdx.y) * blockDim.x; i < inner;
             i += int64_t(blockDim.x) * gridDim.y) {
            const int64_t     row = kByRow ? o : i;
            const int64_t     to  = args.row_map == nullptr ? row : int64_t(args.row_map[row]);
            const int64_t     at  = kByRow ? to * args.ldc + i * V : to + o * args.ldc;
            Pack<D, V>       *c   = (Pack<D, V> *)((D *)args.C + at);
            const Pack<A, V> *s   = (const Pack<A, V> *)((const A *)args.sum + o * args.ld_sum) + i;
            Pack<A, V>        sum = {};
            Pack<D, V>        out;

            if (args.sum != nullptr) {
                sum = *s;
            }
            if (!is_zero(args.beta)) {
                out = *c;
#pragma unroll
                for (int v = 0; v < V; v++) {
                    sum.at[v] += beta * widen<A>(out.at[v]);
                }
            }
#pragma unroll
            for (int v = 0; v < V; v++) {
                out.at[v] = Narrow<D>::from(sum.at[v]);
            }
            *c = out;
        }
    }
}

/* Columns per access: 16 bytes of the accumulator, when every row starts aligned. */
template <typename A, typename D>
bool wide_rows(const void *src, int64_t ld_src, const void *dst, int64_t ld_dst, int64_t n)
{
    constexpr int V = 16 / (int)sizeof(A);

    return fits(src, 16) && fits(dst, int64_t(V * sizeof(D))) && fits(n, V) && fits(ld_src, V) &&
           fits(ld_dst, V);
}

template <typename A, typename D>
cudaError_t launch_add(const spmm_scatter_add_args_t &args, cudaStream_t stream)
{
    constexpr int V = 16 / (int)sizeof(A);

    if (args.dst_layout == SPMM_LAYOUT_ROW) {
        const bool wide  = wide_rows<A, D>(args.src, args.n, args.dst, args.ld_dst, args.n);
        const dim3 block = row_block(wide ? args.n / V : args.n);
        const dim3 grid((unsigned)least(ceil_div(args.n_rows, block.y), kMaxGridX));

        return launch(wide ? add_rows<A, D, V> : add_rows<A, D, 1>, grid, block, stream, args);
    }
    const dim3 grid((unsigned)ceil_div(args.n_rows, kTile),
                    (unsigned)least(ceil_div(args.n, kTile), kMaxGridYZ));

    return launch(add_columns<A, D>, grid, dim3(kTile, kTileY), stream, args);
}

template <typename A, typename D>
cudaError_t launch_merge(const spmm_merge_args_t &args, cudaStream_t stream)
{
    constexpr int V = 16 / (int)sizeof(A);

    if (args.layout == SPMM_LAYOUT_ROW) {
        const bool wide  = wide_rows<A, D>(args.sum, args.ld_sum, args.C, args.ldc, args.n);
        const dim3 block = row_block(wide ? args.n / V : args.n);
        const dim3 grid((unsigned)least(ceil_div(args.n_rows, block.y), kMaxGridX));

        return launch(wide ? merge<A, D, V, true> : merge<A, D, 1, true>, grid, block, stream,
                      args);
    }
    /* A column per block along x; its rows are shared by the blocks along y. */
    const dim3 grid((unsigned)least(args.n, kMaxGridX),
                    (unsigned)least(ceil_div(args.n_rows, kBlock), kMaxGridYZ));

    return launch(merge<A, D, 1, false>, grid, dim3(kBlock), stream, args);
}

template <typename A> cudaError_t add_into(const spmm_scatter_add_args_t &args, cudaStream_t stream)
{
    switch (args.dst_type) {
    case SPMM_R_64F:
        return launch_add<A, double>(args, stream);
    case SPMM_R_32F:
        return launch_add<A, float>(args, stream);
    case SPMM_R_16F:
        return launch_add<A, __half>(args, stream);
    case SPMM_R_16BF:
        return launch_add<A, __nv_bfloat16>(args, stream);
    default:
        return cudaErrorInvalidValue;
    }
}

template <typename A> cudaError_t merge_into(const spmm_merge_args_t &args, cudaStream_t stream)
{
    switch (args.c_type) {
    case SPMM_R_64F:
        return launch_merge<A, double>(args, stream);
    case SPMM_R_32F:
        return launch_merge<A, float>(args, stream);
    case SPMM_R_16F:
        return launch_merge<A, __half>(args, stream);
    case SPMM_R_16BF:
        return launch_merge<A, __nv_bfloat16>(args, stream);
    default:
        return cudaErrorInvalidValue;
    }
}

template <typename A, typename D> cudaError_t preload_pair()
{
    constexpr int V = 16 / (int)sizeof(A);

    return preload(add_rows<A, D, 1>, add_rows<A, D, V>, add_columns<A, D>, merge<A, D, 1, true>,
                   merge<A, D, V, true>, merge<A, D, 1, false>);
}

} // namespace

/* The pairs that the library uses: C and its accumulator. */
cudaError_t preload_add()
{
    cudaError_t code = preload_pair<double, double>();

    if (code == cudaSuccess) {
        code = preload_pair<Complex<double>, Complex<double>>();
    }
    if (code == cudaSuccess) {
        code = preload_pair<Complex<float>, Complex<float>>();
    }
    if (code == cudaSuccess) {
        code = preload_pair<float, float>();
    }
    if (code == cudaSuccess) {
        code = preload_pair<float, __half>();
    }
    return code == cudaSuccess ? preload_pair<float, __nv_bfloat16>() : code;
}

} // namespace spmmi

using spmmi::Complex;

extern "C" cudaError_t spmmi_cuda_scatter_add_rows(const spmm_scatter_add_args_t *args,
                                                   cudaStream_t                   stream)
{
    if (args->n_rows <= 0 || args->n <= 0) {
        return cudaSuccess;
    }
    switch (args->src_type) {
    case SPMM_C_64F:
        return spmmi::launch_add<Complex<double>, Complex<double>>(*args, stream);
    case SPMM_C_32F:
        return spmmi::launch_add<Complex<float>, Complex<float>>(*args, stream);
    case SPMM_R_64F:
        return spmmi::add_into<double>(*args, stream);
    default:
        return spmmi::add_into<float>(*args, stream);
    }
}

extern "C" cudaError_t spmmi_cuda_merge_rows(const spmm_merge_args_t *args, cudaStream_t stream)
{
    if (args->n_rows <= 0 || args->n <= 0) {
        return cudaSuccess;
    }
    switch (args->sum_type) {
    case SPMM_C_64F:
        return spmmi::launch_merge<Complex<double>, Complex<double>>(*args, stream);
    case SPMM_C_32F:
        return spmmi::launch_merge<Complex<float>, Complex<float>>(*args, stream);
    case SPMM_R_64F:
        return spmmi::merge_into<double>(*args, stream);
    default:
        return spmmi::merge_into<float>(*args, stream);
    }
}
