/* SPDX-License-Identifier: Apache-2.0 */
/** @file copy.c  A for each group: every rank sends its rows to one rank of each. */
#include <string.h>

#include "base/alloc.h"
#include "base/comm.h"
#include "plan/groups/groups.h"

/* Elements of @p size bytes of this rank go to its rank of each group.  *came is the caller's, also
 * after a failure: those of `count` ranks, in order.  Collective, agreed. */
static spmm_status_t spread(spmm_plan_groups_t *g, const void *mine, int64_t n, size_t size,
                            void **came, int64_t *n_came)
{
    spmm_env_t   *env    = g->outer->env;
    int64_t      *counts = NULL; /* [2 * size]: to and from each rank */
    char         *copies = spmmi_alloc(n * g->count, size);
    spmm_status_t status = SPMM_OK;

    *came = NULL;
    if (SPMM_NEW_ZERO(counts, 2 * (int64_t)env->size) == NULL || copies == NULL) {
        status = spmmi_fail_memory(&env->err, n * g->count, size, "copies of A");
    }
    status = spmmi_agree(env, status);
    if (status == SPMM_OK) {
        for (int k = 0; k < g->count; k++) {
            memcpy(copies + (size_t)k * (size_t)n * size, mine, (size_t)n * size);
            counts[spmmi_groups_rank(g, k)] = n;
        }
        status = spmmi_alltoall_counts(env, counts, counts + env->size, n_came);
    }
    if (status == SPMM_OK) {
        *came  = spmmi_alloc(*n_came, size);
        status = spmmi_agree(env, *came != NULL
                                      ? SPMM_OK
                                      : spmmi_fail_memory(&env->err, *n_came, size, "a copy of A"));
    }
    if (status == SPMM_OK) {
        status = spmmi_alltoallv(env, copies, counts, *came, counts + env->size, size);
    }
    spmmi_free_all(counts, copies);
    return status;
}

/* Lengths become beginnings: @p ptr [n + 1] holds the lengths at first. */
static void sum_up(int64_t *ptr, int64_t n)
{
    int64_t at = 0;

    for (int64_t i = 0; i <= n; i++) {
        const int64_t length = i < n ? ptr[i] : 0;

        ptr[i] = at;
        at += length;
    }
}

static spmm_status_t take(spmm_plan_groups_t *g, const int64_t *length, int64_t n_rows,
                          const int64_t *col, const void *values)
{
    spmm_env_t          *outer  = g->outer->env;
    const spmm_matrix_t *A      = g->whole;
    const int            first  = g->env.rank * g->count;
    int64_t             *ptr    = NULL;
    spmm_status_t        status = SPMM_OK;

    if (SPMM_NEW(ptr, n_rows + 1) == NULL) {
        status = spmmi_fail_memory(&outer->err, n_rows + 1, sizeof *ptr, "a copy of A");
    }
    status = spmmi_agree(outer, status);
    if (status == SPMM_OK) {
        memcpy(ptr, length, (size_t)n_rows * sizeof *ptr);
        sum_up(ptr, n_rows);
        status = spmmi_matrix_from_csr(&g->env, n_rows,
                                       A->col_offset[first + g->count] - A->col_offset[first], ptr,
                                       col, values, A->type, &g->A);
        status = spmmi_agree(outer, status);
    }
    spmmi_free(ptr);
    return status;
}

spmm_status_t spmmi_groups_copy(spmm_plan_groups_t *g)
{
    spmm_env_t          *env    = g->outer->env;
    const spmm_matrix_t *A      = g->whole;
    const int64_t        nnz    = spmmi_matrix_local_nnz(A);
    void                *length = NULL, *col = NULL, *values = NULL;
    int64_t             *mine, n_rows, n_came;
    spmm_status_t        status = SPMM_OK;

    if (SPMM_NEW(mine, A->n_rows) == NULL) {
        status = spmmi_fail_memory(&env->err, A->n_rows, sizeof *mine, "the lengths of rows");
    }
    status = spmmi_agree(env, status);
    for (int32_t i = 0; i < A->n_rows && status == SPMM_OK; i++) {
        mine[i] = A->row_ptr[i + 1] - A->row_ptr[i];
    }
    if (status == SPMM_OK) {
        status = spread(g, mine, A->n_rows, sizeof *mine, &length, &n_rows);
    }
    if (status == SPMM_OK) {
        status = spread(g, A->col_idx, nnz, sizeof *A->col_idx, &col, &n_came);
    }
    if (status == SPMM_OK) {
        status = spread(g, A->values, nnz, spmm_type_size(A->type), &values, &n_came);
    }
    if (status == SPMM_OK) {
        status = take(g, length, n_rows, col, values);
    }
    spmmi_free_all(mine, length, col, values);
    return status;
}

/* Columns ascend in each row of A, so the copy keeps its order. */
spmm_status_t spmmi_groups_copy_values(spmm_plan_groups_t *g)
{
    const size_t  size   = spmm_type_size(g->A->type);
    void         *values = NULL;
    int64_t       n;
    spmm_status_t status;

    status = spread(g, g->whole->values, spmmi_matrix_local_nnz(g->whole), size, &values, &n);
    if (status == SPMM_OK) {
        memcpy(g->A->values, values, (size_t)n * size);
    }
    spmmi_free(values);
    return status;
}
