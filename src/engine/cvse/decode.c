/* SPDX-License-Identifier: Apache-2.0 */
/** @file decode.c  CVSE as CPU code walks it. */
#include "engine/cvse/format.h"

static int32_t decode(const void *arrays, int64_t block, spmm_tc_entry_t *entry, size_t *offset)
{
    const spmm_cvse_arrays_t *f   = arrays;
    const int32_t            *col = f->col + block * SPMM_CVSE_BLOCK;
    int32_t                   n   = 0;

    for (int32_t r = 0; r < f->height; r++) {
        for (uint64_t left = f->bits[block * f->height + r]; left != 0; left &= left - 1) {
            const int32_t p = spmmi_cpu_lowest_bit(left);

            entry[n++] = (spmm_tc_entry_t){.row = r,
                                           .col = col[spmmi_cvse_col_at(p)],
                                           .at  = spmmi_cvse_value_at(f->height, r, p)};
        }
    }
    *offset = (size_t)block * SPMM_CVSE_BLOCK * (size_t)f->height * sizeof(uint16_t);
    return n;
}

static size_t runs(const void *arrays, int64_t block, uint8_t *length)
{
    const spmm_cvse_arrays_t *f = arrays;

    for (int32_t r = 0; r < f->height; r++) {
        length[r] = (uint8_t)spmmi_cpu_popcount(f->bits[block * f->height + r]);
    }
    return (size_t)block * SPMM_CVSE_BLOCK * (size_t)f->height * sizeof(uint16_t);
}

spmm_tc_view_t spmmi_cvse_view(const void *arrays)
{
    const spmm_cvse_arrays_t *a = arrays;

    return (spmm_tc_view_t){.n_rows    = a->n_rows,
                            .n_windows = a->n_windows,
                            .height    = a->height,
                            .block_ptr = a->window_ptr,
                            .arrays    = arrays,
                            .values    = a->values,
                            .decode    = decode,
                            .n_runs    = a->height,
                            .runs      = runs};
}
