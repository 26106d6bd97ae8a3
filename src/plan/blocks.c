/* SPDX-License-Identifier: Apache-2.0 */
/** @file blocks.c
 *  From the caller's rows to the two blocks of this rank.
 *
 *  Rows travel to their new owners in ascending original order, so what arrives, in rank order, is
 *  this rank's part of A in its new row order.  Each entry then goes to the local block (its column
 *  is owned here) or to the halo block (its column becomes a halo row), and both remember where
 *  their entries stood in that arrival order: new values take the same way again.
 */
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/comm.h"
#include "base/sort.h"
#include "plan/plan.h"

/** This rank's entries after redistribution. */
typedef struct {
    int64_t *row_ptr;    /**< [rows.n_local + 1], owned */
    int64_t *col;        /**< [nnz], owned: new global column */
    void    *values;     /**< [nnz], owned */
    int64_t *send_count; /**< [size], owned: entries to and from each rank */
    int64_t *recv_count;
} arrival_t;

static void arrival_free(arrival_t *in)
{
    spmm_free(in->row_ptr);
    spmm_free(in->col);
    spmm_free(in->values);
    spmm_free(in->send_count);
    spmm_free(in->recv_count);
    memset(in, 0, sizeof *in);
}

/* Row lengths of the new local rows into in->row_ptr, entries per peer into the counts. */
static spmm_status_t exchange_lengths(const spmm_plan_t *plan, arrival_t *in)
{
    const spmm_matrix_t     *A    = plan->A;
    const spmm_layout_map_t *rows = &plan->rows;
    int64_t                 *length, total;
    spmm_status_t            status = SPMM_OK;

    SPMM_NEW(length, rows->n_orig);
    SPMM_NEW(in->row_ptr, (int64_t)rows->n_local + 1);
    SPMM_NEW_ZERO(in->send_count, plan->env->size);
    SPMM_NEW_ZERO(in->recv_count, plan->env->size);
    if (length == NULL || in->row_ptr == NULL || in->send_count == NULL || in->recv_count == NULL) {
        status = spmm_fail_memory(&plan->env->err, rows->n_orig, sizeof *length, "row lengths");
    }
    status = spmm_agree(plan->env, status);
    if (status == SPMM_OK) {
        int64_t at = 0;

        for (int p = 0; p < plan->env->size; p++) {
            for (int64_t k = 0; k < rows->send_count[p]; k++, at++) {
                const int32_t row = rows->send_row[at];

                length[at] = A->row_ptr[row + 1] - A->row_ptr[row];
                in->send_count[p] += length[at];
            }
        }
        status = spmm_alltoallv(plan->env, length, rows->send_count, in->row_ptr + 1,
                                rows->recv_count, sizeof *length);
    }
    if (status == SPMM_OK) {
        status = spmm_alltoall_counts(plan->env, in->send_count, in->recv_count, &total);
    }
    if (status == SPMM_OK) {
        in->row_ptr[0] = 0;
        for (int32_t i = 0; i < rows->n_local; i++) {
            in->row_ptr[i + 1] += in->row_ptr[i];
        }
    }
    spmm_free(length);
    return status;
}

/* Send the entries of A (8-byte columns or values) to the new owners of their rows. */
static spmm_status_t exchange_entries(const spmm_plan_t *plan, const void *entries,
                                      size_t elem_size, const int64_t *send_count,
                                      const int64_t *recv_count, void *out)
{
    const spmm_matrix_t *A    = plan->A;
    const int64_t        nnz  = spmm_matrix_local_nnz(A);
    char                *pack = NULL, *to;
    spmm_status_t        status;

    if (plan->rows.keep) {
        memcpy(out, entries, (size_t)nnz * elem_size);
        return SPMM_OK;
    }
    status = (pack = spmm_alloc(nnz, elem_size)) != NULL
                 ? SPMM_OK
                 : spmm_fail_memory(&plan->env->err, nnz, elem_size, "entries on their way");
    status = spmm_agree(plan->env, status);
    if (status == SPMM_OK) {
        to = pack;
        for (int32_t k = 0; k < plan->rows.n_orig; k++) {
            const int32_t row   = plan->rows.send_row[k];
            const size_t  bytes = (size_t)(A->row_ptr[row + 1] - A->row_ptr[row]) * elem_size;

            memcpy(to, (const char *)entries + (size_t)A->row_ptr[row] * elem_size, bytes);
            to += bytes;
        }
        status = spmm_alltoallv(plan->env, pack, send_count, out, recv_count, elem_size);
    }
    spmm_free(pack);
    return status;
}

static spmm_status_t receive(const spmm_plan_t *plan, arrival_t *in)
{
    const size_t  size = spmm_type_size(plan->ab_type);
    spmm_status_t status;
    int64_t       nnz;

    SPMM_TRY(exchange_lengths(plan, in));
    nnz        = in->row_ptr[plan->rows.n_local];
    status     = SPMM_OK;
    in->values = spmm_alloc(nnz, size);
    if (SPMM_NEW(in->col, nnz) == NULL || in->values == NULL) {
        status = spmm_fail_memory(&plan->env->err, nnz, size + sizeof *in->col,
                                  "this rank's part of the matrix");
    }
    SPMM_TRY(spmm_agree(plan->env, status));
    SPMM_TRY(exchange_entries(plan, plan->A->col_idx, sizeof *in->col, in->send_count,
                              in->recv_count, in->col));
    SPMM_TRY(
        exchange_entries(plan, plan->A->values, size, in->send_count, in->recv_count, in->values));
    return spmm_layout_translate(plan->env, &plan->cols, nnz, in->col);
}

/* The columns of other ranks, ascending, no column twice. */
static spmm_status_t list_halo_columns(const spmm_plan_t *plan, const arrival_t *in,
                                       int64_t n_halo_entries, uint64_t **need, int64_t *n_need)
{
    const int64_t first = plan->cols.offset[plan->env->rank];
    const int64_t last  = plan->cols.offset[plan->env->rank + 1];
    const int64_t nnz   = in->row_ptr[plan->rows.n_local];
    uint64_t     *list;
    int64_t       count = 0;
    spmm_status_t status;

    if (SPMM_NEW(list, n_halo_entries) == NULL) {
        return spmm_fail_memory(&plan->env->err, n_halo_entries, sizeof *list, "halo columns");
    }
    for (int64_t k = 0; k < nnz; k++) {
        if (in->col[k] < first || in->col[k] >= last) {
            list[count++] = (uint64_t)in->col[k];
        }
    }
    status = spmm_sort_u64(plan->env, list, count);
    if (status != SPMM_OK) {
        spmm_free(list);
        return status;
    }
    *need   = list;
    *n_need = spmm_unique_u64(list, count);
    if (*n_need > INT32_MAX) {
        return spmm_fail(&plan->env->err, SPMM_ERR_RANGE,
                         "rank %d needs %" PRId64
                         " rows of B from other ranks, more than 2^31 - 1; "
                         "use more ranks or a better partition",
                         plan->env->rank, *n_need);
    }
    return SPMM_OK;
}

static int32_t find(const uint64_t *list, int64_t count, uint64_t value)
{
    int64_t low = 0, high = count;

    while (low < high) {
        const int64_t mid = low + (high - low) / 2;

        if (list[mid] < value) {
            low = mid + 1;
        } else {
            high = mid;
        }
    }
    return (int32_t)low;
}

/** An entry of a row being sorted. */
typedef struct {
    int32_t col;
    int64_t source;
} place_t;

static int by_column(const void *a, const void *b)
{
    const int32_t x = ((const place_t *)a)->col, y = ((const place_t *)b)->col;

    return (x > y) - (x < y);
}

/* Sort one row of the block by column and fetch its values. */
static void finish_row(place_t *row, int64_t count, const arrival_t *in, spmm_block_t *block)
{
    const size_t size = spmm_type_size(block->csr.type);

    for (int64_t k = 1; k < count; k++) {
        if (row[k - 1].col > row[k].col) {
            qsort(row, (size_t)count, sizeof *row, by_column);
            break;
        }
    }
    for (int64_t k = 0; k < count; k++) {
        block->csr.col_idx[block->nnz] = row[k].col;
        block->source[block->nnz]      = row[k].source;
        memcpy((char *)block->csr.values + (size_t)block->nnz * size,
               (const char *)in->values + (size_t)row[k].source * size, size);
        block->nnz++;
    }
}

/* Deal the entries of every row to the two blocks; their arrays are allocated. */
static spmm_status_t split_rows(spmm_plan_t *plan, const arrival_t *in, const uint64_t *need,
                                int64_t n_need)
{
    const int64_t first = plan->cols.offset[plan->env->rank];
    const int64_t last  = plan->cols.offset[plan->env->rank + 1];
    int64_t       most  = 0;
    place_t      *own, *other;

    for (int32_t i = 0; i < plan->rows.n_local; i++) {
        const int64_t length = in->row_ptr[i + 1] - in->row_ptr[i];

        most = length > most ? length : most;
    }
    SPMM_NEW(own, most);
    SPMM_NEW(other, most);
    if (own == NULL || other == NULL) {
        spmm_free(own);
        spmm_free(other);
        return spmm_fail_memory(&plan->env->err, most, sizeof *own, "a row");
    }
    for (int32_t i = 0; i < plan->rows.n_local; i++) {
        int64_t n_own = 0, n_other = 0;

        for (int64_t k = in->row_ptr[i]; k < in->row_ptr[i + 1]; k++) {
            const int64_t col = in->col[k];

            if (col >= first && col < last) {
                own[n_own++] = (place_t){(int32_t)(col - first), k};
            } else {
                other[n_other++] = (place_t){find(need, n_need, (uint64_t)col), k};
            }
        }
        finish_row(own, n_own, in, &plan->local);
        finish_row(other, n_other, in, &plan->remote);
        plan->local.csr.row_ptr[i + 1]  = plan->local.nnz;
        plan->remote.csr.row_ptr[i + 1] = plan->remote.nnz;
    }
    spmm_free(own);
    spmm_free(other);
    return SPMM_OK;
}

/* Drop the empty rows of the halo block; a row map leads back to the rows of C. */
static spmm_status_t compress_rows(spmm_env_t *env, spmm_csr_t *csr)
{
    int32_t kept = 0;

    if (SPMM_NEW(csr->row_map, csr->n_rows) == NULL) {
        return spmm_fail_memory(&env->err, csr->n_rows, sizeof *csr->row_map, "a row map");
    }
    for (int32_t i = 0; i < csr->n_rows; i++) {
        if (csr->row_ptr[i + 1] > csr->row_ptr[i]) {
            csr->row_map[kept++] = i;
            csr->row_ptr[kept]   = csr->row_ptr[i + 1];
        }
    }
    csr->n_rows = kept;
    return SPMM_OK;
}

/* For op T the engines multiply by the transposed block. */
static spmm_status_t transpose_block(spmm_env_t *env, spmm_block_t *block)
{
    spmm_csr_t flipped;
    int64_t   *order;

    SPMM_TRY(spmm_csr_transpose(env, &block->csr, &flipped, &order));
    for (int64_t k = 0; k < block->nnz; k++) {
        order[k] = block->source[order[k]];
    }
    spmm_csr_free(&block->csr);
    spmm_free(block->source);
    block->csr    = flipped;
    block->source = order;
    return SPMM_OK;
}

static spmm_status_t alloc_block(spmm_plan_t *plan, spmm_block_t *block, int32_t n_cols,
                                 int64_t nnz)
{
    SPMM_TRY(
        spmm_csr_alloc(plan->env, plan->rows.n_local, n_cols, nnz, plan->ab_type, &block->csr));
    if (SPMM_NEW(block->source, nnz) == NULL) {
        return spmm_fail_memory(&plan->env->err, nnz, sizeof *block->source, "entry sources");
    }
    block->nnz = 0; /* grows while rows are dealt out */
    return SPMM_OK;
}

static spmm_status_t split(spmm_plan_t *plan, const arrival_t *in, uint64_t **need, int64_t *n_need)
{
    const int64_t first = plan->cols.offset[plan->env->rank];
    const int64_t last  = plan->cols.offset[plan->env->rank + 1];
    const int64_t nnz   = in->row_ptr[plan->rows.n_local];
    int64_t       n_own = 0;

    for (int64_t k = 0; k < nnz; k++) {
        n_own += in->col[k] >= first && in->col[k] < last;
    }
    SPMM_TRY(list_halo_columns(plan, in, nnz - n_own, need, n_need));
    SPMM_TRY(alloc_block(plan, &plan->local, (int32_t)(last - first), n_own));
    SPMM_TRY(alloc_block(plan, &plan->remote, (int32_t)*n_need, nnz - n_own));
    SPMM_TRY(split_rows(plan, in, *need, *n_need));
    if (plan->op == SPMM_OP_T) {
        SPMM_TRY(transpose_block(plan->env, &plan->local));
        return transpose_block(plan->env, &plan->remote);
    }
    return compress_rows(plan->env, &plan->remote.csr);
}

spmm_status_t spmm_plan_make_blocks(spmm_plan_t *plan)
{
    arrival_t     in     = {0};
    uint64_t     *need   = NULL;
    int64_t       n_need = 0;
    spmm_status_t status;

    status = spmm_agree(plan->env, receive(plan, &in));
    if (status == SPMM_OK) {
        status = spmm_agree(plan->env, split(plan, &in, &need, &n_need));
    }
    arrival_free(&in);
    if (status == SPMM_OK) {
        /* Same bits: an index is never negative. */
        status = spmm_halo_create(plan->env, plan->cols.offset, (const int64_t *)need, n_need,
                                  &plan->halo);
    }
    spmm_free(need);
    return status;
}

/* Gather the values of one block from the arrival order and hand them to its engine. */
static spmm_status_t refill_block(spmm_env_t *env, const spmm_block_t *block, const char *arrived,
                                  size_t size)
{
    char         *values = spmm_alloc(block->nnz, size);
    spmm_status_t status;

    if (values == NULL) {
        return spmm_fail_memory(&env->err, block->nnz, size, "new values");
    }
    for (int64_t k = 0; k < block->nnz; k++) {
        memcpy(values + (size_t)k * size, arrived + (size_t)block->source[k] * size, size);
    }
    status = block->engine->refill(block->format, values);
    spmm_free(values);
    return status;
}

spmm_status_t spmm_plan_refill(void *self)
{
    spmm_plan_t  *plan = self;
    const size_t  size = spmm_type_size(plan->ab_type);
    const int64_t nnz  = plan->local.nnz + plan->remote.nnz;
    arrival_t     in   = {0};
    spmm_status_t status;

    status = exchange_lengths(plan, &in);
    if (status == SPMM_OK) {
        in.values = spmm_alloc(nnz, size);
        status    = spmm_agree(plan->env, in.values != NULL ? SPMM_OK
                                                            : spmm_fail_memory(&plan->env->err, nnz,
                                                                               size, "new values"));
    }
    if (status == SPMM_OK) {
        status =
            exchange_entries(plan, plan->A->values, size, in.send_count, in.recv_count, in.values);
    }
    if (status == SPMM_OK) {
        status = refill_block(plan->env, &plan->local, in.values, size);
    }
    if (status == SPMM_OK) {
        status = refill_block(plan->env, &plan->remote, in.values, size);
    }
    arrival_free(&in);
    return status;
}
