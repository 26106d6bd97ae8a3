/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/block/arrival.h"

#include <string.h>

#include "base/alloc.h"
#include "base/comm.h"
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

/* Send the entries of A (8-byte columns or values) to the new owners of their rows.  Those that
 * stay on this rank, most often nearly all, need no memory on the way. */
static spmm_status_t exchange_entries(const spmm_plan_t *plan, const void *entries,
                                      size_t elem_size, spmm_arrival_t *in, char *out)
{
    const int     rank = plan->env->rank, size = plan->env->size;
    const int64_t stay = in->send_count[rank], others = sum(in->send_count, 0, size) - stay;
    const int64_t before = sum(in->recv_count, 0, rank),
                  after  = sum(in->recv_count, rank + 1, size);
    const int64_t first  = sum(plan->rows.send_count, 0, rank);
    const int64_t last   = first + plan->rows.send_count[rank];
    char         *pack, *to;
    spmm_status_t status;

    status = (pack = spmmi_alloc(others, elem_size)) != NULL
                 ? SPMM_OK
                 : spmmi_fail_memory(&plan->env->err, others, elem_size, "entries on their way");
    status = spmmi_agree(plan->env, status);
    if (status == SPMM_OK) {
        to = pack_rows(plan, entries, elem_size, 0, first, pack);
        (void)pack_rows(plan, entries, elem_size, last, plan->rows.n_orig, to);
        in->send_count[rank] = in->recv_count[rank] = 0;
        status = spmmi_alltoallv(plan->env, pack, in->send_count, out, in->recv_count, elem_size);
        in->send_count[rank] = in->recv_count[rank] = stay;
    }
    spmmi_free(pack);
    if (status == SPMM_OK) {
        memmove(out + (size_t)(before + stay) * elem_size, out + (size_t)before * elem_size,
                (size_t)after * elem_size);
        (void)pack_rows(plan, entries, elem_size, first, last, out + (size_t)before * elem_size);
    }
    return status;
}

spmm_status_t spmmi_arrival_add_values(const spmm_plan_t *plan, spmm_arrival_t *in)
{
    const size_t  size   = spmm_type_size(plan->ab_type);
    spmm_status_t status = SPMM_OK;
    int64_t       nnz;

    if (plan->rows.keep) {
        in->row_ptr = spmmi_plan_matrix(plan)->row_ptr;
        in->values  = spmmi_plan_matrix(plan)->values;
        return SPMM_OK;
    }
    nnz        = sum(in->recv_count, 0, plan->env->size);
    in->values = in->own_values = spmmi_alloc(nnz, size);
    if (in->values == NULL) {
        status = spmmi_fail_memory(&plan->env->err, nnz, size, "the values of this rank");
    }
    SPMM_TRY(spmmi_agree(plan->env, status));
    return exchange_entries(plan, spmmi_plan_matrix(plan)->values, size, in, in->own_values);
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
    return spmmi_arrival_add_values(plan, in);
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
    spmmi_free_all(in->own_col, in->own_row_ptr);
    in->own_col     = NULL;
    in->own_row_ptr = NULL;
    in->col         = NULL;
    in->row_ptr     = NULL;
}
