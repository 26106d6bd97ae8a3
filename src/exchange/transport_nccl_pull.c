/* SPDX-License-Identifier: Apache-2.0 */
/** @file transport_nccl_pull.c
 *  Halo rows read by load instructions out of the memory of their owners, over NVLink: one kernel
 *  for each exchange, in stream order; the host never waits.  B is read where it lies when that is a
 *  buffer of the library (alloc_home), else it is packed into the plan's window first.  Each rank
 *  says anew in each exchange where its rows are, so ranks need not do the same.
 */
#include <stdio.h>
#include <string.h>

#include "exchange/pull_space.h"
#include "exchange/transport_nccl_pull.h"

int spmm_pull_max_blocks = 64;

#ifdef SPMM_HAVE_NCCL_WINDOW
#include "base/alloc.h"
#include "base/comm.h"
#include "cuda/cuda_kernels.h"
#include "device/device_cuda.h"

enum { SLOTS_BYTES = 4096 };

_Static_assert(SPMM_PULL_PEERS * sizeof(spmm_pull_slot_t) <= SLOTS_BYTES, "slots fit their page");

typedef struct {
    spmm_transport_shared_t *shared; /**< borrowed, as is the graph */
    const spmm_halo_t       *graph;
    spmm_pull_space_t       *space;  /**< borrowed; NULL on one rank, as is all below */
    spmm_nccl_window_t      *window; /**< a page of slots, then packed rows */
    spmm_pull_state_t       *words;  /**< device */
    int32_t                 *row; /**< device [recv rows]: halo row i is row[i] of its owner's B */
    /** [rank] first row for this rank among the packed rows of another: its mirror, its halo */
    int64_t first_mirror[SPMM_PULL_PEERS], first_halo[SPMM_PULL_PEERS];
} pull_t;

static spmm_status_t pull_open(spmm_transport_shared_t *shared)
{
    return shared->env->size == 1 ? SPMM_OK : spmm_pull_space_open(shared);
}

/* A plain trial on 4 x H200: 17 us for 4 KiB from each of three peers, 350 GB/s into a GPU for much;
 * packing not counted. */
static double pull_cost(const spmm_halo_t *graph, size_t row_bytes, const spmm_device_t *device)
{
    (void)device;
    return 17e-6 + (double)spmm_halo_recv_rows(graph) * (double)row_bytes / 350e9;
}

/* The owner's number of each halo row: its list of mirror rows.  Collective, agreed. */
static spmm_status_t exchange_rows(pull_t *t)
{
    spmm_env_t          *env                   = t->shared->env;
    const spmm_halo_t   *g                     = t->graph;
    const spmm_device_t *device                = t->shared->device;
    const int64_t        n                     = spmm_halo_recv_rows(g);
    int64_t              send[SPMM_PULL_PEERS] = {0}, recv[SPMM_PULL_PEERS] = {0};
    int32_t             *row;
    void                *list   = NULL;
    spmm_status_t        status = SPMM_OK;

    for (int p = 0; p < g->n_send_peers; p++) {
        send[g->send_peer[p]] = g->send_ptr[p + 1] - g->send_ptr[p];
    }
    for (int p = 0; p < g->n_recv_peers; p++) {
        recv[g->recv_peer[p]] = g->recv_ptr[p + 1] - g->recv_ptr[p];
    }
    if (SPMM_NEW(row, n) == NULL) {
        status = spmm_fail_memory(&env->err, n, sizeof *row, "rows to read");
    }
    status = spmm_agree(env, status);
    if (status == SPMM_OK) {
        status = spmm_alltoallv(env, g->send_row, send, row, recv, sizeof *row);
    }
    if (status == SPMM_OK) {
        status = spmm_agree(env, spmm_device_upload(device, row, (size_t)n * sizeof *row, &list));
        t->row = list;
    }
    spmm_free(row);
    return status;
}

static spmm_status_t make_window(pull_t *t, size_t max_row_bytes)
{
    const int64_t out = spmm_halo_send_rows(t->graph), in = spmm_halo_recv_rows(t->graph);
    size_t        bytes  = 0;
    spmm_status_t status = SPMM_OK;

    if (!spmm_size_mul((size_t)(out > in ? out : in), max_row_bytes, &bytes)) {
        status = spmm_fail_memory(&t->shared->env->err, out > in ? out : in, max_row_bytes,
                                  "rows for peers");
    }
    SPMM_TRY(spmm_agree(t->shared->env, status));
    return spmm_nccl_window_create(&t->space->own, SLOTS_BYTES + bytes, &t->window);
}

/* Collective, agreed. */
static spmm_status_t set_up(pull_t *t, size_t max_row_bytes)
{
    const spmm_halo_t *g   = t->graph;
    spmm_env_t        *env = t->shared->env;

    SPMM_TRY(spmm_pull_space_open(t->shared));
    t->space = t->shared->pull;
    SPMM_TRY(spmm_agree(env, spmm_pull_space_firsts(env, g, t->first_mirror, t->first_halo)));
    SPMM_TRY(exchange_rows(t));
    SPMM_TRY(spmm_agree(env, spmm_pull_space_state(t->space, &t->words)));
    return make_window(t, max_row_bytes);
}

/* An exchange under way uses the window, and an event after it would spoil CUDA graphs: wait for the
 * device, as freeing memory does anyway.  A peer that was late may still write into the window: its
 * hold on the memory outlives ours. */
static void pull_destroy(void *state)
{
    pull_t              *t = state;
    const spmm_device_t *device;

    if (t == NULL) {
        return;
    }
    device = t->shared->device;
    if (t->words != NULL && spmm_cuda_use(device) == SPMM_OK) {
        (void)cudaDeviceSynchronize();
    }
    device->ops->release(device, t->words);
    device->ops->release(device, t->row);
    if (t->space != NULL) {
        spmm_pull_space_free_window(t->space, t->window);
    }
    spmm_free(t);
}

static spmm_status_t pull_create(spmm_transport_shared_t *shared, const spmm_halo_t *graph,
                                 size_t max_row_bytes, void **state)
{
    spmm_status_t status = SPMM_OK;
    pull_t       *t;

    if (SPMM_NEW_ZERO(t, 1) == NULL) {
        status = spmm_fail_memory(&shared->env->err, 1, sizeof *t, "a transport");
    }
    status = spmm_agree(shared->env, status);
    if (status != SPMM_OK) {
        spmm_free(t);
        return status;
    }
    t->shared = shared;
    t->graph  = graph;
    if (shared->env->size > 1) {
        status = set_up(t, max_row_bytes);
    }
    if (status != SPMM_OK) {
        pull_destroy(t);
        return status;
    }
    *state = t;
    return SPMM_OK;
}

static void *pull_rows(const void *state)
{
    const pull_t *t = state;

    return t->window == NULL ? NULL : t->window->memory + SLOTS_BYTES;
}

static bool pull_reads_in_place(const void *state, const void *rows, size_t ld_bytes, size_t bytes)
{
    const pull_t *t      = state;
    size_t        offset = 0;

    return t->space != NULL && bytes > 0 && ld_bytes > 0 && ld_bytes <= UINT32_MAX &&
           spmm_pull_space_find(t->space, rows, bytes, &offset) >= 0;
}

static bool is_alone(const spmm_halo_t *graph)
{
    return graph->n_send_peers == 0 && graph->n_recv_peers == 0;
}

static bool lies_in_window(const pull_t *t, const char *rows, size_t bytes)
{
    const uintptr_t at = (uintptr_t)rows, from = (uintptr_t)t->window->memory + SLOTS_BYTES;

    return at >= from && at - from + bytes <= t->window->bytes - SLOTS_BYTES;
}

/* Say where this rank's rows lie, after copying them to where peers can read if need be. */
static spmm_status_t place_rows(pull_t *t, const spmm_exchange_t *exchange,
                                const spmm_exchange_side_t *source, spmm_pull_args_t *args,
                                spmm_stream_t stream)
{
    const spmm_device_t *device = t->shared->device;
    const size_t         bytes  = (size_t)source->ptr[source->n_peers] * exchange->row_bytes;
    size_t               offset = 0;

    if (exchange->direction == SPMM_HALO_FORWARD && exchange->in_place != NULL) {
        const int home = spmm_pull_space_find(t->space, exchange->in_place, 1, &offset);

        if (home < 0) {
            return spmm_fail(&device->env->err, SPMM_ERR_ARGUMENT,
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
    if (lies_in_window(t, source->rows, bytes)) { /* where a slice of columns has been packed */
        args->offset = (uint64_t)(source->rows - t->window->memory);
        return SPMM_OK;
    }
    return device->ops->copy(device, pull_rows(t), source->rows, bytes, stream);
}

static void name_peers(const pull_t *t, const spmm_exchange_t *exchange,
                       const spmm_exchange_side_t *source, const spmm_exchange_side_t *target,
                       spmm_pull_args_t *args)
{
    const int64_t *first =
        exchange->direction == SPMM_HALO_FORWARD ? t->first_mirror : t->first_halo;

    args->n_from = target->n_peers;
    for (int p = 0; p < target->n_peers; p++) {
        const int rank = target->peer[p];

        args->from[p] = (spmm_pull_source_t){.window = t->window->peer[rank],
                                             .begin  = target->ptr[p],
                                             .count  = target->ptr[p + 1] - target->ptr[p],
                                             .first  = first[rank],
                                             .rank   = rank};
    }
    args->n_to = source->n_peers;
    for (int p = 0; p < source->n_peers; p++) {
        args->to[p]      = t->window->peer[source->peer[p]];
        args->to_rank[p] = source->peer[p];
    }
}

static spmm_status_t pull_begin(void *state, const spmm_exchange_t *exchange, spmm_stream_t stream)
{
    pull_t                    *t      = state;
    const spmm_device_t       *device = t->shared->device;
    const spmm_exchange_side_t source = spmm_exchange_source(t->graph, exchange);
    const spmm_exchange_side_t target = spmm_exchange_target(t->graph, exchange);
    spmm_pull_args_t           args;

    if (is_alone(t->graph)) {
        return SPMM_OK;
    }
    SPMM_TRY(spmm_pull_space_check(t->shared));
    memset(&args, 0, sizeof args);
    name_peers(t, exchange, &source, &target, &args);
    SPMM_TRY(place_rows(t, exchange, &source, &args, stream));
    args.rank      = t->shared->env->rank;
    args.own       = t->window->memory;
    args.shared    = t->space->table;
    args.row       = exchange->direction == SPMM_HALO_FORWARD ? t->row : NULL;
    args.target    = target.rows;
    args.row_bytes = (int64_t)exchange->row_bytes;
    args.state     = t->words;
    args.watch     = spmm_pull_space_watch(t->space);
    spmm_pull_share_blocks(&args, target.ptr[target.n_peers], args.row_bytes);
    SPMM_TRY(spmm_cuda_use(device));
    return spmm_cuda_check(device, spmm_cuda_pull(&args, (cudaStream_t)stream), "the kernel pull");
}

/* The stream itself keeps the order. */
static spmm_status_t pull_end(void *state, const spmm_exchange_t *exchange, spmm_stream_t stream)
{
    const pull_t *t = state;

    (void)exchange;
    (void)stream;
    return spmm_pull_space_check(t->shared);
}

static void pull_bytes(const void *state, size_t *host, size_t *device)
{
    const pull_t *t = state;

    *host   = sizeof *t + (t->window == NULL ? 0 : sizeof *t->window);
    *device = t->window == NULL ? 0
                                : t->window->bytes + sizeof *t->words +
                                      (size_t)spmm_halo_recv_rows(t->graph) * sizeof *t->row;
}

static spmm_status_t pull_alloc_home(spmm_transport_shared_t *shared, size_t bytes, void **buffer)
{
    char          why[SPMM_TRANSPORT_WHY];
    spmm_status_t status;

    *buffer = NULL;
    if (shared->env->size == 1 || !spmm_pull_space_supports(shared, why)) {
        return SPMM_OK;
    }
    status = spmm_pull_space_open(shared);
    if (status == SPMM_OK) {
        status = spmm_pull_space_alloc(shared->pull, bytes, buffer);
    }
    if (status == SPMM_ERR_UNSUPPORTED) { /* a plan with this transport would be refused as well */
        spmm_log(shared->env, "%s", shared->env->err.text);
        spmm_error_clear(&shared->env->err);
        return SPMM_OK;
    }
    return status;
}

static bool pull_free_home(spmm_transport_shared_t *shared, void *buffer)
{
    return shared->pull != NULL && spmm_pull_space_release(shared->pull, buffer);
}

const spmm_transport_ops_t spmm_transport_nccl_pull = {
    .name           = "nccl-pull",
    .description    = "halo rows read from the memory of the other GPUs of a node, by NCCL windows",
    .built          = true,
    .by_name        = true,
    .captures       = true,
    .supports       = spmm_pull_space_supports,
    .open           = pull_open,
    .cost           = pull_cost,
    .create         = pull_create,
    .begin          = pull_begin,
    .end            = pull_end,
    .rows           = pull_rows,
    .reads_in_place = pull_reads_in_place,
    .bytes          = pull_bytes,
    .destroy        = pull_destroy,
    .close          = spmm_pull_space_close,
    .check          = spmm_pull_space_check,
    .alloc_home     = pull_alloc_home,
    .free_home      = pull_free_home,
};

#else

static bool pull_supports(spmm_transport_shared_t *shared, char why[SPMM_TRANSPORT_WHY])
{
    (void)shared;
    (void)snprintf(why, SPMM_TRANSPORT_WHY,
                   "is not in this build: it needs CUDA and NCCL 2.28 or later");
    return false;
}

/* Nothing else is ever called. */
const spmm_transport_ops_t spmm_transport_nccl_pull = {
    .name        = "nccl-pull",
    .description = "halo rows read from the memory of the other GPUs of a node, by NCCL windows",
    .built       = false,
    .supports    = pull_supports,
};
#endif
