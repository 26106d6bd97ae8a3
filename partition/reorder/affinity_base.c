/* SPDX-License-Identifier: Apache-2.0 */
#include "partition/reorder/affinity_base.h"

#include <string.h>

#include "base/alloc.h"

/* A given order with at most this many times the fewest (stretch, column) pairs there can be, one
 * for each column in use, is as good a base as another can make: files of meshes, and all blocks of
 * one stretch. */
static const double good_spread = 1.5;

/* (stretch, column) pairs of an order: what windows filled stretch by stretch cannot share.  *used:
 * columns with an entry.  @p mark: [n_cols] scratch. */
static int64_t count_spread(const spmm_csr_t *block, const int32_t *row, int32_t n, int32_t stretch,
                            int32_t *mark, int32_t *used)
{
    int64_t count = 0;

    *used = 0;
    memset(mark, 0xff, (size_t)block->n_cols * sizeof *mark); /* -1 */
    for (int32_t p = 0; p < n; p++) {
        for (int64_t k = block->row_ptr[row[p]]; k < block->row_ptr[row[p] + 1]; k++) {
            int32_t *const last = &mark[block->col_idx[k]];

            *used += *last < 0;
            count += *last != p / stretch;
            *last = p / stretch;
        }
    }
    return count;
}

/* The rows with entries as they come; returns how many. */
static int32_t take_given(const spmm_csr_t *block, int32_t *base)
{
    int32_t n = 0;

    for (int32_t i = 0; i < block->n_rows; i++) {
        if (block->row_ptr[i + 1] > block->row_ptr[i]) {
            base[n++] = i;
        }
    }
    return n;
}

/* Rows without entries end the order: there they fill windows of their own. */
static void put_empty_rows(const spmm_csr_t *block, int32_t at, int32_t *order)
{
    for (int32_t i = 0; i < block->n_rows; i++) {
        if (block->row_ptr[i + 1] == block->row_ptr[i]) {
            order[at++] = i;
        }
    }
}

/* Rows with entries in an order whose stretches gather columns: @p base [n_rows], *n of them. */
static spmm_status_t choose_base(spmm_env_t *env, const spmm_csr_t *block, int threads,
                                 spmm_affinity_base_t other, int32_t stretch, int32_t *base,
                                 int32_t *n)
{
    spmm_status_t status = SPMM_OK;
    int32_t      *mark, *rows, used;
    int64_t       spread;

    *n = take_given(block, base);
    SPMM_NEW(mark, block->n_cols);
    SPMM_NEW(rows, *n);
    if (mark == NULL || rows == NULL) {
        spmmi_free_all(mark, rows);
        return spmmi_fail_memory(&env->err, block->n_cols, sizeof *mark, "an order of rows");
    }
    spread = count_spread(block, base, *n, stretch, mark, &used);
    if ((double)spread > good_spread * used) {
        memcpy(rows, base, (size_t)*n * sizeof *rows);
        status = other(env, block, threads, *n, rows);
        if (status == SPMM_OK && count_spread(block, rows, *n, stretch, mark, &used) < spread) {
            memcpy(base, rows, (size_t)*n * sizeof *base);
        }
    }
    spmmi_free_all(mark, rows);
    return status;
}

spmm_status_t spmmi_affinity_order(spmm_env_t *env, const spmm_csr_t *block, int threads,
                                   spmm_affinity_base_t other, const spmm_affinity_effort_t *effort,
                                   int32_t *order)
{
    int32_t      *base, n = 0;
    spmm_status_t status;

    if (SPMM_NEW(base, block->n_rows) == NULL) {
        return spmmi_fail_memory(&env->err, block->n_rows, sizeof *base, "an order of rows");
    }
    status = choose_base(env, block, threads, other, effort->stretch, base, &n);
    if (status == SPMM_OK && n > 0) {
        status = spmmi_affinity_fill(env, block, base, n, effort, threads, order);
    }
    if (status == SPMM_OK) {
        put_empty_rows(block, n, order);
    }
    spmmi_free(base);
    return status;
}
