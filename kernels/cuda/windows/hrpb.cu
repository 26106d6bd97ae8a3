/* SPDX-License-Identifier: Apache-2.0 */
/** @file hrpb.cu
 *  C = alpha * A * B + beta * C, A in HRPB (cuTeSpMM, section 3.3).  A warp takes a work item
 *  times 32 columns: it stages the blocks of the work item and the rows of B that they multiply in
 *  its own part of shared memory, some blocks ahead, and so never waits for other warps.  Work
 *  items run fastest over the grid, so that the slice of B in use is 32 columns wide and stays
 *  longer in L2.
 */
#include "cuda/windows/hrpb.h"
#include "cuda/windows/tc_common.cuh"
#include "engine/windows/hrpb_args.h"

namespace spmmi
{

/* HRPB on the device: a staged block, its decoding and its product with staged rows of B
 * (cuTeSpMM, section 3.3).
 *
 * Fragments of m16n8k8, lane = 4 g + t: A holds two bricks beside each other, so that the lane's
 * values of each are those at bits lane and lane + 32 of the brick's pattern.  Columns of B are
 * permuted: of the 32 columns of a tile, column m of fragment q is 4 * chunk_of(m) + q.  One
 * 16-byte access then loads a lane's part of all four fragments, and a lane ends up with 4
 * consecutive columns of C at a time, its neighbours with the next ones. */

constexpr int kHrpbTn        = 32; /* TN: columns of a tile, which a warp computes */
constexpr int kHrpbFragments = 4;  /* of 8 columns: a tile */
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

/* The sums of a warp of the HRPB kernel, in the order in which mma leaves them, on their way to
 * memory. */

__device__ __forceinline__ bool all_finite(const float (&sum)[kHrpbFragments][4])
{
    float t = 0.0f;

#pragma unroll
    for (int k = 0; k < kHrpbFragments * 4; k++) {
        t = taint(sum[k / 4][k % 4], t);
    }
    return __any_sync(0xffffffffu, t != 0.0f) == 0;
}

/* Four columns of a row of C, or the first `left` of them; kWide: all or none. */
template <bool kWide> __device__ __forceinline__ float4 load_quad(const float *c, int left)
{
    if constexpr (kWide) {
        return left > 0 ? *(const float4 *)c : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    } else {
        return make_float4(left > 0 ? c[0] : 0.0f, left > 1 ? c[1] : 0.0f, left > 2 ? c[2] : 0.0f,
                           left > 3 ? c[3] : 0.0f);
    }
}

template <bool kWide>
__device__ __forceinline__ void store_quad(float *c, int left, float x, float y, float z, float w)
{
    if constexpr (kWide) {
        if (left > 0) {
            __stcs((float4 *)c, make_float4(x, y, z, w));
        }
    } else {
        if (left > 0) {
            __stcs(c, x);
        }
        if (left > 1) {
            __stcs(c + 1, y);
        }
        if (left > 2) {
            __stcs(c + 2, z);
        }
        if (left > 3) {
            __stcs(c + 3, w);
        }
    }
}

/* Where the sums of a window go: rows of C, or of work.partial as they are. */
struct HrpbTarget {
    const int32_t *row_map; /* NULL: the identity */
    float         *base;    /* row 0, or that of row 0 of A, and the tile's first column */
    int64_t        ld;
    float          alpha, beta;
    int            width;
};

/* Rows g and g + 8 of the window whose row is `first`, 4 columns at chunk t and at chunk t + 4. */
template <bool kWide>
__device__ __forceinline__ void store_sums(const Hrpb &format, const HrpbTarget &to, int64_t first,
                                           int lane, const float (&sum)[kHrpbFragments][4])
{
    const int g = lane / 4, t = lane % 4;
    float    *c[4];
    float4    old[4] = {};
    int       left[4];

#pragma unroll
    for (int k = 0; k < 4; k++) {
        const int64_t i    = first + k / 2 * 8 + g;
        const bool    real = i < format.n_rows;
        const int64_t row  = real && to.row_map != NULL ? __ldg(to.row_map + i) : i;

        c[k]    = to.base + row * to.ld + 4 * t + k % 2 * 16;
        left[k] = real ? to.width - 4 * t - k % 2 * 16 : 0;
    }
    if (to.beta != 0.0f) {
#pragma unroll
        for (int k = 0; k < 4; k++) {
            old[k] = load_quad<kWide>(c[k], left[k]);
        }
    }
#pragma unroll
    for (int k = 0; k < 4; k++) {
        store_quad<kWide>(c[k], left[k], fmaf(to.beta, old[k].x, to.alpha * sum[0][k]),
                          fmaf(to.beta, old[k].y, to.alpha * sum[1][k]),
                          fmaf(to.beta, old[k].z, to.alpha * sum[2][k]),
                          fmaf(to.beta, old[k].w, to.alpha * sum[3][k]));
    }
}

namespace
{

constexpr int kWarps     = 4; /* of a thread block, on consecutive work items */
constexpr int kCopyLanes = 8; /* lanes that copy a row of a tile; each serves 4 rows of a block */

/* Stages of a warp and thread blocks on a multiprocessor: 32 warps of 2 stages were 5 to 8 % faster
 * than 24 warps of 3 on one H200.  3xTF32 has no registers for 32 warps. */
constexpr int                        kStages   = 2;
template <bool kSplit> constexpr int kResident = kSplit ? 6 : 8;

/* What must be known of a block before it can be copied. */
struct Ahead {
    int4    col; /* of the 4 rows of B that this lane copies */
    int32_t end; /* where the packed block ends, in units */
};

__device__ __forceinline__ Ahead look_ahead(const Hrpb &format, const spmm_tc_item_t &item, int i,
                                            int lane)
{
    const int64_t block = item.block;
    Ahead         ahead = {make_int4(0, 0, 0, 0), 0};

    if (i < item.n_blocks) {
        ahead.col = __ldg((const int4 *)(format.col + block * SPMM_HRPB_BLOCK) + lane / kCopyLanes +
                          (int64_t)i * (SPMM_HRPB_BLOCK / 4));
        ahead.end = __ldg(format.size_ptr + block + 1 + i);
    }
    return ahead;
}

/* The columns of B that a warp multiplies: width of them from B on. */
struct Tile {
    const float *B;
    int64_t      ldb;
    int          width;
};

/* Start copying 4 rows of B: lanes 8 k .. 8 k + 7 rows 4 k .. 4 k + 3.  Columns past the width are
 * left as they are.  kWide: 16 bytes at a time, and rows are less than 4 GiB apart. */
template <bool kWide>
__device__ __forceinline__ void copy_rows_of_b(uint32_t stage, const int4 &columns,
                                               const Tile &tile, int lane)
{
    using Stage           = HrpbStage;
    const int32_t  col[4] = {columns.x, columns.y, columns.z, columns.w};
    const int      x      = lane % kCopyLanes;
    const uint32_t rows   = stage + lane / kCopyLanes * 4 * Stage::kRow;

    if constexpr (kWide) {
        const uint32_t to   = rows + x * 16;
        const char    *from = (const char *)(tile.B + 4 * x);
        const uint32_t step = (uint32_t)tile.ldb * (uint32_t)sizeof(float);

        if (4 * x < tile.width) {
#pragma unroll
            for (int r = 0; r < 4; r++) {
                copy_quad((to ^ r * 16) + r * Stage::kRow,
                          from + (uint64_t)(uint32_t)max(col[r], 0) * step, col[r]);
            }
        }
    } else {
#pragma unroll
        for (int r = 0; r < 4; r++) {
            const float *from = tile.B + max(col[r], 0) * tile.ldb;

#pragma unroll 1
            for (int j = x; j < tile.width; j += kCopyLanes) {
                copy_single(rows + r * Stage::kRow + (j / 4 ^ r) * 16 + j % 4 * 4, from + j,
                            col[r]);
            }
        }
    }
}

/* Start copying units at .. end. */
__device__ __forceinline__ void copy_packed(uint32_t stage, const unsigned char *packed, int32_t at,
                                            int32_t end, int lane)
{
    uint32_t to = stage + HrpbStage::kPacked + lane * SPMM_HRPB_UNIT;

#pragma unroll 1
    for (int32_t u = at + lane; u < end; u += kWarp) {
        copy_quad(to, packed + (int64_t)u * SPMM_HRPB_UNIT);
        to += kWarp * SPMM_HRPB_UNIT;
    }
}

/* Columns past the width would keep what shared memory held before, perhaps NaN. */
__device__ __forceinline__ void clear_stages(uint32_t stage, int lane)
{
#pragma unroll 1
    for (int k = lane * 16; k < kStages * HrpbStage::kBytes; k += kWarp * 16) {
        clear_shared(stage + k);
    }
    __syncwarp();
}

/* sum = the blocks of the work item times the tile.  Block i stays in stage i % kStages of those at
 * `stages`; a group of copies is committed for every i, also past the last block, so that counting
 * groups is counting blocks. */
template <bool kSplit, bool kWide>
__device__ __forceinline__ void sum_item(const Hrpb &format, const spmm_tc_item_t &item,
                                         const Tile &tile, uint32_t stages, int lane,
                                         float (&sum)[kHrpbFragments][4])
{
    constexpr int      kDepth = kStages - 1; /* blocks under way */
    constexpr uint32_t kBytes = HrpbStage::kBytes;
    int32_t            at     = item.start;
    Ahead              ahead, first[kDepth];

    auto copy = [&](uint32_t to, const Ahead &known, int i) {
        if (i < item.n_blocks) {
            copy_rows_of_b<kWide>(to, known.col, tile, lane);
            copy_packed(to, format.packed, at, known.end, lane);
            at = known.end;
        }
        cp_async_commit();
    };

#pragma unroll
    for (int s = 0; s < kDepth; s++) {
        first[s] = look_ahead(format, item, s, lane);
    }
    ahead = look_ahead(format, item, kDepth, lane);
#pragma unroll
    for (int s = 0; s < kDepth; s++) {
        copy(stages + s * kBytes, first[s], s);
    }
    uint32_t now = stages, free = stages + kDepth * kBytes;

#pragma unroll 1
    for (int i = 0; i < item.n_blocks; i++) {
        /* Block i has come, to all lanes, and all have done with block i - 1. */
        cp_async_wait<kDepth - 1>();
        __syncwarp();
        copy(free, ahead, i + kDepth);
        ahead = look_ahead(format, item, i + kDepth + 1, lane);
        multiply_block<kSplit>(now, lane, sum);
        free = now;
        now  = now == stages + kDepth * kBytes ? stages : now + kBytes;
    }
}

template <bool kSplit, bool kWide>
__global__ void __launch_bounds__(kWarps *kWarp, resident_blocks(kWarps *kWarp, kResident<kSplit>))
    hrpb_mm(const __grid_constant__ Hrpb format, const __grid_constant__ spmm_tc_work_t work,
            const __grid_constant__ spmm_tc_mm_args_t args, bool wide_c)
{
    using Stage = HrpbStage;
    __shared__ __align__(128) unsigned char shared[kWarps * kStages * Stage::kBytes];
    const int     lane = (int)threadIdx.x % kWarp, warp = (int)threadIdx.x / kWarp;
    const int64_t p  = (int64_t)blockIdx.x * kWarps + warp;
    const int64_t j0 = ((int64_t)blockIdx.z * gridDim.y + blockIdx.y) * kHrpbTn;

    if (p >= work.n_items || j0 >= args.x.n) {
        return;
    }
    const int4           raw   = __ldg((const int4 *)work.item + p);
    const spmm_tc_item_t item  = {raw.x, raw.y, raw.z, raw.w};
    const int            width = args.x.n - j0 < kHrpbTn ? (int)(args.x.n - j0) : kHrpbTn;
    const Tile           tile  = {(const float *)args.x.B + j0, args.x.ldb, width};
    float                sum[kHrpbFragments][4] = {};

    uint32_t stages = shared_address(shared) + warp * kStages * Stage::kBytes;

    keep(stages);
    if (width < kHrpbTn) {
        clear_stages(stages, lane);
    }
    sum_item<kSplit, kWide>(format, item, tile, stages, lane, sum);

    const bool    partial = p < work.n_partial;
    const int64_t first   = (int64_t)item.window * Hrpb::kHeight;

    if (!partial && !all_finite(sum)) {
        repair_tile(format, args, item.window, j0, width);
        return;
    }
    HrpbTarget to = {args.row_map,           (float *)args.x.C + j0, args.x.ldc,
                     (float)args.x.alpha.re, (float)args.x.beta.re,  width};

    if (partial) {
        to = {NULL,     (float *)work.partial + (p * Hrpb::kHeight - first) * args.x.n + j0,
              args.x.n, 1.0f,
              0.0f,     width};
    }
    if (wide_c) {
        store_sums<true>(format, to, first, lane, sum);
    } else {
        store_sums<false>(format, to, first, lane, sum);
    }
}

template <bool kSplit>
cudaError_t launch_mm(const Hrpb &format, const spmm_tc_work_t &work, const spmm_tc_mm_args_t &args,
                      cudaStream_t stream)
{
    const int64_t size = (int64_t)sizeof(float);
    const bool    quad = args.x.n % 4 == 0;
    const bool    b    = quad && fits(args.x.B, 16) && fits(args.x.ldb * size, 16) &&
                   args.x.ldb * size <= (int64_t)UINT32_MAX;
    const bool c =
        quad && fits(args.x.C, 16) && fits(args.x.ldc * size, 16) && fits(work.partial, 16);
    const int64_t     tiles = ceil_div(args.x.n, kHrpbTn), y = least(tiles, kMaxGridYZ);
    const dim3        grid((unsigned)ceil_div(work.n_items, kWarps), (unsigned)y,
                           (unsigned)ceil_div(tiles, y));
    const cudaError_t code =
        launch_first(args.x, false, 0, b ? hrpb_mm<kSplit, true> : hrpb_mm<kSplit, false>, grid,
                     dim3(kWarps * kWarp), stream, format, work, args, c);

    return code == cudaSuccess ? launch_finish(format, work, args, stream) : code;
}

} // namespace

} // namespace spmmi

/* Loads the kernels and asks for the most shared memory, on which their residency depends. */
extern "C" cudaError_t spmmi_cuda_hrpb_preload(void)
{
    using namespace spmmi;
    void (*const kernels[])(Hrpb, spmm_tc_work_t, spmm_tc_mm_args_t, bool) = {
        hrpb_mm<true, true>, hrpb_mm<true, false>, hrpb_mm<false, true>, hrpb_mm<false, false>};
    cudaError_t code = preload(finish_splits<Hrpb>);

    for (auto *kernel : kernels) {
        if (code == cudaSuccess) {
            code = preload(kernel);
        }
        if (code == cudaSuccess) {
            code = cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout,
                                        cudaSharedmemCarveoutMaxShared);
        }
    }
    return code;
}

extern "C" cudaError_t spmmi_cuda_hrpb_resident(spmm_compute_t compute, int *warps)
{
    using namespace spmmi;
    int               blocks = 0;
    const cudaError_t code   = cudaOccupancyMaxActiveBlocksPerMultiprocessor(
          &blocks, compute == SPMM_COMPUTE_32F ? hrpb_mm<true, true> : hrpb_mm<false, true>,
          kWarps * kWarp, 0);

    if (code == cudaSuccess && blocks > 0) {
        *warps = blocks * kWarps;
    }
    return code;
}

extern "C" cudaError_t spmmi_cuda_hrpb_mm(const spmm_hrpb_arrays_t *A, const spmm_tc_work_t *work,
                                          const spmm_tc_mm_args_t *args, cudaStream_t stream)
{
    using namespace spmmi;
    const Hrpb format = {A->n_rows, A->block_ptr, A->size_ptr, A->col, A->packed};

    if (A->n_rows <= 0 || args->x.n <= 0) {
        return cudaSuccess;
    }
    if (A->panel_rows != Hrpb::kHeight) {
        return cudaErrorInvalidValue;
    }
    switch (args->compute) {
    case SPMM_COMPUTE_32F:
        return launch_mm<true>(format, *work, *args, stream);
    case SPMM_COMPUTE_32F_FAST_TF32:
        return launch_mm<false>(format, *work, *args, stream);
    default:
        return cudaErrorInvalidValue;
    }
}
