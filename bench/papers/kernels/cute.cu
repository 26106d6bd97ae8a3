/* SPDX-License-Identifier: Apache-2.0 */
/** @file cute.cu
 *  Algorithm 1 of cuTeSpMM.  A thread block of N / 32 warps, at most 4, has a panel, or a virtual
 *  one, by up to 128 columns of C, a warp 32 of them.  All warps copy a packed block of A and its
 *  16 rows of B to shared memory, meet, and multiply brick by brick, each decoded once for four
 *  tiles of B.
 *
 *  Where the paper is silent: rows of B in shared memory stand 8 columns further apart than they
 *  are wide, so that the lanes of a load are in different banks, as its count of transactions
 *  assumes; operands are rounded to TF32.
 */
#include "cuda/tc/tc_common.cuh"
#include "cute.h"

namespace
{

constexpr int kWarp = 32, kTiles = 4, kTn = 32; /* tiles of B, and columns, of a warp */
constexpr int kTk = SPMM_HRPB_BLOCK, kMost = 4; /* most warps */
constexpr int kPitch = kMost * kTn + 8;

template <int kTm> struct Shared {
    static constexpr int kBricks = kTm / SPMM_HRPB_BRICK_M;
    static constexpr int kBytes =
        SPMM_HRPB_PATTERNS + 4 * kBricks * (int)sizeof(uint64_t) + kTm * kTk * (int)sizeof(float);

    __align__(16) unsigned char a[kBytes];
    float b[kTk][kPitch];
};

/** Lines 15 to 22. */
template <int kTm, int kWarps>
__device__ __forceinline__ void copy(const spmm_hrpb_arrays_t &A, int block, const float *B,
                                     int64_t n, Shared<kTm> &to)
{
    constexpr int kThreads = kWarps * kWarp, kUnits = Shared<kTm>::kBytes / 16;
    const int     warp = threadIdx.x / kWarp, lane = threadIdx.x % kWarp;
    const int     first = A.size_ptr[block], units = A.size_ptr[block + 1] - first;
    const auto   *from = (const int4 *)A.packed + first;

#pragma unroll
    for (int k = threadIdx.x; k < kUnits; k += kThreads) {
        if (k < units) {
            ((int4 *)to.a)[k] = from[k];
        }
    }
    float v[kTk / kWarps][kWarps]; /* all of them under way */

#pragma unroll
    for (int i = 0; i < kTk / kWarps; i++) {
        const int32_t row = A.col[(int64_t)block * kTk + i * kWarps + warp];

#pragma unroll
        for (int j = 0; j < kWarps; j++) {
            v[i][j] = row < 0 ? 0.0f : B[row * n + j * kWarp + lane];
        }
    }
#pragma unroll
    for (int i = 0; i < kTk / kWarps; i++) {
#pragma unroll
        for (int j = 0; j < kWarps; j++) {
            to.b[i * kWarps + warp][j * kWarp + lane] = v[i][j];
        }
    }
}

/** Lines 24 to 42. */
template <int kTm>
__device__ __forceinline__ void multiply(const Shared<kTm> &shared,
                                         float (&sum)[kTm / 16][kTiles][4])
{
    const int                  warp = threadIdx.x / kWarp, lane = threadIdx.x % kWarp;
    const unsigned char *const col_ptr = shared.a + SPMM_HRPB_COL_PTR;
    const auto *const          pattern = (const uint64_t *)(shared.a + SPMM_HRPB_PATTERNS);
    const auto *value = (const float *)(pattern + Shared<kTm>::kBricks * (kTk / SPMM_HRPB_BRICK_K));

#pragma unroll
    for (int i = 0; i < kTk / SPMM_HRPB_BRICK_K; i++) {
        uint32_t b[kTiles];

#pragma unroll
        for (int k = 0; k < kTiles; k++) {
            b[k] = spmmi::to_tf32(
                shared.b[i * SPMM_HRPB_BRICK_K + lane % 4][warp * kTn + k * 8 + lane / 4]);
        }
        for (int j = col_ptr[i]; j < col_ptr[i + 1]; j++) {
            const uint64_t bits = pattern[j];
            const uint32_t low = (uint32_t)bits, high = (uint32_t)(bits >> 32);
            const uint32_t below = (1u << lane) - 1, in_low = (uint32_t)__popc(low);
            uint32_t       a[2] = {0, 0};

            if ((low >> lane & 1) != 0) {
                a[0] = spmmi::to_tf32(value[__popc(low & below)]);
            }
            if ((high >> lane & 1) != 0) {
                a[1] = spmmi::to_tf32(value[in_low + (uint32_t)__popc(high & below)]);
            }
            value += in_low + (uint32_t)__popc(high);
            if (kTm == 16 || shared.a[SPMM_HRPB_ROWS + j] == 0) {
#pragma unroll
                for (int k = 0; k < kTiles; k++) {
                    spmmi::mma_tf32_m16n8k4(sum[0][k], a, b[k]);
                }
            } else {
#pragma unroll
                for (int k = 0; k < kTiles; k++) {
                    spmmi::mma_tf32_m16n8k4(sum[kTm / 16 - 1][k], a, b[k]);
                }
            }
        }
    }
}

template <int kTm, int kWarps>
__global__ void __launch_bounds__(kWarps *kWarp)
    cute_kernel(cute_work_t work, const float *B, float *C, int64_t n)
{
    __shared__ Shared<kTm> shared;

    const spmm_tc_piece_t piece = work.work.piece[blockIdx.x];
    const int64_t         first = (int64_t)blockIdx.y * blockDim.x; /* TN = the threads of a warp */
    const int             warp = threadIdx.x / kWarp, lane = threadIdx.x % kWarp;
    const bool            part                     = (int)blockIdx.x < work.work.n_partial;
    float                 sum[kTm / 16][kTiles][4] = {};

    for (int block = piece.block; block < piece.block + piece.n_blocks; block++) {
        copy<kTm, kWarps>(work.A, block, B + first, n, shared);
        __syncthreads();
        multiply<kTm>(shared, sum);
        __syncthreads();
    }
#pragma unroll
    for (int k = 0; k < kTm / 8; k++) { /* rows g, g + 8, g + 16, g + 24 */
        const int     row = k * 8 + lane / 4;
        const int64_t i   = (int64_t)piece.window * kTm + row;

        if (i >= work.A.n_rows) {
            continue;
        }
#pragma unroll
        for (int tile = 0; tile < kTiles; tile++) {
            const float  *v      = sum[k / 2][tile] + k % 2 * 2;
            const int64_t column = first + warp * kTn + tile * 8 + lane % 4 * 2;

            if (part && work.atomic) {
                atomicAdd(C + i * n + column, v[0]);
                atomicAdd(C + i * n + column + 1, v[1]);
            } else {
                float *const to = part ? (float *)work.work.partial +
                                             ((int64_t)blockIdx.x * kTm + row) * n + column
                                       : C + i * n + column;

                *(float2 *)to = make_float2(v[0], v[1]);
            }
        }
    }
}

/** The pieces of a row of a cut panel, in their order. */
__global__ void finish_kernel(cute_work_t work, float *C, int64_t n)
{
    const int             tm    = work.A.panel_rows;
    const spmm_tc_split_t split = work.work.split[blockIdx.x / tm];
    const int             row   = blockIdx.x % tm;
    const int64_t         i     = (int64_t)split.window * tm + row;

    for (int64_t j = threadIdx.x; j < n && i < work.A.n_rows; j += blockDim.x) {
        const float *from =
            (const float *)work.work.partial + ((int64_t)split.piece * tm + row) * n;
        float sum = 0.0f;

        for (int p = 0; p < split.n_pieces; p++) {
            sum += from[(int64_t)p * tm * n + j];
        }
        C[i * n + j] = sum;
    }
}

using Kernel = void (*)(cute_work_t, const float *, float *, int64_t);

/** Of 1, 2 and 4 warps. */
Kernel kernel_of(int32_t panel_rows, int warps)
{
    constexpr Kernel kernels[2][3] = {{cute_kernel<16, 1>, cute_kernel<16, 2>, cute_kernel<16, 4>},
                                      {cute_kernel<32, 1>, cute_kernel<32, 2>, cute_kernel<32, 4>}};

    return kernels[panel_rows == 32][warps / 2];
}

int warps_of(int64_t n)
{
    return n % (kMost * kTn) == 0 ? kMost : n % (2 * kTn) == 0 ? 2 : 1;
}

} // namespace

extern "C" cudaError_t cute_resident(int32_t panel_rows, int64_t n, int *thread_blocks)
{
    const int warps = warps_of(n);

    return cudaOccupancyMaxActiveBlocksPerMultiprocessor(
        thread_blocks, kernel_of(panel_rows, warps), warps * kWarp, 0);
}

extern "C" cudaError_t cute_mm(const cute_work_t *work, const float *B, float *C, int64_t n,
                               cudaStream_t stream)
{
    const int  warps = warps_of(n);
    const bool cut   = work->work.n_splits > 0;

    if (n % kTn != 0) {
        return cudaErrorInvalidValue;
    }
    if (cut && work->atomic) {
        const cudaError_t code =
            cudaMemsetAsync(C, 0, (size_t)work->A.n_rows * (size_t)n * sizeof *C, stream);

        if (code != cudaSuccess) {
            return code;
        }
    }
    if (work->work.n_pieces > 0) {
        const dim3 grid((unsigned)work->work.n_pieces, (unsigned)(n / (warps * kTn)));

        kernel_of(work->A.panel_rows, warps)<<<grid, warps * kWarp, 0, stream>>>(*work, B, C, n);
    }
    if (cut && !work->atomic) {
        finish_kernel<<<(unsigned)(work->work.n_splits * work->A.panel_rows), 128, 0, stream>>>(
            *work, C, n);
    }
    return cudaGetLastError();
}
