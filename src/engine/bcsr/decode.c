/* SPDX-License-Identifier: Apache-2.0 */
/** @file decode.c  BCSR as CPU code walks it. */
#include <stdbool.h>

#include "engine/bcsr/format.h"

/* A block is a 16x32 tile, whose sides may be tiles of their own or make one in 2:4 sparsity. */
static const uint32_t *bits_of(const spmm_bcsr_arrays_t *f, spmm_bcsr_tile_t tile)
{
    const uint32_t any = spmmi_bcsr_any(f->step[tile.step]);

    return f->bits +
           ((int64_t)f->bits_ptr[tile.step] + spmmi_bcsr_rank(any, tile.row)) * SPMM_BCSR_SIDE;
}

/* Where the value of column c stands among those of its step. */
static int32_t place_of(spmm_bcsr_step_t step, int32_t tile_row, uint32_t bits, int32_t r,
                        int32_t c)
{
    enum { TILE = SPMM_BCSR_SIDE * SPMM_BCSR_SIDE };
    const bool sp24 = (step.sp24 >> tile_row & 1) != 0;

    if (sp24) {
        const int32_t first = spmmi_bcsr_kept(bits, c / 4 * 2);

        return spmmi_bcsr_rank(step.sp24, tile_row) * TILE +
               spmmi_bcsr_value_at(r, c / 4 * 2 + (c != first));
    }
    return spmmi_bcsr_tile_at(step, c / SPMM_BCSR_SIDE, tile_row) * TILE +
           spmmi_bcsr_value_at(r, c % SPMM_BCSR_SIDE);
}

static int32_t decode(const void *arrays, int64_t block, spmm_tc_entry_t *entry, size_t *offset)
{
    const spmm_bcsr_arrays_t *f    = arrays;
    const spmm_bcsr_tile_t    tile = f->tile[block];
    const spmm_bcsr_step_t    step = f->step[tile.step];
    const uint32_t           *bits = bits_of(f, tile);
    int32_t                   n    = 0;

    for (int32_t r = 0; r < SPMM_BCSR_SIDE; r++) {
        for (uint64_t left = bits[r]; left != 0; left &= left - 1) {
            const int32_t c = spmmi_cpu_lowest_bit(left);

            entry[n++] = (spmm_tc_entry_t){.row = r,
                                           .col = step.col * SPMM_BCSR_WIDTH + c,
                                           .at  = place_of(step, tile.row, bits[r], r, c)};
        }
    }
    *offset = (size_t)step.at * SPMM_BCSR_UNIT;
    return n;
}

static size_t runs(const void *arrays, int64_t block, uint8_t *length)
{
    const spmm_bcsr_arrays_t *f    = arrays;
    const uint32_t           *bits = bits_of(f, f->tile[block]);

    for (int32_t r = 0; r < SPMM_BCSR_SIDE; r++) {
        length[r] = (uint8_t)spmmi_bcsr_count(bits[r]);
    }
    return (size_t)f->step[f->tile[block].step].at * SPMM_BCSR_UNIT;
}

spmm_tc_view_t spmmi_bcsr_view(const void *arrays)
{
    const spmm_bcsr_arrays_t *a = arrays;

    return (spmm_tc_view_t){.n_rows    = a->n_rows,
                            .n_windows = a->n_tile_rows,
                            .height    = SPMM_BCSR_SIDE,
                            .block_ptr = a->row_ptr,
                            .arrays    = arrays,
                            .values    = a->values,
                            .decode    = decode,
                            .n_runs    = SPMM_BCSR_SIDE,
                            .runs      = runs};
}
