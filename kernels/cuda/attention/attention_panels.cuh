/* SPDX-License-Identifier: Apache-2.0 */
/** @file attention_panels.cuh  Rows of two operands at the columns of a group, panel by panel in
 *  shared memory. */
#ifndef SPMM_ATTENTION_PANELS_CUH
#define SPMM_ATTENTION_PANELS_CUH

#include "cuda/attention/attention.h"
#include "cuda/tc/tc_common.cuh"

namespace spmmi
{

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

} // namespace spmmi

#endif /* SPMM_ATTENTION_PANELS_CUH */
