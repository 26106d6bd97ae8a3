/* SPDX-License-Identifier: Apache-2.0 */
#include "base/comm.h"

#include <limits.h>
#include <string.h>

#include "base/alloc.h"

enum { TAG_ALLTOALL = 11 };

/* Bytes per second that every network moves: what an exchange at setup may take beyond the timeout,
 * which is meant for those of executes. */
static const double slow = 1e8;

int64_t spmmi_message_count(const spmm_env_t *env, size_t bytes)
{
    const size_t limit = spmmi_message_limit(env);

    return (int64_t)((bytes + limit - 1) / limit);
}

spmm_status_t spmmi_isend(spmm_env_t *env, const void *data, size_t bytes, int peer, int tag,
                          MPI_Request *requests, int *n_requests)
{
    const size_t limit = spmmi_message_limit(env);
    const char  *at    = data;

    while (bytes > 0) {
        const size_t part = bytes < limit ? bytes : limit;

        SPMM_MPI(env,
                 MPI_Isend(at, (int)part, MPI_BYTE, peer, tag, env->comm, &requests[*n_requests]));
        ++*n_requests;
        at += part;
        bytes -= part;
    }
    return SPMM_OK;
}

spmm_status_t spmmi_irecv(spmm_env_t *env, void *data, size_t bytes, int peer, int tag,
                          MPI_Request *requests, int *n_requests)
{
    const size_t limit = spmmi_message_limit(env);
    char        *at    = data;

    while (bytes > 0) {
        const size_t part = bytes < limit ? bytes : limit;

        SPMM_MPI(env,
                 MPI_Irecv(at, (int)part, MPI_BYTE, peer, tag, env->comm, &requests[*n_requests]));
        ++*n_requests;
        at += part;
        bytes -= part;
    }
    return SPMM_OK;
}

/* @p seconds: of the timeout, and more at setup. */
static spmm_status_t fail_late(spmm_env_t *env, const char *what, double seconds)
{
    return spmmi_fail(&env->err, SPMM_ERR_COMM,
                      "%s did not finish within the timeout of %g s: a rank is late or gone; "
                      "destroy the context",
                      what, seconds);
}

/* Since @p start; @p more: seconds beyond the timeout. */
static spmm_status_t wait_for(spmm_env_t *env, int n_requests, MPI_Request *requests, double start,
                              double more, const char *what)
{
    int done = 0;

    if (env->timeout_s <= 0.0) {
        SPMM_MPI(env, MPI_Waitall(n_requests, requests, MPI_STATUSES_IGNORE));
        return SPMM_OK;
    }
    for (;;) {
        SPMM_MPI(env, MPI_Testall(n_requests, requests, &done, MPI_STATUSES_IGNORE));
        if (done) {
            return SPMM_OK;
        }
        if (spmmi_now() - start > env->timeout_s + more) {
            return fail_late(env, what, env->timeout_s + more);
        }
    }
}

spmm_status_t spmmi_waitall(spmm_env_t *env, int n_requests, MPI_Request *requests, double start,
                            const char *what)
{
    return wait_for(env, n_requests, requests, start, 0.0, what);
}

/* One request, tested and not waited for: its own error is told, and the peer is known.
 * @p code: what MPI says of it. */
static spmm_status_t wait_one(spmm_env_t *env, MPI_Request *request, double start, const char *what,
                              MPI_Status *status, int *code)
{
    int done = 0;

    for (;;) {
        *code = MPI_Test(request, &done, status);
        if (done || *code != MPI_SUCCESS) {
            return SPMM_OK;
        }
        if (env->timeout_s > 0.0 && spmmi_now() - start > env->timeout_s) {
            return fail_late(env, what, env->timeout_s);
        }
    }
}

static bool is_truncated(int code)
{
    int class = MPI_SUCCESS;

    return code != MPI_SUCCESS && MPI_Error_class(code, &class) == MPI_SUCCESS &&
           class == MPI_ERR_TRUNCATE;
}

static spmm_status_t wait_part(spmm_env_t *env, size_t bytes, int peer, MPI_Request *request,
                               double start, const char *what)
{
    int        code, came = 0;
    MPI_Status status;

    SPMM_TRY(wait_one(env, request, start, what, &status, &code));
    if (!is_truncated(code)) {
        SPMM_TRY(spmmi_mpi_check(env, code, "the receipt of a message"));
        SPMM_MPI(env, MPI_Get_count(&status, MPI_BYTE, &came));
        if ((size_t)came == bytes) {
            return SPMM_OK;
        }
    }
    return spmmi_fail(
        &env->err, SPMM_ERR_COMM,
        "%s: a message of %s%zu bytes came from rank %d where %zu were expected: is n "
        "the same on both? destroy the plan and its context",
        what, is_truncated(code) ? "more than " : "", is_truncated(code) ? bytes : (size_t)came,
        peer, bytes);
}

spmm_status_t spmmi_wait_received(spmm_env_t *env, size_t bytes, int peer, MPI_Request *requests,
                                  int *n_requests, double start, const char *what)
{
    const size_t limit = spmmi_message_limit(env);

    while (bytes > 0) {
        const size_t part = bytes < limit ? bytes : limit;

        SPMM_TRY(wait_part(env, part, peer, &requests[*n_requests], start, what));
        ++*n_requests;
        bytes -= part;
    }
    return SPMM_OK;
}

bool spmmi_abandon(spmm_env_t *env, int n_requests, MPI_Request *requests, double grace)
{
    const double start = spmmi_now();
    int          all   = n_requests == 0;
    bool         left  = false;

    for (int i = 0; i < n_requests; i++) {
        if (requests[i] != MPI_REQUEST_NULL) {
            (void)MPI_Cancel(&requests[i]);
        }
    }
    while (!all && spmmi_now() - start < grace) { /* short messages are gone soon */
        if (MPI_Testall(n_requests, requests, &all, MPI_STATUSES_IGNORE) != MPI_SUCCESS) {
            break;
        }
    }
    for (int i = 0; i < n_requests; i++) {
        int done = 0;

        if (requests[i] == MPI_REQUEST_NULL) {
            continue;
        }
        (void)MPI_Test(&requests[i], &done, MPI_STATUS_IGNORE);
        if (!done) {
            env->lost = env->unfinished = left = true;
        }
        if (requests[i] != MPI_REQUEST_NULL) { /* also what failed, in some MPIs */
            (void)MPI_Request_free(&requests[i]);
        }
    }
    return left;
}

static spmm_status_t post_all(spmm_env_t *env, const char *send, const int64_t *send_count,
                              char *recv, const int64_t *recv_count, size_t elem_size,
                              MPI_Request *requests, int *n_requests)
{
    for (int p = 0; p < env->size; p++) {
        const size_t bytes = (size_t)recv_count[p] * elem_size;

        if (p != env->rank) {
            SPMM_TRY(spmmi_irecv(env, recv, bytes, p, TAG_ALLTOALL, requests, n_requests));
        }
        recv += bytes;
    }
    for (int p = 0; p < env->size; p++) {
        const size_t bytes = (size_t)send_count[p] * elem_size;

        if (p != env->rank) {
            SPMM_TRY(spmmi_isend(env, send, bytes, p, TAG_ALLTOALL, requests, n_requests));
        }
        send += bytes;
    }
    return SPMM_OK;
}

spmm_status_t spmmi_alltoallv(spmm_env_t *env, const void *send, const int64_t *send_count,
                              void *recv, const int64_t *recv_count, size_t elem_size)
{
    MPI_Request  *requests;
    int64_t       most = 0, before_send = 0, before_recv = 0, sent = 0, received = 0;
    int           n_requests = 0;
    double        seconds; /* beyond the timeout */
    spmm_status_t status = SPMM_OK;

    for (int p = 0; p < env->size; p++) {
        most += spmmi_message_count(env, (size_t)send_count[p] * elem_size);
        most += spmmi_message_count(env, (size_t)recv_count[p] * elem_size);
        sent += send_count[p];
        received += recv_count[p];
        before_send += p < env->rank ? send_count[p] : 0;
        before_recv += p < env->rank ? recv_count[p] : 0;
    }
    requests = most > INT_MAX ? NULL : spmmi_alloc(most, sizeof *requests);
    if (requests == NULL) {
        status = spmmi_fail_memory(&env->err, most, sizeof *requests, "message requests");
    }
    status = spmmi_agree(env, status); /* before others wait for this rank's messages */
    if (status != SPMM_OK) {
        spmmi_free(requests);
        return status;
    }
    seconds = (double)(sent + received) * (double)elem_size / slow;
    status  = post_all(env, send, send_count, recv, recv_count, elem_size, requests, &n_requests);
    if (send_count[env->rank] > 0) {
        memcpy((char *)recv + (size_t)before_recv * elem_size,
               (const char *)send + (size_t)before_send * elem_size,
               (size_t)send_count[env->rank] * elem_size);
    }
    if (status == SPMM_OK) {
        status = wait_for(env, n_requests, requests, spmmi_now(), seconds, "an exchange at setup");
    }
    /* Mostly all ranks are here then, and what has met its receive arrives. */
    status = spmmi_agree(env, status);
    if (status != SPMM_OK && spmmi_abandon(env, n_requests, requests, 0.1 + seconds)) {
        spmmi_alloc_keep(send, (size_t)sent * elem_size);
        spmmi_alloc_keep(recv, (size_t)received * elem_size);
    }
    spmmi_free(requests);
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
