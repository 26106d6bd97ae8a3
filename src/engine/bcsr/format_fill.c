/* SPDX-License-Identifier: Apache-2.0 */
/** @file format_fill.c  Values of BCSR on the CPU: the reference of bcsr_fill.cu. */
#include "base/alloc.h"
#include "engine/bcsr/format.h"
#include "spmm_dist/context.h"

#include <string.h>

enum { SIDE = SPMM_BCSR_SIDE };

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
