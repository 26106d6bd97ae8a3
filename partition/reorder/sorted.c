/* SPDX-License-Identifier: Apache-2.0 */
/** @file sorted.c
 *  As affinity.c, with one sort of the rows in place of communities: by the least hashes of their
 *  columns (MinHash, Broder 1997), which two rows share as often as they share columns.  It takes a
 *  fraction of the time, and all of it but the sort is shared by threads.
 */
#include "partition/reorder/sorted.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/sort.h"
#include "cpu/cpu_kernels.h"
#include "partition/reorder/affinity.h"
#include "partition/reorder/reorder.h"

/* The least hash of its columns, then the least of others: rows that are likely to share columns
 * have neighbouring keys.  Row i has an entry. */
static uint64_t sorted_key(const spmm_csr_t *block, int32_t i)
{
    uint64_t least[2] = {UINT32_MAX, UINT32_MAX};

    for (int64_t k = block->row_ptr[i]; k < block->row_ptr[i + 1]; k++) {
        const uint64_t hash    = spmmi_mix64((uint64_t)block->col_idx[k] + 1);
        const uint64_t half[2] = {hash & UINT32_MAX, hash >> 32};

        least[0] = half[0] < least[0] ? half[0] : least[0];
        least[1] = half[1] < least[1] ? half[1] : least[1];
    }
    return least[0] << 32 | least[1];
}

/* Whether an order pays shows in the pairs that it leaves, and those in a few short stretches: of
 * 40 real matrices they give the pairs of the whole order to 7 % in the median, for one look at
 * all entries and little else. */

enum {
    STRETCH  = 256, /* rows, an eighth of those that order `sorted` fills windows from */
    CHUNKS   = 8,   /* stretches of each way, at most */
    MOST     = CHUNKS * STRETCH,
    SORTED   = 2 * MOST, /* rows to sort, about */
    TEAM     = 4,        /* threads: each has scratch of its own, new to it */
    WINDOW   = 16,
    HALF     = 2, /* windows of 8 rows in one of 16 */
    NO_PLACE = -HALF
};

static const spmm_affinity_effort_t short_stretches = {.stretch = STRETCH, .heavy = STRETCH / 8};

/* Stretches here and there of @p n rows; returns how many rows they have. */
static int32_t take_chunks(const int32_t *rows, int32_t n, int32_t *sample)
{
    const int32_t whole  = n / STRETCH;
    const int32_t chunks = whole < CHUNKS ? whole : CHUNKS;
    const int32_t step   = chunks == 0 ? 0 : n / chunks;

    if (chunks == 0) {
        memcpy(sample, rows, (size_t)n * sizeof *sample);
        return n;
    }
    for (int32_t c = 0; c < chunks; c++) {
        memcpy(sample + c * STRETCH, rows + c * step + (step - STRETCH) / 2,
               STRETCH * sizeof *sample);
    }
    return chunks * STRETCH;
}

/* Pairs for each entry of @p n rows in this order.  @p mark: [n_cols] scratch. */
static void count_pairs(const spmm_csr_t *block, const int32_t *order, int32_t n, int32_t *mark,
                        double pairs[2])
{
    int64_t entries = 0, count[2] = {0, 0};

    for (int32_t c = 0; c < block->n_cols; c++) {
        mark[c] = NO_PLACE;
    }
    for (int32_t p = 0; p < n; p++) {
        const int32_t at = p / (WINDOW / HALF);

        for (int64_t k = block->row_ptr[order[p]]; k < block->row_ptr[order[p] + 1]; k++) {
            int32_t *const last = &mark[block->col_idx[k]];

            entries++;
            count[0] += *last != at;
            count[1] += *last / HALF != at / HALF;
            *last = at;
        }
    }
    for (int h = 0; h < 2; h++) {
        pairs[h] = entries == 0 ? 1.0 : (double)count[h] / (double)entries;
    }
}

/* The rows with an entry; returns how many. */
static int32_t take_rows(const spmm_csr_t *block, int32_t *rows)
{
    int32_t n = 0;

    for (int32_t i = 0; i < block->n_rows; i++) {
        rows[n] = i;
        n += block->row_ptr[i + 1] > block->row_ptr[i];
    }
    return n;
}

/* Those of @p n rows whose least hash is one of a share of the hashes, sorted by their keys: rows
 * with the same one stay together.  @return how many, @p rows them */
static spmm_status_t sort_some(spmm_env_t *env, const spmm_csr_t *block, int threads, int32_t *rows,
                               int32_t *n)
{
    const int      team  = spmmi_cpu_team_for(threads, block->row_ptr[block->n_rows]);
    const uint64_t parts = (uint64_t)(*n / SORTED + 1);
    int32_t        kept  = 0;
    uint64_t      *key;
    int64_t       *row;
    spmm_status_t  status;

    SPMM_NEW(key, *n);
    SPMM_NEW(row, *n);
    if (key == NULL || row == NULL) {
        spmmi_free_all(key, row);
        return spmmi_fail_memory(&env->err, *n, 2 * sizeof *key, "hashes of rows");
    }
#pragma omp parallel for schedule(dynamic, 256) num_threads(team)
    for (int32_t p = 0; p < *n; p++) {
        key[p] = sorted_key(block, rows[p]);
    }
    for (int32_t p = 0; p < *n; p++) {
        key[kept] = key[p];
        row[kept] = rows[p];
        kept += spmmi_mix64(key[p] >> 32) % parts == 0;
    }
    status = spmmi_sort_u64_with(env, key, row, kept);
    for (int32_t p = 0; status == SPMM_OK && p < kept; p++) {
        rows[p] = (int32_t)row[p];
    }
    spmmi_free_all(key, row);
    *n = kept;
    return status;
}

/* Arrays of a sample. */
typedef struct {
    int32_t *rows;  /* [n_rows of the block] */
    int32_t *mark;  /* [n_cols] */
    int32_t *base;  /* [2 * MOST] as they are, then as their keys sort them */
    int32_t *order; /* the same rows in windows */
} sample_t;

/* Both ways are filled at once where stretches do not reach from one into the other. */
static spmm_status_t fill(spmm_env_t *env, const spmm_csr_t *block, int threads, const sample_t *s,
                          int32_t given, int32_t sorted)
{
    const int  team = spmmi_cpu_team(threads) < TEAM ? spmmi_cpu_team(threads) : TEAM;
    const bool once = given % STRETCH == 0;

    SPMM_TRY(spmmi_affinity_fill(env, block, s->base, once ? given + sorted : given,
                                 &short_stretches, team, s->order));
    return once ? SPMM_OK
                : spmmi_affinity_fill(env, block, s->base + given, sorted, &short_stretches, team,
                                      s->order + given);
}

static spmm_status_t sample(spmm_env_t *env, const spmm_csr_t *block, int threads,
                            const sample_t *s, double pairs[2])
{
    int32_t n = take_rows(block, s->rows), given, sorted;
    double  other[2];

    given = take_chunks(s->rows, n, s->base);
    SPMM_TRY(sort_some(env, block, threads, s->rows, &n));
    sorted = take_chunks(s->rows, n, s->base + given);
    SPMM_TRY(fill(env, block, threads, s, given, sorted));
    count_pairs(block, s->order, given, s->mark, pairs);
    count_pairs(block, s->order + given, sorted, s->mark, other);
    for (int h = 0; h < 2; h++) {
        pairs[h] = fmin(pairs[h], other[h]);
    }
    return SPMM_OK;
}

spmm_status_t spmmi_sorted_sample(spmm_env_t *env, const spmm_csr_t *block, int threads,
                                  double pairs[2])
{
    sample_t      s;
    spmm_status_t status;

    SPMM_NEW(s.rows, (int64_t)block->n_rows + 1);
    SPMM_NEW(s.mark, block->n_cols);
    SPMM_NEW(s.base, 2 * MOST);
    SPMM_NEW(s.order, 2 * MOST);
    status = s.rows == NULL || s.mark == NULL || s.base == NULL || s.order == NULL
                 ? spmmi_fail_memory(&env->err, block->n_rows, sizeof *s.rows, "a sample of rows")
                 : sample(env, block, threads, &s, pairs);
    spmmi_free_all(s.rows, s.mark, s.base, s.order);
    return status;
}

static spmm_status_t by_hashes(spmm_env_t *env, const spmm_csr_t *block, int threads, int32_t n,
                               int32_t *rows)
{
    const int     team = spmmi_cpu_team(threads);
    uint64_t     *key;
    int64_t      *row;
    spmm_status_t status;

    SPMM_NEW(key, n);
    SPMM_NEW(row, n);
    if (key == NULL || row == NULL) {
        spmmi_free_all(key, row);
        return spmmi_fail_memory(&env->err, n, 2 * sizeof *key, "hashes of rows");
    }
#pragma omp parallel for schedule(dynamic, 256) num_threads(team)
    for (int32_t p = 0; p < n; p++) {
        key[p] = sorted_key(block, rows[p]);
        row[p] = rows[p];
    }
    status = spmmi_sort_u64_with(env, key, row, n);
    for (int32_t p = 0; status == SPMM_OK && p < n; p++) {
        rows[p] = (int32_t)row[p];
    }
    spmmi_free_all(key, row);
    return status;
}

static const spmm_affinity_effort_t quick = {.stretch = 2048, .heavy = 256};

static spmm_status_t run(spmm_env_t *env, const spmm_csr_t *block, int threads, int32_t *order)
{
    return spmmi_affinity_order(env, block, threads, by_hashes, &quick, order);
}

const spmm_reorderer_t spmmi_reorderer_sorted = {
    .name = "sorted",
    .run  = run,
};
