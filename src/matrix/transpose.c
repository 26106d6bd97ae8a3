/* SPDX-License-Identifier: Apache-2.0 */
/** @file transpose.c
 *  Entries travel to the owners of their columns in the order of rows, and ranks own rows in rank
 *  order: what arrives ascends in the row of A, and a stable sort by column is all there is to do.
 */
#include "matrix/transpose.h"

#include <string.h>

#include "base/alloc.h"
#include "base/comm.h"
#include "base/scalar.h"

/** Where an entry belongs: row and column of A. */
typedef struct {
    int64_t row, col;
} place_t;

/** Entries by owner of their column.  All arrays are owned. */
typedef struct {
    place_t *place;
    char    *value;
    int64_t *count; /**< [size] of each rank */
    int64_t  total;
} entries_t;

static spmm_status_t entries_alloc(const spmm_matrix_t *A, int64_t total, entries_t *e)
{
    e->total = total;
    SPMM_NEW(e->place, total);
    e->value = spmmi_alloc(total, spmm_type_size(A->type));
    if (e->place == NULL || e->value == NULL) {
        return spmmi_fail_memory(&A->env->err, total, sizeof *e->place + spmm_type_size(A->type),
                                 "the entries of a transpose");
    }
    return SPMM_OK;
}

static void entries_free(entries_t *e)
{
    spmmi_free_all(e->place, e->value, e->count);
}

/* This rank's entries, grouped.  Local. */
static spmm_status_t pack(const spmm_matrix_t *A, entries_t *out)
{
    const int64_t first = A->row_offset[A->env->rank];
    const size_t  size  = spmm_type_size(A->type);
    int64_t      *at;

    if (SPMM_NEW_ZERO(out->count, A->env->size) == NULL || SPMM_NEW(at, A->env->size) == NULL) {
        return spmmi_fail_memory(&A->env->err, A->env->size, sizeof *at, "counts of entries");
    }
    for (int64_t k = 0; k < spmmi_matrix_local_nnz(A); k++) {
        out->count[spmmi_owner(A->col_offset, A->env->size, A->col_idx[k])]++;
    }
    at[0] = 0;
    for (int p = 0; p + 1 < A->env->size; p++) {
        at[p + 1] = at[p] + out->count[p];
    }
    for (int32_t i = 0; i < A->n_rows; i++) {
        for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++) {
            const int64_t to = at[spmmi_owner(A->col_offset, A->env->size, A->col_idx[k])]++;

            out->place[to] = (place_t){.row = first + i, .col = A->col_idx[k]};
            memcpy(out->value + (size_t)to * size, (const char *)A->values + (size_t)k * size,
                   size);
        }
    }
    spmmi_free(at);
    return SPMM_OK;
}

static spmm_status_t travel(const spmm_matrix_t *A, entries_t *out, entries_t *in)
{
    spmm_env_t   *env    = A->env;
    spmm_status_t status = entries_alloc(A, spmmi_matrix_local_nnz(A), out);

    if (status == SPMM_OK) {
        status = pack(A, out);
    }
    if (status == SPMM_OK && SPMM_NEW(in->count, env->size) == NULL) {
        status = spmmi_fail_memory(&env->err, env->size, sizeof *in->count, "counts of entries");
    }
    SPMM_TRY(spmmi_agree(env, status));
    SPMM_TRY(spmmi_alltoall_counts(env, out->count, in->count, &in->total));
    SPMM_TRY(spmmi_agree(env, entries_alloc(A, in->total, in)));
    SPMM_TRY(spmmi_alltoallv(env, out->place, out->count, in->place, in->count, sizeof *in->place));
    return spmmi_alltoallv(env, out->value, out->count, in->value, in->count,
                           spmm_type_size(A->type));
}

static spmm_status_t alloc_matrix(const spmm_matrix_t *A, int64_t nnz, spmm_matrix_t *T)
{
    const size_t offsets = ((size_t)A->env->size + 1) * sizeof *A->row_offset;

    T->rows   = A->cols;
    T->cols   = A->rows;
    T->nnz    = A->nnz;
    T->n_rows = A->n_cols;
    T->n_cols = A->n_rows;
    SPMM_NEW(T->row_offset, A->env->size + 1);
    SPMM_NEW(T->col_offset, A->env->size + 1);
    SPMM_NEW_ZERO(T->row_ptr, (int64_t)T->n_rows + 1);
    SPMM_NEW(T->col_idx, nnz);
    T->values = spmmi_alloc(nnz, spmm_type_size(T->type));
    if (T->row_offset == NULL || T->col_offset == NULL || T->row_ptr == NULL ||
        T->col_idx == NULL || T->values == NULL) {
        return spmmi_fail_memory(&A->env->err, nnz, sizeof *T->col_idx + spmm_type_size(T->type),
                                 "a transpose");
    }
    memcpy(T->row_offset, A->col_offset, offsets);
    memcpy(T->col_offset, A->row_offset, offsets);
    return SPMM_OK;
}

/* Counting sort: row_ptr[i] is where the next entry of row i goes, and in the end row i + 1. */
static void sort(const entries_t *in, spmm_matrix_t *T)
{
    const int64_t first = T->row_offset[T->env->rank];
    const size_t  size  = spmm_type_size(T->type);

    for (int64_t k = 0; k < in->total; k++) {
        T->row_ptr[in->place[k].col - first]++;
    }
    for (int64_t i = 0, at = 0; i <= T->n_rows; i++) {
        const int64_t count = T->row_ptr[i];

        T->row_ptr[i] = at;
        at += count;
    }
    for (int64_t k = 0; k < in->total; k++) {
        const int64_t to = T->row_ptr[in->place[k].col - first]++;

        T->col_idx[to] = in->place[k].row;
        memcpy((char *)T->values + (size_t)to * size, in->value + (size_t)k * size, size);
    }
    memmove(T->row_ptr + 1, T->row_ptr, (size_t)T->n_rows * sizeof *T->row_ptr);
    T->row_ptr[0] = 0;
}

spmm_status_t spmmi_matrix_transpose(const spmm_matrix_t *A, bool conjugate,
                                     spmm_matrix_t **flipped)
{
    entries_t      out = {.total = 0}, in = {.total = 0};
    spmm_matrix_t *T      = NULL;
    spmm_status_t  status = travel(A, &out, &in);

    entries_free(&out);
    if (status == SPMM_OK) {
        status = spmmi_matrix_new(A->env, A->type, &T);
        if (status == SPMM_OK) {
            status = alloc_matrix(A, in.total, T);
        }
        status = spmmi_agree(A->env, status);
    }
    if (status == SPMM_OK) {
        sort(&in, T);
        if (conjugate) {
            spmmi_conjugate(T->type, T->values, in.total);
        }
        *flipped = T;
    } else {
        spmmi_matrix_free(T);
    }
    entries_free(&in);
    return status;
}
