/* SPDX-License-Identifier: Apache-2.0 */
/** @file sddmm_panels.c
 *  Masks by panels of columns.  In the order of rows an unstructured mask fetches a row of Y from L2 for
 *  every entry.  By panels, whose rows of Y stay in L1, it fetches a row of X for every row of a panel
 *  instead, and the entries find theirs in L1.
 */
#include <string.h>

#include "base/alloc.h"
#include "cpu/cpu_kernels.h"
#include "engine/sddmm.h"

enum { TASK = SPMM_SDDMM_TASK, BATCH = SPMM_SDDMM_BATCH, ROWS = SPMM_SDDMM_BATCH_ROWS };

int64_t spmm_sddmm_count_segments(const spmm_csr_t *block, int32_t width, int threads)
{
    int64_t count = 0;

#pragma omp parallel for schedule(static) reduction(+ : count) num_threads(spmm_cpu_team(threads))
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
spmm_status_t spmm_sddmm_make_sequence(spmm_env_t *env, const spmm_csr_t *block, int32_t width,
                                       spmm_sddmm_sequence_t *sequence)
{
    spmm_sddmm_sequence_t made = {.count = spmm_csr_nnz(block)};
    int64_t              *next;

    made.n_panels = (int32_t)(((int64_t)block->n_cols + width - 1) / width);
    SPMM_NEW_ZERO(next, (int64_t)made.n_panels + 1);
    SPMM_NEW(made.entry, made.count);
    SPMM_NEW(made.row, made.count);
    if (next == NULL || made.entry == NULL || made.row == NULL) {
        spmm_free(next);
        spmm_sddmm_free_sequence(&made);
        return spmm_fail_memory(&env->err, made.count, 2 * sizeof *made.entry,
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
    spmm_free(next);
    *sequence = made;
    return SPMM_OK;
}

void spmm_sddmm_free_sequence(spmm_sddmm_sequence_t *sequence)
{
    spmm_free(sequence->entry);
    spmm_free(sequence->row);
    memset(sequence, 0, sizeof *sequence);
}

/* Tasks that begin before entry `count`; with @p tasks their rows and first entries. */
static int32_t cut_tasks(const spmm_sddmm_sequence_t *sequence, spmm_sddmm_task_list_t *tasks)
{
    int64_t first = 0;
    int32_t n     = 0;

    for (int64_t s = 0; s < sequence->count; s++) {
        if (s > 0 && s - first < TASK && sequence->row[s] == sequence->row[first]) {
            continue;
        }
        if (tasks != NULL) {
            tasks->row[n]   = sequence->row[s];
            tasks->first[n] = (int32_t)s;
        }
        first = s;
        n++;
    }
    return n;
}

spmm_status_t spmm_sddmm_make_panel_tasks(spmm_env_t *env, const spmm_sddmm_sequence_t *sequence,
                                          spmm_sddmm_task_list_t *tasks)
{
    spmm_sddmm_task_list_t made = {.n_tasks = cut_tasks(sequence, NULL)};

    SPMM_NEW(made.row, made.n_tasks);
    SPMM_NEW(made.first, (int64_t)made.n_tasks + 1);
    if (made.row == NULL || made.first == NULL) {
        const int64_t n = made.n_tasks;

        spmm_sddmm_free_tasks(&made);
        return spmm_fail_memory(&env->err, n, sizeof *made.row + sizeof *made.first,
                                "the tasks of an SDDMM");
    }
    (void)cut_tasks(sequence, &made);
    made.first[made.n_tasks] = (int32_t)sequence->count;
    *tasks                   = made;
    return SPMM_OK;
}

/** The batch that is being filled. */
typedef struct {
    int32_t n, entries, rows; /**< batches so far; in the last one */
    int32_t row;              /**< its last row */
} filling_t;

/* Where the next entry, of @p row, goes. */
static void take(filling_t *f, int32_t row)
{
    const bool fresh = f->n == 0 || row != f->row;

    if (f->n == 0 || f->entries == BATCH || (fresh && f->rows == ROWS)) {
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
    filling_t f = {0};

    memset(batches->entry, 0xff, (size_t)batches->n_batches * BATCH * sizeof *batches->entry);
    memset(batches->place, 0, (size_t)batches->n_batches * BATCH * sizeof *batches->place);
    for (int64_t s = 0; s < sequence->count; s++) {
        const int32_t e = sequence->entry[s];
        int64_t       at;

        take(&f, sequence->row[s]);
        at                 = (int64_t)(f.n - 1) * BATCH + f.entries - 1;
        batches->entry[at] = block->col_idx[e] * ROWS + f.rows - 1;
        batches->place[at] = place == NULL ? e : (int32_t)place[e];
        for (int32_t r = f.rows - 1; r < (f.entries == 1 ? ROWS : f.rows); r++) {
            batches->row[(int64_t)(f.n - 1) * ROWS + r] = f.row;
        }
    }
}

spmm_status_t spmm_sddmm_make_batches(spmm_env_t *env, const spmm_csr_t *block,
                                      const spmm_sddmm_sequence_t *sequence, const int64_t *place,
                                      spmm_sddmm_batch_list_t *batches)
{
    spmm_sddmm_batch_list_t made  = {0};
    filling_t               count = {0};

    for (int64_t s = 0; s < sequence->count; s++) {
        take(&count, sequence->row[s]);
    }
    made.n_batches = count.n;
    SPMM_NEW(made.row, (int64_t)count.n * ROWS);
    SPMM_NEW(made.entry, (int64_t)count.n * BATCH);
    SPMM_NEW(made.place, (int64_t)count.n * BATCH);
    if (made.row == NULL || made.entry == NULL || made.place == NULL) {
        spmm_sddmm_free_batches(&made);
        return spmm_fail_memory(&env->err, count.n, (2 * BATCH + ROWS) * sizeof *made.row,
                                "the batches of an SDDMM");
    }
    fill_batches(block, sequence, place, &made);
    *batches = made;
    return SPMM_OK;
}

void spmm_sddmm_free_batches(spmm_sddmm_batch_list_t *batches)
{
    spmm_free(batches->row);
    spmm_free(batches->entry);
    spmm_free(batches->place);
    memset(batches, 0, sizeof *batches);
}
