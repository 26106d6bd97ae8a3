/* SPDX-License-Identifier: Apache-2.0 */
/** @file attention_again.cuh
 *  Rows of a window from their own entries alone, where a sum is not finite: a row without a column
 *  of its window weighs it with 0, and 0 Inf is NaN.  A warp takes row after row, its lanes every
 *  32nd column of the head.
 */
#ifndef SPMM_ATTENTION_AGAIN_CUH
#define SPMM_ATTENTION_AGAIN_CUH

#include "cuda/attention/attention.h"
#include "cuda/windows/tc_common.cuh"

namespace spmmi
{

/* What a warp does with 16 vectors of a window, for
 * attention_windows.cu. */

constexpr int   kChunk     = SPMM_ATTENTION_CHUNK;
constexpr int   kIndexBits = (1 << SPMM_ATTENTION_BITS) - 1;
constexpr float kLog2e     = 1.4426950408889634f;
constexpr float kLowest    = -3e38f; /* below all scores; a difference to it is not NaN */
constexpr float kSlack     = 8.0f;

/** Four 8x8 matrices of 16 bits as they lie. */
__device__ __forceinline__ void load_rows(uint32_t (&to)[4], uint32_t address)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(address)
                 : "memory");
}

/** The transpose of an 8x8 matrix of 16 bits that a warp holds. */
__device__ __forceinline__ uint32_t transposed(uint32_t x)
{
    asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(x) : "r"(x));
    return x;
}

template <typename Half> __device__ __forceinline__ uint32_t pack_two(float x, float y)
{
    uint32_t both;

    if constexpr (std::is_same_v<Half, __half>) {
        asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(y), "f"(x));
    } else {
        asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(y), "f"(x));
    }
    return both;
}

__device__ __forceinline__ float exp2_of(float x)
{
    float y;

    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

__device__ __forceinline__ float over_vectors(float x, bool sum)
{
#pragma unroll
    for (int step = 4; step < kWarp; step *= 2) {
        const float other = __shfl_xor_sync(0xffffffffu, x, step);

        x = sum ? x + other : fmaxf(x, other);
    }
    return x;
}

/** What a warp keeps of one window: kTiles times 8 rows, kK columns of Q and O. */
template <typename Half, int kK, int kTiles> struct AttentionWindow {
    uint32_t q[kTiles][kK / 16][2];
    float    sum[kTiles][kK / 16][4];
    float    most[kTiles][2], all[kTiles][2]; /* of rows 2 t and 2 t + 1; all: this lane's part */
    int      chunk, next;                     /* in hand; the next panel's first */
    uint32_t slot;                            /* lane l: slot l % 16 of chunk */

    __device__ __forceinline__ void clear()
    {
#pragma unroll
        for (int i = 0; i < kTiles; i++) {
#pragma unroll
            for (int d = 0; d < kK / 16; d++) {
#pragma unroll
                for (int c = 0; c < 4; c++) {
                    sum[i][d][c] = 0.0f;
                }
            }
            most[i][0] = most[i][1] = kLowest;
            all[i][0] = all[i][1] = 0.0f;
        }
    }

    /* All that depends on the old reference. */
    __device__ __forceinline__ void look_again(const float (&top)[kTiles][2])
    {
#pragma unroll
        for (int i = 0; i < kTiles; i++) {
            float factor[2];

#pragma unroll
            for (int r = 0; r < 2; r++) {
                const float now = fmaxf(most[i][r], over_vectors(top[i][r], false));

                factor[r]  = exp2_of(most[i][r] - now);
                most[i][r] = now;
                all[i][r] *= factor[r];
            }
#pragma unroll
            for (int d = 0; d < kK / 16; d++) {
#pragma unroll
                for (int c = 0; c < 4; c++) {
                    sum[i][d][c] *= factor[c % 2];
                }
            }
        }
    }

    /* Scores of a chunk to weights; @p scale: to powers of 2. */
    __device__ __forceinline__ void weigh(float (&s)[kTiles][4], float scale)
    {
        const int      g = (int)threadIdx.x % kWarp / 4, t = (int)threadIdx.x % 4;
        const uint32_t low = __shfl_sync(0xffffffffu, slot, g) >> (SPMM_ATTENTION_BITS + 2 * t);
        const uint32_t high =
            __shfl_sync(0xffffffffu, slot, g + 8) >> (SPMM_ATTENTION_BITS + 2 * t);
        float top[kTiles][2];
        bool  passed = false;

#pragma unroll
        for (int i = 0; i < kTiles; i++) {
#pragma unroll
            for (int r = 0; r < 2; r++) {
                const bool a = (low >> (8 * i + r) & 1u) != 0, b = (high >> (8 * i + r) & 1u) != 0;

                s[i][r]     = a ? s[i][r] * scale : -INFINITY;
                s[i][r + 2] = b ? s[i][r + 2] * scale : -INFINITY;
                top[i][r]   = fmaxf(s[i][r], s[i][r + 2]);
                passed      = passed || top[i][r] > most[i][r] + kSlack;
            }
        }
        if (__any_sync(0xffffffffu, passed)) {
            look_again(top);
        }
#pragma unroll
        for (int i = 0; i < kTiles; i++) {
#pragma unroll
            for (int c = 0; c < 4; c++) {
                s[i][c] = exp2_of(s[i][c] - most[i][c % 2]);
                all[i][c % 2] += s[i][c];
            }
        }
    }

    /* 16 vectors of the panel at @p stage. */
    __device__ __forceinline__ void take_chunk(uint32_t stage, int width, float scale)
    {
        const int      index = (int)(slot & kIndexBits);
        const uint32_t of_k  = stage + index * (kK * 2);
        const uint32_t of_v  = of_k + (width + 1) * (kK * 2);
        const uint32_t turn  = (uint32_t)(((int)threadIdx.x % kWarp / 16) ^ (index & 7)) * 16;
        float          s[kTiles][4] = {};
        uint32_t       p[kTiles][2];

#pragma unroll
        for (int d = 0; d < kK / 16; d++) {
            uint32_t a[4];

            load_rows(a, of_k + (turn ^ (32 * d)));
#pragma unroll
            for (int i = 0; i < kTiles; i++) {
                mma_half_m16n8k16<Half>(s[i], a, q[i][d][0], q[i][d][1]);
            }
        }
        weigh(s, scale);
#pragma unroll
        for (int i = 0; i < kTiles; i++) {
            p[i][0] = transposed(pack_two<Half>(s[i][0], s[i][1]));
            p[i][1] = transposed(pack_two<Half>(s[i][2], s[i][3]));
        }
#pragma unroll
        for (int d = 0; d < kK / 16; d++) {
            uint32_t m[4];

            load_matrices(m, of_v + (turn ^ (32 * d)));
            const uint32_t a[4] = {m[0], m[2], m[1], m[3]};
#pragma unroll
            for (int i = 0; i < kTiles; i++) {
                mma_half_m16n8k16<Half>(sum[i][d], a, p[i][0], p[i][1]);
            }
        }
    }
};

/* Rows of two operands at the columns of a group, panel by panel in
 * shared memory. */

/** Bytes of a stage of @p width columns: rows of two operands, each with one of zeros behind. */
constexpr __host__ __device__ int attention_stage(int width, int k)
{
    return 2 * (width + 1) * k * 2;
}

/** Of a thread block: two stages, and of two panels the columns and, for gradients of keys,
 *  stats. */
constexpr __host__ __device__ int attention_shared(int width, int k, bool stats = false)
{
    return 2 * (attention_stage(width, k) + width * (stats ? 12 : 4));
}

/** Rows of a window that this lane reads and writes: row 8 i + g of tile i; negative: none. */
template <int kTiles>
__device__ __forceinline__ void attention_rows(const spmm_attention_windows_t &mask, int window,
                                               int (&row)[kTiles])
{
#pragma unroll
    for (int i = 0; i < kTiles; i++) {
        const int r = window * (8 * kTiles) + 8 * i + (int)threadIdx.x % kWarp / 4;

        row[i] = r >= mask.n_rows ? -1 : mask.row_map == NULL ? r : __ldg(mask.row_map + r);
    }
}

/** Panels of a group, by all threads of a block. */
template <typename Half, int kK> struct AttentionPanels {
    const spmm_attention_windows_t &mask;
    const Half                     *K, *V;
    uint32_t                        k_bytes, v_bytes; /* from row to row */
    int                             k;
    uint32_t                        stage, col; /* shared addresses */
    uint32_t                        sums;       /* the same: two FP32 for each column */
    const float                    *stats;      /* of this head; NULL: not wanted */
    int64_t                         heads;

    /* @p cols: where the columns of the panel lie.  All rows of a thread are the same modulo 8. */
    __device__ __forceinline__ void load(int panel, const int32_t *cols) const
    {
        constexpr int     kPieces = kK / 8; /* of 16 bytes, of a row */
        const int         piece = (int)threadIdx.x % kPieces, first = (int)threadIdx.x / kPieces;
        const int         step  = (int)blockDim.x / kPieces;
        const bool        valid = 8 * piece < k;
        const char *const k0    = (const char *)(K + 8 * piece);
        const char *const v0    = (const char *)(V + 8 * piece);
        uint32_t to = stage + (panel & 1) * attention_stage(mask.width, kK) + first * (kK * 2) +
                      ((piece ^ (first & 7)) * 16);

#pragma unroll 4
        for (int i = first; i < mask.width; i += step) {
            const int j = cols[i];

            if (j >= 0) {
                cp_async_at<16>(to, k0 + (uint64_t)(uint32_t)j * k_bytes, valid);
                cp_async_at<16>(to + (mask.width + 1) * (kK * 2),
                                v0 + (uint64_t)(uint32_t)j * v_bytes, valid);
                if (stats != NULL && piece < 2) {
                    cp_async_at<4>(sums + ((panel & 1) * mask.width + i) * 8 + piece * 4,
                                   stats + (2 * (int64_t)j + piece) * heads);
                }
            }
            to += step * (kK * 2);
        }
    }

    /* Fetch the columns of a panel. */
    __device__ __forceinline__ void load_cols(int panel) const
    {
        for (int i = 4 * (int)threadIdx.x; i < mask.width; i += 4 * (int)blockDim.x) {
            cp_async_at<16>(col + ((panel & 1) * mask.width + i) * 4,
                            mask.col + (int64_t)panel * mask.width + i);
        }
    }
};

/** The rows of zeros of both stages. */
template <int kK> __device__ __forceinline__ void clear_zeros(unsigned char *shared, int width)
{
    for (int i = (int)threadIdx.x; i < 2 * kK; i += (int)blockDim.x) {
        const int row = i / (kK / 2); /* stage, operand */

        *(uint32_t *)(shared + row / 2 * attention_stage(width, kK) +
                      (row % 2 * (width + 1) + width) * (kK * 2) + i % (kK / 2) * 4) = 0;
    }
}

/** The entries of a window's row. */
struct AttentionEntries {
    int first, end; /* panels of the group */
    int window;     /* of the group */
    int row;        /* of the window */

    /* @p work gets the column of each. */
    template <class Work>
    __device__ __forceinline__ void walk(const spmm_attention_windows_t &mask, Work work) const
    {
        const int32_t *const from =
            mask.chunks + (int64_t)first * mask.windows + (int64_t)window * (end - first);

        for (int panel = first; panel < end; panel++) {
            const int64_t last = (int64_t)__ldg(from + panel - first + 1) * kChunk;

            for (int64_t at = (int64_t)__ldg(from + panel - first) * kChunk; at < last; at++) {
                const uint32_t slot = __ldg(mask.slot + at);

                if ((slot >> (SPMM_ATTENTION_BITS + row) & 1u) != 0) {
                    work(__ldg(mask.col + (int64_t)panel * mask.width + (int)(slot & kIndexBits)));
                }
            }
        }
    }
};

/** What a lane holds of a row of a head: every 32nd of up to kK columns. */
template <typename Half, int kK> struct LaneRow {
    static constexpr int kMine = kK / kWarp;
    float                at[kMine];

    __device__ __forceinline__ static LaneRow load(const Half *row, int64_t k)
    {
        LaneRow x;

#pragma unroll
        for (int l = 0; l < kMine; l++) {
            const int c = (int)threadIdx.x % kWarp + l * kWarp;

            x.at[l] = c < k ? widen<float>(row[c]) : 0.0f;
        }
        return x;
    }
    __device__ __forceinline__ void store(Half *row, int64_t k) const
    {
#pragma unroll
        for (int l = 0; l < kMine; l++) {
            const int c = (int)threadIdx.x % kWarp + l * kWarp;

            if (c < k) {
                row[c] = Narrow<Half>::from(at[l]);
            }
        }
    }
    __device__ __forceinline__ void add(float weight, const LaneRow &x)
    {
#pragma unroll
        for (int l = 0; l < kMine; l++) {
            at[l] += weight * x.at[l];
        }
    }
    __device__ __forceinline__ void scale(float factor)
    {
#pragma unroll
        for (int l = 0; l < kMine; l++) {
            at[l] *= factor;
        }
    }
    /* The dot product, in all lanes. */
    __device__ __forceinline__ float dot(const LaneRow &x) const
    {
        float sum = 0.0f;

#pragma unroll
        for (int l = 0; l < kMine; l++) {
            sum += at[l] * x.at[l];
        }
#pragma unroll
        for (int step = kWarp / 2; step > 0; step /= 2) {
            sum += __shfl_xor_sync(0xffffffffu, sum, step);
        }
        return sum;
    }
};

/** Is it of all @p n sums of the warp's lanes? */
__device__ __forceinline__ bool all_finite(const float *sum, int n)
{
    float bad = 0.0f;

#pragma unroll
    for (int k = 0; k < n; k++) {
        bad = taint(sum[k], bad);
    }
    return __all_sync(0xffffffffu, bad == 0.0f);
}

} // namespace spmmi

#endif /* SPMM_ATTENTION_AGAIN_CUH */
