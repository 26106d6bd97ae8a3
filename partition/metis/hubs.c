/* SPDX-License-Identifier: Apache-2.0 */
#include "partition/metis/hubs.h"

#ifdef SPMM_HAVE_METIS
#include "base/alloc.h"

/* Times the mean.  Least covers of two circuits are about as small with 10 to 100; with 5 one
 * vertex of twenty is a hub, and they are up to ten times as large. */
static const double hub = 20.0;

static double most_edges(const spmm_metis_graph_t *graph)
{
    return hub * (double)graph->n_edges / (double)graph->n_vertices;
}

static bool is_hub(const spmm_metis_graph_t *graph, idx_t v, double most)
{
    return (double)(graph->xadj[v + 1] - graph->xadj[v]) > most;
}

bool spmmi_metis_has_hubs(const spmm_metis_graph_t *graph)
{
    const double most  = most_edges(graph);
    bool         found = false;

    for (idx_t v = 0; v < graph->n_vertices && !found; v++) {
        found = is_hub(graph, v, most);
    }
    return found;
}

/* What an edge weighs, on average. */
static double weight_of_edge(const spmm_metis_graph_t *graph)
{
    double sum = 0.0;

    for (idx_t v = 0; v < graph->n_vertices; v++) {
        sum += (double)graph->vwgt[v];
    }
    return sum / (double)graph->n_edges;
}

/* Edges and weight of vertex @p v, which is none.  @p moves of the weight of an edge to a hub */
static void take_vertex(const spmm_metis_graph_t *graph, idx_t v, double moves,
                        spmm_metis_graph_t *rest)
{
    const double most = most_edges(graph);
    double       more = 0.0;

    for (idx_t e = graph->xadj[v]; e < graph->xadj[v + 1]; e++) {
        if (is_hub(graph, graph->adjncy[e], most)) {
            more += moves;
        } else {
            rest->adjncy[rest->n_edges++] = graph->adjncy[e];
        }
    }
    rest->vwgt[v] = graph->vwgt[v] + (idx_t)more;
}

spmm_status_t spmmi_metis_drop_hubs(spmm_error_t *err, const spmm_metis_graph_t *graph, int nodes,
                                    spmm_metis_graph_t *rest)
{
    const double moves = weight_of_edge(graph) * (1.0 - 1.0 / nodes), most = most_edges(graph);

    *rest = (spmm_metis_graph_t){.n_vertices = graph->n_vertices, .vsize = graph->vsize};
    SPMM_NEW(rest->xadj, (int64_t)graph->n_vertices + 1);
    SPMM_NEW(rest->adjncy, graph->n_edges);
    SPMM_NEW(rest->vwgt, graph->n_vertices);
    if (rest->xadj == NULL || rest->adjncy == NULL || rest->vwgt == NULL) {
        return spmmi_fail_memory(err, graph->n_edges, sizeof *rest->adjncy,
                                 "the graph without hubs for METIS");
    }
    rest->xadj[0] = 0;
    for (idx_t v = 0; v < graph->n_vertices; v++) {
        if (is_hub(graph, v, most)) {
            rest->vwgt[v] = 1;
        } else {
            take_vertex(graph, v, moves, rest);
        }
        rest->xadj[v + 1] = rest->n_edges;
    }
    return SPMM_OK;
}

/* Edges of hubs to each node in proportion to its ranks, had it one with @p more. */
static double load_of(const spmm_metis_graph_t *graph, const spmm_nodes_t *nodes,
                      const double *edges, int k, idx_t v)
{
    return (edges[k] + (double)(graph->xadj[v + 1] - graph->xadj[v])) /
           (nodes->first[k + 1] - nodes->first[k]);
}

spmm_status_t spmmi_metis_deal_hubs(spmm_error_t *err, const spmm_metis_graph_t *graph,
                                    const spmm_nodes_t *nodes, idx_t *vwgt, idx_t *node)
{
    const double most = most_edges(graph), stays = weight_of_edge(graph) / nodes->count;
    double      *edges;

    if (SPMM_NEW_ZERO(edges, nodes->count) == NULL) {
        return spmmi_fail_memory(err, nodes->count, sizeof *edges, "the hubs of nodes");
    }
    for (idx_t v = 0; v < graph->n_vertices; v++) {
        int to = 0;

        if (!is_hub(graph, v, most)) {
            continue;
        }
        for (int k = 1; k < nodes->count; k++) {
            to = load_of(graph, nodes, edges, k, v) < load_of(graph, nodes, edges, to, v) ? k : to;
        }
        edges[to] += (double)(graph->xadj[v + 1] - graph->xadj[v]);
        node[v] = to;
        vwgt[v] = 1 + (idx_t)(stays * (double)(graph->xadj[v + 1] - graph->xadj[v]));
    }
    spmmi_free(edges);
    return SPMM_OK;
}
#endif
