/* SPDX-License-Identifier: Apache-2.0 */
/** @file bcsr_format.cuh  BCSR on the device, and what tiles take beside tc_common.cuh. */
#ifndef SPMM_BCSR_FORMAT_CUH
#define SPMM_BCSR_FORMAT_CUH

#include "cuda/windows/tc_common.cuh"
#include "engine/bcsr/args.h"

namespace spmmi
{

constexpr int kBcsrTileBytes = SPMM_BCSR_TILE * SPMM_BCSR_UNIT;

/** The format on the device; a window is a tile row. */
template <typename Half, typename Element> struct Bcsr {
    using T                      = float;
    using In                     = Half;
    using Out                    = Element;
    static constexpr int kHeight = SPMM_BCSR_SIDE;

    int32_t                 n_rows, n_cols;
    const spmm_bcsr_step_t *step;
    const int32_t          *bits_ptr, *row_ptr;
    const uint32_t         *bits;
    const spmm_bcsr_tile_t *tile;
    const char             *values;

    /* The value of column c among the entries of row r of a tile. */
    __device__ Half value(const spmm_bcsr_step_t &s, int32_t tile_row, uint32_t stored, int32_t r,
                          int32_t c) const
    {
        const Half *const from = (const Half *)(values + (int64_t)s.at * SPMM_BCSR_UNIT);

        if ((s.sp24 >> tile_row & 1) != 0) {
            const int32_t kept = c / 4 * 2 + (spmmi_bcsr_kept(stored, c / 4 * 2) != c);

            return from[spmmi_bcsr_rank(s.sp24, tile_row) * 256 + spmmi_bcsr_value_at(r, kept)];
        }
        return from[spmmi_bcsr_tile_at(s, c / 16, tile_row) * 256 + spmmi_bcsr_value_at(r, c % 16)];
    }

    __device__ float exact(int32_t tile_row, int32_t r, const Half *B, int64_t ldb, int64_t j) const
    {
        float sum = 0.0f;

        for (int32_t k = row_ptr[tile_row]; k < row_ptr[tile_row + 1]; k++) {
            const spmm_bcsr_tile_t at = tile[k];
            const spmm_bcsr_step_t s  = step[at.step];
            const int64_t  place  = bits_ptr[at.step] + spmmi_bcsr_rank(spmmi_bcsr_any(s), at.row);
            const uint32_t stored = bits[place * 16 + r];

            for (uint32_t left = stored; left != 0; left &= left - 1) {
                const int32_t c   = __ffs((int)left) - 1;
                const int64_t col = (int64_t)s.col * SPMM_BCSR_WIDTH + c;

                sum = fma(widen<float>(value(s, at.row, stored, r, c)),
                          widen<float>(B[col * ldb + j]), sum);
            }
        }
        return sum;
    }
};

/** The lists on the device; for kernels that go by steps empty. */
struct BcsrLists {
    const int32_t *ptr;
    const int4    *tile; /* spmm_bcsr_listed_t */
};

} // namespace spmmi

#endif /* SPMM_BCSR_FORMAT_CUH */
