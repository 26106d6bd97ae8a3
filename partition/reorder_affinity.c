/* SPDX-License-Identifier: Apache-2.0 */
/** @file reorder_affinity.c
 *  Data-affinity-based reordering (Acc-SpMM, section 3.2): communities of the row graph first, then
 *  windows of rows that share columns.
 */
#include <string.h>

#include "base/alloc.h"
#include "partition/affinity_fill.h"
#include "partition/dendrogram.h"
#include "partition/reorder.h"

/* (stretch, column) pairs of an order: what windows filled stretch by stretch cannot share.
 * @p mark is scratch [n_cols]. */
static int64_t count_spread(const spmm_csr_t *block, const int32_t *row, int32_t n, int32_t *mark)
{
    int64_t count = 0;

    memset(mark, 0xff, (size_t)block->n_cols * sizeof *mark); /* -1 */
    for (int32_t p = 0; p < n; p++) {
        for (int64_t k = block->row_ptr[row[p]]; k < block->row_ptr[row[p] + 1]; k++) {
            int32_t *const last = &mark[block->col_idx[k]];

            count += *last != p / SPMM_AFFINITY_STRETCH;
            *last = p / SPMM_AFFINITY_STRETCH;
        }
    }
    return count;
}

/* The rows with entries as the dendrogram has them, or as they come where that gathers columns as
 * well: files of meshes and web pages are often sorted better than communities can.
 * @p walk [vertices], @p given and @p base [n_rows]; returns how many. */
static int32_t choose_base(const spmm_csr_t *block, const int32_t *walk, int32_t n_vertices,
                           int32_t *mark, int32_t *given, int32_t *base)
{
    int32_t n = 0, m = 0;

    for (int32_t i = 0; i < block->n_rows; i++) {
        if (block->row_ptr[i + 1] > block->row_ptr[i]) {
            given[n++] = i;
        }
    }
    for (int32_t k = 0; k < n_vertices; k++) {
        const int32_t i = walk[k];

        if (i < block->n_rows && block->row_ptr[i + 1] > block->row_ptr[i]) {
            base[m++] = i;
        }
    }
    if (count_spread(block, given, n, mark) <= count_spread(block, base, n, mark)) {
        memcpy(base, given, (size_t)n * sizeof *base);
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

static spmm_status_t order_graph(spmm_env_t *env, const spmm_csr_t *block,
                                 const spmm_row_graph_t *graph, int32_t *base, int32_t *n)
{
    int32_t      *walk, *given, *mark;
    spmm_status_t status;

    SPMM_NEW(walk, graph->n_vertices);
    SPMM_NEW(given, block->n_rows);
    SPMM_NEW(mark, block->n_cols);
    if (walk == NULL || given == NULL || mark == NULL) {
        status = spmm_fail_memory(&env->err, graph->n_vertices, sizeof *walk, "an order of rows");
    } else {
        status = spmm_dendrogram_walk(env, graph, walk);
    }
    if (status == SPMM_OK) {
        *n = choose_base(block, walk, graph->n_vertices, mark, given, base);
    }
    spmm_free(walk);
    spmm_free(given);
    spmm_free(mark);
    return status;
}

static spmm_status_t run(spmm_env_t *env, const spmm_csr_t *block, int threads, int32_t *order)
{
    spmm_row_graph_t graph;
    int32_t         *base, n = 0;
    spmm_status_t    status;

    if (SPMM_NEW(base, block->n_rows) == NULL) {
        return spmm_fail_memory(&env->err, block->n_rows, sizeof *base, "an order of rows");
    }
    status = spmm_row_graph_create(env, block, threads, &graph);
    if (status == SPMM_OK) {
        status = order_graph(env, block, &graph, base, &n);
        spmm_row_graph_free(&graph); /* the largest piece, before the next one */
    }
    if (status == SPMM_OK && n > 0) {
        status = spmm_affinity_fill(env, block, base, n, threads, order);
    }
    if (status == SPMM_OK) {
        put_empty_rows(block, n, order);
    }
    spmm_free(base);
    return status;
}

const spmm_reorderer_t spmm_reorderer_affinity = {
    .name        = "affinity",
    .description = "communities by modularity, in them rows by common columns (Acc-SpMM)",
    .built       = true,
    .run         = run,
};
