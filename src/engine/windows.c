/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/windows.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "cpu/cpu_kernels.h"

enum { ROW_BITS = 5, ROW_MASK = (1 << ROW_BITS) - 1 }; /* SPMM_TC_MAX_HEIGHT rows */

/** Merges the rows of a window: a heap of their next columns. */
typedef struct {
    const int32_t *col;
    int64_t        at[SPMM_TC_MAX_HEIGHT], end[SPMM_TC_MAX_HEIGHT];
    uint64_t       key[SPMM_TC_MAX_HEIGHT]; /**< column << ROW_BITS | row, least first */
    int            n;
} merge_t;

static void sift_down(merge_t *m, int i)
{
    const uint64_t key = m->key[i];

    for (int child = 2 * i + 1; child < m->n; child = 2 * i + 1) {
        child += child + 1 < m->n && m->key[child + 1] < m->key[child];
        if (key <= m->key[child]) {
            break;
        }
        m->key[i] = m->key[child];
        i         = child;
    }
    m->key[i] = key;
}

static uint64_t next_key(const merge_t *m, int row)
{
    return (uint64_t)m->col[m->at[row]] << ROW_BITS | (uint64_t)row;
}

static void merge_start(merge_t *m, const spmm_csr_t *block, int32_t first, int32_t height)
{
    m->col = block->col_idx;
    m->n   = 0;
    for (int r = 0; r < height && r < block->n_rows - first; r++) {
        m->at[r]  = block->row_ptr[first + r];
        m->end[r] = block->row_ptr[first + r + 1];
        if (m->at[r] < m->end[r]) {
            m->key[m->n++] = next_key(m, r);
        }
    }
    for (int i = m->n / 2 - 1; i >= 0; i--) {
        sift_down(m, i);
    }
}

/* The next active column; there is one while m->n > 0. */
static int32_t merge_next(merge_t *m)
{
    const uint64_t col = m->key[0] >> ROW_BITS;

    while (m->n > 0 && m->key[0] >> ROW_BITS == col) {
        const int row = (int)(m->key[0] & ROW_MASK);

        m->at[row]++;
        m->key[0] = m->at[row] < m->end[row] ? next_key(m, row) : m->key[--m->n];
        sift_down(m, 0);
    }
    return (int32_t)col;
}

static int64_t condense(const spmm_csr_t *block, int32_t first, int32_t height, int32_t *col)
{
    int64_t count = 0;
    merge_t merge;

    merge_start(&merge, block, first, height);
    while (merge.n > 0) {
        const int32_t next = merge_next(&merge);

        if (col != NULL) {
            col[count] = next;
        }
        count++;
    }
    return count;
}

spmm_status_t spmm_windows_create(spmm_env_t *env, const spmm_csr_t *block, int32_t height,
                                  int threads, spmm_windows_t *windows)
{
    const int32_t n    = spmm_windows_count(block->n_rows, height);
    const int     team = spmm_cpu_team(threads);
    int64_t      *ptr;
    int32_t      *col;

    memset(windows, 0, sizeof *windows);
    if (SPMM_NEW(ptr, (int64_t)n + 1) == NULL) {
        return spmm_fail_memory(&env->err, (int64_t)n + 1, sizeof *ptr, "windows of rows");
    }
    ptr[0] = 0;
#pragma omp parallel for schedule(dynamic, 16) num_threads(team)
    for (int32_t w = 0; w < n; w++) {
        ptr[w + 1] = condense(block, w * height, height, NULL);
    }
    for (int32_t w = 0; w < n; w++) {
        ptr[w + 1] += ptr[w];
    }
    if (SPMM_NEW(col, ptr[n]) == NULL) {
        const int64_t count = ptr[n];

        spmm_free(ptr);
        return spmm_fail_memory(&env->err, count, sizeof *col, "active columns");
    }
#pragma omp parallel for schedule(dynamic, 16) num_threads(team)
    for (int32_t w = 0; w < n; w++) {
        (void)condense(block, w * height, height, col + ptr[w]);
    }
    *windows = (spmm_windows_t){.height = height, .n_windows = n, .ptr = ptr, .col = col};
    return SPMM_OK;
}

void spmm_windows_free(spmm_windows_t *windows)
{
    spmm_free(windows->ptr);
    spmm_free(windows->col);
    memset(windows, 0, sizeof *windows);
}

int64_t spmm_windows_find(const int32_t *col, int64_t from, int64_t n, int32_t wanted)
{
    int64_t low = from, step = 1, high;

    while (low + step < n && col[low + step] <= wanted) {
        low += step;
        step *= 2;
    }
    high = low + step < n ? low + step : n; /* col[low] <= wanted < col[high] */
    while (high - low > 1) {
        const int64_t mid = low + (high - low) / 2;

        if (col[mid] <= wanted) {
            low = mid;
        } else {
            high = mid;
        }
    }
    return low;
}

/** A scan under way. */
typedef struct {
    int32_t *last;   /**< [n_cols] last row with an entry in each column, -1: none yet */
    int32_t *blocks; /**< [windows of 8 rows] TC blocks */
    int64_t  used;
} scan_t;

/* Pairs of all heights, and what follows from the active columns of single windows. */
static void scan_rows(const spmm_csr_t *block, scan_t *scan, spmm_tc_facts_t *facts)
{
    int64_t before8 = 0, before16 = 0; /* pairs before the window of this row */

    for (int32_t i = 0; i < block->n_rows; i++) {
        for (int64_t k = block->row_ptr[i]; k < block->row_ptr[i + 1]; k++) {
            int32_t *const last  = &scan->last[block->col_idx[k]];
            const bool     first = *last < 0;

            scan->used += first;
            facts->pairs[0] += first || *last >> 3 != i >> 3;
            facts->pairs[1] += first || *last >> 4 != i >> 4;
            facts->pairs[2] += first || *last >> 5 != i >> 5;
            *last = i;
        }
        if (i % 8 == 7 || i + 1 == block->n_rows) {
            scan->blocks[i / 8] = (int32_t)((facts->pairs[0] - before8 + 7) / 8);
            facts->tc_blocks += scan->blocks[i / 8];
            before8 = facts->pairs[0];
        }
        if (i % 16 == 15 || i + 1 == block->n_rows) {
            facts->bricks += (facts->pairs[1] - before16 + 3) / 4;
            before16 = facts->pairs[1];
        }
    }
}

/* cuTeSpMM calls two numbers alpha, the density of a brick and that of an active column, and takes
 * them as equal; they differ by the padding of a panel's last brick.  Its model counts loads by
 * bricks and its classes speak of active columns, and so it is here.  (By equation 4 the class
 * borders are at an OI of 64 and 128; section 6.4 of the paper says 32 and 64.) */
static void derive(const scan_t *scan, int64_t nnz, int32_t n_windows, spmm_tc_facts_t *facts)
{
    const double mean = (double)facts->tc_blocks / n_windows;
    double       off  = 0.0;

    for (int32_t w = 0; w < n_windows; w++) {
        off += fabs((double)scan->blocks[w] - mean);
    }
    facts->ibd         = off / n_windows;
    facts->mean_nnz_tc = (double)nnz / (double)facts->tc_blocks;
    facts->alpha       = (double)nnz / (64.0 * (double)facts->bricks);
    facts->synergy     = (double)nnz / (16.0 * (double)facts->pairs[1]);
    facts->oi_shmem    = 512.0 * facts->alpha;
}

spmm_status_t spmm_tc_facts_scan(spmm_env_t *env, const spmm_csr_t *block, spmm_tc_facts_t *facts,
                                 int64_t *used_cols)
{
    const int32_t n_windows = spmm_windows_count(block->n_rows, 8);
    const int64_t nnz       = spmm_csr_nnz(block);
    scan_t        scan      = {0};

    memset(facts, 0, sizeof *facts);
    SPMM_NEW(scan.last, block->n_cols);
    SPMM_NEW(scan.blocks, n_windows);
    if (scan.last == NULL || scan.blocks == NULL) {
        spmm_free(scan.last);
        spmm_free(scan.blocks);
        return spmm_fail_memory(&env->err, (int64_t)block->n_cols + n_windows, sizeof *scan.last,
                                "the columns of a block");
    }
    for (int32_t c = 0; c < block->n_cols; c++) {
        scan.last[c] = -1;
    }
    scan_rows(block, &scan, facts);
    if (nnz > 0) {
        derive(&scan, nnz, n_windows, facts);
    }
    *used_cols = scan.used;
    spmm_free(scan.last);
    spmm_free(scan.blocks);
    return SPMM_OK;
}

const char *spmm_tc_synergy_class(double synergy)
{
    return synergy < 0.125 ? "low" : synergy < 0.25 ? "medium" : "high";
}
