/* SPDX-License-Identifier: Apache-2.0 */
/** @file dendrogram.h  Hierarchical communities of a graph, by modularity. */
#ifndef SPMM_PARTITION_DENDROGRAM_H
#define SPMM_PARTITION_DENDROGRAM_H

#include "partition/reorder/row_graph.h"

/** The vertices of @p graph as a depth-first walk over its dendrogram meets them: members of a
 *  community, at every level, stand together.  Acc-SpMM, algorithm 1, step I; aggregation as in
 *  Rabbit Order (Arai et al. 2016).  About O(edges log edges), deterministic.
 *  @param[in]  most  vertices of a community, INT32_MAX: any number
 *  @param[out] walk  [n_vertices] */
spmm_status_t spmmi_dendrogram_walk(spmm_env_t *env, const spmm_row_graph_t *graph, int32_t most,
                                    int32_t *walk);

#endif /* SPMM_PARTITION_DENDROGRAM_H */
