/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/panel/lay_out.h"

#include <string.h>

enum {
    TILE    = SPMM_PANEL_TILE,
    HALF    = TILE / 2,
    KINDS   = 4, /* of slots, by their number modulo so many */
    HEIGHT  = SPMM_PANEL_HEIGHT,
    WINDOWS = SPMM_PANEL_WINDOWS,
    TALL    = SPMM_PANEL_TALL
};

bool spmmi_panel_next(const spmm_windows_t *tall, int32_t panel, int32_t at[TALL],
                      spmm_panel_column_t *next)
{
    const int32_t  first = panel * TALL;
    const int32_t *here[TALL];

    next->col = INT32_MAX;
    for (int32_t k = 0; k < TALL; k++) {
        const bool left = first + k < tall->n_windows && at[k] < tall->count[first + k];

        here[k]   = left ? tall->col + tall->first[first + k] + at[k] : NULL;
        next->col = left && *here[k] < next->col ? *here[k] : next->col;
    }
    for (int32_t k = 0; k < TALL; k++) {
        const bool mine = here[k] != NULL && *here[k] == next->col;

        next->rows[k] = mine ? tall->rows[here[k] - tall->col] : 0;
        at[k] += mine;
    }
    return next->col < INT32_MAX;
}

/* The tile in the making of a window. */
typedef struct {
    int32_t  n, step; /* columns so far, the step of the first */
    uint32_t kinds;   /* byte k: 1 where the half in the making has a slot of kind k */
    int32_t  place[TILE];
    uint64_t bits[2];
} tile_t;

/* Bit r of 16 rows at bit 4 r: their places in a column of a half. */
static uint64_t spread_rows(uint64_t rows)
{
    rows = (rows | rows << 24) & 0x000000ff000000ffu;
    rows = (rows | rows << 12) & 0x000f000f000f000fu;
    rows = (rows | rows << 6) & 0x0303030303030303u;
    return (rows | rows << 3) & 0x1111111111111111u;
}

/* Columns that fill a tile up are its last one once more, without entries. */
static void put_tile(const tile_t *tile, int32_t units, unsigned char *to)
{
    const int32_t  last    = tile->n - 1;
    const uint16_t step    = (uint16_t)(tile->place[last] / SPMM_PANEL_STEP);
    const uint32_t word[3] = {(uint32_t)tile->bits[0], (uint32_t)(tile->bits[0] >> 32),
                              (uint32_t)tile->bits[1]};
    int32_t        count   = 0;

    memset(to + SPMM_PANEL_PLACES, 0, SPMM_PANEL_VALUES - SPMM_PANEL_PLACES);
    memcpy(to, tile->bits, sizeof tile->bits);
    for (int32_t c = 0; c < TILE; c++) {
        to[SPMM_PANEL_PLACES + c] = (unsigned char)(tile->place[c < last ? c : last] -
                                                    (step - SPMM_PANEL_SPAN) * SPMM_PANEL_STEP);
    }
    memcpy(to + SPMM_PANEL_STEP_AT, &step, sizeof step);
    to[SPMM_PANEL_STEP_AT + sizeof step] = (unsigned char)units;
    for (int k = 0; k < 3; k++) {
        count += spmmi_cpu_popcount(word[k]);
        to[SPMM_PANEL_COUNTS + k + 1] = (unsigned char)count;
    }
}

static void end_tile(tile_t *tile, int32_t w, spmm_panel_count_t *count, spmm_panel_place_t *place)
{
    const int32_t nnz   = spmmi_cpu_popcount(tile->bits[0]) + spmmi_cpu_popcount(tile->bits[1]);
    const int32_t bytes = SPMM_PANEL_VALUES + nnz * (int32_t)sizeof(float);
    const int32_t units = (bytes + SPMM_PANEL_UNIT - 1) / SPMM_PANEL_UNIT;

    count->tiles[w]++;
    count->units[w] += units;
    if (place != NULL) {
        unsigned char *to = place->packed + (size_t)place->unit[w] * SPMM_PANEL_UNIT;

        memset(to + (units - 1) * SPMM_PANEL_UNIT, 0, SPMM_PANEL_UNIT);
        put_tile(tile, units, to);
        *place->tile_start[w]++ = place->unit[w];
        place->unit[w] += units;
    }
    memset(tile, 0, sizeof *tile);
}

/* A slot of a kind that the fewest windows have in their halves, among those left in the step. */
static int32_t choose_slot(const tile_t *tiles, uint32_t windows, int32_t each, int32_t left[KINDS])
{
    uint32_t have = 0;
    int32_t  best = -1;

    for (uint32_t k = windows; k != 0; k &= k - 1) {
        have += tiles[spmmi_cpu_lowest_bit(k)].kinds;
    }
    for (int32_t k = 0; k < KINDS; k++) {
        if (left[k] > 0 && (best < 0 || (have >> 8 * k & 0xff) < (have >> 8 * best & 0xff))) {
            best = k;
        }
    }
    left[best]--;
    return (each - 1 - left[best]) * KINDS + best;
}

static void add_column(tile_t *tile, int32_t step, int32_t place, uint32_t rows)
{
    const int32_t half = tile->n / HALF;

    tile->step = tile->n == 0 ? step : tile->step;
    tile->bits[half] |= spread_rows(rows) << tile->n % HALF;
    tile->place[tile->n++] = place;
    tile->kinds            = tile->n % HALF == 0 ? 0 : tile->kinds | 1u << 8 * (place % KINDS);
}

/* Rows of window @p w that have an entry in a column. */
static uint32_t rows_of(const spmm_panel_column_t *column, int32_t w)
{
    return column->rows[w / 2] >> w % 2 * HEIGHT & 0xffff;
}

/* Bit w: window w has entries in a column. */
static uint32_t windows_of(const spmm_panel_column_t *column)
{
    uint32_t windows = 0;

    for (int32_t w = 0; w < WINDOWS; w++) {
        windows |= (uint32_t)(rows_of(column, w) != 0) << w;
    }
    return windows;
}

/* A column, with its place in the list, in all windows that have it. */
static void deal_column(const spmm_panel_column_t *column, uint32_t windows, int32_t place_of,
                        tile_t *tiles, spmm_panel_count_t *count, spmm_panel_place_t *place)
{
    for (uint32_t k = windows; k != 0; k &= k - 1) {
        const int32_t w = spmmi_cpu_lowest_bit(k);

        add_column(&tiles[w], place_of / SPMM_PANEL_STEP, place_of, rows_of(column, w));
        if (tiles[w].n == TILE) {
            end_tile(&tiles[w], w, count, place);
        }
    }
}

/* Tiles that would reach over too many steps end before the next column. */
static void end_far(tile_t *tiles, uint32_t windows, int32_t step, spmm_panel_count_t *count,
                    spmm_panel_place_t *place)
{
    for (uint32_t k = windows; k != 0; k &= k - 1) {
        const int32_t w = spmmi_cpu_lowest_bit(k);

        if (tiles[w].n > 0 && step - tiles[w].step > SPMM_PANEL_SPAN) {
            end_tile(&tiles[w], w, count, place);
        }
    }
}

void spmmi_panel_lay_out(const spmm_panel_column_t *list, int32_t n, spmm_panel_count_t *count,
                         spmm_panel_place_t *place)
{
    const int32_t steps = (n + SPMM_PANEL_STEP - 1) / SPMM_PANEL_STEP;
    const int32_t each  = SPMM_PANEL_STEP / KINDS;
    tile_t        tiles[WINDOWS];

    memset(count, 0, sizeof *count);
    memset(tiles, 0, sizeof tiles);
    for (int32_t step = 0; step < steps; step++) {
        int32_t left[KINDS] = {each, each, each, each};

        for (int32_t i = step; i < n; i += steps) {
            const uint32_t windows = windows_of(&list[i]);
            int32_t        at      = step * SPMM_PANEL_STEP;

            end_far(tiles, windows, step, count, place);
            if (place != NULL) {
                at += choose_slot(tiles, windows, each, left);
                place->col[at] = list[i].col;
            }
            deal_column(&list[i], windows, at, tiles, count, place);
        }
    }
    for (int32_t w = 0; w < WINDOWS; w++) {
        if (tiles[w].n > 0) {
            end_tile(&tiles[w], w, count, place);
        }
    }
}
