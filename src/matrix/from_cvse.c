/* SPDX-License-Identifier: Apache-2.0 */
/** @file from_cvse.c  Column-vector-sparse and block-sparse input, turned into rows. */
#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/scalar.h"
#include "cpu/cpu_kernels.h"
#include "matrix/matrix.h"

/** The rows that blocks stand for. */
typedef struct {
    int64_t *row_ptr, *col_idx;
    int64_t *from; /**< [nnz] place of each entry in the caller's values */
    void    *values;
} rows_t;

static void rows_free(rows_t *rows)
{
    spmmi_free_all(rows->row_ptr, rows->col_idx, rows->from, rows->values);
}

static spmm_status_t check_block_ptr(spmm_env_t *env, const spmm_blocks_t *in)
{
    const int64_t n = in->n_rows / in->vector;

    for (int64_t b = 0; b < n; b++) {
        if (in->block_ptr[b] > in->block_ptr[b + 1]) {
            return spmmi_fail(&env->err, SPMM_ERR_ARGUMENT,
                              "block_ptr[%" PRId64 "] = %" PRId64 " is above block_ptr[%" PRId64
                              "] = %" PRId64 "; block_ptr must not decrease",
                              b, in->block_ptr[b], b + 1, in->block_ptr[b + 1]);
        }
    }
    return SPMM_OK;
}

/* Columns are compared with those of the matrix when its ranks know how many it has. */
static spmm_status_t check_columns(spmm_env_t *env, const spmm_blocks_t *in)
{
    for (int64_t k = 0; k < in->block_ptr[in->n_rows / in->vector]; k++) {
        if (in->col_idx[k] > INT64_MAX - in->width) {
            return spmmi_fail(&env->err, SPMM_ERR_ARGUMENT,
                              "col_idx[%" PRId64 "] = %" PRId64 " is outside any matrix", k,
                              in->col_idx[k]);
        }
    }
    return SPMM_OK;
}

/* The entries of block row b, row after row. */
static void expand_block_row(const spmm_blocks_t *in, int64_t b, rows_t *rows)
{
    const int64_t V = in->vector, W = in->width;
    const size_t  size  = spmm_type_size(in->type);
    const int64_t first = in->block_ptr[b], count = (in->block_ptr[b + 1] - first) * W;

    for (int64_t r = 0; r < V; r++) {
        const int64_t at = first * V * W + r * count;

        rows->row_ptr[b * V + r] = at;
        for (int64_t k = 0; k < count; k++) {
            const int64_t from = (first * W + k) * V + r;

            rows->col_idx[at + k] = in->col_idx[first + k / W] + k % W;
            rows->from[at + k]    = from;
            memcpy((char *)rows->values + (size_t)(at + k) * size,
                   (const char *)in->values + (size_t)from * size, size);
        }
    }
}

static spmm_status_t expand(spmm_env_t *env, const spmm_blocks_t *in, rows_t *rows)
{
    const int64_t n    = in->n_rows / in->vector;
    const int     team = spmmi_cpu_team(env->threads);
    const int64_t nnz  = in->block_ptr[n] * in->vector * in->width;
    const size_t  size = spmm_type_size(in->type);

    SPMM_TRY(check_block_ptr(env, in));
    SPMM_TRY(check_columns(env, in));
    SPMM_NEW(rows->row_ptr, in->n_rows + 1);
    SPMM_NEW(rows->col_idx, nnz);
    SPMM_NEW(rows->from, nnz);
    rows->values = spmmi_alloc(nnz, size);
    if (rows->row_ptr == NULL || rows->col_idx == NULL || rows->from == NULL ||
        rows->values == NULL) {
        return spmmi_fail_memory(&env->err, nnz, 2 * sizeof(int64_t) + size, "the rows of blocks");
    }
    rows->row_ptr[in->n_rows] = nnz;
#pragma omp parallel for schedule(dynamic, 64) num_threads(team)
    for (int64_t b = 0; b < n; b++) {
        expand_block_row(in, b, rows);
    }
    return SPMM_OK;
}

/* New values come in the caller's order: of the matrix's order, which counts in the rows made here,
 * to that of the caller. */
static void follow_order(spmm_matrix_t *A, rows_t *rows)
{
    if (A->value_order == NULL) {
        A->value_order = rows->from;
        rows->from     = NULL;
        return;
    }
    for (int64_t k = 0; k < spmmi_matrix_local_nnz(A); k++) {
        A->value_order[k] = rows->from[A->value_order[k]];
    }
}

spmm_status_t spmmi_matrix_from_blocks(spmm_env_t *env, const spmm_blocks_t *in, spmm_matrix_t **A)
{
    rows_t        rows   = {0};
    spmm_status_t status = spmmi_agree(env, expand(env, in, &rows));

    if (status == SPMM_OK) {
        status = spmmi_matrix_from_csr(env, in->n_rows, in->n_cols, rows.row_ptr, rows.col_idx,
                                       rows.values, in->type, A);
    }
    if (status == SPMM_OK) {
        follow_order(*A, &rows);
    }
    rows_free(&rows);
    return status;
}
