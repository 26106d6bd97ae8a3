/* SPDX-License-Identifier: Apache-2.0 */
#include "ladder_tiles.h"

#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/scalar.h"
#include "engine/bcsr/args.h"
#include "engine/tc/windows.h"

enum { GROUP = 4 };

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

/* Tiles of a row of them; listed where the lists are there. */
static void scan_row(const spmm_windows_t *windows, int32_t w, ladder_host_t *host)
{
    const int32_t *col = windows->col + windows->first[w];

    for (int32_t k = 0; k < windows->count[w];) {
        const int32_t tile = col[k] / host->width;
        bool          sp24 = false;

        if (host->width == LADDER_WIDE) {
            sp24 = is_sp24(windows, w, k, &k);
        } else {
            while (k < windows->count[w] && col[k] / host->width == tile) {
                k++;
            }
        }
        if (host->dense_col != NULL) {
            (sp24 ? host->sparse_col : host->dense_col)[sp24 ? host->n_sparse : host->n_dense] =
                tile;
        }
        host->n_sparse += sp24;
        host->n_dense += !sp24;
    }
}

static void scan_tiles(const spmm_windows_t *windows, ladder_host_t *host)
{
    host->n_dense = host->n_sparse = 0;
    for (int32_t w = 0; w < windows->n_windows; w++) {
        scan_row(windows, w, host);
        if (host->dense_col != NULL) {
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

static void pack(const uint16_t *values, const uint32_t stored[LADDER_ROWS], uint16_t *packed,
                 uint32_t *meta)
{
    for (int32_t k = 0; k < LADDER_PACKED; k++) {
        const int32_t r = k / LADDER_ROWS;

        packed[k] = values[r * LADDER_WIDE + spmmi_bcsr_kept(stored[r], k % LADDER_ROWS)];
    }
    for (int32_t k = 0; k < LADDER_META; k++) {
        meta[k] = spmmi_bcsr_meta(stored, k / 2, k % 2);
    }
}

/* Is the leftmost of the tiles from @p d and @p s on in the two lists of row @p w a 2:4 one? */
static bool is_next_sparse(const ladder_host_t *host, int32_t w, int64_t d, int64_t s)
{
    return d == host->dense_ptr[w + 1] ||
           (s < host->sparse_ptr[w + 1] && host->sparse_col[s] < host->dense_col[d]);
}

static void fill(const spmm_csr_t *block, ladder_host_t *host)
{
    const int64_t size = (int64_t)LADDER_ROWS * host->width;

#pragma omp parallel for schedule(dynamic, 64)
    for (int32_t w = 0; w < host->n_tile_rows; w++) {
        int64_t at[LADDER_ROWS] = {0}, d = host->dense_ptr[w], s = host->sparse_ptr[w];

        for (int32_t r = 0; r < LADDER_ROWS && w * LADDER_ROWS + r < block->n_rows; r++) {
            at[r] = block->row_ptr[w * LADDER_ROWS + r];
        }
        while (d < host->dense_ptr[w + 1] || s < host->sparse_ptr[w + 1]) {
            const bool    sp24 = is_next_sparse(host, w, d, s);
            const int32_t tile = sp24 ? host->sparse_col[s] : host->dense_col[d];
            uint16_t      values[LADDER_ROWS * LADDER_WIDE];
            uint32_t      stored[LADDER_ROWS] = {0};

            gather_tile(block, w, tile * host->width, host->width, at, values, stored);
            if (sp24) {
                pack(values, stored, host->packed + s * LADDER_PACKED,
                     host->meta + s * LADDER_META);
                s++;
            } else {
                memcpy(host->dense + d * size, values, (size_t)size * sizeof *values);
                d++;
            }
        }
    }
}

static spmm_status_t alloc(spmm_env_t *env, ladder_host_t *host)
{
    const int64_t rows = (int64_t)host->n_tile_rows + 1;

    SPMM_NEW_ZERO(host->dense_ptr, rows);
    SPMM_NEW_ZERO(host->sparse_ptr, rows);
    SPMM_NEW(host->dense_col, host->n_dense);
    SPMM_NEW(host->sparse_col, host->n_sparse);
    SPMM_NEW(host->dense, host->n_dense * LADDER_ROWS * host->width);
    SPMM_NEW(host->packed, host->n_sparse * LADDER_PACKED);
    SPMM_NEW(host->meta, host->n_sparse * LADDER_META);
    if (host->dense_ptr == NULL || host->sparse_ptr == NULL || host->dense_col == NULL ||
        host->sparse_col == NULL || host->dense == NULL || host->packed == NULL ||
        host->meta == NULL) {
        return spmmi_fail_memory(&env->err, host->n_dense + host->n_sparse,
                                 LADDER_ROWS * LADDER_WIDE * 2, "tiles");
    }
    return SPMM_OK;
}

spmm_status_t ladder_host_create(spmm_env_t *env, const spmm_csr_t *block, int32_t width,
                                 ladder_host_t *host)
{
    spmm_windows_t windows;
    spmm_status_t  status;

    *host = (ladder_host_t){.n_tile_rows = spmmi_windows_count(block->n_rows, LADDER_ROWS),
                            .width       = width};
    if (spmmi_csr_nnz(block) > INT32_MAX) {
        return spmmi_fail(&env->err, SPMM_ERR_RANGE, "%" PRId64 " entries are 2^31 or more",
                          spmmi_csr_nnz(block));
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
    spmmi_free_all(host->dense_ptr, host->sparse_ptr, host->dense_col, host->sparse_col,
                   host->dense, host->packed, host->meta);
    memset(host, 0, sizeof *host);
}

/* Entry (r, c) of tile @p t of a list, by its metadata where it is 2:4. */
static double value_at(const ladder_host_t *host, bool sp24, int64_t t, int32_t r, int32_t c)
{
    const int32_t q = c / GROUP;

    if (!sp24) {
        return spmmi_value_get(SPMM_R_16F, host->dense, (t * LADDER_ROWS + r) * host->width + c);
    }
    for (int32_t k = 0; k < 2; k++) {
        const uint32_t word = host->meta[t * LADDER_META + r % 8 * 2 + q / 4];

        if ((int32_t)(word >> (16 * (r / 8) + 4 * (q % 4) + 2 * k) & 3) == c % GROUP) {
            return spmmi_value_get(SPMM_R_16F, host->packed,
                                   t * LADDER_PACKED + r * 16 + 2 * q + k);
        }
    }
    return 0.0;
}

void ladder_host_multiply(const ladder_host_t *host, int32_t n_rows, int32_t n_cols, int64_t n,
                          const double *B, double *C)
{
    for (int sp24 = 0; sp24 < 2; sp24++) {
        const int32_t *ptr = sp24 ? host->sparse_ptr : host->dense_ptr;
        const int32_t *col = sp24 ? host->sparse_col : host->dense_col;

        for (int32_t i = 0; i < n_rows; i++) {
            for (int64_t t = ptr[i / LADDER_ROWS]; t < ptr[i / LADDER_ROWS + 1]; t++) {
                for (int32_t c = 0; c < host->width; c++) {
                    const int32_t row = col[t] * host->width + c;
                    const double  a   = value_at(host, sp24, t, i % LADDER_ROWS, c);

                    for (int64_t j = 0; j < n && row < n_cols && a != 0.0; j++) {
                        C[i * n + j] += a * B[row * n + j];
                    }
                }
            }
        }
    }
}
