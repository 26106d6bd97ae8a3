/* SPDX-License-Identifier: Apache-2.0 */
/** @file one.c  All rows, and the columns that they use, on the first rank: where exchanging takes
 *  longer than working alone. */
#include <string.h>

#include "partition/partitioners.h"

static spmm_status_t run(const spmm_matrix_t *A, const spmm_partition_options_t *options,
                         spmm_partition_t *partition)
{
    (void)options;
    SPMM_TRY(spmmi_partition_alloc(A, partition));
    memset(partition->row_part, 0, (size_t)A->n_rows * sizeof *partition->row_part);
    return spmmi_partition_columns(A, partition);
}

const spmm_partitioner_t spmmi_partitioner_one = {
    .name        = "one",
    .description = "all rows on the first rank",
    .built       = true,
    .run         = run,
};
