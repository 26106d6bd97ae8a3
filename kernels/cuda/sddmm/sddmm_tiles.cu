/* SPDX-License-Identifier: Apache-2.0 */
/** @file sddmm_tiles.cu
 *  SDDMM on tensor cores at a column-vector-sparse mask (vectorSparse, section 6).  A warp takes
 *  a tile: 32 vectors of a window, so 32 rows of Y by the V = 8 or 16 rows of X of the window
 *  (sddmm_mma.cuh). What belongs to no vector is not loaded, and what is not in the mask is not
 *  stored.
 */
#include "cuda/sddmm/sddmm_mma.cuh"
#include "cuda/tc/tc_half.cuh"

namespace spmmi
{
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
