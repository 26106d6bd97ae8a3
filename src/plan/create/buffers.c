/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/create/buffers.h"

#include <inttypes.h>

#include "base/alloc.h"
#include "plan/plan.h"

static spmm_status_t take(spmm_plan_t *plan, int64_t count, size_t size, const char *what,
                          void **ptr)
{
    size_t bytes;

    if (!spmmi_size_mul((size_t)count, size, &bytes)) {
        return spmmi_fail_memory(&plan->env->err, count, size, what);
    }
    return plan->device->ops->alloc(plan->device, bytes, ptr);
}

static spmm_status_t upload(spmm_plan_t *plan, const int32_t *host, int64_t count, int32_t **ptr)
{
    void *device = NULL;

    SPMM_TRY(spmmi_device_upload(plan->device, host, (size_t)count * sizeof *host, &device));
    *ptr = device;
    return SPMM_OK;
}

/* The rows that op N packs. */
static spmm_status_t list_sent(spmm_plan_t *plan, int64_t count)
{
    int32_t *row = plan->exchange.halo.send_row;

    if (plan->device->kind == SPMM_DEVICE_CPU) {
        plan->exchange.send_row = row;
        return SPMM_OK;
    }
    return upload(plan, row, count, &plan->exchange.send_row);
}

/* Group the send rows by local row (counting sort): row[u] gets the received rows pos[ptr[u] ..
 * ptr[u + 1]), ascending, so the order of the sum does not depend on timing. */
static int64_t group_rows(const spmm_halo_t *halo, int32_t n_local, int32_t *cursor, int32_t *row,
                          int32_t *ptr, int32_t *pos)
{
    const int32_t n_send_rows = (int32_t)spmmi_halo_send_rows(halo);
    int64_t       n_rows      = 0;

    for (int32_t k = 0; k < n_send_rows; k++) {
        cursor[halo->send_row[k]]++;
    }
    ptr[0] = 0;
    for (int32_t i = 0; i < n_local; i++) {
        const int32_t count = cursor[i];

        if (count > 0) {
            cursor[i]       = ptr[n_rows];
            row[n_rows]     = i;
            ptr[n_rows + 1] = ptr[n_rows] + count;
            n_rows++;
        }
    }
    for (int32_t k = 0; k < n_send_rows; k++) {
        pos[cursor[halo->send_row[k]]++] = k;
    }
    return n_rows;
}

static spmm_status_t make_reduce_list(spmm_plan_t *plan)
{
    const int64_t n_send_rows = spmmi_halo_send_rows(&plan->exchange.halo);
    const int32_t n_local     = plan->cols.n_local;
    int32_t      *cursor, *row, *ptr, *pos;
    spmm_status_t status = SPMM_OK;

    SPMM_NEW_ZERO(cursor, n_local);
    SPMM_NEW(row, n_send_rows);
    SPMM_NEW(ptr, n_send_rows + 1);
    SPMM_NEW(pos, n_send_rows);
    if (cursor == NULL || row == NULL || ptr == NULL || pos == NULL) {
        status = spmmi_fail_memory(&plan->env->err, n_send_rows, sizeof *row, "rows to add");
    } else {
        plan->exchange.reduce.n_rows =
            group_rows(&plan->exchange.halo, n_local, cursor, row, ptr, pos);
        status = upload(plan, row, plan->exchange.reduce.n_rows, &plan->exchange.reduce.row);
        if (status == SPMM_OK) {
            status =
                upload(plan, ptr, plan->exchange.reduce.n_rows + 1, &plan->exchange.reduce.ptr);
        }
        if (status == SPMM_OK) {
            status = upload(plan, pos, n_send_rows, &plan->exchange.reduce.pos);
        }
    }
    spmmi_free_all(cursor, row, ptr, pos);
    return status;
}

/* Room for row-major copies: of B, which a merged block does not read, and of C where the blocks do
 * not write columns. */
static spmm_status_t make_conversion(spmm_plan_t *plan, bool merged)
{
    const size_t b_row = (size_t)plan->n * spmm_type_size(plan->ab_type);
    const size_t c_row = (size_t)plan->n * spmm_type_size(spmmi_accum_type(plan->c_type));

    if (plan->conversion.kind != SPMM_CONVERT_NONE && !merged) {
        SPMM_TRY(take(plan, spmmi_plan_map(plan, SPMM_OPERAND_B)->n_local, b_row,
                      "a row-major copy of B", &plan->conversion.b));
    }
    return plan->conversion.kind == SPMM_CONVERT_B_AND_C
               ? take(plan, spmmi_plan_map(plan, SPMM_OPERAND_C)->n_local, c_row,
                      "a row-major copy of C", &plan->conversion.c)
               : SPMM_OK;
}

static size_t row_bytes_of(const spmm_plan_t *plan)
{
    return (size_t)plan->n * spmm_type_size(plan->halo_type);
}

/* Rows of B that the merged block multiplies. */
static int64_t merged_rows(const spmm_plan_t *plan)
{
    return plan->cols.n_local + spmmi_halo_recv_rows(&plan->exchange.halo);
}

/* Rows that come lie where the transport wants them, if it cares. */
static void use_peer_rows(spmm_plan_t *plan, bool merged)
{
    const spmm_transport_ops_t *transport = plan->exchange.transport;
    const bool                  is_halo   = plan->op == SPMM_OP_N;

    plan->exchange.peer_rows =
        transport->target_rows != NULL ? transport->target_rows(plan->exchange.state) : NULL;
    if (plan->exchange.peer_rows != NULL && !(is_halo && merged)) {
        *(is_halo ? &plan->exchange.ghost_rows : &plan->exchange.send_rows) =
            plan->exchange.peer_rows;
    }
}

spmm_status_t spmmi_plan_make_rows(spmm_plan_t *plan, bool merged)
{
    const int64_t n_recv    = spmmi_halo_recv_rows(&plan->exchange.halo);
    const size_t  row_bytes = row_bytes_of(plan);

    use_peer_rows(plan, merged);
    if (plan->exchange.send_rows == NULL) {
        SPMM_TRY(take(plan, spmmi_halo_send_rows(&plan->exchange.halo), row_bytes,
                      "rows to exchange", &plan->exchange.send_rows));
    }
    SPMM_TRY(make_conversion(plan, merged));
    if (merged) {
        return take(plan, merged_rows(plan), row_bytes, "rows of B to multiply at once",
                    &plan->blocks.merged.rows);
    }
    if (plan->exchange.ghost_rows == NULL) {
        SPMM_TRY(take(plan, n_recv, row_bytes, "rows to exchange", &plan->exchange.ghost_rows));
    }
    if (plan->blocks.off_diagonal.problem.layout == SPMM_LAYOUT_COL) {
        SPMM_TRY(take(plan, n_recv, row_bytes, "rows to exchange", &plan->conversion.halo));
    }
    return SPMM_OK;
}

/* A row-major copy of C takes its place. */
spmm_status_t spmmi_plan_make_sum(spmm_plan_t *plan, bool merged)
{
    const spmm_type_t type = spmmi_plan_sum_type(plan, merged);

    plan->conversion.sums = type != plan->c_type && plan->conversion.kind != SPMM_CONVERT_B_AND_C;
    if (!plan->conversion.sums) {
        return SPMM_OK;
    }
    return take(plan, spmmi_plan_map(plan, SPMM_OPERAND_C)->n_local,
                (size_t)plan->n * spmm_type_size(type), "sums of C", &plan->conversion.sum);
}

static void give(const spmm_plan_t *plan, void **ptr)
{
    /* Those of peers go with the transport; those that MPI may come back to stay for good. */
    if (*ptr != plan->exchange.peer_rows && !plan->env->unfinished) {
        plan->device->ops->release(plan->device, *ptr);
    }
    *ptr = NULL;
}

spmm_status_t spmmi_plan_make_buffers(spmm_plan_t *plan)
{
    const int64_t n_send = spmmi_halo_send_rows(&plan->exchange.halo);

    if (n_send > INT32_MAX) {
        return spmmi_fail(&plan->env->err, SPMM_ERR_RANGE,
                          "rank %d sends %" PRId64
                          " rows per execute, more than 2^31 - 1; use more "
                          "ranks or a better partition",
                          plan->env->rank, n_send);
    }
    if (plan->op == SPMM_OP_N) {
        SPMM_TRY(list_sent(plan, n_send));
    } else {
        SPMM_TRY(make_reduce_list(plan));
    }
    if (spmmi_plan_rounds(plan)) {
        SPMM_TRY(take(plan, n_send + spmmi_halo_recv_rows(&plan->exchange.halo),
                      (size_t)plan->n * plan->sent_size, "rows to exchange",
                      &plan->exchange.rounded));
    }
    SPMM_TRY(plan->device->ops->stream_create(plan->device, true, &plan->exchange.comm_stream));
    return spmmi_phases_create(&plan->phases, 1);
}

void spmmi_plan_free_buffers(spmm_plan_t *plan)
{
    const spmm_device_ops_t *ops = plan->device->ops;

    give(plan, &plan->conversion.b);
    give(plan, &plan->conversion.c);
    give(plan, &plan->conversion.sum);
    give(plan, &plan->conversion.halo);
    give(plan, &plan->blocks.merged.rows);
    give(plan, &plan->exchange.ghost_rows);
    give(plan, &plan->exchange.send_rows);
    give(plan, &plan->exchange.rounded);
    if (plan->exchange.send_row != plan->exchange.halo.send_row) {
        ops->release(plan->device, plan->exchange.send_row);
    }
    ops->release(plan->device, plan->exchange.reduce.row);
    ops->release(plan->device, plan->exchange.reduce.ptr);
    ops->release(plan->device, plan->exchange.reduce.pos);
    if (plan->exchange.comm_stream != NULL) {
        ops->stream_destroy(plan->device, plan->exchange.comm_stream);
    }
    spmmi_phases_free(&plan->phases);
}

/* The transport counts its own. */
static bool is_own(const spmm_plan_t *plan, const void *rows)
{
    return rows != NULL && rows != plan->exchange.peer_rows;
}

size_t spmmi_plan_buffer_bytes(const spmm_plan_t *plan)
{
    const size_t n_send = (size_t)spmmi_halo_send_rows(&plan->exchange.halo);
    const size_t n_recv = (size_t)spmmi_halo_recv_rows(&plan->exchange.halo);
    const size_t sums   = (size_t)spmmi_plan_map(plan, SPMM_OPERAND_C)->n_local * (size_t)plan->n *
                        spmm_type_size(spmmi_accum_type(plan->c_type));
    size_t rows  = is_own(plan, plan->exchange.send_rows) ? n_send : 0;
    size_t bytes = 0, lists;

    rows += is_own(plan, plan->exchange.ghost_rows) ? n_recv : 0;
    rows += plan->conversion.halo != NULL ? n_recv : 0;
    rows += plan->blocks.merged.rows != NULL ? (size_t)merged_rows(plan) : 0;
    if (plan->conversion.b != NULL) {
        bytes += (size_t)spmmi_plan_map(plan, SPMM_OPERAND_B)->n_local * (size_t)plan->n *
                 spmm_type_size(plan->ab_type);
    }
    bytes += plan->conversion.kind == SPMM_CONVERT_B_AND_C ? sums : 0;
    bytes += plan->conversion.sum != NULL ? sums : 0;
    bytes += spmmi_plan_rounds(plan) ? (n_send + n_recv) * (size_t)plan->n * plan->sent_size : 0;
    lists = plan->op == SPMM_OP_N ? n_send : 2 * (size_t)plan->exchange.reduce.n_rows + 1 + n_send;
    lists -= plan->exchange.send_row == plan->exchange.halo.send_row ? n_send : 0;
    return bytes + rows * row_bytes_of(plan) + lists * sizeof *plan->exchange.send_row;
}
