/* SPDX-License-Identifier: Apache-2.0 */
/** @file transport_nccl_push.c
 *  Every rank picks the rows that others need out of its B and stores them in their memory, over
 *  NVLink: one kernel for each exchange, in stream order; the host never waits.  Rows land in the
 *  plan's window; a target elsewhere gets a copy of them.
 */
#include "exchange/transport_nccl_push.h"

#include <string.h>

#include "exchange/nccl_peer.h"
#include "exchange/push_share.h"

#ifdef SPMM_HAVE_NCCL_WINDOW
#include "cuda/cuda_kernels.h"
#include "device/device_cuda.h"
#include "exchange/nccl_comm.h"

_Static_assert(sizeof(spmm_push_state_t) <= SPMM_NCCL_PEER_STATE, "words of the kernel fit");

/* Fitted to exchanges of 4 KiB to 128 MiB between 2 x H200, packing included: within 11 %; between 4 within
 * 17 % (bench/results/exchange_push.tsv).  What a further peer takes is that of nccl-pull. */
static double push_cost(const spmm_halo_t *halo, size_t row_bytes, const spmm_device_t *device)
{
    const int64_t out = spmmi_halo_send_rows(halo), in = spmmi_halo_recv_rows(halo);

    (void)device;
    return 10.5e-6 +
           1.5e-6 *
               (halo->n_send_peers > halo->n_recv_peers ? halo->n_send_peers : halo->n_recv_peers) +
           (double)(out > in ? out : in) * (double)row_bytes / 350e9;
}

static spmm_status_t list_rows(const spmm_nccl_peer_t *t, int32_t **host, int64_t *n)
{
    *host = t->halo->send_row;
    *n    = spmmi_halo_send_rows(t->halo);
    return SPMM_OK;
}

static const spmm_nccl_peer_ops_t ops = {.state_bytes = sizeof(spmm_push_state_t),
                                         .head_bytes  = spmmi_push_head_bytes,
                                         .list_rows   = list_rows};

static spmm_status_t push_create(spmm_transport_shared_t *shared, const spmm_halo_t *halo,
                                 size_t max_row_bytes, void **state)
{
    return spmmi_nccl_peer_create(&ops, shared, halo, max_row_bytes, state);
}

static bool push_reads_in_place(const void *state, const void *rows, size_t ld_bytes, size_t bytes)
{
    const spmm_nccl_peer_t *t = state;

    (void)rows;
    return t->window != NULL && ld_bytes > 0 && bytes > 0;
}

/* Where in the window the rows of an exchange land. */
static size_t landing_of(const spmm_nccl_peer_t *t, const spmm_exchange_side_t *target,
                         size_t bytes)
{
    size_t offset = t->head;

    (void)spmmi_nccl_peer_holds(t, target->rows, bytes, &offset);
    return offset;
}

static void name_windows(const spmm_nccl_peer_t *t, spmm_push_args_t *args)
{
    for (int p = 0; p < t->halo->n_send_peers; p++) {
        args->window[t->halo->send_peer[p]] = t->window->peer[t->halo->send_peer[p]];
    }
    for (int p = 0; p < t->halo->n_recv_peers; p++) {
        args->window[t->halo->recv_peer[p]] = t->window->peer[t->halo->recv_peer[p]];
    }
}

static spmm_status_t push_begin(void *state, const spmm_exchange_t *exchange, spmm_stream_t stream)
{
    spmm_nccl_peer_t          *t       = state;
    const spmm_device_t       *device  = t->shared->device;
    const spmm_exchange_side_t source  = spmmi_exchange_source(t->halo, exchange);
    const spmm_exchange_side_t target  = spmmi_exchange_target(t->halo, exchange);
    const bool                 forward = exchange->direction == SPMM_HALO_FORWARD;
    spmm_push_args_t           args;

    if (spmmi_nccl_peer_is_alone(t->halo)) {
        return SPMM_OK;
    }
    SPMM_TRY(spmmi_pull_space_check(t->shared));
    memset(&args, 0, sizeof args);
    spmmi_push_share(&source, &target, forward ? t->first_halo : t->first_mirror,
                     exchange->row_bytes, &args);
    name_windows(t, &args);
    args.rank         = t->shared->env->rank;
    args.n_ranks      = t->shared->env->size;
    args.own          = t->window->memory;
    args.quick_offset = (int64_t)spmmi_push_slots_bytes(args.n_ranks);
    args.offset       = landing_of(t, &target, spmmi_side_total(&target, exchange->row_bytes));
    args.target       = target.rows;
    args.source       = source.rows;
    args.ld           = args.row_bytes;
    if (forward && exchange->in_place != NULL) {
        args.source = exchange->in_place;
        args.ld     = (int64_t)exchange->ld_bytes;
        args.row    = t->row;
    }
    args.state = t->words;
    args.watch = spmmi_pull_space_watch(t->space);
    SPMM_TRY(spmmi_cuda_use(device));
    return spmmi_cuda_check(device, spmmi_cuda_push(&args, (cudaStream_t)stream),
                            "the kernel push");
}

/* The stream itself keeps the order.  Quick rows are where they belong. */
static spmm_status_t push_end(void *state, const spmm_exchange_t *exchange, spmm_stream_t stream)
{
    const spmm_nccl_peer_t    *t      = state;
    const spmm_device_t       *device = t->shared->device;
    const spmm_exchange_side_t target = spmmi_exchange_target(t->halo, exchange);
    const char                *landed;

    if (spmmi_nccl_peer_is_alone(t->halo)) {
        return SPMM_OK;
    }
    landed =
        t->window->memory + landing_of(t, &target, spmmi_side_total(&target, exchange->row_bytes));
    for (int p = 0; p < target.n_peers && landed != target.rows; p++) {
        const size_t at = (size_t)target.ptr[p] * exchange->row_bytes;

        if (!spmmi_push_is_quick(target.ptr[p + 1] - target.ptr[p], exchange->row_bytes)) {
            SPMM_TRY(device->ops->copy(device, target.rows + at, landed + at,
                                       spmmi_side_bytes(&target, p, exchange->row_bytes), stream));
        }
    }
    return spmmi_pull_space_check(t->shared);
}

/* Windows turn multicast off in the whole process, which a program may need for itself. */
static const char *push_asks_first(void)
{
    return spmmi_nccl_is_without_nvls() ? NULL
                                        : "is taken by auto where NCCL_NVLS_ENABLE=0 says that the "
                                          "program needs no multicast; else by name";
}

const spmm_transport_ops_t spmmi_transport_nccl_push = {
    .name           = "nccl-push",
    .description    = "halo rows stored to the memory of the other GPUs of a node, by NCCL windows",
    .built          = true,
    .asks_first     = push_asks_first,
    .captures       = true,
    .packs          = true,
    .supports       = spmmi_pull_space_supports,
    .open           = spmmi_nccl_peer_open,
    .cost           = push_cost,
    .create         = push_create,
    .begin          = push_begin,
    .end            = push_end,
    .target_rows    = spmmi_nccl_peer_rows,
    .reads_in_place = push_reads_in_place,
    .bytes          = spmmi_nccl_peer_bytes,
    .destroy        = spmmi_nccl_peer_destroy,
    .close          = spmmi_pull_space_close,
    .check          = spmmi_pull_space_check,
};

#else

/* Nothing else is ever called. */
const spmm_transport_ops_t spmmi_transport_nccl_push = {
    .name        = "nccl-push",
    .description = "halo rows stored to the memory of the other GPUs of a node, by NCCL windows",
    .built       = false,
    .supports    = spmmi_nccl_peer_unbuilt,
};
#endif
