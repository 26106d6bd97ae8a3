/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/bcsr/format.h"

#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "engine/bcsr/walk.h"
#include "engine/tc/format.h"
#include "spmm_dist/context.h"

enum { SIDE = SPMM_BCSR_SIDE };

/** What a panel comes to, then where it begins. */
typedef struct {
    int64_t steps, wide, units, legal, tiles, sp24;
} extent_t;

static extent_t measure(const spmm_bcsr_t *f, const spmm_windows_t *tall, int32_t panel, bool sp24)
{
    extent_t         e = {0};
    spmm_bcsr_walk_t w;

    spmmi_bcsr_walk_start(&w, tall, panel, f->rows, sp24);
    while (spmmi_bcsr_walk_next(&w)) {
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
    spmmi_bcsr_walk_start(&w, tall, panel, f->rows, sp24);
    while (spmmi_bcsr_walk_next(&w)) {
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
