/* SPDX-License-Identifier: Apache-2.0 */
/** @file decode.c  Octet as CPU code walks it: the reference of its kernel. */
#include "engine/octet/format.h"

enum { ROWS = SPMM_OCTET_ROWS, COLS = SPMM_OCTET_COLS };

/* Bits ascend by rows, then columns, and values are in their order. */
static int32_t decode(const void *arrays, int64_t block, spmm_tc_entry_t *entry, size_t *offset)
{
    const spmm_octet_arrays_t *f = arrays;
    int32_t                    n = 0;

    for (uint64_t left = f->bits[block]; left != 0; left &= left - 1) {
        const int32_t bit = spmmi_cpu_lowest_bit(left);

        entry[n]     = (spmm_tc_entry_t){.row = bit / COLS, .at = n};
        entry[n].col = f->col[block * COLS + bit % COLS];
        n++;
    }
    *offset = (size_t)f->value_ptr[block] * sizeof(double);
    return n;
}

/* A run is a row of the block: four bits. */
static size_t runs(const void *arrays, int64_t block, uint8_t *length)
{
    const spmm_octet_arrays_t *f = arrays;

    for (int r = 0; r < ROWS; r++) {
        length[r] = (uint8_t)spmmi_cpu_popcount(f->bits[block] >> COLS * r & 15);
    }
    return (size_t)f->value_ptr[block] * sizeof(double);
}

spmm_tc_view_t spmmi_octet_view(const void *arrays)
{
    const spmm_octet_arrays_t *a = arrays;

    return (spmm_tc_view_t){.n_rows    = a->n_rows,
                            .n_windows = a->n_windows,
                            .height    = ROWS,
                            .block_ptr = a->block_ptr,
                            .arrays    = arrays,
                            .values    = a->values,
                            .decode    = decode,
                            .n_runs    = ROWS,
                            .runs      = runs};
}
