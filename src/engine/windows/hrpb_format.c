/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/windows/hrpb_format.h"

#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "engine/windows/tc_format.h"
#include "engine/windows/windows.h"

enum {
    TK        = SPMM_HRPB_BLOCK,
    BRICK_M   = SPMM_HRPB_BRICK_M,
    BRICK_K   = SPMM_HRPB_BRICK_K,
    BRICK_COL = TK / BRICK_K /* brick columns of a block */
};

/* Bricks of a block, active or not. */
static int64_t bricks_of(const spmm_hrpb_t *f)
{
    return f->panel_rows / BRICK_M * BRICK_COL;
}

/* Patterns of all bricks, active or not: those of a block by brick column, then by brick row. */
static spmm_status_t alloc_blocks(spmm_env_t *env, const spmm_windows_t *panels, spmm_hrpb_t *f,
                                  uint64_t **patterns)
{
    if (SPMM_NEW(f->block_ptr, (int64_t)f->n_panels + 1) == NULL) {
        return spmmi_fail_memory(&env->err, (int64_t)f->n_panels + 1, sizeof *f->block_ptr,
                                 "panels of blocks");
    }
    f->block_ptr[0] = 0;
    for (int32_t p = 0; p < f->n_panels; p++) {
        f->block_ptr[p + 1] = f->block_ptr[p] + (panels->count[p] + TK - 1) / TK;
    }
    f->n_blocks = f->block_ptr[f->n_panels];
    SPMM_NEW(f->size_ptr, (int64_t)f->n_blocks + 1);
    SPMM_NEW(f->col, (int64_t)f->n_blocks * TK);
    SPMM_NEW(*patterns, (int64_t)f->n_blocks * bricks_of(f));
    if (f->size_ptr == NULL || f->col == NULL || *patterns == NULL) {
        return spmmi_fail_memory(&env->err, f->n_blocks, TK * sizeof *f->col, "blocks of bricks");
    }
    return SPMM_OK;
}

/* Bit r of 16 rows at bit 4 r: their places in a column of a brick. */
static uint64_t spread_rows(uint64_t rows)
{
    rows = (rows | rows << 24) & 0x000000ff000000ffu;
    rows = (rows | rows << 12) & 0x000f000f000f000fu;
    rows = (rows | rows << 6) & 0x0303030303030303u;
    return (rows | rows << 3) & 0x1111111111111111u;
}

/* Columns and patterns of block b from @p n active columns, and how many units it takes. */
static void mark_block(const int32_t *active, const uint32_t *rows, int32_t n, int32_t b,
                       spmm_hrpb_t *f, uint64_t *all_patterns)
{
    const int64_t bricks   = bricks_of(f);
    const int64_t stack    = f->panel_rows / BRICK_M; /* bricks of a brick column */
    int32_t      *col      = f->col + (int64_t)b * TK;
    uint64_t     *patterns = all_patterns + b * bricks;
    int64_t       bytes    = SPMM_HRPB_PATTERNS + bricks * (int64_t)sizeof *patterns;

    memset(patterns, 0, (size_t)bricks * sizeof *patterns);
    for (int32_t c = 0; c < TK; c++) {
        col[c] = c < n ? active[c] : SPMM_TC_NO_COLUMN;
        for (int64_t s = 0; c < n && s < stack; s++) {
            patterns[c / BRICK_K * stack + s] |= spread_rows(rows[c] >> BRICK_M * s & 0xffff)
                                                 << c % BRICK_K;
        }
    }
    for (int64_t j = 0; j < bricks; j++) {
        bytes += spmmi_cpu_popcount(patterns[j]) * (int64_t)sizeof(float);
    }
    f->size_ptr[b + 1] = (int32_t)((bytes + SPMM_HRPB_UNIT - 1) / SPMM_HRPB_UNIT);
}

static void mark_panel(const spmm_windows_t *panels, int32_t p, spmm_hrpb_t *f,
                       uint64_t *all_patterns)
{
    const int32_t first = f->block_ptr[p];

    for (int32_t b = first; b < f->block_ptr[p + 1]; b++) {
        const int32_t at   = (b - first) * TK;
        const int32_t left = panels->count[p] - at;

        mark_block(panels->col + panels->first[p] + at, panels->rows + panels->first[p] + at,
                   left < TK ? left : TK, b, f, all_patterns);
    }
}

/* Where each block starts, and room for all. */
static spmm_status_t alloc_packed(spmm_env_t *env, spmm_hrpb_t *f)
{
    int64_t at = 0;

    f->size_ptr[0] = 0;
    for (int32_t b = 0; b < f->n_blocks; b++) {
        at += f->size_ptr[b + 1];
        if (at > INT32_MAX - 32) { /* lanes of a warp step past the end */
            return spmmi_fail(&env->err, SPMM_ERR_RANGE,
                              "format hrpb of %" PRId32 " blocks on one rank takes more than "
                              "32 GiB; use more ranks or another engine",
                              f->n_blocks);
        }
        f->size_ptr[b + 1] = (int32_t)at;
    }
    f->packed = spmmi_alloc(at, SPMM_HRPB_UNIT);
    return f->packed != NULL ? SPMM_OK
                             : spmmi_fail_memory(&env->err, at, SPMM_HRPB_UNIT, "packed blocks");
}

/* colPtr, rows, patterns and values of block b, active bricks only; the rest of it is 0.
 * @p next: [panel_rows] entry of each row. */
static void pack_block(const uint64_t *all_patterns, int32_t b, const float *values, int64_t *next,
                       spmm_hrpb_t *f)
{
    const int64_t   stack    = f->panel_rows / BRICK_M;
    const uint64_t *patterns = all_patterns + b * bricks_of(f);
    unsigned char  *head     = f->packed + (size_t)f->size_ptr[b] * SPMM_HRPB_UNIT;
    unsigned char  *to       = head + SPMM_HRPB_PATTERNS + (size_t)bricks_of(f) * sizeof *patterns;
    unsigned char   active   = 0;

    memset(head, 0, (size_t)(f->size_ptr[b + 1] - f->size_ptr[b]) * SPMM_HRPB_UNIT);
    for (int64_t k = 0; k < BRICK_COL; k++) {
        head[SPMM_HRPB_COL_PTR + k] = active;
        for (int64_t row = 0; row < stack; row++) {
            const uint64_t pattern = patterns[k * stack + row];

            if (pattern == 0) {
                continue;
            }
            head[SPMM_HRPB_ROWS + active] = (unsigned char)row;
            memcpy(head + SPMM_HRPB_PATTERNS + active * sizeof pattern, &pattern, sizeof pattern);
            active++;
            for (uint64_t left = pattern; left != 0; left &= left - 1, to += sizeof *values) {
                const int32_t r = (int32_t)row * BRICK_M + spmmi_cpu_lowest_bit(left) / BRICK_K;

                memcpy(to, &values[next[r]++], sizeof *values);
            }
        }
    }
    head[SPMM_HRPB_COL_PTR + BRICK_COL] = active;
}

static void pack_panel(const spmm_csr_t *block, const uint64_t *patterns, int32_t p, spmm_hrpb_t *f)
{
    const int32_t first = p * f->panel_rows, left = block->n_rows - first;
    int64_t       next[SPMM_TC_MAX_HEIGHT];

    for (int32_t r = 0; r < f->panel_rows && r < left; r++) {
        next[r] = block->row_ptr[first + r];
    }
    for (int32_t b = f->block_ptr[p]; b < f->block_ptr[p + 1]; b++) {
        pack_block(patterns, b, block->values, next, f);
    }
}

static spmm_status_t fill_blocks(spmm_env_t *env, const spmm_csr_t *block,
                                 const spmm_windows_t *panels, int threads, spmm_hrpb_t *f)
{
    const int     team     = spmmi_cpu_team(threads);
    uint64_t     *patterns = NULL;
    spmm_status_t status;

    status = alloc_blocks(env, panels, f, &patterns);
    if (status == SPMM_OK) {
#pragma omp parallel for schedule(dynamic, 16) num_threads(team)
        for (int32_t p = 0; p < f->n_panels; p++) {
            mark_panel(panels, p, f, patterns);
        }
        status = alloc_packed(env, f);
    }
    if (status == SPMM_OK) {
#pragma omp parallel for schedule(dynamic, 16) num_threads(team)
        for (int32_t p = 0; p < f->n_panels; p++) {
            pack_panel(block, patterns, p, f);
        }
    }
    spmmi_free(patterns);
    return status;
}

spmm_status_t spmmi_hrpb_create(spmm_env_t *env, const spmm_csr_t *block,
                                const spmm_windows_t *tall, int32_t panel_rows, int threads,
                                spmm_hrpb_t *format)
{
    spmm_hrpb_t    f      = {.n_rows     = block->n_rows,
                             .n_panels   = spmmi_windows_count(block->n_rows, panel_rows),
                             .panel_rows = panel_rows};
    spmm_windows_t panels = {0};
    spmm_status_t  status;

    status = spmmi_tc_entry_ptr(env, block, panel_rows, &f.entry_ptr);
    if (status == SPMM_OK) {
        status = tall == NULL ? spmmi_windows_create(env, block, panel_rows, threads, &panels)
                              : spmmi_windows_split(env, block, tall, panel_rows, threads, &panels);
    }
    if (status == SPMM_OK) {
        status = fill_blocks(env, block, &panels, threads, &f);
        spmmi_windows_free(&panels);
    }
    if (status != SPMM_OK) {
        spmmi_hrpb_free(&f);
    }
    *format = f;
    return status;
}

void spmmi_hrpb_free(void *format)
{
    spmm_hrpb_t *f = format;

    spmmi_free_all(f->block_ptr, f->size_ptr, f->col, f->packed, f->entry_ptr);
    memset(f, 0, sizeof *f);
}

spmm_hrpb_arrays_t spmmi_hrpb_arrays(const spmm_hrpb_t *format)
{
    return (spmm_hrpb_arrays_t){.n_rows     = format->n_rows,
                                .n_panels   = format->n_panels,
                                .panel_rows = format->panel_rows,
                                .block_ptr  = format->block_ptr,
                                .size_ptr   = format->size_ptr,
                                .col        = format->col,
                                .packed     = format->packed};
}

void spmmi_hrpb_refill(void *format, const void *values, int threads)
{
    spmm_hrpb_t             *f      = format;
    const spmm_hrpb_arrays_t arrays = spmmi_hrpb_arrays(f);
    const spmm_tc_view_t     view   = spmmi_hrpb_view(&arrays);

    spmmi_tc_fill(&view, f->entry_ptr, values, sizeof(float), f->packed, threads);
}

spmm_hrpb_bytes_t spmmi_hrpb_bytes(const spmm_hrpb_t *format)
{
    const size_t nnz    = (size_t)format->entry_ptr[format->n_panels];
    const size_t blocks = (size_t)format->n_blocks;

    return (spmm_hrpb_bytes_t){.csr = 4 * ((size_t)format->n_rows + 1 + 2 * nnz),
                               .hrpb =
                                   4 * ((size_t)format->n_panels + 1 + blocks + 1 + blocks * TK) +
                                   (size_t)format->size_ptr[blocks] * SPMM_HRPB_UNIT};
}

size_t spmmi_hrpb_held(const void *format)
{
    const spmm_hrpb_t *f = format;

    return spmmi_hrpb_bytes(f).hrpb + ((size_t)f->n_panels + 1) * sizeof *f->entry_ptr;
}

/* HRPB as CPU code walks it. */

static int32_t decode(const void *arrays, int64_t block, spmm_tc_entry_t *entry, size_t *offset)
{
    const spmm_hrpb_arrays_t *f        = arrays;
    const size_t              start    = (size_t)f->size_ptr[block] * SPMM_HRPB_UNIT;
    const unsigned char      *head     = f->packed + start;
    const unsigned char      *col_ptr  = head + SPMM_HRPB_COL_PTR;
    const unsigned char      *rows     = head + SPMM_HRPB_ROWS;
    const unsigned char      *patterns = head + SPMM_HRPB_PATTERNS;
    const int32_t            *col      = f->col + block * SPMM_HRPB_BLOCK;
    const int32_t             bricks =
        f->panel_rows / SPMM_HRPB_BRICK_M * (SPMM_HRPB_BLOCK / SPMM_HRPB_BRICK_K);
    int32_t n = 0;

    for (int32_t k = 0; k < SPMM_HRPB_BLOCK / SPMM_HRPB_BRICK_K; k++) {
        for (int32_t brick = col_ptr[k]; brick < col_ptr[k + 1]; brick++) {
            uint64_t left;

            memcpy(&left, patterns + (size_t)brick * sizeof left, sizeof left);
            for (; left != 0; left &= left - 1) {
                const int32_t bit = spmmi_cpu_lowest_bit(left);

                entry[n].at    = n;
                entry[n].row   = rows[brick] * SPMM_HRPB_BRICK_M + bit / SPMM_HRPB_BRICK_K;
                entry[n++].col = col[k * SPMM_HRPB_BRICK_K + bit % SPMM_HRPB_BRICK_K];
            }
        }
    }
    *offset = start + SPMM_HRPB_PATTERNS + (size_t)bricks * sizeof(uint64_t);
    return n;
}

/* A run is a row of a brick, 4 bits; those of a brick column make the height of the panel. */
static size_t runs(const void *arrays, int64_t block, uint8_t *length)
{
    const spmm_hrpb_arrays_t *f        = arrays;
    const size_t              start    = (size_t)f->size_ptr[block] * SPMM_HRPB_UNIT;
    const unsigned char      *head     = f->packed + start;
    const unsigned char      *col_ptr  = head + SPMM_HRPB_COL_PTR;
    const unsigned char      *rows     = head + SPMM_HRPB_ROWS;
    const unsigned char      *patterns = head + SPMM_HRPB_PATTERNS;
    const int32_t             columns  = SPMM_HRPB_BLOCK / SPMM_HRPB_BRICK_K;
    const int32_t             bricks   = f->panel_rows / SPMM_HRPB_BRICK_M * columns;

    memset(length, 0, (size_t)(columns * f->panel_rows));
    for (int32_t k = 0; k < columns; k++) {
        for (int32_t brick = col_ptr[k]; brick < col_ptr[k + 1]; brick++) {
            uint8_t *to = length + k * f->panel_rows + rows[brick] * SPMM_HRPB_BRICK_M;
            uint64_t x;

            memcpy(&x, patterns + (size_t)brick * sizeof x, sizeof x);
            x -= x >> 1 & 0x5555555555555555u;
            x = (x & 0x3333333333333333u) + (x >> 2 & 0x3333333333333333u);
            for (int32_t r = 0; r < SPMM_HRPB_BRICK_M; r++) {
                to[r] = (uint8_t)(x >> 4 * r & 0xf);
            }
        }
    }
    return start + SPMM_HRPB_PATTERNS + (size_t)bricks * sizeof(uint64_t);
}

spmm_tc_view_t spmmi_hrpb_view(const void *arrays)
{
    const spmm_hrpb_arrays_t *a = arrays;

    return (spmm_tc_view_t){.n_rows    = a->n_rows,
                            .n_windows = a->n_panels,
                            .height    = a->panel_rows,
                            .block_ptr = a->block_ptr,
                            .arrays    = arrays,
                            .values    = a->packed,
                            .starts    = a->size_ptr,
                            .decode    = decode,
                            .n_runs    = SPMM_HRPB_BLOCK / SPMM_HRPB_BRICK_K * a->panel_rows,
                            .runs      = runs};
}
