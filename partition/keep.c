/* SPDX-License-Identifier: Apache-2.0 */
/** @file keep.c  Rows and columns stay with the ranks that own them in A. */
#include "partition/partitioners.h"

static spmm_status_t run(const spmm_matrix_t *A, const spmm_partition_options_t *options,
                         spmm_partition_t *partition)
{
    (void)options;
    SPMM_TRY(spmmi_partition_alloc(A, partition));
    for (int32_t i = 0; i < A->n_rows; i++) {
        partition->row_part[i] = A->env->rank;
    }
    for (int32_t j = 0; partition->col_part != NULL && j < A->n_cols; j++) {
        partition->col_part[j] = A->env->rank;
    }
    return SPMM_OK;
}

const spmm_partitioner_t spmmi_partitioner_keep = {
    .name        = "keep",
    .description = "the caller's blocks of rows as they are",
    .built       = true,
    .run         = run,
};
