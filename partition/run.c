/* SPDX-License-Identifier: Apache-2.0 */
/** @file run.c  One partitioner run, its result completed and checked. */
#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "partition/partitioners.h"

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
