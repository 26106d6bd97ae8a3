/* SPDX-License-Identifier: Apache-2.0 */
/** @file transport_nccl_push.c
 *  Every rank picks the rows that others need out of its B and stores them in their memory, over
 *  NVLink: one kernel for each exchange, in stream order; the host never waits.  Rows land in the
 *  plan's window; a target elsewhere gets a copy of them.
 */
#include <stdio.h>

#include "exchange/peer_space.h"
#include "exchange/push_share.h"

#ifdef SPMM_HAVE_NCCL_WINDOW
#include <string.h>

#include "base/alloc.h"
#include "cuda/cuda_kernels.h"
#include "device/device_cuda.h"

typedef struct {
    spmm_transport_shared_t *shared; /**< borrowed, as is the halo */
    const spmm_halo_t       *halo;
    spmm_peer_space_t       *space;  /**< borrowed; NULL on one rank, as is all below */
    spmm_nccl_window_t      *window; /**< owned: slots, room for low-latency rows, rows */
    size_t                   head;   /**< bytes of the window before its rows */
    spmm_push_state_t       *words;  /**< device, owned, as is the next */
    int32_t                 *row;    /**< device [send rows]: halo->send_row */
    uint32_t                 told;   /**< exchanges that say when they are over */
    /** [rank] first row for this rank among the send rows, and the ghost rows, of another */
    int64_t first_send_row[SPMM_PEER_RANKS], first_halo[SPMM_PEER_RANKS];
} push_t;

/* Fitted to exchanges of 4 KiB to 128 MiB between 2 x H200, packing included: within 11 %; between
 * 4 within 17 %. */
static double push_cost(const spmm_halo_t *halo, size_t row_bytes, const spmm_device_t *device)
{
    return 10.5e-6 +
           1.5e-6 *
               (halo->n_send_peers > halo->n_recv_peers ? halo->n_send_peers : halo->n_recv_peers) +
           spmmi_ways_s(halo, row_bytes, device, 350e9);
}

static spmm_status_t exchange_firsts(spmm_env_t *env, int n_peers, const int *peer,
                                     const int64_t *ptr, int64_t *first)
{
    int64_t mine[SPMM_PEER_RANKS] = {0};

    for (int p = 0; p < n_peers; p++) {
        mine[peer[p]] = ptr[p];
    }
    return spmmi_alltoall(env, mine, first, sizeof *mine);
}

/* Where the rows of this rank begin at each other one.  Collective, agreed. */
static spmm_status_t find_firsts(push_t *t)
{
    const spmm_halo_t  *h   = t->halo;
    spmm_env_t         *env = t->shared->env;
    const spmm_status_t send_rows =
        exchange_firsts(env, h->n_send_peers, h->send_peer, h->send_ptr, t->first_send_row);
    const spmm_status_t halo =
        exchange_firsts(env, h->n_recv_peers, h->recv_peer, h->recv_ptr, t->first_halo);

    return spmmi_agree(env, send_rows != SPMM_OK ? send_rows : halo);
}

static spmm_status_t upload(push_t *t)
{
    static const spmm_push_state_t zero;
    const spmm_device_t           *device = t->shared->device;
    const size_t                   bytes  = (size_t)spmmi_halo_send_rows(t->halo) * sizeof *t->row;
    void                          *memory = NULL;

    SPMM_TRY(spmmi_device_upload(device, t->halo->send_row, bytes, &memory));
    t->row = memory;
    SPMM_TRY(spmmi_device_upload(device, &zero, sizeof zero, &memory));
    t->words = memory;
    return SPMM_OK;
}

/* Collective, agreed. */
static spmm_status_t make_window(push_t *t, size_t max_row_bytes)
{
    spmm_env_t   *env = t->shared->env;
    const int64_t out = spmmi_halo_send_rows(t->halo), in = spmmi_halo_recv_rows(t->halo);
    const int64_t most   = out > in ? out : in;
    size_t        bytes  = 0;
    spmm_status_t status = SPMM_OK;

    t->head = spmmi_push_head_bytes(env->size);
    if (!spmmi_size_mul((size_t)most, max_row_bytes, &bytes)) {
        status = spmmi_fail_memory(&env->err, most, max_row_bytes, "rows of peers");
    }
    SPMM_TRY(spmmi_agree(env, status));
    return spmmi_nccl_window_create(&t->space->own, t->head + bytes, &t->window);
}

/* Collective, agreed. */
static spmm_status_t set_up(push_t *t, size_t max_row_bytes)
{
    SPMM_TRY(spmmi_peer_space_open(t->shared));
    t->space = t->shared->peer_space;
    SPMM_TRY(find_firsts(t));
    SPMM_TRY(spmmi_agree(t->shared->env, upload(t)));
    return make_window(t, max_row_bytes);
}

/* An exchange under way uses the window, and an event after it would spoil CUDA graphs: wait for
 * the device, as freeing memory does anyway.  A peer that was late may still write into the window:
 * its hold on the memory outlives ours. */
static void push_destroy(void *state)
{
    push_t              *t = state;
    const spmm_device_t *device;

    if (t == NULL) {
        return;
    }
    device = t->shared->device;
    if (t->words != NULL && spmmi_cuda_use(device) == SPMM_OK) {
        (void)cudaDeviceSynchronize();
    }
    device->ops->release(device, t->words);
    device->ops->release(device, t->row);
    if (t->space != NULL) {
        spmmi_peer_space_free_window(t->space, t->window);
    }
    spmmi_free(t);
}

static spmm_status_t push_create(spmm_transport_shared_t *shared, const spmm_halo_t *halo,
                                 size_t max_row_bytes, void **state)
{
    spmm_status_t status = SPMM_OK;
    push_t       *t;

    if (SPMM_NEW_ZERO(t, 1) == NULL) {
        status = spmmi_fail_memory(&shared->env->err, 1, sizeof *t, "a transport");
    }
    status = spmmi_agree(shared->env, status);
    if (status != SPMM_OK) {
        spmmi_free(t);
        return status;
    }
    t->shared = shared;
    t->halo   = halo;
    if (shared->env->size > 1) {
        status = set_up(t, max_row_bytes);
    }
    if (status != SPMM_OK) {
        push_destroy(t);
        return status;
    }
    *state = t;
    return SPMM_OK;
}

static void *push_target_rows(const void *state)
{
    const push_t *t = state;

    return t->window == NULL ? NULL : t->window->memory + t->head;
}

static void push_bytes(const void *state, size_t *host, size_t *device)
{
    const push_t *t = state;

    *host   = sizeof *t + (t->window == NULL ? 0 : sizeof *t->window);
    *device = t->window == NULL ? 0
                                : t->window->bytes + sizeof *t->words +
                                      (size_t)spmmi_halo_send_rows(t->halo) * sizeof *t->row;
}

/* Where in the window the rows of an exchange land: where its target lies, if that is there. */
static size_t landing_of(const push_t *t, const spmm_exchange_side_t *target, size_t bytes)
{
    const uintptr_t at     = (uintptr_t)target->rows;
    const uintptr_t from   = (uintptr_t)t->window->memory + t->head;
    const size_t    room   = t->window->bytes - t->head;
    const bool      inside = at >= from && at - from <= room && bytes <= room - (at - from);

    return t->head + (inside ? at - from : 0);
}

/* Does no row travel from or to this rank? */
static bool is_alone(const push_t *t)
{
    return t->halo->n_send_peers == 0 && t->halo->n_recv_peers == 0;
}

static void name_windows(const push_t *t, spmm_push_args_t *args)
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
    push_t                    *t       = state;
    const spmm_device_t       *device  = t->shared->device;
    const spmm_exchange_side_t source  = spmmi_exchange_source(t->halo, exchange);
    const spmm_exchange_side_t target  = spmmi_exchange_target(t->halo, exchange);
    const bool                 forward = exchange->direction == SPMM_HALO_FORWARD;
    spmm_push_args_t           args;

    if (is_alone(t)) {
        return SPMM_OK;
    }
    SPMM_TRY(spmmi_peer_space_check(t->shared));
    memset(&args, 0, sizeof args);
    spmmi_push_share(&t->shared->push, &source, &target,
                     forward ? t->first_halo : t->first_send_row, exchange->row_bytes, &args);
    name_windows(t, &args);
    args.rank               = t->shared->env->rank;
    args.n_ranks            = t->shared->env->size;
    args.own                = t->window->memory;
    args.low_latency_offset = (int64_t)spmmi_push_slots_bytes(args.n_ranks);
    args.offset = landing_of(t, &target, spmmi_side_total(&target, exchange->row_bytes));
    args.target = target.rows;
    args.source = source.rows;
    args.ld     = args.row_bytes;
    if (forward && exchange->in_place != NULL) {
        args.source = exchange->in_place;
        args.ld     = (int64_t)exchange->ld_bytes;
        args.row    = t->row;
    }
    t->told += exchange->tells;
    args.over       = t->told;
    args.tells_over = exchange->tells;
    args.step       = exchange->step;
    args.state      = t->words;
    args.watch      = spmmi_peer_space_watch(t->space);
    SPMM_TRY(spmmi_cuda_use(device));
    return spmmi_cuda_check(device, spmmi_cuda_push(&args, (cudaStream_t)stream),
                            "the kernel push");
}

static spmm_until_t push_arrival(const void *state)
{
    const push_t *t = state;

    return (spmm_until_t){.word = &t->words->over, .number = t->told};
}

static bool push_lets_begin(const void *state)
{
    bool lets = false;

    return !is_alone(state) && spmmi_cuda_push_lets_begin(&lets) == cudaSuccess && lets;
}

/* The stream itself keeps the order.  Low-latency rows are in the target already; the others are
 * copied there from the window. */
static spmm_status_t push_end(void *state, const spmm_exchange_t *exchange, spmm_stream_t stream)
{
    const push_t              *t      = state;
    const spmm_device_t       *device = t->shared->device;
    const spmm_exchange_side_t target = spmmi_exchange_target(t->halo, exchange);
    const char                *landed;

    if (is_alone(t)) {
        return SPMM_OK;
    }
    landed =
        t->window->memory + landing_of(t, &target, spmmi_side_total(&target, exchange->row_bytes));
    for (int p = 0; p < target.n_peers && landed != target.rows; p++) {
        const size_t at = (size_t)target.ptr[p] * exchange->row_bytes;

        if (!spmmi_push_is_low_latency(&t->shared->push, target.ptr[p + 1] - target.ptr[p],
                                       exchange->row_bytes)) {
            SPMM_TRY(device->ops->copy(device, target.rows + at, landed + at,
                                       spmmi_side_bytes(&target, p, exchange->row_bytes), stream));
        }
    }
    return spmmi_peer_space_check(t->shared);
}

/* Windows turn multicast off in the whole process, which a program may need for itself. */
static const char *push_asks_first(void)
{
    return spmmi_nccl_is_without_nvls() ? NULL
                                        : "is taken by auto where NCCL_NVLS_ENABLE=0 says that the "
                                          "program needs no multicast; else by name";
}

const spmm_transport_ops_t spmmi_transport_nccl_push = {
    .name        = "nccl-push",
    .description = "ghost rows stored to the memory of the other GPUs of a node, by NCCL windows",
    .built       = true,
    .asks_first  = push_asks_first,
    .sees_steps  = true,
    .captures    = true,
    .packs       = true,
    .supports    = spmmi_peer_space_supports,
    .open        = spmmi_peer_space_open,
    .cost        = push_cost,
    .create      = push_create,
    .begin       = push_begin,
    .end         = push_end,
    .arrival     = push_arrival,
    .lets_begin  = push_lets_begin,
    .target_rows = push_target_rows,
    .bytes       = push_bytes,
    .destroy     = push_destroy,
    .close       = spmmi_peer_space_close,
    .check       = spmmi_peer_space_check,
};

#else

static bool push_supports(spmm_transport_shared_t *shared, char why[SPMM_WHY])
{
    (void)shared;
    (void)snprintf(why, SPMM_WHY, "is not in this build: it needs CUDA and NCCL 2.28 or later");
    return false;
}

/* Nothing else is ever called. */
const spmm_transport_ops_t spmmi_transport_nccl_push = {
    .name        = "nccl-push",
    .description = "ghost rows stored to the memory of the other GPUs of a node, by NCCL windows",
    .built       = false,
    .supports    = push_supports,
};
#endif
