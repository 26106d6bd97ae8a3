/* SPDX-License-Identifier: Apache-2.0 */
/** @file sddmm_squares.cu
 *  SDDMM where every tenth to thirtieth place is an entry, FP16 and BF16: squares of 128 rows of X
 *  and 128 of Y are multiplied in full, as a dense product does, and the entries are taken from the
 *  results in shared memory.  A thread block has a square; each of its 8 warps 64 x 32 of it:
 *  m16n8k16, rows of X the m16 side, rows of Y the n8 side.  64 columns of X and Y are in work
 *  while the next 64 are on the way.
 */
#include "cuda/sddmm/sddmm.h"
#include "cuda/windows/tc_common.cuh"
#include "cuda/windows/tc_half.cuh"

namespace spmmi
{
namespace
{

constexpr int kSide    = SPMM_SDDMM_SQUARE;
constexpr int kThreads = 256;
constexpr int kSlab    = 64;                /* columns of X and Y at a time: lines of 128 bytes */
constexpr int kBytes   = kSide * kSlab * 2; /* of a slab of X, or of Y */
constexpr int kRows = 64, kCols = 32;       /* of the square, of a warp */
constexpr int kPitch  = kSide + 8;          /* of results: pairs of lanes in different banks */
constexpr int kShared = kSide * kPitch * 4; /* results, in the place of two stages of slabs */
constexpr int kPieces = kSlab * 2 / 16;     /* of 16 bytes, of a line */
constexpr int kAhead  = 8; /* entries of a thread that are read during the last products */

static_assert(kShared >= 4 * kBytes, "results take the place of the slabs");

/* Four 8x8 matrices of 16 bits as they lie. */
__device__ __forceinline__ void load_lines(uint32_t (&to)[4], uint32_t address)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(address)
                 : "memory");
}

/* Where piece @p piece of line @p line lies: eight lines have it in eight different places. */
__device__ __forceinline__ uint32_t piece_at(int line, int piece)
{
    return (uint32_t)(line * (kSlab * 2) + (piece ^ line % 8) * 16);
}

/** Up to 128 rows of X or Y, as this thread copies them: piece threadIdx % 8 of every 32nd. */
template <typename Half> struct Side {
    static constexpr int kStep = kThreads / kPieces, kMine = kSide / kStep;

    const Half *row[kMine]; /* NULL: none */

    __device__ __forceinline__ Side(const void *block, int64_t ld, int first, int rows,
                                    const int32_t *map)
    {
#pragma unroll
        for (int l = 0; l < kMine; l++) {
            const int i = first + (int)threadIdx.x / kPieces + l * kStep;

            row[l] = i >= rows
                         ? NULL
                         : (const Half *)block + (int64_t)(map == NULL ? i : __ldg(map + i)) * ld;
        }
    }

    /* Columns @p c on, to the slab at @p to; zeros behind column k. */
    template <bool kWide>
    __device__ __forceinline__ void copy(uint32_t to, int64_t c, int64_t k) const
    {
        const int     piece = (int)threadIdx.x % kPieces;
        const int64_t from  = c + 8 * piece;

#pragma unroll
        for (int l = 0; l < kMine; l++) {
            const int      line  = (int)threadIdx.x / kPieces + l * kStep;
            const bool     valid = row[l] != NULL && from < k;
            const uint32_t at    = to + piece_at(line, piece);

            if constexpr (kWide) {
                cp_async_at<16>(at, valid ? row[l] + from : NULL, valid);
            } else {
                uint32_t word[4] = {0, 0, 0, 0};

                for (int e = 0; valid && e < 8 && from + e < k; e++) {
                    const uint32_t bits = ((const uint16_t *)row[l])[from + e];

                    word[e / 2] |= bits << 16 * (e % 2);
                }
                store_shared(at, word);
            }
        }
    }
};

/** The results of a warp. */
template <typename Half> struct Part {
    const int row, col, lane; /* of the square */
    float     sum[kRows / 16][kCols / 8][4] = {};

    __device__ __forceinline__ Part()
        : row((int)threadIdx.x / kWarp / 4 * kRows), col((int)threadIdx.x / kWarp % 4 * kCols),
          lane((int)threadIdx.x % kWarp)
    {
    }

    /* Slabs of X at @p x and of Y at @p y. */
    __device__ __forceinline__ void multiply(uint32_t x, uint32_t y)
    {
#pragma unroll
        for (int c = 0; c < kPieces; c += 2) {
            uint32_t b[kCols / 16][4];

#pragma unroll
            for (int n = 0; n < kCols / 16; n++) { /* rows 0 to 7 of Y, their next piece, 8 to 15 */
                load_lines(b[n],
                           y + piece_at(col + 16 * n + lane / 16 * 8 + lane % 8, c + lane / 8 % 2));
            }
#pragma unroll
            for (int m = 0; m < kRows / 16; m++) {
                uint32_t a[4];

                load_lines(a, x + piece_at(row + 16 * m + lane % 16, c + lane / 16));
#pragma unroll
                for (int n = 0; n < kCols / 8; n++) {
                    mma_half_m16n8k16<Half>(sum[m][n], a, b[n / 2][2 * (n % 2)],
                                            b[n / 2][2 * (n % 2) + 1]);
                }
            }
        }
    }

    __device__ __forceinline__ void store(float *square) const
    {
        float *const to = square + (row + lane / 4) * kPitch + col + 2 * (lane % 4);

#pragma unroll
        for (int m = 0; m < kRows / 16; m++) {
#pragma unroll
            for (int n = 0; n < kCols / 8; n++) {
#pragma unroll
                for (int h = 0; h < 2; h++) {
                    *(float2 *)(to + (16 * m + 8 * h) * kPitch + 8 * n) =
                        make_float2(sum[m][n][2 * h], sum[m][n][2 * h + 1]);
                }
            }
        }
    }
};

/* The result at place @p at of the square to place @p place of S. */
template <typename Out>
__device__ __forceinline__ void put(const spmm_sddmm_args_t &args, const float *square, int at,
                                    int place)
{
    const float fresh = (float)args.alpha * square[at / kSide * kPitch + at % kSide];
    Out *const  s     = (Out *)args.S + place;

    *s = Narrow<Out>::from(args.beta == 0.0 ? fresh : fresh + (float)args.beta * widen<float>(*s));
}

/* Where entry @p e of square @p q goes, which is at place @p at of the square. */
__device__ __forceinline__ int place_of(const spmm_sddmm_squares_t &mask, int q, int e, int at)
{
    return mask.shift == NULL ? __ldg(mask.place + e)
                              : e + __ldg(mask.shift + (int64_t)q * kSide + at / kSide);
}

template <typename Half, typename Out, bool kWide>
__global__ void __launch_bounds__(kThreads, 2)
    sddmm_squares(const __grid_constant__ spmm_sddmm_squares_t mask,
                  const __grid_constant__ spmm_sddmm_args_t    args)
{
    extern __shared__ __align__(128) unsigned char squares[];
    const uint32_t                                 shared = shared_address(squares);
    const int        q = (int)blockIdx.x, row = __ldg(mask.corner + 2 * q);
    const int        col   = __ldg(mask.corner + 2 * q + 1);
    const int32_t   *strip = mask.first + (int64_t)q * SPMM_SDDMM_STRIPS;
    const int        begin = __ldg(strip), end = __ldg(strip + SPMM_SDDMM_STRIPS);
    const int        first = begin + (int)threadIdx.x;
    const int        mine  = end - first; /* from there on */
    const Side<Half> x(args.X, args.ldx, row, mask.n_rows, mask.row_map);
    const Side<Half> y(args.Y, args.ldy, col, mask.n_cols, NULL);
    Part<Half>       part;
    float *const     result = (float *)squares;
    uint32_t         now = shared, then = shared + 2 * kBytes;
    int              entry[kAhead], place[kAhead];

    if (begin == end) { /* the other one of its couple has entries */
        return;
    }
    x.template copy<kWide>(now, 0, args.k);
    y.template copy<kWide>(now + kBytes, 0, args.k);
    cp_async_commit();
    for (int64_t c = kSlab; c < args.k; c += kSlab) {
        cp_async_wait<0>();
        __syncthreads(); /* the slabs are there, and nobody is at those before */
        x.template copy<kWide>(then, c, args.k);
        y.template copy<kWide>(then + kBytes, c, args.k);
        cp_async_commit();
        part.multiply(now, now + kBytes);
        now  = then;
        then = shared + (then == shared ? 2 * kBytes : 0);
    }
    cp_async_wait<0>();
    __syncthreads();
#pragma unroll
    for (int i = 0; i < kAhead; i++) {
        if (i * kThreads < mine) {
            entry[i] = __ldg(mask.entry + first + i * kThreads);
            place[i] = place_of(mask, q, first + i * kThreads, entry[i]);
        }
    }
    part.multiply(now, now + kBytes);
    __syncthreads();
    part.store(result);
    __syncthreads();
#pragma unroll
    for (int i = 0; i < kAhead; i++) {
        if (i * kThreads < mine) {
            put<Out>(args, result, entry[i], place[i]);
        }
    }
#pragma unroll 4
    for (int e = kAhead * kThreads; e < mine; e += kThreads) {
        const int at = __ldg(mask.entry + first + e);

        put<Out>(args, result, at, place_of(mask, q, first + e, at));
    }
}

/* k too, so that a piece is a whole one or none. */
template <typename Half> bool is_wide(const spmm_sddmm_args_t &args)
{
    return fits(args.X, 16) && fits(args.Y, 16) && args.k % 8 == 0 && args.ldx % 8 == 0 &&
           args.ldy % 8 == 0;
}

template <typename Half, typename Out> cudaError_t load()
{
    void (*const all[])(spmm_sddmm_squares_t, spmm_sddmm_args_t) = {
        sddmm_squares<Half, Out, true>, sddmm_squares<Half, Out, false>};
    cudaError_t code = cudaSuccess;

    for (auto *const kernel : all) {
        code = code == cudaSuccess ? preload(kernel) : code;
        code =
            code == cudaSuccess
                ? cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kShared)
                : code;
    }
    return code;
}

} // namespace
} // namespace spmmi

extern "C" cudaError_t spmmi_cuda_sddmm_squares_preload(void)
{
    using namespace spmmi;
    return for_all_half_types([](auto types) {
        return load<typename decltype(types)::Half, typename decltype(types)::Out>();
    });
}

extern "C" cudaError_t spmmi_cuda_sddmm_squares(const spmm_sddmm_squares_t *mask,
                                                const spmm_sddmm_args_t *args, cudaStream_t stream)
{
    using namespace spmmi;
    return for_half_types(args->type, args->s_type, [&](auto types) {
        using Half        = typename decltype(types)::Half;
        using Out         = typename decltype(types)::Out;
        const bool  wide  = is_wide<Half>(*args);
        cudaError_t swept = cudaErrorNotSupported;

        if (mask->n_squares == 0) {
            return cudaSuccess;
        }
        if (wide) {
            swept = spmmi_cuda_sddmm_sweeps(mask, args, stream);
        }
        return swept != cudaErrorNotSupported
                   ? swept
                   : launch_with(
                         kShared,
                         wide ? sddmm_squares<Half, Out, true> : sddmm_squares<Half, Out, false>,
                         dim3((unsigned)mask->n_squares), dim3(kThreads), stream, *mask, *args);
    });
}
