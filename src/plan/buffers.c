/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "plan/plan.h"

/* Device memory that the stats count. */
static spmm_status_t take(spmm_plan_t *plan, int64_t count, size_t size, const char *what,
                          void **ptr)
{
    size_t bytes;

    if (!spmm_size_mul((size_t)count, size, &bytes)) {
        return spmm_fail_memory(&plan->env->err, count, size, what);
    }
    SPMM_TRY(plan->device->ops->alloc(plan->device, bytes, ptr));
    plan->stats.device_bytes += bytes;
    return SPMM_OK;
}

static spmm_status_t upload(spmm_plan_t *plan, const int32_t *host, int64_t count, int32_t **ptr)
{
    void *device = NULL;

    SPMM_TRY(spmm_device_upload(plan->device, host, (size_t)count * sizeof *host, &device));
    plan->stats.device_bytes += (size_t)count * sizeof *host;
    *ptr = device;
    return SPMM_OK;
}

/* Group the mirror rows by local row (counting sort): row[u] gets the received rows pos[ptr[u] ..
 * ptr[u + 1]), ascending, so the order of the sum does not depend on timing. */
static int64_t group_rows(const spmm_halo_t *halo, int32_t n_local, int32_t *cursor, int32_t *row,
                          int32_t *ptr, int32_t *pos)
{
    const int32_t n_mirror = (int32_t)spmm_halo_send_rows(halo);
    int64_t       n_rows   = 0;

    for (int32_t k = 0; k < n_mirror; k++) {
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
    for (int32_t k = 0; k < n_mirror; k++) {
        pos[cursor[halo->send_row[k]]++] = k;
    }
    return n_rows;
}

static spmm_status_t make_reduce_list(spmm_plan_t *plan)
{
    const int64_t n_mirror = spmm_halo_send_rows(&plan->halo);
    const int32_t n_local  = plan->cols.n_local;
    int32_t      *cursor, *row, *ptr, *pos;
    spmm_status_t status = SPMM_OK;

    SPMM_NEW_ZERO(cursor, n_local);
    SPMM_NEW(row, n_mirror);
    SPMM_NEW(ptr, n_mirror + 1);
    SPMM_NEW(pos, n_mirror);
    if (cursor == NULL || row == NULL || ptr == NULL || pos == NULL) {
        status = spmm_fail_memory(&plan->env->err, n_mirror, sizeof *row, "rows to add");
    } else {
        plan->reduce.n_rows = group_rows(&plan->halo, n_local, cursor, row, ptr, pos);
        status              = upload(plan, row, plan->reduce.n_rows, &plan->reduce.row);
        if (status == SPMM_OK) {
            status = upload(plan, ptr, plan->reduce.n_rows + 1, &plan->reduce.ptr);
        }
        if (status == SPMM_OK) {
            status = upload(plan, pos, n_mirror, &plan->reduce.pos);
        }
    }
    spmm_free(cursor);
    spmm_free(row);
    spmm_free(ptr);
    spmm_free(pos);
    return status;
}

/* Room for row-major copies of B and C. */
static spmm_status_t make_edge(spmm_plan_t *plan)
{
    const size_t b_row = (size_t)plan->n * spmm_type_size(plan->ab_type);
    const size_t c_row = (size_t)plan->n * spmm_type_size(plan->c_type);

    SPMM_TRY(take(plan, spmm_plan_map(plan, SPMM_OPERAND_B)->n_local, b_row,
                  "a row-major copy of B", &plan->edge_b));
    return take(plan, spmm_plan_map(plan, SPMM_OPERAND_C)->n_local, c_row, "a row-major copy of C",
                &plan->edge_c);
}

/* Room for the rows of an exchange.  Those to send lie where the transport wants them, if it cares. */
static spmm_status_t make_rows(spmm_plan_t *plan, size_t row_bytes)
{
    const spmm_transport_ops_t *transport = plan->transport;
    const bool                  forward   = plan->op == SPMM_OP_N;

    plan->peer_rows = transport->rows == NULL ? NULL : transport->rows(plan->exchange);
    if (plan->peer_rows != NULL) {
        *(forward ? &plan->mirror_rows : &plan->halo_rows) = plan->peer_rows;
    }
    if (plan->mirror_rows == NULL) {
        SPMM_TRY(take(plan, spmm_halo_send_rows(&plan->halo), row_bytes, "rows to exchange",
                      &plan->mirror_rows));
    }
    return plan->halo_rows != NULL ? SPMM_OK
                                   : take(plan, spmm_halo_recv_rows(&plan->halo), row_bytes,
                                          "rows to exchange", &plan->halo_rows);
}

static void free_rows(spmm_plan_t *plan, void *rows)
{
    if (rows != plan->peer_rows) {
        plan->device->ops->release(plan->device, rows);
    }
}

spmm_status_t spmm_plan_make_buffers(spmm_plan_t *plan)
{
    const spmm_device_ops_t *ops       = plan->device->ops;
    const int64_t            n_send    = spmm_halo_send_rows(&plan->halo);
    const int64_t            n_recv    = spmm_halo_recv_rows(&plan->halo);
    const size_t             row_bytes = (size_t)plan->n * spmm_type_size(plan->halo_type);

    if (n_send > INT32_MAX) {
        return spmm_fail(&plan->env->err, SPMM_ERR_RANGE,
                         "rank %d sends %" PRId64 " rows per execute, more than 2^31 - 1; use more "
                         "ranks or a better partition",
                         plan->env->rank, n_send);
    }
    SPMM_TRY(make_rows(plan, row_bytes));
    if (plan->remote.problem.layout == SPMM_LAYOUT_COL) {
        SPMM_TRY(take(plan, n_recv, row_bytes, "rows to exchange", &plan->halo_edge));
    }
    if (plan->edge) {
        SPMM_TRY(make_edge(plan));
    }
    if (plan->op == SPMM_OP_N) {
        SPMM_TRY(upload(plan, plan->halo.send_row, n_send, &plan->send_row));
    } else {
        SPMM_TRY(make_reduce_list(plan));
    }
    SPMM_TRY(ops->stream_create(plan->device, true, &plan->comm_stream));
    for (int m = 0; m < SPMM_MARKS; m++) {
        SPMM_TRY(ops->event_create(plan->device, plan->profile, &plan->marks[m]));
    }
    return SPMM_OK;
}

void spmm_plan_free_buffers(spmm_plan_t *plan)
{
    const spmm_device_ops_t *ops = plan->device->ops;

    free_rows(plan, plan->mirror_rows);
    free_rows(plan, plan->halo_rows);
    ops->release(plan->device, plan->halo_edge);
    ops->release(plan->device, plan->edge_b);
    ops->release(plan->device, plan->edge_c);
    ops->release(plan->device, plan->send_row);
    ops->release(plan->device, plan->reduce.row);
    ops->release(plan->device, plan->reduce.ptr);
    ops->release(plan->device, plan->reduce.pos);
    if (plan->comm_stream != NULL) {
        ops->stream_destroy(plan->device, plan->comm_stream);
    }
    for (int m = 0; m < SPMM_MARKS; m++) {
        ops->event_destroy(plan->device, plan->marks[m]);
    }
}
