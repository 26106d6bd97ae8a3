/* SPDX-License-Identifier: Apache-2.0 */
/** @file cover.h
 *  The fewest rows of B and partial rows of C that travel from one owner to another.  Entries of
 *  the receiver's rows in the sender's columns are the edges of a bipartite graph; each is served
 *  by the row of B of its column or by the partial row of C of its row, so what travels is a vertex
 *  cover.  Koenig's theorem: the least cover is as large as the greatest matching.
 */
#ifndef SPMM_PARTITION_COVER_H
#define SPMM_PARTITION_COVER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

/** Rows of C are the left vertices, rows of B the right ones. */
typedef struct {
    int32_t        n_left, n_right;
    const int64_t *ptr;   /**< [n_left + 1] */
    const int32_t *right; /**< [ptr[n_left]] the right ends of the edges of each left vertex */
} spmm_bipartite_t;

/** A least cover: every edge has an end in it.  Which of several depends on the graph alone, so
 *  ranks that see the same one agree.  Local; time E sqrt(V) at most, by Hopcroft and Karp (SIAM J.
 *  Comput. 2, 1973).
 *  @param[out] left,right  [n_left], [n_right]: is the vertex in the cover?
 *  @param[out] count       vertices of the cover; may be NULL */
spmm_status_t spmmi_cover_least(spmm_error_t *err, const spmm_bipartite_t *graph, bool *left,
                                bool *right, int64_t *count);

#endif /* SPMM_PARTITION_COVER_H */
