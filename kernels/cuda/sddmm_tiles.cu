/* SPDX-License-Identifier: Apache-2.0 */
/** @file sddmm_tiles.cu
 *  SDDMM on tensor cores at a column-vector-sparse mask (vectorSparse, section 6), FP16 and BF16 with
 *  sums in FP32.  A warp takes a tile: 32 vectors of a window, so 32 rows of Y by the V rows of X of
 *  the window.
 *
 *  The paper's octets are those of Volta's m8n8k4; m16n8k16 asks for other ways to the same ends:
 *  - Rows of Y are the m16 side and the V = 8 rows of X the n8 side (the paper switches the sides,
 *    too), so nothing is multiplied twice; V = 16 is two n8 tiles, for which each fragment of Y serves
 *    twice.  Both operands want pairs of consecutive k of one row: as X and Y lie in memory.
 *  - Lane 4 g + t holds, of row g, 8 consecutive columns instead of the fragment's four times two:
 *    which k is which is free as long as both sides agree.  So all loads are of 16 bytes and nothing
 *    goes through shared memory or shuffles.
 *  - TileK = 64, 128 bytes of a row, are two loads.  A quarter of a warp, which L1 serves at a time,
 *    has two rows; the odd one starts with its second half, so that the two do not meet in the same
 *    banks, and selects put the halves right afterwards.
 *
 *  What belongs to no vector is not loaded, and what is not in the mask is not stored: a sum is of its
 *  own row of X and of Y alone, so nothing has to be repaired where B holds Inf or NaN.
 */
#include "cuda/tc_common.cuh"
#include "cuda/tc_probe.cuh"

namespace spmm
{
namespace
{

constexpr int kTile    = SPMM_SDDMM_TILE;
constexpr int kTileK   = 64;
constexpr int kParts   = 4; /* rows of Y that a lane holds a piece of: g, g + 8, g + 16, g + 24 */
constexpr int kThreads = 128;

/** Thread blocks of a multiprocessor, at least: as many as registers allow without spills. */
constexpr int kResident(int tiles)
{
    return tiles == 1 ? 5 : 4;
}

/* How 8 elements of a row are read: all are there, some may be past its end and are zeros, or this
 * and nothing is aligned. */
enum class Read { kWhole, kEdge, kNarrow };

/* 8 elements of a row from column `at` on; zeros without a row. */
template <typename Half, Read kHow>
__device__ __forceinline__ uint4 read_8(const Half *row, int64_t at, int64_t k)
{
    uint4 words = {0, 0, 0, 0};

    if (row != NULL && (kHow == Read::kWhole || (kHow == Read::kEdge && at + 8 <= k))) {
        words = __ldg((const uint4 *)(row + at));
    } else if (kHow != Read::kWhole) {
        uint32_t word[4] = {0, 0, 0, 0};

#pragma unroll
        for (int j = 0; j < 8; j++) {
            if (row != NULL && at + j < k) {
                const uint32_t bits = __ldg((const unsigned short *)(row + at + j));

                word[j / 2] |= bits << (16 * (j % 2));
            }
        }
        words = {word[0], word[1], word[2], word[3]};
    }
    return words;
}

/* The 64 columns from `at` on that the lane takes of a row: at[0] of the first 32, at[1] of the others. */
struct Piece {
    uint4 at[2];
};

template <typename Half, Read kHow>
__device__ __forceinline__ Piece read_piece(const Half *row, int64_t at, int64_t k, bool odd, int t)
{
    const uint4 first  = read_8<Half, kHow>(row, at + (odd ? 32 : 0) + 8 * t, k);
    const uint4 second = read_8<Half, kHow>(row, at + (odd ? 0 : 32) + 8 * t, k);

    return {{{odd ? second.x : first.x, odd ? second.y : first.y, odd ? second.z : first.z,
              odd ? second.w : first.w},
             {odd ? first.x : second.x, odd ? first.y : second.y, odd ? first.z : second.z,
              odd ? first.w : second.w}}};
}

/* Words 2 m and 2 m + 1. */
__device__ __forceinline__ uint2 words_of(const uint4 &x, int m)
{
    return m == 0 ? make_uint2(x.x, x.y) : make_uint2(x.z, x.w);
}

template <typename Half, typename Out, int kTiles, bool kWide> struct Warp {
    static constexpr int kHeight = 8 * kTiles;

    const spmm_sddmm_tiles_t &mask;
    const spmm_sddmm_args_t  &args;
    const bool                pairs; /* two results may be stored at once */
    const int                 lane, g, t;
    float                     sum[kParts / 2][kTiles][4];

    __device__ __forceinline__ const Half *row_of_x(int32_t window, int i) const
    {
        const int32_t row = window * kHeight + 8 * i + g;

        if (row >= mask.n_rows) {
            return NULL;
        }
        return (const Half *)args.X +
               (mask.row_map == NULL ? row : __ldg(mask.row_map + row)) * args.ldx;
    }

    /* Columns at .. at + 63. */
    template <Read kHow>
    __device__ __forceinline__ void add(const Half *const (&x)[kTiles],
                                        const Half *const (&y)[kParts], int64_t at)
    {
        const bool odd = g % 2 != 0;
        Piece      of_x[kTiles], of_y[kParts];

#pragma unroll
        for (int p = 0; p < kParts; p++) {
            of_y[p] = read_piece<Half, kHow>(y[p], at, args.k, odd, t);
        }
#pragma unroll
        for (int i = 0; i < kTiles; i++) {
            of_x[i] = read_piece<Half, kHow>(x[i], at, args.k, odd, t);
        }
#pragma unroll
        for (int step = 0; step < 4; step++) { /* of 16 columns */
#pragma unroll
            for (int b = 0; b < kParts / 2; b++) {
                const uint2    upper = words_of(of_y[2 * b].at[step / 2], step % 2);
                const uint2    lower = words_of(of_y[2 * b + 1].at[step / 2], step % 2);
                const uint32_t a[4]  = {upper.x, lower.x, upper.y, lower.y};

#pragma unroll
                for (int i = 0; i < kTiles; i++) {
                    const uint2 w = words_of(of_x[i].at[step / 2], step % 2);

                    mma_half_m16n8k16<Half>(sum[b][i], a, w.x, w.y);
                }
            }
        }
    }

    __device__ __forceinline__ void multiply(int32_t window, const int32_t (&col)[kParts])
    {
        const Half *x[kTiles], *y[kParts];
        int64_t     at = 0;

#pragma unroll
        for (int p = 0; p < kParts; p++) {
            y[p] = col[p] < 0 ? NULL : (const Half *)args.Y + col[p] * args.ldy;
        }
#pragma unroll
        for (int i = 0; i < kTiles; i++) {
            x[i] = row_of_x(window, i);
#pragma unroll
            for (int b = 0; b < kParts / 2; b++) {
                sum[b][i][0] = sum[b][i][1] = sum[b][i][2] = sum[b][i][3] = 0.0f;
            }
        }
#pragma unroll 1
        for (; kWide && at + kTileK <= args.k; at += kTileK) {
            add<Read::kWhole>(x, y, at);
        }
#pragma unroll 1
        for (; at < args.k; at += kTileK) {
            add<kWide ? Read::kEdge : Read::kNarrow>(x, y, at);
        }
    }

    __device__ __forceinline__ void store(int64_t at, float x) const
    {
        Out *const  s       = (Out *)args.S + at;
        const float product = (float)args.alpha * x;

        *s = Narrow<Out>::from(args.beta == 0.0 ? product
                                                : product + (float)args.beta * widen<float>(*s));
    }

    /* Results of rows 2 t and 2 t + 1 of n8 tile i and vector 8 p + g. */
    __device__ __forceinline__ void store_two(int64_t at, float x, float y) const
    {
        if (pairs) {
            const Pack<Out, 2> both = {Narrow<Out>::from((float)args.alpha * x),
                                       Narrow<Out>::from((float)args.alpha * y)};

            *(Pack<Out, 2> *)((Out *)args.S + at) = both;
        } else {
            store(at, x);
            store(at + 1, y);
        }
    }

    __device__ __forceinline__ void put(int64_t tile, const int32_t (&col)[kParts], int32_t places)
    {
#pragma unroll
        for (int p = 0; p < kParts; p++) {
            const int     vector = 8 * p + g;
            const int32_t base   = __shfl_sync(0xffffffffu, places, vector);

            if (col[p] < 0) {
                continue;
            }
#pragma unroll
            for (int i = 0; i < kTiles; i++) {
                const float x = sum[p / 2][i][2 * (p % 2)], y = sum[p / 2][i][2 * (p % 2) + 1];
                const int   row = 8 * i + 2 * t;

                if (mask.order == SPMM_SDDMM_VECTORS) {
                    store_two((int64_t)base + row, x, y);
                    continue;
                }
                const bool    rows = mask.order == SPMM_SDDMM_ROWS;
                const int64_t from = rows ? tile : tile * kTile + vector;
                const int2    to   = __ldg((const int2 *)(mask.place + from * kHeight + row));
                const int     more = rows ? vector : 0;

                if (to.x >= 0) {
                    store((int64_t)to.x + more, x);
                }
                if (to.y >= 0) {
                    store((int64_t)to.y + more, y);
                }
            }
        }
    }
};

/* Columns and windows are read one tile ahead. */
template <typename Half, typename Out, int kTiles, bool kWide>
__global__ void __launch_bounds__(kThreads, kResident(kTiles))
    sddmm_tiles(spmm_sddmm_tiles_t mask, spmm_sddmm_args_t args, bool pairs)
{
    const int                      lane = (int)threadIdx.x % kWarp;
    const int64_t                  step = (int64_t)gridDim.x * (kThreads / kWarp);
    int64_t                        tile = ((int64_t)blockIdx.x * kThreads + threadIdx.x) / kWarp;
    int32_t                        cols = 0, window = 0;
    Warp<Half, Out, kTiles, kWide> warp = {mask, args, pairs, lane, lane / 4, lane % 4, {}};

    if (tile < mask.n_tiles) {
        cols   = __ldg(mask.col + tile * kTile + lane);
        window = __ldg(mask.window + tile);
    }
    for (; tile < mask.n_tiles; tile += step) {
        int32_t col[kParts], places = 0;

#pragma unroll
        for (int p = 0; p < kParts; p++) {
            col[p] = __shfl_sync(0xffffffffu, cols, 8 * p + lane / 4);
        }
        const int32_t here = window;

        if (tile + step < mask.n_tiles) {
            cols   = __ldg(mask.col + (tile + step) * kTile + lane);
            window = __ldg(mask.window + tile + step);
        }
        if (mask.order == SPMM_SDDMM_VECTORS) {
            places = __ldg(mask.place + tile * kTile + lane);
        }
        warp.multiply(here, col);
        warp.put(tile, col, places);
    }
}

template <typename Half, typename Out>
cudaError_t run(const spmm_sddmm_tiles_t &mask, const spmm_sddmm_args_t &a, cudaStream_t stream)
{
    constexpr int kWarps = kThreads / kWarp, kBlocks = 32; /* of a multiprocessor, all in all */
    const int64_t blocks = ceil_div(mask.n_tiles, kWarps);
    const int64_t size   = (int64_t)sizeof(Half);
    const bool    wide =
        fits(a.X, 16) && fits(a.Y, 16) && fits(a.ldx * size, 16) && fits(a.ldy * size, 16);
    const bool pairs = a.beta == 0.0 && fits(a.S, 2 * (int64_t)sizeof(Out));
    const dim3 grid((unsigned)least(blocks, (int64_t)a.n_sm * kBlocks));

    if (blocks == 0) {
        return cudaSuccess;
    }
    if (mask.height == 8) {
        return wide ? launch(sddmm_tiles<Half, Out, 1, true>, grid, dim3(kThreads), stream, mask, a,
                             pairs)
                    : launch(sddmm_tiles<Half, Out, 1, false>, grid, dim3(kThreads), stream, mask,
                             a, pairs);
    }
    return wide ? launch(sddmm_tiles<Half, Out, 2, true>, grid, dim3(kThreads), stream, mask, a,
                         pairs)
                : launch(sddmm_tiles<Half, Out, 2, false>, grid, dim3(kThreads), stream, mask, a,
                         pairs);
}

template <typename Half, typename Out> cudaError_t load()
{
    return preload(sddmm_tiles<Half, Out, 1, true>, sddmm_tiles<Half, Out, 1, false>,
                   sddmm_tiles<Half, Out, 2, true>, sddmm_tiles<Half, Out, 2, false>);
}

} // namespace

cudaError_t preload_sddmm_tiles()
{
    cudaError_t (*const all[])() = {load<__half, __half>, load<__half, float>,
                                    load<__nv_bfloat16, __nv_bfloat16>, load<__nv_bfloat16, float>};
    cudaError_t code             = cudaSuccess;

    for (auto *const one : all) {
        code = code == cudaSuccess ? one() : code;
    }
    return code;
}

} // namespace spmm

extern "C" cudaError_t spmm_cuda_sddmm_tiles(const spmm_sddmm_tiles_t *mask,
                                             const spmm_sddmm_args_t *args, cudaStream_t stream)
{
    const bool same = args->s_type == args->type;

    if ((!same && args->s_type != SPMM_R_32F) || (mask->height != 8 && mask->height != 16)) {
        return cudaErrorInvalidValue;
    }
    switch (args->type) {
    case SPMM_R_16F:
        return same ? spmm::run<__half, __half>(*mask, *args, stream)
                    : spmm::run<__half, float>(*mask, *args, stream);
    case SPMM_R_16BF:
        return same ? spmm::run<__nv_bfloat16, __nv_bfloat16>(*mask, *args, stream)
                    : spmm::run<__nv_bfloat16, float>(*mask, *args, stream);
    default:
        return cudaErrorInvalidValue;
    }
}
