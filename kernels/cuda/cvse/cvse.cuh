/* SPDX-License-Identifier: Apache-2.0 */
/** @file cvse.cuh
 *  C = alpha * A * B + beta * C, A in CVSE, 16-bit, on tensor cores with sums in FP32.
 *
 *  How B gets into the operands: cvse_rows.cuh.
 *  Column lists and values of A come to shared memory by asynchronous copies, three blocks ahead.
 */
#ifndef SPMM_CVSE_CUH
#define SPMM_CVSE_CUH

#include "cuda/cvse/cvse_rows.cuh"

namespace spmmi
{

/** @tparam kElems   columns that a lane loads at a time: 8 or 4
 *  @tparam kStages  blocks whose rows of B are in registers or on the way there
 *  @tparam kWarps   of the thread block: those of a team */
template <typename Half, typename Out, int kTiles, int kLoads, int kElems, int kStages,
          CvseAccess kAccess, int kWarps>
struct CvseWarp : CvseRows<Half, Out, kTiles, kLoads, kElems, kAccess, kWarps> {
    using Rows = CvseRows<Half, Out, kTiles, kLoads, kElems, kAccess, kWarps>;
    using Ring = CvseRing<Half, kTiles>;
    using Tile = typename Rows::Tile;
    using Rows::A, Rows::piece, Rows::lane, Rows::part, Rows::kHeight;

    Ring       &ring;
    const char *col_from, *values_from; /* what the lane copies of the next block */
    uint32_t    col_at, values_at;      /* shared addresses of what it reads */

    __device__ __forceinline__ CvseWarp(const typename Rows::Format &format,
                                        const spmm_tc_mm_args_t &mm, Ring &shared,
                                        const spmm_tc_piece_t &work, int j)
        : Rows(format, mm, work, j), ring(shared),
          col_from((const char *)(A.col + (int64_t)piece.block * kCvseK) + 16 * (lane % 4)),
          values_from((const char *)(A.values + (int64_t)piece.block * (kCvseK * kHeight)) +
                      16 * lane),
          col_at(shared_address(&shared.col[0][4 * part])),
          values_at(shared_address(&shared.values[0][4 * kTiles * lane]))
    {
        keep(col_at);
        keep(values_at);
    }

    /* Start copying block k, the next one; a commit in any case keeps the groups counted. */
    __device__ __forceinline__ void fetch(int k)
    {
        if (k < piece.n_blocks) {
            if (lane < 16 * kTiles) {
                cp_async<16>(&ring.values[k % kCvseRing][8 * lane], values_from);
            }
            if (lane < 4) {
                cp_async<16>(&ring.col[k % kCvseRing][4 * lane], col_from);
            }
            values_from += kCvseK * kHeight * sizeof(Half);
            col_from += kCvseK * sizeof(int32_t);
        }
        cp_async_commit();
    }

    /* Block k into registers: blocks are loaded in order.  The one barrier shows block k to all
     * lanes, and that they have read block k - 1, whose place the next copy takes. */
    __device__ __forceinline__ void load(int k, Tile &to)
    {
        const uint32_t at = (uint32_t)k % kCvseRing;

        cp_async_wait<kCvseRing - 2>();
        __syncwarp();
        const int4 col = load_shared<int4>(col_at + at * (kCvseK * 4));

        this->load_rows(col, to);
#pragma unroll
        for (int tile = 0; tile < kTiles; tile++) {
            to.a[tile] =
                load_shared<uint2>(values_at + at * (kCvseK * kHeight * 2) + (uint32_t)tile * 8);
        }
        fetch(k + kCvseRing - 1);
    }

    /* All blocks: kStages register tiles in rotation, so indices are constants after unrolling. */
    __device__ __forceinline__ void run()
    {
        Tile      tile[kStages];
        const int n = piece.n_blocks;

        for (int k = 0; k < kCvseRing - 1; k++) {
            fetch(k);
        }
#pragma unroll
        for (int k = 0; k < kStages - 1; k++) {
            if (k < n) {
                load(k, tile[k]);
            }
        }
        for (int at = 0; at < n; at += kStages) {
#pragma unroll
            for (int k = 0; k < kStages; k++) {
                if (at + k < n) {
                    if (at + k + kStages - 1 < n) {
                        load(at + k + kStages - 1, tile[(k + kStages - 1) % kStages]);
                    }
                    this->multiply(tile[k]);
                }
            }
        }
        cp_async_wait<0>();
        __syncwarp();
        if constexpr (Rows::kEdge) {
            this->drop_edge();
        }
    }
};

} // namespace spmmi

#endif /* SPMM_CVSE_CUH */
