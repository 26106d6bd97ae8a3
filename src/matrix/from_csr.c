/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/comm.h"
#include "base/scalar.h"
#include "cpu/cpu_kernels.h"
#include "matrix/csr.h"
#include "matrix/matrix.h"

/* Fewer entries than this are not worth waking threads for. */
enum { PARALLEL_ENTRIES = 1 << 15 };

/* The caller's arrays. */
typedef struct {
    int64_t        n_rows, n_cols;
    const int64_t *row_ptr, *col_idx;
    const void    *values;
    spmm_type_t    type;
} source_t;

static int64_t source_nnz(const source_t *in)
{
    return in->n_rows == 0 ? 0 : in->row_ptr[in->n_rows];
}

/* What can be said before the row numbers of the whole matrix are known. */
static spmm_status_t check_shape(spmm_env_t *env, const source_t *in)
{
    if (in->n_rows < 0 || in->n_rows > INT32_MAX || in->n_cols < 0 || in->n_cols > INT32_MAX) {
        return spmmi_fail(&env->err, SPMM_ERR_ARGUMENT,
                          "a rank owns 0 .. 2147483647 rows and columns, not %" PRId64
                          " rows and %" PRId64 " columns",
                          in->n_rows, in->n_cols);
    }
    if (spmm_type_size(in->type) == 0) {
        return spmmi_fail(&env->err, SPMM_ERR_ARGUMENT,
                          "type %d is none of the storage types 64f, 32f, 16f, 16bf, 64c, 32c",
                          (int)in->type);
    }
    if (in->n_rows > 0 && in->row_ptr == NULL) {
        return spmmi_fail(&env->err, SPMM_ERR_ARGUMENT,
                          "row_ptr is NULL although this rank owns %" PRId64 " rows", in->n_rows);
    }
    if (in->row_ptr != NULL && in->row_ptr[0] != 0) {
        return spmmi_fail(&env->err, SPMM_ERR_ARGUMENT, "row_ptr[0] is %" PRId64 "; it must be 0",
                          in->row_ptr[0]);
    }
    return SPMM_OK;
}

static spmm_status_t prepare(spmm_env_t *env, const source_t *in, spmm_matrix_t **A)
{
    const int64_t n_offsets = (int64_t)env->size + 1;

    SPMM_TRY(check_shape(env, in));
    SPMM_TRY(spmmi_matrix_new(env, in->type, A));
    if (SPMM_NEW((*A)->row_offset, n_offsets) == NULL ||
        SPMM_NEW((*A)->col_offset, n_offsets) == NULL) {
        return spmmi_fail_memory(&env->err, 2 * n_offsets, sizeof(int64_t), "row offsets");
    }
    return SPMM_OK;
}

/* Collective; every rank comes to the same answer. */
static spmm_status_t share_shape(spmm_env_t *env, const source_t *in, spmm_matrix_t *A)
{
    SPMM_TRY(spmmi_allgather_offsets(env, in->n_rows, A->row_offset));
    SPMM_TRY(spmmi_allgather_offsets(env, in->n_cols, A->col_offset));
    A->rows   = A->row_offset[env->size];
    A->cols   = A->col_offset[env->size];
    A->n_rows = (int32_t)in->n_rows;
    A->n_cols = (int32_t)in->n_cols;
    return SPMM_OK;
}

/* Row @p r of this rank in the numbering of the whole matrix. */
static int64_t global_row(const spmm_matrix_t *A, int64_t r)
{
    return A->row_offset[A->env->rank] + r;
}

static spmm_status_t check_row_ptr(const spmm_matrix_t *A, const source_t *in)
{
    for (int64_t r = 0; r < in->n_rows; r++) {
        if (in->row_ptr[r] > in->row_ptr[r + 1]) {
            return spmmi_fail(&A->env->err, SPMM_ERR_ARGUMENT,
                              "row %" PRId64 " (from 0): row_ptr[%" PRId64 "] = %" PRId64
                              " is above row_ptr[%" PRId64 "] = %" PRId64
                              "; row_ptr must not decrease",
                              global_row(A, r), r, in->row_ptr[r], r + 1, in->row_ptr[r + 1]);
        }
    }
    if (source_nnz(in) > 0 && (in->col_idx == NULL || in->values == NULL)) {
        return spmmi_fail(&A->env->err, SPMM_ERR_ARGUMENT,
                          "%s is NULL although this rank owns %" PRId64 " entries",
                          in->col_idx == NULL ? "col_idx" : "values", source_nnz(in));
    }
    return SPMM_OK;
}

static spmm_status_t check_columns(const spmm_matrix_t *A, const source_t *in)
{
    const int64_t nnz  = source_nnz(in);
    const int     team = spmmi_cpu_team(A->env->threads);
    int64_t       bad = nnz, r = 0;

#pragma omp parallel for schedule(static) num_threads(team)                                        \
    reduction(min                                                                                  \
              : bad) if (nnz > PARALLEL_ENTRIES)
    for (int64_t k = 0; k < nnz; k++) {
        if ((in->col_idx[k] < 0 || in->col_idx[k] >= A->cols) && k < bad) {
            bad = k;
        }
    }
    if (bad < nnz) {
        while (in->row_ptr[r + 1] <= bad) {
            r++;
        }
        return spmmi_fail(&A->env->err, SPMM_ERR_ARGUMENT,
                          "row %" PRId64 ", entry %" PRId64 " (from 0; col_idx[%" PRId64
                          "]): column %" PRId64 " is outside a matrix of %" PRId64 " columns",
                          global_row(A, r), bad - in->row_ptr[r], bad, in->col_idx[bad], A->cols);
    }
    return SPMM_OK;
}

/* Strictly, in every row. */
static bool columns_ascend(const source_t *in, int team)
{
    bool in_order = true;

#pragma omp parallel for schedule(dynamic, 512) num_threads(team) reduction(&& : in_order) \
    if (source_nnz(in) > PARALLEL_ENTRIES)
    for (int64_t row = 0; row < in->n_rows; row++) {
        for (int64_t k = in->row_ptr[row] + 1; k < in->row_ptr[row + 1]; k++) {
            in_order = in_order && in->col_idx[k - 1] < in->col_idx[k];
        }
    }
    return in_order;
}

static spmm_status_t copy_arrays(spmm_matrix_t *A, const source_t *in)
{
    const int64_t nnz  = source_nnz(in);
    const size_t  size = spmm_type_size(in->type);

    if (SPMM_NEW(A->row_ptr, in->n_rows + 1) == NULL || SPMM_NEW(A->col_idx, nnz) == NULL ||
        (A->values = spmmi_alloc(nnz, size)) == NULL) {
        return spmmi_fail_memory(&A->env->err, nnz, size + sizeof *A->col_idx, "matrix entries");
    }
    A->row_ptr[0] = 0;
    if (in->n_rows > 0) {
        memcpy(A->row_ptr, in->row_ptr, ((size_t)in->n_rows + 1) * sizeof *A->row_ptr);
    }
    if (nnz > 0) {
        memcpy(A->col_idx, in->col_idx, (size_t)nnz * sizeof *A->col_idx);
        memcpy(A->values, in->values, (size_t)nnz * size);
    }
    return SPMM_OK;
}

/* Sort one row; false when a column stands twice in it. */
static bool sort_row(spmm_matrix_t *A, const source_t *in, int32_t r, spmm_pair_t *pair,
                     spmm_pair_t *scratch)
{
    const int64_t at = A->row_ptr[r], n = A->row_ptr[r + 1] - at;
    const size_t  size   = spmm_type_size(A->type);
    bool          unique = true;

    for (int64_t k = 0; k < n; k++) {
        pair[at + k].col  = in->col_idx[at + k];
        pair[at + k].from = at + k;
    }
    spmmi_pairs_sort(pair + at, n, scratch + at);
    for (int64_t k = at; k < at + n; k++) {
        unique            = unique && (k == at || pair[k].col != pair[k - 1].col);
        A->col_idx[k]     = pair[k].col;
        A->value_order[k] = pair[k].from;
        memcpy((char *)A->values + (size_t)k * size,
               (const char *)in->values + (size_t)pair[k].from * size, size);
    }
    return unique;
}

static spmm_status_t fail_duplicate(const spmm_matrix_t *A, int32_t r)
{
    int64_t k = A->row_ptr[r] + 1, from;

    while (A->col_idx[k] != A->col_idx[k - 1]) {
        k++;
    }
    from = A->value_order[k];
    return spmmi_fail(&A->env->err, SPMM_ERR_ARGUMENT,
                      "row %" PRId64 ", entry %" PRId64 " (from 0; col_idx[%" PRId64
                      "]): column %" PRId64 " stands in this row already; add such values up",
                      global_row(A, r), from - A->row_ptr[r], from, A->col_idx[k]);
}

static spmm_status_t sort_rows(spmm_matrix_t *A, const source_t *in)
{
    const int64_t nnz  = source_nnz(in);
    const int     team = spmmi_cpu_team(A->env->threads);
    spmm_pair_t  *pair, *scratch;
    int32_t       first_bad = A->n_rows;

    if (SPMM_NEW(A->value_order, nnz) == NULL || SPMM_NEW(pair, 2 * nnz) == NULL) {
        return spmmi_fail_memory(&A->env->err, nnz, sizeof *A->value_order + 2 * sizeof *pair,
                                 "sorting rows by column");
    }
    scratch = pair + nnz;
#pragma omp parallel for schedule(dynamic, 128) num_threads(team)                                  \
    reduction(min                                                                                  \
              : first_bad) if (nnz > PARALLEL_ENTRIES)
    for (int32_t r = 0; r < A->n_rows; r++) {
        if (!sort_row(A, in, r, pair, scratch) && r < first_bad) {
            first_bad = r;
        }
    }
    spmmi_free(pair);
    return first_bad == A->n_rows ? SPMM_OK : fail_duplicate(A, first_bad);
}

/* This rank's rows; local. */
static spmm_status_t take_rows(spmm_matrix_t *A, const source_t *in)
{
    SPMM_TRY(check_row_ptr(A, in));
    SPMM_TRY(check_columns(A, in));
    SPMM_TRY(copy_arrays(A, in));
    return columns_ascend(in, spmmi_cpu_team(A->env->threads)) ? SPMM_OK : sort_rows(A, in);
}

spmm_status_t spmmi_matrix_from_csr(spmm_env_t *env, int64_t n_rows, int64_t n_cols,
                                    const int64_t *row_ptr, const int64_t *col_idx,
                                    const void *values, spmm_type_t type, spmm_matrix_t **A)
{
    const source_t in     = {n_rows, n_cols, row_ptr, col_idx, values, type};
    spmm_matrix_t *matrix = NULL;
    spmm_status_t  status;

    status = spmmi_agree(env, prepare(env, &in, &matrix));
    if (status == SPMM_OK) {
        status = share_shape(env, &in, matrix);
    }
    if (status == SPMM_OK) {
        status = spmmi_agree(env, take_rows(matrix, &in));
    }
    if (status == SPMM_OK) {
        matrix->nnz = spmmi_matrix_local_nnz(matrix);
        status      = spmmi_allreduce(env, &matrix->nnz, 1, MPI_INT64_T, MPI_SUM);
    }
    if (status != SPMM_OK) {
        spmmi_matrix_free(matrix);
        return status;
    }
    *A = matrix;
    return SPMM_OK;
}

/* Column-vector-sparse and block-sparse input, converted to rows. */

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
static spmm_status_t check_blocks(spmm_env_t *env, const spmm_blocks_t *in)
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
    SPMM_TRY(check_blocks(env, in));
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
