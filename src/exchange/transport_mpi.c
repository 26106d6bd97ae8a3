/* SPDX-License-Identifier: Apache-2.0 */
/** @file transport_mpi.c
 *  Rows over MPI: their messages, and two transports.
 *
 *      mpi-host    between host buffers: any MPI, any device.  The transport of the CPU, where
 *                  messages travel straight between the packed rows; rows of a GPU are staged
 *                  through pinned memory.
 *      mpi-device  straight between device buffers, for a CUDA-aware Open MPI.  The library asks
 *                  the MPI it runs with, not the one it was compiled with.
 */
#include "exchange/transport_mpi.h"

#include <limits.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/comm.h"
#include "exchange/step.h"

/* Tags of exchanges, beyond those of setup and below the least MPI_TAG_UB that MPI allows (32767):
 * one for each step, in turn, and one for SPMM_STEP_LOST. */
enum { TAG_FIRST = 1024, TAG_COUNT = 30000, TAG_LOST = TAG_FIRST + TAG_COUNT };
static const char *const exchange_name = "an exchange over MPI";
_Static_assert(TAG_COUNT % SPMM_MOST_CHUNKS == 0, "chunks keep their numbers");

static int64_t count_messages(const spmm_env_t *env, const int64_t *ptr, int n_peers,
                              size_t row_bytes)
{
    int64_t count = 0;

    for (int p = 0; p < n_peers; p++) {
        count += spmmi_message_count(env, (size_t)(ptr[p + 1] - ptr[p]) * row_bytes);
    }
    return count;
}

static spmm_mpi_messages_t *alloc_messages(spmm_env_t *env, const spmm_halo_t *halo,
                                           size_t max_row_bytes)
{
    spmm_mpi_messages_t *m;

    if (SPMM_NEW_ZERO(m, 1) == NULL) {
        return NULL;
    }
    *m          = (spmm_mpi_messages_t){.env = env, .halo = halo, .comm = MPI_COMM_NULL};
    m->capacity = count_messages(env, halo->send_ptr, halo->n_send_peers, max_row_bytes) +
                  count_messages(env, halo->recv_ptr, halo->n_recv_peers, max_row_bytes);
    if (m->capacity > INT_MAX || SPMM_NEW(m->messages, m->capacity) == NULL) {
        spmmi_free(m);
        return NULL;
    }
    return m;
}

static spmm_status_t open_comm(spmm_mpi_messages_t *m)
{
    if (m->env->size > 1) { /* else nothing ever travels */
        SPMM_MPI(m->env, MPI_Comm_dup(m->env->comm, &m->comm));
        SPMM_MPI(m->env, MPI_Comm_set_errhandler(m->comm, MPI_ERRORS_RETURN));
    }
    return SPMM_OK;
}

spmm_status_t spmmi_mpi_messages_create(spmm_env_t *env, const spmm_halo_t *halo,
                                        size_t max_row_bytes, spmm_mpi_messages_t **messages)
{
    spmm_mpi_messages_t *m      = alloc_messages(env, halo, max_row_bytes);
    spmm_status_t        status = SPMM_OK;

    if (m == NULL) {
        status = spmmi_fail_memory(&env->err, 1, sizeof *m, "the messages of an exchange");
    }
    status = spmmi_agree(env, status);
    if (status == SPMM_OK) {
        status = spmmi_agree(env, open_comm(m));
    }
    if (status != SPMM_OK) {
        spmmi_mpi_messages_free(m);
        return status;
    }
    *messages = m;
    return SPMM_OK;
}

/* What is left of a failed exchange would reach the next communicator that MPI gives the same
 * number: this one stays then. */
void spmmi_mpi_messages_free(spmm_mpi_messages_t *m)
{
    int finalised = 0;

    if (m == NULL) {
        return;
    }
    (void)spmmi_abandon(m->env, m->count, m->messages, 0.1);
    (void)MPI_Finalized(&finalised);
    if (m->comm != MPI_COMM_NULL && !m->failed && !m->env->lost && !finalised) {
        (void)MPI_Comm_free(&m->comm);
    }
    spmmi_free(m->messages);
    spmmi_free(m);
}

size_t spmmi_mpi_messages_bytes(const spmm_mpi_messages_t *m)
{
    return sizeof *m + (size_t)m->capacity * sizeof *m->messages;
}

static int tag_of(const spmm_exchange_t *exchange)
{
    return exchange->step == SPMM_STEP_LOST ? TAG_LOST
                                            : TAG_FIRST + (int)(exchange->step % TAG_COUNT);
}

static spmm_status_t post(spmm_mpi_messages_t *m, const spmm_exchange_t *exchange)
{
    const spmm_exchange_side_t to    = spmmi_exchange_target(m->halo, exchange);
    const spmm_exchange_side_t from  = spmmi_exchange_source(m->halo, exchange);
    const size_t               bytes = exchange->row_bytes;

    for (int p = 0; p < to.n_peers; p++) {
        SPMM_TRY(spmmi_irecv(m->env, m->comm, spmmi_side_rows(&to, p, bytes),
                             spmmi_side_bytes(&to, p, bytes), to.peer[p], MPI_ANY_TAG, m->messages,
                             &m->count));
    }
    for (int p = 0; p < from.n_peers; p++) {
        SPMM_TRY(spmmi_isend(m->env, m->comm, spmmi_side_rows(&from, p, bytes),
                             spmmi_side_bytes(&from, p, bytes), from.peer[p], tag_of(exchange),
                             m->messages, &m->count));
    }
    return SPMM_OK;
}

spmm_status_t spmmi_mpi_messages_post(spmm_mpi_messages_t   *messages,
                                      const spmm_exchange_t *exchange)
{
    spmm_status_t status;

    if (messages->failed) {
        return spmmi_fail(&messages->env->err, SPMM_ERR_COMM,
                          "an earlier exchange of this plan failed: destroy the plan and its "
                          "context");
    }
    status           = post(messages, exchange);
    messages->failed = status != SPMM_OK;
    return status;
}

/* @p bytes that are to come with @p tag, in one message. */
static spmm_status_t wait_part(spmm_mpi_messages_t *m, spmm_message_t *message, size_t bytes,
                               int tag, double start)
{
    MPI_Status status = {.MPI_TAG = tag}; /* a message cut short may leave it alone */
    int        came   = 0;
    bool       truncated;

    SPMM_TRY(spmmi_wait_message(m->env, message, start, exchange_name, &status, &truncated));
    if (!truncated) {
        SPMM_MPI(m->env, MPI_Get_count(&status, MPI_BYTE, &came));
    }
    if (status.MPI_TAG != tag) {
        const bool lost = status.MPI_TAG == TAG_LOST;

        return spmmi_fail_step(m->env, message->peer,
                               lost ? SPMM_STEP_LOST : (uint32_t)(status.MPI_TAG - TAG_FIRST),
                               (uint32_t)(tag - TAG_FIRST));
    }
    return (size_t)came == bytes ? SPMM_OK
           : truncated ? spmmi_fail_bytes_came(m->env, message->peer, "more than ", bytes, bytes)
                       : spmmi_fail_bytes_came(m->env, message->peer, "", (size_t)came, bytes);
}

/* What post() posted to receive from peer @p p. */
static spmm_status_t wait_for_peer(spmm_mpi_messages_t *m, const spmm_exchange_side_t *to, int p,
                                   const spmm_exchange_t *exchange, int *first, double start)
{
    const size_t limit = spmmi_message_limit(m->env);
    size_t       bytes = spmmi_side_bytes(to, p, exchange->row_bytes);

    while (bytes > 0) {
        const size_t part = bytes < limit ? bytes : limit;

        SPMM_TRY(wait_part(m, &m->messages[*first], part, tag_of(exchange), start));
        ++*first;
        bytes -= part;
    }
    return SPMM_OK;
}

static spmm_status_t wait_for_all(spmm_mpi_messages_t *m, const spmm_exchange_t *exchange)
{
    const spmm_exchange_side_t to    = spmmi_exchange_target(m->halo, exchange);
    const double               start = spmmi_now();
    int                        first = 0; /* receives are posted first */

    for (int p = 0; p < to.n_peers; p++) {
        SPMM_TRY(wait_for_peer(m, &to, p, exchange, &first, start));
    }
    return spmmi_wait_messages(m->env, m->count - first, m->messages + first, start, exchange_name);
}

spmm_status_t spmmi_mpi_messages_wait(spmm_mpi_messages_t   *messages,
                                      const spmm_exchange_t *exchange)
{
    const spmm_status_t status = wait_for_all(messages, exchange);

    if (status != SPMM_OK) {
        messages->failed = true;
        /* What this rank sends is on its way: peers are to find out, too, exchange_name is
         * wrong. */
        spmmi_linger(messages->count, messages->messages, 0.1);
        return status;
    }
    messages->count = 0;
    return SPMM_OK;
}

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
