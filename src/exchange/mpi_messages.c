/* SPDX-License-Identifier: Apache-2.0 */
#include "exchange/mpi_messages.h"

#include <limits.h>

#include "base/alloc.h"
#include "base/comm.h"
#include "exchange/step.h"

/* Tags of exchanges, beyond those of setup and below the least MPI_TAG_UB that MPI allows (32767):
 * one for each step, in turn, and one for SPMM_STEP_LOST. */
enum { TAG_FIRST = 1024, TAG_COUNT = 30000, TAG_LOST = TAG_FIRST + TAG_COUNT };
static const char *const what = "an exchange over MPI";
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

    SPMM_TRY(spmmi_wait_message(m->env, message, start, what, &status, &truncated));
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
    return spmmi_wait_messages(m->env, m->count - first, m->messages + first, start, what);
}

spmm_status_t spmmi_mpi_messages_wait(spmm_mpi_messages_t   *messages,
                                      const spmm_exchange_t *exchange)
{
    const spmm_status_t status = wait_for_all(messages, exchange);

    if (status != SPMM_OK) {
        messages->failed = true;
        /* What this rank sends is on its way: peers are to find out, too, what is wrong. */
        spmmi_linger(messages->count, messages->messages, 0.1);
        return status;
    }
    messages->count = 0;
    return SPMM_OK;
}
