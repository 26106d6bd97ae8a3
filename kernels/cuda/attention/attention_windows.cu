/* SPDX-License-Identifier: Apache-2.0 */
/** @file attention_windows.cu  Sparse attention in one kernel, and its launcher. */
#include "cuda/attention/attention_again.cuh"

namespace spmmi
{

/* Sparse attention in one kernel, on tensor cores, FP16 and BF16 with sums in FP32: scores, online
 * softmax (as FlashAttention has it) and the product with V, without scores in memory.
 *
 * A thread block has one head and a group of windows of 8 or 16 rows, some for each warp.  Rows of
 * K and V that any window of the group needs come panel by panel into shared memory, the next
 * panel while this one is worked on; so a row comes from L2 for a group, not for each window.  A
 * warp takes the vectors of its windows in chunks of 16, by ldmatrix from wherever in the panel
 * they lie:
 *
 * S^T [16 vectors x 8 rows] = K [16 x k] Q^T [k x 8]      m16n8k16, Q in registers
 * O^T [k x 8 rows]         += V^T [k x 16] P^T [16 x 8]   P^T by two movmatrix from S^T
 *
 * Vectors are the m16 side, rows of the window the n8 side (the transposed mapping of SSpMM): 8
 * rows waste nothing.  Rows 2 t and 2 t + 1 belong to lanes 4 g + t in S^T and in O^T alike, so
 * softmax keeps its state in registers, and lanes meet only where the reference, the largest score
 * when it was last looked at, is passed by 2^8: until then P stays below that, which FP16 holds. */

template <typename Half, int kK, int kTiles, int kWindows>
__device__ __forceinline__ void
start_windows(const spmm_attention_windows_t &mask, const spmm_attention_args_t &args, int group,
              int head, AttentionWindow<Half, kK, kTiles> (&window)[kWindows])
{
    const int warp = (int)threadIdx.x / kWarp, lane = (int)threadIdx.x % kWarp, t = lane % 4;

#pragma unroll
    for (int w = 0; w < kWindows; w++) {
        int row[kTiles];

        window[w].clear();
        attention_rows(mask, group * mask.windows + warp * kWindows + w, row);
#pragma unroll
        for (int i = 0; i < kTiles; i++) {
            const Half *const q = (const Half *)args.Q + row[i] * args.ldq + head * args.k;

#pragma unroll
            for (int d = 0; d < kK / 16; d++) {
#pragma unroll
                for (int h = 0; h < 2; h++) {
                    const int at = 16 * d + 8 * h + 2 * t;

                    window[w].q[i][d][h] =
                        row[i] >= 0 && at < args.k ? *(const uint32_t *)(q + at) : 0;
                }
            }
        }
        /* What other columns gave: one lane has the sum of exponentials, 1 by definition of lse. */
#pragma unroll
        for (int i = 0; i < kTiles; i++) {
#pragma unroll
            for (int r = 0; r < 2 && args.resume; r++) {
                const int         to = __shfl_sync(0xffffffffu, row[i], 4 * (2 * t + r));
                const Half *const o  = (const Half *)args.O + to * args.ldo + head * args.k;
                const float       lse =
                    to < 0 ? -INFINITY : ((const float *)args.lse)[to * args.heads + head];

                if (lse > kLowest || lse != lse) {
                    window[w].most[i][r] = lse * kLog2e;
                    window[w].all[i][r]  = lane / 4 == 0 ? 1.0f : 0.0f;
#pragma unroll
                    for (int d = 0; d < kK / 16; d++) {
#pragma unroll
                        for (int h = 0; h < 2; h++) {
                            const int at = 16 * d + 8 * h + lane / 4;

                            window[w].sum[i][d][r + 2 * h] =
                                at < args.k ? widen<float>(o[at]) : 0.0f;
                        }
                    }
                }
            }
        }
    }
}

/** Row @p row of O; @p most, to powers of 2, and @p all as the tensor cores found them. */
template <typename Half, int kK>
__device__ __noinline__ void
attend_again(const spmm_attention_windows_t &mask, const spmm_attention_args_t &args,
             const AttentionEntries &entries, int64_t row, int head, float most, float all)
{
    using Row = LaneRow<Half, kK>;

    if (row < 0) {
        return;
    }
    const Half *const K = (const Half *)args.K + head * args.k;
    const Half *const V = (const Half *)args.V + head * args.k;
    Half *const       o = (Half *)args.O + row * args.ldo + head * args.k;
    const Row         q = Row::load((const Half *)args.Q + row * args.ldq + head * args.k, args.k);
    const float       scale = (float)args.scale * kLog2e;
    const float lse = args.resume ? ((const float *)args.lse)[row * args.heads + head] : -INFINITY;
    Row         sum = {};

    if (lse > kLowest || lse != lse) {
        sum.add(exp2_of(lse * kLog2e - most), Row::load(o, args.k));
    }
    entries.walk(mask, [&](int64_t j) {
        const float weight = exp2_of(q.dot(Row::load(K + j * args.ldk, args.k)) * scale - most);

        if (weight != 0.0f) {
            sum.add(weight, Row::load(V + j * args.ldv, args.k));
        }
    });
    sum.scale(all == 0.0f ? 0.0f : 1.0f / all);
    sum.store(o, args.k);
}

/* A tile of a window whose first row of Q is that of lane 0.  @p all: of rows 2 t and 2 t + 1 */
template <typename Half, int kK>
__device__ __forceinline__ void attend_tile_again(const spmm_attention_windows_t &mask,
                                                  const spmm_attention_args_t    &args,
                                                  AttentionEntries entries, int row, int head,
                                                  const float (&most)[2], const float (&all)[2])
{
#pragma unroll 1
    for (int k = 0; k < 8; k++, entries.row++) {
        const int   of   = k / 2;
        const float top  = __shfl_sync(0xffffffffu, k % 2 == 0 ? most[0] : most[1], of);
        const float sums = __shfl_sync(0xffffffffu, k % 2 == 0 ? all[0] : all[1], of);

        attend_again<Half, kK>(mask, args, entries, __shfl_sync(0xffffffffu, row, 4 * k), head, top,
                               sums);
    }
}

template <typename Half, int kK, int kTiles>
__device__ __forceinline__ void finish_window(const spmm_attention_windows_t &mask,
                                              const spmm_attention_args_t    &args,
                                              AttentionEntries entries, int number, int head,
                                              AttentionWindow<Half, kK, kTiles> &window)
{
    const int lane = (int)threadIdx.x % kWarp, t = lane % 4;
    int       row[kTiles];

    attention_rows(mask, number, row);
#pragma unroll
    for (int i = 0; i < kTiles; i++) {
        Half *const o      = (Half *)args.O + row[i] * args.ldo + head * args.k;
        const float all[2] = {over_vectors(window.all[i][0], true),
                              over_vectors(window.all[i][1], true)};
        const bool  good   = all_finite(&window.sum[i][0][0], kK / 4);
        float       factor[2];

        if (!good) { /* in front of lse, which is read again */
            entries.row = 8 * i;
            attend_tile_again<Half, kK>(mask, args, entries, row[i], head, window.most[i], all);
        }
#pragma unroll
        for (int r = 0; r < 2; r++) {
            const int to = __shfl_sync(0xffffffffu, row[i], 4 * (2 * t + r));

            factor[r] = all[r] == 0.0f ? 0.0f : 1.0f / all[r];
            if (lane / 4 == 0 && to >= 0) {
                ((float *)args.lse)[to * args.heads + head] =
                    all[r] == 0.0f ? -INFINITY : (window.most[i][r] + log2f(all[r])) / kLog2e;
            }
        }
#pragma unroll
        for (int d = 0; d < kK / 16; d++) {
#pragma unroll
            for (int h = 0; h < 2; h++) {
                const float *const s = window.sum[i][d] + 2 * h;
                const uint32_t two = transposed(pack_two<Half>(s[0] * factor[0], s[1] * factor[1]));
                const int      at  = 16 * d + 8 * h + 2 * t;

                if (good && row[i] >= 0 && at < args.k) {
                    *(uint32_t *)(o + at) = two;
                }
            }
        }
    }
}

template <typename Half, int kK, int kTiles, int kWindows, int kThreads, int kBlocks>
__global__ void __launch_bounds__(kThreads, resident_blocks(kThreads, kBlocks))
    attention_windows(const __grid_constant__ spmm_attention_windows_t mask,
                      const __grid_constant__ spmm_attention_args_t    args)
{
    extern __shared__ __align__(128) unsigned char shared[];
    const int                                      place = (int)blockIdx.x, head = (int)blockIdx.y;
    const int                                      group = __ldg(mask.group + place);
    const int            first = __ldg(mask.panels + place), end = __ldg(mask.panels + place + 1);
    const int            warp = (int)threadIdx.x / kWarp, lane = (int)threadIdx.x % kWarp;
    const float          scale               = (float)args.scale * kLog2e;
    const int            stage_bytes         = attention_stage(mask.width, kK);
    const uint32_t       stage               = shared_address(shared);
    const int32_t *const cols                = (const int32_t *)(shared + 2 * stage_bytes);
    const AttentionPanels<Half, kK>   panels = {mask,
                                                (const Half *)args.K + head * args.k,
                                                (const Half *)args.V + head * args.k,
                                                (uint32_t)args.ldk * 2u,
                                                (uint32_t)args.ldv * 2u,
                                                (int)args.k,
                                                stage,
                                                stage + 2 * stage_bytes,
                                                0,
                                                NULL,
                                                0};
    AttentionWindow<Half, kK, kTiles> window[kWindows];
    const int32_t                    *ends[kWindows];

    clear_zeros<kK>(shared, mask.width);
    if (first < end) {
        panels.load(first, mask.col + (int64_t)first * mask.width);
        if (first + 1 < end) {
            panels.load_cols(first + 1);
        }
    }
    cp_async_commit();
    start_windows(mask, args, group, head, window);
#pragma unroll
    for (int w = 0; w < kWindows; w++) {
        ends[w] = mask.chunks + (int64_t)first * mask.windows +
                  (int64_t)(warp * kWindows + w) * (end - first);
        window[w].chunk = __ldg(ends[w]);
        window[w].next  = first < end ? __ldg(ends[w] + 1) : window[w].chunk;
        window[w].slot  = __ldg(mask.slot + (int64_t)window[w].chunk * kChunk + lane % kChunk);
    }
    for (int panel = first; panel < end; panel++) {
        cp_async_wait<0>();
        __syncthreads();
        if (panel + 1 < end) {
            panels.load(panel + 1, cols + ((panel + 1) & 1) * mask.width);
        }
        if (panel + 2 < end) {
            panels.load_cols(panel + 2);
        }
        cp_async_commit();
#pragma unroll
        for (int w = 0; w < kWindows; w++) {
            const int      last = window[w].next;
            const uint32_t at   = stage + (panel & 1) * stage_bytes;

            if (panel + 1 < end) {
                window[w].next = __ldg(ends[w] + (panel - first) + 2);
            }
            while (window[w].chunk < last) {
                const uint32_t after =
                    __ldg(mask.slot + ((int64_t)window[w].chunk + 1) * kChunk + lane % kChunk);

                window[w].take_chunk(at, mask.width, scale);
                window[w].slot = after;
                window[w].chunk++;
            }
        }
    }
#pragma unroll
    for (int w = 0; w < kWindows; w++) {
        finish_window(mask, args, {first, end, warp * kWindows + w, 0},
                      group * mask.windows + warp * kWindows + w, head, window[w]);
    }
}

namespace
{

/* Of a thread block, at most: a group of more windows gives each warp two. */
constexpr int kWarps   = 16;
constexpr int kThreads = kWarps * kWarp;

using Kernel = void(spmm_attention_windows_t, spmm_attention_args_t);

template <typename Half, int kK, int kTiles>
Kernel *kernel_for(const spmm_attention_windows_t &mask)
{
    if constexpr (kK == 64 && kTiles == 1) {
        if (mask.windows > kWarps) {
            return attention_windows<Half, kK, kTiles, 2, kThreads, 1>;
        }
    }
    return mask.windows > kWarps ? NULL : attention_windows<Half, kK, kTiles, 1, kThreads, 1>;
}

template <typename Half> Kernel *kernel_for(const spmm_attention_windows_t &mask, int64_t k)
{
    if (k <= 64) {
        return mask.height == 8 ? kernel_for<Half, 64, 1>(mask) : kernel_for<Half, 64, 2>(mask);
    }
    return mask.height == 8 ? kernel_for<Half, 128, 1>(mask) : kernel_for<Half, 128, 2>(mask);
}

template <typename Half> cudaError_t load(int height, int windows, int64_t k)
{
    spmm_attention_windows_t mask = {};

    mask.height  = height;
    mask.windows = windows;
    return allow_shared(kernel_for<Half>(mask, k));
}

template <typename Half> cudaError_t load_all()
{
    cudaError_t code = cudaSuccess;

    for (int which = 0; which < 8 && code == cudaSuccess; which++) {
        code = load<Half>(which % 2 == 0 ? 8 : 16, which / 2 % 2 == 0 ? kWarps : 2 * kWarps,
                          which / 4 == 0 ? 64 : 128);
    }
    return code;
}

} // namespace
} // namespace spmmi

extern "C" cudaError_t spmmi_cuda_attention_windows_preload(void)
{
    const cudaError_t code = spmmi::load_all<__half>();

    return code == cudaSuccess ? spmmi::load_all<__nv_bfloat16>() : code;
}

extern "C" cudaError_t spmmi_cuda_attention_windows(const spmm_attention_windows_t *mask,
                                                    const spmm_attention_args_t    *args,
                                                    cudaStream_t                    stream)
{
    using namespace spmmi;
    const int     warps  = mask->windows > kWarps ? mask->windows / 2 : mask->windows;
    const int     shared = attention_shared(mask->width, args->k <= 64 ? 64 : 128);
    const dim3    grid((unsigned)mask->n_groups, (unsigned)args->heads);
    Kernel *const kernel = args->type == SPMM_R_16F ? kernel_for<__half>(*mask, args->k)
                                                    : kernel_for<__nv_bfloat16>(*mask, args->k);

    if (kernel == NULL || args->k > 128 || args->k % 8 != 0 || args->ldk > INT32_MAX ||
        args->ldv > INT32_MAX) {
        return cudaErrorInvalidValue;
    }
    if (mask->n_groups == 0) {
        return cudaSuccess;
    }
    return launch_with((size_t)shared, kernel, grid, dim3((unsigned)(warps * kWarp)), stream, *mask,
                       *args);
}
