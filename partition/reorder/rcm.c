/* SPDX-License-Identifier: Apache-2.0 */
/** @file rcm.c
 *  Reverse Cuthill-McKee: breadth-first levels of the row graph, neighbours by ascending degree,
 *  from a vertex at the rim of each component (George, Liu 1979).
 */
#include "base/alloc.h"
#include "partition/reorder/reorder.h"
#include "partition/reorder/row_graph.h"

typedef struct {
    const spmm_row_graph_t *graph;
    int32_t                *queue; /**< [n_vertices]: the order so far */
    int32_t                *rank;  /**< [n_vertices] place of each vertex by degree */
    int32_t                *level; /**< [n_vertices] -1: not reached yet */
} rcm_t;

/* In place, by rank; lists are short or already nearly sorted by nothing: heap sort needs neither
 * recursion nor memory. */
static void sort_by_rank(const int32_t *rank, int32_t *v, int64_t n)
{
    for (int64_t end = n, top = n / 2; end > 1;) {
        int32_t held;
        int64_t hole;

        if (top > 0) {
            held = v[hole = --top];
        } else {
            held   = v[--end];
            v[end] = v[0];
            hole   = 0;
        }
        for (int64_t child = 2 * hole + 1; child < end; child = 2 * hole + 1) {
            child += child + 1 < end && rank[v[child]] < rank[v[child + 1]];
            if (rank[held] >= rank[v[child]]) {
                break;
            }
            v[hole] = v[child];
            hole    = child;
        }
        v[hole] = held;
    }
}

/* Levels from @p root into queue[first ..]; returns the end. */
static int32_t search(const rcm_t *r, int32_t root, int32_t first)
{
    const spmm_row_graph_t *g    = r->graph;
    int32_t                 last = first;

    r->queue[last++] = root;
    r->level[root]   = 0;
    for (int32_t at = first; at < last; at++) {
        const int32_t v = r->queue[at], start = last;

        for (int64_t k = g->ptr[v]; k < g->ptr[v + 1]; k++) {
            const int32_t u = g->adj[k];

            if (r->level[u] < 0) {
                r->level[u]      = r->level[v] + 1;
                r->queue[last++] = u;
            }
        }
        sort_by_rank(r->rank, r->queue + start, last - start);
    }
    return last;
}

static void forget(const rcm_t *r, int32_t first, int32_t last)
{
    for (int32_t k = first; k < last; k++) {
        r->level[r->queue[k]] = -1;
    }
}

/* One component.  A few searches find a root that sees it deep: the least degree of the last level
 * is tried until the depth no longer grows. */
static int32_t component(const rcm_t *r, int32_t root, int32_t first)
{
    enum { TRIES = 8 };
    int32_t last = search(r, root, first), depth = r->level[r->queue[last - 1]];

    for (int t = 0; t < TRIES && last - first > 2; t++) {
        int32_t far = r->queue[last - 1];

        for (int32_t k = last - 1; k >= first && r->level[r->queue[k]] == depth; k--) {
            far = r->rank[r->queue[k]] < r->rank[far] ? r->queue[k] : far;
        }
        forget(r, first, last);
        last = search(r, far, first);
        if (r->level[r->queue[last - 1]] <= depth) {
            break;
        }
        depth = r->level[r->queue[last - 1]];
    }
    return last;
}

static spmm_status_t walk(spmm_env_t *env, const rcm_t *r, int32_t n_rows, int32_t *order)
{
    const int32_t n    = r->graph->n_vertices;
    int32_t       last = 0, out = n_rows;

    SPMM_TRY(spmmi_row_graph_by_degree(env, r->graph, r->queue));
    for (int32_t k = 0; k < n; k++) {
        r->rank[r->queue[k]] = k;
        r->level[k]          = -1;
    }
    for (int32_t v = 0; v < n; v++) {
        last = r->level[v] < 0 ? component(r, v, last) : last;
    }
    for (int32_t k = 0; k < n; k++) {
        if (r->queue[k] < n_rows) {
            order[--out] = r->queue[k];
        }
    }
    return SPMM_OK;
}

static spmm_status_t run(spmm_env_t *env, const spmm_csr_t *block, int threads, int32_t *order)
{
    spmm_row_graph_t graph;
    rcm_t            r = {.graph = &graph};
    spmm_status_t    status;

    SPMM_TRY(spmmi_row_graph_create(env, block, threads, &graph));
    SPMM_NEW(r.queue, graph.n_vertices);
    SPMM_NEW(r.rank, graph.n_vertices);
    SPMM_NEW(r.level, graph.n_vertices);
    status =
        r.queue == NULL || r.rank == NULL || r.level == NULL
            ? spmmi_fail_memory(&env->err, graph.n_vertices, sizeof *r.queue, "an order of rows")
            : walk(env, &r, block->n_rows, order);
    spmmi_free_all(r.queue, r.rank, r.level);
    spmmi_row_graph_free(&graph);
    return status;
}

const spmm_reorderer_t spmmi_reorderer_rcm = {
    .name        = "rcm",
    .description = "reverse Cuthill-McKee: small bandwidth",
    .built       = true,
    .run         = run,
};
