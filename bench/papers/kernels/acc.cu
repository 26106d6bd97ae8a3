/* SPDX-License-Identifier: Apache-2.0 */
/** @file acc.cu
 *  Algorithm 2 of Acc-SpMM.  A thread block has a window of 8 rows, or work items of several, by up
 *  to 128 columns of C, a warp 16 of them: the m16 side of mma.m16n8k8.  Values of A come by
 *  asynchronous copies of 4 bytes to their places in shared memory, which two warps find by the
 *  bits of a block; rows of B go straight to registers, one TC block ahead.
 *
 *  Where the paper is silent: a lane reads columns 2 g and 2 g + 1 of B in one access (the paper's
 *  "remapping"), so that it has neighbours of C, too; operands are rounded to TF32.
 */
#include "acc.h"
#include "cuda/windows/tc_common.cuh"

namespace
{

constexpr int kSide    = SPMM_BITTCF_SIDE;
constexpr int kColumns = 16; /* of a warp */

template <bool kHints> __device__ __forceinline__ float2 load_b(const float *from)
{
    float2 v;

    if constexpr (kHints) {
        asm volatile("ld.global.ca.v2.f32 {%0,%1}, [%2];" : "=f"(v.x), "=f"(v.y) : "l"(from));
    } else {
        v = *(const float2 *)from;
    }
    return v;
}

template <bool kHints> __device__ __forceinline__ void store_c(float *to, float2 v)
{
    if constexpr (kHints) {
        asm volatile("st.global.wt.v2.f32 [%0], {%1,%2};" ::"l"(to), "f"(v.x), "f"(v.y) : "memory");
    } else {
        *(float2 *)to = v;
    }
}

struct Shared {
    float   a[2][kSide * kSide];
    int32_t col[2][kSide];
};

/** Start copying TC block @p t of A: its values to their places, zeros elsewhere.  ME-TCF needs the
 *  zeros first, and a barrier behind them. */
template <bool kBits>
__device__ __forceinline__ void copy_a(const acc_work_t &work, int t, float *to)
{
    const float *const values = (const float *)work.A.values;
    const int          first  = work.A.value_ptr[t];

    if constexpr (kBits) {
        const int p = threadIdx.x;

        if (p < kSide * kSide) {
            const uint64_t bits = work.A.bits[t];

            if ((bits >> p & 1) != 0) {
                spmmi::cp_async<4>(to + p,
                                   values + first + __popcll(bits & (((uint64_t)1 << p) - 1)));
            } else {
                to[p] = 0.0f;
            }
        }
    } else {
        const int n = work.A.value_ptr[t + 1] - first;

        for (int p = threadIdx.x; p < kSide * kSide; p += blockDim.x) {
            to[p] = 0.0f;
        }
        __syncthreads();
        for (int k = threadIdx.x; k < n; k += blockDim.x) {
            spmmi::cp_async<4>(to + work.place[first + k], values + first + k);
        }
    }
}

__device__ __forceinline__ void copy_col(const acc_work_t &work, int t, int32_t *to)
{
    if (threadIdx.x < 2) {
        spmmi::cp_async<16>(to + 4 * threadIdx.x,
                            work.A.col + (int64_t)t * kSide + 4 * threadIdx.x);
    }
}

/** Rows of B of a TC block for a lane; zeros where there is no column. */
struct Tile {
    float2 row[2];
};

/** The columns of TC block @p t. */
template <bool kShared>
__device__ __forceinline__ const int32_t *columns(const acc_work_t &work, int t, const int32_t *in)
{
    return kShared ? in : work.A.col + (int64_t)t * kSide;
}

template <bool kHints>
__device__ __forceinline__ void load_tile(const int32_t *col, const float *B, int64_t n, Tile &to)
{
#pragma unroll
    for (int k = 0; k < 2; k++) {
        const int32_t c = col[threadIdx.x % 4 + 4 * k];

        to.row[k] = c < 0 ? make_float2(0.0f, 0.0f) : load_b<kHints>(B + c * n);
    }
}

template <acc_form_t kForm>
__device__ __forceinline__ void multiply(const float *a, const Tile &b, float (&sum)[4])
{
    const int      lane  = threadIdx.x % 32;
    const float   *from  = a + lane / 4 * kSide + lane % 4;
    const uint32_t bb[4] = {spmmi::to_tf32(b.row[0].x), spmmi::to_tf32(b.row[0].y),
                            spmmi::to_tf32(b.row[1].x), spmmi::to_tf32(b.row[1].y)};
    const uint32_t aa[2] = {spmmi::to_tf32(from[0]), spmmi::to_tf32(from[4])};

    if constexpr (kForm == ACC_K4) {
        const uint32_t first[2] = {bb[0], bb[1]}, second[2] = {bb[2], bb[3]};

        spmmi::mma_tf32_m16n8k4(sum, first, aa[0]);
        spmmi::mma_tf32_m16n8k4(sum, second, aa[1]);
    } else {
        spmmi::mma_tf32_m16n8k8(sum, bb, aa);
    }
}

/** Rows 2 t and 2 t + 1 of the window, columns 2 g and 2 g + 1 of the warp. */
template <bool kHints>
__device__ __forceinline__ void write(const acc_work_t &work, const acc_item_t &item, float *C,
                                      int64_t first, int64_t n, const float (&sum)[4])
{
#pragma unroll
    for (int k = 0; k < 2; k++) {
        const int r = threadIdx.x % 4 * 2 + k, i = item.window * kSide + r;

        if (i < work.A.n_rows) {
            const int64_t row = work.row_map == NULL ? i : work.row_map[i];
            float *const  to  = C + row * n + first;

            if (item.part != 0 && !work.atomic) {
                *(float2 *)(work.partial + ((int64_t)(item.part - 1) * kSide + r) * n + first) =
                    make_float2(sum[k], sum[2 + k]);
            } else if (row >= 0 && item.part != 0) {
                atomicAdd(to, sum[k]);
                atomicAdd(to + 1, sum[2 + k]);
            } else if (row >= 0) {
                store_c<kHints>(to, make_float2(sum[k], sum[2 + k]));
            }
        }
    }
}

/** One buffer of A, and of B: figure 5 (a). */
template <bool kBits, bool kHints>
__device__ __forceinline__ void run_plain(const acc_work_t &work, const acc_item_t &item,
                                          Shared &shared, const float *B, int64_t n,
                                          float (&sum)[4])
{
    for (int t = item.first; t < item.first + item.n; t++) {
        Tile b;

        copy_a<kBits>(work, t, shared.a[0]);
        copy_col(work, t, shared.col[0]);
        spmmi::cp_async_commit();
        spmmi::cp_async_wait<0>();
        __syncthreads();
        load_tile<kHints>(shared.col[0], B, n, b);
        multiply<ACC_PAPER>(shared.a[0], b, sum);
        __syncthreads();
    }
}

/** Two of each: figure 5 (b), lines 9 to 35. */
template <bool kBits, bool kHints, acc_form_t kForm>
__device__ __forceinline__ void run_pipeline(const acc_work_t &work, const acc_item_t &item,
                                             Shared &shared, const float *B, int64_t n,
                                             float (&sum)[4])
{
    constexpr bool kShared = kForm != ACC_NO_SHARED;
    const int      first = item.first, last = item.first + item.n;
    Tile           b[2];

    if (first >= last) {
        return;
    }
    copy_a<kBits>(work, first, shared.a[0]);
    if (kShared) {
        copy_col(work, first, shared.col[0]);
    }
    spmmi::cp_async_commit();
    spmmi::cp_async_wait<0>();
    __syncthreads();
    if (kShared && first + 1 < last) {
        copy_col(work, first + 1, shared.col[1]);
    }
    spmmi::cp_async_commit();
    load_tile<kHints>(columns<kShared>(work, first, shared.col[0]), B, n, b[0]);
    spmmi::cp_async_wait<0>();
    __syncthreads();
    for (int t = first; t < last; t += 2) {
#pragma unroll
        for (int k = 0; k < 2; k++) { /* indices of registers are constants */
            const int now = t + k;

            if (now >= last) {
                break;
            }
            if (now + 1 < last) {
                load_tile<kHints>(columns<kShared>(work, now + 1, shared.col[1 - k]), B, n,
                                  b[1 - k]);
                copy_a<kBits>(work, now + 1, shared.a[1 - k]);
            }
            if (kShared && now + 2 < last) {
                copy_col(work, now + 2, shared.col[k]);
            }
            spmmi::cp_async_commit();
            multiply<kForm>(shared.a[k], b[k], sum);
            spmmi::cp_async_wait<0>();
            __syncthreads();
        }
    }
}

template <bool kBits, bool kHints, bool kPipeline, acc_form_t kForm = ACC_PAPER>
__global__ void acc_kernel(acc_work_t work, const float *B, float *C, int64_t n)
{
    __shared__ __align__(16) Shared shared;

    const int64_t first = (int64_t)blockIdx.y * blockDim.x / 32 * kColumns +
                          threadIdx.x / 32 * kColumns + threadIdx.x % 32 / 4 * 2;

    B += first;
    for (int p = work.block_ptr[blockIdx.x]; p < work.block_ptr[blockIdx.x + 1]; p++) {
        const acc_item_t item   = work.item[p];
        float            sum[4] = {0.0f, 0.0f, 0.0f, 0.0f};

        if constexpr (kPipeline) {
            run_pipeline<kBits, kHints, kForm>(work, item, shared, B, n, sum);
        } else {
            run_plain<kBits, kHints>(work, item, shared, B, n, sum);
        }
        write<kHints>(work, item, C, first, n, sum);
    }
}

/** The parts of a row of a window, in their order. */
__global__ void finish_kernel(acc_work_t work, float *C, int64_t n)
{
    const acc_split_t split = work.split[blockIdx.x / kSide];
    const int         r = blockIdx.x % kSide, i = split.window * kSide + r;
    const int64_t     row = i >= work.A.n_rows ? -1 : work.row_map == NULL ? i : work.row_map[i];

    for (int64_t j = threadIdx.x; j < n && row >= 0; j += blockDim.x) {
        const float *from = work.partial + ((int64_t)split.first * kSide + r) * n + j;
        float        sum  = 0.0f;

        for (int p = 0; p < split.n; p++) {
            sum += from[(int64_t)p * kSide * n];
        }
        C[row * n + j] = sum;
    }
}

} // namespace

extern "C" cudaError_t acc_mm(acc_choice_t choice, const acc_work_t *work, const float *B, float *C,
                              int64_t n, cudaStream_t stream)
{
    using Kernel = void (*)(acc_work_t, const float *, float *, int64_t);

    const int64_t    warps            = n / kColumns < 8 ? n / kColumns : 8;
    constexpr Kernel kernels[2][2][2] = {
        {{acc_kernel<false, false, false>, acc_kernel<false, false, true>},
         {acc_kernel<false, true, false>, acc_kernel<false, true, true>}},
        {{acc_kernel<true, false, false>, acc_kernel<true, false, true>},
         {acc_kernel<true, true, false>, acc_kernel<true, true, true>}}};

    if (warps < 2 || n % (warps * kColumns) != 0 || work->A.tiles != 1) {
        return cudaErrorInvalidValue;
    }
    if (work->atomic) {
        const cudaError_t code =
            cudaMemsetAsync(C, 0, (size_t)work->c_rows * (size_t)n * sizeof *C, stream);

        if (code != cudaSuccess) {
            return code;
        }
    }
    if (work->n_thread_blocks > 0) {
        const dim3   grid((unsigned)work->n_thread_blocks, (unsigned)(n / (warps * kColumns)));
        const Kernel kernel =
            choice.form == ACC_NO_SHARED ? (Kernel)acc_kernel<true, true, true, ACC_NO_SHARED>
            : choice.form == ACC_K4      ? (Kernel)acc_kernel<true, true, true, ACC_K4>
                                         : kernels[choice.bits][choice.hints][choice.pipeline];

        kernel<<<grid, (unsigned)warps * 32, 0, stream>>>(*work, B, C, n);
    }
    if (work->n_splits > 0) {
        finish_kernel<<<(unsigned)work->n_splits * kSide, 128, 0, stream>>>(*work, C, n);
    }
    return cudaGetLastError();
}
