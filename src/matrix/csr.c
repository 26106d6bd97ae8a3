/* SPDX-License-Identifier: Apache-2.0 */
#include "matrix/csr.h"

#include <string.h>

#include "base/alloc.h"
#include "cpu/cpu_kernels.h"
#include "spmm_dist/context.h"

/* Runs up to this length are sorted by insertion: most rows end here. */
enum { INSERTION_RUN = 24 };

static void insertion_sort(spmm_pair_t *pair, int64_t n)
{
    for (int64_t i = 1; i < n; i++) {
        const spmm_pair_t x = pair[i];
        int64_t           j = i;

        for (; j > 0 && pair[j - 1].col > x.col; j--) {
            pair[j] = pair[j - 1];
        }
        pair[j] = x;
    }
}

/* in[0 .. left) and in[left .. n) are sorted; out gets both, equal columns from the left first. */
static void merge(const spmm_pair_t *in, int64_t left, int64_t n, spmm_pair_t *out)
{
    int64_t i = 0, j = left;

    for (int64_t k = 0; k < n; k++) {
        out[k] = j >= n || (i < left && in[i].col <= in[j].col) ? in[i++] : in[j++];
    }
}

void spmmi_pairs_sort(spmm_pair_t *pair, int64_t n, spmm_pair_t *scratch)
{
    spmm_pair_t *in = pair, *out = scratch;
    int64_t      sorted = 1;

    while (sorted < n && pair[sorted - 1].col <= pair[sorted].col) {
        sorted++;
    }
    if (sorted >= n) {
        return;
    }
    for (int64_t at = 0; at < n; at += INSERTION_RUN) {
        insertion_sort(pair + at, n - at < INSERTION_RUN ? n - at : INSERTION_RUN);
    }
    for (int64_t run = INSERTION_RUN; run < n; run *= 2) {
        spmm_pair_t *const swap = in;

        for (int64_t at = 0; at < n; at += 2 * run) {
            const int64_t rest = n - at;

            merge(in + at, rest < run ? rest : run, rest < 2 * run ? rest : 2 * run, out + at);
        }
        in  = out;
        out = swap;
    }
    if (in != pair) {
        memcpy(pair, in, (size_t)n * sizeof *pair);
    }
}

spmm_status_t spmmi_csr_alloc(spmm_env_t *env, int32_t n_rows, int32_t n_cols, int64_t nnz,
                              spmm_type_t type, spmm_csr_t *csr)
{
    memset(csr, 0, sizeof *csr);
    csr->n_rows = n_rows;
    csr->n_cols = n_cols;
    csr->c_rows = n_rows;
    csr->type   = type;
    SPMM_NEW_ZERO(csr->row_ptr, (int64_t)n_rows + 1);
    SPMM_NEW(csr->col_idx, nnz);
    csr->values = spmmi_alloc(nnz, spmm_type_size(type));
    if (csr->row_ptr == NULL || csr->col_idx == NULL || csr->values == NULL) {
        spmmi_csr_free(csr);
        return spmmi_fail_memory(&env->err, nnz, sizeof(int32_t) + spmm_type_size(type),
                                 "a diagonal block");
    }
    return SPMM_OK;
}

void spmmi_csr_free(spmm_csr_t *csr)
{
    spmmi_free_all(csr->row_ptr, csr->col_idx, csr->values, csr->row_map);
    memset(csr, 0, sizeof *csr);
}

bool spmmi_csr_row_map_is_identity(const spmm_csr_t *csr)
{
    for (int32_t i = 0; csr->row_map != NULL && i < csr->n_rows; i++) {
        if (csr->row_map[i] != i) {
            return false;
        }
    }
    return csr->row_map == NULL || csr->n_rows == csr->c_rows;
}

size_t spmmi_csr_bytes(const spmm_csr_t *csr)
{
    const size_t nnz = (size_t)spmmi_csr_nnz(csr);

    if (csr->row_ptr == NULL) {
        return 0;
    }
    return ((size_t)csr->n_rows + 1) * sizeof *csr->row_ptr +
           nnz * (sizeof *csr->col_idx + spmm_type_size(csr->type)) +
           (csr->row_map == NULL ? 0 : (size_t)csr->n_rows * sizeof *csr->row_map);
}

spmm_status_t spmmi_csr_transpose(spmm_env_t *env, const spmm_csr_t *csr, spmm_csr_t *out,
                                  uint32_t **order)
{
    const int64_t nnz   = spmmi_csr_nnz(csr);
    const size_t  size  = spmm_type_size(csr->type);
    uint32_t     *where = NULL;

    SPMM_TRY(spmmi_csr_alloc(env, csr->n_cols, csr->n_rows, nnz, csr->type, out));
    if (order != NULL && SPMM_NEW(where, nnz) == NULL) {
        spmmi_csr_free(out);
        return spmmi_fail_memory(&env->err, nnz, sizeof *where, "the order of a transpose");
    }
    /* Counting sort by column; row_ptr[c] serves as the cursor of column c - 1 while filling. */
    for (int64_t k = 0; k < nnz; k++) {
        out->row_ptr[csr->col_idx[k] + 1]++;
    }
    for (int32_t c = 0; c < out->n_rows; c++) {
        out->row_ptr[c + 1] += out->row_ptr[c];
    }
    for (int32_t i = 0; i < csr->n_rows; i++) {
        for (int64_t k = csr->row_ptr[i]; k < csr->row_ptr[i + 1]; k++) {
            const int64_t at = out->row_ptr[csr->col_idx[k]]++;

            out->col_idx[at] = i;
            memcpy((char *)out->values + (size_t)at * size, (char *)csr->values + (size_t)k * size,
                   size);
            if (where != NULL) {
                where[at] = (uint32_t)k;
            }
        }
    }
    memmove(out->row_ptr + 1, out->row_ptr, (size_t)out->n_rows * sizeof *out->row_ptr);
    out->row_ptr[0] = 0;
    if (order != NULL) {
        *order = where;
    }
    return SPMM_OK;
}

/* The arrays of out but its row lengths. */
static void copy_rows(const spmm_csr_t *csr, const int32_t *order, int threads, spmm_csr_t *out,
                      uint32_t *where)
{
    const size_t size = spmm_type_size(csr->type);
    const int    team = spmmi_cpu_team(threads);

#pragma omp parallel for schedule(dynamic, 1024) num_threads(team)
    for (int32_t i = 0; i < out->n_rows; i++) {
        const int64_t from = csr->row_ptr[order[i]], to = out->row_ptr[i];
        const int64_t count = out->row_ptr[i + 1] - to;

        out->row_map[i] = csr->row_map == NULL ? order[i] : csr->row_map[order[i]];
        memcpy(out->col_idx + to, csr->col_idx + from, (size_t)count * sizeof *out->col_idx);
        memcpy((char *)out->values + (size_t)to * size, (char *)csr->values + (size_t)from * size,
               (size_t)count * size);
        for (int64_t k = 0; where != NULL && k < count; k++) {
            where[to + k] = (uint32_t)(from + k);
        }
    }
}

spmm_status_t spmmi_csr_permute(spmm_env_t *env, const spmm_csr_t *csr, const int32_t *order,
                                spmm_csr_t *out, uint32_t **entry)
{
    const int64_t nnz   = spmmi_csr_nnz(csr);
    uint32_t     *where = NULL;

    SPMM_TRY(spmmi_csr_alloc(env, csr->n_rows, csr->n_cols, nnz, csr->type, out));
    if (SPMM_NEW(out->row_map, csr->n_rows) == NULL ||
        (entry != NULL && SPMM_NEW(where, nnz) == NULL)) {
        spmmi_csr_free(out);
        return spmmi_fail_memory(&env->err, nnz, sizeof *where, "rows in another order");
    }
    out->c_rows = csr->c_rows;
    for (int32_t i = 0; i < csr->n_rows; i++) {
        out->row_ptr[i + 1] = out->row_ptr[i] + csr->row_ptr[order[i] + 1] - csr->row_ptr[order[i]];
    }
    copy_rows(csr, order, env->threads, out, where);
    if (entry != NULL) {
        *entry = where;
    }
    return SPMM_OK;
}
