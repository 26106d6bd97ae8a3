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

/* x + beta * C at *to, rounded once: which of the kernels stores does not show. */
template <typename A, typename D>
__device__ __forceinline__ void store(D *to, A x, bool reads, A beta)
{
    *to = Narrow<D>::from(reads ? fma(beta, widen<A>(*to), x) : x);
}

/* A tile turns in shared memory: lanes run along the columns of src, then along the rows of C. */
template <typename A, typename D, int kCols>
__global__ void __launch_bounds__(kBlock) store_tiles(const spmm_store_args_t args)
{
    using Tile = TurnTile<A, kCols>;
    __shared__ A  tile[kCols][Tile::kRows + 1]; /* padded against bank conflicts */
    const A      *src   = (const A *)args.src;
    D            *dst   = (D *)args.dst;
    const A       beta  = Factor<A>::of(args.beta);
    const bool    reads = !is_zero(args.beta);
    const int64_t i0    = int64_t(blockIdx.x) * Tile::kRows;

    wait_for_earlier();
    let_next_begin();

    for (int64_t j0 = int64_t(blockIdx.y) * kCols; j0 < args.n; j0 += int64_t(gridDim.y) * kCols) {
        A x[Tile::kEach];

#pragma unroll
        for (int k = 0; k < Tile::kEach; k++) {
            const int64_t i = i0 + Tile::row_across(k), j = j0 + Tile::col_across(k);

            if (i < args.n_rows && j < args.n) {
                x[k] = src[i * args.n + j];
            }
        }
#pragma unroll
        for (int k = 0; k < Tile::kEach; k++) {
            tile[Tile::col_across(k)][Tile::row_across(k)] = x[k];
        }
        __syncthreads();
#pragma unroll
        for (int k = 0; k < Tile::kEach; k++) {
            const int     r = Tile::row_down(k), c = Tile::col_down(k);
            const int64_t i = i0 + r, j = j0 + c;

            if (i < args.n_rows && j < args.n) {
                store(dst + i + j * args.ld_dst, tile[c][r], reads, beta);
            }
        }
        __syncthreads(); /* the next tile of this block overwrites */
    }
}

/* The same of FP32 in packs. */
template <int kCols, int kEach>
__global__ void __launch_bounds__(kPackBlock) store_packs(const spmm_store_args_t args)
{
    using Tile  = TurnPacks<kCols, kEach>;
    using Packs = typename Tile::Packs;
    __shared__ Tile tile;
    const unsigned *src   = (const unsigned *)args.src;
    float          *dst   = (float *)args.dst;
    const float     beta  = Factor<float>::of(args.beta);
    const bool      reads = !is_zero(args.beta);
    const int64_t   i0 = int64_t(blockIdx.x) * Tile::kRows, j0 = int64_t(blockIdx.y) * kCols;
    Packs           x[kEach];

    wait_for_earlier();
    let_next_begin();
#pragma unroll
    for (int k = 0; k < kEach; k++) {
        const int64_t i = i0 + Tile::row_across(k), j = j0 + Tile::col_across(k);

        if (i < args.n_rows && j < args.n) {
            x[k] = *(const Packs *)(src + i * args.n + j);
        }
    }
#pragma unroll
    for (int k = 0; k < kEach; k++) {
#pragma unroll
        for (int e = 0; e < Tile::kVector; e++) {
            tile.element(Tile::row_across(k), Tile::col_across(k) + e) = x[k].at[e];
        }
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < kEach; k++) {
        const int     down = Tile::pack_down(k), c = Tile::col_down(k);
        const int64_t i = i0 + down * Tile::kVector, j = j0 + c;
        const Packs   word = tile.pack(c, down);
        float4        y    = *(const float4 *)&word;
        float        *to   = dst + i + j * args.ld_dst;

        if (j < args.n && i + Tile::kVector <= args.n_rows) {
            if (reads) {
                const float4 old = *(const float4 *)to;

                y = {fma(beta, old.x, y.x), fma(beta, old.y, y.y), fma(beta, old.z, y.z),
                     fma(beta, old.w, y.w)};
            }
            *(float4 *)to = y;
        } else {
            for (int e = 0; j < args.n && i + e < args.n_rows; e++) {
                store(to + e, __uint_as_float(word.at[e]), reads, beta);
            }
        }
    }
}

template <typename A, typename D, int kCols>
cudaError_t launch_tiles(const spmm_store_args_t &args, cudaStream_t stream)
{
    /* At most 2^26 blocks along x: there are less than 2^31 rows. */
    const dim3 grid((unsigned)ceil_div(args.n_rows, TurnTile<A, kCols>::kRows),
                    (unsigned)least(ceil_div(args.n, kCols), kMaxGridYZ));

    return launch_early(0, store_tiles<A, D, kCols>, grid, dim3(kBlock), stream, args);
}

template <typename A, typename D>
cudaError_t launch_store(const spmm_store_args_t &args, cudaStream_t stream)
{
    return args.n <= kTile / 8   ? launch_tiles<A, D, kTile / 8>(args, stream)
           : args.n <= kTile / 4 ? launch_tiles<A, D, kTile / 4>(args, stream)
           : args.n <= kTile / 2 ? launch_tiles<A, D, kTile / 2>(args, stream)
                                 : launch_tiles<A, D, kTile>(args, stream);
}

template <int kCols, int kEach>
cudaError_t launch_packs(const spmm_store_args_t &args, cudaStream_t stream)
{
    const dim3 grid((unsigned)ceil_div(args.n_rows, TurnPacks<kCols, kEach>::kRows),
                    (unsigned)ceil_div(args.n, kCols));

    return launch_early(0, store_packs<kCols, kEach>, grid, dim3(kPackBlock), stream, args);
}

bool takes_packs(const spmm_store_args_t &args)
{
    return fits(args.src, 16) && fits(args.dst, 16) && fits(args.n, 4) && fits(args.ld_dst, 4) &&
           ceil_div(args.n, kTile) <= kMaxGridYZ;
}

cudaError_t launch_packs(const spmm_store_args_t &args, cudaStream_t stream)
{
    return args.n <= kTile / 4   ? launch_packs<kTile / 4, 2>(args, stream)
           : args.n <= kTile / 2 ? launch_packs<kTile / 2, 2>(args, stream)
                                 : launch_packs<kTile, 4>(args, stream);
}

template <typename A, typename D> cudaError_t preload_of()
{
    return preload(store_tiles<A, D, kTile>, store_tiles<A, D, kTile / 2>,
                   store_tiles<A, D, kTile / 4>, store_tiles<A, D, kTile / 8>);
}

} // namespace

cudaError_t preload_store()
{
    cudaError_t (*const load[])() = {preload_of<double, double>,
                                     preload_of<float, float>,
                                     preload_of<float, __half>,
                                     preload_of<float, __nv_bfloat16>,
                                     preload_of<Complex<double>, Complex<double>>,
                                     preload_of<Complex<float>, Complex<float>>};
    cudaError_t code              = cudaSuccess;

    for (size_t k = 0; k < sizeof load / sizeof *load && code == cudaSuccess; k++) {
        code = load[k]();
    }
    return code == cudaSuccess ? preload(store_packs<kTile, 4>, store_packs<kTile / 2, 2>,
                                         store_packs<kTile / 4, 2>)
                               : code;
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
        return spmmi::takes_packs(*args) ? spmmi::launch_packs(*args, stream)
                                         : spmmi::launch_store<float, float>(*args, stream);
    case SPMM_R_16F:
        return spmmi::launch_store<float, __half>(*args, stream);
    case SPMM_R_16BF:
        return spmmi::launch_store<float, __nv_bfloat16>(*args, stream);
    default:
        return cudaErrorInvalidValue;
    }
}
