/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/cusparse_bell/format.h"

#include <string.h>

#include "base/alloc.h"
#include "cpu/cpu_kernels.h"

enum { TALLEST = SPMM_WINDOWS_TALL, MOST_PARTS = TALLEST / 8 };

static int32_t size_of(int k)
{
    return 8 << k;
}

/* Rows of part @p part of a window, as bits. */
static uint32_t rows_of(int32_t size, int32_t part)
{
    return (size == TALLEST ? UINT32_MAX : (1u << size) - 1) << (part * size % TALLEST);
}

/* Blocks of one size in each part of window @p w, listed where @p to is not NULL: part p at
 * to + p * width. */
static void list_blocks(const spmm_windows_t *tall, int32_t w, int32_t size, int32_t width,
                        int32_t *to, int32_t count[MOST_PARTS])
{
    const int32_t  *col     = tall->col + tall->first[w];
    const uint32_t *rows    = tall->rows + tall->first[w];
    const int32_t   n_parts = TALLEST / size;

    for (int32_t p = 0; p < n_parts; p++) {
        const uint32_t mine = rows_of(size, p);
        int32_t        last = -1;

        count[p] = 0;
        for (int32_t k = 0; k < tall->count[w]; k++) {
            if ((rows[k] & mine) != 0 && col[k] / size != last) {
                last = col[k] / size;
                if (to != NULL) {
                    to[(int64_t)p * width + count[p]] = last;
                }
                count[p]++;
            }
        }
    }
}

void spmmi_bell_widths(const spmm_windows_t *tall, int threads, int64_t width[SPMM_BELL_SIZES])
{
    int32_t most[SPMM_BELL_SIZES] = {0};

#pragma omp parallel for schedule(dynamic, 64) num_threads(spmmi_cpu_team(threads))                \
    reduction(max                                                                                  \
              : most)
    for (int32_t w = 0; w < tall->n_windows; w++) {
        for (int k = 0; k < SPMM_BELL_SIZES; k++) {
            int32_t count[MOST_PARTS];

            list_blocks(tall, w, size_of(k), 0, NULL, count);
            for (int32_t p = 0; p < TALLEST / size_of(k); p++) {
                most[k] = count[p] > most[k] ? count[p] : most[k];
            }
        }
    }
    for (int k = 0; k < SPMM_BELL_SIZES; k++) {
        width[k] = most[k];
    }
}

int32_t spmmi_bell_choose(int32_t n_rows, int64_t nnz, const int64_t width[SPMM_BELL_SIZES],
                          int64_t n, double *places)
{
    double  best = 0.0, fewest = 0.0;
    int32_t chosen = 0;

    for (int k = 0; k < SPMM_BELL_SIZES; k++) {
        const double size = size_of(k);
        const double taken =
            (double)width[k] * size * size * spmmi_windows_count(n_rows, size_of(k));
        const double bytes =
            taken * (1.0 + (double)n / size); /* a row of B for a column of a block */

        fewest = k == 0 || taken < fewest ? taken : fewest;
        if (taken <= (double)SPMM_BELL_MOST * (double)nnz && taken <= SPMM_BELL_LARGEST &&
            (chosen == 0 || bytes < best)) {
            best    = bytes;
            chosen  = size_of(k);
            *places = taken;
        }
    }
    if (chosen == 0) {
        *places = fewest;
    }
    return chosen;
}

/* Block columns of every row of blocks, what is left filled with -1. */
static void list_columns(const spmm_windows_t *tall, int threads, spmm_bell_t *bell)
{
    const int32_t parts = TALLEST / bell->size;

#pragma omp parallel for schedule(dynamic, 64) num_threads(spmmi_cpu_team(threads))
    for (int32_t w = 0; w < tall->n_windows; w++) {
        int32_t *to = bell->col + (int64_t)w * parts * bell->width;
        int32_t  count[MOST_PARTS];

        /* The last window may have more parts than there are rows of blocks:
         * those have no entry. */
        list_blocks(tall, w, bell->size, bell->width, to, count);
        for (int32_t p = 0; p < parts && w * parts + p < bell->n_block_rows; p++) {
            for (int32_t k = count[p]; k < bell->width; k++) {
                to[(int64_t)p * bell->width + k] = -1;
            }
        }
    }
}

static void place_entries(const spmm_csr_t *block, int threads, spmm_bell_t *bell)
{
    const int32_t size = bell->size;

#pragma omp parallel for schedule(static) num_threads(spmmi_cpu_team(threads))
    for (int32_t i = 0; i < block->n_rows; i++) {
        const int32_t *col  = bell->col + (int64_t)(i / size) * bell->width;
        const int64_t  row  = (int64_t)i * bell->width * size;
        int64_t        slot = 0;

        for (int64_t k = block->row_ptr[i]; k < block->row_ptr[i + 1]; k++) {
            while (col[slot] != block->col_idx[k] / size) {
                slot++;
            }
            bell->place[k] = (int32_t)(row + slot * size + block->col_idx[k] % size);
        }
    }
}

static spmm_status_t lay_out(spmm_env_t *env, const spmm_csr_t *block, const spmm_windows_t *tall,
                             int64_t n, int threads, spmm_bell_t *bell)
{
    int64_t width[SPMM_BELL_SIZES];
    double  places;

    spmmi_bell_widths(tall, threads, width);
    bell->size = spmmi_bell_choose(block->n_rows, bell->nnz, width, n, &places);
    if (bell->size == 0) {
        return spmmi_fail(
            &env->err, SPMM_ERR_UNSUPPORTED,
            "Blocked-ELL would store %.1f values for each entry of this matrix, %.3g in all, and "
            "%d and %.3g are the most: take another engine",
            places / (double)bell->nnz, places, SPMM_BELL_MOST, (double)SPMM_BELL_LARGEST);
    }
    bell->n_block_rows = spmmi_windows_count(block->n_rows, bell->size);
    for (int k = 0; k < SPMM_BELL_SIZES; k++) {
        bell->width = size_of(k) == bell->size ? (int32_t)width[k] : bell->width;
    }
    SPMM_NEW(bell->col, (int64_t)bell->n_block_rows * bell->width);
    SPMM_NEW(bell->place, bell->nnz);
    if (bell->col == NULL || bell->place == NULL) {
        return spmmi_fail_memory(&env->err, bell->nnz, sizeof *bell->place, "format Blocked-ELL");
    }
    list_columns(tall, threads, bell);
    place_entries(block, threads, bell);
    return SPMM_OK;
}

spmm_status_t spmmi_bell_create(spmm_env_t *env, const spmm_csr_t *block,
                                const spmm_windows_t *tall, int64_t n, int threads,
                                spmm_bell_t *bell)
{
    spmm_windows_t own    = {.n_windows = 0};
    spmm_status_t  status = SPMM_OK;

    *bell = (spmm_bell_t){.size   = size_of(0),
                          .n_rows = block->n_rows,
                          .n_cols = block->n_cols,
                          .nnz    = spmmi_csr_nnz(block)};
    if (bell->nnz == 0) {
        return SPMM_OK;
    }
    if (tall == NULL) {
        SPMM_TRY(spmmi_windows_create(env, block, TALLEST, threads, &own));
        tall = &own;
    }
    status = lay_out(env, block, tall, n, threads, bell);
    spmmi_windows_free(&own);
    if (status != SPMM_OK) {
        spmmi_bell_free(bell);
    }
    return status;
}

void spmmi_bell_free(spmm_bell_t *bell)
{
    spmmi_free_all(bell->col, bell->place);
    memset(bell, 0, sizeof *bell);
}

void spmmi_bell_fill(const spmm_bell_t *bell, const uint16_t *values, int threads, uint16_t *places)
{
#pragma omp parallel for schedule(static) num_threads(spmmi_cpu_team(threads))
    for (int64_t k = 0; k < bell->nnz; k++) {
        places[bell->place[k]] = values[k];
    }
}
