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

/* Column-major with few columns: a thread per row; a warp covers whole sectors of the packed side
 * within kNarrow accesses. */
template <typename T, bool kGather>
__global__ void __launch_bounds__(kBlock)
    turn_narrow(const T *__restrict__ src, T *__restrict__ dst, const int32_t *__restrict__ row,
                int64_t n_rows, int n, int64_t ld)
{
    const int64_t step = int64_t(gridDim.x) * blockDim.x;

    for (int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x; i < n_rows; i += step) {
        const int64_t k = row == nullptr ? i : int64_t(row[i]);

#pragma unroll 4
        for (int j = 0; j < n; j++) {
            if (kGather) {
                dst[i * n + j] = src[k + j * ld];
            } else {
                dst[k + j * ld] = src[i * n + j];
            }
        }
    }
}

/* Column-major: a tile turns in shared memory, so that lanes run along the rows on the indexed
 * side (neighbours where rows are consecutive) and along the columns on the packed side. */
template <typename T, bool kGather>
__global__ void __launch_bounds__(kTile *kTileY)
    turn_tiles(const T *__restrict__ src, T *__restrict__ dst, const int32_t *__restrict__ row,
               int64_t n_rows, int64_t n, int64_t ld)
{
    __shared__ T  tile[kTile][kTile + 1]; /* [row][column], padded against bank conflicts */
    const int64_t i0 = int64_t(blockIdx.x) * kTile;
    const int64_t i  = i0 + threadIdx.x; /* row of this lane on the indexed side */
    const int64_t k  = i >= n_rows ? 0 : row == nullptr ? i : int64_t(row[i]);

    for (int64_t j0 = int64_t(blockIdx.y) * kTile; j0 < n; j0 += int64_t(gridDim.y) * kTile) {
#pragma unroll
        for (int y = threadIdx.y; y < kTile; y += kTileY) {
            if (kGather && i < n_rows && j0 + y < n) {
                tile[threadIdx.x][y] = src[k + (j0 + y) * ld];
            }
            if (!kGather && i0 + y < n_rows && j0 + threadIdx.x < n) {
                tile[y][threadIdx.x] = src[(i0 + y) * n + j0 + threadIdx.x];
            }
        }
        __syncthreads();
#pragma unroll
        for (int y = threadIdx.y; y < kTile; y += kTileY) {
            if (kGather && i0 + y < n_rows && j0 + threadIdx.x < n) {
                dst[(i0 + y) * n + j0 + threadIdx.x] = tile[y][threadIdx.x];
            }
            if (!kGather && i < n_rows && j0 + y < n) {
                dst[k + (j0 + y) * ld] = tile[threadIdx.x][y];
            }
        }
        __syncthreads(); /* the next tile of this block overwrites */
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

template <typename T, bool kGather> cudaError_t launch_turn(const Move &m)
{
    if (m.n <= kNarrow) {
        const dim3 grid((unsigned)least(ceil_div(m.n_rows, kBlock), kMaxGridX));

        return launch(turn_narrow<T, kGather>, grid, dim3(kBlock), m.stream, (const T *)m.src,
                      (T *)m.dst, m.row, m.n_rows, (int)m.n, m.ld);
    }
    /* At most 2^26 blocks along x: there are less than 2^31 rows. */
    const dim3 grid((unsigned)ceil_div(m.n_rows, kTile),
                    (unsigned)least(ceil_div(m.n, kTile), kMaxGridYZ));

    return launch(turn_tiles<T, kGather>, grid, dim3(kTile, kTileY), m.stream, (const T *)m.src,
                  (T *)m.dst, m.row, m.n_rows, m.n, m.ld);
}

template <bool kGather> cudaError_t move_rows(const Move &m)
{
    if (m.n_rows <= 0 || m.n <= 0) {
        return cudaSuccess;
    }
    if (m.layout == SPMM_LAYOUT_ROW) {
        return move_row_major<kGather>(m);
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
    return preload(copy_rows<uint4, kGather, 1>, copy_rows<uint4, kGather, 4>,
                   copy_rows<uint2, kGather, 1>, copy_rows<uint2, kGather, 4>,
                   copy_rows<unsigned, kGather, 1>, copy_rows<unsigned, kGather, 4>,
                   copy_rows<unsigned short, kGather, 1>, copy_rows<unsigned short, kGather, 4>,
                   turn_narrow<unsigned short, kGather>, turn_narrow<unsigned, kGather>,
                   turn_narrow<uint2, kGather>, turn_tiles<unsigned short, kGather>,
                   turn_tiles<unsigned, kGather>, turn_tiles<uint2, kGather>,
                   turn_narrow<uint4, kGather>, turn_tiles<uint4, kGather>);
}

} // namespace

cudaError_t preload_rows()
{
    const cudaError_t code = preload_moves<true>();

    return code == cudaSuccess ? preload_moves<false>() : code;
}

} // namespace spmmi

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
