/* SPDX-License-Identifier: Apache-2.0 */
/** @file transpose.cu
 *  A row-major product into column-major C.  Bound by memory: both sides are accessed in full
 *  sectors, C is read only where beta asks for it.
 */
#include "cuda/dense/rows.cuh"

namespace spmmi
{
namespace
{

/* x + beta * C at *to, rounded once. */
template <typename A, typename D>
__device__ __forceinline__ void store(D *to, A x, bool reads, A beta)
{
    *to = Narrow<D>::from(reads ? x + beta * widen<A>(*to) : x);
}

/* Few columns: a thread per row, neighbours in C; a warp covers whole sectors of src within
 * kNarrow accesses. */
template <typename A, typename D>
__global__ void __launch_bounds__(kBlock) store_narrow(const spmm_store_args_t args)
{
    const D      *src   = (const D *)args.src;
    D            *dst   = (D *)args.dst;
    const int     n     = (int)args.n;
    const A       beta  = Factor<A>::of(args.beta);
    const bool    reads = !is_zero(args.beta);
    const int64_t step  = int64_t(gridDim.x) * blockDim.x;

    for (int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x; i < args.n_rows; i += step) {
#pragma unroll 4
        for (int j = 0; j < n; j++) {
            store(dst + i + j * args.ld_dst, widen<A>(src[i * n + j]), reads, beta);
        }
    }
}

/* A tile turns in shared memory: lanes run along the columns of src, then along the rows of C. */
template <typename A, typename D>
__global__ void __launch_bounds__(kTile *kTileY) store_tiles(const spmm_store_args_t args)
{
    __shared__ A  tile[kTile][kTile + 1]; /* [row][column], padded against bank conflicts */
    const D      *src   = (const D *)args.src;
    D            *dst   = (D *)args.dst;
    const A       beta  = Factor<A>::of(args.beta);
    const bool    reads = !is_zero(args.beta);
    const int64_t i0    = int64_t(blockIdx.x) * kTile;
    const int64_t i     = i0 + threadIdx.x;

    for (int64_t j0 = int64_t(blockIdx.y) * kTile; j0 < args.n; j0 += int64_t(gridDim.y) * kTile) {
        const int64_t j = j0 + threadIdx.x;

#pragma unroll
        for (int y = threadIdx.y; y < kTile; y += kTileY) {
            if (i0 + y < args.n_rows && j < args.n) {
                tile[y][threadIdx.x] = widen<A>(src[(i0 + y) * args.n + j]);
            }
        }
        __syncthreads();
#pragma unroll
        for (int y = threadIdx.y; y < kTile; y += kTileY) {
            if (i < args.n_rows && j0 + y < args.n) {
                store(dst + i + (j0 + y) * args.ld_dst, tile[threadIdx.x][y], reads, beta);
            }
        }
        __syncthreads(); /* the next tile of this block overwrites */
    }
}

template <typename A, typename D>
cudaError_t launch_store(const spmm_store_args_t &args, cudaStream_t stream)
{
    if (args.n <= kNarrow) {
        const dim3 grid((unsigned)least(ceil_div(args.n_rows, kBlock), kMaxGridX));

        return launch(store_narrow<A, D>, grid, dim3(kBlock), stream, args);
    }
    /* At most 2^26 blocks along x: there are less than 2^31 rows. */
    const dim3 grid((unsigned)ceil_div(args.n_rows, kTile),
                    (unsigned)least(ceil_div(args.n, kTile), kMaxGridYZ));

    return launch(store_tiles<A, D>, grid, dim3(kTile, kTileY), stream, args);
}

} // namespace

cudaError_t preload_store()
{
    return preload(
        store_narrow<double, double>, store_narrow<float, float>, store_narrow<float, __half>,
        store_narrow<float, __nv_bfloat16>, store_narrow<Complex<double>, Complex<double>>,
        store_narrow<Complex<float>, Complex<float>>, store_tiles<Complex<double>, Complex<double>>,
        store_tiles<Complex<float>, Complex<float>>, store_tiles<double, double>,
        store_tiles<float, float>, store_tiles<float, __half>, store_tiles<float, __nv_bfloat16>);
}

} // namespace spmmi

using spmmi::Complex;

extern "C" cudaError_t spmmi_cuda_store_columns(const spmm_store_args_t *args, cudaStream_t stream)
{
    if (args->n_rows <= 0 || args->n <= 0) {
        return cudaSuccess;
    }
    switch (args->type) {
    case SPMM_C_64F:
        return spmmi::launch_store<Complex<double>, Complex<double>>(*args, stream);
    case SPMM_C_32F:
        return spmmi::launch_store<Complex<float>, Complex<float>>(*args, stream);
    case SPMM_R_64F:
        return spmmi::launch_store<double, double>(*args, stream);
    case SPMM_R_32F:
        return spmmi::launch_store<float, float>(*args, stream);
    case SPMM_R_16F:
        return spmmi::launch_store<float, __half>(*args, stream);
    case SPMM_R_16BF:
        return spmmi::launch_store<float, __nv_bfloat16>(*args, stream);
    default:
        return cudaErrorInvalidValue;
    }
}
