/* SPDX-License-Identifier: Apache-2.0 */
#include "partition/partitioners.h"

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
    SPMM_TRY(spmmi_consumers_create(A, partition->row_part, &consumers));
    for (int64_t i = 0; i < consumers.count; i++) {
        const int64_t here = (int64_t)(consumers.key[i] / size) - first;

        /* Parts ascend within a column: the first of equals is the lowest. */
        if (here != column || consumers.uses[i] > most) {
            column         = here;
            most           = consumers.uses[i];
            col_part[here] = (int32_t)(consumers.key[i] % size);
        }
    }
    spmmi_consumers_free(&consumers);
    return SPMM_OK;
}
