/* SPDX-License-Identifier: Apache-2.0 */
/** @file dist_graph.h  The pattern of A as a graph that stays distributed over the ranks. */
#ifndef SPMM_PARTITION_DIST_GRAPH_H
#define SPMM_PARTITION_DIST_GRAPH_H

#include "matrix/matrix.h"

/** Square A: the vertices are the rows, the edges the pattern of A + A^T without diagonal.  Other
 *  A: the edges are the entries, both ways, between rows and columns; the vertices of a rank are
 *  its rows, then its columns.  Numbers of vertices ascend with the ranks that own them.  Memory
 *  and time of a rank are linear in the entries of its rows and of its columns. */
typedef struct {
    int64_t  first;      /**< number of the first vertex of this rank */
    int64_t  n_vertices; /**< of this rank */
    int64_t *ptr;        /**< [n_vertices + 1], owned */
    int64_t *adj;        /**< [ptr[n_vertices]], owned, global numbers, none twice at a vertex */
    int64_t *weight;     /**< [n_vertices], owned, >= 1, see weights.h */
    int64_t  all_vertices, all_edges; /**< of all ranks; both directions counted */
} spmm_dist_graph_t;

/** Collective, agreed.
 *  @param[in] most  the largest sum of weights, and number of edges, that the partitioner can hold
 *  @return SPMM_ERR_UNSUPPORTED for a graph with more, naming @p partitioner */
spmm_status_t spmmi_dist_graph_create(const spmm_matrix_t *A, const char *partitioner, int64_t most,
                                      spmm_dist_graph_t *graph);
void          spmmi_dist_graph_free(spmm_dist_graph_t *graph);

/** Where the vertices of a graph went. */
typedef struct {
    int64_t  first, n_vertices; /**< of this rank before */
    int64_t  all_vertices;
    int64_t *send_count,
        *recv_count; /**< [size], owned: vertices that went to and came from a rank */
} spmm_deal_t;

/** Deal the vertices of @p graph out to all ranks under new numbers: equally many to each, and to
 *  each its share of any region of the graph.  Collective, agreed; what is allocated when it
 *  fails stays in both. */
spmm_status_t spmmi_dist_graph_deal(spmm_env_t *env, spmm_dist_graph_t *graph, spmm_deal_t *deal);

/** Back to where the vertices were before.  Collective, agreed.
 *  @param[in]  dealt  [n_vertices of the dealt graph]
 *  @param[out] part   [deal->n_vertices] */
spmm_status_t spmmi_deal_collect(spmm_env_t *env, const spmm_deal_t *deal, const int32_t *dealt,
                                 int32_t *part);
void          spmmi_deal_free(spmm_deal_t *deal);

#endif /* SPMM_PARTITION_DIST_GRAPH_H */
