/* SPDX-License-Identifier: Apache-2.0 */
/** @file sorted.c
 *  As affinity.c, with one sort of the rows in place of communities: by the least hashes of their
 *  columns (MinHash, Broder 1997), which two rows share as often as they share columns.  It takes a
 *  fraction of the time, and all of it but the sort is shared by threads.
 */
#include "partition/reorder/sorted.h"

#include "base/alloc.h"
#include "base/hash.h"
#include "base/sort.h"
#include "cpu/cpu_kernels.h"
#include "partition/reorder/affinity_base.h"
#include "partition/reorder/reorder.h"

/* The least hash of its columns; rows with the same by the least of others. */
uint64_t spmmi_sorted_key(const spmm_csr_t *block, int32_t i)
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
        key[p] = spmmi_sorted_key(block, rows[p]);
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
    .name        = "sorted",
    .description = "a sort by hashes of columns, then rows by common columns",
    .built       = true,
    .run         = run,
};
