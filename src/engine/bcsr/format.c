/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/bcsr/format.h"

#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include "base/alloc.h"
#include "cpu/cpu_kernels.h"
#include "engine/bcsr/args.h"
#include "engine/windows/tc_format.h"
#include "engine/windows/windows.h"
#include "spmm_dist/context.h"

enum {
    SPMM_BCSR_PARTS = SPMM_WINDOWS_TALL / SPMM_BCSR_SIDE,
    SPMM_BCSR_TALL  = SPMM_BCSR_ROWS / SPMM_BCSR_PARTS /**< tall windows of a panel, at most */
};

typedef struct {
    const spmm_windows_t *tall;
    int32_t               first, n; /**< of its windows */
    int32_t               at[SPMM_BCSR_TALL];
    int32_t               next[SPMM_BCSR_TALL]; /**< step of that column; INT32_MAX: no more */
    bool                  sp24;

    /* The step: */
    spmm_bcsr_step_t step;
    uint32_t         bits[SPMM_BCSR_ROWS][SPMM_BCSR_SIDE]; /**< of the rows in any */
    uint32_t         cols[SPMM_BCSR_ROWS];                 /**< of those: columns with an entry */
    uint32_t         any;                                  /**< rows with an entry */
    uint32_t         legal; /**< of those: with at most two in any four columns */
} spmm_bcsr_walk_t;

enum {
    SIDE  = SPMM_BCSR_SIDE,
    WIDTH = SPMM_BCSR_WIDTH,
    PARTS = SPMM_BCSR_PARTS,
    TALL  = SPMM_BCSR_TALL
};

static void look_ahead(spmm_bcsr_walk_t *w, int32_t k)
{
    const int32_t t = w->first + k;

    w->next[k] = w->at[k] < w->tall->count[t] ? w->tall->col[w->tall->first[t] + w->at[k]] / WIDTH
                                              : INT32_MAX;
}

/* In front of the first step of panel number @p panel of @p rows tile rows. */
static void bcsr_walk_start(spmm_bcsr_walk_t *w, const spmm_windows_t *tall, int32_t panel,
                            int32_t rows, bool sp24)
{
    const int32_t windows = rows / PARTS, left = tall->n_windows - panel * windows;

    memset(w, 0, sizeof *w);
    w->tall  = tall;
    w->first = panel * windows;
    w->n     = left < windows ? left : windows;
    w->sp24  = sp24;
    for (int32_t k = 0; k < TALL; k++) {
        w->next[k] = INT32_MAX;
    }
    for (int32_t k = 0; k < w->n; k++) {
        look_ahead(w, k);
    }
}

/* The next step's number of columns / WIDTH, INT32_MAX: there is none. */
static int32_t next_col(const spmm_bcsr_walk_t *w)
{
    int32_t least = INT32_MAX;

    for (int32_t k = 0; k < TALL; k++) {
        least = w->next[k] < least ? w->next[k] : least;
    }
    return least;
}

/* Bits of window k of the panel in columns WIDTH col on. */
static void take_window(spmm_bcsr_walk_t *w, int32_t k, int32_t col)
{
    const int32_t  t    = w->first + k;
    const int64_t  base = w->tall->first[t];
    const int32_t  n    = w->tall->count[t];
    const int32_t *cols = w->tall->col + base;
    int32_t        at   = w->at[k];

    for (; at < n && cols[at] / WIDTH == col; at++) {
        const uint32_t bit = (uint32_t)1 << cols[at] % WIDTH;

        for (uint64_t left = w->tall->rows[base + at]; left != 0; left &= left - 1) {
            const int32_t r   = spmmi_cpu_lowest_bit(left);
            const int32_t row = k * PARTS + r / SIDE;

            w->bits[row][r % SIDE] |= bit;
            w->cols[row] |= bit;
            w->any |= (uint32_t)1 << row;
        }
    }
    w->at[k] = at;
    look_ahead(w, k);
}

/* Bit 4 q: columns 4 q to 4 q + 3 have three entries. */
static uint32_t with_three(uint32_t x)
{
    const uint32_t pairs = x & x >> 1 & 0x55555555u;   /* both of two columns */
    const uint32_t ones  = (x | x >> 1) & 0x55555555u; /* any of two columns */

    return (pairs & ones >> 2 & 0x11111111u) | (pairs >> 2 & ones & 0x11111111u);
}

/* No row with three entries in four columns, as where none of all has. */
static bool is_legal(const uint32_t bits[SIDE], uint32_t all)
{
    uint32_t three = with_three(all);

    if (three == 0) {
        return true;
    }
    three = 0;
    for (int r = 0; r < SIDE; r++) {
        three |= with_three(bits[r]);
    }
    return three == 0;
}

static void classify(spmm_bcsr_walk_t *w, int32_t r)
{
    const uint32_t row = (uint32_t)1 << r, all = w->cols[r];

    if (is_legal(w->bits[r], all)) {
        w->legal |= row;
        if (w->sp24 && (all & 0xffff) != 0 && all >> 16 != 0) {
            w->step.sp24 = (uint16_t)(w->step.sp24 | row);
            return;
        }
    }
    w->step.left  = (uint16_t)(w->step.left | ((all & 0xffff) != 0 ? row : 0));
    w->step.right = (uint16_t)(w->step.right | (all >> 16 != 0 ? row : 0));
}

/* The next step; false: the panel has no more. */
static bool bcsr_walk_next(spmm_bcsr_walk_t *w)
{
    const int32_t col = next_col(w);

    for (uint64_t left = w->any; left != 0; left &= left - 1) {
        const int32_t r = spmmi_cpu_lowest_bit(left);

        memset(w->bits[r], 0, sizeof w->bits[r]);
        w->cols[r] = 0;
    }
    w->any   = 0;
    w->legal = 0;
    w->step  = (spmm_bcsr_step_t){.col = col == INT32_MAX ? -1 : col};
    if (col == INT32_MAX) {
        return false;
    }
    for (int32_t k = 0; k < w->n; k++) {
        if (w->next[k] == col) {
            take_window(w, k, col);
        }
    }
    for (uint64_t left = w->any; left != 0; left &= left - 1) {
        classify(w, spmmi_cpu_lowest_bit(left));
    }
    return true;
}

/* The tiles of each tile row in a list, for kernels that go by them. */

/* Fragments of a 16x32 tile: one where it is 2:4, else one for each side that it has. */
static int32_t list_tile(const spmm_bcsr_t *f, spmm_bcsr_tile_t tile, spmm_bcsr_listed_t to[2])
{
    const spmm_bcsr_step_t s = f->step[tile.step];
    int32_t                n = 0;

    if ((s.sp24 >> tile.row & 1) != 0) {
        const int32_t rank = spmmi_bcsr_rank(s.sp24, tile.row);

        to[0] = (spmm_bcsr_listed_t){.word = 4 * tile.step + SPMM_BCSR_SP24,
                                     .at   = s.at + SPMM_BCSR_TILE * rank,
                                     .meta = s.at + SPMM_BCSR_TILE * spmmi_bcsr_tiles(s) + rank,
                                     .row  = s.col * SPMM_BCSR_WIDTH};
        return 1;
    }
    for (int32_t side = SPMM_BCSR_LEFT; side <= SPMM_BCSR_RIGHT; side++) {
        if (((side == SPMM_BCSR_LEFT ? s.left : s.right) >> tile.row & 1) != 0) {
            to[n++] = (spmm_bcsr_listed_t){.word = 4 * tile.step + side,
                                           .at   = s.at + SPMM_BCSR_TILE *
                                                            spmmi_bcsr_tile_at(s, side, tile.row),
                                           .row = s.col * SPMM_BCSR_WIDTH + side * SPMM_BCSR_SIDE};
        }
    }
    return n;
}

spmm_status_t spmmi_bcsr_lists_create(spmm_env_t *env, const spmm_bcsr_t *format, int threads,
                                      spmm_bcsr_lists_t *lists)
{
    spmm_bcsr_listed_t none[2];

    SPMM_NEW_ZERO(lists->ptr, (int64_t)format->n_tile_rows + 1);
    SPMM_NEW(lists->list, format->n_tiles + format->n_sp24);
    if (lists->ptr == NULL || lists->list == NULL) {
        spmmi_bcsr_lists_free(lists);
        return spmmi_fail_memory(&env->err, format->n_tiles + format->n_sp24, sizeof *lists->list,
                                 "lists of tiles");
    }
    for (int32_t t = 0; t < format->n_tile_rows; t++) {
        lists->ptr[t + 1] = lists->ptr[t];
        for (int32_t k = format->row_ptr[t]; k < format->row_ptr[t + 1]; k++) {
            lists->ptr[t + 1] += list_tile(format, format->tile[k], none);
        }
    }
#pragma omp parallel for schedule(dynamic, 16) num_threads(spmmi_cpu_team(threads))
    for (int32_t t = 0; t < format->n_tile_rows; t++) {
        int32_t at = lists->ptr[t];

        for (int32_t k = format->row_ptr[t]; k < format->row_ptr[t + 1]; k++) {
            spmm_bcsr_listed_t tile[2];
            const int32_t      n = list_tile(format, format->tile[k], tile);

            for (int32_t i = 0; i < n; i++) {
                lists->list[at++] = tile[i];
            }
        }
    }
    return SPMM_OK;
}

void spmmi_bcsr_lists_free(spmm_bcsr_lists_t *lists)
{
    spmmi_free_all(lists->ptr, lists->list);
    *lists = (spmm_bcsr_lists_t){.ptr = NULL};
}

/* Values of BCSR on the CPU: the reference of bcsr_fill.cu. */

/** Where the next entry of each row of a tile row stands in CSR. */
typedef struct {
    int32_t at[SIDE];
} next_t;

static const uint32_t *bits_of(const spmm_bcsr_t *f, spmm_bcsr_tile_t tile)
{
    const uint32_t any = spmmi_bcsr_any(f->step[tile.step]);

    return f->bits + ((int64_t)f->bits_ptr[tile.step] + spmmi_bcsr_rank(any, tile.row)) * SIDE;
}

static void start_rows(const spmm_bcsr_t *f, int32_t t, next_t *next)
{
    int32_t at = f->entry_ptr[t];

    memset(next, 0, sizeof *next);
    for (int32_t k = f->row_ptr[t]; k < f->row_ptr[t + 1]; k++) {
        const uint32_t *bits = bits_of(f, f->tile[k]);

        for (int r = 0; r < SIDE; r++) {
            next->at[r] += spmmi_bcsr_count(bits[r]);
        }
    }
    for (int r = 0; r < SIDE; r++) {
        const int32_t count = next->at[r];

        next->at[r] = at;
        at += count;
    }
}

/* The entry of a row in column col of its 16x32 tile, 0 where none is stored; from: its first
 * one. */
static uint16_t value_of(uint32_t bits, int32_t col, const uint16_t *from)
{
    return (uint16_t)((bits >> col & 1) != 0 ? from[spmmi_bcsr_rank(bits, col)] : 0);
}

static void fill_tile(spmm_bcsr_t *f, spmm_bcsr_tile_t tile, const uint16_t *values,
                      const next_t *next)
{
    const spmm_bcsr_step_t s     = f->step[tile.step];
    const uint32_t        *bits  = bits_of(f, tile);
    uint16_t              *to    = (uint16_t *)f->values + (int64_t)s.at * (SPMM_BCSR_UNIT / 2);
    const bool             sp24  = (s.sp24 >> tile.row & 1) != 0;
    const int32_t          place = spmmi_bcsr_rank(s.sp24, tile.row);

    for (int32_t half = 0; half < 2; half++) {
        const bool      stored  = ((half == 0 ? s.left : s.right) >> tile.row & 1) != 0;
        const int32_t   at      = sp24 ? place : spmmi_bcsr_tile_at(s, half, tile.row);
        uint16_t *const tile_to = to + at * SIDE * SIDE;

        for (int32_t r = 0; r < SIDE && (sp24 ? half == 0 : stored); r++) {
            for (int32_t c = 0; c < SIDE; c++) {
                const int32_t col = sp24 ? spmmi_bcsr_kept(bits[r], c) : SIDE * half + c;

                tile_to[spmmi_bcsr_value_at(r, c)] = value_of(bits[r], col, values + next->at[r]);
            }
        }
    }
    if (sp24) {
        uint32_t *meta =
            (uint32_t *)(void *)(to + spmmi_bcsr_tiles(s) * SIDE * SIDE) + place * SIDE;

        for (int32_t k = 0; k < SIDE; k++) {
            meta[k] = spmmi_bcsr_meta(bits, k / 2, k % 2);
        }
    }
}

spmm_status_t spmmi_bcsr_fill(spmm_env_t *env, spmm_bcsr_t *format, const void *values, int threads)
{
    if (format->values == NULL &&
        (format->values = spmmi_alloc(format->n_units, SPMM_BCSR_UNIT)) == NULL) {
        return spmmi_fail_memory(&env->err, format->n_units, SPMM_BCSR_UNIT, "values of tiles");
    }
#pragma omp parallel for schedule(dynamic, 16) num_threads(spmmi_cpu_team(threads))
    for (int32_t t = 0; t < format->n_tile_rows; t++) {
        next_t next;

        start_rows(format, t, &next);
        for (int32_t k = format->row_ptr[t]; k < format->row_ptr[t + 1]; k++) {
            const uint32_t *bits = bits_of(format, format->tile[k]);

            fill_tile(format, format->tile[k], values, &next);
            for (int r = 0; r < SIDE; r++) {
                next.at[r] += spmmi_bcsr_count(bits[r]);
            }
        }
    }
    return SPMM_OK;
}

/** What a panel comes to, then where it begins. */
typedef struct {
    int64_t steps, wide, units, legal, tiles, sp24;
} extent_t;

static extent_t measure(const spmm_bcsr_t *f, const spmm_windows_t *tall, int32_t panel, bool sp24)
{
    extent_t         e = {0};
    spmm_bcsr_walk_t w;

    bcsr_walk_start(&w, tall, panel, f->rows, sp24);
    while (bcsr_walk_next(&w)) {
        e.steps++;
        e.wide += spmmi_bcsr_count(w.any);
        e.legal += spmmi_bcsr_count(w.legal);
        e.tiles += spmmi_bcsr_count(w.step.left) + spmmi_bcsr_count(w.step.right);
        e.sp24 += spmmi_bcsr_count(w.step.sp24);
        e.units += spmmi_bcsr_units(w.step);
        for (uint64_t left = w.any; left != 0; left &= left - 1) {
            f->row_ptr[panel * f->rows + spmmi_cpu_lowest_bit(left) + 1]++;
        }
    }
    return e;
}

/* Sums up to each panel, and of all at the end. */
static spmm_status_t add_up(spmm_env_t *env, extent_t *extent, spmm_bcsr_t *f)
{
    extent_t sum = {0};

    for (int32_t p = 0; p <= f->n_panels; p++) {
        const extent_t one = extent[p];

        extent[p] = sum;
        sum.steps += one.steps;
        sum.wide += one.wide;
        sum.units += one.units;
        sum.legal += one.legal;
        sum.tiles += one.tiles;
        sum.sp24 += one.sp24;
    }
    if (sum.units > INT32_MAX) {
        return spmmi_fail(&env->err, SPMM_ERR_RANGE,
                          "BCSR tiles of %" PRId64 " bytes on one rank, more than 2^37; use more "
                          "ranks or another engine",
                          sum.units * SPMM_BCSR_UNIT);
    }
    f->n_steps = (int32_t)sum.steps;
    f->n_wide  = (int32_t)sum.wide;
    f->n_legal = (int32_t)sum.legal;
    f->n_tiles = sum.tiles;
    f->n_sp24  = sum.sp24;
    f->n_units = sum.units;
    for (int32_t t = 0; t < f->n_tile_rows; t++) {
        f->row_ptr[t + 1] += f->row_ptr[t];
    }
    return SPMM_OK;
}

static spmm_status_t alloc_steps(spmm_env_t *env, spmm_bcsr_t *f)
{
    SPMM_NEW(f->step, f->n_steps);
    SPMM_NEW(f->bits_ptr, f->n_steps);
    SPMM_NEW(f->bits, (int64_t)f->n_wide * SIDE);
    SPMM_NEW(f->tile, f->n_wide);
    if (f->step == NULL || f->bits_ptr == NULL || f->bits == NULL || f->tile == NULL) {
        return spmmi_fail_memory(&env->err, f->n_wide, SIDE * sizeof *f->bits + sizeof *f->tile,
                                 "tiles");
    }
    return SPMM_OK;
}

/* Steps and bits of a panel; tiles of its rows. */
static void place_panel(spmm_bcsr_t *f, const spmm_windows_t *tall, int32_t panel, extent_t at,
                        bool sp24)
{
    int32_t          next[SPMM_BCSR_ROWS] = {0};
    spmm_bcsr_walk_t w;

    for (int32_t r = 0; r < f->rows && panel * f->rows + r < f->n_tile_rows; r++) {
        next[r] = f->row_ptr[panel * f->rows + r];
    }
    f->panel_ptr[panel] = (int32_t)at.steps;
    bcsr_walk_start(&w, tall, panel, f->rows, sp24);
    while (bcsr_walk_next(&w)) {
        w.step.at             = (int32_t)at.units;
        f->step[at.steps]     = w.step;
        f->bits_ptr[at.steps] = (int32_t)at.wide;
        for (uint64_t left = w.any; left != 0; left &= left - 1) {
            const int32_t r = spmmi_cpu_lowest_bit(left);

            memcpy(f->bits + at.wide++ * SIDE, w.bits[r], sizeof w.bits[r]);
            f->tile[next[r]++] = (spmm_bcsr_tile_t){.step = (int32_t)at.steps, .row = r};
        }
        at.steps++;
        at.units += spmmi_bcsr_units(w.step);
    }
}

static spmm_status_t lay_out(spmm_env_t *env, const spmm_windows_t *tall, bool sp24, int threads,
                             spmm_bcsr_t *f)
{
    extent_t     *extent;
    spmm_status_t status;

    SPMM_NEW_ZERO(extent, (int64_t)f->n_panels + 1);
    SPMM_NEW_ZERO(f->row_ptr, (int64_t)f->n_tile_rows + 1);
    SPMM_NEW(f->panel_ptr, (int64_t)f->n_panels + 1);
    if (extent == NULL || f->row_ptr == NULL || f->panel_ptr == NULL) {
        spmmi_free(extent);
        return spmmi_fail_memory(&env->err, f->n_tile_rows, sizeof *f->row_ptr, "rows of tiles");
    }
#pragma omp parallel for schedule(dynamic, 16) num_threads(spmmi_cpu_team(threads))
    for (int32_t p = 0; p < f->n_panels; p++) {
        extent[p] = measure(f, tall, p, sp24);
    }
    status = add_up(env, extent, f);
    if (status == SPMM_OK) {
        status = alloc_steps(env, f);
    }
    if (status == SPMM_OK) {
        f->panel_ptr[f->n_panels] = f->n_steps;
#pragma omp parallel for schedule(dynamic, 16) num_threads(spmmi_cpu_team(threads))
        for (int32_t p = 0; p < f->n_panels; p++) {
            place_panel(f, tall, p, extent[p], sp24);
        }
    }
    spmmi_free(extent);
    return status;
}

spmm_status_t spmmi_bcsr_create(spmm_env_t *env, const spmm_csr_t *block,
                                const spmm_windows_t *tall, int32_t rows, bool sp24, int threads,
                                spmm_bcsr_t *format)
{
    spmm_bcsr_t    f   = {.n_rows      = block->n_rows,
                          .n_cols      = block->n_cols,
                          .n_tile_rows = spmmi_windows_count(block->n_rows, SIDE),
                          .n_panels    = spmmi_windows_count(block->n_rows, SIDE * rows),
                          .rows        = rows,
                          .type        = block->type};
    spmm_windows_t own = {0};
    spmm_status_t  status;

    status = spmmi_tc_entry_ptr(env, block, SIDE, &f.entry_ptr);
    if (status == SPMM_OK && tall == NULL) {
        status = spmmi_windows_create(env, block, SPMM_WINDOWS_TALL, threads, &own);
    }
    if (status == SPMM_OK) {
        status = lay_out(env, tall == NULL ? &own : tall, sp24, threads, &f);
    }
    spmmi_windows_free(&own);
    if (status != SPMM_OK) {
        spmmi_bcsr_free(&f);
    }
    *format = f;
    return status;
}

void spmmi_bcsr_free(void *format)
{
    spmm_bcsr_t *f = format;

    spmmi_free_all(f->panel_ptr, f->step, f->bits_ptr, f->bits, f->row_ptr, f->tile, f->entry_ptr,
                   f->values);
    memset(f, 0, sizeof *f);
}

spmm_bcsr_arrays_t spmmi_bcsr_arrays(const spmm_bcsr_t *format)
{
    return (spmm_bcsr_arrays_t){.n_rows      = format->n_rows,
                                .n_cols      = format->n_cols,
                                .n_tile_rows = format->n_tile_rows,
                                .n_panels    = format->n_panels,
                                .rows        = format->rows,
                                .panel_ptr   = format->panel_ptr,
                                .step        = format->step,
                                .bits_ptr    = format->bits_ptr,
                                .bits        = format->bits,
                                .row_ptr     = format->row_ptr,
                                .tile        = format->tile,
                                .entry_ptr   = format->entry_ptr,
                                .values      = format->values,
                                .n_sp24      = format->n_sp24,
                                .slice       = 64,
                                .type        = format->type};
}

size_t spmmi_bcsr_value_bytes(const spmm_bcsr_t *format)
{
    return (size_t)format->n_units * SPMM_BCSR_UNIT;
}

size_t spmmi_bcsr_held(const void *format)
{
    const spmm_bcsr_t *f = format;

    return ((size_t)f->n_panels + 1) * sizeof(int32_t) +
           2 * ((size_t)f->n_tile_rows + 1) * sizeof(int32_t) +
           (size_t)f->n_steps * (sizeof *f->step + sizeof *f->bits_ptr) +
           (size_t)f->n_wide * (SIDE * sizeof *f->bits + sizeof *f->tile) +
           (f->values == NULL ? 0 : spmmi_bcsr_value_bytes(f));
}

/* BCSR as CPU code walks it. */

/* A block is a 16x32 tile, whose sides may be tiles of their own or make one in 2:4 sparsity. */
static const uint32_t *bits_in(const spmm_bcsr_arrays_t *f, spmm_bcsr_tile_t tile)
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
    const uint32_t           *bits = bits_in(f, tile);
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
    const uint32_t           *bits = bits_in(f, f->tile[block]);

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

/* What a pattern comes to in panels of all heights, by one walk over the tallest:
 * tiles are the same in all, and a step of a lower panel is one that has entries in its rows. */

enum { LEAST = SPMM_BCSR_ROWS >> (SPMM_BCSR_PANELS - 1) /* tile rows of the lowest panel */ };

/** Sums of a panel. */
typedef struct {
    int64_t steps[SPMM_BCSR_PANELS], sides[SPMM_BCSR_PANELS], longest[SPMM_BCSR_PANELS];
    int64_t tiles, sp24, wide, legal;
} sums_t;

/* The step to the sums; @p mine: steps of each panel of each height in this one of the tallest. */
static void add_step(const spmm_bcsr_walk_t *w, sums_t *s,
                     int64_t mine[SPMM_BCSR_PANELS][1 << (SPMM_BCSR_PANELS - 1)])
{
    const uint32_t left  = (uint32_t)(w->step.left | w->step.sp24);
    const uint32_t right = (uint32_t)(w->step.right | w->step.sp24);

    for (int h = 0; h < SPMM_BCSR_PANELS; h++) {
        const int      rows = LEAST << h, panels = SPMM_BCSR_ROWS / rows;
        const uint32_t mask = (uint32_t)(((uint64_t)1 << rows) - 1);

        for (int p = 0; p < panels; p++) {
            mine[h][p] += (w->any >> p * rows & mask) != 0;
            s->sides[h] += (left >> p * rows & mask) != 0;
            s->sides[h] += (right >> p * rows & mask) != 0;
        }
    }
    s->tiles += spmmi_bcsr_count(w->step.left) + spmmi_bcsr_count(w->step.right);
    s->sp24 += spmmi_bcsr_count(w->step.sp24);
    s->wide += spmmi_bcsr_count(w->any);
    s->legal += spmmi_bcsr_count(w->legal);
}

static sums_t sum_panel(const spmm_windows_t *tall, int32_t panel)
{
    sums_t           s                                                   = {.tiles = 0};
    int64_t          mine[SPMM_BCSR_PANELS][1 << (SPMM_BCSR_PANELS - 1)] = {{0}};
    spmm_bcsr_walk_t w;

    bcsr_walk_start(&w, tall, panel, SPMM_BCSR_ROWS, true);
    while (bcsr_walk_next(&w)) {
        add_step(&w, &s, mine);
    }
    for (int h = 0; h < SPMM_BCSR_PANELS; h++) {
        for (int p = 0; p < 1 << (SPMM_BCSR_PANELS - 1); p++) {
            s.steps[h] += mine[h][p];
            s.longest[h] = mine[h][p] > s.longest[h] ? mine[h][p] : s.longest[h];
        }
    }
    return s;
}

void spmmi_bcsr_measure(const spmm_windows_t *tall, int32_t n_rows, int threads,
                        spmm_bcsr_facts_t facts[SPMM_BCSR_PANELS])
{
    const int32_t n_panels = spmmi_windows_count(n_rows, SPMM_BCSR_SIDE * SPMM_BCSR_ROWS);
    int64_t       steps[SPMM_BCSR_PANELS] = {0}, sides[SPMM_BCSR_PANELS] = {0};
    int64_t       longest[SPMM_BCSR_PANELS] = {0}, tiles = 0, sp24 = 0, wide = 0, legal = 0;

#pragma omp parallel for schedule(dynamic, 4) num_threads(spmmi_cpu_team(threads)) \
    reduction(+ : steps, sides, tiles, sp24, wide, legal) reduction(max : longest)
    for (int32_t p = 0; p < n_panels; p++) {
        const sums_t one = sum_panel(tall, p);

        for (int h = 0; h < SPMM_BCSR_PANELS; h++) {
            steps[h] += one.steps[h];
            sides[h] += one.sides[h];
            longest[h] = one.longest[h] > longest[h] ? one.longest[h] : longest[h];
        }
        tiles += one.tiles;
        sp24 += one.sp24;
        wide += one.wide;
        legal += one.legal;
    }
    for (int h = 0; h < SPMM_BCSR_PANELS; h++) {
        facts[h] = (spmm_bcsr_facts_t){.steps   = steps[h],
                                       .longest = longest[h],
                                       .sides   = sides[h],
                                       .tiles   = tiles,
                                       .sp24    = sp24,
                                       .wide    = wide,
                                       .legal   = legal};
    }
}
