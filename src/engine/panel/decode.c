/* SPDX-License-Identifier: Apache-2.0 */
/** @file decode.c  Panels as CPU code walks them. */
#include <string.h>

#include "engine/panel/format.h"

enum { HALF = SPMM_PANEL_TILE / 2, HALVES = 2 };

static const unsigned char *tile_at(const spmm_panel_arrays_t *f, int64_t tile)
{
    return f->packed + (size_t)f->tile_start[tile] * SPMM_PANEL_UNIT;
}

static uint64_t bits_of(const unsigned char *tile, int half)
{
    uint64_t bits;

    memcpy(&bits, tile + (size_t)half * sizeof bits, sizeof bits);
    return bits;
}

int32_t spmmi_panel_place(const unsigned char *tile, int32_t c)
{
    uint16_t step;

    memcpy(&step, tile + SPMM_PANEL_STEP_AT, sizeof step);
    return (step - SPMM_PANEL_SPAN) * SPMM_PANEL_STEP + tile[SPMM_PANEL_PLACES + c];
}

static int32_t decode(const void *arrays, int64_t block, spmm_tc_entry_t *entry, size_t *offset)
{
    const spmm_panel_arrays_t *f    = arrays;
    const unsigned char       *tile = tile_at(f, block);
    const int32_t             *col = f->col + f->panel_step[f->tile_panel[block]] * SPMM_PANEL_STEP;
    int32_t                    n   = 0;

    for (int half = 0; half < HALVES; half++) {
        for (uint64_t left = bits_of(tile, half); left != 0; left &= left - 1) {
            const int32_t bit = spmmi_cpu_lowest_bit(left);

            entry[n].at    = n;
            entry[n].row   = bit / HALF;
            entry[n++].col = col[spmmi_panel_place(tile, half * HALF + bit % HALF)];
        }
    }
    *offset = (size_t)f->tile_start[block] * SPMM_PANEL_UNIT + SPMM_PANEL_VALUES;
    return n;
}

spmm_tc_view_t spmmi_panel_view(const void *arrays)
{
    const spmm_panel_arrays_t *a = arrays;

    return (spmm_tc_view_t){.n_rows    = a->n_rows,
                            .n_windows = a->n_windows,
                            .height    = SPMM_PANEL_HEIGHT,
                            .block_ptr = a->tile_ptr,
                            .arrays    = arrays,
                            .values    = a->packed,
                            .starts    = a->tile_start,
                            .decode    = decode};
}
