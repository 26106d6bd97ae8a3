/* SPDX-License-Identifier: Apache-2.0 */
/** @file attention_chunk.cuh  What a warp does with 16 vectors of a window, for
 *  attention_windows.cuh. */
#ifndef SPMM_ATTENTION_CHUNK_CUH
#define SPMM_ATTENTION_CHUNK_CUH

#include "cuda/attention/attention.h"
#include "cuda/tc/tc_common.cuh"

namespace spmmi
{

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

} // namespace spmmi

#endif /* SPMM_ATTENTION_CHUNK_CUH */
