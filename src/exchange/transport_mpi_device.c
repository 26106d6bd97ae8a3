/* SPDX-License-Identifier: Apache-2.0 */
/** @file transport_mpi_device.c
 *  MPI straight between device buffers, for a CUDA-aware Open MPI.  The library asks the MPI it
 *  runs with, not the one it was compiled with.
 */
#include <stdio.h>

#include "base/alloc.h"
#include "exchange/mpi_messages.h"

/* Open MPI declares the query in an extension header; 4.1 has it whether CUDA-aware or not. */
#if defined(SPMM_HAVE_CUDA) && defined(OPEN_MPI)
#include <mpi-ext.h>
#endif
#if defined(SPMM_HAVE_CUDA) && defined(OMPI_HAVE_MPI_EXT_CUDA) && OMPI_HAVE_MPI_EXT_CUDA
enum { IS_BUILT = true };
static int is_cuda_aware(void)
{
    return MPIX_Query_cuda_support() == 1;
}
#else
enum { IS_BUILT = false };
static int is_cuda_aware(void)
{
    return 0;
}
#endif

typedef struct {
    const spmm_device_t *device;   /**< borrowed */
    spmm_mpi_messages_t *messages; /**< owned */
} mpi_device_t;

static bool mpi_device_supports(spmm_transport_shared_t *shared, char why[SPMM_WHY])
{
    spmm_env_t *env   = shared->env;
    int         aware = is_cuda_aware(); /* on all ranks at last */

    why[0] = '\0';
    if (shared->device->kind != SPMM_DEVICE_CUDA) {
        (void)snprintf(why, SPMM_WHY, "needs a GPU; on the CPU use mpi-host");
        return false;
    }
    if (!IS_BUILT) {
        (void)snprintf(why, SPMM_WHY,
                       "is not in this build: the MPI it was compiled with has no "
                       "MPIX_Query_cuda_support");
        return false;
    }
    if (spmmi_allreduce(env, &aware, 1, MPI_INT, MPI_MIN) != SPMM_OK) {
        (void)snprintf(why, SPMM_WHY, "could not be agreed on: MPI failed");
        return false;
    }
    if (!aware) {
        (void)snprintf(why, SPMM_WHY,
                       "needs a CUDA-aware MPI, and MPIX_Query_cuda_support() of this one says no "
                       "(scripts/build_openmpi_cuda.sh builds one)");
        return false;
    }
    return true;
}

/* CUDA IPC of a CUDA-aware Open MPI 4.1 over NVLink (smcuda): 328 GB/s at 16 MiB on 4 x H200;
 * latency of a host synchronisation with the stream plus one handshake of about 10 us. */
static double mpi_device_cost(const spmm_halo_t *halo, size_t row_bytes,
                              const spmm_device_t *device)
{
    return 20e-6 + spmmi_ways_s(halo, row_bytes, device, 300e9);
}

static void mpi_device_destroy(void *state)
{
    mpi_device_t *t = state;

    if (t != NULL) {
        spmmi_mpi_messages_free(t->messages);
        spmmi_free(t);
    }
}

static spmm_status_t mpi_device_create(spmm_transport_shared_t *shared, const spmm_halo_t *halo,
                                       size_t max_row_bytes, void **state)
{
    spmm_mpi_messages_t *messages = NULL;
    mpi_device_t        *t;

    SPMM_TRY(spmmi_mpi_messages_create(shared->env, halo, max_row_bytes, &messages));
    if (SPMM_NEW_ZERO(t, 1) == NULL) {
        spmmi_mpi_messages_free(messages);
        return spmmi_fail_memory(&shared->env->err, 1, sizeof *t, "a transport");
    }
    *t     = (mpi_device_t){.device = shared->device, .messages = messages};
    *state = t;
    return SPMM_OK;
}

/* MPI knows no streams: the packed rows must be there, and the target free, before it starts. */
static spmm_status_t mpi_device_begin(void *state, const spmm_exchange_t *exchange,
                                      spmm_stream_t stream)
{
    mpi_device_t *t = state;

    if (t->messages->halo->n_send_peers == 0 && t->messages->halo->n_recv_peers == 0) {
        return SPMM_OK;
    }
    SPMM_TRY(t->device->ops->stream_sync(t->device, stream));
    return spmmi_mpi_messages_post(t->messages, exchange);
}

static spmm_status_t mpi_device_end(void *state, const spmm_exchange_t *exchange,
                                    spmm_stream_t stream)
{
    mpi_device_t *t = state;

    (void)stream;
    return spmmi_mpi_messages_wait(t->messages, exchange);
}

static void mpi_device_bytes(const void *state, size_t *host, size_t *device)
{
    const mpi_device_t *t = state;

    *host   = sizeof *t + spmmi_mpi_messages_bytes(t->messages);
    *device = 0;
}

const spmm_transport_ops_t spmmi_transport_mpi_device = {
    .name        = "mpi-device",
    .description = "CUDA-aware MPI between device buffers",
    .built       = IS_BUILT,
    .sees_steps  = true,
    .supports    = mpi_device_supports,
    .cost        = mpi_device_cost,
    .create      = mpi_device_create,
    .begin       = mpi_device_begin,
    .end         = mpi_device_end,
    .bytes       = mpi_device_bytes,
    .destroy     = mpi_device_destroy,
    .close       = NULL,
};
