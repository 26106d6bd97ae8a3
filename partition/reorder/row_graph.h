/* SPDX-License-Identifier: Apache-2.0 */
/** @file row_graph.h  The pattern of a local block as an undirected graph; for reordering. */
#ifndef SPMM_PARTITION_ROW_GRAPH_H
#define SPMM_PARTITION_ROW_GRAPH_H

#include "matrix/csr.h"

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

/** The vertices by ascending degree, equal ones in random order, always the same.
 *  @param[out] order  [n_vertices] */
spmm_status_t spmmi_row_graph_by_degree(spmm_env_t *env, const spmm_row_graph_t *graph,
                                        int32_t *order);

#endif /* SPMM_PARTITION_ROW_GRAPH_H */
