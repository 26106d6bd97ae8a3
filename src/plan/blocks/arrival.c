/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/blocks/arrival.h"

#include <omp.h>
#include <string.h>

#include "base/alloc.h"
#include "base/comm.h"
#include "cpu/first_row.h"

void spmmi_arrival_free(spmm_arrival_t *in)
{
    spmmi_free_all(in->own_row_ptr, in->own_col, in->own_values, in->send_count, in->recv_count);
    memset(in, 0, sizeof *in);
}

/* Row lengths of the new local rows into in->own_row_ptr, entries per peer into the counts. */
static spmm_status_t exchange_lengths(spmm_arrival_t *in)
{
    spmm_env_t              *env  = in->device->env;
    const spmm_matrix_t     *A    = in->A;
    const spmm_layout_map_t *rows = in->rows;
    int64_t                 *length, total;
    spmm_status_t            status = SPMM_OK;

    SPMM_NEW(length, rows->n_orig);
    SPMM_NEW(in->own_row_ptr, (int64_t)rows->n_local + 1);
    SPMM_NEW_ZERO(in->send_count, env->size);
    SPMM_NEW_ZERO(in->recv_count, env->size);
    if (length == NULL || in->own_row_ptr == NULL || in->send_count == NULL ||
        in->recv_count == NULL) {
        status = spmmi_fail_memory(&env->err, rows->n_orig, sizeof *length, "row lengths");
    }
    status = spmmi_agree(env, status);
    if (status == SPMM_OK) {
        int64_t at = 0;

        for (int p = 0; p < env->size; p++) {
            for (int64_t k = 0; k < rows->send_count[p]; k++, at++) {
                const int32_t row = rows->send_row[at];

                length[at] = A->row_ptr[row + 1] - A->row_ptr[row];
                in->send_count[p] += length[at];
            }
        }
        status = spmmi_alltoallv(env, length, rows->send_count, in->own_row_ptr + 1,
                                 rows->recv_count, sizeof *length);
    }
    if (status == SPMM_OK) {
        status = spmmi_alltoall_counts(env, in->send_count, in->recv_count, &total);
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
static char *pack_rows(const spmm_arrival_t *in, const void *entries, size_t elem_size,
                       int64_t from, int64_t end, char *to)
{
    const spmm_matrix_t *A = in->A;

    for (int64_t k = from; k < end; k++) {
        const int32_t row   = in->rows->send_row[k];
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
static spmm_status_t exchange_others(spmm_arrival_t *in, const void *entries, size_t elem_size,
                                     char *out)
{
    spmm_env_t   *env  = in->device->env;
    const int     rank = env->rank, size = env->size;
    const int64_t stay = in->send_count[rank], others = sum(in->send_count, 0, size) - stay;
    const int64_t first = sum(in->rows->send_count, 0, rank);
    char         *pack, *to;
    spmm_status_t status;

    status = (pack = spmmi_alloc(others, elem_size)) != NULL
                 ? SPMM_OK
                 : spmmi_fail_memory(&env->err, others, elem_size, "entries on their way");
    status = spmmi_agree(env, status);
    if (status == SPMM_OK) {
        to = pack_rows(in, entries, elem_size, 0, first, pack);
        (void)pack_rows(in, entries, elem_size, first + in->rows->send_count[rank],
                        in->rows->n_orig, to);
        in->send_count[rank] = in->recv_count[rank] = 0;
        status = spmmi_alltoallv(env, pack, in->send_count, out, in->recv_count, elem_size);
        in->send_count[rank] = in->recv_count[rank] = stay;
    }
    spmmi_free(pack);
    return status;
}

/* All entries of this rank's rows, in order. */
static spmm_status_t exchange_entries(spmm_arrival_t *in, const void *entries, size_t elem_size,
                                      char *out)
{
    spmm_env_t   *env  = in->device->env;
    const int     rank = env->rank, size = env->size;
    const size_t  stay   = (size_t)in->send_count[rank] * elem_size;
    const size_t  before = (size_t)sum(in->recv_count, 0, rank) * elem_size;
    const size_t  after  = (size_t)sum(in->recv_count, rank + 1, size) * elem_size;
    const int64_t first  = sum(in->rows->send_count, 0, rank);

    SPMM_TRY(exchange_others(in, entries, elem_size, out));
    memmove(out + before + stay, out + before, after);
    (void)pack_rows(in, entries, elem_size, first, first + in->rows->send_count[rank],
                    out + before);
    return SPMM_OK;
}

spmm_status_t spmmi_arrival_add_values(spmm_arrival_t *in, bool apart)
{
    spmm_env_t   *env    = in->device->env;
    const void   *values = in->A->values;
    const size_t  size   = spmm_type_size(in->A->type);
    spmm_status_t status = SPMM_OK;
    int64_t       nnz;

    if (in->rows->keep) {
        in->values = values;
        return SPMM_OK;
    }
    nnz           = sum(in->recv_count, 0, env->size) - (apart ? in->send_count[env->rank] : 0);
    in->apart     = apart;
    in->stay_at   = sum(in->rows->recv_count, 0, env->rank);
    in->stay_from = sum(in->rows->send_count, 0, env->rank);
    in->values = in->own_values = spmmi_alloc(nnz, size);
    if (in->values == NULL) {
        status = spmmi_fail_memory(&env->err, nnz, size, "the values of this rank");
    }
    SPMM_TRY(spmmi_agree(env, status));
    return apart ? exchange_others(in, values, size, in->own_values)
                 : exchange_entries(in, values, size, in->own_values);
}

/** Where the values of a row are: entry e of what arrived is number e + shift there. */
typedef struct {
    const char *values;
    int64_t     shift;
} values_t;

static values_t values_of(const spmm_arrival_t *in, int32_t i)
{
    const spmm_layout_map_t *rows = in->rows;
    const spmm_matrix_t     *A    = in->A;
    const int                rank = in->device->env->rank;
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

void spmmi_arrival_deal_values(const spmm_arrival_t *in, const spmm_plan_blocks_t *blocks)
{
    const spmm_block_t *local = &blocks->diagonal, *halo = &blocks->off_diagonal;
    const int32_t       n = in->rows->n_local;

    if (local->source == NULL) { /* they are there */
        return;
    }
    /* By the threads that dealt the columns. */
#pragma omp parallel num_threads(in->device->threads)
    {
        const int     t = omp_get_thread_num(), n_threads = omp_get_num_threads();
        const int64_t end = spmmi_cpu_first_row(in->row_ptr, n, t + 1, n_threads);

        for (int64_t i = spmmi_cpu_first_row(in->row_ptr, n, t, n_threads); i < end; i++) {
            const values_t row = values_of(in, (int32_t)i);

            fetch_row(local, (int32_t)i, &row);
            fetch_row(halo, (int32_t)i, &row);
        }
    }
}

static spmm_status_t receive_lengths(spmm_arrival_t *in)
{
    if (in->rows->keep) {
        in->row_ptr = in->A->row_ptr;
        return SPMM_OK;
    }
    return exchange_lengths(in);
}

spmm_status_t spmmi_arrival_receive_values(spmm_arrival_t *in)
{
    SPMM_TRY(receive_lengths(in));
    return spmmi_arrival_add_values(in, false);
}

spmm_status_t spmmi_arrival_receive_columns(spmm_arrival_t *in)
{
    spmm_status_t status = SPMM_OK;
    int64_t       nnz;

    SPMM_TRY(receive_lengths(in));
    if (in->rows->keep) {
        in->col = in->A->col_idx;
        return SPMM_OK;
    }
    nnz = in->row_ptr[in->rows->n_local];
    if ((in->col = SPMM_NEW(in->own_col, nnz)) == NULL) {
        status = spmmi_fail_memory(&in->device->env->err, nnz, sizeof *in->col,
                                   "this rank's part of the matrix");
    }
    SPMM_TRY(spmmi_agree(in->device->env, status));
    SPMM_TRY(exchange_entries(in, in->A->col_idx, sizeof *in->col, (char *)in->own_col));
    return spmmi_layout_translate(in->device->env, in->cols, nnz, in->own_col);
}

void spmmi_arrival_drop_columns(spmm_arrival_t *in)
{
    spmmi_free(in->own_col);
    in->own_col = NULL;
    in->col     = NULL;
}
