/* SPDX-License-Identifier: Apache-2.0 */
#include "base/comm.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/env.h"

/* Bytes per second that every network moves: what an exchange at setup may take beyond the timeout,
 * which is meant for those of executes. */
static const double slow = 1e8;

int64_t spmmi_message_count(const spmm_env_t *env, size_t bytes)
{
    const size_t limit = spmmi_message_limit(env);

    return (int64_t)((bytes + limit - 1) / limit);
}

spmm_status_t spmmi_isend(spmm_env_t *env, MPI_Comm comm, const void *data, size_t bytes, int peer,
                          int tag, spmm_message_t *messages, int *count)
{
    const size_t limit = spmmi_message_limit(env);
    const char  *at    = data;

    while (bytes > 0) {
        const size_t part = bytes < limit ? bytes : limit;

        SPMM_MPI(env,
                 MPI_Isend(at, (int)part, MPI_BYTE, peer, tag, comm, &messages[*count].request));
        messages[(*count)++].peer = peer;
        at += part;
        bytes -= part;
    }
    return SPMM_OK;
}

spmm_status_t spmmi_irecv(spmm_env_t *env, MPI_Comm comm, void *data, size_t bytes, int peer,
                          int tag, spmm_message_t *messages, int *count)
{
    const size_t limit = spmmi_message_limit(env);
    char        *at    = data;

    while (bytes > 0) {
        const size_t part = bytes < limit ? bytes : limit;

        SPMM_MPI(env,
                 MPI_Irecv(at, (int)part, MPI_BYTE, peer, tag, comm, &messages[*count].request));
        messages[(*count)++].peer = peer;
        at += part;
        bytes -= part;
    }
    return SPMM_OK;
}

static bool is_truncated(int code)
{
    int class = MPI_SUCCESS;

    return MPI_Error_class(code, &class) == MPI_SUCCESS && class == MPI_ERR_TRUNCATE;
}

static spmm_status_t fail_message(spmm_env_t *env, int peer, int code, const char *what)
{
    char reason[MPI_MAX_ERROR_STRING] = "unknown MPI error", who[SPMM_RANK_NAME];
    int  length                       = 0;

    (void)MPI_Error_string(code, reason, &length);
    return spmmi_fail(&env->err, SPMM_ERR_COMM, "%s: a message to or from %s failed: %.200s", what,
                      spmmi_rank_name(env, peer, who), reason);
}

spmm_status_t spmmi_wait_message(spmm_env_t *env, spmm_message_t *message, double start,
                                 const char *what, MPI_Status *status, bool *truncated)
{
    char who[SPMM_RANK_NAME];
    int  done = 0, polls = 0, code;

    while ((code = spmmi_test(&message->request, &done, status)) == MPI_SUCCESS && !done) {
        if (env->timeout_s > 0.0 && spmmi_now() - start > env->timeout_s) {
            return spmmi_fail(&env->err, SPMM_ERR_COMM,
                              "%s did not finish within the timeout of %g s: %s is late or gone; "
                              "destroy the context",
                              what, env->timeout_s, spmmi_rank_name(env, message->peer, who));
        }
        spmmi_let_run(&polls);
    }
    if (truncated != NULL) {
        *truncated = is_truncated(code);
    }
    return code == MPI_SUCCESS || (truncated != NULL && *truncated)
               ? SPMM_OK
               : fail_message(env, message->peer, code, what);
}

spmm_status_t spmmi_wait_messages(spmm_env_t *env, int count, spmm_message_t *messages,
                                  double start, const char *what)
{
    MPI_Status status; /* not MPI_STATUS_IGNORE: tests/faults */

    for (int i = 0; i < count; i++) {
        SPMM_TRY(spmmi_wait_message(env, &messages[i], start, what, &status, NULL));
    }
    return SPMM_OK;
}

void spmmi_linger(int count, spmm_message_t *messages, double grace)
{
    const double start = spmmi_now();
    int          polls = 0, done;

    for (int i = 0; i < count && spmmi_now() - start < grace; i += done) {
        (void)spmmi_test(&messages[i].request, &done, MPI_STATUS_IGNORE);
        spmmi_let_run(&polls);
    }
}

bool spmmi_abandon(spmm_env_t *env, int count, spmm_message_t *messages, double grace)
{
    bool left = false;

    for (int i = 0; i < count; i++) {
        if (messages[i].request != MPI_REQUEST_NULL) {
            (void)MPI_Cancel(&messages[i].request);
        }
    }
    spmmi_linger(count, messages, grace); /* short messages are gone soon */
    for (int i = 0; i < count; i++) {
        int done;

        if (messages[i].request == MPI_REQUEST_NULL) {
            continue;
        }
        (void)spmmi_test(&messages[i].request, &done, MPI_STATUS_IGNORE);
        if (!done) {
            env->lost = env->unfinished = left = true;
        }
        if (messages[i].request != MPI_REQUEST_NULL) { /* also what failed, in some MPIs */
            (void)MPI_Request_free(&messages[i].request);
        }
    }
    return left;
}

static spmm_status_t post_all(spmm_env_t *env, const char *send, const int64_t *send_count,
                              char *recv, const int64_t *recv_count, size_t elem_size,
                              spmm_message_t *messages, int *count)
{
    for (int p = 0; p < env->size; p++) {
        const size_t bytes = (size_t)recv_count[p] * elem_size;

        if (p != env->rank) {
            SPMM_TRY(
                spmmi_irecv(env, env->comm, recv, bytes, p, SPMM_TAG_ALLTOALL, messages, count));
        }
        recv += bytes;
    }
    for (int p = 0; p < env->size; p++) {
        const size_t bytes = (size_t)send_count[p] * elem_size;

        if (p != env->rank) {
            SPMM_TRY(
                spmmi_isend(env, env->comm, send, bytes, p, SPMM_TAG_ALLTOALL, messages, count));
        }
        send += bytes;
    }
    return SPMM_OK;
}

spmm_status_t spmmi_alltoallv(spmm_env_t *env, const void *send, const int64_t *send_count,
                              void *recv, const int64_t *recv_count, size_t elem_size)
{
    spmm_message_t *messages;
    int64_t         most = 0, before_send = 0, before_recv = 0, sent = 0, received = 0;
    int             count = 0;
    double          seconds; /* beyond the timeout */
    spmm_status_t   status = SPMM_OK;

    for (int p = 0; p < env->size; p++) {
        most += spmmi_message_count(env, (size_t)send_count[p] * elem_size);
        most += spmmi_message_count(env, (size_t)recv_count[p] * elem_size);
        sent += send_count[p];
        received += recv_count[p];
        before_send += p < env->rank ? send_count[p] : 0;
        before_recv += p < env->rank ? recv_count[p] : 0;
    }
    messages = most > INT_MAX ? NULL : spmmi_alloc(most, sizeof *messages);
    if (messages == NULL) {
        status = spmmi_fail_memory(&env->err, most, sizeof *messages, "messages");
    }
    status = spmmi_agree(env, status); /* before others wait for this rank's messages */
    if (status != SPMM_OK) {
        spmmi_free(messages);
        return status;
    }
    seconds = (double)(sent + received) * (double)elem_size / slow;
    status  = post_all(env, send, send_count, recv, recv_count, elem_size, messages, &count);
    if (send_count[env->rank] > 0) {
        memcpy((char *)recv + (size_t)before_recv * elem_size,
               (const char *)send + (size_t)before_send * elem_size,
               (size_t)send_count[env->rank] * elem_size);
    }
    if (status == SPMM_OK) {
        status = spmmi_wait_messages(env, count, messages, spmmi_now() + seconds,
                                     "an exchange at setup");
    }
    /* Mostly all ranks are here then, and what has met its receive arrives. */
    status = spmmi_agree(env, status);
    if (status != SPMM_OK && spmmi_abandon(env, count, messages, 0.1 + seconds)) {
        spmmi_alloc_keep(send, (size_t)sent * elem_size);
        spmmi_alloc_keep(recv, (size_t)received * elem_size);
    }
    spmmi_free(messages);
    return status;
}

spmm_status_t spmmi_alltoall_counts(spmm_env_t *env, const int64_t *send, int64_t *recv,
                                    int64_t *total)
{
    SPMM_TRY(spmmi_alltoall(env, send, recv, sizeof *send));
    *total = 0;
    for (int p = 0; p < env->size; p++) {
        *total += recv[p];
    }
    return SPMM_OK;
}

spmm_status_t spmmi_allgather_offsets(spmm_env_t *env, int64_t count, int64_t *offset)
{
    SPMM_TRY(spmmi_allgather(env, &count, offset + 1, sizeof count));
    offset[0] = 0;
    for (int p = 0; p < env->size; p++) {
        offset[p + 1] += offset[p];
    }
    return SPMM_OK;
}

spmm_status_t spmmi_gather_hosts(spmm_env_t *env)
{
    char          mine[MPI_MAX_PROCESSOR_NAME] = "";
    int           length                       = 0;
    spmm_status_t status;

    status = spmmi_mpi_check(env, MPI_Get_processor_name(mine, &length), "MPI_Get_processor_name");
    mine[SPMM_HOST - 1] = '\0';
    if (status == SPMM_OK && SPMM_NEW(env->hosts, env->size) == NULL) {
        status = spmmi_fail_memory(&env->err, env->size, sizeof *env->hosts, "names of hosts");
    }
    SPMM_TRY(spmmi_agree(env, status));
    return spmmi_allgather(env, mine, env->hosts, SPMM_HOST);
}

const char *spmmi_rank_name(const spmm_env_t *env, int rank, char text[SPMM_RANK_NAME])
{
    const bool known = env->hosts != NULL && rank >= 0;

    (void)snprintf(text, SPMM_RANK_NAME, rank < 0 ? "a rank" : "rank %d%s%s", rank,
                   known ? " on " : "", known ? env->hosts[rank] : "");
    return text;
}

int spmmi_owner(const int64_t *offset, int size, int64_t index)
{
    int low = 0, high = size - 1; /* the last p with offset[p] <= index */

    while (low < high) {
        const int mid = low + (high - low + 1) / 2;

        if (offset[mid] <= index) {
            low = mid;
        } else {
            high = mid - 1;
        }
    }
    return low;
}
