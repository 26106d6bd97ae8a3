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

/* A counting sort, which keeps the order of rows in each panel. */
spmm_status_t spmmi_sddmm_make_sequence(spmm_env_t *env, const spmm_csr_t *block, int32_t width,
                                        spmm_sddmm_sequence_t *sequence)
{
    spmm_sddmm_sequence_t made = {.count = spmmi_csr_nnz(block)};
    int64_t              *next;

    made.n_panels = (int32_t)(((int64_t)block->n_cols + width - 1) / width);
    SPMM_NEW_ZERO(next, (int64_t)made.n_panels + 1);
    SPMM_NEW(made.entry, made.count);
    SPMM_NEW(made.row, made.count);
    if (next == NULL || made.entry == NULL || made.row == NULL) {
        spmmi_free(next);
        spmmi_sddmm_free_sequence(&made);
        return spmmi_fail_memory(&env->err, made.count, 2 * sizeof *made.entry,
                                 "the panels of an SDDMM");
    }
    for (int64_t e = 0; e < made.count; e++) {
        next[block->col_idx[e] / width + 1]++;
    }
    for (int32_t p = 0; p < made.n_panels; p++) {
        next[p + 1] += next[p];
    }
    for (int32_t i = 0; i < block->n_rows; i++) {
        for (int64_t e = block->row_ptr[i]; e < block->row_ptr[i + 1]; e++) {
            const int64_t at = next[block->col_idx[e] / width]++;

            made.entry[at] = (int32_t)e;
            made.row[at]   = block->row_map == NULL ? i : block->row_map[i];
        }
    }
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
    int32_t size, most_rows;
    int32_t n, entries, rows; /**< batches so far; in the last one */
    int32_t row;              /**< its last row */
} filling_t;

/* Where the next entry, of @p row, goes. */
static void take(filling_t *f, int32_t row)
{
    const bool fresh = f->n == 0 || row != f->row;

    if (f->n == 0 || f->entries == f->size || (fresh && f->rows == f->most_rows)) {
        f->n++;
        f->entries = 0;
        f->rows    = 0;
    }
    if (f->rows == 0 || fresh) {
        f->rows++;
    }
    f->row = row;
    f->entries++;
}

static void fill_batches(const spmm_csr_t *block, const spmm_sddmm_sequence_t *sequence,
                         const int64_t *place, spmm_sddmm_batch_list_t *batches)
{
    const int64_t size = batches->size, rows = batches->rows;
    filling_t     f = {.size = batches->size, .most_rows = batches->rows};

    for (int64_t at = 0; at < batches->n_batches * size; at++) {
        batches->entry[at] = -1;
        batches->place[at] = 0;
    }
    for (int64_t s = 0; s < sequence->count; s++) {
        const int32_t e = sequence->entry[s];
        int64_t       b, at;

        take(&f, sequence->row[s]);
        b                  = f.n - 1;
        at                 = b * size + f.entries - 1;
        batches->entry[at] = block->col_idx[e] * f.most_rows + f.rows - 1;
        batches->place[at] = place == NULL ? e : (int32_t)place[e];
        for (int64_t r = f.rows - 1; r < (f.entries == 1 ? rows : f.rows); r++) {
            batches->row[b * rows + r] = f.row;
        }
    }
}

spmm_status_t spmmi_sddmm_make_batches(spmm_env_t *env, const spmm_csr_t *block,
                                       const spmm_sddmm_sequence_t *sequence, const int64_t *place,
                                       int32_t size, int32_t rows, spmm_sddmm_batch_list_t *batches)
{
    spmm_sddmm_batch_list_t made  = {.size = size, .rows = rows};
    filling_t               count = {.size = size, .most_rows = rows};

    for (int64_t s = 0; s < sequence->count; s++) {
        take(&count, sequence->row[s]);
    }
    made.n_batches = count.n;
    SPMM_NEW(made.row, (int64_t)count.n * rows);
    SPMM_NEW(made.entry, (int64_t)count.n * size);
    SPMM_NEW(made.place, (int64_t)count.n * size);
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
