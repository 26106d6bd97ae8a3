/* SPDX-License-Identifier: Apache-2.0 */
/** @file consumers.c
 *  Who uses which column: every rank lists the (column, part) pairs of its entries, the owner of
 *  the column adds them up.  Time and memory are linear in the local entries.
 */
#include <stdlib.h>

#include "base/alloc.h"
#include "base/comm.h"
#include "base/sort.h"
#include "partition/partitioners.h"

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

spmm_status_t spmmi_consumers_create(const spmm_matrix_t *A, const int32_t *row_part,
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
        spmmi_consumers_free(&pairs);
        if (status == SPMM_OK) {
            status = spmmi_sort_u64_with(env, consumers->key, consumers->uses, consumers->count);
        }
        if (status == SPMM_OK) {
            consumers->count = merge(consumers->key, consumers->uses, consumers->count);
        }
        status = spmmi_agree(env, status);
    }
    spmmi_free_all(send_count, recv_count);
    spmmi_consumers_free(&pairs);
    if (status != SPMM_OK) {
        spmmi_consumers_free(consumers);
    }
    return status;
}

void spmmi_consumers_free(spmm_consumers_t *consumers)
{
    spmmi_free_all(consumers->key, consumers->uses);
    *consumers = (spmm_consumers_t){0};
}
