/* SPDX-License-Identifier: Apache-2.0 */
#include "base/comm.h"
#include "partition/partitioners.h"

enum { TAG_PIECE = 21 };

/* A peer that reads a file or gathers a graph comes when it has done so: the timeout of exchanges says
 * nothing about that. */
static spmm_status_t wait(spmm_env_t *env, MPI_Request *request)
{
    SPMM_MPI(env, MPI_Wait(request, MPI_STATUS_IGNORE));
    return SPMM_OK;
}

spmm_status_t spmm_send_piece(spmm_env_t *env, const void *data, size_t bytes, int peer)
{
    const char *at = data;

    while (bytes > 0) {
        const size_t part = bytes < spmm_message_limit ? bytes : spmm_message_limit;
        MPI_Request  request;
        int          n_requests = 0;

        SPMM_TRY(spmm_isend(env, at, part, peer, TAG_PIECE, &request, &n_requests));
        SPMM_TRY(wait(env, &request));
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
        SPMM_TRY(wait(env, &request));
        at += part;
        bytes -= part;
    }
    return SPMM_OK;
}
