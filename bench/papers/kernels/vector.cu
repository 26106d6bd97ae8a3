/* SPDX-License-Identifier: Apache-2.0 */
/** @file vector.cu
 *  SpMM of vectorSparse, section 5: a window of V rows by 64 columns of C is a tile, of a thread
 *  block of 32 threads by octets or by WMMA, of 8 lanes on CUDA cores.  Vectors come to shared
 *  memory kTileK at a time.
 *
 *  Where the paper is silent: kTileK is 32, and products of CUDA cores are FP32.
 */
#include <mma.h>

#include "cuda/windows/tc_common.cuh"
#include "vector.h"

namespace
{

constexpr int kTileN = 64, kTileK = 32, kWide = 8; /* columns of 16 bytes */

struct Dense {
    const __half *B;
    __half       *C;
    int64_t       n;
};

/** Vectors of a tile of A. */
template <int kV> struct Tile {
    __half  a[kTileK * kV];
    int32_t col[kTileK];
};

/** V halves in one access. */
template <int kV> struct alignas(2 * kV) Vector {
    __half h[kV];
};

/** Copy @p count vectors from @p first on by @p lanes lanes, zeros behind them, where columns are
 *  -1. */
template <int kV>
__device__ __forceinline__ void load_a(const vector_matrix_t &A, int first, int count, int lane,
                                       int lanes, Tile<kV> &to)
{
    for (int k = lane; k < kTileK; k += lanes) {
        Vector<kV> v = {};

        to.col[k] = -1;
        if (k < count) {
            to.col[k] = A.col[first + k];
            v         = ((const Vector<kV> *)A.values)[first + k];
        }
        ((Vector<kV> *)to.a)[k] = v;
    }
}

__device__ __forceinline__ uint4 load_b(const Dense &x, int32_t col, int64_t column)
{
    return col < 0 || column >= x.n ? make_uint4(0, 0, 0, 0)
                                    : __ldg((const uint4 *)(x.B + col * x.n + column));
}

__device__ __forceinline__ uint32_t pair(float x, float y)
{
    const __half2 h = __floats2half2_rn(x, y);

    return *(const uint32_t *)&h;
}

/** Four products of 8x4 and 4x8 at once, one of each octet: columns of B on the side of m, rows of
 *  the window on that of n. */
__device__ __forceinline__ void mma_octets(float (&sum)[8], uint32_t b0, uint32_t b1, uint32_t a0,
                                           uint32_t a1)
{
    asm("mma.sync.aligned.m8n8k4.col.row.f32.f16.f16.f32 {%0,%1,%2,%3,%4,%5,%6,%7}, {%8,%9}, "
        "{%10,%11}, {%0,%1,%2,%3,%4,%5,%6,%7};"
        : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3]), "+f"(sum[4]), "+f"(sum[5]),
          "+f"(sum[6]), "+f"(sum[7])
        : "r"(b0), "r"(b1), "r"(a0), "r"(a1));
}

/** Lanes 4 o to 4 o + 3 and 16 more are octet o: it has columns 16 o to 16 o + 15 of the tile,
 *  the upper lanes the second 8 of them; lane % 4 is the row of B in a step of four. */
template <int kV> struct Octets {
    float sum[2][8] = {};
    int   lane, half;

    __device__ __forceinline__ Octets() : lane((int)threadIdx.x % 32), half(lane / 16) {}

    __device__ __forceinline__ int64_t column() const
    {
        return (int64_t)blockIdx.y * kTileN + lane % 16 / 4 * 16 + half * 8;
    }

    /* Four vectors: of each lane rows 4 half to 4 half + 3 of one. */
    __device__ __forceinline__ void multiply(const Tile<kV> &tile, int step, const uint4 &b)
    {
        const __half *const from = tile.a + (4 * step + lane % 4) * kV;
        uint2               a    = make_uint2(0, 0);

        if constexpr (kV == 8) {
            a = *(const uint2 *)(from + 4 * half);
        } else if constexpr (kV == 4) {
            a = half == 0 ? *(const uint2 *)from : a;
        } else {
            a.x = half == 0 ? *(const uint32_t *)from : 0;
        }
        mma_octets(sum[0], b.x, b.y, a.x, a.y);
        mma_octets(sum[1], b.z, b.w, a.x, a.y);
    }

    /* Neighbours exchange halves, so that a lane has 8 columns of rows lane % 4 and 4 more. */
    __device__ __forceinline__ void store(const vector_matrix_t &A, const Dense &x, int window)
    {
        const bool odd = lane % 2 != 0;

#pragma unroll
        for (int high = 0; high < 8; high += 4) {
            float out[2][4];

#pragma unroll
            for (int q = 0; q < 2; q++) {
#pragma unroll
                for (int i = high; i < high + 4; i += 2) {
                    const float give = odd ? sum[q][i] : sum[q][i + 1];
                    const float keep = odd ? sum[q][i + 1] : sum[q][i];
                    const float got  = __shfl_xor_sync(0xffffffffu, give, 1);

                    out[q][i - high]     = odd ? got : keep;
                    out[q][i - high + 1] = odd ? keep : got;
                }
            }
            const int v = high + lane % 4, row = window * kV + v;

            if (v < kV && row < A.n_rows && column() < x.n) {
                *(uint4 *)(x.C + row * x.n + column()) =
                    make_uint4(pair(out[0][0], out[0][1]), pair(out[0][2], out[0][3]),
                               pair(out[1][0], out[1][1]), pair(out[1][2], out[1][3]));
            }
        }
    }

    /* As mma leaves them: sum i is of row i & 5 + lane & 2, column i & 2 + lane & 1 of four. */
    __device__ __forceinline__ void store_as_is(const vector_matrix_t &A, const Dense &x,
                                                int window) const
    {
#pragma unroll
        for (int k = 0; k < 16; k++) {
            const int     i = k % 8, v = (i & 5) + (lane & 2), row = window * kV + v;
            const int64_t j = column() + k / 8 * 4 + (i & 2) + (lane & 1);

            if (v < kV && row < A.n_rows && column() < x.n) {
                x.C[row * x.n + j] = __float2half_rn(sum[k / 8][i]);
            }
        }
    }
};

/** @tparam kTiling  an octet one */
template <int kV, vector_tiling_t kTiling, int kWarps = 1>
__global__ void __launch_bounds__(32 * kWarps) octet_kernel(vector_matrix_t A, Dense x)
{
    __shared__ __align__(16) Tile<kV> tiles[kWarps];

    constexpr bool kFence = kTiling != VECTOR_OCTET_MIXED;
    constexpr int  kWhole = kTiling == VECTOR_OCTET_WHOLE ? 1 : kTileK; /* least for the fence */
    const int      lane = (int)threadIdx.x % 32, own = (int)threadIdx.x / 32;
    const int      window = (int)blockIdx.x * kWarps + own;
    Tile<kV>      &tile   = tiles[own];
    Octets<kV>     octets;

    if (window >= A.n_windows) {
        return;
    }
    const int last = A.window_ptr[window + 1];

    for (int first = A.window_ptr[window]; first < last; first += kTileK) {
        const int count = min(kTileK, last - first);

        load_a<kV>(A, first, count, lane, 32, tile);
        __syncwarp();
        if (kFence && count >= kWhole) {
            uint4 b[kTileK / 4];

#pragma unroll
            for (int step = 0; step < kTileK / 4; step++) {
                b[step] = load_b(x, tile.col[4 * step + lane % 4], octets.column());
            }
            __threadfence_block();
#pragma unroll
            for (int step = 0; step < kTileK / 4; step++) {
                octets.multiply(tile, step, b[step]);
            }
        } else {
            for (int step = 0; 4 * step < count; step++) {
                octets.multiply(tile, step,
                                load_b(x, tile.col[4 * step + lane % 4], octets.column()));
            }
        }
        __syncwarp();
    }
    if constexpr (kTiling == VECTOR_OCTET_DIRECT) {
        octets.store_as_is(A, x, window);
    } else {
        octets.store(A, x, window);
    }
}

constexpr int kWmmaK = 16;

/** Sixteen vectors in 8 rows, and the rows of B that they meet. */
template <int kV> struct WarpTile {
    Tile<kV> vectors;
    __half   a[kWmmaK * 8]; /* by columns */
    __half   b[kWmmaK * kTileN];
    float    c[8 * kTileN];
};

template <int kV>
__device__ __forceinline__ void stage(const Dense &x, int from, int lane, WarpTile<kV> &s)
{
    for (int k = lane; k < kWmmaK * 8; k += 32) {
        s.a[k] = k % 8 < kV ? s.vectors.a[(from + k / 8) * kV + k % 8] : __float2half(0.0f);
    }
    for (int k = lane; k < kWmmaK * kTileN / kWide; k += 32) {
        const int64_t column = (int64_t)blockIdx.y * kTileN + k % 8 * kWide;

        ((uint4 *)s.b)[k] = load_b(x, s.vectors.col[from + k / 8], column);
    }
}

template <int kV> __global__ void __launch_bounds__(32) warp_kernel(vector_matrix_t A, Dense x)
{
    using namespace nvcuda::wmma;
    __shared__ __align__(32) WarpTile<kV> s;

    const int last = A.window_ptr[blockIdx.x + 1], lane = (int)threadIdx.x;
    fragment<accumulator, 8, 32, kWmmaK, float> sum[2];

    fill_fragment(sum[0], 0.0f);
    fill_fragment(sum[1], 0.0f);
    for (int first = A.window_ptr[blockIdx.x]; first < last; first += kTileK) {
        load_a<kV>(A, first, min(kTileK, last - first), lane, 32, s.vectors);
        __syncwarp();
        for (int from = 0; from < min(kTileK, last - first); from += kWmmaK) {
            fragment<matrix_a, 8, 32, kWmmaK, __half, col_major> a;
            fragment<matrix_b, 8, 32, kWmmaK, __half, row_major> b;

            stage<kV>(x, from, lane, s);
            __syncwarp();
            load_matrix_sync(a, s.a, 8);
#pragma unroll
            for (int side = 0; side < 2; side++) {
                load_matrix_sync(b, s.b + 32 * side, kTileN);
                mma_sync(sum[side], a, b, sum[side]);
            }
            __syncwarp();
        }
    }
    store_matrix_sync(s.c, sum[0], kTileN, mem_row_major);
    store_matrix_sync(s.c + 32, sum[1], kTileN, mem_row_major);
    __syncwarp();
    for (int k = lane; k < kV * kTileN / 2; k += 32) {
        const int     row    = (int)blockIdx.x * kV + k / (kTileN / 2);
        const int64_t column = (int64_t)blockIdx.y * kTileN + k % (kTileN / 2) * 2;

        if (row < A.n_rows && column < x.n) {
            *(uint32_t *)(x.C + row * x.n + column) = pair(s.c[2 * k], s.c[2 * k + 1]);
        }
    }
}

constexpr int kLanes = 8, kSubwarps = 4, kFour = 4;

/** A subwarp of 8 lanes has a window; a lane 8 columns. */
template <int kV> __global__ void __launch_bounds__(32) subwarp_kernel(vector_matrix_t A, Dense x)
{
    __shared__ __align__(16) Tile<kV> tiles[kSubwarps];

    const int      lane = (int)threadIdx.x % kLanes, own = (int)threadIdx.x / kLanes;
    const int      window         = (int)blockIdx.x * kSubwarps + own;
    const unsigned mask           = 0xffu << (own * kLanes);
    const int64_t  column         = (int64_t)blockIdx.y * kTileN + lane * kWide;
    Tile<kV>      &tile           = tiles[own];
    float          sum[kV][kWide] = {};

    if (window >= A.n_windows) {
        return;
    }
    for (int first = A.window_ptr[window]; first < A.window_ptr[window + 1]; first += kTileK) {
        const int count = min(kTileK, A.window_ptr[window + 1] - first);

        load_a<kV>(A, first, count, lane, kLanes, tile);
        __syncwarp(mask);
#pragma unroll 4
        for (int k = 0; k < count; k++) {
            const uint4      b    = load_b(x, tile.col[k], column);
            const __half    *half = (const __half *)&b;
            const Vector<kV> a    = ((const Vector<kV> *)tile.a)[k];

#pragma unroll
            for (int v = 0; v < kV; v++) {
#pragma unroll
                for (int j = 0; j < kWide; j++) {
                    sum[v][j] = fmaf(__half2float(a.h[v]), __half2float(half[j]), sum[v][j]);
                }
            }
        }
        __syncwarp(mask);
    }
#pragma unroll
    for (int v = 0; v < kV; v++) {
        const int row = window * kV + v;

        if (row < A.n_rows && column < x.n) {
            *(uint4 *)(x.C + row * x.n + column) =
                make_uint4(pair(sum[v][0], sum[v][1]), pair(sum[v][2], sum[v][3]),
                           pair(sum[v][4], sum[v][5]), pair(sum[v][6], sum[v][7]));
        }
    }
}

template <int kV>
void launch(vector_tiling_t tiling, const vector_matrix_t &A, const Dense &x, cudaStream_t stream)
{
    const unsigned slices = (unsigned)((x.n + kTileN - 1) / kTileN);
    const int      own    = tiling == VECTOR_SUBWARP      ? kSubwarps
                            : tiling == VECTOR_OCTET_FOUR ? kFour
                                                          : 1; /* windows of a thread block */
    const dim3     grid((unsigned)((A.n_windows + own - 1) / own), slices);

    switch (tiling) {
    case VECTOR_OCTET:
        octet_kernel<kV, VECTOR_OCTET><<<grid, 32, 0, stream>>>(A, x);
        break;
    case VECTOR_OCTET_MIXED:
        octet_kernel<kV, VECTOR_OCTET_MIXED><<<grid, 32, 0, stream>>>(A, x);
        break;
    case VECTOR_OCTET_WHOLE:
        octet_kernel<kV, VECTOR_OCTET_WHOLE><<<grid, 32, 0, stream>>>(A, x);
        break;
    case VECTOR_OCTET_DIRECT:
        octet_kernel<kV, VECTOR_OCTET_DIRECT><<<grid, 32, 0, stream>>>(A, x);
        break;
    case VECTOR_OCTET_FOUR:
        octet_kernel<kV, VECTOR_OCTET_FOUR, kFour><<<grid, 32 * kFour, 0, stream>>>(A, x);
        break;
    case VECTOR_WARP:
        warp_kernel<kV><<<grid, 32, 0, stream>>>(A, x);
        break;
    default:
        subwarp_kernel<kV><<<grid, 32, 0, stream>>>(A, x);
        break;
    }
}

} // namespace

extern "C" cudaError_t vector_mm(vector_tiling_t tiling, int v, const vector_matrix_t *A,
                                 const void *B, void *C, int64_t n, cudaStream_t stream)
{
    const Dense x = {(const __half *)B, (__half *)C, n};

    if (n % kWide != 0 || tiling < VECTOR_OCTET || tiling >= VECTOR_TILINGS) {
        return cudaErrorInvalidValue;
    }
    if (A->n_windows > 0) {
        switch (v) {
        case 2:
            launch<2>(tiling, *A, x, stream);
            break;
        case 4:
            launch<4>(tiling, *A, x, stream);
            break;
        case 8:
            launch<8>(tiling, *A, x, stream);
            break;
        default:
            return cudaErrorInvalidValue;
        }
    }
    return cudaGetLastError();
}
