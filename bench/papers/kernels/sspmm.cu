/* SPDX-License-Identifier: Apache-2.0 */
/** @file sspmm.cu
 *  Algorithm 2 of SSpMM: a thread block of 32 threads has V x 64 of C, V = 8 or 16.  Vectors and
 *  their columns come to two buffers of shared memory, rows of B straight to registers, 16 bytes
 *  of four rows for a lane, which mma takes as they are, in another order of columns.
 *
 *  Values stand in the format in the order of the lanes (spmmi_cvse_value_at()), so shared memory
 *  keeps that order.
 */
#include <mma.h>

#include "cuda/windows/tc_common.cuh"
#include "sspmm.h"

namespace
{

constexpr int kBlock = SPMM_CVSE_BLOCK, kColumns = 64;

struct Dense {
    const __half  *B;
    __half        *C;
    int64_t        n;
    const int32_t *row_map;
};

/** Row of C of row @p r of a window, NULL: none. */
template <int kV>
__device__ __forceinline__ __half *row_of(const spmm_cvse_arrays_t &A, const Dense &x, int r)
{
    const int i = blockIdx.x * kV + r;

    if (i >= A.n_rows) {
        return NULL;
    }
    const int64_t row = x.row_map == NULL ? i : x.row_map[i];

    return row < 0 ? NULL : x.C + row * x.n;
}

template <int kV> struct Shared {
    __half  a[2][kBlock * kV];
    int32_t col[2][kBlock];
};

template <int kV>
__device__ __forceinline__ void copy_a(const spmm_cvse_arrays_t &A, int block, int to,
                                       Shared<kV> &s)
{
    const int lane = threadIdx.x;

    if (lane < kBlock * kV / 8) {
        spmmi::cp_async<16>(s.a[to] + 8 * lane,
                            (const __half *)A.values + (int64_t)block * (kBlock * kV) + 8 * lane);
    }
    if (lane < kBlock / 4) {
        spmmi::cp_async<16>(s.col[to] + 4 * lane, A.col + (int64_t)block * kBlock + 4 * lane);
    }
}

__device__ __forceinline__ uint32_t low(uint32_t x, uint32_t y)
{
    return __byte_perm(x, y, 0x5410);
}
__device__ __forceinline__ uint32_t high(uint32_t x, uint32_t y)
{
    return __byte_perm(x, y, 0x7632);
}
__device__ __forceinline__ uint32_t pair(float x, float y)
{
    const __half2 h = __floats2half2_rn(x, y);

    return *(const uint32_t *)&h;
}

/** 16 bytes of each of the lane's four rows of B. */
__device__ __forceinline__ void load_b(const int32_t *col, const Dense &x, int64_t column,
                                       uint32_t (&b)[4][4])
{
    const int4 at      = *(const int4 *)(col + threadIdx.x % 4 * 4);
    const int  rows[4] = {at.x, at.y, at.z, at.w};

#pragma unroll
    for (int k = 0; k < 4; k++) {
        const int4 v = rows[k] < 0 || column >= x.n
                           ? make_int4(0, 0, 0, 0)
                           : __ldg((const int4 *)(x.B + rows[k] * x.n + column));

        b[k][0] = (uint32_t)v.x, b[k][1] = (uint32_t)v.y;
        b[k][2] = (uint32_t)v.z, b[k][3] = (uint32_t)v.w;
    }
}

/** Lane 4 g + t: rows 2 t and 2 t + 1 of each 8 of the window, columns 8 g to 8 g + 7. */
template <int kV> struct Transposed {
    static constexpr int kTiles            = kV / 8;
    float                sum[kTiles][4][4] = {};

    static __device__ __forceinline__ int64_t column()
    {
        return (int64_t)blockIdx.y * kColumns + threadIdx.x / 4 * 8;
    }

    __device__ __forceinline__ void multiply(const __half *values, const uint32_t (&b)[4][4])
    {
#pragma unroll
        for (int tile = 0; tile < kTiles; tile++) {
            const uint2 a = *((const uint2 *)values + threadIdx.x * kTiles + tile);

#pragma unroll
            for (int q = 0; q < 4; q++) {
                const uint32_t x[4] = {low(b[0][q], b[1][q]), high(b[0][q], b[1][q]),
                                       low(b[2][q], b[3][q]), high(b[2][q], b[3][q])};

                spmmi::mma_half_m16n8k16<__half>(sum[tile][q], x, a.x, a.y);
            }
        }
    }

    __device__ __forceinline__ void store(const spmm_cvse_arrays_t &A, const Dense &x) const
    {
#pragma unroll
        for (int k = 0; k < 2 * kTiles; k++) {
            const int     i  = k % 2;
            __half *const to = row_of<kV>(A, x, k / 2 * 8 + threadIdx.x % 4 * 2 + i);
            const auto   &c  = sum[k / 2];

            if (to != NULL && column() < x.n) {
                *(uint4 *)(to + column()) =
                    make_uint4(pair(c[0][i], c[0][2 + i]), pair(c[1][i], c[1][2 + i]),
                               pair(c[2][i], c[2][2 + i]), pair(c[3][i], c[3][2 + i]));
            }
        }
    }
};

/** Lane 4 g + t: rows g and g + 8, columns 16 t to 16 t + 15; loads are those of Transposed. */
template <int kV> struct Direct {
    float sum[8][4] = {};

    static __device__ __forceinline__ int64_t column()
    {
        return Transposed<kV>::column();
    }

    __device__ __forceinline__ void multiply(const __half *values, const uint32_t (&b)[4][4])
    {
        const uint2 a = *((const uint2 *)values + threadIdx.x * (kV / 8));
        const uint2 more =
            kV == 16 ? *((const uint2 *)values + threadIdx.x * 2 + 1) : make_uint2(0, 0);
        const uint32_t x[4] = {a.x, more.x, a.y, more.y};

#pragma unroll
        for (int q = 0; q < 4; q++) {
            spmmi::mma_half_m16n8k16<__half>(sum[2 * q], x, low(b[0][q], b[1][q]),
                                             low(b[2][q], b[3][q]));
            spmmi::mma_half_m16n8k16<__half>(sum[2 * q + 1], x, high(b[0][q], b[1][q]),
                                             high(b[2][q], b[3][q]));
        }
    }

    __device__ __forceinline__ void store(const spmm_cvse_arrays_t &A, const Dense &x) const
    {
#pragma unroll
        for (int k = 0; k < kV / 4; k++) {
            const int     i  = k / 2 * 2 + k % 2; /* which of a sum's four */
            __half *const to = row_of<kV>(A, x, k / 2 * 8 + threadIdx.x / 4);
            const int64_t column =
                (int64_t)blockIdx.y * kColumns + threadIdx.x % 4 * 16 + k % 2 * 8;

            if (to != NULL && column < x.n) {
                *(uint4 *)(to + column) =
                    make_uint4(pair(sum[0][i], sum[1][i]), pair(sum[2][i], sum[3][i]),
                               pair(sum[4][i], sum[5][i]), pair(sum[6][i], sum[7][i]));
            }
        }
    }
};

/** @tparam kBuffers  of vectors in shared memory; 0: none */
template <class Sums, int kV, int kBuffers = 2>
__global__ void __launch_bounds__(32) sspmm_kernel(spmm_cvse_arrays_t A, Dense x)
{
    __shared__ __align__(16) Shared<kV> shared;

    const int first = A.window_ptr[blockIdx.x], last = A.window_ptr[blockIdx.x + 1];
    Sums      sums;

    if constexpr (kBuffers == 2) {
        if (first < last) {
            copy_a<kV>(A, first, 0, shared);
        }
        spmmi::cp_async_commit();
    }
    for (int block = first; block < last; block++) {
        uint32_t b[4][4];

        if constexpr (kBuffers == 0) {
            load_b(A.col + (int64_t)block * kBlock, x, sums.column(), b);
            sums.multiply((const __half *)A.values + (int64_t)block * (kBlock * kV), b);
        } else {
            const int now  = kBuffers == 2 ? (block - first) % 2 : 0;
            const int copy = block + kBuffers - 1; /* the block to copy meanwhile, or now */

            if (copy < last) {
                copy_a<kV>(A, copy, kBuffers - 1 - now, shared);
            }
            spmmi::cp_async_commit();
            spmmi::cp_async_wait<kBuffers == 2>();
            __syncwarp();
            load_b(shared.col[now], x, sums.column(), b);
            sums.multiply(shared.a[now], b);
            __syncwarp();
        }
    }
    sums.store(A, x);
}

/** Transpose Mapping by WMMA: 32 columns of B are its m. */
template <int kV> __global__ void __launch_bounds__(32) wmma_kernel(spmm_cvse_arrays_t A, Dense x)
{
    using namespace nvcuda;
    constexpr int kPitch = kColumns + 8, kPitchA = kBlock + 8, kPitchC = kColumns + 4;
    __shared__ __align__(32) __half b[kBlock][kPitch];
    __shared__ __align__(32) __half a[kV][kPitchA];
    __shared__ __align__(32) float c[kV][kPitchC];

    const int                                           lane = threadIdx.x;
    const int64_t                                       j0   = (int64_t)blockIdx.y * kColumns;
    wmma::fragment<wmma::accumulator, 32, 8, 16, float> sum[kV / 8][2];

    for (int k = 0; k < kV / 8 * 2; k++) {
        wmma::fill_fragment(sum[k / 2][k % 2], 0.0f);
    }
    for (int block = A.window_ptr[blockIdx.x]; block < A.window_ptr[blockIdx.x + 1]; block++) {
        const __half *const values = (const __half *)A.values + (int64_t)block * (kBlock * kV);

        for (int k = lane; k < kBlock * kV; k += 32) {
            a[k / kBlock][k % kBlock] = values[spmmi_cvse_value_at(kV, k / kBlock, k % kBlock)];
        }
        for (int k = lane; k < kBlock * 8; k += 32) {
            const int32_t row = A.col[(int64_t)block * kBlock + spmmi_cvse_col_at(k / 8)];
            const int64_t j   = j0 + k % 8 * 8;

            *(int4 *)&b[k / 8][k % 8 * 8] =
                row < 0 || j >= x.n ? make_int4(0, 0, 0, 0) : *(const int4 *)(x.B + row * x.n + j);
        }
        __syncwarp();
#pragma unroll
        for (int half = 0; half < 2; half++) {
            wmma::fragment<wmma::matrix_a, 32, 8, 16, __half, wmma::col_major> left;

            wmma::load_matrix_sync(left, &b[0][32 * half], kPitch);
#pragma unroll
            for (int tile = 0; tile < kV / 8; tile++) {
                wmma::fragment<wmma::matrix_b, 32, 8, 16, __half, wmma::col_major> right;

                wmma::load_matrix_sync(right, &a[8 * tile][0], kPitchA);
                wmma::mma_sync(sum[tile][half], left, right, sum[tile][half]);
            }
        }
        __syncwarp();
    }
    for (int k = 0; k < kV / 8 * 2; k++) {
        wmma::store_matrix_sync(&c[k / 2 * 8][k % 2 * 32], sum[k / 2][k % 2], kPitchC,
                                wmma::mem_col_major);
    }
    __syncwarp();
    for (int k = lane; k < kV * kColumns / 2; k += 32) {
        const int     r = k / (kColumns / 2), j = k % (kColumns / 2) * 2;
        __half *const to = row_of<kV>(A, x, r);

        if (to != NULL && j0 + j < x.n) {
            *(uint32_t *)(to + j0 + j) = pair(c[r][j], c[r][j + 1]);
        }
    }
}

} // namespace

extern "C" cudaError_t sspmm_mm(sspmm_scheme_t scheme, const spmm_cvse_arrays_t *A,
                                const int32_t *row_map, const void *B, void *C, int64_t n,
                                cudaStream_t stream)
{
    using Kernel = void (*)(spmm_cvse_arrays_t, Dense);

    constexpr Kernel kernels[SSPMM_SCHEMES][2] = {
        {sspmm_kernel<Transposed<8>, 8>, sspmm_kernel<Transposed<16>, 16>},
        {sspmm_kernel<Direct<8>, 8>, sspmm_kernel<Direct<16>, 16>},
        {wmma_kernel<8>, wmma_kernel<16>},
        {sspmm_kernel<Transposed<8>, 8, 1>, sspmm_kernel<Transposed<16>, 16, 1>},
        {sspmm_kernel<Transposed<8>, 8, 0>, sspmm_kernel<Transposed<16>, 16, 0>}};
    const dim3 grid((unsigned)A->n_windows, (unsigned)((n + kColumns - 1) / kColumns));

    if (n % 8 != 0 || grid.y > 65535) {
        return cudaErrorInvalidValue;
    }
    if (A->n_windows > 0 && n > 0) {
        kernels[scheme][A->height / 16]<<<grid, 32, 0, stream>>>(
            *A, Dense{(const __half *)B, (__half *)C, n, row_map});
    }
    return cudaGetLastError();
}
