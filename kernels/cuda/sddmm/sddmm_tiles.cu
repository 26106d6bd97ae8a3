/* SPDX-License-Identifier: Apache-2.0 */
/** @file sddmm_tiles.cu
 *  SDDMM on tensor cores at a column-vector-sparse mask (vectorSparse, section 6).  A warp takes
 *  a tile: 32 vectors of a window, so 32 rows of Y by the V = 8 or 16 rows of X of the window.
 *  What belongs to no vector is not loaded, and what is not in the mask is not stored.
 */
#include "cuda/sddmm/sddmm.h"
#include "cuda/windows/tc_common.cuh"
#include "cuda/windows/tc_half.cuh"

namespace spmmi
{

/* 32 rows of Y by 8 or 16 rows of X on tensor cores, for the kernels of SDDMM (vectorSparse,
 * section 6): FP16 and BF16 with sums in FP32, FP32 as three products of TF32.
 *
 * The paper's octets are those of Volta's m8n8k4; m16n8k16 asks for other ways to the same
 * ends:
 * - Rows of Y are the m16 side and 8 rows of X the n8 side (the paper switches the sides, too),
 * so nothing is multiplied twice; 16 rows of X are two n8 tiles, for which each fragment of Y
 * serves twice.  Both operands want pairs of consecutive k of one row: as X and Y lie in
 * memory.
 * - Lane 4 g + t holds, of row g, 16 consecutive bytes instead of the fragment's scattered
 * words: which k is which is free as long as both sides agree.  So all loads are of 16 bytes
 * and nothing goes through shared memory or shuffles.  The words of m16n8k16 in 16 bits and
 * of m16n8k8 in TF32 are the same ones.
 * - 128 bytes of a row, TileK = 64 in FP16, are two loads.  A quarter of a warp, which L1
 * serves at a time, has two rows; the odd one starts with its second half, so that the two do
 * not meet in the same banks, and selects put the halves right afterwards.
 *
 * A row that is not there is not loaded and counts as zeros; a sum is of its own row of X and
 * of Y alone, so Inf and NaN stay in the entries of their row. */

constexpr int kSddmmLine = 128; /* bytes of a row at a time: TileK elements */
constexpr int kSddmmParts =
    4; /* rows of Y that a lane holds a piece of: g, g + 8, g + 16, g + 24 */

/* How 16 bytes of a row are read: all are there, some may be past its end and are zeros, or this
 * and nothing is aligned. */
enum class Read { kWhole, kEdge, kNarrow };

template <typename In> __device__ __forceinline__ uint32_t bits_of(const In *from)
{
    if constexpr (sizeof(In) == 2) {
        return __ldg((const unsigned short *)from);
    } else {
        return __ldg((const unsigned *)from);
    }
}

/* 16 bytes of a row from column `at` on; zeros without a row. */
template <typename In, Read kHow>
__device__ __forceinline__ uint4 read_16(const In *row, int64_t at, int64_t k)
{
    constexpr int kElems = 16 / (int)sizeof(In), kOfWord = 4 / (int)sizeof(In);
    uint4         words = {0, 0, 0, 0};

    if (row != NULL && (kHow == Read::kWhole || (kHow == Read::kEdge && at + kElems <= k))) {
        words = __ldg((const uint4 *)(row + at));
    } else if (kHow != Read::kWhole) {
        uint32_t word[4] = {0, 0, 0, 0};

#pragma unroll
        for (int j = 0; j < kElems; j++) {
            if (row != NULL && at + j < k) {
                word[j / kOfWord] |= bits_of(row + at + j) << (16 * (j % kOfWord));
            }
        }
        words = {word[0], word[1], word[2], word[3]};
    }
    return words;
}

/* What the lane takes of a line of a row from column `at` on: at[0] of its first half, at[1] of the
 * other. */
struct Piece {
    uint4 at[2];
};

/* From what was read first and second; the odd rows start with their second half. */
__device__ __forceinline__ Piece put_right(const uint4 &first, const uint4 &second, bool odd)
{
    return {{{odd ? second.x : first.x, odd ? second.y : first.y, odd ? second.z : first.z,
              odd ? second.w : first.w},
             {odd ? first.x : second.x, odd ? first.y : second.y, odd ? first.z : second.z,
              odd ? first.w : second.w}}};
}

template <typename In, Read kHow>
__device__ __forceinline__ Piece read_piece(const In *row, int64_t at, int64_t k, bool odd, int t)
{
    constexpr int kElems = 16 / (int)sizeof(In), kHalf = kSddmmLine / 2 / (int)sizeof(In);
    const uint4   first  = read_16<In, kHow>(row, at + (odd ? kHalf : 0) + kElems * t, k);
    const uint4   second = read_16<In, kHow>(row, at + (odd ? 0 : kHalf) + kElems * t, k);

    return put_right(first, second, odd);
}

/* Words 2 m and 2 m + 1. */
__device__ __forceinline__ uint2 words_of(const uint4 &x, int m)
{
    return m == 0 ? make_uint2(x.x, x.y) : make_uint2(x.z, x.w);
}

/* The n8 side of one step: two words, of FP32 in two parts. */
template <typename In> struct Side {
    uint2 w;
};
template <> struct Side<float> {
    uint32_t hi[2], lo[2];
};

template <typename In> __device__ __forceinline__ Side<In> side_of(uint2 w)
{
    if constexpr (std::is_same_v<In, float>) {
        Side<float> side;

        split_tf32(__uint_as_float(w.x), side.hi[0], side.lo[0]);
        split_tf32(__uint_as_float(w.y), side.hi[1], side.lo[1]);
        return side;
    } else {
        return {w};
    }
}

/* d += 16 rows of Y times 8 of X, 8 columns of FP32 or 16 of a 16-bit type.  FP32 as three
 * products of TF32, the small ones first. */
template <typename In, int kTiles>
__device__ __forceinline__ void step(float (&d)[kTiles][4], const uint32_t (&a)[4],
                                     const Side<In> (&x)[kTiles])
{
    if constexpr (std::is_same_v<In, float>) {
        uint32_t hi[4], lo[4];

#pragma unroll
        for (int k = 0; k < 4; k++) {
            split_tf32(__uint_as_float(a[k]), hi[k], lo[k]);
        }
#pragma unroll
        for (int i = 0; i < kTiles; i++) {
            mma_tf32_m16n8k8(d[i], lo, x[i].hi);
            mma_tf32_m16n8k8(d[i], hi, x[i].lo);
            mma_tf32_m16n8k8(d[i], hi, x[i].hi);
        }
    } else {
#pragma unroll
        for (int i = 0; i < kTiles; i++) {
            mma_half_m16n8k16<In>(d[i], a, x[i].w.x, x[i].w.y);
        }
    }
}

/** Sums of one lane 4 g + t: of row 8 p + g of Y and row 8 i + 2 t + j of X at
 *  sum[p / 2][i][2 * (p % 2) + j].  @p kWide: rows begin at multiples of 16 bytes. */
template <typename In, int kTiles, bool kWide> struct SddmmProduct {
    static constexpr int kTileK = kSddmmLine / (int)sizeof(In);

    const int g, t;
    float     sum[kSddmmParts / 2][kTiles][4];

    __device__ __forceinline__ void clear()
    {
#pragma unroll
        for (int b = 0; b < kSddmmParts / 2; b++) {
#pragma unroll
            for (int i = 0; i < kTiles; i++) {
                sum[b][i][0] = sum[b][i][1] = sum[b][i][2] = sum[b][i][3] = 0.0f;
            }
        }
    }

    /** Add the products of a line. */
    __device__ __forceinline__ void take(const Piece (&of_x)[kTiles],
                                         const Piece (&of_y)[kSddmmParts])
    {
#pragma unroll
        for (int q = 0; q < 4; q++) { /* quarters of the line */
            Side<In> side[kTiles];

#pragma unroll
            for (int i = 0; i < kTiles; i++) {
                side[i] = side_of<In>(words_of(of_x[i].at[q / 2], q % 2));
            }
#pragma unroll
            for (int b = 0; b < kSddmmParts / 2; b++) {
                const uint2    upper = words_of(of_y[2 * b].at[q / 2], q % 2);
                const uint2    lower = words_of(of_y[2 * b + 1].at[q / 2], q % 2);
                const uint32_t a[4]  = {upper.x, lower.x, upper.y, lower.y};

                step<In, kTiles>(sum[b], a, side);
            }
        }
    }

    /** Columns at .. at + kTileK - 1 of rows of @p k; NULL: not there. */
    template <Read kHow>
    __device__ __forceinline__ void add(const In *const (&x)[kTiles],
                                        const In *const (&y)[kSddmmParts], int64_t at, int64_t k)
    {
        const bool odd = g % 2 != 0;
        Piece      of_x[kTiles], of_y[kSddmmParts];

#pragma unroll
        for (int p = 0; p < kSddmmParts; p++) {
            of_y[p] = read_piece<In, kHow>(y[p], at, k, odd, t);
        }
#pragma unroll
        for (int i = 0; i < kTiles; i++) {
            of_x[i] = read_piece<In, kHow>(x[i], at, k, odd, t);
        }
        take(of_x, of_y);
    }

    /** Rows of @p k columns; NULL: not there. */
    __device__ __forceinline__ void multiply(const In *const (&x)[kTiles],
                                             const In *const (&y)[kSddmmParts], int64_t k)
    {
        int64_t at = 0;

        clear();
#pragma unroll 1
        for (; kWide && at + kTileK <= k; at += kTileK) {
            add<Read::kWhole>(x, y, at, k);
        }
#pragma unroll 1
        for (; at < k; at += kTileK) {
            add<kWide ? Read::kEdge : Read::kNarrow>(x, y, at, k);
        }
    }
};

/** Do rows of X and Y begin at multiples of 16 bytes? */
template <typename In> bool sddmm_is_wide(const spmm_sddmm_args_t &a)
{
    const int64_t size = (int64_t)sizeof(In);

    return fits(a.X, 16) && fits(a.Y, 16) && fits(a.ldx * size, 16) && fits(a.ldy * size, 16);
}

namespace
{

constexpr int kTile    = SPMM_SDDMM_TILE;
constexpr int kParts   = kSddmmParts;
constexpr int kThreads = 128;

/** Thread blocks of a multiprocessor, at least: as many as registers allow without spills. */
constexpr int kResident(int tiles)
{
    return tiles == 1 ? 5 : 4;
}

template <typename In, typename Out, int kTiles, bool kWide> struct Warp {
    static constexpr int kHeight = 8 * kTiles;

    const spmm_sddmm_tiles_t       &mask;
    const spmm_sddmm_args_t        &args;
    const bool                      pairs; /* two results may be stored at once */
    SddmmProduct<In, kTiles, kWide> product;

    __device__ __forceinline__ const In *row_of_x(int32_t window, int i) const
    {
        const int32_t row = window * kHeight + 8 * i + product.g;

        if (row >= mask.n_rows) {
            return NULL;
        }
        return (const In *)args.X +
               (mask.row_map == NULL ? row : __ldg(mask.row_map + row)) * args.ldx;
    }

    __device__ __forceinline__ void multiply(int32_t window, const int32_t (&col)[kParts])
    {
        const In *x[kTiles], *y[kParts];

#pragma unroll
        for (int p = 0; p < kParts; p++) {
            y[p] = col[p] < 0 ? NULL : (const In *)args.Y + col[p] * args.ldy;
        }
#pragma unroll
        for (int i = 0; i < kTiles; i++) {
            x[i] = row_of_x(window, i);
        }
        product.multiply(x, y, args.k);
    }

    __device__ __forceinline__ void store(int64_t at, float x) const
    {
        Out *const  s     = (Out *)args.S + at;
        const float fresh = (float)args.alpha * x;

        *s = Narrow<Out>::from(args.beta == 0.0 ? fresh
                                                : fresh + (float)args.beta * widen<float>(*s));
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

    /* Parts of a split FP32 number may be NaN or overflow where their product is not or does
     * not: a sum that is not finite is computed again. */
    __device__ __forceinline__ float sure(float x, int32_t row, int32_t col) const
    {
        if constexpr (std::is_same_v<In, float>) {
            if (taint(x, 0.0f) != 0.0f && row < mask.n_rows) {
                const int64_t      i    = mask.row_map == NULL ? row : __ldg(mask.row_map + row);
                const float *const of_x = (const float *)args.X + i * args.ldx;
                const float *const of_y = (const float *)args.Y + col * args.ldy;

                x = 0.0f;
                for (int64_t k = 0; k < args.k; k++) {
                    x = fma(of_x[k], of_y[k], x);
                }
            }
        }
        return x;
    }

    __device__ __forceinline__ void put(int64_t tile, int32_t window, const int32_t (&col)[kParts],
                                        int32_t places)
    {
        int4 of_rows[kTiles];

#pragma unroll
        for (int i = 0; i < kTiles && mask.order == SPMM_SDDMM_ROWS; i++) {
            of_rows[i] =
                __ldg((const int4 *)(mask.place + (tile * kHeight + 8 * i + 2 * product.t) * 2));
        }
#pragma unroll
        for (int p = 0; p < kParts; p++) {
            const int      vector = 8 * p + product.g;
            const uint32_t before = (1u << vector) - 1;
            const int32_t  base   = __shfl_sync(0xffffffffu, places, vector);

            if (col[p] < 0) {
                continue;
            }
#pragma unroll
            for (int i = 0; i < kTiles; i++) {
                const int   row = 8 * i + 2 * product.t, first = window * kHeight + row;
                const float x = sure(product.sum[p / 2][i][2 * (p % 2)], first, col[p]);
                const float y = sure(product.sum[p / 2][i][2 * (p % 2) + 1], first + 1, col[p]);

                if (mask.order == SPMM_SDDMM_VECTORS) {
                    store_two((int64_t)base + row, x, y);
                } else if (mask.order == SPMM_SDDMM_ROWS) {
                    const uint32_t of_x = (uint32_t)of_rows[i].y, of_y = (uint32_t)of_rows[i].w;

                    if ((of_x >> vector & 1u) != 0) {
                        store((int64_t)of_rows[i].x + __popc(of_x & before), x);
                    }
                    if ((of_y >> vector & 1u) != 0) {
                        store((int64_t)of_rows[i].z + __popc(of_y & before), y);
                    }
                } else {
                    const int2 to =
                        __ldg((const int2 *)(mask.place + (tile * kTile + vector) * kHeight + row));

                    if (to.x >= 0) {
                        store(to.x, x);
                    }
                    if (to.y >= 0) {
                        store(to.y, y);
                    }
                }
            }
        }
    }
};

/* A thread block has consecutive tiles, which share rows of X.  Columns and windows are read one
 * tile ahead. */
template <typename In, typename Out, int kTiles, bool kWide>
__global__ void __launch_bounds__(kThreads, resident_blocks(kThreads, kResident(kTiles)))
    sddmm_tiles(spmm_sddmm_tiles_t mask, spmm_sddmm_args_t args, int64_t chunk, bool pairs)
{
    constexpr int                kStep = kThreads / kWarp;
    const int                    lane  = (int)threadIdx.x % kWarp;
    const int64_t                end   = least((blockIdx.x + 1) * chunk, mask.n_tiles);
    int64_t                      tile  = blockIdx.x * chunk + threadIdx.x / kWarp;
    int32_t                      cols = 0, window = 0;
    Warp<In, Out, kTiles, kWide> warp = {mask, args, pairs, {lane / 4, lane % 4, {}}};

    if (tile < end) {
        cols   = __ldg(mask.col + tile * kTile + lane);
        window = __ldg(mask.window + tile);
    }
    for (; tile < end; tile += kStep) {
        const int32_t here = window;
        int32_t       col[kParts], places = 0;

#pragma unroll
        for (int p = 0; p < kParts; p++) {
            col[p] = __shfl_sync(0xffffffffu, cols, 8 * p + lane / 4);
        }
        if (tile + kStep < end) {
            cols   = __ldg(mask.col + (tile + kStep) * kTile + lane);
            window = __ldg(mask.window + tile + kStep);
        }
        if (mask.order == SPMM_SDDMM_VECTORS) {
            places = __ldg(mask.place + tile * kTile + lane);
        }
        warp.multiply(here, col);
        warp.put(tile, here, col, places);
    }
}

template <typename In, typename Out>
cudaError_t run(const spmm_sddmm_tiles_t &mask, const spmm_sddmm_args_t &a, cudaStream_t stream)
{
    constexpr int kWarps = kThreads / kWarp, kBlocks = 32; /* of a multiprocessor, all in all */
    const int64_t most  = least(ceil_div(mask.n_tiles, kWarps), (int64_t)a.n_sm * kBlocks);
    const bool    wide  = sddmm_is_wide<In>(a);
    const bool    pairs = a.beta == 0.0 && fits(a.S, 2 * (int64_t)sizeof(Out));

    if (most == 0) {
        return cudaSuccess;
    }
    const int64_t chunk = ceil_div(ceil_div(mask.n_tiles, most), kWarps) * kWarps;
    const dim3    grid((unsigned)ceil_div(mask.n_tiles, chunk));
    auto *const   low    = wide ? sddmm_tiles<In, Out, 1, true> : sddmm_tiles<In, Out, 1, false>;
    auto *const   high   = wide ? sddmm_tiles<In, Out, 2, true> : sddmm_tiles<In, Out, 2, false>;
    auto *const   kernel = mask.height == 8 ? low : high;

    return launch(kernel, grid, dim3(kThreads), stream, mask, a, chunk, pairs);
}

template <typename In, typename Out> cudaError_t load()
{
    return preload(sddmm_tiles<In, Out, 1, true>, sddmm_tiles<In, Out, 1, false>,
                   sddmm_tiles<In, Out, 2, true>, sddmm_tiles<In, Out, 2, false>);
}

} // namespace

} // namespace spmmi

extern "C" cudaError_t spmmi_cuda_sddmm_tiles_preload(void)
{
    using namespace spmmi;
    const cudaError_t code = load<float, float>();

    return code != cudaSuccess ? code : for_all_half_types([](auto types) {
        using Types = decltype(types);

        return load<typename Types::Half, typename Types::Out>();
    });
}

extern "C" cudaError_t spmmi_cuda_sddmm_tiles(const spmm_sddmm_tiles_t *mask,
                                              const spmm_sddmm_args_t *args, cudaStream_t stream)
{
    if (mask->height != 8 && mask->height != 16) {
        return cudaErrorInvalidValue;
    }
    if (args->type == SPMM_R_32F && args->s_type == SPMM_R_32F) {
        return spmmi::run<float, float>(*mask, *args, stream);
    }
    return spmmi::for_half_types(args->type, args->s_type, [&](auto types) {
        using Types = decltype(types);

        return spmmi::run<typename Types::Half, typename Types::Out>(*mask, *args, stream);
    });
}
