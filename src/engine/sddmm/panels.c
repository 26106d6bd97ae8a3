/* SPDX-License-Identifier: Apache-2.0 */
/** @file panels.c
 *  Masks by panels of columns.  In the order of rows an unstructured mask fetches a row of Y from
 *  L2 for every entry.  By panels, whose rows of Y stay in L1, it fetches a row of X for every row
 *  of a panel instead, and the entries find theirs in L1.
 */
#include <string.h>

#include "base/alloc.h"
#include "cpu/cpu_kernels.h"
#include "engine/sddmm/sddmm.h"

int64_t spmmi_sddmm_count_segments(const spmm_csr_t *block, int32_t width, int threads)
{
    int64_t count = 0;

#pragma omp parallel for schedule(static) reduction(+ : count) num_threads(spmmi_cpu_team(threads))
    for (int32_t i = 0; i < block->n_rows; i++) {
        int32_t last = -1;

        for (int64_t e = block->row_ptr[i]; e < block->row_ptr[i + 1]; e++) {
            const int32_t panel = block->col_idx[e] / width;

            count += panel != last;
            last = panel;
        }
    }
    return count;
}

enum { MOST_HEIGHT = 2 };

/** What is left of the rows of a group, whose columns ascend. */
typedef struct {
    const spmm_csr_t *block;
    int32_t           height;
    int64_t           at[MOST_HEIGHT], end[MOST_HEIGHT];
} rest_t;

static rest_t rest_of(const spmm_csr_t *block, int32_t row, int32_t height)
{
    rest_t rest = {.block = block, .height = height};

    for (int32_t h = 0; h < height && row + h < block->n_rows; h++) {
        rest.at[h]  = block->row_ptr[row + h];
        rest.end[h] = block->row_ptr[row + h + 1];
    }
    return rest;
}

/* Its next column, -1: no more, and the entries in it.
 * @param[out] entry  [height] -1: none */
static int32_t next_of(rest_t *rest, int32_t *entry)
{
    const int32_t *cols = rest->block->col_idx;
    int32_t        col  = -1;

    for (int32_t h = 0; h < rest->height; h++) {
        if (rest->at[h] < rest->end[h] && (col < 0 || cols[rest->at[h]] < col)) {
            col = cols[rest->at[h]];
        }
    }
    for (int32_t h = 0; h < rest->height; h++) {
        const bool has = rest->at[h] < rest->end[h] && cols[rest->at[h]] == col;

        entry[h] = has ? (int32_t)rest->at[h]++ : -1;
    }
    return col;
}

int64_t spmmi_sddmm_count_pairs(const spmm_csr_t *block, int threads)
{
    int64_t count = 0;

#pragma omp parallel for schedule(static) reduction(+ : count) num_threads(spmmi_cpu_team(threads))
    for (int32_t i = 0; i < block->n_rows; i += 2) {
        rest_t  rest = rest_of(block, i, 2);
        int32_t entry[MOST_HEIGHT];

        while (next_of(&rest, entry) >= 0) {
            count++;
        }
    }
    return count;
}

/* Columns in each panel to @p count behind the number of the panel.  Returns their sum. */
static int64_t count_panels(const spmm_csr_t *block, int32_t width, int32_t height, int64_t *count)
{
    int64_t sum = 0;

    for (int32_t i = 0; i < block->n_rows; i += height) {
        rest_t  rest = rest_of(block, i, height);
        int32_t entry[MOST_HEIGHT], col;

        while ((col = next_of(&rest, entry)) >= 0) {
            count[col / width + 1]++;
            sum++;
        }
    }
    return sum;
}

/* @param[in,out] next  where the next column of each panel goes */
static void fill_sequence(const spmm_csr_t *block, int32_t width, int64_t *next,
                          spmm_sddmm_sequence_t *made)
{
    for (int32_t i = 0; i < block->n_rows; i += made->height) {
        rest_t  rest = rest_of(block, i, made->height);
        int32_t entry[MOST_HEIGHT], col;

        while ((col = next_of(&rest, entry)) >= 0) {
            const int64_t at = next[col / width]++;

            memcpy(made->entry + at * made->height, entry, (size_t)made->height * sizeof *entry);
            made->row[at] = i;
        }
    }
}

/* A counting sort, which keeps the order of rows in each panel. */
spmm_status_t spmmi_sddmm_make_sequence(spmm_env_t *env, const spmm_csr_t *block, int32_t width,
                                        int32_t height, spmm_sddmm_sequence_t *sequence)
{
    spmm_sddmm_sequence_t made = {.height = height};
    int64_t              *next;

    made.n_panels = (int32_t)(((int64_t)block->n_cols + width - 1) / width);
    if (SPMM_NEW_ZERO(next, (int64_t)made.n_panels + 1) != NULL) {
        made.count = count_panels(block, width, height, next);
    }
    SPMM_NEW(made.entry, made.count * height);
    SPMM_NEW(made.row, made.count);
    if (next == NULL || made.entry == NULL || made.row == NULL) {
        spmmi_free(next);
        spmmi_sddmm_free_sequence(&made);
        return spmmi_fail_memory(&env->err, spmmi_csr_nnz(block), 2 * sizeof *made.entry,
                                 "the panels of an SDDMM");
    }
    for (int32_t p = 0; p < made.n_panels; p++) {
        next[p + 1] += next[p];
    }
    fill_sequence(block, width, next, &made);
    spmmi_free(next);
    *sequence = made;
    return SPMM_OK;
}

void spmmi_sddmm_free_sequence(spmm_sddmm_sequence_t *sequence)
{
    spmmi_free_all(sequence->entry, sequence->row);
    memset(sequence, 0, sizeof *sequence);
}

/** The batch that is being filled. */
typedef struct {
    int32_t size, most_rows, height;
    int32_t n, entries, rows; /**< batches so far; in the last one */
    int32_t row;              /**< its last row, or the first of its last pair */
} filling_t;

/* Where the next entry, or pair, of @p row, goes. */
static void take(filling_t *f, int32_t row)
{
    const bool fresh = f->n == 0 || row != f->row;

    if (f->n == 0 || f->entries == f->size || (fresh && f->rows == f->most_rows)) {
        f->n++;
        f->entries = 0;
        f->rows    = 0;
    }
    if (f->rows == 0 || fresh) {
        f->rows += f->height;
    }
    f->row = row;
    f->entries++;
}

/* Row @p h of X of the group that begins at row @p row of the block; past the last one that. */
static int32_t row_of_x(const spmm_csr_t *block, int32_t row, int32_t h)
{
    const int32_t i = row + h < block->n_rows ? row + h : row;

    return block->row_map == NULL ? i : block->row_map[i];
}

static void fill_batches(const spmm_csr_t *block, const spmm_sddmm_sequence_t *sequence,
                         const int64_t *place, spmm_sddmm_batch_list_t *batches)
{
    const int64_t size = batches->size, rows = batches->rows;
    const int32_t height = batches->height;
    filling_t     f      = {.size = batches->size, .most_rows = batches->rows, .height = height};

    for (int64_t at = 0; at < batches->n_batches * size; at++) {
        batches->entry[at] = -1;
        memset(batches->place + at * height, 0, (size_t)height * sizeof *batches->place);
    }
    for (int64_t s = 0; s < sequence->count; s++) {
        const int32_t *from = sequence->entry + s * height;
        int64_t        b, at;

        take(&f, sequence->row[s]);
        b  = f.n - 1;
        at = b * size + f.entries - 1;
        for (int32_t h = 0; h < height; h++) {
            const int32_t e = from[h];

            batches->place[at * height + h] = e < 0 || place == NULL ? e : (int32_t)place[e];
            if (e >= 0) {
                batches->entry[at] = block->col_idx[e] * f.most_rows + f.rows - height;
            }
        }
        for (int64_t r = f.rows - height; r < (f.entries == 1 ? rows : f.rows); r++) {
            batches->row[b * rows + r] = row_of_x(block, f.row, (int32_t)r % height);
        }
    }
}

spmm_status_t spmmi_sddmm_make_batches(spmm_env_t *env, const spmm_csr_t *block,
                                       const spmm_sddmm_sequence_t *sequence, const int64_t *place,
                                       int32_t size, int32_t rows, spmm_sddmm_batch_list_t *batches)
{
    const int32_t           height = sequence->height;
    spmm_sddmm_batch_list_t made   = {.size = size, .rows = rows, .height = height};
    filling_t               count  = {.size = size, .most_rows = rows, .height = height};

    for (int64_t s = 0; s < sequence->count; s++) {
        take(&count, sequence->row[s]);
    }
    made.n_batches = count.n;
    SPMM_NEW(made.row, (int64_t)count.n * rows);
    SPMM_NEW(made.entry, (int64_t)count.n * size);
    SPMM_NEW(made.place, (int64_t)count.n * size * height);
    if (made.row == NULL || made.entry == NULL || made.place == NULL) {
        spmmi_sddmm_free_batches(&made);
        return spmmi_fail_memory(&env->err, count.n, (size_t)(2 * size + rows) * sizeof *made.row,
                                 "the batches of an SDDMM");
    }
    fill_batches(block, sequence, place, &made);
    *batches = made;
    return SPMM_OK;
}

void spmmi_sddmm_free_batches(spmm_sddmm_batch_list_t *batches)
{
    spmmi_free_all(batches->row, batches->entry, batches->place);
    memset(batches, 0, sizeof *batches);
}
