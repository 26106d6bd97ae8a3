/* SPDX-License-Identifier: Apache-2.0 */
/** @file dendrogram.h  Hierarchical communities of a graph, by modularity. */
#ifndef SPMM_PARTITION_DENDROGRAM_H
#define SPMM_PARTITION_DENDROGRAM_H

#include "matrix/csr.h"

/* The pattern of a diagonal block as an undirected graph; for reordering. */

/** Square blocks: the vertices are the rows, the edges the pattern of A + A^T without diagonal.
 *  Others: rows, then columns; the edges are the entries, both ways. */
typedef struct {
    int32_t  n_vertices;
    int64_t *ptr; /**< [n_vertices + 1], owned */
    int32_t *adj; /**< [ptr[n_vertices]], owned, ascending for each vertex */
} spmm_row_graph_t;

/** Rows + columns must be below 2^31.  The same for any number of threads. */
spmm_status_t spmmi_row_graph_create(spmm_env_t *env, const spmm_csr_t *block, int threads,
                                     spmm_row_graph_t *graph);
void          spmmi_row_graph_free(spmm_row_graph_t *graph);

static inline int64_t spmmi_row_graph_degree(const spmm_row_graph_t *graph, int32_t v)
{
    return graph->ptr[v + 1] - graph->ptr[v];
}

/** The vertices of @p graph as a depth-first walk over its dendrogram meets them: members of a
 *  community, at every level, stand together.  Acc-SpMM, algorithm 1, step I; aggregation as in
 *  Rabbit Order (Arai et al. 2016).  About O(edges log edges), deterministic.
 *  @param[in]  most  vertices of a community, INT32_MAX: any number
 *  @param[out] walk  [n_vertices] */
spmm_status_t spmmi_dendrogram_walk(spmm_env_t *env, const spmm_row_graph_t *graph, int32_t most,
                                    int32_t *walk);

#endif /* SPMM_PARTITION_DENDROGRAM_H */
