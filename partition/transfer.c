/* SPDX-License-Identifier: Apache-2.0 */
#include "base/alloc.h"
#include "base/comm.h"
#include "partition/partitioners.h"

enum { TAG_BYTES = 21 };

/* What is given up must not meet memory that is freed and used again. */
static spmm_status_t finish(spmm_env_t *env, const void *at, size_t bytes, int count,
                            spmm_message_t *message)
{
    const spmm_status_t status =
        spmmi_wait_messages(env, count, message, spmmi_now(), "a transfer at setup");

    if (status != SPMM_OK && spmmi_abandon(env, count, message, 0.1)) {
        spmmi_alloc_keep(at, bytes);
    }
    return status;
}

/* One message after the other. */
static spmm_status_t transfer(spmm_env_t *env, char *at, size_t bytes, int peer, bool sends)
{
    const size_t limit = spmmi_message_limit(env);

    while (bytes > 0) {
        const size_t   part = bytes < limit ? bytes : limit;
        spmm_message_t message;
        int            count = 0;

        SPMM_TRY(sends ? spmmi_isend(env, env->comm, at, part, peer, TAG_BYTES, &message, &count)
                       : spmmi_irecv(env, env->comm, at, part, peer, TAG_BYTES, &message, &count));
        SPMM_TRY(finish(env, at, part, count, &message));
        at += part;
        bytes -= part;
    }
    return SPMM_OK;
}

spmm_status_t spmmi_send_bytes(spmm_env_t *env, const void *data, size_t bytes, int peer)
{
    return transfer(env, (char *)(uintptr_t)data, bytes, peer, true); /* only read */
}

spmm_status_t spmmi_recv_bytes(spmm_env_t *env, void *data, size_t bytes, int peer)
{
    return transfer(env, data, bytes, peer, false);
}
