/* SPDX-License-Identifier: Apache-2.0 */
/** @file transport_nccl_push.c
 *  Every rank picks the rows that others need out of its B and stores them in their memory, over
 *  NVLink: one kernel for each exchange, in stream order; the host never waits.  Rows land in the
 *  plan's window; a target elsewhere gets a copy of them.
 */
#include "exchange/transport_nccl_push.h"

#include <string.h>

#include "exchange/nccl_peer.h"

int spmm_push_max_blocks  = 32;
int spmm_push_quick_bytes = 64 * 1024;

#ifdef SPMM_HAVE_NCCL_WINDOW
#include "cuda/cuda_kernels.h"
#include "device/device_cuda.h"
#include "exchange/nccl_comm.h"

_Static_assert(sizeof(spmm_push_state_t) <= SPMM_NCCL_PEER_STATE, "words of the kernel fit");

/* Fitted to exchanges of 4 KiB to 128 MiB between 2 x H200, packing included: within 11 %; between 4 within
 * 17 % (bench/results/exchange_push.tsv).  What a further peer takes is that of nccl-pull. */
static double push_cost(const spmm_halo_t *graph, size_t row_bytes, const spmm_device_t *device)
{
    const int64_t out = spmm_halo_send_rows(graph), in = spmm_halo_recv_rows(graph);

    (void)device;
    return 10.5e-6 +
           1.5e-6 * (graph->n_send_peers > graph->n_recv_peers ? graph->n_send_peers
                                                               : graph->n_recv_peers) +
           (double)(out > in ? out : in) * (double)row_bytes / 350e9;
}

static size_t slots_bytes(int n_ranks)
{
    const size_t bytes = (size_t)n_ranks * sizeof(spmm_push_slot_t);

    return (bytes + SPMM_NCCL_PEER_ALIGN - 1) / SPMM_NCCL_PEER_ALIGN * SPMM_NCCL_PEER_ALIGN;
}

/* Slots, then room for quick rows. */
static size_t head_bytes(int n_ranks)
{
    return slots_bytes(n_ranks) + 2 * (size_t)n_ranks * 2 * SPMM_PUSH_QUICK;
}

static spmm_status_t list_rows(const spmm_nccl_peer_t *t, int32_t **host, int64_t *n)
{
    *host = t->graph->send_row;
    *n    = spmm_halo_send_rows(t->graph);
    return SPMM_OK;
}

static const spmm_nccl_peer_form_t form = {
    .state_bytes = sizeof(spmm_push_state_t), .head_bytes = head_bytes, .list_rows = list_rows};

static spmm_status_t push_create(spmm_transport_shared_t *shared, const spmm_halo_t *graph,
                                 size_t max_row_bytes, void **state)
{
    return spmm_nccl_peer_create(&form, shared, graph, max_row_bytes, state);
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

    (void)spmm_nccl_peer_holds(t, target->rows, bytes, &offset);
    return offset;
}

/* The same on both ranks of a pair.  No rows are quick: nobody waits for them. */
static bool is_quick(int64_t count, size_t row_bytes)
{
    const int most =
        spmm_push_quick_bytes < SPMM_PUSH_QUICK ? spmm_push_quick_bytes : SPMM_PUSH_QUICK;

    return count == 0 || (row_bytes % SPMM_PUSH_UNIT == 0 && row_bytes <= (size_t)most &&
                          count <= most / (int64_t)row_bytes);
}

static int32_t quick_blocks(int64_t count, size_t row_bytes)
{
    enum { BLOCK_BYTES = 16 * 1024 };

    return 1 + (int32_t)(count * (int64_t)row_bytes / (BLOCK_BYTES + 1));
}

static void name_owners(const spmm_exchange_t *exchange, const spmm_exchange_side_t *target,
                        spmm_push_args_t *args)
{
    args->n_from = target->n_peers;
    for (int p = 0; p < target->n_peers; p++) {
        const int64_t count = target->ptr[p + 1] - target->ptr[p];
        const bool    quick = is_quick(count, exchange->row_bytes);

        args->from[p] =
            (spmm_push_owner_t){.begin       = target->ptr[p],
                                .count       = count,
                                .rank        = target->peer[p],
                                .first_block = args->n_blocks,
                                .n_blocks = quick ? quick_blocks(count, exchange->row_bytes) : 0};
        args->n_blocks += args->from[p].n_blocks;
    }
}

/* Blocks that send to a large reader at first: by its share of the rows of all of these. */
static int32_t large_blocks(int64_t count, int64_t all, size_t row_bytes)
{
    /* Each share is rounded up by less than 1: all fit their words. */
    enum { BLOCK_BYTES = 32 * 1024, MOST = SPMM_PUSH_BLOCKS - SPMM_PULL_PEERS };
    const int64_t full  = all * (int64_t)row_bytes / BLOCK_BYTES + 1;
    const int64_t most  = spmm_push_max_blocks < MOST ? spmm_push_max_blocks : MOST;
    const int64_t wants = full < most ? full : most;
    const int64_t share = (wants * count + all / 2) / all;

    return share < 1 ? 1 : (int32_t)share;
}

static void name_readers(const spmm_nccl_peer_t *t, const spmm_exchange_t *exchange,
                         const spmm_exchange_side_t *source, spmm_push_args_t *args)
{
    const int64_t *first =
        exchange->direction == SPMM_HALO_FORWARD ? t->first_halo : t->first_mirror;
    int64_t large = 0;
    int32_t words = 0;

    args->n_to         = source->n_peers;
    args->first_sender = args->n_blocks;
    for (int p = 0; p < source->n_peers; p++) {
        const int64_t count = source->ptr[p + 1] - source->ptr[p];

        large += is_quick(count, exchange->row_bytes) ? 0 : count;
    }
    for (int p = 0; p < source->n_peers; p++) {
        const int64_t count = source->ptr[p + 1] - source->ptr[p];
        const int     rank  = source->peer[p];
        const bool    quick = is_quick(count, exchange->row_bytes);

        args->to[p] = (spmm_push_reader_t){
            .begin       = source->ptr[p],
            .count       = count,
            .first       = first[rank],
            .rank        = rank,
            .first_block = args->n_blocks,
            .n_blocks    = quick ? quick_blocks(count, exchange->row_bytes)
                                 : large_blocks(count, large, exchange->row_bytes),
            .first_word  = words,
            .is_quick    = quick};
        words += quick ? 0 : args->to[p].n_blocks;
        args->n_blocks += args->to[p].n_blocks;
    }
}

/* Ranks that share rows in the other direction only hear of the exchange, too: quick rows wait for
 * the word of the one before. */
static void name_windows(const spmm_nccl_peer_t *t, spmm_push_args_t *args)
{
    for (int p = 0; p < t->graph->n_send_peers; p++) {
        args->window[t->graph->send_peer[p]] = t->window->peer[t->graph->send_peer[p]];
    }
    for (int p = 0; p < t->graph->n_recv_peers; p++) {
        args->window[t->graph->recv_peer[p]] = t->window->peer[t->graph->recv_peer[p]];
    }
}

static spmm_status_t push_begin(void *state, const spmm_exchange_t *exchange, spmm_stream_t stream)
{
    spmm_nccl_peer_t          *t       = state;
    const spmm_device_t       *device  = t->shared->device;
    const spmm_exchange_side_t source  = spmm_exchange_source(t->graph, exchange);
    const spmm_exchange_side_t target  = spmm_exchange_target(t->graph, exchange);
    const bool                 forward = exchange->direction == SPMM_HALO_FORWARD;
    spmm_push_args_t           args;

    if (spmm_nccl_peer_is_alone(t->graph)) {
        return SPMM_OK;
    }
    SPMM_TRY(spmm_pull_space_check(t->shared));
    memset(&args, 0, sizeof args);
    args.n_blocks = 1;
    name_owners(exchange, &target, &args);
    name_readers(t, exchange, &source, &args);
    name_windows(t, &args);
    args.rank         = t->shared->env->rank;
    args.n_ranks      = t->shared->env->size;
    args.own          = t->window->memory;
    args.quick_offset = (int64_t)slots_bytes(args.n_ranks);
    args.offset       = landing_of(t, &target, spmm_side_total(&target, exchange->row_bytes));
    args.target       = target.rows;
    args.row_bytes    = (int64_t)exchange->row_bytes;
    args.source       = source.rows;
    args.ld           = args.row_bytes;
    if (forward && exchange->in_place != NULL) {
        args.source = exchange->in_place;
        args.ld     = (int64_t)exchange->ld_bytes;
        args.row    = t->row;
    }
    args.state = t->words;
    args.watch = spmm_pull_space_watch(t->space);
    SPMM_TRY(spmm_cuda_use(device));
    return spmm_cuda_check(device, spmm_cuda_push(&args, (cudaStream_t)stream), "the kernel push");
}

/* The stream itself keeps the order.  Quick rows are where they belong. */
static spmm_status_t push_end(void *state, const spmm_exchange_t *exchange, spmm_stream_t stream)
{
    const spmm_nccl_peer_t    *t      = state;
    const spmm_device_t       *device = t->shared->device;
    const spmm_exchange_side_t target = spmm_exchange_target(t->graph, exchange);
    const char                *landed;

    if (spmm_nccl_peer_is_alone(t->graph)) {
        return SPMM_OK;
    }
    landed =
        t->window->memory + landing_of(t, &target, spmm_side_total(&target, exchange->row_bytes));
    for (int p = 0; p < target.n_peers && landed != target.rows; p++) {
        const size_t at = (size_t)target.ptr[p] * exchange->row_bytes;

        if (!is_quick(target.ptr[p + 1] - target.ptr[p], exchange->row_bytes)) {
            SPMM_TRY(device->ops->copy(device, target.rows + at, landed + at,
                                       spmm_side_bytes(&target, p, exchange->row_bytes), stream));
        }
    }
    return spmm_pull_space_check(t->shared);
}

/* Windows turn multicast off in the whole process, which a program may need for itself. */
static const char *push_asks_first(void)
{
    return spmm_nccl_is_without_nvls() ? NULL
                                       : "is taken by auto where NCCL_NVLS_ENABLE=0 says that the "
                                         "program needs no multicast; else by name";
}

const spmm_transport_ops_t spmm_transport_nccl_push = {
    .name           = "nccl-push",
    .description    = "halo rows stored to the memory of the other GPUs of a node, by NCCL windows",
    .built          = true,
    .asks_first     = push_asks_first,
    .captures       = true,
    .packs          = true,
    .supports       = spmm_pull_space_supports,
    .open           = spmm_nccl_peer_open,
    .cost           = push_cost,
    .create         = push_create,
    .begin          = push_begin,
    .end            = push_end,
    .target_rows    = spmm_nccl_peer_rows,
    .reads_in_place = push_reads_in_place,
    .bytes          = spmm_nccl_peer_bytes,
    .destroy        = spmm_nccl_peer_destroy,
    .close          = spmm_pull_space_close,
    .check          = spmm_pull_space_check,
};

#else

/* Nothing else is ever called. */
const spmm_transport_ops_t spmm_transport_nccl_push = {
    .name        = "nccl-push",
    .description = "halo rows stored to the memory of the other GPUs of a node, by NCCL windows",
    .built       = false,
    .supports    = spmm_nccl_peer_unbuilt,
};
#endif
