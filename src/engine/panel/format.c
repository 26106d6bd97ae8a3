/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/panel/format.h"

#include <inttypes.h>
#include <omp.h>
#include <string.h>

#include "base/alloc.h"
#include "engine/panel/lay_out.h"
#include "engine/tc/format.h"
#include "spmm_dist/context.h"

enum { HEIGHT = SPMM_PANEL_HEIGHT };

/** Panels being made. */
typedef struct {
    const spmm_windows_t *tall;
    spmm_panel_variant_t  variant;
    int32_t              *units; /* [n_pieces] */
    int32_t              *tiles; /* [n_pieces] */
    int64_t               room;  /* columns that the windows of a panel have at most */
    int                   team;
} making_t;

static int32_t tall_of(const making_t *m, int32_t panel)
{
    const int32_t each = m->variant.height / 2, left = m->tall->n_windows - panel * each;

    return left < each ? left : each;
}

static int32_t windows_of(const making_t *m, const spmm_panel_t *f, int32_t panel)
{
    const int32_t left = f->n_windows - panel * m->variant.height;

    return left < m->variant.height ? left : m->variant.height;
}

/* Columns of the longer half of tall window t. */
static int32_t longest_of(const spmm_windows_t *tall, int32_t t)
{
    const uint32_t *rows = tall->rows + tall->first[t];
    int32_t         low = 0, high = 0;

    for (int32_t k = 0; k < tall->count[t]; k++) {
        low += (rows[k] & 0xffff) != 0;
        high += rows[k] >> HEIGHT != 0;
    }
    return low > high ? low : high;
}

static bool is_tail(const making_t *m, const spmm_panel_t *f, int32_t panel)
{
    return panel >= f->n_panels - m->variant.tail;
}

/* Into how many parts each panel goes. */
static spmm_status_t cut_panels(spmm_env_t *env, making_t *m, spmm_panel_t *f)
{
    const int32_t each = m->variant.height / 2, most = SPMM_PANEL_MOST / 2;
    int64_t       room = 0, parts = 0, pieces = 0, partial = 0;

    if (SPMM_NEW(f->panel_part, (int64_t)f->n_panels + 1) == NULL) {
        return spmmi_fail_memory(&env->err, (int64_t)f->n_panels + 1, sizeof *f->panel_part,
                                 "panels");
    }
#pragma omp parallel for schedule(dynamic, 16) num_threads(m->team) reduction(max : room)
    for (int32_t p = 0; p < f->n_panels; p++) {
        int32_t longest = 0, n, least;
        int64_t all     = 0;

        for (int32_t k = 0; k < tall_of(m, p); k++) {
            const int32_t here = longest_of(m->tall, p * each + k);

            longest = here > longest ? here : longest;
            all += m->tall->count[p * each + k];
        }
        n     = longest <= m->variant.cut ? 1 : (longest - 1) / m->variant.cut + 1;
        least = (int32_t)(all / most) + 1;
        least = is_tail(m, f, p) && least < m->variant.tail_parts ? m->variant.tail_parts : least;
        f->panel_part[p] = n > least ? n : least;
        room             = all > room ? all : room;
    }
    for (int32_t p = 0; p < f->n_panels; p++) {
        const int32_t n = f->panel_part[p], windows = windows_of(m, f, p);

        f->panel_part[p] = (int32_t)parts;
        parts += n;
        pieces += (int64_t)n * windows;
        partial += n > 1 ? (int64_t)n * windows : 0;
        f->n_splits += n > 1 ? windows : 0;
    }
    if (pieces >= INT32_MAX) {
        return spmmi_fail(&env->err, SPMM_ERR_RANGE,
                          "%" PRId64 " pieces of work on one rank, more than 2^31 - 1; use more "
                          "ranks or another engine",
                          pieces);
    }
    f->panel_part[f->n_panels] = (int32_t)parts;
    m->room                    = room;
    f->n_parts                 = (int32_t)parts;
    f->n_pieces                = (int32_t)pieces;
    f->n_partial               = (int32_t)partial;
    return SPMM_OK;
}

static spmm_status_t alloc_parts(spmm_env_t *env, making_t *m, spmm_panel_t *f)
{
    SPMM_NEW_ZERO(f->part, f->n_parts);
    SPMM_NEW(f->piece, (int64_t)f->n_pieces + 1);
    SPMM_NEW(f->window_piece, (int64_t)f->n_windows + 1);
    SPMM_NEW(f->tile_ptr, (int64_t)f->n_windows + 1);
    SPMM_NEW(f->split, f->n_splits);
    SPMM_NEW(m->units, f->n_pieces);
    SPMM_NEW(m->tiles, f->n_pieces);
    return f->part != NULL && f->piece != NULL && f->window_piece != NULL && f->tile_ptr != NULL &&
                   f->split != NULL && m->units != NULL && m->tiles != NULL
               ? SPMM_OK
               : spmmi_fail_memory(&env->err, f->n_pieces, sizeof *f->piece, "pieces of panels");
}

/* Numbers of windows, pieces and sums, in order. */
static void number_parts(const making_t *m, spmm_panel_t *f)
{
    int32_t piece = 0, partial = 0, split = 0;

    for (int32_t p = 0; p < f->n_panels; p++) {
        const int32_t first = f->panel_part[p], n = f->panel_part[p + 1] - first;
        const int32_t window = p * m->variant.height, windows = windows_of(m, f, p);

        for (int32_t j = 0; j < n; j++) {
            f->part[first + j] = (spmm_panel_part_t){.window    = window,
                                                     .n_windows = windows,
                                                     .piece     = piece + j,
                                                     .n_parts   = n,
                                                     .partial   = n > 1 ? partial + j : -1};
        }
        for (int32_t w = 0; w < windows; w++) {
            f->window_piece[window + w] = piece + w * n;
            if (n > 1) {
                f->split[split++] = (spmm_tc_split_t){
                    .window = window + w, .piece = partial + w * n, .n_pieces = n};
            }
        }
        piece += n * windows;
        partial += n > 1 ? n * windows : 0;
    }
    f->window_piece[f->n_windows] = piece;
}

/* Column @p j of @p n equal shares of a list, between steps. */
static int32_t share(const spmm_panel_list_t *list, int32_t j, int32_t n)
{
    const int64_t steps = (list->n + SPMM_PANEL_STEP - 1) / SPMM_PANEL_STEP;
    const int64_t at    = steps * j / n * SPMM_PANEL_STEP;

    return at < list->n ? (int32_t)at : list->n;
}

static void count_panel(const making_t *m, spmm_panel_t *f, int32_t p, spmm_panel_list_t *list)
{
    const int32_t each = m->variant.height / 2, first = f->panel_part[p];
    const int32_t n = f->panel_part[p + 1] - first;

    spmmi_panel_merge(m->tall, p * each, tall_of(m, p), list);
    for (int32_t j = 0; j < n; j++) {
        spmm_panel_part_t *part = &f->part[first + j];
        const int32_t      from = share(list, j, n), to = share(list, j + 1, n);
        spmm_panel_count_t count;

        spmmi_panel_lay_out(list, from, to, &count, NULL);
        part->n_steps = (to - from + SPMM_PANEL_STEP - 1) / SPMM_PANEL_STEP;
        for (int32_t w = 0; w < part->n_windows; w++) {
            m->units[part->piece + w * n] = count.units[w];
            m->tiles[part->piece + w * n] = count.tiles[w];
        }
    }
}

static spmm_status_t make_room(spmm_env_t *env, const making_t *m, spmm_panel_t *f)
{
    for (int32_t k = 0; k < f->n_parts; k++) {
        const int32_t places = f->part[k].n_steps * SPMM_PANEL_STEP;

        f->most_places = places > f->most_places ? places : f->most_places;
    }
    f->team = m->team;
    return SPMM_NEW(f->room, 2 * (int64_t)f->team * f->most_places) != NULL
               ? SPMM_OK
               : spmmi_fail_memory(&env->err, 2 * (int64_t)f->team * f->most_places,
                                   sizeof *f->room, "places of panels");
}

/* Where lists, tiles and their bytes start. */
static spmm_status_t place_parts(spmm_env_t *env, const making_t *m, spmm_panel_t *f)
{
    int64_t cols = 0, units = 0, tiles = 0;

    for (int32_t k = 0; k < f->n_parts; k++) {
        f->part[k].col = (int32_t)cols;
        cols += (int64_t)f->part[k].n_steps * SPMM_PANEL_STEP;
        for (int32_t w = 0; w < f->part[k].n_windows && cols <= INT32_MAX; w++) {
            f->piece[f->part[k].piece + w * f->part[k].n_parts].col = f->part[k].col;
        }
    }
    for (int32_t w = 0; w < f->n_windows; w++) {
        f->tile_ptr[w] = (int32_t)tiles;
        for (int32_t k = f->window_piece[w]; k < f->window_piece[w + 1]; k++) {
            f->piece[k].start = (int32_t)units;
            units += m->units[k];
            tiles += m->tiles[k];
        }
        if (units > INT32_MAX - SPMM_PANEL_UNIT || cols > INT32_MAX) {
            return spmmi_fail(&env->err, SPMM_ERR_RANGE,
                              "format panel of %" PRId32 " panels on one rank takes more than "
                              "32 GiB; use more ranks or another engine",
                              f->n_panels);
        }
    }
    f->tile_ptr[f->n_windows] = (int32_t)tiles;
    f->piece[f->n_pieces]     = (spmm_panel_piece_t){.start = (int32_t)units};
    f->n_cols                 = cols;
    f->n_tiles                = tiles;
    SPMM_NEW(f->col, cols);
    SPMM_NEW(f->tile_start, tiles + 1);
    SPMM_NEW(f->tile_col, tiles);
    f->packed = spmmi_alloc(units, SPMM_PANEL_UNIT);
    if (f->col == NULL || f->tile_start == NULL || f->tile_col == NULL || f->packed == NULL) {
        return spmmi_fail_memory(&env->err, units, SPMM_PANEL_UNIT, "tiles of panels");
    }
    f->tile_start[tiles] = (int32_t)units;
    return make_room(env, m, f);
}

static void fill_panel(const making_t *m, spmm_panel_t *f, int32_t p, spmm_panel_list_t *list)
{
    const int32_t each = m->variant.height / 2, first = f->panel_part[p];
    const int32_t n = f->panel_part[p + 1] - first;
    int32_t       tile[SPMM_PANEL_MOST_WINDOWS]; /* the next of each window */

    spmmi_panel_merge(m->tall, p * each, tall_of(m, p), list);
    for (int32_t w = 0; w < f->part[first].n_windows; w++) {
        tile[w] = f->tile_ptr[f->part[first].window + w];
    }
    for (int32_t j = 0; j < n; j++) {
        const spmm_panel_part_t *part  = &f->part[first + j];
        spmm_panel_place_t       place = {.col = f->col + part->col, .packed = f->packed};
        spmm_panel_count_t       count;

        for (int32_t k = 0; k < part->n_steps * SPMM_PANEL_STEP; k++) {
            place.col[k] = SPMM_TC_NO_COLUMN;
        }
        for (int32_t w = 0; w < part->n_windows; w++) {
            place.unit[w]       = f->piece[part->piece + w * n].start;
            place.tile_start[w] = f->tile_start + tile[w];
        }
        spmmi_panel_lay_out(list, share(list, j, n), share(list, j + 1, n), &count, &place);
        for (int32_t w = 0; w < part->n_windows; w++) {
            for (int32_t k = 0; k < count.tiles[w]; k++) {
                f->tile_col[tile[w]++] = part->col;
            }
        }
    }
}

/* One of both for all panels, each thread with a list of its own. */
static spmm_status_t each_panel(spmm_env_t *env, const making_t *m, spmm_panel_t *f,
                                void (*one)(const making_t *, spmm_panel_t *, int32_t,
                                            spmm_panel_list_t *))
{
    const int64_t tall = m->variant.height / 2;
    int32_t      *cols;
    uint32_t     *rows;

    SPMM_NEW(cols, m->team * m->room);
    SPMM_NEW(rows, m->team * m->room * tall);
    if (cols == NULL || rows == NULL) {
        spmmi_free_all(cols, rows);
        return spmmi_fail_memory(&env->err, m->team * m->room, (size_t)(tall + 1) * sizeof *cols,
                                 "columns of panels");
    }
#pragma omp parallel num_threads(m->team)
    {
        const int64_t     me   = omp_get_thread_num();
        spmm_panel_list_t list = {.col = cols + me * m->room, .rows = rows + me * m->room * tall};

#pragma omp for schedule(dynamic, 4)
        for (int32_t p = 0; p < f->n_panels; p++) {
            one(m, f, p, &list);
        }
    }
    spmmi_free_all(cols, rows);
    return SPMM_OK;
}

static spmm_status_t make(spmm_env_t *env, making_t *m, spmm_panel_t *f)
{
    SPMM_TRY(cut_panels(env, m, f));
    SPMM_TRY(alloc_parts(env, m, f));
    number_parts(m, f);
    SPMM_TRY(each_panel(env, m, f, count_panel));
    SPMM_TRY(place_parts(env, m, f));
    return each_panel(env, m, f, fill_panel);
}

spmm_status_t spmmi_panel_create(spmm_env_t *env, const spmm_csr_t *block,
                                 const spmm_windows_t *tall, spmm_panel_variant_t variant,
                                 int threads, spmm_panel_t *format)
{
    making_t       m   = {.tall = tall, .variant = variant, .team = spmmi_cpu_team(threads)};
    spmm_panel_t   f   = {.n_rows    = block->n_rows,
                          .n_windows = spmmi_windows_count(block->n_rows, HEIGHT),
                          .height    = variant.height};
    spmm_windows_t own = {0};
    spmm_status_t  status;

    f.n_panels = spmmi_windows_count(f.n_windows, variant.height);
    status     = spmmi_tc_entry_ptr(env, block, HEIGHT, &f.entry_ptr);
    if (status == SPMM_OK && tall == NULL) {
        status = spmmi_windows_create(env, block, SPMM_WINDOWS_TALL, threads, &own);
        m.tall = &own;
    }
    if (status == SPMM_OK) {
        status = make(env, &m, &f);
    }
    if (status == SPMM_OK) {
        spmmi_panel_refill(&f, block->values, threads);
    } else {
        spmmi_panel_free(&f);
    }
    spmmi_windows_free(&own);
    spmmi_free_all(m.units, m.tiles);
    *format = f;
    return status;
}

void spmmi_panel_free(void *format)
{
    spmm_panel_t *f = format;

    spmmi_free_all(f->part, f->piece, f->window_piece, f->col, f->tile_start, f->tile_col,
                   f->tile_ptr, f->panel_part, f->packed, f->split, f->entry_ptr, f->room);
    memset(f, 0, sizeof *f);
}

spmm_panel_arrays_t spmmi_panel_arrays(const spmm_panel_t *format)
{
    return (spmm_panel_arrays_t){.n_rows       = format->n_rows,
                                 .n_windows    = format->n_windows,
                                 .n_parts      = format->n_parts,
                                 .height       = format->height,
                                 .part         = format->part,
                                 .piece        = format->piece,
                                 .window_piece = format->window_piece,
                                 .col          = format->col,
                                 .packed       = format->packed,
                                 .tile_start   = format->tile_start,
                                 .tile_col     = format->tile_col,
                                 .tile_ptr     = format->tile_ptr};
}

size_t spmmi_panel_held(const void *format)
{
    const spmm_panel_t *f       = format;
    const size_t        windows = (size_t)f->n_windows + 1, index = sizeof(int32_t);

    return (size_t)f->n_parts * sizeof *f->part + ((size_t)f->n_pieces + 1) * sizeof *f->piece +
           3 * windows * index + ((size_t)f->n_cols + 2 * (size_t)f->n_tiles + 1) * index +
           ((size_t)f->n_panels + 1 + 2 * (size_t)f->team * (size_t)f->most_places) * index +
           (size_t)f->n_splits * sizeof *f->split +
           (size_t)f->piece[f->n_pieces].start * SPMM_PANEL_UNIT;
}
