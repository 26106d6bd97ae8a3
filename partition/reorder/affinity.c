/* SPDX-License-Identifier: Apache-2.0 */
/** @file affinity.c
 *  Data-affinity-based reordering (Acc-SpMM, section 3.2): communities of the row graph first, then
 *  windows of rows that share columns.
 */
#include "base/alloc.h"
#include "partition/reorder/affinity_fill.h"
#include "partition/reorder/dendrogram.h"
#include "partition/reorder/reorder.h"

enum {
    MOST = 4096 /* vertices of a community: larger ones, which modularity would make of large
                   graphs, order nothing that windows can use, and their edges would be gathered
                   over and over */
};

/* The rows in the order in which a walk over the dendrogram comes by them. */
static spmm_status_t communities(spmm_env_t *env, const spmm_csr_t *block, int threads, int32_t n,
                                 int32_t *rows)
{
    spmm_row_graph_t graph;
    int32_t         *walk;
    spmm_status_t    status;

    SPMM_TRY(spmmi_row_graph_create(env, block, threads, &graph));
    if (SPMM_NEW(walk, graph.n_vertices) == NULL) {
        status = spmmi_fail_memory(&env->err, graph.n_vertices, sizeof *walk, "an order of rows");
    } else {
        status = spmmi_dendrogram_walk(env, &graph, MOST, walk);
    }
    for (int32_t k = 0, to = 0; status == SPMM_OK && to < n; k++) {
        const int32_t i = walk[k]; /* of a matrix that is not square, or a column */

        if (i < block->n_rows && block->row_ptr[i + 1] > block->row_ptr[i]) {
            rows[to++] = i;
        }
    }
    spmmi_free(walk);
    spmmi_row_graph_free(&graph);
    return status;
}

static const spmm_affinity_effort_t thorough = {.stretch = 4096, .heavy = 1024};

static spmm_status_t run(spmm_env_t *env, const spmm_csr_t *block, int threads, int32_t *order)
{
    return spmmi_affinity_order(env, block, threads, communities, &thorough, order);
}

const spmm_reorderer_t spmmi_reorderer_affinity = {
    .name        = "affinity",
    .description = "communities by modularity, in them rows by common columns (Acc-SpMM)",
    .built       = true,
    .run         = run,
};
