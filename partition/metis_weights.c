/* SPDX-License-Identifier: Apache-2.0 */
/** @file metis_weights.c
 *  A row weighs as much as it has non-zeros, with three exceptions that METIS 5.1 needs:
 *  - no weight is zero, or METIS may put everything into one part; columns, which should weigh
 *    nothing, get 1 and rows so much more that columns do not count;
 *  - the sum fits idx_t;
 *  - a row heavier than a part fills one alone: it is cut to that weight, or METIS spoils the
 *    balance of the other parts and prints that it cannot bisect a graph without vertices.
 */
#include "partition/metis_graph.h"

#ifdef SPMM_HAVE_METIS
#include <inttypes.h>

/* Rows together weigh at least this many times what columns do. */
enum { ROWS_TO_COLUMNS = 64, CUT_ROUNDS = 64 };

static int64_t at_least_one(int64_t weight)
{
    return weight < 1 ? 1 : weight;
}

/* The largest weight w with the sum of min(weight, w) >= n_parts * w, nearly: each round takes the
 * mean of a part, which falls as heavy rows are cut. */
static void cut_heavy(idx_t n, int n_parts, idx_t *vwgt)
{
    for (int round = 0; round < CUT_ROUNDS; round++) {
        int64_t sum = 0, limit;
        bool    cut = false;

        for (idx_t v = 0; v < n; v++) {
            sum += vwgt[v];
        }
        limit = at_least_one((sum + n_parts - 1) / n_parts);
        for (idx_t v = 0; v < n; v++) {
            if (vwgt[v] > limit) {
                vwgt[v] = (idx_t)limit;
                cut     = true;
            }
        }
        if (!cut) {
            return;
        }
    }
}

void spmm_metis_weights(const spmm_metis_pattern_t *pattern, idx_t n_vertices, int n_parts,
                        idx_t *vwgt)
{
    const int64_t nnz    = pattern->row_ptr[pattern->rows];
    const int64_t n_cols = n_vertices - pattern->rows;
    /* A vertex never weighs more than total, and the sum with all the ones stays below IDX_MAX. */
    const int64_t limit = (IDX_MAX - (int64_t)n_vertices) / 2;
    int64_t       times = 1, divisor = 1;

    if (n_cols > 0) {
        times = ROWS_TO_COLUMNS * at_least_one(n_cols / at_least_one(nnz) + 1);
        if (times > limit / at_least_one(nnz)) {
            times = at_least_one(limit / at_least_one(nnz));
        }
    }
    if (nnz > limit) {
        divisor = nnz / at_least_one(limit) + 1;
    }
    for (idx_t v = 0; v < n_vertices; v++) {
        const int64_t length =
            v < pattern->rows ? pattern->row_ptr[v + 1] - pattern->row_ptr[v] : 0;

        vwgt[v] = (idx_t)at_least_one(length * times / divisor);
    }
    cut_heavy(n_vertices, n_parts, vwgt);
}
#endif
