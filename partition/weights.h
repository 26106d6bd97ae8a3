/* SPDX-License-Identifier: Apache-2.0 */
/** @file weights.h
 *  What the vertex of a row weighs in a graph: as much as the row has entries, with three
 *  exceptions that partitioners of graphs need:
 *  - no weight is zero, or METIS 5.1 may put everything into one part; columns, which should weigh
 *    nothing, get 1 and rows so much more that columns do not count;
 *  - the sum fits the partitioner's integers;
 *  - a row heavier than a part fills one alone: it is cut to that weight, or METIS spoils the
 *    balance of the other parts and prints that it cannot bisect a graph without vertices.
 */
#ifndef SPMM_PARTITION_WEIGHTS_H
#define SPMM_PARTITION_WEIGHTS_H

#include <stdint.h>

/** weight = entries * times / divisor, at least 1 */
typedef struct {
    int64_t times, divisor;
} spmm_weight_scale_t;

/** @param[in] n_vertices  of the graph, columns included
 *  @param[in] n_cols      vertices that stand for columns
 *  @param[in] most        the largest sum the partitioner can hold */
spmm_weight_scale_t spmmi_weight_scale(int64_t nnz, int64_t n_vertices, int64_t n_cols,
                                       int64_t most);

int64_t spmmi_weight(const spmm_weight_scale_t *scale, int64_t entries);

/** Heavier vertices are cut to this mean of a part, which falls as they are: repeat with the new
 *  @p sum, SPMM_CUT_ROUNDS times at most, until none is.  The end is nearly the largest weight w
 *  with the sum of min(weight, w) >= n_parts * w. */
int64_t spmmi_weight_limit(int64_t sum, int n_parts);
enum { SPMM_CUT_ROUNDS = 64 };

#endif /* SPMM_PARTITION_WEIGHTS_H */
