/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/format_bittcf.h"

#include <string.h>

#include "base/alloc.h"
#include "engine/tc_format.h"
#include "engine/windows.h"
#include "spmm_dist/context.h"

enum { SIDE = SPMM_BITTCF_SIDE };

/* Window pointers, then room for the blocks.  Blocks are fewer than entries, which fit 32 bits. */
static spmm_status_t alloc_blocks(spmm_env_t *env, const spmm_windows_t *windows, spmm_bittcf_t *f)
{
    const int64_t nnz = f->entry_ptr[f->n_windows];

    if (SPMM_NEW(f->window_ptr, (int64_t)f->n_windows + 1) == NULL) {
        return spmm_fail_memory(&env->err, (int64_t)f->n_windows + 1, sizeof *f->window_ptr,
                                "windows of TC blocks");
    }
    f->window_ptr[0] = 0;
    for (int32_t w = 0; w < f->n_windows; w++) {
        f->window_ptr[w + 1] = f->window_ptr[w] + (windows->count[w] + SIDE - 1) / SIDE;
    }
    f->n_blocks = f->window_ptr[f->n_windows];
    SPMM_NEW(f->value_ptr, (int64_t)f->n_blocks + 1);
    SPMM_NEW(f->col, (int64_t)f->n_blocks * SIDE);
    SPMM_NEW(f->bits, (int64_t)f->n_blocks * f->tiles);
    f->values = spmm_alloc(nnz, spmm_type_size(f->type));
    if (f->value_ptr == NULL || f->col == NULL || f->bits == NULL || f->values == NULL) {
        return spmm_fail_memory(&env->err, f->n_blocks,
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

/* Columns, bits and value pointers of the blocks of window w. */
static void mark_window(const spmm_windows_t *windows, int32_t w, spmm_bittcf_t *f)
{
    const int32_t  *active = windows->col + windows->first[w];
    const uint32_t *rows   = windows->rows + windows->first[w];
    int32_t         value  = f->entry_ptr[w];

    for (int32_t b = f->window_ptr[w], left = windows->count[w]; left > 0; b++, left -= SIDE) {
        const int32_t n   = left < SIDE ? left : SIDE;
        int32_t      *col = f->col + (int64_t)b * SIDE;

        f->value_ptr[b] = value;
        for (int32_t c = 0; c < SIDE; c++) {
            col[c] = c < n ? active[c] : SPMM_TC_NO_COLUMN;
        }
        for (int32_t tile = 0; tile < f->tiles; tile++) {
            uint64_t columns = 0; /* a byte of rows each */

            for (int32_t c = 0; c < n; c++) {
                columns |= (uint64_t)(rows[c] >> tile * SIDE & 0xff) << c * SIDE;
            }
            f->bits[(int64_t)b * f->tiles + tile] = transpose_bits(columns);
            value += spmm_cpu_popcount(columns);
        }
        active += n;
        rows += n;
    }
}

static spmm_status_t fill(spmm_env_t *env, const spmm_csr_t *block, int threads, spmm_bittcf_t *f)
{
    const int32_t  height = f->tiles * SIDE;
    spmm_windows_t windows;
    spmm_status_t  status;

    SPMM_TRY(spmm_tc_entry_ptr(env, block, height, &f->entry_ptr));
    SPMM_TRY(spmm_windows_create(env, block, height, threads, &windows));
    status = alloc_blocks(env, &windows, f);
    if (status == SPMM_OK) {
#pragma omp parallel for schedule(dynamic, 16) num_threads(spmm_cpu_team(threads))
        for (int32_t w = 0; w < f->n_windows; w++) {
            mark_window(&windows, w, f);
        }
        f->value_ptr[f->n_blocks] = f->entry_ptr[f->n_windows];
        spmm_bittcf_refill(f, block->values, threads);
    }
    spmm_windows_free(&windows);
    return status;
}

spmm_status_t spmm_bittcf_create(spmm_env_t *env, const spmm_csr_t *block, int32_t tiles,
                                 int threads, spmm_bittcf_t *format)
{
    spmm_bittcf_t f = {.n_rows    = block->n_rows,
                       .n_cols    = block->n_cols,
                       .n_windows = spmm_windows_count(block->n_rows, tiles * SIDE),
                       .tiles     = tiles,
                       .type      = block->type};
    spmm_status_t status;

    status = fill(env, block, threads, &f);
    if (status != SPMM_OK) {
        spmm_bittcf_free(&f);
    }
    *format = f;
    return status;
}

void spmm_bittcf_free(spmm_bittcf_t *format)
{
    spmm_free(format->window_ptr);
    spmm_free(format->value_ptr);
    spmm_free(format->col);
    spmm_free(format->bits);
    spmm_free(format->values);
    spmm_free(format->entry_ptr);
    memset(format, 0, sizeof *format);
}

spmm_bittcf_arrays_t spmm_bittcf_arrays(const spmm_bittcf_t *format)
{
    return (spmm_bittcf_arrays_t){.n_rows     = format->n_rows,
                                  .n_windows  = format->n_windows,
                                  .tiles      = format->tiles,
                                  .window_ptr = format->window_ptr,
                                  .value_ptr  = format->value_ptr,
                                  .col        = format->col,
                                  .bits       = format->bits,
                                  .values     = format->values,
                                  .type       = format->type};
}

void spmm_bittcf_refill(spmm_bittcf_t *format, const void *values, int threads)
{
    const spmm_bittcf_arrays_t arrays = spmm_bittcf_arrays(format);
    const spmm_tc_view_t       view   = spmm_cpu_bittcf_view(&arrays);

    spmm_tc_fill(&view, format->entry_ptr, values, spmm_type_size(format->type), format->values,
                 threads);
}

spmm_status_t spmm_bittcf_to_csr(spmm_env_t *env, const spmm_bittcf_t *format, spmm_csr_t *csr)
{
    const spmm_bittcf_arrays_t arrays = spmm_bittcf_arrays(format);
    const spmm_tc_view_t       view   = spmm_cpu_bittcf_view(&arrays);

    return spmm_tc_to_csr(env, &view, format->entry_ptr, format->n_cols, format->type, csr);
}

spmm_bittcf_bytes_t spmm_bittcf_bytes(int64_t n_rows, int64_t n_blocks, int64_t nnz,
                                      spmm_type_t type)
{
    const size_t rows    = (size_t)n_rows;
    const size_t windows = (rows + SIDE - 1) / SIDE;
    const size_t blocks  = (size_t)n_blocks;
    const size_t entries = (size_t)nnz;

    return (spmm_bittcf_bytes_t){.csr    = 4 * (rows + 1 + entries),
                                 .tcf    = 4 * (windows + rows + 1 + 3 * entries),
                                 .me_tcf = 4 * (windows + 9 * blocks + 2) + entries,
                                 .bittcf = 4 * (windows + 11 * blocks + 2),
                                 .values = entries * spmm_type_size(type)};
}

size_t spmm_bittcf_held(const spmm_bittcf_t *format)
{
    const size_t windows = (size_t)format->n_windows, blocks = (size_t)format->n_blocks;

    return 2 * (windows + 1) * sizeof(int32_t) + (blocks + 1) * sizeof(int32_t) +
           blocks * (SIDE * sizeof(int32_t) + (size_t)format->tiles * sizeof(uint64_t)) +
           (size_t)format->entry_ptr[windows] * spmm_type_size(format->type);
}
