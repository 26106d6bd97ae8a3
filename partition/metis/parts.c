/* SPDX-License-Identifier: Apache-2.0 */
/** @file parts.c
 *  Nodes first: rows that cross the network are those between the parts of the first cut, which has
 *  few parts, and so is better and sooner made than one of all ranks; within a node rows cost
 *  little.  A cut of all ranks at once would not know which of its parts share a node.
 */
#include "partition/metis/parts.h"

#ifdef SPMM_HAVE_METIS
#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/nodes.h"
#include "partition/metis/call.h"
#include "partition/partitioners.h"

/* Refining for volume looks at neighbours of neighbours, and takes 4 times as long as for the cut
 * for R-MAT graphs in 64 parts, to leave a tenth fewer rows to send: from so many parts on, and so
 * uneven degrees, the cut serves. */
enum { MANY_PARTS = 32 };
static const double uneven = 4.0; /* mean square of the degrees / square of their mean */

idx_t spmmi_metis_most  = IDX_MAX;
idx_t spmmi_metis_small = 1 << 23;

static bool asks_for_cut(const spmm_partition_options_t *options)
{
    return options->objective != NULL && strcmp(options->objective, "vol") != 0;
}

/* METIS sums edge weights in idx_t; for volume an edge weighs 1 + the sizes of both ends. */
int64_t spmmi_metis_max_edges(const spmm_partition_options_t *options)
{
    return asks_for_cut(options) ? spmmi_metis_most : spmmi_metis_most / 3;
}

static bool is_uneven(const spmm_metis_graph_t *graph)
{
    double sum = 0.0, squares = 0.0;

    for (idx_t v = 0; v < graph->n_vertices; v++) {
        const double degree = (double)(graph->xadj[v + 1] - graph->xadj[v]);

        sum += degree;
        squares += degree * degree;
    }
    return squares * (double)graph->n_vertices > uneven * sum * sum;
}

static void set_options(const spmm_partition_options_t *options, bool volume, double imbalance,
                        bool thorough, idx_t *settings)
{
    const double slack = (imbalance - 1.0) * 1000.0;

    METIS_SetDefaultOptions(settings);
    settings[METIS_OPTION_NUMBERING] = 0;
    settings[METIS_OPTION_OBJTYPE]   = volume ? METIS_OBJTYPE_VOL : METIS_OBJTYPE_CUT;
    settings[METIS_OPTION_UFACTOR]   = slack < 1.0 ? 1 : slack > 1e6 ? 1000000 : (idx_t)slack;
    settings[METIS_OPTION_SEED]      = (idx_t)(options->seed % INT32_MAX);
    if (thorough) {
        /* Two tries and more refinement than the defaults (1 and 10): fewer rows to exchange
         * whatever the seed (1712 to 1776 against 1776 to 2010 on a 400 x 400 grid). */
        settings[METIS_OPTION_NCUTS] = 2;
        settings[METIS_OPTION_NITER] = 30;
    }
}

static spmm_status_t check_metis(spmm_env_t *env, int code)
{
    switch (code) {
    case METIS_OK:
        return SPMM_OK;
    case METIS_ERROR_MEMORY:
        return spmmi_fail(&env->err, SPMM_ERR_MEMORY,
                          "METIS ran out of memory: use partition ptscotch, block or file");
    case METIS_ERROR_INPUT:
        return spmmi_fail(&env->err, SPMM_ERR_INTERNAL,
                          "METIS rejects the graph it was given: please report it");
    default:
        return spmmi_fail(&env->err, SPMM_ERR_INTERNAL, "METIS failed with status %d", code);
    }
}

/** One cut. */
typedef struct {
    const spmm_partition_options_t *options;
    int                             n_parts;
    int     all_parts; /**< of all cuts, where this is the last of several */
    double  imbalance; /**< allowed, of these parts */
    real_t *share;     /**< as in spmmi_metis_kway() */
} cut_t;

/* Between two ranks one try for the cut leaves a large graph with less to exchange and to multiply
 * behind it than one for volume, in 0.2 to 0.6 of the time. */
static bool by_volume(const cut_t *cut, const spmm_metis_graph_t *graph)
{
    if (cut->options->objective != NULL) {
        return !asks_for_cut(cut->options);
    }
    if (cut->all_parts >= MANY_PARTS) {
        return !is_uneven(graph);
    }
    return cut->all_parts != 2 || cut->share != NULL || graph->n_edges <= spmmi_metis_small;
}

/* Seconds are worth fewer rows to exchange: not within a node, where rows cost little, nor between
 * nodes where degrees are uneven, where more tries find no fewer (2.5 % at most in 64 parts, in two
 * to three times the time). */
static bool is_thorough(const cut_t *cut, const spmm_metis_graph_t *graph)
{
    const bool between = cut->share != NULL, inside = cut->n_parts < cut->all_parts;

    return graph->n_edges <= spmmi_metis_small && !inside && !(between && is_uneven(graph));
}

static spmm_status_t call_metis(spmm_env_t *env, const cut_t *cut, const spmm_metis_graph_t *graph,
                                idx_t *part)
{
    const bool   volume    = by_volume(cut, graph);
    const double start     = spmmi_now();
    idx_t        objective = 0;
    idx_t        settings[METIS_NOPTIONS];

    set_options(cut->options, volume, cut->imbalance, is_thorough(cut, graph), settings);
    memset(part, 0xff, (size_t)graph->n_vertices * sizeof *part); /* -1: not set */
    SPMM_TRY(check_metis(env, spmmi_metis_kway(graph->n_vertices, cut->n_parts, graph->xadj,
                                               graph->adjncy, graph->vwgt, graph->vsize, cut->share,
                                               settings, &objective, part)));
    for (idx_t v = 0; v < graph->n_vertices; v++) {
        if (part[v] < 0 || part[v] >= cut->n_parts) {
            return spmmi_fail(&env->err, SPMM_ERR_INTERNAL,
                              "METIS put vertex %" PRId64 " into part %" PRId64
                              ", but parts are 0 to %d",
                              (int64_t)v, (int64_t)part[v], cut->n_parts - 1);
        }
    }
    spmmi_log(env,
              "partition metis: %" PRId64 " vertices, %" PRId64
              " edges, %d parts, objective %s %" PRId64 ", %.2f s",
              (int64_t)graph->n_vertices, (int64_t)graph->n_edges / 2, cut->n_parts,
              volume ? "vol" : "cut", (int64_t)objective, spmmi_now() - start);
    return SPMM_OK;
}

static int64_t weight_of(const spmm_metis_graph_t *graph)
{
    int64_t sum = 0;

    for (idx_t v = 0; v < graph->n_vertices; v++) {
        sum += graph->vwgt[v];
    }
    return sum;
}

/* Consecutive vertices of about equal weight: for graphs that METIS cannot cut. */
static void deal(const spmm_metis_graph_t *graph, int n_parts, idx_t *part)
{
    const double all    = (double)weight_of(graph);
    double       before = 0.0;

    for (idx_t v = 0; v < graph->n_vertices; v++) {
        const int p = (int)((before + 0.5 * (double)graph->vwgt[v]) / all * n_parts);

        part[v] = p < n_parts ? p : n_parts - 1;
        before += (double)graph->vwgt[v];
    }
}

static spmm_status_t alloc_like(spmm_env_t *env, const spmm_metis_graph_t *graph,
                                spmm_metis_graph_t *sub)
{
    SPMM_NEW(sub->xadj, (int64_t)graph->n_vertices + 1);
    SPMM_NEW(sub->adjncy, graph->n_edges);
    SPMM_NEW(sub->vwgt, graph->n_vertices);
    if (graph->vsize != NULL) {
        SPMM_NEW(sub->vsize, graph->n_vertices);
    }
    return sub->xadj != NULL && sub->adjncy != NULL && sub->vwgt != NULL &&
                   (sub->vsize != NULL || graph->vsize == NULL)
               ? SPMM_OK
               : spmmi_fail_memory(&env->err, graph->n_edges, sizeof *sub->adjncy,
                                   "the graph of a node for METIS");
}

/** What the second cut needs. */
typedef struct {
    idx_t             *node;  /**< [n_vertices] of each vertex */
    idx_t             *order; /**< [n_vertices] the vertices by node, ascending in each */
    idx_t             *first; /**< [nodes + 1] where those of each node begin */
    idx_t             *place; /**< [n_vertices] of each vertex among those of its node */
    idx_t             *part;  /**< [n_vertices] of a node's graph */
    spmm_metis_graph_t sub;
} inner_t;

/* @p nodes: how many */
static void sort_by_node(const spmm_metis_graph_t *graph, int nodes, inner_t *in)
{
    memset(in->first, 0, ((size_t)nodes + 1) * sizeof *in->first);
    for (idx_t v = 0; v < graph->n_vertices; v++) {
        in->place[v] = in->first[in->node[v] + 1]++;
    }
    for (int k = 0; k < nodes; k++) {
        in->first[k + 1] += in->first[k];
    }
    for (idx_t v = 0; v < graph->n_vertices; v++) {
        in->order[in->first[in->node[v]] + in->place[v]] = v;
    }
}

/* The vertices of a node and the edges among them. */
static void take_node(const spmm_metis_graph_t *graph, int which, inner_t *in)
{
    const idx_t        *order = in->order + in->first[which];
    spmm_metis_graph_t *sub   = &in->sub;

    sub->n_vertices = in->first[which + 1] - in->first[which];
    sub->n_edges    = 0;
    sub->xadj[0]    = 0;
    for (idx_t k = 0; k < sub->n_vertices; k++) {
        const idx_t v = order[k];

        for (idx_t e = graph->xadj[v]; e < graph->xadj[v + 1]; e++) {
            if (in->node[graph->adjncy[e]] == which) {
                sub->adjncy[sub->n_edges++] = in->place[graph->adjncy[e]];
            }
        }
        sub->xadj[k + 1] = sub->n_edges;
        sub->vwgt[k]     = graph->vwgt[v];
        if (sub->vsize != NULL) {
            sub->vsize[k] = graph->vsize[v];
        }
    }
}

/* The share of a node among its ranks.  Where the first cut gave it too much its ranks must be the
 * more even: the bound is that of all parts. */
static spmm_status_t cut_node(spmm_env_t *env, const cut_t *all, int n_ranks, double mean,
                              inner_t *in)
{
    const cut_t cut = {.options   = all->options,
                       .n_parts   = n_ranks,
                       .all_parts = all->n_parts,
                       .imbalance = all->imbalance * mean * n_ranks / (double)weight_of(&in->sub)};

    if (n_ranks == 1 || in->sub.n_edges == 0 ||
        in->sub.n_vertices < (int64_t)SPMM_MIN_VERTICES_PER_PART * n_ranks) {
        deal(&in->sub, n_ranks, in->part);
        return SPMM_OK;
    }
    return call_metis(env, &cut, &in->sub, in->part);
}

static spmm_status_t cut_inside(spmm_env_t *env, const cut_t *all, const spmm_metis_graph_t *graph,
                                inner_t *in, idx_t *part)
{
    const spmm_nodes_t *nodes = all->options->nodes;
    const double        mean  = (double)weight_of(graph) / all->n_parts;

    sort_by_node(graph, nodes->count, in);
    for (int k = 0; k < nodes->count; k++) {
        const int *rank = nodes->rank + nodes->first[k];

        take_node(graph, k, in);
        SPMM_TRY(cut_node(env, all, nodes->first[k + 1] - nodes->first[k], mean, in));
        for (idx_t v = 0; v < in->sub.n_vertices; v++) {
            part[in->order[in->first[k] + v]] = rank[in->part[v]];
        }
    }
    return SPMM_OK;
}

/* @p share [nodes->count] */
static spmm_status_t cut_nodes(spmm_env_t *env, const cut_t *all, const spmm_metis_graph_t *graph,
                               inner_t *in, real_t *share)
{
    const spmm_nodes_t *nodes = all->options->nodes;
    /* Half of the slack; the ranks of a node get what is left. */
    const cut_t cut = {.options   = all->options,
                       .n_parts   = nodes->count,
                       .all_parts = nodes->count,
                       .imbalance = 1.0 + 0.5 * (all->imbalance - 1.0),
                       .share     = share};

    for (int k = 0; k < nodes->count; k++) {
        share[k] = (real_t)(nodes->first[k + 1] - nodes->first[k]) / (real_t)all->n_parts;
    }
    return call_metis(env, &cut, graph, in->node);
}

/* Into nodes and these into ranks. */
static spmm_status_t nodes_first(spmm_env_t *env, const cut_t *all, const spmm_metis_graph_t *graph,
                                 idx_t *part)
{
    inner_t       in     = {.node = NULL};
    real_t       *share  = NULL;
    spmm_status_t status = alloc_like(env, graph, &in.sub);

    SPMM_NEW(in.node, graph->n_vertices);
    SPMM_NEW(in.order, graph->n_vertices);
    SPMM_NEW(in.first, (int64_t)all->options->nodes->count + 1);
    SPMM_NEW(in.place, graph->n_vertices);
    SPMM_NEW(in.part, graph->n_vertices);
    SPMM_NEW(share, all->options->nodes->count);
    if (status == SPMM_OK && (in.node == NULL || in.order == NULL || in.first == NULL ||
                              in.place == NULL || in.part == NULL || share == NULL)) {
        status =
            spmmi_fail_memory(&env->err, graph->n_vertices, sizeof *part, "the parts METIS makes");
    }
    if (status == SPMM_OK) {
        status = cut_nodes(env, all, graph, &in, share);
    }
    if (status == SPMM_OK) {
        status = cut_inside(env, all, graph, &in, part);
    }
    spmmi_metis_graph_free(&in.sub);
    spmmi_free_all(in.node, in.order, in.first, in.place, in.part, share);
    return status;
}

spmm_status_t spmmi_metis_parts(spmm_env_t *env, const spmm_partition_options_t *options,
                                const spmm_metis_graph_t *graph, int n_parts, idx_t *part)
{
    const cut_t all = {.options   = options,
                       .n_parts   = n_parts,
                       .all_parts = n_parts,
                       .imbalance = options->imbalance};

    return spmmi_nodes_are_grouped(options->nodes) ? nodes_first(env, &all, graph, part)
                                                   : call_metis(env, &all, graph, part);
}
#endif
