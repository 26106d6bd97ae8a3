/* SPDX-License-Identifier: Apache-2.0 */
/** @file run.c  One partitioner run, its result completed and checked. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/comm.h"
#include "base/nodes.h"
#include "base/sort.h"
#include "partition/partitioners.h"

/* Who uses which column: every rank lists the (column, part) pairs of its entries, the owner of
 * the column adds them up.  Time and memory are linear in the local entries. */

/* A pair is one number, so that pairs sort by radix and travel as they are. */
static spmm_status_t check_key_range(const spmm_matrix_t *A)
{
    if (A->cols > 0 && (uint64_t)A->cols > UINT64_MAX / (uint64_t)A->env->size) {
        return spmmi_fail(&A->env->err, SPMM_ERR_RANGE,
                          "%lld columns times %d ranks do not fit 64 bits: use fewer ranks",
                          (long long)A->cols, A->env->size);
    }
    return SPMM_OK;
}

/* Sum the uses of equal neighbours in a sorted list; returns how many pairs remain. */
static int64_t merge(uint64_t *key, int64_t *uses, int64_t n)
{
    int64_t kept = 0;

    for (int64_t i = 0; i < n; i++) {
        if (kept > 0 && key[kept - 1] == key[i]) {
            uses[kept - 1] += uses[i];
        } else {
            key[kept]    = key[i];
            uses[kept++] = uses[i];
        }
    }
    return kept;
}

static int64_t count_runs(const uint64_t *key, int64_t n)
{
    int64_t runs = n > 0;

    for (int64_t i = 1; i < n; i++) {
        runs += key[i] != key[i - 1];
    }
    return runs;
}

/* This rank's pairs, sorted and counted. */
static spmm_status_t list_pairs(const spmm_matrix_t *A, const int32_t *row_part,
                                spmm_consumers_t *pairs)
{
    spmm_env_t    *env  = A->env;
    const uint64_t size = (uint64_t)env->size;
    const int64_t  nnz  = spmmi_matrix_local_nnz(A);
    int64_t        kept = 0;

    SPMM_TRY(check_key_range(A));
    if (SPMM_NEW(pairs->key, nnz) == NULL) {
        return spmmi_fail_memory(&env->err, nnz, sizeof *pairs->key, "columns in use");
    }
    for (int32_t i = 0; i < A->n_rows; i++) {
        for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++) {
            pairs->key[k] = (uint64_t)A->col_idx[k] * size + (uint64_t)row_part[i];
        }
    }
    SPMM_TRY(spmmi_sort_u64(env, pairs->key, nnz));
    pairs->count = count_runs(pairs->key, nnz);
    if (SPMM_NEW(pairs->uses, pairs->count) == NULL) {
        return spmmi_fail_memory(&env->err, pairs->count, sizeof *pairs->uses, "columns in use");
    }
    for (int64_t i = 0; i < nnz; i++) {
        if (kept > 0 && pairs->key[kept - 1] == pairs->key[i]) {
            pairs->uses[kept - 1]++;
        } else {
            pairs->key[kept]    = pairs->key[i];
            pairs->uses[kept++] = 1;
        }
    }
    return SPMM_OK;
}

/* Pairs are sorted by column, so those of one owner are neighbours. */
static void count_by_owner(const spmm_matrix_t *A, const spmm_consumers_t *pairs, int64_t *count)
{
    int64_t i = 0;

    for (int p = 0; p < A->env->size; p++) {
        const uint64_t end   = (uint64_t)A->col_offset[p + 1] * (uint64_t)A->env->size;
        const int64_t  start = i;

        while (i < pairs->count && pairs->key[i] < end) {
            i++;
        }
        count[p] = i - start;
    }
}

/* Bring @p pairs to the owners of their columns. */
static spmm_status_t exchange(const spmm_matrix_t *A, const spmm_consumers_t *pairs,
                              int64_t *send_count, int64_t *recv_count, spmm_consumers_t *out)
{
    spmm_env_t   *env    = A->env;
    spmm_status_t status = SPMM_OK;

    count_by_owner(A, pairs, send_count);
    SPMM_TRY(spmmi_alltoall_counts(env, send_count, recv_count, &out->count));
    SPMM_NEW(out->key, out->count);
    SPMM_NEW(out->uses, out->count);
    if (out->key == NULL || out->uses == NULL) {
        status = spmmi_fail_memory(&env->err, out->count, 2 * sizeof *out->key, "columns in use");
    }
    SPMM_TRY(spmmi_agree(env, status));
    SPMM_TRY(spmmi_alltoallv(env, pairs->key, send_count, out->key, recv_count, sizeof *out->key));
    return spmmi_alltoallv(env, pairs->uses, send_count, out->uses, recv_count, sizeof *out->uses);
}

static void consumers_free(spmm_consumers_t *consumers)
{
    spmmi_free_all(consumers->key, consumers->uses);
    *consumers = (spmm_consumers_t){0};
}

/* Collective, agreed.  @p row_part [A->n_rows] */
static spmm_status_t consumers_create(const spmm_matrix_t *A, const int32_t *row_part,
                                      spmm_consumers_t *consumers)
{
    spmm_env_t      *env   = A->env;
    spmm_consumers_t pairs = {0};
    int64_t         *send_count, *recv_count;
    spmm_status_t    status;

    *consumers = (spmm_consumers_t){0};
    SPMM_NEW(send_count, env->size);
    SPMM_NEW(recv_count, env->size);
    if (send_count == NULL || recv_count == NULL) {
        status = spmmi_fail_memory(&env->err, env->size, sizeof *send_count, "counts of ranks");
    } else {
        status = list_pairs(A, row_part, &pairs);
    }
    status = spmmi_agree(env, status);
    if (status == SPMM_OK) {
        status = exchange(A, &pairs, send_count, recv_count, consumers);
        consumers_free(&pairs);
        if (status == SPMM_OK) {
            status = spmmi_sort_u64_with(env, consumers->key, consumers->uses, consumers->count);
        }
        if (status == SPMM_OK) {
            consumers->count = merge(consumers->key, consumers->uses, consumers->count);
        }
        status = spmmi_agree(env, status);
    }
    spmmi_free_all(send_count, recv_count);
    consumers_free(&pairs);
    if (status != SPMM_OK) {
        consumers_free(consumers);
    }
    return status;
}

spmm_status_t spmmi_partition_columns(const spmm_matrix_t *A, spmm_partition_t *partition)
{
    const uint64_t   size     = (uint64_t)A->env->size;
    const int64_t    first    = A->col_offset[A->env->rank];
    int32_t *const   col_part = partition->col_part;
    spmm_consumers_t consumers;
    int64_t          column = -1, most = 0;

    if (col_part == NULL) {
        return SPMM_OK;
    }
    for (int32_t j = 0; j < A->n_cols; j++) {
        col_part[j] = A->env->rank;
    }
    if (size == 1) {
        return SPMM_OK;
    }
    SPMM_TRY(consumers_create(A, partition->row_part, &consumers));
    for (int64_t i = 0; i < consumers.count; i++) {
        const int64_t here = (int64_t)(consumers.key[i] / size) - first;

        /* Parts ascend within a column: the first of equals is the lowest. */
        if (here != column || consumers.uses[i] > most) {
            column         = here;
            most           = consumers.uses[i];
            col_part[here] = (int32_t)(consumers.key[i] % size);
        }
    }
    consumers_free(&consumers);
    return SPMM_OK;
}

/* What is given up must not meet memory that is freed and used again. */
static spmm_status_t finish(spmm_env_t *env, const void *at, size_t bytes, int count,
                            spmm_message_t *message)
{
    const spmm_status_t status =
        spmmi_wait_messages(env, count, message, spmmi_now(), "a transfer at setup");

    if (status != SPMM_OK && spmmi_abandon(env, count, message, 0.1)) {
        spmmi_alloc_keep(at, bytes);
    }
    return status;
}

/* One message after the other. */
static spmm_status_t transfer(spmm_env_t *env, char *at, size_t bytes, int peer, bool sends)
{
    const size_t limit = spmmi_message_limit(env);

    while (bytes > 0) {
        const size_t   part = bytes < limit ? bytes : limit;
        spmm_message_t message;
        int            count = 0;

        SPMM_TRY(
            sends ? spmmi_isend(env, env->comm, at, part, peer, SPMM_TAG_BYTES, &message, &count)
                  : spmmi_irecv(env, env->comm, at, part, peer, SPMM_TAG_BYTES, &message, &count));
        SPMM_TRY(finish(env, at, part, count, &message));
        at += part;
        bytes -= part;
    }
    return SPMM_OK;
}

spmm_status_t spmmi_send_bytes(spmm_env_t *env, const void *data, size_t bytes, int peer)
{
    return transfer(env, (char *)(uintptr_t)data, bytes, peer, true); /* only read */
}

spmm_status_t spmmi_recv_bytes(spmm_env_t *env, void *data, size_t bytes, int peer)
{
    return transfer(env, data, bytes, peer, false);
}

/* Entries and rows to receive of every part, over all ranks.  @p nnz, @p halo [size], zeroed. */
static void count_local(const spmm_matrix_t *A, const spmm_partition_t *partition,
                        const spmm_consumers_t *consumers, int64_t *nnz, int64_t *halo)
{
    const uint64_t size  = (uint64_t)A->env->size;
    const int64_t  first = A->col_offset[A->env->rank];

    for (int32_t i = 0; i < A->n_rows; i++) {
        nnz[partition->row_part[i]] += A->row_ptr[i + 1] - A->row_ptr[i];
    }
    for (int64_t i = 0; i < consumers->count; i++) {
        const int64_t column = (int64_t)(consumers->key[i] / size) - first;
        const int32_t part   = (int32_t)(consumers->key[i] % size);

        halo[part] += part != partition->col_part[column];
    }
}

/* Rows out of and into every node: a row counts once for each other node with a consumer.
 * @p last [nodes->count] scratch; @p out, @p in likewise, zeroed. */
static void count_network(const spmm_matrix_t *A, const spmm_partition_t *partition,
                          const spmm_consumers_t *consumers, const spmm_nodes_t *nodes,
                          int64_t *last, int64_t *out, int64_t *in)
{
    const uint64_t size  = (uint64_t)A->env->size;
    const int64_t  first = A->col_offset[A->env->rank];

    for (int k = 0; k < nodes->count; k++) {
        last[k] = -1;
    }
    for (int64_t i = 0; i < consumers->count; i++) {
        const int64_t column = (int64_t)(consumers->key[i] / size) - first;
        const int     owner  = nodes->node[partition->col_part[column]];
        const int     node   = nodes->node[consumers->key[i] % size];

        if (node != owner && last[node] != column) {
            last[node] = column;
            out[owner]++;
            in[node]++;
        }
    }
}

static void summarise_network(const spmm_nodes_t *nodes, const int64_t *out, const int64_t *in,
                              spmm_partition_score_t *score)
{
    for (int k = 0; k < nodes->count; k++) {
        const int64_t ranks = nodes->first[k + 1] - nodes->first[k];
        const int64_t most  = ((out[k] > in[k] ? out[k] : in[k]) + ranks - 1) / ranks;

        score->network_total += in[k];
        score->network_max = most > score->network_max ? most : score->network_max;
    }
}

static void summarise(const spmm_matrix_t *A, const int64_t *nnz, const int64_t *halo,
                      spmm_partition_score_t *score)
{
    int64_t nnz_max = 0;

    *score = (spmm_partition_score_t){.imbalance = 1.0};
    for (int p = 0; p < A->env->size; p++) {
        nnz_max = nnz[p] > nnz_max ? nnz[p] : nnz_max;
        score->halo_total += halo[p];
        score->halo_max = halo[p] > score->halo_max ? halo[p] : score->halo_max;
    }
    if (A->nnz > 0) {
        score->imbalance = (double)nnz_max * A->env->size / (double)A->nnz;
    }
}

spmm_status_t spmmi_partition_score(const spmm_matrix_t *A, const spmm_partition_t *partition,
                                    const spmm_nodes_t *nodes, spmm_partition_score_t *score)
{
    spmm_env_t      *env       = A->env;
    const int        n_nodes   = spmmi_nodes_are_grouped(nodes) ? nodes->count : 0;
    const int        n_counts  = 2 * env->size + 2 * n_nodes;
    spmm_consumers_t consumers = {0};
    int64_t *count; /* [n_counts]: entries, ghost rows; out, in of nodes; and scratch [n_nodes] */
    int64_t *out;
    spmm_status_t status = SPMM_OK;

    if (env->size == 1) {
        *score = (spmm_partition_score_t){.imbalance = 1.0};
        return SPMM_OK;
    }
    if (SPMM_NEW_ZERO(count, (int64_t)n_counts + n_nodes) == NULL) {
        status = spmmi_fail_memory(&env->err, (int64_t)n_counts + n_nodes, sizeof *count,
                                   "counts of parts");
    }
    status = spmmi_agree(env, status);
    if (status == SPMM_OK) {
        status = consumers_create(A, partition->row_part, &consumers);
    }
    if (status == SPMM_OK) {
        out = count + 2 * env->size;
        count_local(A, partition, &consumers, count, count + env->size);
        if (n_nodes > 0) {
            count_network(A, partition, &consumers, nodes, count + n_counts, out, out + n_nodes);
        }
        status = spmmi_allreduce(env, count, n_counts, MPI_INT64_T, MPI_SUM);
    }
    if (status == SPMM_OK) {
        summarise(A, count, count + env->size, score);
        if (n_nodes > 0) {
            out = count + 2 * env->size;
            summarise_network(nodes, out, out + n_nodes, score);
        }
    }
    consumers_free(&consumers);
    spmmi_free(count);
    return status;
}

spmm_status_t spmmi_partition_alloc(const spmm_matrix_t *A, spmm_partition_t *partition)
{
    spmm_status_t status = SPMM_OK;

    SPMM_NEW(partition->row_part, A->n_rows);
    if (!spmmi_matrix_is_square(A)) {
        SPMM_NEW(partition->col_part, A->n_cols);
    }
    if (partition->row_part == NULL ||
        (partition->col_part == NULL && !spmmi_matrix_is_square(A))) {
        status = spmmi_fail_memory(&A->env->err, (int64_t)A->n_rows + A->n_cols,
                                   sizeof *partition->row_part, "a partition");
    }
    return spmmi_agree(A->env, status);
}

/* @p keep is cleared when a part is not this rank. */
static spmm_status_t check_parts(const spmm_matrix_t *A, const char *method, const char *what,
                                 int64_t first, int32_t count, const int32_t *part, int *keep)
{
    for (int32_t i = 0; i < count; i++) {
        if (part[i] < 0 || part[i] >= A->env->size) {
            return spmmi_fail(&A->env->err, SPMM_ERR_INTERNAL,
                              "partition '%s' gives %s %" PRId64 " part %" PRId32
                              ", but parts are 0 to %d: please report it",
                              method, what, first + i, part[i], A->env->size - 1);
        }
        *keep = *keep && part[i] == A->env->rank;
    }
    return SPMM_OK;
}

/* Columns of square A follow the rows; a partition that moves nothing is marked. */
static spmm_status_t complete(const spmm_matrix_t *A, spmm_partition_t *partition)
{
    spmm_env_t   *env    = A->env;
    int           keep   = 1;
    spmm_status_t status = SPMM_OK;

    if (partition->col_part == NULL) {
        if (SPMM_NEW(partition->col_part, A->n_cols) == NULL) {
            status =
                spmmi_fail_memory(&env->err, A->n_cols, sizeof *partition->col_part, "a partition");
        } else {
            memcpy(partition->col_part, partition->row_part,
                   (size_t)A->n_cols * sizeof *partition->col_part);
        }
    }
    if (status == SPMM_OK) {
        status = check_parts(A, partition->method, "row", A->row_offset[env->rank], A->n_rows,
                             partition->row_part, &keep);
    }
    if (status == SPMM_OK) {
        status = check_parts(A, partition->method, "column", A->col_offset[env->rank], A->n_cols,
                             partition->col_part, &keep);
    }
    SPMM_TRY(spmmi_agree(env, status));
    SPMM_TRY(spmmi_allreduce(env, &keep, 1, MPI_INT, MPI_LAND));
    partition->keep = keep != 0;
    return SPMM_OK;
}

spmm_status_t spmmi_partition_run(const spmm_matrix_t *A, const spmm_partitioner_t *partitioner,
                                  const spmm_partition_options_t *options,
                                  spmm_partition_t               *partition)
{
    spmm_status_t status;

    *partition = (spmm_partition_t){.method = partitioner->name};
    status     = partitioner->run(A, options, partition);
    if (status == SPMM_OK) {
        status = complete(A, partition);
    }
    if (status != SPMM_OK) {
        spmmi_partition_free(partition);
    }
    return status;
}

void spmmi_partition_free(spmm_partition_t *partition)
{
    spmmi_free_all(partition->row_part, partition->col_part);
    *partition = (spmm_partition_t){0};
}
