/* SPDX-License-Identifier: Apache-2.0 */
#include "base/alloc.h"
#include "orders.h"
#include "partition/reorder/dendrogram.h"

/* Steps of algorithm 1, beyond which it takes minutes: rows that almost all rows have in common. */
static const double most_steps = 2e10;

/** Algorithm 1, step II. */
typedef struct {
    const spmm_row_graph_t *graph;
    int32_t                 n_rows;  /**< the vertices that are ordered, the first ones */
    int32_t                *place;   /**< [n_vertices] in the walk over the dendrogram */
    int32_t                *common;  /**< [n_vertices] scratch, zero: neighbours in common */
    int32_t                *touched; /**< [n_vertices] scratch: where common is not zero */
    bool                   *visited; /**< [n_vertices] */
} chain_t;

/* The row not visited that has most neighbours in common with @p v, of equal ones the first of the
 * walk; -1: none has any. */
static int32_t nearest(chain_t *c, int32_t v)
{
    const spmm_row_graph_t *g    = c->graph;
    int32_t                 best = -1, n = 0;

    for (int64_t k = g->ptr[v]; k < g->ptr[v + 1]; k++) {
        const int32_t w = g->adj[k];

        for (int64_t j = g->ptr[w]; j < g->ptr[w + 1]; j++) {
            const int32_t u = g->adj[j];

            if (u < c->n_rows && !c->visited[u] && c->common[u]++ == 0) {
                c->touched[n++] = u;
            }
        }
    }
    for (int32_t k = 0; k < n; k++) {
        const int32_t u = c->touched[k];

        if (best < 0 || c->common[u] > c->common[best] ||
            (c->common[u] == c->common[best] && c->place[u] < c->place[best])) {
            best = u;
        }
    }
    for (int32_t k = 0; k < n; k++) {
        c->common[c->touched[k]] = 0;
    }
    return best;
}

static void follow(chain_t *c, const int32_t *walk, int32_t *order)
{
    int32_t out = 0;

    for (int32_t k = 0; k < c->graph->n_vertices; k++) {
        int32_t v = walk[k];

        while (v >= 0 && v < c->n_rows && !c->visited[v]) {
            c->visited[v] = true;
            order[out++]  = v;
            v             = nearest(c, v);
        }
    }
}

static spmm_status_t chain(spmm_env_t *env, const spmm_row_graph_t *g, int32_t n_rows,
                           const int32_t *walk, int32_t *order)
{
    chain_t       c      = {.graph = g, .n_rows = n_rows};
    double        steps  = 0.0;
    spmm_status_t status = SPMM_OK;

    for (int32_t v = 0; v < g->n_vertices; v++) {
        const double degree = (double)spmmi_row_graph_degree(g, v);

        steps += degree * degree;
    }
    if (steps > most_steps) {
        return spmmi_fail(&env->err, SPMM_ERR_UNSUPPORTED,
                          "algorithm 1 would look at %.1e pairs of neighbours; %.0e are the most",
                          steps, most_steps);
    }
    SPMM_NEW(c.place, g->n_vertices);
    SPMM_NEW_ZERO(c.common, g->n_vertices);
    SPMM_NEW(c.touched, g->n_vertices);
    SPMM_NEW_ZERO(c.visited, g->n_vertices);
    if (c.place == NULL || c.common == NULL || c.touched == NULL || c.visited == NULL) {
        status = spmmi_fail_memory(&env->err, g->n_vertices, 13, "an order of rows");
    } else {
        for (int32_t k = 0; k < g->n_vertices; k++) {
            c.place[walk[k]] = k;
        }
        follow(&c, walk, order);
    }
    spmmi_free_all(c.place, c.common, c.touched, c.visited);
    return status;
}

static void take_rows(const spmm_row_graph_t *g, int32_t n_rows, const int32_t *walk,
                      int32_t *order)
{
    int32_t out = 0;

    for (int32_t k = 0; k < g->n_vertices; k++) {
        if (walk[k] < n_rows) {
            order[out++] = walk[k];
        }
    }
}

static spmm_status_t run(spmm_env_t *env, const spmm_csr_t *block, int threads, bool has_step_2,
                         int32_t *order)
{
    spmm_row_graph_t graph;
    int32_t         *walk;
    spmm_status_t    status;

    SPMM_TRY(spmmi_row_graph_create(env, block, threads, &graph));
    status = SPMM_NEW(walk, graph.n_vertices) == NULL
                 ? spmmi_fail_memory(&env->err, graph.n_vertices, sizeof *walk, "a walk")
                 : spmmi_dendrogram_walk(env, &graph, INT32_MAX, walk);
    if (status == SPMM_OK && has_step_2) {
        status = chain(env, &graph, block->n_rows, walk, order);
    } else if (status == SPMM_OK) {
        take_rows(&graph, block->n_rows, walk, order);
    }
    spmmi_free(walk);
    spmmi_row_graph_free(&graph);
    return status;
}

static spmm_status_t run_acc(spmm_env_t *env, const spmm_csr_t *block, int threads, int32_t *order)
{
    return run(env, block, threads, true, order);
}

static spmm_status_t run_rabbit(spmm_env_t *env, const spmm_csr_t *block, int threads,
                                int32_t *order)
{
    return run(env, block, threads, false, order);
}

const spmm_reorderer_t bench_order_acc    = {.name = "acc", .run = run_acc};
const spmm_reorderer_t bench_order_rabbit = {.name = "rabbit", .run = run_rabbit};
