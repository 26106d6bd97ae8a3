/* SPDX-License-Identifier: Apache-2.0 */
/** @file auto.c
 *  The better of block and a partition of the graph: by metis, or by ptscotch where metis is not in
 *  the build or cannot take the matrix.  The time of an exchange grows with what the network
 *  carries (halo_total) and with what the busiest rank waits for (halo_max): the partition with the
 *  lower halo_total + size * halo_max wins, both terms being equal when all parts receive the same.
 *  Rows that cross a network count on top, in the same way, by as much as they take longer there.
 *  Block wins ties: it needs no other library and keeps neighbouring rows together.
 */
#include <inttypes.h>
#include <string.h>

#include "partition/partitioners.h"

static int64_t cost(const spmm_matrix_t *A, const spmm_partition_score_t *score)
{
    return score->halo_total + A->env->size * score->halo_max +
           SPMM_NETWORK_COST * (score->network_total + A->env->size * score->network_max);
}

/* Block, without a comparison. */
static spmm_status_t settle(const spmm_matrix_t *A, const char *note, spmm_partition_t *partition)
{
    partition->note = note;
    if (A->env->rank == 0) {
        spmmi_log(A->env, "partition auto: %s is %s", partition->method, note);
    }
    return SPMM_OK;
}

static const char *note_of(const char *winner, const char *graph)
{
    if (strcmp(winner, "block") == 0) {
        return strcmp(graph, "metis") == 0 ? "taken by auto, no worse than metis"
                                           : "taken by auto, no worse than ptscotch";
    }
    if (strcmp(graph, "metis") == 0) {
        return "taken by auto, better than block";
    }
    return spmmi_partitioner_metis.built
               ? "taken by auto, better than block; METIS cannot take this matrix"
               : "taken by auto, better than block; METIS is not in this build";
}

/* The first of metis and ptscotch that is built and takes the matrix; of none *graph is empty. */
static spmm_status_t cut_graph(const spmm_matrix_t *A, const spmm_partition_options_t *options,
                               spmm_partition_t *graph)
{
    const spmm_partitioner_t *const candidates[] = {&spmmi_partitioner_metis,
                                                    &spmmi_partitioner_ptscotch};

    for (size_t c = 0; c < sizeof candidates / sizeof candidates[0]; c++) {
        spmm_partition_options_t chosen = *options;
        spmm_status_t            status;

        if (!candidates[c]->built) {
            continue;
        }
        if (candidates[c] == &spmmi_partitioner_ptscotch) {
            chosen.objective = NULL; /* it has one only; what counts is the score */
        }
        status = spmmi_partition_run(A, candidates[c], &chosen, graph);
        if (status != SPMM_ERR_UNSUPPORTED) { /* that: too large for its indices */
            return status;
        }
        if (A->env->rank == 0) {
            spmmi_log(A->env, "%s", A->env->err.text);
        }
        spmmi_error_clear(&A->env->err);
    }
    return SPMM_OK;
}

/* Does @p graph beat block? */
static spmm_status_t compare(const spmm_matrix_t *A, const spmm_nodes_t *nodes,
                             const spmm_partition_score_t *block, const spmm_partition_t *graph,
                             bool *better)
{
    spmm_partition_score_t score;

    SPMM_TRY(spmmi_partition_score(A, graph, nodes, &score));
    *better = cost(A, &score) < cost(A, block);
    if (A->env->rank == 0) {
        spmmi_log(A->env,
                  "partition auto: %s; rows to receive, total and most: block %" PRId64 " %" PRId64
                  ", %s %" PRId64 " %" PRId64 "; over the network: block %" PRId64 " %" PRId64
                  ", %s %" PRId64 " %" PRId64 "; imbalance: block %.3f, %s %.3f",
                  *better ? graph->method : "block", block->halo_total, block->halo_max,
                  graph->method, score.halo_total, score.halo_max, block->network_total,
                  block->network_max, graph->method, score.network_total, score.network_max,
                  block->imbalance, graph->method, score.imbalance);
    }
    return SPMM_OK;
}

static spmm_status_t run(const spmm_matrix_t *A, const spmm_partition_options_t *options,
                         spmm_partition_t *partition)
{
    spmm_partition_t       graph = {0};
    spmm_partition_score_t score;
    spmm_status_t          status;
    const char            *note;
    bool                   better = false;

    SPMM_TRY(spmmi_partition_run(A, &spmmi_partitioner_block, options, partition));
    if (A->env->size == 1) {
        return SPMM_OK;
    }
    SPMM_TRY(spmmi_partition_score(A, partition, options->nodes, &score));
    if (score.halo_total == 0) {
        return settle(A, "taken by auto, nothing is to be received", partition);
    }
    SPMM_TRY(cut_graph(A, options, &graph));
    if (graph.method == NULL) {
        return settle(A,
                      spmmi_partitioner_metis.built || spmmi_partitioner_ptscotch.built
                          ? "taken by auto, no partitioner of graphs can take this matrix"
                          : "taken by auto, this build lacks METIS and PT-Scotch",
                      partition);
    }
    status = compare(A, options->nodes, &score, &graph, &better);
    note   = note_of(better ? graph.method : "block", graph.method);
    if (better) {
        spmmi_partition_free(partition);
        *partition = graph;
    } else {
        spmmi_partition_free(&graph);
    }
    partition->note = note;
    return status;
}

const spmm_partitioner_t spmmi_partitioner_auto = {
    .name        = "auto",
    .description = "block, or metis (else ptscotch) where that leaves fewer rows of B to receive",
    .built       = true,
    .run         = run,
};
