/* SPDX-License-Identifier: Apache-2.0 */
/** @file balance.c  What partitioners of graphs have in common around the graph. */
#include <inttypes.h>

#include "base/alloc.h"
#include "partition/partitioners.h"

/* Partitioners cannot split a row: say so where one is heavier than a part should be.
 * @p count is scratch [size], zeroed. */
static spmm_status_t report_balance(const spmm_matrix_t *A, const char *method,
                                    const spmm_partition_options_t *options,
                                    const int32_t *row_part, int64_t *count)
{
    spmm_env_t *env      = A->env;
    double      mean     = 0.0;
    int64_t     heaviest = 0, most = 0;
    int         empty = 0;

    for (int32_t i = 0; i < A->n_rows; i++) {
        const int64_t own = spmmi_row_weight(A, i);

        count[row_part[i]] += own;
        heaviest = own > heaviest ? own : heaviest;
    }
    SPMM_TRY(spmmi_allreduce(env, count, env->size, MPI_INT64_T, MPI_SUM));
    SPMM_TRY(spmmi_allreduce(env, &heaviest, 1, MPI_INT64_T, MPI_MAX));
    for (int p = 0; p < env->size; p++) {
        most = count[p] > most ? count[p] : most;
        mean += (double)count[p] / env->size;
        empty += count[p] == 0;
    }
    if (env->rank == 0 && ((double)most > options->imbalance * mean || empty > 0)) {
        spmmi_log(env,
                  "partition %s: imbalance %.3f where %.3f is allowed, %d parts without "
                  "entries; the heaviest row weighs %.3f of a part",
                  method, (double)most / mean, options->imbalance, empty, (double)heaviest / mean);
    }
    return SPMM_OK;
}

spmm_status_t spmmi_balance_report(const spmm_matrix_t *A, const char *method,
                                   const spmm_partition_options_t *options, const int32_t *row_part)
{
    int64_t      *count;
    spmm_status_t status = SPMM_OK;

    if (SPMM_NEW_ZERO(count, A->env->size) == NULL) {
        status = spmmi_fail_memory(&A->env->err, A->env->size, sizeof *count, "counts of parts");
    }
    status = spmmi_agree(A->env, status);
    if (status == SPMM_OK) {
        status = spmmi_agree(A->env, report_balance(A, method, options, row_part, count));
    }
    spmmi_free(count);
    return status;
}

bool spmmi_graph_is_worth_cutting(const spmm_matrix_t *A, int n_parts)
{
    const int64_t least = (int64_t)SPMM_MIN_VERTICES_PER_PART * n_parts;

    return A->nnz > 0 &&
           (A->rows >= least || (!spmmi_matrix_is_square(A) && A->cols >= least - A->rows));
}

spmm_status_t spmmi_blocks_instead(const spmm_matrix_t *A, const char *method, int32_t *row_part)
{
    if (A->env->rank == 0) {
        spmmi_log(A->env,
                  "partition %s: too few vertices or no edges, consecutive rows of equal weight "
                  "instead",
                  method);
    }
    return spmmi_agree(A->env, spmmi_block_rows(A, A->env->size, row_part));
}
