/* SPDX-License-Identifier: Apache-2.0 */
/** @file graph.h  The pattern of A as the graph METIS partitions. */
#ifndef SPMM_PARTITION_METIS_GRAPH_H
#define SPMM_PARTITION_METIS_GRAPH_H

#include "matrix/matrix.h"

#ifdef SPMM_HAVE_METIS
#include <metis.h>

/** The largest number that METIS can hold: IDX_MAX but for tests, which lower it to
 *  see METIS refuse. */
extern idx_t spmmi_metis_most;
/** Edges of a graph, both directions counted, up to which more tries cost seconds at most; tests
 *  lower it. */
extern idx_t spmmi_metis_small;

/** Square A: the vertices are the rows, the edges the pattern of A + A^T without diagonal.  Other
 *  A: rows, then columns; the edges are the entries, both ways.  On rank 0; empty elsewhere. */
typedef struct {
    idx_t  n_vertices;
    idx_t  n_edges; /**< both directions counted; the same on all ranks */
    idx_t *xadj;    /**< [n_vertices + 1], owned */
    idx_t *adjncy;  /**< [n_edges], owned */
    idx_t *vwgt;    /**< [n_vertices], owned, >= 1 */
    idx_t *vsize;   /**< [n_vertices], owned, rows of B that stand behind a vertex; NULL: 1 each */
} spmm_metis_graph_t;

/** Collective, agreed.
 *  @param[in] n_parts    that it is to be cut into: no vertex weighs more than one should
 *  @param[in] max_edges  what METIS can take, <= IDX_MAX
 *  @return SPMM_ERR_UNSUPPORTED for a graph too large for idx_t */
spmm_status_t spmmi_metis_graph_create(const spmm_matrix_t *A, int n_parts, int64_t max_edges,
                                       spmm_metis_graph_t *graph);
void          spmmi_metis_graph_free(spmm_metis_graph_t *graph);

/** The pattern of A in one piece, on rank 0. */
typedef struct {
    int64_t  rows, cols;
    int64_t *row_ptr; /**< [rows + 1], owned */
    idx_t   *col;     /**< [row_ptr[rows]], owned, ascending in each row */
} spmm_metis_pattern_t;

#endif

#endif /* SPMM_PARTITION_METIS_GRAPH_H */
