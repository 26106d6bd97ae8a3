/* SPDX-License-Identifier: Apache-2.0 */
/** @file transport_nccl.c
 *  One group of NCCL sends and receives for each exchange, in stream order: the host never waits.
 *  One communicator for each context, made by its first plan that uses it.
 */
#include <stdio.h>
#include <string.h>

#include "exchange/transport.h"

#if defined(SPMM_HAVE_CUDA) && defined(SPMM_HAVE_NCCL)
#include "base/alloc.h"
#include "device/device_cuda.h"
#include "exchange/nccl_comm.h"

/* Bytes: NCCL reads a shorter message by words, beyond its end. */
enum { WORD = 16 };

typedef struct {
    spmm_transport_shared_t *shared; /**< borrowed */
    const spmm_halo_t       *halo;   /**< borrowed */
} nccl_state_t;

/** Which GPU a rank drives. */
typedef struct {
    unsigned char uuid[16]; /**< unlike bus ids, unique over hosts and containers */
    char          bus_id[32];
    char          host[80];
} gpu_t;

static spmm_status_t describe_gpu(spmm_env_t *env, const spmm_device_t *device, gpu_t *gpu)
{
    char                  name[MPI_MAX_PROCESSOR_NAME] = "";
    int                   length                       = 0;
    struct cudaDeviceProp properties;

    memset(gpu, 0, sizeof *gpu);
    SPMM_CUDA(device, cudaGetDeviceProperties(&properties, device->ordinal));
    SPMM_MPI(env, MPI_Get_processor_name(name, &length));
    memcpy(gpu->uuid, &properties.uuid, sizeof gpu->uuid);
    (void)snprintf(gpu->bus_id, sizeof gpu->bus_id, "%s", device->bus_id);
    (void)snprintf(gpu->host, sizeof gpu->host, "%.79s", name);
    return SPMM_OK;
}

/* The lowest pair of ranks on one GPU; first * size + second, or -1.  Each rank looks for the ranks
 * below that share its own. */
static spmm_status_t find_shared(spmm_env_t *env, const gpu_t *gpu, int64_t *pair)
{
    int64_t least = INT64_MAX;

    for (int p = 0; p < env->rank; p++) {
        if (memcmp(gpu[p].uuid, gpu[env->rank].uuid, sizeof gpu[p].uuid) == 0) {
            least = (int64_t)p * env->size + env->rank;
            break;
        }
    }
    SPMM_TRY(spmmi_allreduce(env, &least, 1, MPI_INT64_T, MPI_MIN));
    *pair = least == INT64_MAX ? -1 : least;
    return SPMM_OK;
}

/* Collective, agreed. */
static spmm_status_t compare_gpus(spmm_transport_shared_t *shared, gpu_t *gpu, int64_t *pair)
{
    spmm_env_t   *env    = shared->env;
    spmm_status_t status = SPMM_OK;
    gpu_t         mine;

    status = gpu == NULL ? spmmi_fail_memory(&env->err, env->size, sizeof *gpu, "the list of GPUs")
                         : describe_gpu(env, shared->device, &mine);
    SPMM_TRY(spmmi_agree(env, status));
    SPMM_TRY(spmmi_allgather(env, &mine, gpu, sizeof mine));
    return spmmi_agree(env, find_shared(env, gpu, pair));
}

static bool nccl_supports(spmm_transport_shared_t *shared, char why[SPMM_WHY])
{
    spmm_env_t *env  = shared->env;
    int64_t     pair = -1;
    gpu_t      *gpu;

    why[0] = '\0';
    if (shared->device->kind != SPMM_DEVICE_CUDA) {
        (void)snprintf(why, SPMM_WHY, "needs a GPU; on the CPU use mpi-host");
        return false;
    }
    if (env->size == 1) {
        return true; /* nothing ever travels */
    }
    (void)SPMM_NEW(gpu, env->size);
    if (compare_gpus(shared, gpu, &pair) != SPMM_OK) {
        (void)snprintf(why, SPMM_WHY, "could not be tried: %.150s", env->err.text);
        spmmi_error_clear(&env->err);
        spmmi_free(gpu);
        return false;
    }
    if (pair >= 0) {
        const int first = (int)(pair / env->size), second = (int)(pair % env->size);

        (void)snprintf(why, SPMM_WHY,
                       "needs one GPU per rank, and ranks %d and %d share GPU %s on %.60s; use "
                       "mpi-host",
                       first, second, gpu[first].bus_id, gpu[first].host);
    }
    spmmi_free(gpu);
    return pair < 0;
}

/* Measured on 4 x H200 with NVLink: 14 us for the shortest exchange, 340 GB/s out of each GPU for
 * the longest. */
static double nccl_cost(const spmm_halo_t *halo, size_t row_bytes, const spmm_device_t *device)
{
    return 14e-6 + spmmi_ways_s(halo, row_bytes, device, 340e9);
}

static bool is_alone(const spmm_halo_t *halo)
{
    return halo->n_send_peers == 0 && halo->n_recv_peers == 0;
}

/* NCCL connects a pair of ranks at their first message and may wait for the device then.  A word to
 * and from each peer, both ways, moves that from the first execute to here. */
static spmm_status_t connect_peers(nccl_state_t *t, char *scratch, const int64_t *ptr)
{
    const spmm_halo_t   *g      = t->halo;
    const spmm_device_t *device = t->shared->device;
    char                *behind = scratch + (size_t)g->n_send_peers * WORD;
    spmm_exchange_side_t sends  = {g->n_send_peers, g->send_peer, ptr, scratch};
    spmm_exchange_side_t recvs  = {g->n_recv_peers, g->recv_peer, ptr, behind};

    SPMM_TRY(spmmi_nccl_exchange(t->shared, &sends, &recvs, WORD, NULL));
    SPMM_TRY(spmmi_nccl_exchange(t->shared, &recvs, &sends, WORD, NULL));
    SPMM_TRY(device->ops->stream_sync(device, NULL));
    return spmmi_nccl_check(t->shared);
}

static spmm_status_t warm_up(nccl_state_t *t)
{
    const spmm_device_t *device  = t->shared->device;
    const int64_t        n_peers = (int64_t)t->halo->n_send_peers + t->halo->n_recv_peers;
    spmm_env_t          *env     = t->shared->env;
    spmm_status_t        status  = SPMM_OK;
    void                *scratch = NULL;
    int64_t             *ptr;

    if (SPMM_NEW(ptr, n_peers + 1) == NULL) {
        status = spmmi_fail_memory(&env->err, n_peers + 1, sizeof *ptr, "the peers of a rank");
    } else {
        for (int64_t p = 0; p <= n_peers; p++) {
            ptr[p] = p;
        }
        status = device->ops->alloc(device, (size_t)n_peers * WORD, &scratch);
    }
    status = spmmi_agree(env, status); /* peers wait for each other from here on */
    if (status == SPMM_OK && n_peers > 0) {
        status = connect_peers(t, scratch, ptr);
    }
    device->ops->release(device, scratch);
    spmmi_free(ptr);
    return status;
}

static void nccl_destroy(void *state)
{
    spmmi_free(state);
}

static spmm_status_t nccl_create(spmm_transport_shared_t *shared, const spmm_halo_t *halo,
                                 size_t max_row_bytes, void **state)
{
    spmm_status_t status = SPMM_OK;
    nccl_state_t *t;

    (void)max_row_bytes;
    if (SPMM_NEW(t, 1) == NULL) {
        status = spmmi_fail_memory(&shared->env->err, 1, sizeof *t, "a transport");
    } else {
        *t = (nccl_state_t){.shared = shared, .halo = halo};
    }
    status = spmmi_agree(shared->env, status);
    if (status == SPMM_OK && shared->env->size > 1) {
        status = spmmi_nccl_open(shared);
        if (status == SPMM_OK) {
            status = warm_up(t);
        }
    }
    if (status != SPMM_OK) {
        nccl_destroy(t);
        return status;
    }
    *state = t;
    return SPMM_OK;
}

static spmm_status_t nccl_begin(void *state, const spmm_exchange_t *exchange, spmm_stream_t stream)
{
    nccl_state_t              *t    = state;
    const spmm_exchange_side_t from = spmmi_exchange_source(t->halo, exchange);
    const spmm_exchange_side_t to   = spmmi_exchange_target(t->halo, exchange);

    return is_alone(t->halo)
               ? SPMM_OK
               : spmmi_nccl_exchange(t->shared, &from, &to, exchange->row_bytes, stream);
}

/* The stream itself keeps the order. */
static spmm_status_t nccl_end(void *state, const spmm_exchange_t *exchange, spmm_stream_t stream)
{
    const nccl_state_t *t = state;

    (void)exchange;
    (void)stream;
    return spmmi_nccl_check(t->shared);
}

/* NCCL's own buffers, some MiB for each peer, are the communicator's and not counted. */
static void nccl_bytes(const void *state, size_t *host, size_t *device)
{
    *host   = sizeof(nccl_state_t);
    *device = 0;
    (void)state;
}

const spmm_transport_ops_t spmmi_transport_nccl = {
    .name        = "nccl",
    .description = "NCCL send and receive between GPUs, in stream order",
    .built       = true,
    .supports    = nccl_supports,
    .cost        = nccl_cost,
    .create      = nccl_create,
    .begin       = nccl_begin,
    .end         = nccl_end,
    .bytes       = nccl_bytes,
    .destroy     = nccl_destroy,
    .close       = spmmi_nccl_close,
    .check       = spmmi_nccl_check,
    .captures    = true,
};

#else

static bool nccl_supports(spmm_transport_shared_t *shared, char why[SPMM_WHY])
{
    (void)shared;
    (void)snprintf(why, SPMM_WHY, "is not in this build: it needs CUDA and NCCL");
    return false;
}

/* supports() says no: nothing else is ever called. */
const spmm_transport_ops_t spmmi_transport_nccl = {
    .name        = "nccl",
    .description = "NCCL send and receive between GPUs, in stream order",
    .built       = false,
    .supports    = nccl_supports,
};
#endif
