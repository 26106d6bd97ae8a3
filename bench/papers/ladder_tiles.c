/* SPDX-License-Identifier: Apache-2.0 */
#include "ladder_tiles.h"

#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/scalar.h"
#include "engine/tc/windows.h"

enum { GROUP = 4, GROUPS = LADDER_WIDE / GROUP };

/* Is there no row with more than two of its four columns, in any group of a tile?  The columns of
 * the tile are those from @p k on; *next is left behind them. */
static bool is_sp24(const spmm_windows_t *windows, int32_t w, int32_t k, int32_t *next)
{
    const int32_t  *col  = windows->col + windows->first[w];
    const uint32_t *rows = windows->rows + windows->first[w];
    const int32_t   n    = windows->count[w];
    const int32_t   tile = col[k] / LADDER_WIDE;
    bool            good = true;

    while (k < n && col[k] / LADDER_WIDE == tile) {
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

/* Tiles of a row of them; listed where host->col is there. */
static void scan_row(const spmm_windows_t *windows, int32_t w, ladder_host_t *host)
{
    const int32_t *col   = windows->col + windows->first[w];
    const int32_t  width = host->width;

    for (int32_t k = 0; k < windows->count[w];) {
        const int32_t tile = col[k] / width;
        bool          sp24 = false;

        if (width == LADDER_WIDE) {
            sp24 = is_sp24(windows, w, k, &k);
        } else {
            while (k < windows->count[w] && col[k] / width == tile) {
                k++;
            }
        }
        if (host->col != NULL) {
            host->col[host->n_tiles]  = tile;
            host->sp24[host->n_tiles] = sp24;
            host->at[host->n_tiles]   = (int32_t)(sp24 ? host->n_sparse : host->n_dense);
            if (sp24) {
                host->sparse_col[host->n_sparse] = tile;
            } else {
                host->dense_col[host->n_dense] = tile;
            }
            host->map[(int64_t)w * host->n_tile_cols + tile] = (int32_t)host->n_tiles;
        }
        host->n_tiles++;
        host->n_sparse += sp24;
        host->n_dense += !sp24;
    }
}

static void scan_tiles(const spmm_windows_t *windows, ladder_host_t *host)
{
    host->n_tiles = host->n_dense = host->n_sparse = 0;
    for (int32_t w = 0; w < windows->n_windows; w++) {
        scan_row(windows, w, host);
        if (host->col != NULL) {
            host->row_ptr[w + 1]    = (int32_t)host->n_tiles;
            host->dense_ptr[w + 1]  = (int32_t)host->n_dense;
            host->sparse_ptr[w + 1] = (int32_t)host->n_sparse;
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

/* The two columns of four that are kept, first < second, also where fewer are stored. */
static void kept(uint32_t bits, int32_t *first, int32_t *second)
{
    *first = 0;
    while (*first < GROUP - 2 && (bits >> *first & 1) == 0) {
        (*first)++;
    }
    *second = GROUP - 1;
    while (*second > *first + 1 && (bits >> *second & 1) == 0) {
        (*second)--;
    }
}

static void pack(const uint16_t *values, const uint32_t stored[LADDER_ROWS], uint16_t *packed,
                 uint32_t *meta)
{
    memset(meta, 0, LADDER_META * sizeof *meta);
    for (int32_t r = 0; r < LADDER_ROWS; r++) {
        for (int32_t q = 0; q < GROUPS; q++) {
            int32_t         first, second;
            uint32_t        code;
            const uint16_t *four = values + r * LADDER_WIDE + q * GROUP;

            kept(stored[r] >> q * GROUP & 15, &first, &second);
            packed[r * 16 + 2 * q]     = four[first];
            packed[r * 16 + 2 * q + 1] = four[second];
            code                       = (uint32_t)first | (uint32_t)second << 2;
            meta[r % 8 * 2 + q / 4] |= code << (16 * (r / 8) + 4 * (q % 4));
        }
    }
}

static void fill(const spmm_csr_t *block, ladder_host_t *host)
{
#pragma omp parallel for schedule(dynamic, 64)
    for (int32_t w = 0; w < host->n_tile_rows; w++) {
        int64_t at[LADDER_ROWS] = {0};

        for (int32_t r = 0; r < LADDER_ROWS && w * LADDER_ROWS + r < block->n_rows; r++) {
            at[r] = block->row_ptr[w * LADDER_ROWS + r];
        }
        for (int32_t t = host->row_ptr[w]; t < host->row_ptr[w + 1]; t++) {
            uint16_t      values[LADDER_ROWS * LADDER_WIDE];
            uint32_t      stored[LADDER_ROWS] = {0};
            const int64_t to                  = host->at[t];
            const int64_t size                = LADDER_ROWS * host->width;

            gather_tile(block, w, host->col[t] * host->width, host->width, at, values, stored);
            if (host->sp24[t]) {
                pack(values, stored, host->packed + to * LADDER_PACKED,
                     host->meta + to * LADDER_META);
            } else {
                memcpy(host->dense + to * size, values, (size_t)size * sizeof *values);
            }
        }
    }
}

static spmm_status_t alloc(spmm_env_t *env, ladder_host_t *host)
{
    const int64_t rows = (int64_t)host->n_tile_rows + 1;
    const int64_t map  = (int64_t)host->n_tile_rows * host->n_tile_cols;

    SPMM_NEW(host->map, map);
    SPMM_NEW_ZERO(host->row_ptr, rows);
    SPMM_NEW_ZERO(host->dense_ptr, rows);
    SPMM_NEW_ZERO(host->sparse_ptr, rows);
    SPMM_NEW(host->col, host->n_tiles);
    SPMM_NEW(host->at, host->n_tiles);
    SPMM_NEW(host->sp24, host->n_tiles);
    SPMM_NEW(host->dense_col, host->n_dense);
    SPMM_NEW(host->sparse_col, host->n_sparse);
    SPMM_NEW(host->dense, host->n_dense * LADDER_ROWS * host->width);
    SPMM_NEW(host->packed, host->n_sparse * LADDER_PACKED);
    SPMM_NEW(host->meta, host->n_sparse * LADDER_META);
    if (host->map == NULL || host->row_ptr == NULL || host->dense_ptr == NULL ||
        host->sparse_ptr == NULL || host->col == NULL || host->at == NULL || host->sp24 == NULL ||
        host->dense_col == NULL || host->sparse_col == NULL || host->dense == NULL ||
        host->packed == NULL || host->meta == NULL) {
        return spmmi_fail_memory(&env->err, host->n_tiles, LADDER_ROWS * LADDER_WIDE * 2, "tiles");
    }
    memset(host->map, 0xff, (size_t)map * sizeof *host->map); /* -1 */
    return SPMM_OK;
}

spmm_status_t ladder_host_create(spmm_env_t *env, const spmm_csr_t *block, int32_t width,
                                 ladder_host_t *host)
{
    spmm_windows_t windows;
    spmm_status_t  status;

    *host = (ladder_host_t){.n_tile_rows = spmmi_windows_count(block->n_rows, LADDER_ROWS),
                            .n_tile_cols = spmmi_windows_count(block->n_cols, width),
                            .width       = width};
    if ((int64_t)host->n_tile_rows * host->n_tile_cols > INT32_MAX) {
        return spmmi_fail(&env->err, SPMM_ERR_RANGE,
                          "%" PRId32 " x %" PRId32 " tiles are more than 2^31", host->n_tile_rows,
                          host->n_tile_cols);
    }
    SPMM_TRY(spmmi_windows_create(env, block, LADDER_ROWS, 0, &windows));
    scan_tiles(&windows, host);
    status = alloc(env, host);
    if (status == SPMM_OK) {
        scan_tiles(&windows, host);
        fill(block, host);
    }
    spmmi_windows_free(&windows);
    if (status != SPMM_OK) {
        ladder_host_free(host);
    }
    return status;
}

void ladder_host_free(ladder_host_t *host)
{
    spmmi_free(host->map);
    spmmi_free(host->row_ptr);
    spmmi_free(host->dense_ptr);
    spmmi_free(host->sparse_ptr);
    spmmi_free(host->col);
    spmmi_free(host->at);
    spmmi_free(host->sp24);
    spmmi_free(host->dense_col);
    spmmi_free(host->sparse_col);
    spmmi_free(host->dense);
    spmmi_free(host->packed);
    spmmi_free(host->meta);
    memset(host, 0, sizeof *host);
}

/* Entry (r, c) of tile t, by its metadata where it is 2:4. */
static double value_at(const ladder_host_t *host, int64_t t, int32_t r, int32_t c)
{
    const int64_t at = host->at[t];

    if (!host->sp24[t]) {
        return spmmi_value_get(SPMM_R_16F, host->dense, (at * LADDER_ROWS + r) * host->width + c);
    }
    for (int32_t k = 0; k < 2; k++) {
        const int32_t  q    = c / GROUP;
        const uint32_t word = host->meta[at * LADDER_META + r % 8 * 2 + q / 4];

        if ((int32_t)(word >> (16 * (r / 8) + 4 * (q % 4) + 2 * k) & 3) == c % GROUP) {
            return spmmi_value_get(SPMM_R_16F, host->packed,
                                   at * LADDER_PACKED + r * 16 + 2 * q + k);
        }
    }
    return 0.0;
}

void ladder_host_multiply(const ladder_host_t *host, int32_t n_rows, int32_t n_cols, int64_t n,
                          const double *B, double *C)
{
    for (int32_t w = 0; w < host->n_tile_rows; w++) {
        for (int64_t t = host->row_ptr[w]; t < host->row_ptr[w + 1]; t++) {
            for (int32_t i = w * LADDER_ROWS; i < n_rows && i < (w + 1) * LADDER_ROWS; i++) {
                for (int32_t c = 0; c < host->width; c++) {
                    const int32_t row = host->col[t] * host->width + c;
                    const double  a   = value_at(host, t, i % LADDER_ROWS, c);

                    for (int64_t j = 0; j < n && row < n_cols && a != 0.0; j++) {
                        C[i * n + j] += a * B[row * n + j];
                    }
                }
            }
        }
    }
}
