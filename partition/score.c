/* SPDX-License-Identifier: Apache-2.0 */
#include "base/alloc.h"
#include "partition/partitioners.h"

/* Non-zeros and rows to receive of every part, over all ranks.  @p nnz, @p halo [size], zeroed. */
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
                                    spmm_partition_score_t *score)
{
    spmm_env_t      *env       = A->env;
    spmm_consumers_t consumers = {0};
    int64_t         *count; /* [2 * size]: non-zeros, then halo rows */
    spmm_status_t    status = SPMM_OK;

    if (env->size == 1) {
        *score = (spmm_partition_score_t){.imbalance = 1.0};
        return SPMM_OK;
    }
    if (SPMM_NEW_ZERO(count, 2 * (int64_t)env->size) == NULL) {
        status =
            spmmi_fail_memory(&env->err, 2 * (int64_t)env->size, sizeof *count, "counts of parts");
    }
    status = spmmi_agree(env, status);
    if (status == SPMM_OK) {
        status = spmmi_consumers_create(A, partition->row_part, &consumers);
    }
    if (status == SPMM_OK) {
        count_local(A, partition, &consumers, count, count + env->size);
        status = spmmi_allreduce(env, count, 2 * env->size, MPI_INT64_T, MPI_SUM);
    }
    if (status == SPMM_OK) {
        summarise(A, count, count + env->size, score);
    }
    spmmi_consumers_free(&consumers);
    spmmi_free(count);
    return status;
}
