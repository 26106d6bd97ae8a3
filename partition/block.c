/* SPDX-License-Identifier: Apache-2.0 */
/** @file block.c  Consecutive blocks of rows of about equal weight. */
#include "base/alloc.h"
#include "base/comm.h"
#include "partition/partitioners.h"

/* The weight that parts below @p part hold when all are equal; total * part could overflow. */
static int64_t share(int64_t total, int size, int part)
{
    return total / size * part + total % size * part / size;
}

/* Without entries there is nothing to balance but rows. */
static spmm_status_t even_rows(const spmm_matrix_t *A, int n_parts, int32_t *row_part)
{
    spmm_env_t   *env = A->env;
    int64_t      *offset;
    const int64_t first = A->row_offset[env->rank];

    if (SPMM_NEW(offset, (int64_t)n_parts + 1) == NULL) {
        return spmmi_fail_memory(&env->err, (int64_t)n_parts + 1, sizeof *offset,
                                 "offsets of parts");
    }
    spmmi_even_offsets(A->rows, n_parts, offset);
    for (int32_t i = 0; i < A->n_rows; i++) {
        row_part[i] = spmmi_owner(offset, n_parts, first + i);
    }
    spmmi_free(offset);
    return SPMM_OK;
}

spmm_status_t spmmi_block_rows(const spmm_matrix_t *A, int n_parts, int32_t *row_part)
{
    spmm_env_t *env    = A->env;
    int64_t     before = spmmi_matrix_local_nnz(A); /* then of the rows above, all ranks */
    int32_t     part   = 0;

    if (A->nnz == 0) {
        return even_rows(A, n_parts, row_part);
    }
    SPMM_TRY(spmmi_exscan(env, &before, 1));
    for (int32_t i = 0; i < A->n_rows; i++) {
        const int64_t own = spmmi_row_weight(A, i);

        /* A row belongs where the middle of its weight falls. */
        while (part < n_parts - 1 && before + own / 2 >= share(A->nnz, n_parts, part + 1)) {
            part++;
        }
        row_part[i] = part;
        before += own;
    }
    return SPMM_OK;
}

static spmm_status_t run(const spmm_matrix_t *A, const spmm_partition_options_t *options,
                         spmm_partition_t *partition)
{
    (void)options;
    SPMM_TRY(spmmi_partition_alloc(A, partition));
    SPMM_TRY(spmmi_agree(A->env, spmmi_block_rows(A, A->env->size, partition->row_part)));
    return spmmi_partition_columns(A, partition);
}

const spmm_partitioner_t spmmi_partitioner_block = {
    .name        = "block",
    .description = "consecutive rows, of equal weight on all ranks",
    .built       = true,
    .run         = run,
};
