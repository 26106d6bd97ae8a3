/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/alloc.h"
#include "base/sort.h"
#include "orders.h"
#include "partition/reorder/row_graph.h"

enum { LEVELS = 32, SWEEPS = 16 };

/** A graph with weights: of a level, whose vertices are the communities of the one below. */
typedef struct {
    int32_t  n;
    int64_t *ptr; /**< [n + 1], all owned */
    int32_t *adj; /**< no loops */
    double  *weight;
    double  *degree;    /**< [n] with the weight inside of a vertex */
    int32_t *community; /**< [n] of each vertex: 0 to n - 1, without gaps in the end */
} level_t;

static void level_free(level_t *l)
{
    spmmi_free_all(l->ptr, l->adj, l->weight, l->degree, l->community);
    memset(l, 0, sizeof *l);
}

static spmm_status_t level_alloc(spmm_env_t *env, int32_t n, int64_t edges, level_t *l)
{
    *l = (level_t){.n = n};
    SPMM_NEW_ZERO(l->ptr, (int64_t)n + 1);
    SPMM_NEW(l->adj, edges);
    SPMM_NEW(l->weight, edges);
    SPMM_NEW_ZERO(l->degree, n);
    SPMM_NEW(l->community, n);
    if (l->ptr == NULL || l->adj == NULL || l->weight == NULL || l->degree == NULL ||
        l->community == NULL) {
        level_free(l);
        return spmmi_fail_memory(&env->err, edges, 12, "communities");
    }
    return SPMM_OK;
}

static spmm_status_t level_of(spmm_env_t *env, const spmm_row_graph_t *g, level_t *l)
{
    SPMM_TRY(level_alloc(env, g->n_vertices, g->ptr[g->n_vertices], l));
    memcpy(l->ptr, g->ptr, ((size_t)l->n + 1) * sizeof *l->ptr);
    memcpy(l->adj, g->adj, (size_t)l->ptr[l->n] * sizeof *l->adj);
    for (int64_t k = 0; k < l->ptr[l->n]; k++) {
        l->weight[k] = 1.0;
    }
    for (int32_t v = 0; v < l->n; v++) {
        l->degree[v] = (double)spmmi_row_graph_degree(g, v);
    }
    return SPMM_OK;
}

/* Move each vertex to the neighbouring community that gains most, until a sweep moves less than a
 * hundredth of them.  @p total [n], @p to [n] (zero), @p touched [n] are scratch. */
static void move_vertices(level_t *l, double m2, double *total, double *to, int32_t *touched)
{
    for (int32_t v = 0; v < l->n; v++) {
        l->community[v] = v;
        total[v]        = l->degree[v];
    }
    for (int sweep = 0, moved = l->n; sweep < SWEEPS && moved > l->n / 100; sweep++) {
        moved = 0;
        for (int32_t v = 0; v < l->n; v++) {
            const int32_t own = l->community[v];
            int32_t       n = 0, best = own;

            for (int64_t k = l->ptr[v]; k < l->ptr[v + 1]; k++) {
                const int32_t c = l->community[l->adj[k]];

                if (to[c] == 0.0) {
                    touched[n++] = c;
                }
                to[c] += l->weight[k];
            }
            total[own] -= l->degree[v];
            for (int32_t k = 0; k < n; k++) {
                const int32_t c = touched[k];

                if (to[c] - total[c] * l->degree[v] / m2 >
                    to[best] - total[best] * l->degree[v] / m2) {
                    best = c;
                }
            }
            total[best] += l->degree[v];
            moved += best != own;
            l->community[v] = best;
            for (int32_t k = 0; k < n; k++) {
                to[touched[k]] = 0.0;
            }
        }
    }
}

/* Numbers without gaps, in the order in which vertices name them; @p number is scratch. */
static int32_t renumber(level_t *l, int32_t *number)
{
    int32_t n = 0;

    for (int32_t v = 0; v < l->n; v++) {
        number[v] = -1;
    }
    for (int32_t v = 0; v < l->n; v++) {
        int32_t *to = &number[l->community[v]];

        *to             = *to < 0 ? n++ : *to;
        l->community[v] = *to;
    }
    return n;
}

/* The graph of @p n communities. */
static spmm_status_t coarsen(spmm_env_t *env, const level_t *l, int32_t n, level_t *up)
{
    const int64_t edges = l->ptr[l->n];
    uint64_t     *key;
    int64_t      *from, out = 0;
    spmm_status_t status = level_alloc(env, n, edges, up);

    SPMM_NEW(key, edges);
    SPMM_NEW(from, edges);
    if (status == SPMM_OK && (key == NULL || from == NULL)) {
        status = spmmi_fail_memory(&env->err, edges, 16, "edges of communities");
    }
    for (int32_t v = 0; status == SPMM_OK && v < l->n; v++) {
        up->degree[l->community[v]] += l->degree[v];
        for (int64_t k = l->ptr[v]; k < l->ptr[v + 1]; k++) {
            key[k]  = (uint64_t)l->community[v] << 32 | (uint32_t)l->community[l->adj[k]];
            from[k] = k;
        }
    }
    status = status == SPMM_OK ? spmmi_sort_u64_with(env, key, from, edges) : status;
    for (int64_t k = 0; status == SPMM_OK && k < edges; k++) {
        const int32_t a = (int32_t)(key[k] >> 32), b = (int32_t)(uint32_t)key[k];

        if (a != b && k > 0 && key[k] == key[k - 1]) {
            up->weight[out - 1] += l->weight[from[k]];
        } else if (a != b) {
            up->adj[out]      = b;
            up->weight[out++] = l->weight[from[k]];
            up->ptr[a + 1]    = out;
        }
    }
    for (int32_t c = 0; status == SPMM_OK && c < n; c++) {
        up->ptr[c + 1] = up->ptr[c + 1] < up->ptr[c] ? up->ptr[c] : up->ptr[c + 1];
    }
    spmmi_free_all(key, from);
    if (status != SPMM_OK) {
        level_free(up);
    }
    return status;
}

/* @p order of the communities of @p l becomes that of its vertices: members in their own order.
 *  @p first [n + 1], @p next [n] are scratch. */
static void expand(const level_t *l, int32_t n_communities, const int32_t *order, int32_t *first,
                   int32_t *next)
{
    int32_t sum = 0;

    memset(first, 0, (size_t)n_communities * sizeof *first);
    for (int32_t v = 0; v < l->n; v++) {
        first[l->community[v]]++;
    }
    for (int32_t k = 0; k < n_communities; k++) {
        const int32_t count = first[order[k]];

        first[order[k]] = sum;
        sum += count;
    }
    for (int32_t v = 0; v < l->n; v++) {
        next[first[l->community[v]]++] = v;
    }
}

static spmm_status_t climb(spmm_env_t *env, level_t *level, int *n_levels, double *total,
                           double *to, int32_t *touched)
{
    const double  m2     = (double)level[0].ptr[level[0].n];
    spmm_status_t status = SPMM_OK;
    bool          merges = true;

    while (status == SPMM_OK && merges && *n_levels < LEVELS) {
        level_t      *l = &level[*n_levels - 1];
        const int32_t n = (move_vertices(l, m2, total, to, touched), renumber(l, touched));

        merges = n < l->n;
        if (merges && *n_levels < LEVELS - 1) {
            status = coarsen(env, l, n, &level[*n_levels]);
        }
        *n_levels += 1;
    }
    return status;
}

static spmm_status_t run(spmm_env_t *env, const spmm_csr_t *block, int threads, int32_t *order)
{
    level_t          level[LEVELS] = {0};
    spmm_row_graph_t graph;
    int              n_levels = 1;
    double          *total, *to;
    int32_t         *touched, *now, *next;
    spmm_status_t    status;

    SPMM_TRY(spmmi_row_graph_create(env, block, threads, &graph));
    SPMM_NEW(total, graph.n_vertices);
    SPMM_NEW_ZERO(to, graph.n_vertices);
    SPMM_NEW(touched, graph.n_vertices);
    SPMM_NEW(now, graph.n_vertices);
    SPMM_NEW(next, graph.n_vertices);
    status = total == NULL || to == NULL || touched == NULL || now == NULL || next == NULL
                 ? spmmi_fail_memory(&env->err, graph.n_vertices, 28, "communities")
                 : level_of(env, &graph, &level[0]);
    if (status == SPMM_OK) {
        status = climb(env, level, &n_levels, total, to, touched);
    }
    if (status == SPMM_OK) {
        int32_t n = level[n_levels - 2].n; /* its communities are not fewer than its vertices */

        for (int32_t k = 0; k < n; k++) {
            now[k] = k;
        }
        for (int l = n_levels - 3; l >= 0; l--) {
            int32_t *swap = now;

            expand(&level[l], n, now, touched, next);
            now  = next;
            next = swap;
            n    = level[l].n;
        }
        for (int32_t k = 0, out = 0; k < n; k++) {
            if (now[k] < block->n_rows) {
                order[out++] = now[k];
            }
        }
    }
    for (int l = 0; l < LEVELS; l++) {
        level_free(&level[l]);
    }
    spmmi_free_all(total, to, touched, now, next);
    spmmi_row_graph_free(&graph);
    return status;
}

const spmm_reorderer_t bench_order_louvain = {
    .name = "louvain", .description = "communities of communities", .built = true, .run = run};
