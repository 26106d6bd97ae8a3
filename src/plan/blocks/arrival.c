/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/blocks/arrival.h"

#include <omp.h>
#include <string.h>

#include "base/alloc.h"
#include "base/comm.h"
#include "cpu/first_row.h"
#include "matrix/transpose.h"
#include "plan/plan.h"

spmm_status_t spmmi_plan_flip(spmm_plan_t *plan)
{
    return plan->flips ? spmmi_matrix_transpose(plan->A, plan->conjugate, &plan->flipped) : SPMM_OK;
}

void spmmi_plan_unflip(spmm_plan_t *plan)
{
    spmmi_matrix_free(plan->flipped);
    plan->flipped = NULL;
}

void spmmi_arrival_free(spmm_arrival_t *in)
{
    spmmi_free_all(in->own_row_ptr, in->own_col, in->own_values, in->send_count, in->recv_count);
    memset(in, 0, sizeof *in);
}

/* Row lengths of the new local rows into in->own_row_ptr, entries per peer into the counts. */
static spmm_status_t exchange_lengths(const spmm_plan_t *plan, spmm_arrival_t *in)
{
    const spmm_matrix_t     *A    = spmmi_plan_matrix(plan);
    const spmm_layout_map_t *rows = &plan->rows;
    int64_t                 *length, total;
    spmm_status_t            status = SPMM_OK;

    SPMM_NEW(length, rows->n_orig);
    SPMM_NEW(in->own_row_ptr, (int64_t)rows->n_local + 1);
    SPMM_NEW_ZERO(in->send_count, plan->env->size);
    SPMM_NEW_ZERO(in->recv_count, plan->env->size);
    if (length == NULL || in->own_row_ptr == NULL || in->send_count == NULL ||
        in->recv_count == NULL) {
        status = spmmi_fail_memory(&plan->env->err, rows->n_orig, sizeof *length, "row lengths");
    }
    status = spmmi_agree(plan->env, status);
    if (status == SPMM_OK) {
        int64_t at = 0;

        for (int p = 0; p < plan->env->size; p++) {
            for (int64_t k = 0; k < rows->send_count[p]; k++, at++) {
                const int32_t row = rows->send_row[at];

                length[at] = A->row_ptr[row + 1] - A->row_ptr[row];
                in->send_count[p] += length[at];
            }
        }
        status = spmmi_alltoallv(plan->env, length, rows->send_count, in->own_row_ptr + 1,
                                 rows->recv_count, sizeof *length);
    }
    if (status == SPMM_OK) {
        status = spmmi_alltoall_counts(plan->env, in->send_count, in->recv_count, &total);
    }
    if (status == SPMM_OK) {
        in->own_row_ptr[0] = 0;
        for (int32_t i = 0; i < rows->n_local; i++) {
            in->own_row_ptr[i + 1] += in->own_row_ptr[i];
        }
    }
    in->row_ptr = in->own_row_ptr;
    spmmi_free(length);
    return status;
}

/* Entries of rows @p from .. end of rows.send_row, one row after the other.  @return behind them */
static char *pack_rows(const spmm_plan_t *plan, const void *entries, size_t elem_size, int64_t from,
                       int64_t end, char *to)
{
    const spmm_matrix_t *A = spmmi_plan_matrix(plan);

    for (int64_t k = from; k < end; k++) {
        const int32_t row   = plan->rows.send_row[k];
        const size_t  bytes = (size_t)(A->row_ptr[row + 1] - A->row_ptr[row]) * elem_size;

        memcpy(to, (const char *)entries + (size_t)A->row_ptr[row] * elem_size, bytes);
        to += bytes;
    }
    return to;
}

static int64_t sum(const int64_t *count, int from, int end)
{
    int64_t total = 0;

    for (int p = from; p < end; p++) {
        total += count[p];
    }
    return total;
}

/* Send the entries of A (8-byte columns or values) to the new owners of their rows, but those that
 * stay on this rank, most often nearly all.  @p out: those of other ranks, one after the other */
static spmm_status_t exchange_others(const spmm_plan_t *plan, const void *entries, size_t elem_size,
                                     spmm_arrival_t *in, char *out)
{
    const int     rank = plan->env->rank, size = plan->env->size;
    const int64_t stay = in->send_count[rank], others = sum(in->send_count, 0, size) - stay;
    const int64_t first = sum(plan->rows.send_count, 0, rank);
    char         *pack, *to;
    spmm_status_t status;

    status = (pack = spmmi_alloc(others, elem_size)) != NULL
                 ? SPMM_OK
                 : spmmi_fail_memory(&plan->env->err, others, elem_size, "entries on their way");
    status = spmmi_agree(plan->env, status);
    if (status == SPMM_OK) {
        to = pack_rows(plan, entries, elem_size, 0, first, pack);
        (void)pack_rows(plan, entries, elem_size, first + plan->rows.send_count[rank],
                        plan->rows.n_orig, to);
        in->send_count[rank] = in->recv_count[rank] = 0;
        status = spmmi_alltoallv(plan->env, pack, in->send_count, out, in->recv_count, elem_size);
        in->send_count[rank] = in->recv_count[rank] = stay;
    }
    spmmi_free(pack);
    return status;
}

/* All entries of this rank's rows, in order. */
static spmm_status_t exchange_entries(const spmm_plan_t *plan, const void *entries,
                                      size_t elem_size, spmm_arrival_t *in, char *out)
{
    const int     rank = plan->env->rank, size = plan->env->size;
    const size_t  stay   = (size_t)in->send_count[rank] * elem_size;
    const size_t  before = (size_t)sum(in->recv_count, 0, rank) * elem_size;
    const size_t  after  = (size_t)sum(in->recv_count, rank + 1, size) * elem_size;
    const int64_t first  = sum(plan->rows.send_count, 0, rank);

    SPMM_TRY(exchange_others(plan, entries, elem_size, in, out));
    memmove(out + before + stay, out + before, after);
    (void)pack_rows(plan, entries, elem_size, first, first + plan->rows.send_count[rank],
                    out + before);
    return SPMM_OK;
}

spmm_status_t spmmi_arrival_add_values(const spmm_plan_t *plan, bool apart, spmm_arrival_t *in)
{
    const void   *values = spmmi_plan_matrix(plan)->values;
    const size_t  size   = spmm_type_size(plan->ab_type);
    spmm_status_t status = SPMM_OK;
    int64_t       nnz;

    if (plan->rows.keep) {
        in->values = values;
        return SPMM_OK;
    }
    nnz = sum(in->recv_count, 0, plan->env->size) - (apart ? in->send_count[plan->env->rank] : 0);
    in->apart     = apart;
    in->stay_at   = sum(plan->rows.recv_count, 0, plan->env->rank);
    in->stay_from = sum(plan->rows.send_count, 0, plan->env->rank);
    in->values = in->own_values = spmmi_alloc(nnz, size);
    if (in->values == NULL) {
        status = spmmi_fail_memory(&plan->env->err, nnz, size, "the values of this rank");
    }
    SPMM_TRY(spmmi_agree(plan->env, status));
    return apart ? exchange_others(plan, values, size, in, in->own_values)
                 : exchange_entries(plan, values, size, in, in->own_values);
}

/** Where the values of a row are: entry e of what arrived is number e + shift there. */
typedef struct {
    const char *values;
    int64_t     shift;
} values_t;

static values_t values_of(const spmm_plan_t *plan, const spmm_arrival_t *in, int32_t i)
{
    const spmm_layout_map_t *rows = &plan->rows;
    const spmm_matrix_t     *A    = spmmi_plan_matrix(plan);
    const int                rank = plan->env->rank;
    const int64_t            stay = in->apart ? i - in->stay_at : -1;
    int32_t                  row;

    if (stay < 0) {
        return (values_t){in->values, 0};
    }
    if (stay >= rows->send_count[rank]) {
        return (values_t){in->values, -in->send_count[rank]};
    }
    row = rows->send_row[in->stay_from + stay];
    return (values_t){A->values, A->row_ptr[row] - in->row_ptr[i]};
}

/* The values of a row of a block. */
static void fetch_row(const spmm_block_t *block, int32_t i, const values_t *row)
{
    const size_t size = spmm_type_size(block->csr.type);

    for (int64_t k = block->csr.row_ptr[i]; k < block->csr.row_ptr[i + 1]; k++) {
        const int64_t from = block->source[k] + row->shift;

        memcpy((char *)block->csr.values + (size_t)k * size, row->values + (size_t)from * size,
               size);
    }
}

void spmmi_arrival_deal_values(const spmm_plan_t *plan, const spmm_arrival_t *in)
{
    const spmm_block_t *local = &plan->blocks.diagonal, *halo = &plan->blocks.off_diagonal;
    const int32_t       n = plan->rows.n_local;

    if (local->source == NULL) { /* they are there */
        return;
    }
    /* By the threads that dealt the columns. */
#pragma omp parallel num_threads(plan->device->threads)
    {
        const int     t = omp_get_thread_num(), n_threads = omp_get_num_threads();
        const int64_t end = spmmi_cpu_first_row(in->row_ptr, n, t + 1, n_threads);

        for (int64_t i = spmmi_cpu_first_row(in->row_ptr, n, t, n_threads); i < end; i++) {
            const values_t row = values_of(plan, in, (int32_t)i);

            fetch_row(local, (int32_t)i, &row);
            fetch_row(halo, (int32_t)i, &row);
        }
    }
}

static spmm_status_t receive_lengths(const spmm_plan_t *plan, spmm_arrival_t *in)
{
    if (plan->rows.keep) {
        in->row_ptr = spmmi_plan_matrix(plan)->row_ptr;
        return SPMM_OK;
    }
    return exchange_lengths(plan, in);
}

spmm_status_t spmmi_arrival_receive_values(const spmm_plan_t *plan, spmm_arrival_t *in)
{
    SPMM_TRY(receive_lengths(plan, in));
    return spmmi_arrival_add_values(plan, false, in);
}

spmm_status_t spmmi_arrival_receive_columns(const spmm_plan_t *plan, spmm_arrival_t *in)
{
    spmm_status_t status = SPMM_OK;
    int64_t       nnz;

    SPMM_TRY(receive_lengths(plan, in));
    if (plan->rows.keep) {
        in->col = spmmi_plan_matrix(plan)->col_idx;
        return SPMM_OK;
    }
    nnz = in->row_ptr[plan->rows.n_local];
    if ((in->col = SPMM_NEW(in->own_col, nnz)) == NULL) {
        status = spmmi_fail_memory(&plan->env->err, nnz, sizeof *in->col,
                                   "this rank's part of the matrix");
    }
    SPMM_TRY(spmmi_agree(plan->env, status));
    SPMM_TRY(exchange_entries(plan, spmmi_plan_matrix(plan)->col_idx, sizeof *in->col, in,
                              (char *)in->own_col));
    return spmmi_layout_translate(plan->env, &plan->cols, nnz, in->own_col);
}

void spmmi_arrival_drop_columns(spmm_arrival_t *in)
{
    spmmi_free(in->own_col);
    in->own_col = NULL;
    in->col     = NULL;
}
