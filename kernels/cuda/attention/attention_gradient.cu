/* SPDX-License-Identifier: Apache-2.0 */
/** @file attention_gradient.cu  Gradients of sparse attention, and their launchers. */
#include "cuda/attention/attention_again.cuh"

namespace spmmi
{

/* Gradients of sparse attention on tensor cores, as attention_windows.cu multiplies:
 *
 * query: rows of a window are of Q, panels are of K and V      dQ_i = sum_j S_ij K_j
 * key:   rows of a window are of K, panels are of Q and dO     dK_j = sum_i S_ij Q_i
 * (the transposed mask)                                 dV_j = sum_i P_ij dO_i
 *
 * P_ij = exp(scale <Q_i, K_j> - lse_i) and S_ij = P_ij (<dO_i, V_j> - <dO_i, O_i>) come from two
 * products of the panel with what the warp holds of its rows, and are the n8 side of the next ones
 * by movmatrix.  The stats of Q_i, lse and <dO, O>, belong to rows of the window, or come with the
 * panel. */

/** Of a window of 8 kTiles rows: x is the first operand of the panel, y the second. */
template <typename Half, int kK, int kTiles, bool kKey> struct GradientWindow {
    static constexpr int kOuts = kKey ? 2 : 1; /* by S and x, by P and y */

    uint32_t of_x[kTiles][kK / 16][2], of_y[kTiles][kK / 16][2]; /* what they are multiplied with */
    float    sum[kOuts][kTiles][kK / 16][4];
    float lse[kTiles][2], mean[kTiles][2]; /* query: of rows 2 t and 2 t + 1; lse: to powers of 2 */

    /* Products of the vectors with the rows. */
    __device__ __forceinline__ static void multiply(uint32_t at, uint32_t turn,
                                                    const uint32_t (&with)[kTiles][kK / 16][2],
                                                    float (&s)[kTiles][4])
    {
#pragma unroll
        for (int d = 0; d < kK / 16; d++) {
            uint32_t a[4];

            load_rows(a, at + (turn ^ (32 * d)));
#pragma unroll
            for (int i = 0; i < kTiles; i++) {
                mma_half_m16n8k16<Half>(s[i], a, with[i][d][0], with[i][d][1]);
            }
        }
    }

    /* Sums of the vectors by weights. */
    __device__ __forceinline__ static void add(uint32_t at, uint32_t turn,
                                               const float (&weight)[kTiles][4],
                                               float (&to)[kTiles][kK / 16][4])
    {
        uint32_t p[kTiles][2];

#pragma unroll
        for (int i = 0; i < kTiles; i++) {
            p[i][0] = transposed(pack_two<Half>(weight[i][0], weight[i][1]));
            p[i][1] = transposed(pack_two<Half>(weight[i][2], weight[i][3]));
        }
#pragma unroll
        for (int d = 0; d < kK / 16; d++) {
            uint32_t m[4];

            load_matrices(m, at + (turn ^ (32 * d)));
            const uint32_t a[4] = {m[0], m[2], m[1], m[3]};
#pragma unroll
            for (int i = 0; i < kTiles; i++) {
                mma_half_m16n8k16<Half>(to[i][d], a, p[i][0], p[i][1]);
            }
        }
    }

    /* 16 vectors of the panel at @p stage, whose stats are at @p sums; @p scale: to powers of 2. */
    __device__ __forceinline__ void take_chunk(uint32_t slot, uint32_t stage, uint32_t sums,
                                               int width, float scale)
    {
        const int      lane = (int)threadIdx.x % kWarp, g = lane / 4, t = lane % 4;
        const int      index = (int)(slot & kIndexBits);
        const uint32_t x = stage + index * (kK * 2), y = x + (width + 1) * (kK * 2);
        const uint32_t turn         = (uint32_t)((lane / 16) ^ (index & 7)) * 16;
        float          p[kTiles][4] = {}, s[kTiles][4] = {};
        uint32_t       vector[2]; /* g and g + 8 */
        float2         stats[2] = {};

        multiply(x, turn, of_x, p);
        multiply(y, turn, of_y, s);
#pragma unroll
        for (int v = 0; v < 2; v++) {
            vector[v] = __shfl_sync(0xffffffffu, slot, g + 8 * v);
            if (kKey) { /* the row of zeros has no stats, and no bit that asks for some */
                const uint32_t of  = min(vector[v] & kIndexBits, (uint32_t)width - 1);
                const uint2    two = load_shared<uint2>(sums + of * 8);

                stats[v] = make_float2(__uint_as_float(two.x) * kLog2e, __uint_as_float(two.y));
            }
        }
#pragma unroll
        for (int i = 0; i < kTiles; i++) {
#pragma unroll
            for (int c = 0; c < 4; c++) {
                const int   r    = c % 2;
                const float from = kKey ? stats[c / 2].x : lse[i][r];
                const float of   = kKey ? stats[c / 2].y : mean[i][r];
                const bool  has =
                    (vector[c / 2] >> (SPMM_ATTENTION_BITS + 8 * i + 2 * t + r) & 1u) != 0;

                p[i][c] = has ? exp2_of(p[i][c] * scale - from) : 0.0f;
                s[i][c] = has ? p[i][c] * (s[i][c] - of) : 0.0f;
            }
        }
        add(x, turn, s, sum[0]);
        if (kKey) {
            add(y, turn, p, sum[kOuts - 1]);
        }
    }
};

/* A row of an operand as the n8 side; zeros without a row. */
template <typename Half, int kK>
__device__ __forceinline__ void load_side(const void *block, int64_t ld, int row, int64_t at,
                                          int64_t k, uint32_t (&to)[kK / 16][2])
{
    const Half *const from = (const Half *)block + row * ld + at;

#pragma unroll
    for (int d = 0; d < kK / 16; d++) {
#pragma unroll
        for (int h = 0; h < 2; h++) {
            const int c = 16 * d + 8 * h + 2 * ((int)threadIdx.x % 4);

            to[d][h] = row >= 0 && c < k ? *(const uint32_t *)(from + c) : 0;
        }
    }
}

/* Rows 2 t and 2 t + 1 of a tile of sums times @p scale, on top of what is there with @p resume.
 * @p row: row g of the tile */
template <typename Half, int kK>
__device__ __forceinline__ void store_side(void *block, int64_t ld, int row, int64_t head,
                                           int64_t k, float scale, bool resume,
                                           const float (&sum)[kK / 16][4])
{
    const int   lane = (int)threadIdx.x % kWarp, t = lane % 4;
    Half *const to = (Half *)block + row * ld + head * k;

#pragma unroll
    for (int d = 0; d < kK / 16; d++) {
#pragma unroll
        for (int h = 0; h < 2; h++) {
            const uint32_t two =
                transposed(pack_two<Half>(sum[d][2 * h] * scale, sum[d][2 * h + 1] * scale));
            const int at = 16 * d + 8 * h + 2 * t;

            if (row >= 0 && at < k) {
                Half pair[2];

                memcpy(pair, &two, sizeof pair);
                if (resume) {
                    pair[0] = Narrow<Half>::from(widen<float>(pair[0]) + widen<float>(to[at]));
                    pair[1] = Narrow<Half>::from(widen<float>(pair[1]) + widen<float>(to[at + 1]));
                }
                memcpy(to + at, pair, sizeof pair);
            }
        }
    }
}

/** What the rows of windows are, and panels of. */
struct GradientSides {
    const void *row_x, *row_y, *x, *y;
    int64_t     ld_row_x, ld_row_y, ld_x, ld_y;
};

/* Row @p row from its entries. */
template <typename Half, int kK, bool kKey>
__device__ __noinline__ void
differentiate_again(const spmm_attention_windows_t &mask, const spmm_attention_gradient_t &args,
                    const GradientSides &sides, const AttentionEntries &entries, int64_t row,
                    int head)
{
    using Row = LaneRow<Half, kK>;

    if (row < 0) {
        return;
    }
    const int64_t     c = head * args.k;
    const Half *const X = (const Half *)sides.x + c, *const Y = (const Half *)sides.y + c;
    const float *const stats = (const float *)args.stats + head;
    const float        scale = (float)args.scale;
    const Row   of_x   = Row::load((const Half *)sides.row_x + row * sides.ld_row_x + c, args.k);
    const Row   of_y   = Row::load((const Half *)sides.row_y + row * sides.ld_row_y + c, args.k);
    Half *const dx     = (Half *)(kKey ? args.dK : args.dQ) + row * sides.ld_row_x + c;
    Half *const dy     = (Half *)args.dV + row * sides.ld_row_y + c;
    Row         sum[2] = {};

    if (args.resume) {
        sum[0] = Row::load(dx, args.k);
        sum[1] = kKey ? Row::load(dy, args.k) : sum[1];
    }
    entries.walk(mask, [&](int64_t j) {
        const Row x           = Row::load(X + j * sides.ld_x, args.k),
                  y           = Row::load(Y + j * sides.ld_y, args.k);
        const float *const of = stats + 2 * (kKey ? j : row) * args.heads;
        const float        p  = exp2_of((of_x.dot(x) * scale - of[0]) * kLog2e);

        sum[0].add(scale * p * (of_y.dot(y) - of[args.heads]), x);
        sum[1].add(p, y);
    });
    sum[0].store(dx, args.k);
    if (kKey) {
        sum[1].store(dy, args.k);
    }
}

template <typename Half, int kK, int kTiles, int kWindows, int kThreads, bool kKey>
__global__ void __launch_bounds__(kThreads, 1)
    attention_gradient(const __grid_constant__ spmm_attention_windows_t  mask,
                       const __grid_constant__ spmm_attention_gradient_t args,
                       const __grid_constant__ GradientSides             sides)
{
    using Window = GradientWindow<Half, kK, kTiles, kKey>;
    extern __shared__ __align__(128) unsigned char shared[];
    const int                                      place = (int)blockIdx.x, head = (int)blockIdx.y;
    const int            first = __ldg(mask.panels + place), end = __ldg(mask.panels + place + 1);
    const int            warp = (int)threadIdx.x / kWarp, lane = (int)threadIdx.x % kWarp;
    const int            number      = __ldg(mask.group + place) * mask.windows + warp * kWindows;
    const float          scale       = (float)args.scale * kLog2e;
    const int            stage_bytes = attention_stage(mask.width, kK);
    const uint32_t       stage       = shared_address(shared);
    const uint32_t       sums        = stage + 2 * stage_bytes;
    const uint32_t       col         = sums + (kKey ? 2 * mask.width * 8 : 0);
    const int32_t *const cols        = (const int32_t *)(shared + (col - stage));
    const float *const   stats       = (const float *)args.stats + head;
    const AttentionPanels<Half, kK> panels           = {mask,
                                                        (const Half *)sides.x + head * args.k,
                                                        (const Half *)sides.y + head * args.k,
                                                        (uint32_t)sides.ld_x * 2u,
                                                        (uint32_t)sides.ld_y * 2u,
                                                        (int)args.k,
                                                        stage,
                                                        col,
                                                        sums,
                                              kKey ? stats : NULL,
                                                        args.heads};
    Window                          window[kWindows] = {};
    int                             row[kWindows][kTiles], chunk[kWindows], next[kWindows];
    uint32_t                        slot[kWindows];
    const int32_t                  *ends[kWindows];

    clear_zeros<kK>(shared, mask.width);
    if (first < end) {
        panels.load(first, mask.col + (int64_t)first * mask.width);
        if (first + 1 < end) {
            panels.load_cols(first + 1);
        }
    }
    cp_async_commit();
#pragma unroll
    for (int w = 0; w < kWindows; w++) {
        attention_rows(mask, number + w, row[w]);
#pragma unroll
        for (int i = 0; i < kTiles; i++) {
            load_side<Half, kK>(sides.row_x, sides.ld_row_x, row[w][i], head * args.k, args.k,
                                window[w].of_x[i]);
            load_side<Half, kK>(sides.row_y, sides.ld_row_y, row[w][i], head * args.k, args.k,
                                window[w].of_y[i]);
#pragma unroll
            for (int r = 0; r < 2 && !kKey; r++) {
                const int64_t of = __shfl_sync(0xffffffffu, row[w][i], 4 * (2 * (lane % 4) + r));

                window[w].lse[i][r]  = of < 0 ? 0.0f : stats[2 * of * args.heads] * kLog2e;
                window[w].mean[i][r] = of < 0 ? 0.0f : stats[(2 * of + 1) * args.heads];
            }
        }
        ends[w] = mask.chunks + (int64_t)first * mask.windows +
                  (int64_t)(warp * kWindows + w) * (end - first);
        chunk[w] = __ldg(ends[w]);
        next[w]  = first < end ? __ldg(ends[w] + 1) : chunk[w];
        slot[w]  = __ldg(mask.slot + (int64_t)chunk[w] * kChunk + lane % kChunk);
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
            const int last = next[w];

            if (panel + 1 < end) {
                next[w] = __ldg(ends[w] + (panel - first) + 2);
            }
            while (chunk[w] < last) {
                const uint32_t after =
                    __ldg(mask.slot + ((int64_t)chunk[w] + 1) * kChunk + lane % kChunk);

                window[w].take_chunk(slot[w], stage + (panel & 1) * stage_bytes,
                                     sums + (panel & 1) * mask.width * 8, mask.width, scale);
                slot[w] = after;
                chunk[w]++;
            }
        }
    }
#pragma unroll
    for (int w = 0; w < kWindows; w++) {
#pragma unroll
        for (int i = 0; i < kTiles; i++) {
            bool good = true;

#pragma unroll
            for (int out = 0; out < Window::kOuts; out++) {
                good = good && all_finite(&window[w].sum[out][i][0][0], kK / 4);
            }
            if (!good) {
#pragma unroll 1
                for (int k = 0; k < 8; k++) {
                    differentiate_again<Half, kK, kKey>(
                        mask, args, sides, {first, end, warp * kWindows + w, 8 * i + k},
                        __shfl_sync(0xffffffffu, row[w][i], 4 * k), head);
                }
                continue;
            }
            store_side<Half, kK>(kKey ? args.dK : args.dQ, sides.ld_row_x, row[w][i], head, args.k,
                                 (float)args.scale, args.resume, window[w].sum[0][i]);
            if (kKey) {
                store_side<Half, kK>(args.dV, sides.ld_row_y, row[w][i], head, args.k, 1.0f,
                                     args.resume, window[w].sum[Window::kOuts - 1][i]);
            }
        }
    }
}

namespace
{

/* Of a thread block, at most: a group of more windows gives each warp two. */
constexpr int kWarps   = 16;
constexpr int kThreads = kWarps * kWarp;
constexpr int kMost    = 64; /* columns of a head */

using Kernel = void(spmm_attention_windows_t, spmm_attention_gradient_t, GradientSides);

template <typename Half> Kernel *kernel_for(int height, int windows, bool key)
{
    if (height == 16) {
        return windows > kWarps || key ? NULL
                                       : attention_gradient<Half, kMost, 2, 1, kThreads, false>;
    }
    if (key) {
        return windows > kWarps ? NULL : attention_gradient<Half, kMost, 1, 1, kThreads, true>;
    }
    return windows > kWarps ? attention_gradient<Half, kMost, 1, 2, kThreads, false>
                            : attention_gradient<Half, kMost, 1, 1, kThreads, false>;
}

template <typename Half> cudaError_t load(int height, int windows, bool key)
{
    return allow_shared(kernel_for<Half>(height, windows, key));
}

cudaError_t run(const spmm_attention_windows_t &mask, const spmm_attention_gradient_t &args,
                const GradientSides &sides, bool key, cudaStream_t stream)
{
    const int     warps  = mask.windows > kWarps ? mask.windows / 2 : mask.windows;
    const int     shared = attention_shared(mask.width, kMost, key);
    Kernel *const kernel = args.type == SPMM_R_16F
                               ? kernel_for<__half>(mask.height, mask.windows, key)
                               : kernel_for<__nv_bfloat16>(mask.height, mask.windows, key);

    if (kernel == NULL || args.k > kMost || args.k % 8 != 0 || sides.ld_x > INT32_MAX ||
        sides.ld_y > INT32_MAX) {
        return cudaErrorInvalidValue;
    }
    return mask.n_groups == 0
               ? cudaSuccess
               : launch_with((size_t)shared, kernel,
                             dim3((unsigned)mask.n_groups, (unsigned)args.heads),
                             dim3((unsigned)(warps * kWarp)), stream, mask, args, sides);
}

} // namespace
} // namespace spmmi

extern "C" cudaError_t spmmi_cuda_attention_gradient_preload(void)
{
    using namespace spmmi;
    cudaError_t code = cudaSuccess;

    for (int which = 0; which < 8 && code == cudaSuccess; which++) {
        const int  height = which % 2 == 0 ? 8 : 16, windows = which / 2 % 2 == 0 ? 16 : 32;
        const bool key = which / 4 == 1;

        code = load<__half>(height, windows, key);
        code = code == cudaSuccess ? load<__nv_bfloat16>(height, windows, key) : code;
    }
    return code;
}

extern "C" cudaError_t spmmi_cuda_attention_query_windows(const spmm_attention_windows_t  *mask,
                                                          const spmm_attention_gradient_t *args,
                                                          cudaStream_t                     stream)
{
    return spmmi::run(
        *mask, *args,
        {args->Q, args->dO, args->K, args->V, args->ldq, args->ldo, args->ldk, args->ldv}, false,
        stream);
}

extern "C" cudaError_t spmmi_cuda_attention_key_windows(const spmm_attention_windows_t  *mask,
                                                        const spmm_attention_gradient_t *args,
                                                        cudaStream_t                     stream)
{
    return spmmi::run(
        *mask, *args,
        {args->K, args->V, args->Q, args->dO, args->ldk, args->ldv, args->ldq, args->ldo}, true,
        stream);
}
