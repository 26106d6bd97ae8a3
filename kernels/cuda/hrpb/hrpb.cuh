/* SPDX-License-Identifier: Apache-2.0 */
/** @file hrpb.cuh
 *  HRPB on the device: a staged block, its decoding and its product with staged rows of B
 *  (cuTeSpMM, section 3.3).
 *
 *  Fragments of m16n8k8, lane = 4 g + t: A holds two bricks beside each other, so that the lane's
 *  values of each are those at bits lane and lane + 32 of the brick's pattern.  Columns of B are
 *  permuted: of the 32 columns of a tile, column m of fragment q is 4 * chunk_of(m) + q.  One
 *  16-byte access then loads a lane's part of all four fragments, and a lane ends up with 4
 *  consecutive columns of C at a time, its neighbours with the next ones.
 */
#ifndef SPMM_HRPB_CUH
#define SPMM_HRPB_CUH

#include "cuda/tc/tc_common.cuh"
#include "engine/hrpb/args.h"

namespace spmmi
{

constexpr int kHrpbTn        = 32; /* TN: columns of a tile, which a warp computes */
constexpr int kHrpbFragments = 4;  /* of 8 columns: a tile */
constexpr int kHrpbChunks    = 8;  /* of 4 columns, 16 bytes: a row of a tile */
constexpr int kHrpbPairs     = SPMM_HRPB_BLOCK / SPMM_HRPB_BRICK_K / 2; /* of brick columns */

/** The format with panels of 16 rows, a brick high, as tc_common.cuh wants it. */
struct Hrpb {
    using T                      = float;
    using In                     = float;
    using Out                    = float;
    static constexpr int kHeight = SPMM_HRPB_BRICK_M;
    static constexpr int kValues =
        SPMM_HRPB_PATTERNS + SPMM_HRPB_BLOCK / SPMM_HRPB_BRICK_K * (int)sizeof(uint64_t);
    static constexpr int kBytes = kValues + kHeight * SPMM_HRPB_BLOCK * (int)sizeof(float);

    int32_t              n_rows;
    const int32_t       *block_ptr, *size_ptr, *col;
    const unsigned char *packed;

    __device__ float exact(int32_t panel, int32_t row, const float *B, int64_t ldb,
                           int64_t j) const;
};

/** The entries of row @p row of a brick, times column j of the rows of B in @p col. */
__device__ inline float exact_in_brick(uint64_t pattern, const float *value, int row,
                                       const int32_t *col, const float *B, int64_t ldb, int64_t j,
                                       float sum)
{
    const int first = row * SPMM_HRPB_BRICK_K;

    value += __popcll(pattern & ((uint64_t(1) << first) - 1));
    for (int c = 0; c < SPMM_HRPB_BRICK_K; c++) {
        if ((pattern >> (first + c) & 1) != 0) {
            sum = fmaf(*value++, B[col[c] * ldb + j], sum);
        }
    }
    return sum;
}

__device__ inline float Hrpb::exact(int32_t panel, int32_t row, const float *B, int64_t ldb,
                                    int64_t j) const
{
    float sum = 0;

    for (int32_t block = block_ptr[panel]; block < block_ptr[panel + 1]; block++) {
        const unsigned char *head    = packed + (int64_t)size_ptr[block] * SPMM_HRPB_UNIT;
        const unsigned char *col_ptr = head + SPMM_HRPB_COL_PTR;
        const uint64_t      *pattern = (const uint64_t *)(head + SPMM_HRPB_PATTERNS);
        const float         *value   = (const float *)(head + kValues);
        const int32_t       *columns = col + (int64_t)block * SPMM_HRPB_BLOCK;

        for (int k = 0; k < SPMM_HRPB_BLOCK / SPMM_HRPB_BRICK_K; k++) {
            for (int brick = col_ptr[k]; brick < col_ptr[k + 1]; brick++) {
                sum = exact_in_brick(pattern[brick], value, row, columns + k * SPMM_HRPB_BRICK_K, B,
                                     ldb, j, sum);
                value += __popcll(pattern[brick]);
            }
        }
    }
    return sum;
}

/* --- Shared memory, by its 32-bit addresses: generic ones cost a conversion at each access. --- */

template <> __device__ __forceinline__ uint4 load_shared<uint4>(uint32_t from)
{
    uint4 x;

    asm volatile("ld.shared.v4.b32 {%0,%1,%2,%3}, [%4];"
                 : "=r"(x.x), "=r"(x.y), "=r"(x.z), "=r"(x.w)
                 : "r"(from)
                 : "memory");
    return x;
}

/** Zero where @p bit, as the sign of a number, is not set. */
__device__ __forceinline__ float load_shared_if(uint32_t bit, uint32_t from)
{
    float x;

    asm volatile("{.reg .pred p; setp.lt.s32 p, %1, 0; mov.f32 %0, 0f00000000; "
                 "@p ld.shared.f32 %0, [%2];}"
                 : "=f"(x)
                 : "r"(bit), "r"(from)
                 : "memory");
    return x;
}

__device__ __forceinline__ void clear_shared(uint32_t at)
{
    asm volatile("st.shared.v4.b32 [%0], {%1,%1,%1,%1};" ::"r"(at), "r"(0) : "memory");
}

/** As cp_async(), 16 bytes: zeros, and @p from is not read, where @p column is no column. */
__device__ __forceinline__ void copy_quad(uint32_t to, const void *from, int32_t column = 0)
{
    static_assert(SPMM_TC_NO_COLUMN < 0, "no column is a negative one");
    asm volatile("{.reg .pred none; setp.lt.s32 none, %2, 0; "
                 "cp.async.cg.shared.global [%0], [%1], 16, none;}" ::"r"(to),
                 "l"(from), "r"(column)
                 : "memory");
}

/** The same for 4 bytes. */
__device__ __forceinline__ void copy_single(uint32_t to, const void *from, int32_t column)
{
    asm volatile("{.reg .pred none; setp.lt.s32 none, %2, 0; "
                 "cp.async.ca.shared.global [%0], [%1], 4, none;}" ::"r"(to),
                 "l"(from), "r"(column)
                 : "memory");
}

/** A stage: the rows of B of a block, then the packed block.  Chunk c of row k of B is at
 *  c ^ k % 4: the 8 lanes that a 16-byte access serves at a time then meet all banks once, on the
 *  way in and on the way out. */
struct HrpbStage {
    static constexpr int kRow    = kHrpbTn * (int)sizeof(float);
    static constexpr int kPacked = SPMM_HRPB_BLOCK * kRow;
    static constexpr int kBytes  = (kPacked + Hrpb::kBytes + 63) / 64 * 64; /* the xor needs that */
};

__device__ __forceinline__ int chunk_of(int m)
{
    return m / 2 + m % 2 * 4;
}

/** The patterns of brick columns 2 * pair and 2 * pair + 1; zero: inactive.  Each column of a panel
 *  has an entry, so only the last bricks of its last block are inactive, and their patterns are
 *  zero: colPtr and rows say no more than that. */
__device__ __forceinline__ void read_patterns(uint32_t packed, int pair, uint2 (&pattern)[2])
{
    const uint4 both = load_shared<uint4>(packed + SPMM_HRPB_PATTERNS + pair * 16);

    pattern[0] = make_uint2(both.x, both.y);
    pattern[1] = make_uint2(both.z, both.w);
}

/** The values of a lane in a brick, 0 where none is stored; @p value steps to the next brick. */
__device__ __forceinline__ void decode_brick(uint2 pattern, int lane, uint32_t &value, float &upper,
                                             float &lower)
{
    /* The lane's bit becomes the sign; those before it remain with it. */
    const uint32_t x     = pattern.x << (kWarp - 1 - lane);
    const uint32_t y     = pattern.y << (kWarp - 1 - lane);
    const uint32_t below = value + 4 * __popc(pattern.x);

    upper = load_shared_if(x, value + 4 * __popc(x) - 4);
    lower = load_shared_if(y, below + 4 * __popc(y) - 4);
    value = below + 4 * __popc(pattern.y);
}

/** sum += A * B for one fragment of B (b0: rows t, b1: rows t + 4).
 *  Tensor cores cut sums off instead of rounding them.  So FP32 products, small terms first, are
 *  summed from zero there, and added up with rounding. */
template <bool kSplit>
__device__ __forceinline__ void multiply_fragment(const uint32_t (&hi)[4], const uint32_t (&lo)[4],
                                                  uint32_t b0, uint32_t b1, float (&sum)[4])
{
    if constexpr (kSplit) {
        uint32_t b_hi[2], b_lo[2];
        float    part[4] = {0.0f, 0.0f, 0.0f, 0.0f};

        split_tf32(__uint_as_float(b0), b_hi[0], b_lo[0]);
        split_tf32(__uint_as_float(b1), b_hi[1], b_lo[1]);
        mma_tf32_m16n8k8(part, lo, b_hi);
        mma_tf32_m16n8k8(part, hi, b_lo);
        mma_tf32_m16n8k8(part, hi, b_hi);
#pragma unroll
        for (int e = 0; e < 4; e++) {
            sum[e] += part[e];
        }
    } else {
        const uint32_t b[2] = {to_tf32(__uint_as_float(b0)), to_tf32(__uint_as_float(b1))};

        mma_tf32_m16n8k8(sum, hi, b);
    }
}

/** sum += the block at @p stage times its rows of B.  sum [fragment]: elements 0, 1 are row g and
 *  columns 2 t, 2 t + 1 of the fragment, elements 2, 3 row g + 8. */
template <bool kSplit>
__device__ __forceinline__ void multiply_block(uint32_t stage, int lane,
                                               float (&sum)[kHrpbFragments][4])
{
    using Stage      = HrpbStage;
    const int      g = lane / 4, t = lane % 4;
    const uint32_t quads = stage + t * Stage::kRow + (chunk_of(g) ^ t) * 16;
    uint32_t       value = stage + Stage::kPacked + Hrpb::kValues;

#pragma unroll
    for (int pair = 0; pair < kHrpbPairs; pair++) {
        uint2    pattern[2];
        uint32_t hi[4], lo[4];

        read_patterns(stage + Stage::kPacked, pair, pattern);
        if ((pattern[0].x | pattern[0].y | pattern[1].x | pattern[1].y) == 0) {
            continue;
        }
#pragma unroll
        for (int h = 0; h < 2; h++) {
            float a[2];

            decode_brick(pattern[h], lane, value, a[0], a[1]);
#pragma unroll
            for (int e = 0; e < 2; e++) {
                if constexpr (kSplit) {
                    split_tf32(a[e], hi[2 * h + e], lo[2 * h + e]);
                } else {
                    hi[2 * h + e] = to_tf32(a[e]);
                }
            }
        }
        const uint32_t row = quads + pair * 2 * SPMM_HRPB_BRICK_K * Stage::kRow;
        const uint4    b0  = load_shared<uint4>(row);
        const uint4    b1  = load_shared<uint4>(row + SPMM_HRPB_BRICK_K * Stage::kRow);

        multiply_fragment<kSplit>(hi, lo, b0.x, b1.x, sum[0]);
        multiply_fragment<kSplit>(hi, lo, b0.y, b1.y, sum[1]);
        multiply_fragment<kSplit>(hi, lo, b0.z, b1.z, sum[2]);
        multiply_fragment<kSplit>(hi, lo, b0.w, b1.w, sum[3]);
    }
}

} // namespace spmmi

#endif /* SPMM_HRPB_CUH */
