/* SPDX-License-Identifier: Apache-2.0 */
/** @file transport_mpi_host.c
 *  MPI between host buffers: any MPI, any device.  The transport of the CPU, where messages travel
 *  straight between the packed rows; rows of a GPU are staged through pinned memory.
 */
#include "base/alloc.h"
#include "exchange/mpi_messages.h"

typedef struct {
    const spmm_device_t *device;                    /**< borrowed */
    spmm_mpi_messages_t *messages;                  /**< owned */
    bool                 staged;                    /**< rows lie where MPI cannot reach them */
    void                *send_rows_pinned;          /**< [send rows], owned; NULL unless staged */
    void                *halo_pinned;               /**< [recv rows] */
    size_t               send_rows_size, halo_size; /**< bytes of them */
    spmm_event_t        *delivered; /**< the last copy out of pinned memory; NULL unless staged */
} mpi_host_t;

static bool mpi_host_supports(spmm_transport_shared_t *shared, char why[SPMM_WHY])
{
    (void)shared;
    why[0] = '\0';
    return true;
}

/* Messages of one node go through shared memory: about 1 us each and one copy in, one out.  Rows of
 * a GPU cross PCIe on top, out and in, at about 20 GB/s while other ranks do the same, after a
 * synchronisation of the host with the stream of about 10 us.  On several nodes both ways are
 * measured, and one core moves what goes by either. */
static double mpi_host_cost(const spmm_halo_t *halo, size_t row_bytes, const spmm_device_t *device)
{
    const double out       = (double)spmmi_halo_send_rows(halo) * (double)row_bytes;
    const double in        = (double)spmmi_halo_recv_rows(halo) * (double)row_bytes;
    const double posts     = 1e-6 * (halo->n_send_peers + halo->n_recv_peers);
    const double between_s = spmmi_way_s(halo, SPMM_BETWEEN, row_bytes, device);

    if (device->kind != SPMM_DEVICE_CPU) {
        return posts + 10e-6 + (in + out) / 20e9 + between_s;
    }
    return device->env->nodes.count > 1
               ? spmmi_way_s(halo, SPMM_WITHIN, row_bytes, device) + between_s
               : posts + 2.0 * (in + out) / device->mem_bw;
}

static void mpi_host_destroy(void *state)
{
    mpi_host_t *t = state;

    if (t == NULL) {
        return;
    }
    spmmi_mpi_messages_free(t->messages);
    if (t->staged) {
        t->device->ops->event_destroy(t->device, t->delivered);
    }
    if (t->staged && !t->device->env->unfinished) {
        t->device->ops->release_pinned(t->device, t->send_rows_pinned);
        t->device->ops->release_pinned(t->device, t->halo_pinned);
    }
    spmmi_free(t);
}

static spmm_status_t alloc_staging(mpi_host_t *t)
{
    const spmm_device_ops_t *ops = t->device->ops;

    SPMM_TRY(ops->alloc_pinned(t->device, t->send_rows_size, &t->send_rows_pinned));
    SPMM_TRY(ops->alloc_pinned(t->device, t->halo_size, &t->halo_pinned));
    return ops->event_create(t->device, false, &t->delivered);
}

static spmm_status_t mpi_host_create(spmm_transport_shared_t *shared, const spmm_halo_t *halo,
                                     size_t max_row_bytes, void **state)
{
    spmm_mpi_messages_t *messages = NULL;
    spmm_status_t        status   = SPMM_OK;
    mpi_host_t          *t;

    SPMM_TRY(spmmi_mpi_messages_create(shared->env, halo, max_row_bytes, &messages));
    if (SPMM_NEW_ZERO(t, 1) == NULL) {
        spmmi_mpi_messages_free(messages);
        return spmmi_fail_memory(&shared->env->err, 1, sizeof *t, "a transport");
    }
    t->device   = shared->device;
    t->staged   = shared->device->kind != SPMM_DEVICE_CPU;
    t->messages = messages;
    if (t->staged) {
        t->send_rows_size = (size_t)spmmi_halo_send_rows(halo) * max_row_bytes;
        t->halo_size      = (size_t)spmmi_halo_recv_rows(halo) * max_row_bytes;
        status            = alloc_staging(t);
    }
    if (status != SPMM_OK) {
        mpi_host_destroy(t);
        return status;
    }
    *state = t;
    return SPMM_OK;
}

/* The same exchange between the pinned copies of both sides. */
static spmm_exchange_t pinned(const mpi_host_t *t, const spmm_exchange_t *exchange)
{
    return (spmm_exchange_t){.direction = exchange->direction,
                             .send_rows = t->send_rows_pinned,
                             .halo      = t->halo_pinned,
                             .row_bytes = exchange->row_bytes,
                             .step      = exchange->step};
}

static spmm_status_t copy_side(const mpi_host_t *t, const spmm_exchange_side_t *dst,
                               const spmm_exchange_side_t *src, size_t row_bytes,
                               spmm_stream_t stream)
{
    const size_t bytes = spmmi_side_total(src, row_bytes);

    return bytes == 0 ? SPMM_OK
                      : t->device->ops->copy(t->device, dst->rows, src->rows, bytes, stream);
}

/* What this rank sends, to pinned memory; complete when it returns. */
static spmm_status_t stage_out(mpi_host_t *t, const spmm_exchange_t *exchange, spmm_stream_t stream)
{
    const spmm_exchange_t      copy = pinned(t, exchange);
    const spmm_exchange_side_t dst  = spmmi_exchange_source(t->messages->halo, &copy);
    const spmm_exchange_side_t src  = spmmi_exchange_source(t->messages->halo, exchange);

    /* The messages to be posted write pinned memory that rows of the last exchange may still be
     * copied from, perhaps on another stream. */
    SPMM_TRY(t->device->ops->stream_wait(t->device, stream, t->delivered));
    SPMM_TRY(copy_side(t, &dst, &src, exchange->row_bytes, stream));
    return t->device->ops->stream_sync(t->device, stream);
}

/* What has arrived, from pinned memory. */
static spmm_status_t stage_in(mpi_host_t *t, const spmm_exchange_t *exchange, spmm_stream_t stream)
{
    const spmm_exchange_t      copy = pinned(t, exchange);
    const spmm_exchange_side_t dst  = spmmi_exchange_target(t->messages->halo, exchange);
    const spmm_exchange_side_t src  = spmmi_exchange_target(t->messages->halo, &copy);

    SPMM_TRY(copy_side(t, &dst, &src, exchange->row_bytes, stream));
    return t->device->ops->event_record(t->device, t->delivered, stream);
}

static bool is_alone(const mpi_host_t *t)
{
    return t->messages->halo->n_send_peers == 0 && t->messages->halo->n_recv_peers == 0;
}

static spmm_status_t mpi_host_begin(void *state, const spmm_exchange_t *exchange,
                                    spmm_stream_t stream)
{
    mpi_host_t *t = state;

    if (is_alone(t)) {
        return SPMM_OK;
    }
    if (t->staged) {
        const spmm_exchange_t copy = pinned(t, exchange);

        SPMM_TRY(stage_out(t, exchange, stream));
        return spmmi_mpi_messages_post(t->messages, &copy);
    }
    return spmmi_mpi_messages_post(t->messages, exchange);
}

static spmm_status_t mpi_host_end(void *state, const spmm_exchange_t *exchange,
                                  spmm_stream_t stream)
{
    mpi_host_t *t = state;

    if (is_alone(t)) {
        return SPMM_OK;
    }
    SPMM_TRY(spmmi_mpi_messages_wait(t->messages, exchange));
    return t->staged ? stage_in(t, exchange, stream) : SPMM_OK;
}

static void mpi_host_bytes(const void *state, size_t *host, size_t *device)
{
    const mpi_host_t *t = state;

    *host   = sizeof *t + t->send_rows_size + t->halo_size + spmmi_mpi_messages_bytes(t->messages);
    *device = 0;
}

const spmm_transport_ops_t spmmi_transport_mpi_host = {
    .name        = "mpi-host",
    .description = "MPI between host buffers; rows of a GPU are staged through pinned memory",
    .built       = true,
    .sees_steps  = true,
    .supports    = mpi_host_supports,
    .cost        = mpi_host_cost,
    .create      = mpi_host_create,
    .begin       = mpi_host_begin,
    .end         = mpi_host_end,
    .bytes       = mpi_host_bytes,
    .destroy     = mpi_host_destroy,
    .close       = NULL,
};
