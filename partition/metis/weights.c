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

static int64_t weight_of(const spmm_metis_pattern_t *pattern, idx_t v)
{
    return v >= pattern->rows ? 0 : pattern->row_ptr[v + 1] - pattern->row_ptr[v];
}

void spmmi_metis_weights(const spmm_metis_pattern_t *pattern, idx_t n_vertices, int n_parts,
                         idx_t *vwgt)
{
    spmm_weight_scale_t scale;
    int64_t             all = 0;

    for (idx_t v = 0; v < n_vertices; v++) {
        all += weight_of(pattern, v);
    }
    scale = spmmi_weight_scale(all, n_vertices, n_vertices - pattern->rows, IDX_MAX);
    for (idx_t v = 0; v < n_vertices; v++) {
        vwgt[v] = (idx_t)spmmi_weight(&scale, weight_of(pattern, v));
    }
    cut_heavy(n_vertices, n_parts, vwgt);
}
#endif
