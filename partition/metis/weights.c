/* SPDX-License-Identifier: Apache-2.0 */
#include "partition/metis/graph.h"

#ifdef SPMM_HAVE_METIS
#include "partition/weights.h"

static void cut_heavy(idx_t n, int n_parts, idx_t *vwgt)
{
    for (int round = 0; round < SPMM_CUT_ROUNDS; round++) {
        int64_t sum = 0, limit;
        bool    cut = false;

        for (idx_t v = 0; v < n; v++) {
            sum += vwgt[v];
        }
        limit = spmmi_weight_limit(sum, n_parts);
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

void spmmi_metis_weights(const spmm_metis_pattern_t *pattern, idx_t n_vertices, int n_parts,
                         idx_t *vwgt)
{
    const spmm_weight_scale_t scale = spmmi_weight_scale(
        pattern->row_ptr[pattern->rows], n_vertices, n_vertices - pattern->rows, IDX_MAX);

    for (idx_t v = 0; v < n_vertices; v++) {
        const int64_t length =
            v < pattern->rows ? pattern->row_ptr[v + 1] - pattern->row_ptr[v] : 0;

        vwgt[v] = (idx_t)spmmi_weight(&scale, length);
    }
    cut_heavy(n_vertices, n_parts, vwgt);
}
#endif
