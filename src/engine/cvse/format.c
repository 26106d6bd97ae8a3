/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/cvse/format.h"

#include <string.h>

#include "base/alloc.h"
#include "engine/windows/tc_format.h"
#include "engine/windows/windows.h"
#include "spmm_dist/context.h"

enum { WIDTH = SPMM_CVSE_BLOCK, TALLEST = 16 };

static size_t n_values(const spmm_cvse_t *f)
{
    return (size_t)f->n_blocks * WIDTH * (size_t)f->height;
}

/* The rows of part @p part of tall window @p t with an entry in its column number @p k, as bits. */
static uint32_t rows_of(const spmm_windows_t *tall, int32_t t, int32_t part, int32_t height,
                        int32_t k)
{
    return tall->rows[tall->first[t] + k] >> part * height & (((uint32_t)1 << height) - 1);
}

/* Blocks of each window, then where they begin.  Vectors are no more than entries, which fit 32
 * bits, so blocks do. */
static spmm_status_t point_windows(spmm_env_t *env, const spmm_windows_t *tall, int threads,
                                   spmm_cvse_t *f)
{
    const int32_t parts = SPMM_WINDOWS_TALL / f->height;

    if (SPMM_NEW(f->window_ptr, (int64_t)f->n_windows + 1) == NULL) {
        return spmmi_fail_memory(&env->err, (int64_t)f->n_windows + 1, sizeof *f->window_ptr,
                                 "windows of vectors");
    }
    f->window_ptr[0] = 0;
#pragma omp parallel for schedule(dynamic, 64) num_threads(spmmi_cpu_team(threads))
    for (int32_t w = 0; w < f->n_windows; w++) {
        int32_t vectors = 0;

        for (int32_t k = 0; k < tall->count[w / parts]; k++) {
            vectors += rows_of(tall, w / parts, w % parts, f->height, k) != 0;
        }
        f->window_ptr[w + 1] = (vectors + WIDTH - 1) / WIDTH;
    }
    for (int32_t w = 0; w < f->n_windows; w++) {
        f->window_ptr[w + 1] += f->window_ptr[w];
    }
    f->n_blocks = f->window_ptr[f->n_windows];
    return SPMM_OK;
}

static spmm_status_t alloc_blocks(spmm_env_t *env, spmm_cvse_t *f)
{
    SPMM_NEW(f->col, (int64_t)f->n_blocks * WIDTH);
    SPMM_NEW(f->bits, (int64_t)f->n_blocks * f->height);
    f->values = spmmi_alloc((int64_t)n_values(f), sizeof(uint16_t));
    if (f->col == NULL || f->bits == NULL || f->values == NULL) {
        return spmmi_fail_memory(&env->err, f->n_blocks,
                                 WIDTH * sizeof *f->col +
                                     (size_t)f->height * (sizeof *f->bits + WIDTH * 2),
                                 "vectors and their values");
    }
    return SPMM_OK;
}

/* A window being laid out. */
typedef struct {
    spmm_cvse_t    *f;
    const uint16_t *values;        /* of the CSR block */
    int64_t         next[TALLEST]; /* entry of each row */
    int32_t         b, n;          /* next block; columns of the block in the making */
    int32_t         col[WIDTH + 1];
    uint32_t        rows[WIDTH + 1];
} layout_t;

/* The thread that fills a block sets it to 0 first: one for all would touch all memory. */
static void put_block(layout_t *at)
{
    spmm_cvse_t *f      = at->f;
    int32_t     *col    = f->col + (int64_t)at->b * WIDTH;
    uint16_t    *bits   = f->bits + (int64_t)at->b * f->height;
    uint16_t    *values = (uint16_t *)f->values + (int64_t)at->b * WIDTH * f->height;

    memset(bits, 0, (size_t)f->height * sizeof *bits);
    memset(values, 0, (size_t)(WIDTH * f->height) * sizeof *values);
    for (int32_t p = 0; p < WIDTH; p++) {
        col[spmmi_cvse_col_at(p)] = p < at->n ? at->col[p] : SPMM_TC_NO_COLUMN;
    }
    for (int32_t p = 0; p < at->n; p++) {
        for (uint64_t left = at->rows[p]; left != 0; left &= left - 1) {
            const int32_t r = spmmi_cpu_lowest_bit(left);

            bits[r] |= (uint16_t)(1u << p);
            values[spmmi_cvse_value_at(f->height, r, p)] = at->values[at->next[r]++];
        }
    }
    at->b++;
    at->n = 0;
}

/* The blocks of window w.  Columns with no entry in it are written over by the next one: a branch
 * would be a guess. */
static void lay_out(const spmm_csr_t *block, const spmm_windows_t *tall, int32_t w, spmm_cvse_t *f)
{
    const int32_t  parts = SPMM_WINDOWS_TALL / f->height, t = w / parts;
    const int32_t  left   = block->n_rows - w * f->height;
    const int32_t *active = tall->col + tall->first[t];
    layout_t       at     = {.f = f, .values = block->values, .b = f->window_ptr[w]};

    for (int32_t r = 0; r < f->height && r < left; r++) {
        at.next[r] = block->row_ptr[w * f->height + r];
    }
    for (int32_t k = 0; k < tall->count[t]; k++) {
        at.col[at.n]  = active[k];
        at.rows[at.n] = rows_of(tall, t, w % parts, f->height, k);
        at.n += at.rows[at.n] != 0;
        if (at.n == WIDTH) {
            put_block(&at);
        }
    }
    if (at.n > 0) {
        put_block(&at);
    }
}

static spmm_status_t fill(spmm_env_t *env, const spmm_csr_t *block, const spmm_windows_t *tall,
                          int threads, spmm_cvse_t *f)
{
    SPMM_TRY(point_windows(env, tall, threads, f));
    SPMM_TRY(alloc_blocks(env, f));
#pragma omp parallel for schedule(dynamic, 16) num_threads(spmmi_cpu_team(threads))
    for (int32_t w = 0; w < f->n_windows; w++) {
        lay_out(block, tall, w, f);
    }
    return SPMM_OK;
}

spmm_status_t spmmi_cvse_create(spmm_env_t *env, const spmm_csr_t *block,
                                const spmm_windows_t *tall, int32_t height, int threads,
                                spmm_cvse_t *format)
{
    spmm_cvse_t    f   = {.n_rows    = block->n_rows,
                          .n_cols    = block->n_cols,
                          .n_windows = spmmi_windows_count(block->n_rows, height),
                          .height    = height,
                          .type      = block->type};
    spmm_windows_t own = {0};
    spmm_status_t  status;

    status = spmmi_tc_entry_ptr(env, block, height, &f.entry_ptr);
    if (status == SPMM_OK && tall == NULL) {
        status = spmmi_windows_create(env, block, SPMM_WINDOWS_TALL, threads, &own);
    }
    if (status == SPMM_OK) {
        status = fill(env, block, tall == NULL ? &own : tall, threads, &f);
    }
    spmmi_windows_free(&own);
    if (status != SPMM_OK) {
        spmmi_cvse_free(&f);
    }
    *format = f;
    return status;
}

void spmmi_cvse_free(void *format)
{
    spmm_cvse_t *f = format;

    spmmi_free_all(f->window_ptr, f->col, f->bits, f->values, f->entry_ptr);
    memset(f, 0, sizeof *f);
}

spmm_cvse_arrays_t spmmi_cvse_arrays(const spmm_cvse_t *format)
{
    return (spmm_cvse_arrays_t){.n_rows     = format->n_rows,
                                .n_windows  = format->n_windows,
                                .height     = format->height,
                                .window_ptr = format->window_ptr,
                                .col        = format->col,
                                .bits       = format->bits,
                                .values     = format->values,
                                .type       = format->type};
}

/* The values of window w, a row of which is consecutive in CSR; or without @p values the entry that
 * each place has, to @p from.  Inlined with one of them NULL. */
static inline void fill_window(const spmm_cvse_t *f, int32_t w, const uint16_t *values,
                               int32_t *from)
{
    uint16_t *to = f->values;
    int32_t   at = f->entry_ptr[w];

    for (int32_t r = 0; r < f->height; r++) {
        for (int64_t block = f->window_ptr[w]; block < f->window_ptr[w + 1]; block++) {
            const int64_t first = block * WIDTH * f->height;

            for (uint64_t left = f->bits[block * f->height + r]; left != 0; left &= left - 1) {
                const int32_t p     = spmmi_cpu_lowest_bit(left);
                const int64_t place = first + spmmi_cvse_value_at(f->height, r, p);

                if (values != NULL) {
                    to[place] = values[at++];
                } else {
                    from[place] = at++;
                }
            }
        }
    }
}

void spmmi_cvse_refill(spmm_cvse_t *format, const void *values, int threads)
{
#pragma omp parallel for schedule(dynamic, 16) num_threads(spmmi_cpu_team(threads))
    for (int32_t w = 0; w < format->n_windows; w++) {
        fill_window(format, w, values, NULL);
    }
}

void spmmi_cvse_entries(const spmm_cvse_t *format, int threads, int32_t *from)
{
#pragma omp parallel num_threads(spmmi_cpu_team(threads))
    {
#pragma omp for
        for (int64_t k = 0; k < (int64_t)n_values(format); k++) {
            from[k] = -1;
        }
#pragma omp for schedule(dynamic, 16)
        for (int32_t w = 0; w < format->n_windows; w++) {
            fill_window(format, w, NULL, from);
        }
    }
}

size_t spmmi_cvse_held(const void *format)
{
    const spmm_cvse_t *f = format;

    return 2 * ((size_t)f->n_windows + 1) * sizeof(int32_t) +
           (size_t)f->n_blocks * (WIDTH * sizeof(int32_t) + (size_t)f->height * sizeof(uint16_t)) +
           n_values(f) * sizeof(uint16_t);
}

spmm_cvse_bytes_t spmmi_cvse_bytes(int32_t n_rows, int64_t nnz, int64_t vectors, int32_t height,
                                   int64_t tc_blocks)
{
    const size_t csr = 4 * ((size_t)n_rows + 1 + (size_t)nnz), values = 2 * (size_t)nnz;
    const double places = (double)vectors * height;
    const size_t vector = 4 + 2 * (size_t)height;

    return (spmm_cvse_bytes_t){.new_sparsity = vectors == 0 ? 0.0 : 1.0 - (double)nnz / places,
                               .csr          = csr + values,
                               .me_tcf = spmmi_tc_me_tcf_bytes(n_rows, tc_blocks, nnz) + values,
                               .cvse   = 4 * ((size_t)spmmi_windows_count(n_rows, height) + 1) +
                                       vector * (size_t)vectors};
}

/* CVSE as CPU code walks it. */

static int32_t decode(const void *arrays, int64_t block, spmm_tc_entry_t *entry, size_t *offset)
{
    const spmm_cvse_arrays_t *f   = arrays;
    const int32_t            *col = f->col + block * SPMM_CVSE_BLOCK;
    int32_t                   n   = 0;

    for (int32_t r = 0; r < f->height; r++) {
        for (uint64_t left = f->bits[block * f->height + r]; left != 0; left &= left - 1) {
            const int32_t p = spmmi_cpu_lowest_bit(left);

            entry[n++] = (spmm_tc_entry_t){.row = r,
                                           .col = col[spmmi_cvse_col_at(p)],
                                           .at  = spmmi_cvse_value_at(f->height, r, p)};
        }
    }
    *offset = (size_t)block * SPMM_CVSE_BLOCK * (size_t)f->height * sizeof(uint16_t);
    return n;
}

static size_t runs(const void *arrays, int64_t block, uint8_t *length)
{
    const spmm_cvse_arrays_t *f = arrays;

    for (int32_t r = 0; r < f->height; r++) {
        length[r] = (uint8_t)spmmi_cpu_popcount(f->bits[block * f->height + r]);
    }
    return (size_t)block * SPMM_CVSE_BLOCK * (size_t)f->height * sizeof(uint16_t);
}

spmm_tc_view_t spmmi_cvse_view(const void *arrays)
{
    const spmm_cvse_arrays_t *a = arrays;

    return (spmm_tc_view_t){.n_rows    = a->n_rows,
                            .n_windows = a->n_windows,
                            .height    = a->height,
                            .block_ptr = a->window_ptr,
                            .arrays    = arrays,
                            .values    = a->values,
                            .decode    = decode,
                            .n_runs    = a->height,
                            .runs      = runs};
}
