/* SPDX-License-Identifier: Apache-2.0 */
/** @file hrpb.cu
 *  C = alpha * A * B + beta * C, A in HRPB (cuTeSpMM, section 3.3).  A warp takes a piece of work
 *  times 32 columns: it stages the blocks of the piece and the rows of B that they multiply in its
 *  own part of shared memory, some blocks ahead, and so never waits for other warps.  Pieces run
 *  fastest over the grid, so that the slice of B in use is 32 columns wide and stays longer in L2.
 */
#include "cuda/hrpb/hrpb.h"
#include "cuda/hrpb/hrpb_sums.cuh"

namespace spmmi
{
namespace
{

constexpr int kWarps     = 4; /* of a thread block, on consecutive pieces */
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

__device__ __forceinline__ Ahead look_ahead(const Hrpb &format, const spmm_tc_piece_t &piece, int i,
                                            int lane)
{
    const int64_t block = piece.block;
    Ahead         ahead = {make_int4(0, 0, 0, 0), 0};

    if (i < piece.n_blocks) {
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

/* sum = the blocks of the piece times the tile.  Block i stays in stage i % kStages of those at
 * `stages`; a group of copies is committed for every i, also past the last block, so that counting
 * groups is counting blocks. */
template <bool kSplit, bool kWide>
__device__ __forceinline__ void sum_piece(const Hrpb &format, const spmm_tc_piece_t &piece,
                                          const Tile &tile, uint32_t stages, int lane,
                                          float (&sum)[kHrpbFragments][4])
{
    constexpr int      kDepth = kStages - 1; /* blocks under way */
    constexpr uint32_t kBytes = HrpbStage::kBytes;
    int32_t            at     = piece.start;
    Ahead              ahead, first[kDepth];

    auto copy = [&](uint32_t to, const Ahead &known, int i) {
        if (i < piece.n_blocks) {
            copy_rows_of_b<kWide>(to, known.col, tile, lane);
            copy_packed(to, format.packed, at, known.end, lane);
            at = known.end;
        }
        cp_async_commit();
    };

#pragma unroll
    for (int s = 0; s < kDepth; s++) {
        first[s] = look_ahead(format, piece, s, lane);
    }
    ahead = look_ahead(format, piece, kDepth, lane);
#pragma unroll
    for (int s = 0; s < kDepth; s++) {
        copy(stages + s * kBytes, first[s], s);
    }
    uint32_t now = stages, free = stages + kDepth * kBytes;

#pragma unroll 1
    for (int i = 0; i < piece.n_blocks; i++) {
        /* Block i has come, to all lanes, and all have done with block i - 1. */
        cp_async_wait<kDepth - 1>();
        __syncwarp();
        copy(free, ahead, i + kDepth);
        ahead = look_ahead(format, piece, i + kDepth + 1, lane);
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

    if (p >= work.n_pieces || j0 >= args.x.n) {
        return;
    }
    const int4            raw   = __ldg((const int4 *)work.piece + p);
    const spmm_tc_piece_t piece = {raw.x, raw.y, raw.z, raw.w};
    const int             width = args.x.n - j0 < kHrpbTn ? (int)(args.x.n - j0) : kHrpbTn;
    const Tile            tile  = {(const float *)args.x.B + j0, args.x.ldb, width};
    float                 sum[kHrpbFragments][4] = {};

    uint32_t stages = shared_address(shared) + warp * kStages * Stage::kBytes;

    keep(stages);
    if (width < kHrpbTn) {
        clear_stages(stages, lane);
    }
    sum_piece<kSplit, kWide>(format, piece, tile, stages, lane, sum);

    const bool    partial = p < work.n_partial;
    const int64_t first   = (int64_t)piece.window * Hrpb::kHeight;

    if (!partial && !all_finite(sum)) {
        repair_tile(format, args, piece.window, j0, width);
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
    const dim3        grid((unsigned)ceil_div(work.n_pieces, kWarps), (unsigned)y,
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
