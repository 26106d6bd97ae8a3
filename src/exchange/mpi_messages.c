/* SPDX-License-Identifier: Apache-2.0 */
#include "exchange/mpi_messages.h"

#include <limits.h>

#include "base/alloc.h"
#include "base/comm.h"

/* Tags of exchanges, one for each plan, between those of setup and the least MPI_TAG_UB that MPI
 * allows (32767).  Plans that are TAG_COUNT creations apart share one: harmless, since messages of
 * equal tag between two ranks arrive in the order of posting. */
enum { TAG_FIRST = 1024, TAG_COUNT = 30000 };

static int64_t count_messages(const spmm_env_t *env, const int64_t *ptr, int n_peers,
                              size_t row_bytes)
{
    int64_t count = 0;

    for (int p = 0; p < n_peers; p++) {
        count += spmmi_message_count(env, (size_t)(ptr[p + 1] - ptr[p]) * row_bytes);
    }
    return count;
}

int spmmi_mpi_take_tag(spmm_transport_shared_t *shared)
{
    const int tag = TAG_FIRST + shared->next_tag;

    shared->next_tag = (shared->next_tag + 1) % TAG_COUNT;
    return tag;
}

spmm_status_t spmmi_mpi_messages_init(spmm_mpi_messages_t *messages, spmm_env_t *env,
                                      const spmm_halo_t *halo, size_t max_row_bytes, int tag)
{
    *messages          = (spmm_mpi_messages_t){.env = env, .halo = halo, .tag = tag};
    messages->capacity = count_messages(env, halo->send_ptr, halo->n_send_peers, max_row_bytes) +
                         count_messages(env, halo->recv_ptr, halo->n_recv_peers, max_row_bytes);
    if (messages->capacity > INT_MAX || SPMM_NEW(messages->requests, messages->capacity) == NULL) {
        return spmmi_fail_memory(&env->err, messages->capacity, sizeof *messages->requests,
                                 "the requests of an exchange");
    }
    return SPMM_OK;
}

void spmmi_mpi_messages_free(spmm_mpi_messages_t *messages)
{
    (void)spmmi_abandon(messages->env, messages->n_requests, messages->requests, 0.1);
    spmmi_free(messages->requests);
    messages->requests   = NULL;
    messages->n_requests = 0;
}

static spmm_status_t post(spmm_mpi_messages_t *m, const spmm_exchange_t *exchange)
{
    const spmm_exchange_side_t to    = spmmi_exchange_target(m->halo, exchange);
    const spmm_exchange_side_t from  = spmmi_exchange_source(m->halo, exchange);
    const size_t               bytes = exchange->row_bytes;

    for (int p = 0; p < to.n_peers; p++) {
        SPMM_TRY(spmmi_irecv(m->env, spmmi_side_rows(&to, p, bytes),
                             spmmi_side_bytes(&to, p, bytes), to.peer[p], m->tag, m->requests,
                             &m->n_requests));
    }
    for (int p = 0; p < from.n_peers; p++) {
        SPMM_TRY(spmmi_isend(m->env, spmmi_side_rows(&from, p, bytes),
                             spmmi_side_bytes(&from, p, bytes), from.peer[p], m->tag, m->requests,
                             &m->n_requests));
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

static spmm_status_t wait_for_all(spmm_mpi_messages_t *m, const spmm_exchange_t *exchange)
{
    const char *const          what  = "an exchange over MPI";
    const spmm_exchange_side_t to    = spmmi_exchange_target(m->halo, exchange);
    const double               start = spmmi_now();
    int                        first = 0; /* receives are posted first */

    for (int p = 0; p < to.n_peers; p++) {
        SPMM_TRY(spmmi_wait_received(m->env, spmmi_side_bytes(&to, p, exchange->row_bytes),
                                     to.peer[p], m->requests, &first, start, what));
    }
    return spmmi_waitall(m->env, m->n_requests - first, m->requests + first, start, what);
}

spmm_status_t spmmi_mpi_messages_wait(spmm_mpi_messages_t   *messages,
                                      const spmm_exchange_t *exchange)
{
    const spmm_status_t status = wait_for_all(messages, exchange);

    if (status != SPMM_OK) {
        messages->failed = true;
        /* What this rank sends is on its way: peers are to find out, too, what is wrong. */
        spmmi_linger(messages->n_requests, messages->requests, 0.1);
        return status;
    }
    messages->n_requests = 0;
    return SPMM_OK;
}
