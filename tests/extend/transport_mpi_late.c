/* SPDX-License-Identifier: Apache-2.0 */
/** @file transport_mpi_late.c
 *  A worked example of a transport (docs/how-to/extend.md): MPI between host buffers as mpi-host,
 *  but all of it in end(), so that nothing overlaps.  The difference of the two is
 *  what overlap gains.
 */
#include <stdio.h>

#include "exchange/transport_mpi.h"

/* All ranks ask, and all must get the same answer: the kind of device is equal on all. */
static bool supports(spmm_transport_shared_t *shared, char why[SPMM_WHY])
{
    if (shared->device->kind != SPMM_DEVICE_CPU) {
        (void)snprintf(why, SPMM_WHY, "sends from host memory, and the rows are on a GPU");
        return false;
    }
    return true;
}

/* 1 us for each message, and each row is copied in and out. */
static double cost(const spmm_halo_t *halo, size_t row_bytes, const spmm_device_t *device)
{
    const double rows = (double)(spmmi_halo_send_rows(halo) + spmmi_halo_recv_rows(halo));

    return 1e-6 * (halo->n_send_peers + halo->n_recv_peers) +
           2.0 * rows * (double)row_bytes / device->mem_bw;
}

static spmm_status_t create(spmm_transport_shared_t *shared, const spmm_halo_t *halo,
                            size_t max_row_bytes, void **state)
{
    spmm_mpi_messages_t *messages = NULL;

    SPMM_TRY(spmmi_mpi_messages_create(shared->env, halo, max_row_bytes, &messages));
    *state = messages;
    return SPMM_OK;
}

static spmm_status_t begin(void *state, const spmm_exchange_t *exchange, spmm_stream_t stream)
{
    (void)exchange;
    (void)stream;
    return SPMM_OK;
}

/* Ranks without peers have nothing to post, and never block others. */
static spmm_status_t end(void *state, const spmm_exchange_t *exchange, spmm_stream_t stream)
{
    (void)stream;
    SPMM_TRY(spmmi_mpi_messages_post(state, exchange));
    return spmmi_mpi_messages_wait(state, exchange);
}

static void bytes(const void *state, size_t *host, size_t *device)
{
    *host   = spmmi_mpi_messages_bytes(state);
    *device = 0;
}

static void destroy(void *state)
{
    spmmi_mpi_messages_free(state);
}

const spmm_transport_ops_t spmmi_transport_mpi_late = {
    .name        = "mpi-late",
    .description = "MPI between host buffers, without overlap",
    .built       = true,
    .by_name     = true, /* auto leaves it alone */
    .sees_steps  = true,
    .supports    = supports,
    .cost        = cost,
    .create      = create,
    .begin       = begin,
    .end         = end,
    .bytes       = bytes,
    .destroy     = destroy,
};
