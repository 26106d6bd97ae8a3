/* SPDX-License-Identifier: Apache-2.0 */
#include "ladder_tiles.h"

#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/scalar.h"
#include "engine/bcsr/args.h"
#include "engine/windows/windows.h"

enum { GROUP = 4 };

/* Is there no row with more than two of its four columns, in any group of a tile?  The columns of
 * the tile are those from @p k on; *next is left behind them. */
static bool is_sp24(const spmm_windows_t *windows, int32_t w, int32_t width, int32_t k,
                    int32_t *next)
{
    const int32_t  *col  = windows->col + windows->first[w];
    const uint32_t *rows = windows->rows + windows->first[w];
    const int32_t   n    = windows->count[w];
    const int32_t   tile = col[k] / width;
    bool            good = true;

    while (k < n && col[k] / width == tile) {
        const int32_t group = col[k] / GROUP;
        uint32_t      one = 0, two = 0; /* rows seen once and twice at least */

        for (; k < n && col[k] / GROUP == group; k++) {
            good = good && (two & rows[k]) == 0;
            two |= one & rows[k];
            one |= rows[k];
        }
    }
    *next = k;
    return good;
}

/* Tiles of a row of them; listed where the lists are there. */
static void scan_row(const spmm_windows_t *windows, int32_t w, bool sparse, ladder_host_t *host)
{
    const int32_t *col = windows->col + windows->first[w];

    for (int32_t k = 0; k < windows->count[w];) {
        const int32_t tile = col[k] / host->width;
        const bool    sp24 = is_sp24(windows, w, host->width, k, &k) && sparse;
        int64_t      *n    = sp24 ? &host->n_sparse : &host->n_dense;

        if (host->list != NULL) {
            const int64_t all = host->n_dense + host->n_sparse;

            (sp24 ? host->sparse_col : host->dense_col)[*n] = tile;
            host->list[all] = (ladder_listed_t){.col = tile, .at = 2 * (int32_t)*n + sp24};
            if (host->map != NULL) {
                host->map[(int64_t)w * host->n_tile_cols + tile] = (int32_t)all;
            }
        }
        ++*n;
    }
}

static void scan_tiles(const spmm_windows_t *windows, bool sparse, ladder_host_t *host)
{
    host->n_dense = host->n_sparse = 0;
    for (int32_t w = 0; w < windows->n_windows; w++) {
        scan_row(windows, w, sparse, host);
        if (host->list != NULL) {
            host->dense_ptr[w + 1]  = (int32_t)host->n_dense;
            host->sparse_ptr[w + 1] = (int32_t)host->n_sparse;
            host->ptr[w + 1]        = (int32_t)(host->n_dense + host->n_sparse);
        }
    }
}

/* The values of tile row @p w's tile @p t as they stand in A, and which of them are stored. */
static void gather_tile(const spmm_csr_t *block, int32_t w, int32_t first_col, int32_t width,
                        int64_t at[LADDER_ROWS], uint16_t values[], uint32_t stored[LADDER_ROWS])
{
    const uint16_t *from = block->values;

    memset(values, 0, (size_t)(LADDER_ROWS * width) * sizeof *values);
    for (int32_t r = 0; r < LADDER_ROWS && w * LADDER_ROWS + r < block->n_rows; r++) {
        const int64_t end = block->row_ptr[w * LADDER_ROWS + r + 1];

        stored[r] = 0;
        for (; at[r] < end && block->col_idx[at[r]] < first_col + width; at[r]++) {
            const int32_t c = block->col_idx[at[r]] - first_col;

            values[r * width + c] = from[at[r]];
            stored[r] |= (uint32_t)1 << c;
        }
    }
}

static void pack(const uint16_t *values, const uint32_t stored[LADDER_ROWS], int32_t width,
                 uint16_t *packed, uint32_t *meta)
{
    const int32_t kept = width / 2, words = width / LADDER_ROWS;

    for (int32_t k = 0; k < LADDER_ROWS * kept; k++) {
        packed[k] = values[k / kept * width + spmmi_bcsr_kept(stored[k / kept], k % kept)];
    }
    for (int32_t k = 0; k < kept; k++) {
        meta[k] = spmmi_bcsr_meta(stored, k / words, k % words);
    }
}

static void fill(const spmm_csr_t *block, ladder_host_t *host)
{
    const int32_t width = host->width;
    const int64_t size  = (int64_t)LADDER_ROWS * width;

#pragma omp parallel for schedule(dynamic, 64)
    for (int32_t w = 0; w < host->n_tile_rows; w++) {
        int64_t at[LADDER_ROWS] = {0};

        for (int32_t r = 0; r < LADDER_ROWS && w * LADDER_ROWS + r < block->n_rows; r++) {
            at[r] = block->row_ptr[w * LADDER_ROWS + r];
        }
        for (int32_t t = host->ptr[w]; t < host->ptr[w + 1]; t++) {
            const int64_t to = host->list[t].at / 2;
            uint16_t      values[LADDER_ROWS * LADDER_WIDE];
            uint32_t      stored[LADDER_ROWS] = {0};

            gather_tile(block, w, host->list[t].col * width, width, at, values, stored);
            if (host->list[t].at % 2 != 0) {
                pack(values, stored, width, host->packed + to * size / 2,
                     host->meta + to * (width / 2));
            } else {
                memcpy(host->dense + to * size, values, (size_t)size * sizeof *values);
            }
        }
    }
}

static spmm_status_t alloc(spmm_env_t *env, ladder_host_t *host)
{
    const int64_t rows = (int64_t)host->n_tile_rows + 1, size = (int64_t)LADDER_ROWS * host->width;
    const int64_t map = (int64_t)host->n_tile_rows * host->n_tile_cols;

    SPMM_NEW_ZERO(host->ptr, rows);
    SPMM_NEW_ZERO(host->dense_ptr, rows);
    SPMM_NEW_ZERO(host->sparse_ptr, rows);
    SPMM_NEW(host->list, host->n_dense + host->n_sparse);
    SPMM_NEW(host->dense_col, host->n_dense);
    SPMM_NEW(host->sparse_col, host->n_sparse);
    SPMM_NEW(host->dense, host->n_dense * size);
    SPMM_NEW(host->packed, host->n_sparse * size / 2);
    SPMM_NEW(host->meta, host->n_sparse * host->width / 2);
    if (map <= LADDER_MAP && SPMM_NEW(host->map, map) != NULL) {
        memset(host->map, 0xff, (size_t)map * sizeof *host->map);
    }
    if (host->ptr == NULL || host->dense_ptr == NULL || host->sparse_ptr == NULL ||
        host->list == NULL || host->dense_col == NULL || host->sparse_col == NULL ||
        host->dense == NULL || host->packed == NULL || host->meta == NULL ||
        (host->map == NULL && map <= LADDER_MAP)) {
        return spmmi_fail_memory(&env->err, host->n_dense + host->n_sparse,
                                 LADDER_ROWS * LADDER_WIDE * 2, "tiles");
    }
    return SPMM_OK;
}

spmm_status_t ladder_host_create(spmm_env_t *env, const spmm_csr_t *block, ladder_form_t form,
                                 ladder_host_t *host)
{
    const int32_t  width  = form == LADDER_SPARSE_32 ? LADDER_WIDE : LADDER_ROWS;
    const bool     sparse = form != LADDER_DENSE_16;
    spmm_windows_t windows;
    spmm_status_t  status;

    *host = (ladder_host_t){.n_tile_rows = spmmi_windows_count(block->n_rows, LADDER_ROWS),
                            .n_tile_cols = spmmi_windows_count(block->n_cols, width),
                            .width       = width};
    if (spmmi_csr_nnz(block) > INT32_MAX / 2) {
        return spmmi_fail(&env->err, SPMM_ERR_RANGE, "%" PRId64 " entries are 2^30 or more",
                          spmmi_csr_nnz(block));
    }
    SPMM_TRY(spmmi_windows_create(env, block, LADDER_ROWS, 0, &windows));
    scan_tiles(&windows, sparse, host);
    status = alloc(env, host);
    if (status == SPMM_OK) {
        scan_tiles(&windows, sparse, host);
        fill(block, host);
    }
    spmmi_windows_free(&windows);
    if (status != SPMM_OK) {
        ladder_host_free(host);
    }
    return status;
}

/* Squares of row @p w of them; filled where there is room. */
static void merge_row(const ladder_host_t *from, int32_t w, ladder_host_t *host)
{
    const int32_t size = LADDER_ROWS * LADDER_ROWS;
    int32_t       at[LADDER_BLOCK], end[LADDER_BLOCK];

    for (int32_t r = 0; r < LADDER_BLOCK; r++) {
        const int32_t row = w * LADDER_BLOCK + r;

        at[r] = end[r] = 0;
        if (row < from->n_tile_rows) {
            at[r]  = from->dense_ptr[row];
            end[r] = from->dense_ptr[row + 1];
        }
    }
    for (;;) {
        int32_t col = INT32_MAX;

        for (int32_t r = 0; r < LADDER_BLOCK; r++) {
            if (at[r] < end[r] && from->dense_col[at[r]] / LADDER_BLOCK < col) {
                col = from->dense_col[at[r]] / LADDER_BLOCK;
            }
        }
        if (col == INT32_MAX) {
            return;
        }
        for (int32_t r = 0; r < LADDER_BLOCK; r++) {
            for (; at[r] < end[r] && from->dense_col[at[r]] / LADDER_BLOCK == col; at[r]++) {
                const int32_t c = from->dense_col[at[r]] % LADDER_BLOCK;

                if (host->dense != NULL) {
                    memcpy(host->dense +
                               ((host->n_dense * LADDER_BLOCK + r) * LADDER_BLOCK + c) * size,
                           from->dense + (int64_t)at[r] * size, (size_t)size * sizeof *host->dense);
                }
            }
        }
        if (host->dense != NULL) {
            host->dense_col[host->n_dense] = col;
        }
        host->n_dense++;
    }
}

spmm_status_t ladder_host_merge(spmm_env_t *env, const ladder_host_t *from, ladder_host_t *host)
{
    const int32_t size = LADDER_BLOCK * LADDER_ROWS;

    *host = (ladder_host_t){.n_tile_rows = spmmi_windows_count(from->n_tile_rows, LADDER_BLOCK),
                            .n_tile_cols = spmmi_windows_count(from->n_tile_cols, LADDER_BLOCK),
                            .width       = size};
    for (int32_t w = 0; w < host->n_tile_rows; w++) {
        merge_row(from, w, host);
    }
    SPMM_NEW_ZERO(host->dense_ptr, (int64_t)host->n_tile_rows + 1);
    SPMM_NEW(host->dense_col, host->n_dense);
    SPMM_NEW_ZERO(host->dense, host->n_dense * size * size);
    if (host->dense_ptr == NULL || host->dense_col == NULL || host->dense == NULL) {
        ladder_host_free(host);
        return spmmi_fail_memory(&env->err, host->n_dense, size * size * 2, "squares of tiles");
    }
    host->n_dense = 0;
    for (int32_t w = 0; w < host->n_tile_rows; w++) {
        merge_row(from, w, host);
        host->dense_ptr[w + 1] = (int32_t)host->n_dense;
    }
    return SPMM_OK;
}

void ladder_host_free(ladder_host_t *host)
{
    spmmi_free_all(host->map, host->ptr, host->list, host->dense_ptr, host->sparse_ptr,
                   host->dense_col, host->sparse_col, host->dense, host->packed, host->meta);
    memset(host, 0, sizeof *host);
}
