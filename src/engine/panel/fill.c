/* SPDX-License-Identifier: Apache-2.0 */
/** @file fill.c  Values in the order of CSR to their places in panels. */
#include <omp.h>
#include <string.h>

#include "engine/panel/format.h"

enum { HALF = SPMM_PANEL_TILE / 2, HEIGHT = SPMM_PANEL_HEIGHT };

/* Columns of a window in a tile, as bits. */
typedef struct {
    uint64_t bits[2];
    float   *value;
} tile_t;

static tile_t tile_of(const spmm_panel_t *f, int32_t t)
{
    unsigned char *at = f->packed + (size_t)f->tile_start[t] * SPMM_PANEL_UNIT;
    tile_t         tile;

    memcpy(tile.bits, at, sizeof tile.bits);
    tile.value = (float *)(void *)(at + SPMM_PANEL_VALUES);
    return tile;
}

static int32_t place_of(const spmm_panel_t *f, int32_t t, int32_t c)
{
    return spmmi_panel_place(f->packed + (size_t)f->tile_start[t] * SPMM_PANEL_UNIT, c);
}

static uint64_t column_of(const tile_t *tile, int32_t c)
{
    return tile->bits[c / HALF] >> c % HALF & 0x1111111111111111u;
}

/* Places of a panel by their columns: the k-th of each step in turn, see spmmi_panel_lay_out().
 * @return how many there are */
static int32_t sort_places(const spmm_panel_t *f, int32_t panel, int32_t *order)
{
    const int32_t *col   = f->col + f->panel_step[panel] * SPMM_PANEL_STEP;
    const int32_t  each  = SPMM_PANEL_STEP;
    const int32_t  steps = f->panel_step[panel + 1] - f->panel_step[panel];
    int32_t        n     = 0;

    for (int32_t s = 0; s < steps; s++) {
        int32_t sorted[SPMM_PANEL_STEP] = {0}, count = 0;

        for (int32_t k = s * each; k < (s + 1) * each; k++) {
            int32_t at = count;

            if (col[k] == SPMM_TC_NO_COLUMN) {
                continue;
            }
            for (; at > 0 && col[sorted[at - 1]] > col[k]; at--) {
                sorted[at] = sorted[at - 1];
            }
            sorted[at] = k;
            count++;
        }
        for (int32_t k = 0; k < count; k++) {
            order[k * steps + s] = sorted[k];
        }
        n += count;
    }
    return n;
}

/* Place in CSR of the first entry of each row of window w. */
static void start_rows(const spmm_panel_t *f, int32_t w, int32_t next[HEIGHT])
{
    int32_t at = f->entry_ptr[w];

    memset(next, 0, HEIGHT * sizeof *next);
    for (int32_t t = f->tile_ptr[w]; t < f->tile_ptr[w + 1]; t++) {
        const tile_t tile = tile_of(f, t);

        for (int32_t r = 0; r < HEIGHT; r++) {
            next[r] += spmmi_cpu_popcount((tile.bits[0] >> HALF * r & 0xf) |
                                          (tile.bits[1] >> HALF * r & 0xf) << HALF);
        }
    }
    for (int32_t r = 0; r < HEIGHT; r++) {
        const int32_t count = next[r];

        next[r] = at;
        at += count;
    }
}

/* Values of column @p c of a tile: one of each row that has it. */
static void fill_column(const tile_t *tile, int32_t c, const float *values, int32_t next[HEIGHT])
{
    const uint64_t bits   = tile->bits[c / HALF];
    const int32_t  before = c < HALF ? 0 : spmmi_cpu_popcount(tile->bits[0]);

    for (uint64_t left = column_of(tile, c); left != 0; left &= left - 1) {
        const int32_t  row  = spmmi_cpu_lowest_bit(left) / HALF;
        const uint64_t mine = (uint64_t)1 << (row * HALF + c % HALF);

        tile->value[before + spmmi_cpu_popcount(bits & (mine - 1))] = values[next[row]++];
    }
}

/* @param order   the places of the panel by their columns, n of them
 * @param places  of the panel
 * @param at      [places] room: tile and column of each place, of this window */
static void fill_window(const spmm_panel_t *f, int32_t w, const float *values, const int32_t *order,
                        int32_t n, int32_t places, int32_t *at)
{
    const int32_t first = f->tile_ptr[w];
    int32_t       next[HEIGHT];

    start_rows(f, w, next);
    memset(at, 0xff, (size_t)places * sizeof *at);
    for (int32_t t = first; t < f->tile_ptr[w + 1]; t++) {
        const tile_t tile = tile_of(f, t);

        for (int32_t c = 0; c < SPMM_PANEL_TILE && column_of(&tile, c) != 0; c++) {
            at[place_of(f, t, c)] = (t - first) * SPMM_PANEL_TILE + c;
        }
    }
    for (int32_t k = 0; k < n; k++) {
        const int32_t here = at[order[k]];

        if (here >= 0) {
            const tile_t tile = tile_of(f, first + here / SPMM_PANEL_TILE);

            fill_column(&tile, here % SPMM_PANEL_TILE, values, next);
        }
    }
}

void spmmi_panel_refill(void *format, const void *values, int threads)
{
    spmm_panel_t *f    = format;
    const int     team = spmmi_cpu_team(threads);

#pragma omp parallel for schedule(dynamic, 4) num_threads(team < f->team ? team : f->team)
    for (int32_t p = 0; p < f->n_panels; p++) {
        int32_t *const order  = f->room + 2 * (int64_t)omp_get_thread_num() * f->most_places;
        const int32_t  places = (f->panel_step[p + 1] - f->panel_step[p]) * SPMM_PANEL_STEP;
        const int32_t  n = sort_places(f, p, order), end = (p + 1) * SPMM_PANEL_WINDOWS;

        for (int32_t w = p * SPMM_PANEL_WINDOWS; w < end && w < f->n_windows; w++) {
            fill_window(f, w, values, order, n, places, order + f->most_places);
        }
    }
}
