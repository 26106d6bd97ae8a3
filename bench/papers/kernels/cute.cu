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
#include "cuda/windows/tc_common.cuh"
#include "cute.h"

namespace
{

constexpr int kWarp = 32, kTk = SPMM_HRPB_BLOCK;
constexpr int kMost = 128, kPitch = kMost + 8; /* most columns of a thread block */

/** Columns of a warp, kTn, and of a thread block. */
template <int kTmOf, int kTnOf, int kColumnsOf> struct Shape {
    static constexpr int kTm = kTmOf, kTn = kTnOf, kColumns = kColumnsOf;
    static constexpr int kTiles = kTn / 8, kWarps = kColumns / kTn, kThreads = kWarps * kWarp;
};

template <int kTm> struct Shared {
    static constexpr int kBricks = kTm / SPMM_HRPB_BRICK_M;
    static constexpr int kBytes =
        SPMM_HRPB_PATTERNS + 4 * kBricks * (int)sizeof(uint64_t) + kTm * kTk * (int)sizeof(float);

    __align__(16) unsigned char a[kBytes];
    __align__(16) float b[kTk][kPitch];
};

/** Lines 15 to 22. */
template <class S>
__device__ __forceinline__ void copy(const spmm_hrpb_arrays_t &A, int block, const float *B,
                                     int64_t n, Shared<S::kTm> &to)
{
    constexpr int kThreads = S::kThreads, kUnits = Shared<S::kTm>::kBytes / 16;
    constexpr int kWarps = S::kWarps, kAcross = S::kColumns / kWarp;
    const int     warp = threadIdx.x / kWarp, lane = threadIdx.x % kWarp;
    const int     first = A.size_ptr[block], units = A.size_ptr[block + 1] - first;
    const auto   *from = (const int4 *)A.packed + first;

#pragma unroll
    for (int k = threadIdx.x; k < kUnits; k += kThreads) {
        if (k < units) {
            ((int4 *)to.a)[k] = from[k];
        }
    }
    float v[kTk / kWarps][kAcross]; /* all of them under way */

#pragma unroll
    for (int i = 0; i < kTk / kWarps; i++) {
        const int32_t row = A.col[(int64_t)block * kTk + i * kWarps + warp];

#pragma unroll
        for (int j = 0; j < kAcross; j++) {
            v[i][j] = row < 0 ? 0.0f : B[row * n + j * kWarp + lane];
        }
    }
#pragma unroll
    for (int i = 0; i < kTk / kWarps; i++) {
#pragma unroll
        for (int j = 0; j < kAcross; j++) {
            to.b[i * kWarps + warp][j * kWarp + lane] = v[i][j];
        }
    }
}

/** The same, 16 bytes for a thread, under way behind it. */
template <class S>
__device__ __forceinline__ void start_copy(const spmm_hrpb_arrays_t &A, int block, const float *B,
                                           int64_t n, Shared<S::kTm> &to)
{
    constexpr int kAcross = S::kColumns / 4;
    const int     first = A.size_ptr[block], units = A.size_ptr[block + 1] - first;

    for (int k = threadIdx.x; k < units; k += S::kThreads) {
        spmmi::cp_async<16>((int4 *)to.a + k, (const int4 *)A.packed + first + k);
    }
#pragma unroll
    for (int k = threadIdx.x; k < kTk * kAcross; k += S::kThreads) {
        const int32_t row = A.col[(int64_t)block * kTk + k / kAcross];

        spmmi::cp_async<16>(&to.b[k / kAcross][k % kAcross * 4],
                            B + (row < 0 ? 0 : row) * n + k % kAcross * 4, row >= 0);
    }
}

/** Lines 24 to 42. */
template <class S, bool kUnroll>
__device__ __forceinline__ void multiply(const Shared<S::kTm> &shared,
                                         float (&sum)[S::kTm / 16][S::kTiles][4])
{
    constexpr int              kTm = S::kTm, kTiles = S::kTiles, kTn = S::kTn;
    constexpr int              kAtOnce = kUnroll ? kTk / SPMM_HRPB_BRICK_K : 1;
    const int                  warp = threadIdx.x / kWarp, lane = threadIdx.x % kWarp;
    const unsigned char *const col_ptr = shared.a + SPMM_HRPB_COL_PTR;
    const auto *const          pattern = (const uint64_t *)(shared.a + SPMM_HRPB_PATTERNS);
    const auto *value = (const float *)(pattern + Shared<kTm>::kBricks * (kTk / SPMM_HRPB_BRICK_K));

#pragma unroll kAtOnce
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

/** All blocks of a work item, @p B its first column. */
template <class S, bool kUnroll, bool kTwo>
__device__ __forceinline__ void run(const spmm_hrpb_arrays_t &A, const spmm_tc_item_t &item,
                                    const float *B, int64_t n,
                                    float (&sum)[S::kTm / 16][S::kTiles][4])
{
    __shared__ Shared<S::kTm> shared[kTwo ? 2 : 1];

    if constexpr (kTwo) {
        if (item.n_blocks > 0) {
            start_copy<S>(A, item.block, B, n, shared[0]);
        }
        spmmi::cp_async_commit();
    }
    for (int k = 0; k < item.n_blocks; k++) {
        const int now = kTwo ? k % 2 : 0;

        if constexpr (kTwo) {
            if (k + 1 < item.n_blocks) {
                start_copy<S>(A, item.block + k + 1, B, n, shared[1 - now]);
            }
            spmmi::cp_async_commit();
            spmmi::cp_async_wait<1>();
        } else {
            copy<S>(A, item.block + k, B, n, shared[0]);
        }
        __syncthreads();
        multiply<S, kUnroll>(shared[now], sum);
        __syncthreads();
    }
}

template <class S, bool kUnroll, bool kTwo>
__global__ void __launch_bounds__(S::kThreads)
    cute_kernel(cute_work_t work, const float *B, float *C, int64_t n)
{
    constexpr int        kTm = S::kTm, kTiles = S::kTiles, kTn = S::kTn;
    const spmm_tc_item_t item  = work.work.item[blockIdx.x];
    const int64_t        first = (int64_t)blockIdx.y * S::kColumns;
    const int            warp = threadIdx.x / kWarp, lane = threadIdx.x % kWarp;
    const bool           part                     = (int)blockIdx.x < work.work.n_partial;
    float                sum[kTm / 16][kTiles][4] = {};

    run<S, kUnroll, kTwo>(work.A, item, B + first, n, sum);
#pragma unroll
    for (int k = 0; k < kTm / 8; k++) { /* rows g, g + 8, g + 16, g + 24 */
        const int     row = k * 8 + lane / 4;
        const int64_t i   = (int64_t)item.window * kTm + row;

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

/** The work items of a row of a cut panel, in their order. */
__global__ void finish_kernel(cute_work_t work, float *C, int64_t n)
{
    const int             tm    = work.A.panel_rows;
    const spmm_tc_split_t split = work.work.split[blockIdx.x / tm];
    const int             row   = blockIdx.x % tm;
    const int64_t         i     = (int64_t)split.window * tm + row;

    for (int64_t j = threadIdx.x; j < n && i < work.A.n_rows; j += blockDim.x) {
        const float *from = (const float *)work.work.partial + ((int64_t)split.item * tm + row) * n;
        float        sum  = 0.0f;

        for (int p = 0; p < split.n_items; p++) {
            sum += from[(int64_t)p * tm * n + j];
        }
        C[i * n + j] = sum;
    }
}

using Kernel = void (*)(cute_work_t, const float *, float *, int64_t);

/** Columns of a thread block. */
int columns_of(cute_kernel_t kernel, int64_t n)
{
    return kernel == CUTE_ONE_WARP ? 32 : n % kMost == 0 ? kMost : n % 64 == 0 ? 64 : 32;
}

template <int kColumns> Kernel kernel_of(cute_kernel_t kernel, int32_t panel_rows)
{
    using Paper                            = Shape<16, 32, kColumns>;
    constexpr Kernel kernels[CUTE_KERNELS] = {
        cute_kernel<Paper, true, false>, cute_kernel<Shape<16, 8, kColumns>, true, false>,
        cute_kernel<Paper, false, false>, cute_kernel<Paper, true, false>,
        cute_kernel<Paper, true, true>};

    return panel_rows == 32 ? (Kernel)cute_kernel<Shape<32, 32, kColumns>, true, false>
                            : kernels[kernel];
}

Kernel kernel_of(cute_kernel_t kernel, int32_t panel_rows, int64_t n)
{
    const int columns = columns_of(kernel, n);

    return columns == kMost ? kernel_of<kMost>(kernel, panel_rows)
           : columns == 64  ? kernel_of<64>(kernel, panel_rows)
                            : kernel_of<32>(kernel, panel_rows);
}

int threads_of(cute_kernel_t kernel, int64_t n)
{
    return columns_of(kernel, n) / (kernel == CUTE_TN_8 ? 8 : 32) * kWarp;
}

} // namespace

extern "C" cudaError_t cute_resident(cute_kernel_t kernel, int32_t panel_rows, int64_t n,
                                     int *thread_blocks)
{
    return cudaOccupancyMaxActiveBlocksPerMultiprocessor(
        thread_blocks, kernel_of(kernel, panel_rows, n), threads_of(kernel, n), 0);
}

extern "C" cudaError_t cute_mm(const cute_work_t *work, const float *B, float *C, int64_t n,
                               cudaStream_t stream)
{
    const bool cut = work->work.n_splits > 0;

    if (n % 32 != 0 || (work->A.panel_rows != 16 && work->kernel != CUTE_PAPER)) {
        return cudaErrorInvalidValue;
    }
    if (cut && work->atomic) {
        const cudaError_t code =
            cudaMemsetAsync(C, 0, (size_t)work->A.n_rows * (size_t)n * sizeof *C, stream);

        if (code != cudaSuccess) {
            return code;
        }
    }
    if (work->work.n_items > 0) {
        const dim3 grid((unsigned)work->work.n_items, (unsigned)(n / columns_of(work->kernel, n)));
        const Kernel kernel = kernel_of(work->kernel, work->A.panel_rows, n);

        kernel<<<grid, threads_of(work->kernel, n), 0, stream>>>(*work, B, C, n);
    }
    if (cut && !work->atomic) {
        finish_kernel<<<(unsigned)(work->work.n_splits * work->A.panel_rows), 128, 0, stream>>>(
            *work, C, n);
    }
    return cudaGetLastError();
}
