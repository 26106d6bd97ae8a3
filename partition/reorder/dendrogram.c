/* SPDX-License-Identifier: Apache-2.0 */
#include "partition/reorder/dendrogram.h"

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

/* The vertices by ascending degree, equal ones in random order, always the same.
 * @param[out] order  [n_vertices] */
static spmm_status_t row_graph_by_degree(spmm_env_t *env, const spmm_row_graph_t *graph,
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

/** An edge of a community to another one. */
typedef struct {
    int32_t  to;
    uint32_t weight;
} link_t;

/** Vertices merge into others, their communities' edges with them. */
typedef struct {
    const spmm_row_graph_t *graph;
    int32_t                 most;    /**< vertices of a community */
    int32_t                *parent;  /**< [n] a community on the way to the one it is in; itself */
    int32_t                *child;   /**< [n] last vertex merged into this one, -1: none */
    int32_t                *sibling; /**< [n] the one merged into the same vertex before, -1 */
    uint32_t               *weight;  /**< [n] scratch, zero: edges to each community */
    int32_t                *touched; /**< [n] scratch: where weight is not zero */
    int32_t                *size;    /**< [n] vertices of the community */
    double                 *degree;  /**< [n] of the community */
    bool                   *done;    /**< [n] has had its turn */

    /* Edges of communities that have had their turn and wait for that of their parent's. */
    int64_t *first; /**< [n] in link */
    int32_t *count; /**< [n] 0: nothing kept */
    int32_t *kept;  /**< [n] vertices in the order of their edges in link */
    int32_t  n_kept;
    link_t  *link; /**< [room], owned */
    int64_t  used, room;
} tree_t;

static void tree_free(tree_t *t)
{
    spmmi_free_all(t->parent, t->child, t->sibling, t->weight, t->touched, t->size, t->degree,
                   t->done, t->first, t->count, t->kept, t->link);
    memset(t, 0, sizeof *t);
}

static spmm_status_t tree_create(spmm_env_t *env, const spmm_row_graph_t *graph, tree_t *t)
{
    const int32_t n = graph->n_vertices;

    *t = (tree_t){.graph = graph, .room = graph->ptr[n] / 4 + 1};
    SPMM_NEW(t->parent, n);
    SPMM_NEW(t->child, n);
    SPMM_NEW(t->sibling, n);
    SPMM_NEW_ZERO(t->weight, n);
    SPMM_NEW(t->touched, n);
    SPMM_NEW(t->size, n);
    SPMM_NEW(t->degree, n);
    SPMM_NEW_ZERO(t->done, n);
    SPMM_NEW(t->first, n);
    SPMM_NEW_ZERO(t->count, n);
    SPMM_NEW(t->kept, n);
    SPMM_NEW(t->link, t->room);
    if (t->parent == NULL || t->child == NULL || t->sibling == NULL || t->weight == NULL ||
        t->touched == NULL || t->size == NULL || t->degree == NULL || t->done == NULL ||
        t->first == NULL || t->count == NULL || t->kept == NULL || t->link == NULL) {
        tree_free(t);
        return spmmi_fail_memory(&env->err, n, 48, "a dendrogram");
    }
    for (int32_t v = 0; v < n; v++) {
        t->parent[v]  = v;
        t->child[v]   = -1;
        t->sibling[v] = -1;
        t->size[v]    = 1;
        t->degree[v]  = (double)spmmi_row_graph_degree(graph, v);
    }
    return SPMM_OK;
}

/* The community @p v is in; halves the path to it. */
static int32_t find(int32_t *parent, int32_t v)
{
    while (parent[v] != v) {
        parent[v] = parent[parent[v]];
        v         = parent[v];
    }
    return v;
}

static void touch(tree_t *t, int32_t v, int32_t to, uint32_t weight, int32_t *n)
{
    to = find(t->parent, to);
    if (to != v) {
        if (t->weight[to] == 0) {
            t->touched[(*n)++] = to;
        }
        t->weight[to] += weight;
    }
}

/* Edges of the community of @p v: its own and those of what was merged into it. */
static int32_t gather_edges(tree_t *t, int32_t v)
{
    const spmm_row_graph_t *g = t->graph;
    int32_t                 n = 0;

    for (int64_t k = g->ptr[v]; k < g->ptr[v + 1]; k++) {
        touch(t, v, g->adj[k], 1, &n);
    }
    for (int32_t c = t->child[v]; c >= 0; c = t->sibling[c]) {
        for (int32_t k = 0; k < t->count[c]; k++) {
            const link_t edge = t->link[t->first[c] + k];

            touch(t, v, edge.to, edge.weight, &n);
        }
        t->count[c] = 0;
    }
    return n;
}

/* Close the gaps that consumed edges left; more room where that is not enough. */
static spmm_status_t make_room(spmm_env_t *env, tree_t *t, int64_t wanted)
{
    int32_t kept = 0;
    link_t *more;

    t->used = 0;
    for (int32_t k = 0; k < t->n_kept; k++) {
        const int32_t v = t->kept[k];

        if (t->count[v] > 0) {
            memmove(t->link + t->used, t->link + t->first[v],
                    (size_t)t->count[v] * sizeof *t->link);
            t->first[v] = t->used;
            t->used += t->count[v];
            t->kept[kept++] = v;
        }
    }
    t->n_kept = kept;
    if (t->used + wanted > t->room / 2) { /* rarely: each time the room doubles */
        const int64_t room = 2 * (t->used + wanted);

        if ((more = spmmi_realloc(t->link, room, sizeof *t->link)) == NULL) {
            return spmmi_fail_memory(&env->err, room, sizeof *t->link, "edges of communities");
        }
        t->link = more;
        t->room = room;
    }
    return SPMM_OK;
}

/* The gain of merging communities v and u is w(u, v) - degree(u) degree(v) / 2m, over m: the
 * modularity with them as one less that without. */
static int32_t best_neighbour(const tree_t *t, int32_t v, int32_t n_touched)
{
    const double scale = t->degree[v] / (double)t->graph->ptr[t->graph->n_vertices];
    double       most  = 0.0;
    int32_t      best  = -1;

    for (int32_t k = 0; k < n_touched; k++) {
        const int32_t u    = t->touched[k];
        const double  gain = (double)t->weight[u] - scale * t->degree[u];

        if (t->size[u] <= t->most - t->size[v] &&
            (gain > most || (gain == most && best >= 0 && u < best))) {
            most = gain;
            best = u;
        }
    }
    return best;
}

/* The turn of @p v. */
static spmm_status_t visit(spmm_env_t *env, tree_t *t, int32_t v)
{
    const int32_t n      = gather_edges(t, v);
    const int32_t best   = best_neighbour(t, v, n);
    const bool    keep   = best >= 0 && !t->done[best];
    spmm_status_t status = keep && t->used + n > t->room ? make_room(env, t, n) : SPMM_OK;

    if (status == SPMM_OK && keep) {
        t->first[v]          = t->used;
        t->count[v]          = n;
        t->kept[t->n_kept++] = v;
    }
    for (int32_t k = 0; k < n; k++) {
        const int32_t u = t->touched[k];

        if (status == SPMM_OK && keep) {
            t->link[t->used++] = (link_t){u, t->weight[u]};
        }
        t->weight[u] = 0;
    }
    t->done[v] = true;
    if (best >= 0) {
        t->parent[v]   = best;
        t->sibling[v]  = t->child[best];
        t->child[best] = v;
        t->size[best] += t->size[v];
        t->degree[best] += t->degree[v];
    }
    return status;
}

/* Depth first, a vertex before what was merged into it, the latest first; @p stack is scratch. */
static void walk_tree(const tree_t *t, int32_t *stack, int32_t *walk)
{
    int32_t out = 0;

    for (int32_t root = 0; root < t->graph->n_vertices; root++) {
        int32_t top = 0;

        if (t->parent[root] != root) {
            continue;
        }
        stack[top++] = root;
        while (top > 0) {
            const int32_t v = stack[--top];

            walk[out++] = v;
            if (v != root && t->sibling[v] >= 0) {
                stack[top++] = t->sibling[v];
            }
            if (t->child[v] >= 0) {
                stack[top++] = t->child[v];
            }
        }
    }
}

spmm_status_t spmmi_dendrogram_walk(spmm_env_t *env, const spmm_row_graph_t *graph, int32_t most,
                                    int32_t *walk)
{
    tree_t        t;
    spmm_status_t status;

    SPMM_TRY(tree_create(env, graph, &t));
    t.most = most;
    status = row_graph_by_degree(env, graph, walk);
    for (int32_t k = 0; k < graph->n_vertices && status == SPMM_OK; k++) {
        status = visit(env, &t, walk[k]);
    }
    if (status == SPMM_OK) {
        walk_tree(&t, t.touched, walk);
    }
    tree_free(&t);
    return status;
}
