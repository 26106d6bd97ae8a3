/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/panel/format.h"

#include <inttypes.h>
#include <omp.h>
#include <string.h>

#include "base/alloc.h"
#include "engine/panel/lay_out.h"
#include "engine/tc/format.h"
#include "spmm_dist/context.h"

enum { WINDOWS = SPMM_PANEL_WINDOWS, STEP = SPMM_PANEL_STEP };

/** Panels being made. */
typedef struct {
    const spmm_windows_t *tall;
    spmm_panel_column_t  *list; /* [team * room] the columns of a panel, of each thread */
    int64_t               room;
    int                   team;
} making_t;

static spmm_status_t alloc_windows(spmm_env_t *env, making_t *m, spmm_panel_t *f)
{
    const int64_t windows = (int64_t)f->n_windows + 1;

    for (int32_t p = 0; p < f->n_panels; p++) {
        int64_t all = 0;

        for (int32_t t = p * SPMM_PANEL_TALL;
             t < (p + 1) * SPMM_PANEL_TALL && t < m->tall->n_windows; t++) {
            all += m->tall->count[t];
        }
        m->room = all > m->room ? all : m->room;
    }
    SPMM_NEW(m->list, m->team * m->room);
    SPMM_NEW_ZERO(f->panel_step, (int64_t)f->n_panels + 1);
    SPMM_NEW_ZERO(f->window_start, windows);
    SPMM_NEW_ZERO(f->tile_ptr, windows);
    return m->list != NULL && f->panel_step != NULL && f->window_start != NULL &&
                   f->tile_ptr != NULL
               ? SPMM_OK
               : spmmi_fail_memory(&env->err, m->team * m->room + 3 * windows, sizeof *m->list,
                                   "windows of panels");
}

static spmm_panel_column_t *list_of(const making_t *m, int32_t panel, int32_t *n)
{
    spmm_panel_column_t *list                = m->list + omp_get_thread_num() * m->room;
    int32_t              at[SPMM_PANEL_TALL] = {0};
    spmm_panel_column_t  next;

    for (*n = 0; spmmi_panel_next(m->tall, panel, at, &next); (*n)++) {
        list[*n] = next;
    }
    return list;
}

/* Steps of each panel, units and tiles of each window, at the place behind their own. */
static void count_panels(const making_t *m, spmm_panel_t *f)
{
#pragma omp parallel for schedule(dynamic, 4) num_threads(m->team)
    for (int32_t p = 0; p < f->n_panels; p++) {
        spmm_panel_count_t         count;
        int32_t                    n;
        const spmm_panel_column_t *list = list_of(m, p, &n);

        spmmi_panel_lay_out(list, n, &count, NULL);
        f->panel_step[p + 1] = (n + STEP - 1) / STEP;
        for (int32_t w = 0; w < WINDOWS && p * WINDOWS + w < f->n_windows; w++) {
            f->window_start[p * WINDOWS + w + 1] = count.units[w];
            f->tile_ptr[p * WINDOWS + w + 1]     = count.tiles[w];
        }
    }
}

/* Sums of what is before each. */
static spmm_status_t place_panels(spmm_env_t *env, spmm_panel_t *f)
{
    int64_t steps = 0, units = 0, tiles = 0;

    for (int32_t p = 0; p < f->n_panels; p++) {
        const int32_t n = f->panel_step[p + 1];

        if (n > UINT16_MAX) {
            return spmmi_fail(&env->err, SPMM_ERR_RANGE,
                              "rows %" PRId64 " to %" PRId64 " use more columns than a panel has, "
                              "%d; use another engine",
                              (int64_t)p * WINDOWS * SPMM_PANEL_HEIGHT,
                              (int64_t)(p + 1) * WINDOWS * SPMM_PANEL_HEIGHT - 1,
                              UINT16_MAX * STEP);
        }
        f->most_places = n * STEP > f->most_places ? n * STEP : f->most_places;
        steps += n;
        f->panel_step[p + 1] = (int32_t)steps;
        for (int32_t w = p * WINDOWS; w < (p + 1) * WINDOWS && w < f->n_windows; w++) {
            units += f->window_start[w + 1];
            tiles += f->tile_ptr[w + 1];
            f->window_start[w + 1] = (int32_t)units;
            f->tile_ptr[w + 1]     = (int32_t)tiles;
        }
        if (units > INT32_MAX - SPMM_PANEL_UNIT || steps * STEP > INT32_MAX) {
            return spmmi_fail(&env->err, SPMM_ERR_RANGE,
                              "format panel of %" PRId32 " panels on one rank takes more than "
                              "32 GiB; use more ranks or another engine",
                              f->n_panels);
        }
    }
    f->n_cols  = steps * STEP;
    f->n_tiles = tiles;
    return SPMM_OK;
}

static spmm_status_t alloc_tiles(spmm_env_t *env, const making_t *m, spmm_panel_t *f)
{
    const int64_t units = f->window_start[f->n_windows];

    f->team = m->team;
    SPMM_NEW(f->col, f->n_cols);
    SPMM_NEW(f->tile_start, f->n_tiles + 1);
    SPMM_NEW(f->tile_panel, f->n_tiles);
    SPMM_NEW(f->room, 2 * (int64_t)f->team * f->most_places);
    f->packed = spmmi_alloc(units, SPMM_PANEL_UNIT);
    if (f->col == NULL || f->tile_start == NULL || f->tile_panel == NULL || f->room == NULL ||
        f->packed == NULL) {
        return spmmi_fail_memory(&env->err, units, SPMM_PANEL_UNIT, "tiles of panels");
    }
    f->tile_start[f->n_tiles] = (int32_t)units;
    return SPMM_OK;
}

static void fill_panels(const making_t *m, spmm_panel_t *f)
{
#pragma omp parallel for schedule(dynamic, 4) num_threads(m->team)
    for (int32_t p = 0; p < f->n_panels; p++) {
        spmm_panel_place_t place = {.col = f->col + f->panel_step[p] * STEP, .packed = f->packed};
        spmm_panel_count_t count;
        int32_t            n;
        const spmm_panel_column_t *list = list_of(m, p, &n);

        for (int32_t k = f->panel_step[p] * STEP; k < f->panel_step[p + 1] * STEP; k++) {
            f->col[k] = SPMM_TC_NO_COLUMN;
        }
        for (int32_t w = 0; w < WINDOWS && p * WINDOWS + w < f->n_windows; w++) {
            const int32_t window = p * WINDOWS + w;

            place.unit[w]       = f->window_start[window];
            place.tile_start[w] = f->tile_start + f->tile_ptr[window];
            for (int32_t t = f->tile_ptr[window]; t < f->tile_ptr[window + 1]; t++) {
                f->tile_panel[t] = p;
            }
        }
        spmmi_panel_lay_out(list, n, &count, &place);
    }
}

static spmm_status_t make(spmm_env_t *env, making_t *m, spmm_panel_t *f)
{
    SPMM_TRY(alloc_windows(env, m, f));
    count_panels(m, f);
    SPMM_TRY(place_panels(env, f));
    SPMM_TRY(alloc_tiles(env, m, f));
    fill_panels(m, f);
    return SPMM_OK;
}

spmm_status_t spmmi_panel_create(spmm_env_t *env, const spmm_csr_t *block,
                                 const spmm_windows_t *tall, int threads, spmm_panel_t *format)
{
    making_t       m   = {.tall = tall, .team = spmmi_cpu_team(threads)};
    spmm_panel_t   f   = {.n_rows    = block->n_rows,
                          .n_windows = spmmi_windows_count(block->n_rows, SPMM_PANEL_HEIGHT)};
    spmm_windows_t own = {0};
    spmm_status_t  status;

    f.n_panels = spmmi_windows_count(f.n_windows, WINDOWS);
    status     = spmmi_tc_entry_ptr(env, block, SPMM_PANEL_HEIGHT, &f.entry_ptr);
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
    spmmi_free(m.list);
    *format = f;
    return status;
}

void spmmi_panel_free(void *format)
{
    spmm_panel_t *f = format;

    spmmi_free_all(f->panel_step, f->col, f->window_start, f->tile_start, f->tile_panel,
                   f->tile_ptr, f->packed, f->entry_ptr, f->room);
    memset(f, 0, sizeof *f);
}

spmm_panel_arrays_t spmmi_panel_arrays(const spmm_panel_t *format)
{
    return (spmm_panel_arrays_t){.n_rows       = format->n_rows,
                                 .n_windows    = format->n_windows,
                                 .n_panels     = format->n_panels,
                                 .panel_step   = format->panel_step,
                                 .col          = format->col,
                                 .window_start = format->window_start,
                                 .packed       = format->packed,
                                 .tile_start   = format->tile_start,
                                 .tile_panel   = format->tile_panel,
                                 .tile_ptr     = format->tile_ptr};
}

size_t spmmi_panel_held(const void *format)
{
    const spmm_panel_t *f       = format;
    const size_t        windows = (size_t)f->n_windows + 1, index = sizeof(int32_t);

    return ((size_t)f->n_panels + 1 + 3 * windows + (size_t)f->n_cols + 2 * (size_t)f->n_tiles + 1 +
            2 * (size_t)f->team * (size_t)f->most_places) *
               index +
           (size_t)f->window_start[f->n_windows] * SPMM_PANEL_UNIT;
}
