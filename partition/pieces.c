/* SPDX-License-Identifier: Apache-2.0 */
#include "base/comm.h"
#include "partition/partitioners.h"

enum { TAG_PIECE = 21 };

spmm_status_t spmm_send_piece(spmm_env_t *env, const void *data, size_t bytes, int peer)
{
    const char *at = data;

    while (bytes > 0) {
        const size_t part = bytes < spmm_message_limit ? bytes : spmm_message_limit;
        MPI_Request  request;
        int          n_requests = 0;

        SPMM_TRY(spmm_isend(env, at, part, peer, TAG_PIECE, &request, &n_requests));
        SPMM_TRY(spmm_waitall(env, n_requests, &request, "a transfer at setup"));
        at += part;
        bytes -= part;
    }
    return SPMM_OK;
}

spmm_status_t spmm_recv_piece(spmm_env_t *env, void *data, size_t bytes, int peer)
{
    char *at = data;

    while (bytes > 0) {
        const size_t part = bytes < spmm_message_limit ? bytes : spmm_message_limit;
        MPI_Request  request;
        int          n_requests = 0;

        SPMM_TRY(spmm_irecv(env, at, part, peer, TAG_PIECE, &request, &n_requests));
        SPMM_TRY(spmm_waitall(env, n_requests, &request, "a transfer at setup"));
        at += part;
        bytes -= part;
    }
    return SPMM_OK;
}
