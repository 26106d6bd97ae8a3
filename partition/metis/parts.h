/* SPDX-License-Identifier: Apache-2.0 */
/** @file parts.h  A graph cut by METIS, in one step or nodes first. */
#ifndef SPMM_PARTITION_METIS_PARTS_H
#define SPMM_PARTITION_METIS_PARTS_H

#include "partition/metis/graph.h"
#include "partition/partition.h"

#ifdef SPMM_HAVE_METIS
/** The most edges, both directions counted, of a graph to be cut by @p options. */
int64_t spmmi_metis_max_edges(const spmm_partition_options_t *options);

/** Cut @p graph into @p n_parts, with options->nodes first into the nodes and then each node's
 *  share, as a graph of its own, into its ranks.  Local.
 *  @param[out] part  [graph->n_vertices] in [0, n_parts), checked */
spmm_status_t spmmi_metis_parts(spmm_env_t *env, const spmm_partition_options_t *options,
                                const spmm_metis_graph_t *graph, int n_parts, idx_t *part);
#endif

#endif /* SPMM_PARTITION_METIS_PARTS_H */
