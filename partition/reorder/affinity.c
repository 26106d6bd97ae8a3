/* SPDX-License-Identifier: Apache-2.0 */
/** @file affinity.c
 *  Data-affinity-based reordering (Acc-SpMM, section 3.2): communities of the row graph first, then
 *  windows of rows that share columns.
 */
#include <string.h>

#include "base/alloc.h"
#include "partition/reorder/affinity_fill.h"
#include "partition/reorder/dendrogram.h"
#include "partition/reorder/reorder.h"

/* A given order with at most this many times the fewest (stretch, column) pairs there can be, one
 * for each column in use, is as good a base as communities can make: files of meshes, and all
 * blocks of one stretch. */
static const double good_spread = 3.0;

/* Short stretches, which threads share, do where they have at most so many times the pairs of long
 * ones: rows lie near those that they share columns with. */
static const double near_spread = 1.5;

enum {
    MOST  = 4096,  /* vertices of a community: larger ones, which modularity would make of large
                      graphs, order nothing that windows can use, and their edges would be gathered
                      over and over */
    LONG  = 16384, /* rows of a stretch of the base, among which those of a window are sought */
    SHORT = 2048,  /* the same, at least, of short ones */
    PARTS = 16     /* short stretches, at most */
};

/* (stretch, column) pairs of an order: what windows filled stretch by stretch cannot share.
 * @p mark is scratch [n_cols]. */
static int64_t count_spread(const spmm_csr_t *block, const int32_t *row, int32_t n, int32_t stretch,
                            int32_t *mark)
{
    int64_t count = 0;

    memset(mark, 0xff, (size_t)block->n_cols * sizeof *mark); /* -1 */
    for (int32_t p = 0; p < n; p++) {
        for (int64_t k = block->row_ptr[row[p]]; k < block->row_ptr[row[p] + 1]; k++) {
            int32_t *const last = &mark[block->col_idx[k]];

            count += *last != p / stretch;
            *last = p / stretch;
        }
    }
    return count;
}

static int32_t used_columns(const spmm_csr_t *block, const int32_t *mark)
{
    int32_t used = 0;

    for (int32_t c = 0; c < block->n_cols; c++) {
        used += mark[c] >= 0;
    }
    return used;
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

/* The same rows, in the order in which @p walk [n_vertices] comes by them. */
static void take_walk(const spmm_csr_t *block, const int32_t *walk, int32_t n_vertices,
                      int32_t *rows)
{
    int32_t n = 0;

    for (int32_t k = 0; k < n_vertices; k++) {
        const int32_t i = walk[k];

        if (i < block->n_rows && block->row_ptr[i + 1] > block->row_ptr[i]) {
            rows[n++] = i;
        }
    }
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

/* Rows of a stretch of @p base [n], which has @p spread pairs of long ones. */
static int32_t choose_stretch(const spmm_csr_t *block, const int32_t *base, int32_t n,
                              int64_t spread, int32_t *mark)
{
    const int32_t part = n / PARTS + 1, stretch = part > SHORT ? part : SHORT;

    return stretch < LONG && (double)count_spread(block, base, n, stretch, mark) <=
                                 near_spread * (double)spread
               ? stretch
               : LONG;
}

/* The dendrogram's order into @p base [n], where it gathers columns better than what is there, with
 * *spread pairs. */
static spmm_status_t try_communities(spmm_env_t *env, const spmm_csr_t *block, int threads,
                                     int64_t *spread, int32_t n, int32_t *mark, int32_t *base)
{
    spmm_row_graph_t graph;
    int32_t         *walk, *rows;
    spmm_status_t    status;

    SPMM_TRY(spmmi_row_graph_create(env, block, threads, &graph));
    SPMM_NEW(walk, graph.n_vertices);
    SPMM_NEW(rows, n);
    if (walk == NULL || rows == NULL) {
        status = spmmi_fail_memory(&env->err, graph.n_vertices, sizeof *walk, "an order of rows");
    } else {
        status = spmmi_dendrogram_walk(env, &graph, MOST, walk);
    }
    if (status == SPMM_OK) {
        take_walk(block, walk, graph.n_vertices, rows);
        const int64_t found = count_spread(block, rows, n, LONG, mark);

        if (found < *spread) {
            *spread = found;
            memcpy(base, rows, (size_t)n * sizeof *base);
        }
    }
    spmmi_free_all(walk, rows);
    spmmi_row_graph_free(&graph);
    return status;
}

/* Rows with entries in an order whose stretches gather columns: @p base [n_rows], *n of them. */
static spmm_status_t choose_base(spmm_env_t *env, const spmm_csr_t *block, int threads,
                                 int32_t *base, int32_t *n, int32_t *stretch)
{
    spmm_status_t status = SPMM_OK;
    int64_t       spread;
    int32_t      *mark;

    if (SPMM_NEW(mark, block->n_cols) == NULL) {
        return spmmi_fail_memory(&env->err, block->n_cols, sizeof *mark, "an order of rows");
    }
    *n     = take_given(block, base);
    spread = count_spread(block, base, *n, LONG, mark);
    if ((double)spread > good_spread * used_columns(block, mark)) {
        status = try_communities(env, block, threads, &spread, *n, mark, base);
    }
    *stretch = choose_stretch(block, base, *n, spread, mark);
    spmmi_free(mark);
    return status;
}

static spmm_status_t run(spmm_env_t *env, const spmm_csr_t *block, int threads, int32_t *order)
{
    int32_t      *base, n = 0, stretch = LONG;
    spmm_status_t status;

    if (SPMM_NEW(base, block->n_rows) == NULL) {
        return spmmi_fail_memory(&env->err, block->n_rows, sizeof *base, "an order of rows");
    }
    status = choose_base(env, block, threads, base, &n, &stretch);
    if (status == SPMM_OK && n > 0) {
        status = spmmi_affinity_fill(env, block, base, n, stretch, threads, order);
    }
    if (status == SPMM_OK) {
        put_empty_rows(block, n, order);
    }
    spmmi_free(base);
    return status;
}

const spmm_reorderer_t spmmi_reorderer_affinity = {
    .name        = "affinity",
    .description = "communities by modularity, in them rows by common columns (Acc-SpMM)",
    .built       = true,
    .run         = run,
};
