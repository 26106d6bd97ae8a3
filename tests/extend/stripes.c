/* SPDX-License-Identifier: Apache-2.0 */
/** @file stripes.c
 *  A worked example of a partitioner (docs/how-to/extend.md): stripes of 64 rows, dealt out in
 *  turn.  Balances matrices whose dense rows lie together, at the price of many ghost rows.
 */
#include "partition/partitioners.h"

enum { STRIPE = 64 };

static spmm_status_t run(const spmm_matrix_t *A, const spmm_partition_options_t *options,
                         spmm_partition_t *partition)
{
    const int64_t first = A->row_offset[A->env->rank];

    (void)options;
    SPMM_TRY(spmmi_partition_alloc(A, partition)); /* agreed: a failure is one on all ranks */
    for (int32_t i = 0; i < A->n_rows; i++) {
        partition->row_part[i] = (int32_t)((first + i) / STRIPE % A->env->size);
    }
    return spmmi_partition_columns(A, partition); /* of square A nothing: they go with the rows */
}

const spmm_partitioner_t spmmi_partitioner_stripes = {
    .name        = "stripes",
    .description = "stripes of 64 rows, dealt out in turn",
    .built       = true,
    .run         = run,
};
