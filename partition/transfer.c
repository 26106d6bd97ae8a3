/* SPDX-License-Identifier: Apache-2.0 */
#include "base/alloc.h"
#include "base/comm.h"
#include "partition/partitioners.h"

enum { TAG_BYTES = 21 };

/* What is given up must not meet memory that is freed and used again. */
static spmm_status_t finish(spmm_env_t *env, const void *at, size_t bytes, int n_requests,
                            MPI_Request *request)
{
    const spmm_status_t status =
        spmmi_waitall(env, n_requests, request, spmmi_now(), "a transfer at setup");

    if (status != SPMM_OK && spmmi_abandon(env, n_requests, request, 0.1)) {
        spmmi_alloc_keep(at, bytes);
    }
    return status;
}

spmm_status_t spmmi_send_bytes(spmm_env_t *env, const void *data, size_t bytes, int peer)
{
    const size_t limit = spmmi_message_limit(env);
    const char  *at    = data;

    while (bytes > 0) {
        const size_t part = bytes < limit ? bytes : limit;
        MPI_Request  request;
        int          n_requests = 0;

        SPMM_TRY(spmmi_isend(env, env->comm, at, part, peer, TAG_BYTES, &request, &n_requests));
        SPMM_TRY(finish(env, at, part, n_requests, &request));
        at += part;
        bytes -= part;
    }
    return SPMM_OK;
}

spmm_status_t spmmi_recv_bytes(spmm_env_t *env, void *data, size_t bytes, int peer)
{
    const size_t limit = spmmi_message_limit(env);
    char        *at    = data;

    while (bytes > 0) {
        const size_t part = bytes < limit ? bytes : limit;
        MPI_Request  request;
        int          n_requests = 0;

        SPMM_TRY(spmmi_irecv(env, env->comm, at, part, peer, TAG_BYTES, &request, &n_requests));
        SPMM_TRY(finish(env, at, part, n_requests, &request));
        at += part;
        bytes -= part;
    }
    return SPMM_OK;
}
