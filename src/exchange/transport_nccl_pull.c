/* SPDX-License-Identifier: Apache-2.0 */
/** @file transport_nccl_pull.c
 *  Halo rows read by load instructions out of the memory of their owners, over NVLink: one kernel
 *  for each exchange, in stream order; the host never waits.  B is read where it lies when that is a
 *  buffer of the library (alloc_home), else it is packed into the plan's window first.  Each rank
 *  says anew in each exchange where its rows are, so ranks need not do the same.
 */
#include "exchange/transport_nccl_pull.h"

#include <string.h>

#include "exchange/nccl_peer.h"
#include "exchange/pull_share.h"

#ifdef SPMM_HAVE_NCCL_WINDOW
#include "base/alloc.h"
#include "base/comm.h"
#include "cuda/cuda_kernels.h"
#include "device/device_cuda.h"

enum { SLOTS_BYTES = SPMM_PULL_ALIGN };

_Static_assert(SPMM_PULL_PEERS * sizeof(spmm_pull_slot_t) <= SLOTS_BYTES, "slots fit their page");
_Static_assert(sizeof(spmm_pull_state_t) <= SPMM_NCCL_PEER_STATE, "words of the kernel fit");

/* Fitted to exchanges of 4 KiB to 128 MiB between 2 and 4 x H200, rows read where they lie
 * (bench/results/exchange_push.tsv, exchange_pull.tsv): within 12 %. */
static double pull_cost(const spmm_halo_t *halo, size_t row_bytes, const spmm_device_t *device)
{
    (void)device;
    return 13.5e-6 + 1.5e-6 * halo->n_recv_peers +
           (double)spmmi_halo_recv_rows(halo) * (double)row_bytes / 325e9;
}

/* The owner's number of each halo row: its list of mirror rows.  Collective, agreed. */
static spmm_status_t list_rows(const spmm_nccl_peer_t *t, int32_t **host, int64_t *n)
{
    spmm_env_t        *env                   = t->shared->env;
    const spmm_halo_t *g                     = t->halo;
    int64_t            send[SPMM_PULL_PEERS] = {0}, recv[SPMM_PULL_PEERS] = {0};
    spmm_status_t      status = SPMM_OK;

    for (int p = 0; p < g->n_send_peers; p++) {
        send[g->send_peer[p]] = g->send_ptr[p + 1] - g->send_ptr[p];
    }
    for (int p = 0; p < g->n_recv_peers; p++) {
        recv[g->recv_peer[p]] = g->recv_ptr[p + 1] - g->recv_ptr[p];
    }
    *n = spmmi_halo_recv_rows(g);
    if (SPMM_NEW(*host, *n) == NULL) {
        status = spmmi_fail_memory(&env->err, *n, sizeof **host, "rows to read");
    }
    status = spmmi_agree(env, status);
    if (status == SPMM_OK) {
        status = spmmi_alltoallv(env, g->send_row, send, *host, recv, sizeof **host);
    }
    if (status != SPMM_OK) {
        spmmi_free(*host);
        *host = NULL;
    }
    return status;
}

static size_t head_bytes(int n_ranks)
{
    (void)n_ranks;
    return SLOTS_BYTES;
}

static const spmm_nccl_peer_ops_t ops = {
    .state_bytes = sizeof(spmm_pull_state_t), .head_bytes = head_bytes, .list_rows = list_rows};

static spmm_status_t pull_create(spmm_transport_shared_t *shared, const spmm_halo_t *halo,
                                 size_t max_row_bytes, void **state)
{
    return spmmi_nccl_peer_create(&ops, shared, halo, max_row_bytes, state);
}

static bool pull_reads_in_place(const void *state, const void *rows, size_t ld_bytes, size_t bytes)
{
    const spmm_nccl_peer_t *t      = state;
    size_t                  offset = 0;

    return t->space != NULL && bytes > 0 && ld_bytes > 0 && ld_bytes <= UINT32_MAX &&
           spmmi_pull_space_find(t->space, rows, bytes, &offset) >= 0;
}

/* Say where this rank's rows lie, after copying them to where peers can read if need be. */
static spmm_status_t place_rows(spmm_nccl_peer_t *t, const spmm_exchange_t *exchange,
                                const spmm_exchange_side_t *source, spmm_pull_args_t *args,
                                spmm_stream_t stream)
{
    const spmm_device_t *device = t->shared->device;
    const size_t         bytes  = (size_t)source->ptr[source->n_peers] * exchange->row_bytes;
    size_t               offset = 0;

    if (exchange->direction == SPMM_HALO_FORWARD && exchange->in_place != NULL) {
        const int home = spmmi_pull_space_find(t->space, exchange->in_place, 1, &offset);

        if (home < 0) {
            return spmmi_fail(&device->env->err, SPMM_ERR_ARGUMENT,
                              "B does not lie in a buffer that peers can read");
        }
        args->window = (uint32_t)home;
        args->offset = offset;
        args->ld     = (uint32_t)exchange->ld_bytes;
        return SPMM_OK;
    }
    args->window = SPMM_PULL_OWN;
    args->ld     = 0;
    args->offset = SLOTS_BYTES;
    if (bytes == 0) {
        return SPMM_OK;
    }
    if (spmmi_nccl_peer_holds(t, source->rows, bytes, &offset)) { /* a slice, packed there */
        args->offset = offset;
        return SPMM_OK;
    }
    return device->ops->copy(device, spmmi_nccl_peer_rows(t), source->rows, bytes, stream);
}

static void name_windows(const spmm_nccl_peer_t *t, spmm_pull_args_t *args)
{
    for (int p = 0; p < args->n_from; p++) {
        args->from[p].window = t->window->peer[args->from[p].rank];
    }
    for (int p = 0; p < args->n_to; p++) {
        args->to[p] = t->window->peer[args->to_rank[p]];
    }
}

static spmm_status_t pull_begin(void *state, const spmm_exchange_t *exchange, spmm_stream_t stream)
{
    spmm_nccl_peer_t          *t       = state;
    const spmm_device_t       *device  = t->shared->device;
    const spmm_exchange_side_t source  = spmmi_exchange_source(t->halo, exchange);
    const spmm_exchange_side_t target  = spmmi_exchange_target(t->halo, exchange);
    const bool                 forward = exchange->direction == SPMM_HALO_FORWARD;
    spmm_pull_args_t           args;

    if (spmmi_nccl_peer_is_alone(t->halo)) {
        return SPMM_OK;
    }
    SPMM_TRY(spmmi_pull_space_check(t->shared));
    memset(&args, 0, sizeof args);
    spmmi_pull_share(&source, &target, forward ? t->first_mirror : t->first_halo,
                     exchange->row_bytes, &args);
    name_windows(t, &args);
    SPMM_TRY(place_rows(t, exchange, &source, &args, stream));
    args.rank   = t->shared->env->rank;
    args.own    = t->window->memory;
    args.shared = t->space->table;
    args.row    = forward ? t->row : NULL;
    args.target = target.rows;
    args.state  = t->words;
    args.watch  = spmmi_pull_space_watch(t->space);
    SPMM_TRY(spmmi_cuda_use(device));
    return spmmi_cuda_check(device, spmmi_cuda_pull(&args, (cudaStream_t)stream),
                            "the kernel pull");
}

/* The stream itself keeps the order. */
static spmm_status_t pull_end(void *state, const spmm_exchange_t *exchange, spmm_stream_t stream)
{
    const spmm_nccl_peer_t *t = state;

    (void)exchange;
    (void)stream;
    return spmmi_pull_space_check(t->shared);
}

static spmm_status_t pull_alloc_home(spmm_transport_shared_t *shared, size_t bytes, void **buffer)
{
    char          why[SPMM_WHY];
    spmm_status_t status;

    *buffer = NULL;
    if (shared->env->size == 1 || !spmmi_pull_space_supports(shared, why)) {
        return SPMM_OK;
    }
    status = spmmi_pull_space_open(shared);
    if (status == SPMM_OK) {
        status = spmmi_pull_space_alloc(shared->pull, bytes, buffer);
    }
    if (status == SPMM_ERR_UNSUPPORTED) { /* a plan with this transport would be refused as well */
        spmmi_log(shared->env, "%s", shared->env->err.text);
        spmmi_error_clear(&shared->env->err);
        return SPMM_OK;
    }
    return status;
}

static bool pull_free_home(spmm_transport_shared_t *shared, void *buffer)
{
    return shared->pull != NULL && spmmi_pull_space_release(shared->pull, buffer);
}

const spmm_transport_ops_t spmmi_transport_nccl_pull = {
    .name           = "nccl-pull",
    .description    = "halo rows read from the memory of the other GPUs of a node, by NCCL windows",
    .built          = true,
    .by_name        = true, /* nccl-push was faster at all sizes measured, wherever B lies */
    .captures       = true,
    .supports       = spmmi_pull_space_supports,
    .open           = spmmi_nccl_peer_open,
    .cost           = pull_cost,
    .create         = pull_create,
    .begin          = pull_begin,
    .end            = pull_end,
    .rows           = spmmi_nccl_peer_rows,
    .reads_in_place = pull_reads_in_place,
    .bytes          = spmmi_nccl_peer_bytes,
    .destroy        = spmmi_nccl_peer_destroy,
    .close          = spmmi_pull_space_close,
    .check          = spmmi_pull_space_check,
    .alloc_home     = pull_alloc_home,
    .free_home      = pull_free_home,
};

#else

/* Nothing else is ever called. */
const spmm_transport_ops_t spmmi_transport_nccl_pull = {
    .name        = "nccl-pull",
    .description = "halo rows read from the memory of the other GPUs of a node, by NCCL windows",
    .built       = false,
    .supports    = spmmi_nccl_peer_unbuilt,
};
#endif
