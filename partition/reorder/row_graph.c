/* SPDX-License-Identifier: Apache-2.0 */
#include "partition/reorder/row_graph.h"

#include <string.h>

#include "base/alloc.h"
#include "cpu/cpu_kernels.h"
#include "matrix/generate/generate.h"

/* The pattern of a block by columns. */
typedef struct {
    int64_t *ptr; /* [n_cols + 1], owned */
    int32_t *row; /* [nnz], owned: the rows with an entry in each column, ascending */
} columns_t;

static spmm_status_t make_columns(spmm_env_t *env, const spmm_csr_t *block, columns_t *columns)
{
    const int64_t nnz = spmmi_csr_nnz(block);
    int64_t      *ptr;
    int32_t      *row;

    memset(columns, 0, sizeof *columns);
    SPMM_NEW_ZERO(ptr, (int64_t)block->n_cols + 2);
    SPMM_NEW(row, nnz);
    if (ptr == NULL || row == NULL) {
        spmmi_free_all(ptr, row);
        return spmmi_fail_memory(&env->err, nnz, sizeof *row, "the columns of a block");
    }
    /* Counting sort; ptr[c + 1] runs from the start of column c to its end. */
    for (int64_t k = 0; k < nnz; k++) {
        ptr[block->col_idx[k] + 2]++;
    }
    for (int32_t c = 0; c < block->n_cols; c++) {
        ptr[c + 2] += ptr[c + 1];
    }
    for (int32_t i = 0; i < block->n_rows; i++) {
        for (int64_t k = block->row_ptr[i]; k < block->row_ptr[i + 1]; k++) {
            row[ptr[block->col_idx[k] + 1]++] = i;
        }
    }
    *columns = (columns_t){.ptr = ptr, .row = row};
    return SPMM_OK;
}

static void free_columns(columns_t *columns)
{
    spmmi_free_all(columns->ptr, columns->row);
}

/* Union of row @p i and column @p i without @p i itself; returns its length.  @p out NULL: only
 * count. */
static int64_t merge_row(const spmm_csr_t *a, const columns_t *t, int32_t i, int32_t *out)
{
    int64_t k = a->row_ptr[i], l = t->ptr[i], count = 0;

    while (k < a->row_ptr[i + 1] || l < t->ptr[i + 1]) {
        const int32_t from_a = k < a->row_ptr[i + 1] ? a->col_idx[k] : INT32_MAX;
        const int32_t from_t = l < t->ptr[i + 1] ? t->row[l] : INT32_MAX;
        const int32_t next   = from_a < from_t ? from_a : from_t;

        k += from_a == next;
        l += from_t == next;
        if (next == i) {
            continue;
        }
        if (out != NULL) {
            out[count] = next;
        }
        count++;
    }
    return count;
}

static spmm_status_t symmetric(spmm_env_t *env, const spmm_csr_t *a, const columns_t *t,
                               int threads, spmm_row_graph_t *graph)
{
    const int     team = spmmi_cpu_team(threads);
    const int32_t n    = a->n_rows;

    graph->ptr[0] = 0;
#pragma omp parallel for schedule(dynamic, 256) num_threads(team)
    for (int32_t i = 0; i < n; i++) {
        graph->ptr[i + 1] = merge_row(a, t, i, NULL);
    }
    for (int32_t i = 0; i < n; i++) {
        graph->ptr[i + 1] += graph->ptr[i];
    }
    if (SPMM_NEW(graph->adj, graph->ptr[n]) == NULL) {
        return spmmi_fail_memory(&env->err, graph->ptr[n], sizeof *graph->adj, "the graph of rows");
    }
#pragma omp parallel for schedule(dynamic, 256) num_threads(team)
    for (int32_t i = 0; i < n; i++) {
        (void)merge_row(a, t, i, graph->adj + graph->ptr[i]);
    }
    return SPMM_OK;
}

static spmm_status_t bipartite(spmm_env_t *env, const spmm_csr_t *a, const columns_t *t,
                               spmm_row_graph_t *graph)
{
    const int64_t nnz = spmmi_csr_nnz(a);

    if (SPMM_NEW(graph->adj, 2 * nnz) == NULL) {
        return spmmi_fail_memory(&env->err, 2 * nnz, sizeof *graph->adj, "the graph of rows");
    }
    for (int32_t i = 0; i <= a->n_rows; i++) {
        graph->ptr[i] = a->row_ptr[i];
    }
    for (int32_t c = 0; c <= a->n_cols; c++) {
        graph->ptr[(int64_t)a->n_rows + c] = nnz + t->ptr[c];
    }
    for (int64_t k = 0; k < nnz; k++) {
        graph->adj[k]       = a->n_rows + a->col_idx[k];
        graph->adj[nnz + k] = t->row[k];
    }
    return SPMM_OK;
}

spmm_status_t spmmi_row_graph_create(spmm_env_t *env, const spmm_csr_t *block, int threads,
                                     spmm_row_graph_t *graph)
{
    const bool    square = block->n_rows == block->n_cols;
    columns_t     columns;
    spmm_status_t status;

    memset(graph, 0, sizeof *graph);
    SPMM_TRY(make_columns(env, block, &columns));
    graph->n_vertices = square ? block->n_rows : block->n_rows + block->n_cols;
    if (SPMM_NEW(graph->ptr, (int64_t)graph->n_vertices + 1) == NULL) {
        status = spmmi_fail_memory(&env->err, graph->n_vertices, sizeof *graph->ptr,
                                   "the graph of rows");
    } else {
        status = square ? symmetric(env, block, &columns, threads, graph)
                        : bipartite(env, block, &columns, graph);
    }
    free_columns(&columns);
    if (status != SPMM_OK) {
        spmmi_row_graph_free(graph);
    }
    return status;
}

void spmmi_row_graph_free(spmm_row_graph_t *graph)
{
    spmmi_free_all(graph->ptr, graph->adj);
    memset(graph, 0, sizeof *graph);
}

spmm_status_t spmmi_row_graph_by_degree(spmm_env_t *env, const spmm_row_graph_t *graph,
                                        int32_t *order)
{
    spmm_shuffle_t shuffle;
    int64_t        most = 0;
    int64_t       *start;

    for (int32_t v = 0; v < graph->n_vertices; v++) {
        const int64_t degree = spmmi_row_graph_degree(graph, v);

        most = degree > most ? degree : most;
    }
    if (SPMM_NEW_ZERO(start, most + 2) == NULL) {
        return spmmi_fail_memory(&env->err, most, sizeof *start, "degrees");
    }
    for (int32_t v = 0; v < graph->n_vertices; v++) {
        start[spmmi_row_graph_degree(graph, v) + 1]++;
    }
    for (int64_t d = 0; d <= most; d++) {
        start[d + 1] += start[d];
    }
    spmmi_shuffle_init(&shuffle, graph->n_vertices, 0, 0);
    for (int32_t k = 0; k < graph->n_vertices; k++) {
        const int32_t v = (int32_t)spmmi_shuffle(&shuffle, k);

        order[start[spmmi_row_graph_degree(graph, v)]++] = v;
    }
    spmmi_free(start);
    return SPMM_OK;
}
