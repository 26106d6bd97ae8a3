/* SPDX-License-Identifier: Apache-2.0 */
/** @file dist_graph_deal.c
 *  Like cards, a stack of neighbouring vertices at a time: in each round one stack to each rank,
 *  beginning with another rank each time, so that no pattern of the matrix repeats with the ranks;
 *  what is left one by one.  Many stacks give each rank its share of any half of the graph, and in
 *  a stack neighbours stay together.  All can tell where a vertex is, and each rank gets
 *  its vertices in order.
 */
#include "base/alloc.h"
#include "base/comm.h"
#include "base/hash.h"
#include "partition/ptscotch/dist_graph.h"

enum { STACKS = 256 }; /* for each rank, where there are vertices enough */

typedef struct {
    int64_t stack;  /**< vertices */
    int64_t rounds; /**< of stacks */
    int64_t dealt;  /**< vertices in stacks, all ranks */
    int64_t left;   /**< vertices behind them */
    int     size;
} dealer_t;

static dealer_t dealer(int64_t all, int size)
{
    dealer_t d = {.stack = all / STACKS / size, .size = size};

    d.stack  = d.stack < 1 ? 1 : d.stack;
    d.rounds = all / size / d.stack;
    d.dealt  = d.rounds * d.stack * size;
    d.left   = all - d.dealt;
    return d;
}

static int dealt_to(const dealer_t *d, int64_t vertex)
{
    const int64_t turn  = vertex / d->stack;
    const int64_t round = turn / d->size;

    if (vertex >= d->dealt) {
        return (int)((vertex - d->dealt) % d->size);
    }
    return (int)((turn + spmmi_below(spmmi_hash2(0, round, 0), d->size)) % d->size);
}

/* Vertices dealt to the ranks below @p p. */
static int64_t dealt_below(const dealer_t *d, int p)
{
    const int64_t more = d->left % d->size;

    return p * (d->rounds * d->stack + d->left / d->size) + (p < more ? p : more);
}

static int64_t dealt_number(const dealer_t *d, int64_t vertex)
{
    const int64_t first = dealt_below(d, dealt_to(d, vertex));

    if (vertex >= d->dealt) {
        return first + d->rounds * d->stack + (vertex - d->dealt) / d->size;
    }
    return first + vertex / d->stack / d->size * d->stack + vertex % d->stack;
}

static spmm_status_t fail_memory(spmm_env_t *env, int64_t count)
{
    return spmmi_fail_memory(&env->err, count, sizeof(int64_t), "the distributed graph");
}

/** What travels: vertices and edges in the order of the ranks they are for, or came from. */
typedef struct {
    int64_t *length, *weight;         /**< [vertices] */
    int64_t *adj;                     /**< [edges], new numbers */
    int64_t *send_count, *recv_count; /**< [size] edges */
    int64_t *at, *at_edge;            /**< [size]: scratch, where the next for a rank go */
} packed_t;

static void free_packed(packed_t *x)
{
    spmmi_free_all(x->length, x->weight, x->adj, x->send_count, x->recv_count, x->at, x->at_edge);
}

static spmm_status_t alloc_packed(spmm_env_t *env, const spmm_dist_graph_t *graph,
                                  spmm_deal_t *deal, packed_t *x)
{
    const int     size = env->size;
    const int64_t n = graph->n_vertices, n_edges = graph->ptr[n];

    SPMM_NEW_ZERO(deal->send_count, size);
    SPMM_NEW(deal->recv_count, size);
    SPMM_NEW_ZERO(x->send_count, size);
    SPMM_NEW(x->recv_count, size);
    SPMM_NEW(x->at, size);
    SPMM_NEW(x->at_edge, size);
    SPMM_NEW(x->length, n);
    SPMM_NEW(x->weight, n);
    SPMM_NEW(x->adj, n_edges);
    if (deal->send_count == NULL || deal->recv_count == NULL || x->send_count == NULL ||
        x->recv_count == NULL || x->at == NULL || x->at_edge == NULL || x->length == NULL ||
        x->weight == NULL || x->adj == NULL) {
        return fail_memory(env, n_edges);
    }
    return SPMM_OK;
}

static void starts(const int64_t *count, int size, int64_t *at)
{
    int64_t sum = 0;

    for (int p = 0; p < size; p++) {
        at[p] = sum;
        sum += count[p];
    }
}

static void pack(int size, const spmm_dist_graph_t *graph, spmm_deal_t *deal, packed_t *x)
{
    const dealer_t d = dealer(graph->all_vertices, size);

    for (int64_t v = 0; v < graph->n_vertices; v++) {
        const int p = dealt_to(&d, graph->first + v);

        deal->send_count[p]++;
        x->send_count[p] += graph->ptr[v + 1] - graph->ptr[v];
    }
    starts(deal->send_count, size, x->at);
    starts(x->send_count, size, x->at_edge);
    for (int64_t v = 0; v < graph->n_vertices; v++) {
        const int p = dealt_to(&d, graph->first + v);

        x->length[x->at[p]]   = graph->ptr[v + 1] - graph->ptr[v];
        x->weight[x->at[p]++] = graph->weight[v];
        for (int64_t k = graph->ptr[v]; k < graph->ptr[v + 1]; k++) {
            x->adj[x->at_edge[p]++] = dealt_number(&d, graph->adj[k]);
        }
    }
}

/* Collective, agreed. */
static spmm_status_t exchange(spmm_env_t *env, const packed_t *x, const spmm_deal_t *deal,
                              spmm_dist_graph_t *graph)
{
    const dealer_t d       = dealer(graph->all_vertices, env->size);
    spmm_status_t  status  = SPMM_OK;
    int64_t        n_edges = 0;

    SPMM_TRY(spmmi_agree(
        env, spmmi_alltoall_counts(env, deal->send_count, deal->recv_count, &graph->n_vertices)));
    SPMM_TRY(spmmi_agree(env, spmmi_alltoall_counts(env, x->send_count, x->recv_count, &n_edges)));
    graph->first = dealt_below(&d, env->rank);
    SPMM_NEW(graph->ptr, graph->n_vertices + 1);
    SPMM_NEW(graph->weight, graph->n_vertices);
    SPMM_NEW(graph->adj, n_edges);
    if (graph->ptr == NULL || graph->weight == NULL || graph->adj == NULL) {
        status = fail_memory(env, n_edges);
    }
    SPMM_TRY(spmmi_agree(env, status));
    SPMM_TRY(spmmi_alltoallv(env, x->length, deal->send_count, graph->ptr + 1, deal->recv_count,
                             sizeof *x->length));
    SPMM_TRY(spmmi_alltoallv(env, x->weight, deal->send_count, graph->weight, deal->recv_count,
                             sizeof *x->weight));
    SPMM_TRY(
        spmmi_alltoallv(env, x->adj, x->send_count, graph->adj, x->recv_count, sizeof *x->adj));
    graph->ptr[0] = 0;
    for (int64_t v = 0; v < graph->n_vertices; v++) {
        graph->ptr[v + 1] += graph->ptr[v];
    }
    return SPMM_OK;
}

spmm_status_t spmmi_dist_graph_deal(spmm_env_t *env, spmm_dist_graph_t *graph, spmm_deal_t *deal)
{
    packed_t      x = {0};
    spmm_status_t status;

    *deal  = (spmm_deal_t){.first        = graph->first,
                           .n_vertices   = graph->n_vertices,
                           .all_vertices = graph->all_vertices};
    status = spmmi_agree(env, alloc_packed(env, graph, deal, &x));
    if (status == SPMM_OK) {
        pack(env->size, graph, deal, &x);
        spmmi_free_all(graph->ptr, graph->adj, graph->weight);
        graph->ptr = graph->adj = graph->weight = NULL;
        status                                  = exchange(env, &x, deal, graph);
    }
    free_packed(&x);
    return status;
}

spmm_status_t spmmi_deal_collect(spmm_env_t *env, const spmm_deal_t *deal, const int32_t *dealt,
                                 int32_t *part)
{
    const dealer_t d = dealer(deal->all_vertices, env->size);
    int32_t       *packed;
    int64_t       *at;
    spmm_status_t  status = SPMM_OK;

    SPMM_NEW(packed, deal->n_vertices);
    SPMM_NEW(at, env->size);
    if (packed == NULL || at == NULL) {
        status = fail_memory(env, deal->n_vertices);
    }
    status = spmmi_agree(env, status);
    if (status == SPMM_OK) {
        status =
            spmmi_alltoallv(env, dealt, deal->recv_count, packed, deal->send_count, sizeof *packed);
    }
    if (status == SPMM_OK) {
        starts(deal->send_count, env->size, at);
        for (int64_t v = 0; v < deal->n_vertices; v++) {
            part[v] = packed[at[dealt_to(&d, deal->first + v)]++];
        }
    }
    spmmi_free_all(packed, at);
    return status;
}

void spmmi_deal_free(spmm_deal_t *deal)
{
    spmmi_free_all(deal->send_count, deal->recv_count);
    *deal = (spmm_deal_t){0};
}
