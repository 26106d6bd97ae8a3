/* SPDX-License-Identifier: Apache-2.0 */
/** @file metis.c  Rows by the parts of METIS: a part is the size of a few windows. */
#include "partition/reorder/reorder.h"

#ifdef SPMM_HAVE_METIS
#include <inttypes.h>

#include "base/alloc.h"
#include "partition/metis/call.h"
#include "partition/reorder/row_graph.h"

/* Vertices of a part.  Below this METIS takes long and cuts worse. */
enum { PART = 48 };

static spmm_status_t cut(spmm_env_t *env, spmm_row_graph_t *graph, idx_t *xadj, idx_t *adjncy,
                         idx_t *part)
{
    idx_t parts = graph->n_vertices / PART, objective = 0;
    idx_t settings[METIS_NOPTIONS];
    int   code;

    for (int32_t v = 0; v <= graph->n_vertices; v++) {
        xadj[v] = (idx_t)graph->ptr[v];
    }
    for (int64_t k = 0; k < graph->ptr[graph->n_vertices]; k++) {
        adjncy[k] = graph->adj[k];
    }
    METIS_SetDefaultOptions(settings);
    settings[METIS_OPTION_NUMBERING] = 0;
    settings[METIS_OPTION_SEED]      = 1;
    code = spmmi_metis_kway(graph->n_vertices, parts, xadj, adjncy, NULL, NULL, NULL, settings,
                            &objective, part);
    if (code == METIS_ERROR_MEMORY) {
        return spmmi_fail(&env->err, SPMM_ERR_MEMORY,
                          "METIS ran out of memory: use reordering none");
    }
    if (code != METIS_OK) {
        return spmmi_fail(&env->err, SPMM_ERR_INTERNAL,
                          "METIS failed with status %d: use reordering affinity or none", code);
    }
    for (int32_t v = 0; v < graph->n_vertices; v++) {
        if (part[v] < 0 || part[v] >= parts) {
            return spmmi_fail(&env->err, SPMM_ERR_INTERNAL,
                              "METIS put row %" PRId32 " into part %" PRId64
                              ", but parts are 0 to %" PRId64 ": use reordering affinity or none",
                              v, (int64_t)part[v], (int64_t)parts - 1);
        }
    }
    return SPMM_OK;
}

/* Rows by part, in each by index; @p start [parts + 1], zeroed. */
static void gather(const idx_t *part, int32_t n_rows, int32_t parts, int64_t *start, int32_t *order)
{
    for (int32_t i = 0; i < n_rows; i++) {
        start[part[i] + 1]++;
    }
    for (int32_t p = 0; p < parts; p++) {
        start[p + 1] += start[p];
    }
    for (int32_t i = 0; i < n_rows; i++) {
        order[start[part[i]]++] = i;
    }
}

static spmm_status_t order_graph(spmm_env_t *env, spmm_row_graph_t *graph, int32_t n_rows,
                                 int32_t *order)
{
    const int64_t n_edges = graph->ptr[graph->n_vertices];
    const int32_t parts   = graph->n_vertices / PART;
    idx_t        *xadj, *adjncy, *part;
    int64_t      *start;
    spmm_status_t status;

    SPMM_TRY(spmmi_metis_check(&env->err, "reordering affinity or none"));
    if (n_edges >= IDX_MAX) {
        return spmmi_fail(&env->err, SPMM_ERR_UNSUPPORTED,
                          "the graph of rows has %" PRId64 " edges, too many for METIS built with "
                          "%d-bit indices: use reordering affinity",
                          n_edges, IDXTYPEWIDTH);
    }
    SPMM_NEW(xadj, (int64_t)graph->n_vertices + 1);
    SPMM_NEW(adjncy, n_edges);
    SPMM_NEW(part, graph->n_vertices);
    SPMM_NEW_ZERO(start, (int64_t)parts + 1);
    if (xadj == NULL || adjncy == NULL || part == NULL || start == NULL) {
        status = spmmi_fail_memory(&env->err, n_edges, sizeof *adjncy, "the graph for METIS");
    } else {
        status = cut(env, graph, xadj, adjncy, part);
    }
    if (status == SPMM_OK) {
        gather(part, n_rows, parts, start, order);
    }
    spmmi_free_all(xadj, adjncy, part, start);
    return status;
}

static spmm_status_t run(spmm_env_t *env, const spmm_csr_t *block, int threads, int32_t *order)
{
    spmm_row_graph_t graph;
    spmm_status_t    status;

    SPMM_TRY(spmmi_row_graph_create(env, block, threads, &graph));
    if (graph.n_vertices < 2 * PART || graph.ptr[graph.n_vertices] == 0) {
        for (int32_t i = 0; i < block->n_rows; i++) { /* METIS takes no such graph */
            order[i] = i;
        }
        status = SPMM_OK;
    } else {
        status = order_graph(env, &graph, block->n_rows, order);
    }
    spmmi_row_graph_free(&graph);
    return status;
}

#else

static spmm_status_t run(spmm_env_t *env, const spmm_csr_t *block, int threads, int32_t *order)
{
    (void)block;
    (void)threads;
    (void)order;
    return spmmi_fail(&env->err, SPMM_ERR_UNSUPPORTED,
                      "this library was built without METIS: use reordering affinity or rcm, or "
                      "build it where METIS is found");
}

#endif

const spmm_reorderer_t spmmi_reorderer_metis = {
    .name        = "metis",
    .description = "by METIS parts the size of a few windows",
#ifdef SPMM_HAVE_METIS
    .built = true,
#endif
    .run = run,
};
