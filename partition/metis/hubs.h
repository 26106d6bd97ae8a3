/* SPDX-License-Identifier: Apache-2.0 */
/** @file hubs.h
 *  Rows and columns of very many entries.  A cover serves all entries of one between two nodes by a
 *  single row, wherever the others end up, so they say nothing of which rows belong together: a cut
 *  for covers leaves their edges out.  The entries of such a row are multiplied where their columns
 *  are.
 */
#ifndef SPMM_PARTITION_METIS_HUBS_H
#define SPMM_PARTITION_METIS_HUBS_H

#include "partition/metis/graph.h"

#ifdef SPMM_HAVE_METIS
/** Has a vertex 20 times as many edges as the mean? */
bool spmmi_metis_has_hubs(const spmm_metis_graph_t *graph);

/** The graph without the edges of such vertices.  They weigh nothing, and each of their neighbours
 *  as much more as it will multiply of their entries, which are on all of @p nodes nodes.  Local.
 *  @param[out] rest  sizes are borrowed from @p graph; release the others by spmmi_free_all(),
 *                    also after a failure */
spmm_status_t spmmi_metis_drop_hubs(spmm_error_t *err, const spmm_metis_graph_t *graph, int nodes,
                                    spmm_metis_graph_t *rest);

/** Deal them out over nodes, as many of their edges to each in proportion to its ranks: entries of
 *  two hubs are multiplied on one node, which is not to have them all.  Local.
 *  @param[in,out] vwgt  [graph->n_vertices] of drop_hubs(); a hub gets what stays on its node
 *  @param[in,out] node  [graph->n_vertices] */
spmm_status_t spmmi_metis_deal_hubs(spmm_error_t *err, const spmm_metis_graph_t *graph,
                                    const spmm_nodes_t *nodes, idx_t *vwgt, idx_t *node);
#endif

#endif /* SPMM_PARTITION_METIS_HUBS_H */
