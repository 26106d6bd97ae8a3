/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/windows/bittcf_format.h"

#include <string.h>

#include "base/alloc.h"
#include "engine/windows/tc_format.h"
#include "spmm_dist/context.h"

enum { SIDE = SPMM_BITTCF_SIDE };

/* Columns of part @p part of a tall window. */
static int32_t count_part(const spmm_windows_t *tall, int32_t t, int part, int32_t height)
{
    const uint32_t *rows = tall->rows + tall->first[t];
    const uint32_t  mask = UINT32_MAX >> (SPMM_WINDOWS_TALL - height) << part * height;
    int32_t         n    = 0;

    for (int32_t k = 0; k < tall->count[t]; k++) {
        n += (rows[k] & mask) != 0;
    }
    return n;
}

/* Window pointers, from the active columns of each. */
static spmm_status_t point_windows(spmm_env_t *env, const spmm_windows_t *tall, int threads,
                                   spmm_bittcf_t *f)
{
    const int32_t height = f->tiles * SIDE, parts = SPMM_WINDOWS_TALL / height;

    if (SPMM_NEW(f->window_ptr, (int64_t)f->n_windows + 1) == NULL) {
        return spmmi_fail_memory(&env->err, (int64_t)f->n_windows + 1, sizeof *f->window_ptr,
                                 "windows of TC blocks");
    }
#pragma omp parallel for schedule(dynamic, 64) num_threads(spmmi_cpu_team(threads))
    for (int32_t t = 0; t < tall->n_windows; t++) {
        for (int32_t p = 0; p < parts && t * parts + p < f->n_windows; p++) {
            f->window_ptr[t * parts + p + 1] = (count_part(tall, t, p, height) + SIDE - 1) / SIDE;
        }
    }
    f->window_ptr[0] = 0;
    for (int32_t w = 0; w < f->n_windows; w++) {
        f->window_ptr[w + 1] += f->window_ptr[w];
    }
    f->n_blocks = f->window_ptr[f->n_windows];
    return SPMM_OK;
}

/* Blocks are fewer than entries, which fit 32 bits. */
static spmm_status_t alloc_blocks(spmm_env_t *env, spmm_bittcf_t *f)
{
    SPMM_NEW(f->value_ptr, (int64_t)f->n_blocks + 1);
    SPMM_NEW(f->col, (int64_t)f->n_blocks * SIDE);
    SPMM_NEW(f->bits, (int64_t)f->n_blocks * f->tiles);
    f->values = spmmi_alloc(f->entry_ptr[f->n_windows], spmm_type_size(f->type));
    if (f->value_ptr == NULL || f->col == NULL || f->bits == NULL || f->values == NULL) {
        return spmmi_fail_memory(&env->err, f->n_blocks,
                                 SIDE * sizeof *f->col + (size_t)f->tiles * sizeof *f->bits +
                                     sizeof *f->value_ptr,
                                 "TC blocks and their values");
    }
    return SPMM_OK;
}

/* Rows and columns of 8x8 bits exchanged, by ever larger corners. */
static uint64_t transpose_bits(uint64_t x)
{
    uint64_t swap;

    swap = (x ^ x >> 7) & 0x00aa00aa00aa00aau;
    x ^= swap ^ swap << 7;
    swap = (x ^ x >> 14) & 0x0000cccc0000ccccu;
    x ^= swap ^ swap << 14;
    swap = (x ^ x >> 28) & 0x00000000f0f0f0f0u;
    return x ^ swap ^ swap << 28;
}

/* A window being laid out. */
typedef struct {
    spmm_bittcf_t *f;
    const void    *values;                   /* of the CSR block */
    int64_t        next[SPMM_TC_MAX_HEIGHT]; /* entry of each row */
    int32_t        b, value;                 /* next block; place of its first value */
    int32_t        n;                        /* columns of the block in the making */
    int32_t        col[SIDE + 1];
    uint32_t       rows[SIDE + 1];
} layout_t;

/* The values of one tile, which stand row by row; @p size is a constant where this is inlined. */
static inline void put_values(layout_t *at, int32_t tile, uint64_t bits, size_t size)
{
    int64_t *next = at->next + tile * SIDE;
    char    *to   = (char *)at->f->values + (size_t)at->value * size;

    for (; bits != 0; bits &= bits - 1, to += size) {
        const int64_t from = next[spmmi_cpu_lowest_bit(bits) / SIDE]++;

        memcpy(to, (const char *)at->values + (size_t)from * size, size);
    }
}

static void put_block(layout_t *at)
{
    spmm_bittcf_t *f   = at->f;
    int32_t       *col = f->col + (int64_t)at->b * SIDE;

    f->value_ptr[at->b] = at->value;
    for (int32_t c = 0; c < SIDE; c++) {
        col[c] = c < at->n ? at->col[c] : SPMM_TC_NO_COLUMN;
    }
    for (int32_t tile = 0; tile < f->tiles; tile++) {
        uint64_t columns = 0, bits; /* columns: a byte of rows each */

        for (int32_t c = 0; c < at->n; c++) {
            columns |= (uint64_t)(at->rows[c] >> tile * SIDE & 0xff) << c * SIDE;
        }
        bits                                      = transpose_bits(columns);
        f->bits[(int64_t)at->b * f->tiles + tile] = bits;
        switch (spmm_type_size(f->type)) {
        case 16:
            put_values(at, tile, bits, 16);
            break;
        case 8:
            put_values(at, tile, bits, 8);
            break;
        default:
            put_values(at, tile, bits, 4);
            break;
        }
        at->value += spmmi_cpu_popcount(bits);
    }
    at->b++;
    at->n = 0;
}

/* The blocks of window w, part @p part of tall window t.  Columns with no entry in it are written
 * over by the next one: a branch would be a guess. */
static void lay_out(const spmm_csr_t *block, const spmm_windows_t *tall, int32_t t, int part,
                    int32_t w, spmm_bittcf_t *f)
{
    const int32_t   height = f->tiles * SIDE, left = block->n_rows - w * height;
    const int32_t  *col  = tall->col + tall->first[t];
    const uint32_t *rows = tall->rows + tall->first[t];
    const uint32_t  mask = UINT32_MAX >> (SPMM_WINDOWS_TALL - height);
    layout_t        at   = {
                 .f = f, .values = block->values, .b = f->window_ptr[w], .value = f->entry_ptr[w]};

    for (int32_t r = 0; r < height && r < left; r++) {
        at.next[r] = block->row_ptr[w * height + r];
    }
    for (int32_t k = 0; k < tall->count[t]; k++) {
        const uint32_t here = rows[k] >> part * height & mask;

        at.col[at.n]  = col[k];
        at.rows[at.n] = here;
        at.n += here != 0;
        if (at.n == SIDE) {
            put_block(&at);
        }
    }
    if (at.n > 0) {
        put_block(&at);
    }
}

static spmm_status_t fill(spmm_env_t *env, const spmm_csr_t *block, const spmm_windows_t *tall,
                          int threads, spmm_bittcf_t *f)
{
    const int32_t height = f->tiles * SIDE, parts = SPMM_WINDOWS_TALL / height;

    SPMM_TRY(point_windows(env, tall, threads, f));
    SPMM_TRY(alloc_blocks(env, f));
#pragma omp parallel for schedule(dynamic, 8) num_threads(spmmi_cpu_team(threads))
    for (int32_t t = 0; t < tall->n_windows; t++) {
        for (int32_t p = 0; p < parts && t * parts + p < f->n_windows; p++) {
            lay_out(block, tall, t, p, t * parts + p, f);
        }
    }
    f->value_ptr[f->n_blocks] = f->entry_ptr[f->n_windows];
    return SPMM_OK;
}

spmm_status_t spmmi_bittcf_create(spmm_env_t *env, const spmm_csr_t *block,
                                  const spmm_windows_t *tall, int32_t tiles, int threads,
                                  spmm_bittcf_t *format)
{
    spmm_bittcf_t  f   = {.n_rows    = block->n_rows,
                          .n_cols    = block->n_cols,
                          .n_windows = spmmi_windows_count(block->n_rows, tiles * SIDE),
                          .tiles     = tiles,
                          .type      = block->type};
    spmm_windows_t own = {0};
    spmm_status_t  status;

    status = spmmi_tc_entry_ptr(env, block, tiles * SIDE, &f.entry_ptr);
    if (status == SPMM_OK && tall == NULL) {
        status = spmmi_windows_create(env, block, SPMM_WINDOWS_TALL, threads, &own);
    }
    if (status == SPMM_OK) {
        status = fill(env, block, tall == NULL ? &own : tall, threads, &f);
    }
    spmmi_windows_free(&own);
    if (status != SPMM_OK) {
        spmmi_bittcf_free(&f);
    }
    *format = f;
    return status;
}

void spmmi_bittcf_free(void *format)
{
    spmm_bittcf_t *f = format;

    spmmi_free_all(f->window_ptr, f->value_ptr, f->col, f->bits, f->values, f->entry_ptr);
    memset(f, 0, sizeof *f);
}

spmm_bittcf_arrays_t spmmi_bittcf_arrays(const spmm_bittcf_t *format)
{
    return (spmm_bittcf_arrays_t){.n_rows     = format->n_rows,
                                  .n_cols     = format->n_cols,
                                  .n_windows  = format->n_windows,
                                  .tiles      = format->tiles,
                                  .window_ptr = format->window_ptr,
                                  .value_ptr  = format->value_ptr,
                                  .col        = format->col,
                                  .bits       = format->bits,
                                  .values     = format->values,
                                  .type       = format->type};
}

void spmmi_bittcf_refill(void *format, const void *values, int threads)
{
    spmm_bittcf_t             *f      = format;
    const spmm_bittcf_arrays_t arrays = spmmi_bittcf_arrays(f);
    const spmm_tc_view_t       view   = spmmi_bittcf_view(&arrays);

    spmmi_tc_fill(&view, f->entry_ptr, values, spmm_type_size(f->type), f->values, threads);
}

spmm_bittcf_bytes_t spmmi_bittcf_bytes(int64_t n_rows, int64_t n_blocks, int64_t nnz,
                                       spmm_type_t type)
{
    const size_t rows    = (size_t)n_rows;
    const size_t windows = (rows + SIDE - 1) / SIDE;
    const size_t blocks  = (size_t)n_blocks;
    const size_t entries = (size_t)nnz;

    return (spmm_bittcf_bytes_t){.csr    = 4 * (rows + 1 + entries),
                                 .tcf    = 4 * (windows + rows + 1 + 3 * entries),
                                 .me_tcf = spmmi_tc_me_tcf_bytes(n_rows, n_blocks, nnz),
                                 .bittcf = 4 * (windows + 11 * blocks + 2),
                                 .values = entries * spmm_type_size(type)};
}

size_t spmmi_bittcf_held(const void *format)
{
    const spmm_bittcf_t *f       = format;
    const size_t         windows = (size_t)f->n_windows, blocks = (size_t)f->n_blocks;

    return 2 * (windows + 1) * sizeof(int32_t) + (blocks + 1) * sizeof(int32_t) +
           blocks * (SIDE * sizeof(int32_t) + (size_t)f->tiles * sizeof(uint64_t)) +
           (size_t)f->entry_ptr[windows] * spmm_type_size(f->type);
}

/* BitTCF as CPU code walks it. */

static int32_t decode(const void *arrays, int64_t block, spmm_tc_entry_t *entry, size_t *offset)
{
    const spmm_bittcf_arrays_t *f   = arrays;
    const int32_t              *col = f->col + block * SPMM_BITTCF_SIDE;
    int32_t                     n   = 0;

    for (int32_t tile = 0; tile < f->tiles; tile++) {
        for (uint64_t left = f->bits[block * f->tiles + tile]; left != 0; left &= left - 1) {
            const int32_t bit = spmmi_cpu_lowest_bit(left);

            entry[n].at    = n;
            entry[n].row   = (tile * SPMM_BITTCF_SIDE) + (bit / SPMM_BITTCF_SIDE);
            entry[n++].col = col[bit % SPMM_BITTCF_SIDE];
        }
    }
    *offset = (size_t)f->value_ptr[block] * spmm_type_size(f->type);
    return n;
}

/* A run is a row of a tile: a byte of bits, counted as in spmmi_cpu_popcount(). */
static size_t runs(const void *arrays, int64_t block, uint8_t *length)
{
    const spmm_bittcf_arrays_t *f = arrays;

    for (int32_t tile = 0; tile < f->tiles; tile++) {
        uint64_t x = f->bits[block * f->tiles + tile];

        x -= x >> 1 & 0x5555555555555555u;
        x = (x & 0x3333333333333333u) + (x >> 2 & 0x3333333333333333u);
        x = (x + (x >> 4)) & 0x0f0f0f0f0f0f0f0fu;
        for (int32_t r = 0; r < SPMM_BITTCF_SIDE; r++) {
            length[tile * SPMM_BITTCF_SIDE + r] = (uint8_t)(x >> 8 * r);
        }
    }
    return (size_t)f->value_ptr[block] * spmm_type_size(f->type);
}

spmm_tc_view_t spmmi_bittcf_view(const void *arrays)
{
    const spmm_bittcf_arrays_t *a = arrays;

    return (spmm_tc_view_t){.n_rows    = a->n_rows,
                            .n_windows = a->n_windows,
                            .height    = a->tiles * SPMM_BITTCF_SIDE,
                            .block_ptr = a->window_ptr,
                            .arrays    = arrays,
                            .values    = a->values,
                            .starts    = a->value_ptr,
                            .decode    = decode,
                            .n_runs    = a->tiles * SPMM_BITTCF_SIDE,
                            .runs      = runs};
}
