/* SPDX-License-Identifier: Apache-2.0 */
/** @file bcsr_fill.cu
 *  Values of BCSR from those of CSR, with the compression of 2:4 tiles and their metadata.  A warp
 *  takes a tile row, tile by tile, so that it knows how many entries of each row came before.
 */
#include "cuda/bcsr/bcsr.h"
#include "cuda/bcsr/bcsr_format.cuh"

namespace spmmi
{

/** The tile row of a warp. */
struct BcsrRow {
    const spmm_bcsr_arrays_t &A;
    const uint16_t *const     values; /* of CSR */
    char *const               to;
    const int                 lane, g, t;

    /* Bits of tile k: word l % 16 for lane l. */
    __device__ uint32_t bits_of(int k) const
    {
        const spmm_bcsr_tile_t tile = A.tile[k];
        const int64_t          at =
            A.bits_ptr[tile.step] + spmmi_bcsr_rank(spmmi_bcsr_any(A.step[tile.step]), tile.row);

        return A.bits[at * SPMM_BCSR_SIDE + lane % SPMM_BCSR_SIDE];
    }

    /* Where the first entry of row lane % 16 stands in CSR. */
    __device__ int32_t start(int row) const
    {
        int32_t count = 0, before = 0;

        for (int k = A.row_ptr[row]; k < A.row_ptr[row + 1]; k++) {
            count += __popc(bits_of(k));
        }
        for (int r = 0; r < SPMM_BCSR_SIDE; r++) {
            const int32_t other = __shfl_sync(0xffffffffu, count, r);

            before += r < lane % SPMM_BCSR_SIDE ? other : 0;
        }
        return A.entry_ptr[row] + before;
    }

    static __device__ uint32_t value(uint32_t bits, int c, const uint16_t *from)
    {
        return (bits >> c & 1) != 0 ? from[spmmi_bcsr_rank(bits, c)] : 0;
    }

    /* The lane's 16 bytes of a tile: rows g and g + 8 by turns, two neighbouring columns each.
     * @p side  0, 1: that of the 16x32 tile; -1: that of 2:4 */
    __device__ void store_tile(uint4 *tile, int side, const uint32_t (&bits)[2],
                               const uint16_t *const (&from)[2]) const
    {
        uint32_t word[4];

#pragma unroll
        for (int w = 0; w < 4; w++) {
            const uint32_t row = bits[w % 2];
            const int      c   = w / 2 * 8 + 2 * t;
            const int      one = side < 0 ? spmmi_bcsr_kept(row, c) : 16 * side + c;
            const int      two = side < 0 ? spmmi_bcsr_kept(row, c + 1) : one + 1;

            word[w] = value(row, one, from[w % 2]) | value(row, two, from[w % 2]) << 16;
        }
        tile[lane] = make_uint4(word[0], word[1], word[2], word[3]);
    }

    __device__ void store(int k, uint32_t mine, int32_t next) const
    {
        const spmm_bcsr_tile_t at      = A.tile[k];
        const spmm_bcsr_step_t s       = A.step[at.step];
        char *const            base    = to + (int64_t)s.at * SPMM_BCSR_UNIT;
        const uint32_t         bits[2] = {__shfl_sync(0xffffffffu, mine, g),
                                          __shfl_sync(0xffffffffu, mine, g + 8)};
        const uint16_t *const  from[2] = {values + __shfl_sync(0xffffffffu, next, g),
                                          values + __shfl_sync(0xffffffffu, next, g + 8)};

        if ((s.sp24 >> at.row & 1) != 0) {
            const int place = spmmi_bcsr_rank(s.sp24, at.row);

            store_tile((uint4 *)(base + place * kBcsrTileBytes), -1, bits, from);
            if (t < 2) {
                uint32_t *const meta = (uint32_t *)(base + spmmi_bcsr_tiles(s) * kBcsrTileBytes +
                                                    place * SPMM_BCSR_UNIT);

                meta[2 * g + t] =
                    spmmi_bcsr_codes(bits[0] >> 16 * t) | spmmi_bcsr_codes(bits[1] >> 16 * t) << 16;
            }
            return;
        }
        for (int side = 0; side < 2; side++) {
            if (((side == 0 ? s.left : s.right) >> at.row & 1) != 0) {
                store_tile((uint4 *)(base + spmmi_bcsr_tile_at(s, side, at.row) * kBcsrTileBytes),
                           side, bits, from);
            }
        }
    }
};

__global__ void __launch_bounds__(kBlock)
    bcsr_fill(const __grid_constant__ spmm_bcsr_arrays_t A, const uint16_t *values, char *to)
{
    const int     lane = (int)threadIdx.x % kWarp;
    const int64_t row  = (int64_t)blockIdx.x * (kBlock / kWarp) + threadIdx.x / kWarp;
    const BcsrRow warp = {A, values, to, lane, lane / 4, lane % 4};

    if (row >= A.n_tile_rows) {
        return;
    }
    int32_t next = warp.start((int)row);

    for (int k = A.row_ptr[row]; k < A.row_ptr[row + 1]; k++) {
        const uint32_t bits = warp.bits_of(k);

        warp.store(k, bits, next);
        next += __popc(bits);
    }
}

cudaError_t preload_bcsr_fill(void)
{
    return preload(bcsr_fill);
}

} // namespace spmmi

extern "C" cudaError_t spmmi_cuda_bcsr_fill(const spmm_bcsr_arrays_t *A, const void *values,
                                            void *to, cudaStream_t stream)
{
    constexpr int kRows = spmmi::kBlock / spmmi::kWarp;

    if (A->n_tile_rows == 0) {
        return cudaSuccess;
    }
    return spmmi::launch(spmmi::bcsr_fill, dim3((unsigned)spmmi::ceil_div(A->n_tile_rows, kRows)),
                         dim3(spmmi::kBlock), stream, *A, (const uint16_t *)values, (char *)to);
}
