/* SPDX-License-Identifier: Apache-2.0 */
/** @file ptscotch.c
 *  k-way partition by PT-Scotch (Chevalier, Pellegrini 2008) of a graph that stays distributed: no
 *  rank holds the whole.  It minimises the entries of A that need rows of B from elsewhere.
 */
#include "partition/partitioners.h"

#ifdef SPMM_HAVE_PTSCOTCH
#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "partition/ptscotch/call.h"

/* Several builds with integers of different lengths have libraries of one name. */
static spmm_status_t check_build(spmm_env_t *env)
{
    const int bits = 8 * SCOTCH_numSizeof(), expected = 8 * (int)sizeof(SCOTCH_Num);

    if (bits != expected) {
        return spmmi_fail(
            &env->err, SPMM_ERR_UNSUPPORTED,
            "the libptscotch found at run time has %d-bit indices and this library was "
            "built for %d: let LD_LIBRARY_PATH lead to the other one, or use partition "
            "metis or block",
            bits, expected);
    }
    return SPMM_OK;
}

static spmm_status_t check_objective(spmm_env_t *env, const char *objective)
{
    if (objective != NULL && strcmp(objective, "cut") != 0) {
        return spmmi_fail(&env->err, SPMM_ERR_ARGUMENT,
                          "partition ptscotch has no objective %s: leave it out or ask for cut, or "
                          "use partition metis",
                          objective);
    }
    return SPMM_OK;
}

/* PT-Scotch counts what a rank sends in int. */
static spmm_status_t check_local(spmm_env_t *env, const spmm_dist_graph_t *graph)
{
    const int64_t n_edges = graph->ptr[graph->n_vertices];

    if (graph->n_vertices > INT32_MAX || n_edges > INT32_MAX) {
        return spmmi_fail(&env->err, SPMM_ERR_UNSUPPORTED,
                          "the graph has %" PRId64 " vertices and %" PRId64
                          " edges on a rank, and PT-Scotch takes %d: use more ranks, or partition "
                          "block or file",
                          graph->n_vertices, n_edges, INT32_MAX);
    }
    return SPMM_OK;
}

/* To ranks: PT-Scotch numbers parts as it halves the graph, so that successive ones lie next to
 * each other.  They go to the ranks of one node after the other.  @p dealt [graph->n_vertices] */
static spmm_status_t check_parts(spmm_env_t *env, const spmm_dist_graph_t *graph,
                                 const spmm_nodes_t *nodes, const SCOTCH_Num *part, int32_t *dealt)
{
    for (int64_t v = 0; v < graph->n_vertices; v++) {
        if (part[v] < 0 || part[v] >= env->size) {
            return spmmi_fail(&env->err, SPMM_ERR_INTERNAL,
                              "PT-Scotch put vertex %" PRId64 " into part %" PRId64
                              ", but parts are 0 to %d",
                              graph->first + v, (int64_t)part[v], env->size - 1);
        }
        dealt[v] = nodes == NULL ? (int32_t)part[v] : nodes->rank[part[v]];
    }
    return SPMM_OK;
}

/* Collective, agreed.  @p dealt [graph->n_vertices] */
static spmm_status_t call_ptscotch(spmm_env_t *env, const spmm_partition_options_t *options,
                                   spmm_dist_graph_t *graph, int32_t *dealt)
{
    const double  start = spmmi_now();
    SCOTCH_Num   *part;
    spmm_status_t status = check_local(env, graph);

    if (SPMM_NEW(part, graph->n_vertices) == NULL) {
        status = spmmi_fail_memory(&env->err, graph->n_vertices, sizeof *part,
                                   "the parts PT-Scotch makes");
    } else {
        memset(part, 0xff, (size_t)graph->n_vertices * sizeof *part); /* -1: not set */
    }
    status = spmmi_agree(env, status);
    if (status == SPMM_OK) {
        status = spmmi_ptscotch_part(env, graph, options->imbalance, options->seed, part);
    }
    if (status == SPMM_OK) {
        status = spmmi_agree(env, check_parts(env, graph, options->nodes, part, dealt));
    }
    spmmi_free(part);
    if (status == SPMM_OK && env->rank == 0) {
        spmmi_log(env,
                  "partition ptscotch: %" PRId64 " vertices, %" PRId64
                  " edges, objective cut, %.2f s",
                  graph->all_vertices, graph->all_edges / 2, spmmi_now() - start);
    }
    return status;
}

/* PT-Scotch 7.0 crashes where a rank has far more vertices of a half of the graph than the others,
 * as it has of rows in a good order, or of none on some ranks: its fold of one half onto half of
 * the ranks reads what it did not set.  Dealt out to all ranks no half is anywhere
 * more than elsewhere. */
static spmm_status_t cut_graph(const spmm_matrix_t *A, const spmm_partition_options_t *options,
                               spmm_dist_graph_t *graph, int32_t *row_part)
{
    spmm_env_t   *env   = A->env;
    spmm_deal_t   deal  = {0};
    int32_t      *dealt = NULL, *part = NULL;
    spmm_status_t status = spmmi_dist_graph_deal(env, graph, &deal);

    if (status == SPMM_OK) {
        SPMM_NEW(dealt, graph->n_vertices);
        SPMM_NEW(part, deal.n_vertices);
        if (dealt == NULL || part == NULL) {
            status = spmmi_fail_memory(&env->err, graph->n_vertices + deal.n_vertices,
                                       sizeof *dealt, "the parts PT-Scotch makes");
        }
        status = spmmi_agree(env, status);
    }
    if (status == SPMM_OK) {
        status = call_ptscotch(env, options, graph, dealt);
    }
    if (status == SPMM_OK) {
        status = spmmi_deal_collect(env, &deal, dealt, part);
    }
    if (status == SPMM_OK) { /* rows come first */
        memcpy(row_part, part, (size_t)A->n_rows * sizeof *row_part);
    }
    spmmi_free_all(dealt, part);
    spmmi_deal_free(&deal);
    return status;
}

static spmm_status_t part_rows(const spmm_matrix_t *A, const spmm_partition_options_t *options,
                               int32_t *row_part)
{
    spmm_dist_graph_t graph = {0};
    spmm_status_t     status;

    if (A->env->size == 1) {
        memset(row_part, 0, (size_t)A->n_rows * sizeof *row_part);
        return SPMM_OK;
    }
    SPMM_TRY(spmmi_agree(A->env, check_build(A->env)));
    if (spmmi_graph_is_worth_cutting(A, A->env->size)) {
        SPMM_TRY(spmmi_dist_graph_create(A, "PT-Scotch", SCOTCH_NUMMAX, &graph));
    }
    if (graph.all_edges == 0) {
        status = spmmi_blocks_instead(A, "ptscotch", row_part);
    } else {
        status = cut_graph(A, options, &graph, row_part);
        if (status == SPMM_OK) {
            status = spmmi_balance_report(A, "ptscotch", options, row_part);
        }
    }
    spmmi_dist_graph_free(&graph);
    return status;
}

static spmm_status_t run(const spmm_matrix_t *A, const spmm_partition_options_t *options,
                         spmm_partition_t *partition)
{
    SPMM_TRY(spmmi_agree(A->env, check_objective(A->env, options->objective)));
    SPMM_TRY(spmmi_partition_alloc(A, partition));
    SPMM_TRY(part_rows(A, options, partition->row_part));
    return spmmi_partition_columns(A, partition);
}

#else

static spmm_status_t run(const spmm_matrix_t *A, const spmm_partition_options_t *options,
                         spmm_partition_t *partition)
{
    (void)options;
    (void)partition;
    return spmmi_fail(&A->env->err, SPMM_ERR_UNSUPPORTED,
                      "this library was built without PT-Scotch: use partition metis or block, or "
                      "build it where PT-Scotch 7 is found");
}

#endif

const spmm_partitioner_t spmmi_partitioner_ptscotch = {
    .name = "ptscotch",
    .description =
        "PT-Scotch k-way on all ranks, fewest cut entries; no rank holds the whole graph",
#ifdef SPMM_HAVE_PTSCOTCH
    .built = true,
#endif
    .run = run,
};
