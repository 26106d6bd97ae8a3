/* SPDX-License-Identifier: Apache-2.0 */
/** @file rows.cu
 *  Pack rows of a dense block and put them back.  Both are bound by memory: the packed side is
 *  always read or written in full sectors, the other side as far as its layout allows.
 */
#include "cuda/dense/rows.cuh"

namespace spmmi
{
namespace
{

constexpr int64_t kManyAccess = int64_t(1) << 20; /* enough to fill a GPU four times over */

/* Row-major: dst row from src row, in units U of `width` per row.  Packed is the side without an
 * index.  A thread has kRows independent row accesses in flight. */
template <typename U, bool kGather, int kRows>
__global__ void __launch_bounds__(kBlock)
    copy_rows(const U *__restrict__ src, U *__restrict__ dst, const int32_t *__restrict__ row,
              int64_t n_rows, int64_t width, int64_t ld)
{
    const int64_t step = int64_t(gridDim.x) * blockDim.y * kRows;

    for (int64_t first = (int64_t(blockIdx.x) * kRows) * blockDim.y + threadIdx.y; first < n_rows;
         first += step) {
        const U *from[kRows];
        U       *to[kRows];
        bool     live[kRows];

#pragma unroll
        for (int r = 0; r < kRows; r++) {
            const int64_t i = first + int64_t(r) * blockDim.y;

            live[r]         = i < n_rows;
            const int64_t k = !live[r] ? 0 : row == nullptr ? i : int64_t(row[i]);
            from[r]         = src + (kGather ? k * ld : i * width);
            to[r]           = dst + (kGather ? i * width : k * ld);
        }
        for (int64_t j = threadIdx.x; j < width; j += blockDim.x) {
            U unit[kRows];

#pragma unroll
            for (int r = 0; r < kRows; r++) {
                if (live[r]) {
                    unit[r] = from[r][j];
                }
            }
#pragma unroll
            for (int r = 0; r < kRows; r++) {
                if (live[r]) {
                    to[r][j] = unit[r];
                }
            }
        }
    }
}

/* Column-major: a tile turns in shared memory, so that lanes run along the rows on the indexed side
 * (neighbours where rows are consecutive) and along the columns on the packed side.  Narrow tiles
 * are longer: each thread has the same number of accesses in flight. */
template <typename T, int kCols, bool kGather>
__global__ void __launch_bounds__(kBlock)
    turn_tiles(const T *__restrict__ src, T *__restrict__ dst, const int32_t *__restrict__ row,
               int64_t n_rows, int64_t n, int64_t ld)
{
    using Tile = TurnTile<T, kCols>;
    __shared__ T  tile[kCols][Tile::kRows + 1]; /* padded against bank conflicts */
    const int64_t i0 = int64_t(blockIdx.x) * Tile::kRows;

    wait_for_earlier();
    let_next_begin();

    for (int64_t j0 = int64_t(blockIdx.y) * kCols; j0 < n; j0 += int64_t(gridDim.y) * kCols) {
        T x[Tile::kEach];

#pragma unroll
        for (int k = 0; k < Tile::kEach; k++) {
            const int     r = kGather ? Tile::row_down(k) : Tile::row_across(k);
            const int     c = kGather ? Tile::col_down(k) : Tile::col_across(k);
            const int64_t i = i0 + r, j = j0 + c;

            if (i < n_rows && j < n) {
                x[k] =
                    kGather ? src[(row == nullptr ? i : int64_t(row[i])) + j * ld] : src[i * n + j];
            }
        }
#pragma unroll
        for (int k = 0; k < Tile::kEach; k++) {
            tile[kGather ? Tile::col_down(k) : Tile::col_across(k)]
                [kGather ? Tile::row_down(k) : Tile::row_across(k)] = x[k];
        }
        __syncthreads();
#pragma unroll
        for (int k = 0; k < Tile::kEach; k++) {
            const int     r = kGather ? Tile::row_across(k) : Tile::row_down(k);
            const int     c = kGather ? Tile::col_across(k) : Tile::col_down(k);
            const int64_t i = i0 + r, j = j0 + c;

            if (i < n_rows && j < n) {
                if (kGather) {
                    dst[i * n + j] = tile[c][r];
                } else {
                    dst[(row == nullptr ? i : int64_t(row[i])) + j * ld] = tile[c][r];
                }
            }
        }
        __syncthreads(); /* the next tile of this block overwrites */
    }
}

/* Consecutive rows from column-major to row-major, 4-byte elements in packs. */
template <int kCols, int kEach>
__global__ void __launch_bounds__(kPackBlock)
    turn_packs(const unsigned *__restrict__ src, unsigned *__restrict__ dst, int64_t n_rows,
               int64_t n, int64_t ld)
{
    using Tile  = TurnPacks<kCols, kEach>;
    using Packs = typename Tile::Packs;
    __shared__ Tile tile;
    const int64_t   i0 = int64_t(blockIdx.x) * Tile::kRows, j0 = int64_t(blockIdx.y) * kCols;
    Packs           x[kEach];

    wait_for_earlier();
    let_next_begin();
#pragma unroll
    for (int k = 0; k < kEach; k++) {
        const int64_t i = i0 + Tile::pack_down(k) * Tile::kVector, j = j0 + Tile::col_down(k);

        if (j < n && i + Tile::kVector <= n_rows) {
            x[k] = *(const Packs *)(src + i + j * ld);
        } else {
            for (int e = 0; j < n && e < Tile::kVector && i + e < n_rows; e++) {
                x[k].at[e] = src[i + e + j * ld];
            }
        }
    }
#pragma unroll
    for (int k = 0; k < kEach; k++) {
        tile.pack(Tile::col_down(k), Tile::pack_down(k)) = x[k];
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < kEach; k++) {
        const int     r = Tile::row_across(k), c = Tile::col_across(k);
        const int64_t i = i0 + r, j = j0 + c;
        Packs         y;

#pragma unroll
        for (int e = 0; e < Tile::kVector; e++) {
            y.at[e] = tile.element(r, c + e);
        }
        if (i < n_rows && j < n) {
            *(Packs *)(dst + i * n + j) = y;
        }
    }
}

/* One movement, either way. */
struct Move {
    const void    *src;
    void          *dst;
    const int32_t *row;
    int64_t        n_rows, n, ld;
    int64_t        elem; /* bytes */
    spmm_layout_t  layout;
    cudaStream_t   stream;
};

template <typename U, bool kGather> cudaError_t launch_rows(const Move &m)
{
    const int64_t unit  = int64_t(sizeof(U));
    const int64_t width = m.n * m.elem / unit;
    const int64_t ld    = m.ld * m.elem / unit;
    const dim3    block = row_block(width);
    const bool    many  = m.n_rows * least(width, kWarp) >= kManyAccess;
    const dim3    grid(
           (unsigned)least(ceil_div(m.n_rows, int64_t(block.y) * (many ? 4 : 1)), kMaxGridX));

    return launch(many ? copy_rows<U, kGather, 4> : copy_rows<U, kGather, 1>, grid, block, m.stream,
                  (const U *)m.src, (U *)m.dst, m.row, m.n_rows, width, ld);
}

/* The widest access that both bases, the row length and the leading dimension allow. */
template <bool kGather> cudaError_t move_row_major(const Move &m)
{
    int64_t unit = 16;

    while (unit > m.elem && !(fits(m.src, unit) && fits(m.dst, unit) && fits(m.n * m.elem, unit) &&
                              fits(m.ld * m.elem, unit))) {
        unit /= 2;
    }
    switch (unit) {
    case 16:
        return launch_rows<uint4, kGather>(m);
    case 8:
        return launch_rows<uint2, kGather>(m);
    case 4:
        return launch_rows<unsigned, kGather>(m);
    case 2:
        return launch_rows<unsigned short, kGather>(m);
    default:
        return cudaErrorInvalidValue;
    }
}

template <typename T, int kCols, bool kGather> cudaError_t launch_tiles(const Move &m)
{
    /* At most 2^26 blocks along x: there are less than 2^31 rows. */
    const dim3 grid((unsigned)ceil_div(m.n_rows, TurnTile<T, kCols>::kRows),
                    (unsigned)least(ceil_div(m.n, kCols), kMaxGridYZ));

    return launch_early(0, turn_tiles<T, kCols, kGather>, grid, dim3(kBlock), m.stream,
                        (const T *)m.src, (T *)m.dst, m.row, m.n_rows, m.n, m.ld);
}

template <typename T, bool kGather> cudaError_t launch_turn(const Move &m)
{
    return m.n <= kTile / 8   ? launch_tiles<T, kTile / 8, kGather>(m)
           : m.n <= kTile / 4 ? launch_tiles<T, kTile / 4, kGather>(m)
           : m.n <= kTile / 2 ? launch_tiles<T, kTile / 2, kGather>(m)
                              : launch_tiles<T, kTile, kGather>(m);
}

template <int kCols, int kEach> cudaError_t launch_packs(const Move &m)
{
    const dim3 grid((unsigned)ceil_div(m.n_rows, TurnPacks<kCols, kEach>::kRows),
                    (unsigned)ceil_div(m.n, kCols));

    return launch_early(0, turn_packs<kCols, kEach>, grid, dim3(kPackBlock), m.stream,
                        (const unsigned *)m.src, (unsigned *)m.dst, m.n_rows, m.n, m.ld);
}

bool takes_packs(const Move &m)
{
    return m.row == nullptr && m.elem == 4 && fits(m.src, 16) && fits(m.dst, 16) && fits(m.n, 4) &&
           fits(m.ld, 4) && ceil_div(m.n, kTile) <= kMaxGridYZ;
}

cudaError_t launch_packs(const Move &m)
{
    return m.n <= kTile / 4   ? launch_packs<kTile / 4, 2>(m)
           : m.n <= kTile / 2 ? launch_packs<kTile / 2, 2>(m)
                              : launch_packs<kTile, 4>(m);
}

template <typename T, bool kGather> cudaError_t preload_turn()
{
    return preload(turn_tiles<T, kTile, kGather>, turn_tiles<T, kTile / 2, kGather>,
                   turn_tiles<T, kTile / 4, kGather>, turn_tiles<T, kTile / 8, kGather>);
}

template <bool kGather> cudaError_t move_rows(const Move &m)
{
    if (m.n_rows <= 0 || m.n <= 0) {
        return cudaSuccess;
    }
    if (m.layout == SPMM_LAYOUT_ROW) {
        return move_row_major<kGather>(m);
    }
    if (kGather && takes_packs(m)) {
        return launch_packs(m);
    }
    switch (m.elem) {
    case 2:
        return launch_turn<unsigned short, kGather>(m);
    case 4:
        return launch_turn<unsigned, kGather>(m);
    case 8:
        return launch_turn<uint2, kGather>(m);
    case 16:
        return launch_turn<uint4, kGather>(m);
    default:
        return cudaErrorInvalidValue;
    }
}

template <bool kGather> cudaError_t preload_moves()
{
    cudaError_t (*const load[])() = {preload_turn<unsigned short, kGather>,
                                     preload_turn<unsigned, kGather>, preload_turn<uint2, kGather>,
                                     preload_turn<uint4, kGather>};
    cudaError_t code =
        preload(copy_rows<uint4, kGather, 1>, copy_rows<uint4, kGather, 4>,
                copy_rows<uint2, kGather, 1>, copy_rows<uint2, kGather, 4>,
                copy_rows<unsigned, kGather, 1>, copy_rows<unsigned, kGather, 4>,
                copy_rows<unsigned short, kGather, 1>, copy_rows<unsigned short, kGather, 4>);

    for (size_t k = 0; k < sizeof load / sizeof *load && code == cudaSuccess; k++) {
        code = load[k]();
    }
    return code;
}

} // namespace

cudaError_t preload_rows()
{
    cudaError_t code = preload_moves<true>();

    code = code == cudaSuccess ? preload_moves<false>() : code;
    return code == cudaSuccess
               ? preload(turn_packs<kTile, 4>, turn_packs<kTile / 2, 2>, turn_packs<kTile / 4, 2>)
               : code;
}

} // namespace spmmi

extern "C" cudaError_t spmmi_cuda_code(int *code)
{
    using namespace spmmi;
    cudaFuncAttributes made   = {};
    const cudaError_t  status = cudaFuncGetAttributes(&made, turn_packs<kTile, 4>);

    *code = made.ptxVersion;
    return status;
}

extern "C" cudaError_t spmmi_cuda_gather_rows(const spmm_gather_args_t *args, cudaStream_t stream)
{
    return spmmi::move_rows<true>({args->src, args->dst, args->row, args->n_rows, args->n,
                                   args->ld_src, (int64_t)args->elem_size, args->src_layout,
                                   stream});
}

extern "C" cudaError_t spmmi_cuda_scatter_rows(const spmm_scatter_args_t *args, cudaStream_t stream)
{
    return spmmi::move_rows<false>({args->src, args->dst, args->row, args->n_rows, args->n,
                                    args->ld_dst, (int64_t)args->elem_size, args->dst_layout,
                                    stream});
}
