/* SPDX-License-Identifier: Apache-2.0 */
/** @file nodes.h  Which ranks share a node, for what depends on the way between two ranks. */
#ifndef SPMM_BASE_NODES_H
#define SPMM_BASE_NODES_H

#include "base/env.h"

/** Number the nodes of @p size ranks in the order of their lowest ranks.  Local; no MPI rank need
 *  be there for each.
 *  @param[in]  lowest  [size] the lowest rank of the node of each
 *  @param[out] nodes   release with spmmi_nodes_free() */
spmm_status_t spmmi_nodes_create(spmm_error_t *err, int size, const int *lowest,
                                 spmm_nodes_t *nodes);

/** Nodes of @p per_node successive ranks each, the last perhaps of fewer.  Local. */
spmm_status_t spmmi_nodes_split(spmm_error_t *err, int size, int per_node, spmm_nodes_t *nodes);

/** Fill env->nodes: ranks that can share memory make a node, or with @p per_node > 0
 *  as spmmi_nodes_split() does.  Collective, agreed. */
spmm_status_t spmmi_nodes_find(spmm_env_t *env, int per_node);

/** NULL-safe inside: nodes that were never found are none. */
void spmmi_nodes_free(spmm_nodes_t *nodes);

/** Is the way from rank @p p to rank @p q within a node?  Yes where nodes were not found. */
static inline bool spmmi_nodes_share(const spmm_nodes_t *nodes, int p, int q)
{
    return nodes->node == NULL || nodes->node[p] == nodes->node[q];
}

static inline spmm_way_t spmmi_nodes_way(const spmm_nodes_t *nodes, int p, int q)
{
    return spmmi_nodes_share(nodes, p, q) ? SPMM_WITHIN : SPMM_BETWEEN;
}

/** Are there several nodes, of which one has several ranks?  NULL: no. */
static inline bool spmmi_nodes_are_grouped(const spmm_nodes_t *nodes)
{
    return nodes != NULL && nodes->count > 1 && nodes->most > 1;
}

#endif /* SPMM_BASE_NODES_H */
