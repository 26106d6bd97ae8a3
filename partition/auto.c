/* SPDX-License-Identifier: Apache-2.0 */
/** @file auto.c
 *  The better of block and a partition of the graph: by metis, or by ptscotch where metis is not in the
 *  build or cannot take the matrix.  The time of an exchange grows with what the network carries
 *  (halo_total) and with what the busiest rank waits for (halo_max): the partition with the lower
 *  halo_total + size * halo_max wins, both terms being equal when all parts receive the same.
 *  Block wins ties: it needs no other library and keeps neighbouring rows together.
 */
#include <inttypes.h>

#include "partition/partitioners.h"

static int64_t cost(const spmm_matrix_t *A, const spmm_partition_score_t *score)
{
    return score->halo_total + A->env->size * score->halo_max;
}

static void log_on_first(const spmm_matrix_t *A, const char *line)
{
    if (A->env->rank == 0) {
        spmm_log(A->env, "%s", line);
    }
}

/* The first of metis and ptscotch that is built and takes the matrix; of none *graph is empty. */
static spmm_status_t cut_graph(const spmm_matrix_t *A, const spmm_partition_options_t *options,
                               spmm_partition_t *graph)
{
    const spmm_partitioner_t *const candidates[] = {&spmm_partitioner_metis,
                                                    &spmm_partitioner_ptscotch};
    bool                            built        = false;

    for (size_t c = 0; c < sizeof candidates / sizeof candidates[0]; c++) {
        spmm_partition_options_t chosen = *options;
        spmm_status_t            status;

        if (!candidates[c]->built) {
            continue;
        }
        built = true;
        if (candidates[c] == &spmm_partitioner_ptscotch) {
            chosen.objective = NULL; /* it has one only; what counts is the score */
        }
        status = spmm_partition_run(A, candidates[c], &chosen, graph);
        if (status != SPMM_ERR_UNSUPPORTED) { /* that: too large for its indices */
            return status;
        }
        log_on_first(A, A->env->err.text);
        spmm_error_clear(&A->env->err);
    }
    log_on_first(A, built ? "partition auto: block, no partitioner of graphs can take this matrix"
                          : "partition auto: block, this build lacks METIS and PT-Scotch");
    return SPMM_OK;
}

/* Does @p graph beat block? */
static spmm_status_t compare(const spmm_matrix_t *A, const spmm_partition_score_t *block,
                             const spmm_partition_t *graph, bool *better)
{
    spmm_partition_score_t score;

    SPMM_TRY(spmm_partition_score(A, graph, &score));
    *better = cost(A, &score) < cost(A, block);
    if (A->env->rank == 0) {
        spmm_log(A->env,
                 "partition auto: %s; rows to receive, total and most: block %" PRId64 " %" PRId64
                 ", %s %" PRId64 " %" PRId64 "; imbalance: block %.3f, %s %.3f",
                 *better ? graph->method : "block", block->halo_total, block->halo_max,
                 graph->method, score.halo_total, score.halo_max, block->imbalance, graph->method,
                 score.imbalance);
    }
    return SPMM_OK;
}

static spmm_status_t run(const spmm_matrix_t *A, const spmm_partition_options_t *options,
                         spmm_partition_t *partition)
{
    spmm_partition_t       graph = {0};
    spmm_partition_score_t score;
    spmm_status_t          status;
    bool                   better = false;

    SPMM_TRY(spmm_partition_run(A, &spmm_partitioner_block, options, partition));
    if (A->env->size == 1) {
        return SPMM_OK;
    }
    SPMM_TRY(spmm_partition_score(A, partition, &score));
    if (score.halo_total == 0) {
        log_on_first(A, "partition auto: block, nothing is to be received");
        return SPMM_OK;
    }
    SPMM_TRY(cut_graph(A, options, &graph));
    if (graph.method == NULL) {
        return SPMM_OK;
    }
    status = compare(A, &score, &graph, &better);
    if (better) {
        spmm_partition_free(partition);
        *partition = graph;
    } else {
        spmm_partition_free(&graph);
    }
    return status;
}

const spmm_partitioner_t spmm_partitioner_auto = {
    .name        = "auto",
    .description = "block, or metis (else ptscotch) where that leaves fewer rows of B to receive",
    .built       = true,
    .run         = run,
};
