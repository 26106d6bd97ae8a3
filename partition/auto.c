/* SPDX-License-Identifier: Apache-2.0 */
/** @file auto.c
 *  The better of block and metis.  The time of an exchange grows with what the network carries
 *  (halo_total) and with what the busiest rank waits for (halo_max): the partition with the lower
 *  halo_total + size * halo_max wins, both terms being equal when all parts receive the same.
 *  Block wins ties: it needs no METIS and keeps neighbouring rows together.
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

/* Does metis beat block?  Its result is then in *metis. */
static spmm_status_t try_metis(const spmm_matrix_t *A, const spmm_partition_options_t *options,
                               const spmm_partition_score_t *block, spmm_partition_t *metis,
                               bool *better)
{
    spmm_partition_score_t score;
    spmm_status_t          status;

    status = spmm_partition_run(A, &spmm_partitioner_metis, options, metis);
    if (status == SPMM_ERR_UNSUPPORTED) { /* too large for its indices: block is left */
        log_on_first(A, A->env->err.text);
        log_on_first(A, "partition auto: block, metis cannot take this matrix");
        spmm_error_clear(&A->env->err);
        return SPMM_OK;
    }
    SPMM_TRY(status);
    status = spmm_partition_score(A, metis, &score);
    if (status != SPMM_OK) {
        spmm_partition_free(metis);
        return status;
    }
    *better = cost(A, &score) < cost(A, block);
    if (A->env->rank == 0) {
        spmm_log(A->env,
                 "partition auto: %s; rows to receive, total and most: block %" PRId64 " %" PRId64
                 ", metis %" PRId64 " %" PRId64 "; imbalance: block %.3f, metis %.3f",
                 *better ? "metis" : "block", block->halo_total, block->halo_max, score.halo_total,
                 score.halo_max, block->imbalance, score.imbalance);
    }
    return SPMM_OK;
}

static spmm_status_t run(const spmm_matrix_t *A, const spmm_partition_options_t *options,
                         spmm_partition_t *partition)
{
    spmm_partition_t       metis = {0};
    spmm_partition_score_t score;
    bool                   better = false;

    SPMM_TRY(spmm_partition_run(A, &spmm_partitioner_block, options, partition));
    if (A->env->size == 1) {
        return SPMM_OK;
    }
    if (!spmm_partitioner_metis.built) {
        log_on_first(A, "partition auto: block, this build lacks METIS");
        return SPMM_OK;
    }
    SPMM_TRY(spmm_partition_score(A, partition, &score));
    if (score.halo_total == 0) {
        log_on_first(A, "partition auto: block, nothing is to be received");
        return SPMM_OK;
    }
    SPMM_TRY(try_metis(A, options, &score, &metis, &better));
    if (better) {
        spmm_partition_free(partition);
        *partition = metis;
    } else {
        spmm_partition_free(&metis);
    }
    return SPMM_OK;
}

const spmm_partitioner_t spmm_partitioner_auto = {
    .name        = "auto",
    .description = "block or metis, whichever leaves fewer rows of B to receive",
    .built       = true,
    .run         = run,
};
