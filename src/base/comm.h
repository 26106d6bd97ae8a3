/* SPDX-License-Identifier: Apache-2.0 */
/** @file comm.h  Collectives for setup with 64-bit counts; messages are split below INT_MAX. */
#ifndef SPMM_BASE_COMM_H
#define SPMM_BASE_COMM_H

#include "base/env.h"

/** Largest single message, bytes; longer ones travel in parts of this size. */
static inline size_t spmmi_message_limit(const spmm_env_t *env)
{
    return env->message_limit > 0 ? env->message_limit : (size_t)1 << 30;
}

/** Number of messages that @p bytes travel in; 0 for 0. */
int64_t spmmi_message_count(const spmm_env_t *env, size_t bytes);

/** Post the sends or receives of one buffer, split by spmmi_message_limit().
 *  @param[in,out] n_requests  grows by spmmi_message_count() */
spmm_status_t spmmi_isend(spmm_env_t *env, const void *data, size_t bytes, int peer, int tag,
                          MPI_Request *requests, int *n_requests);
spmm_status_t spmmi_irecv(spmm_env_t *env, void *data, size_t bytes, int peer, int tag,
                          MPI_Request *requests, int *n_requests);

/** Wait for all requests.  With a timeout in @p env, counted from @p start (spmmi_now()), a late
 *  peer is SPMM_ERR_COMM: give the requests to spmmi_abandon() then; the context must be
 *  destroyed. */
spmm_status_t spmmi_waitall(spmm_env_t *env, int n_requests, MPI_Request *requests, double start,
                            const char *what);

/** Wait for what spmmi_irecv() posted with the same arguments.  A message of another length is
 *  SPMM_ERR_COMM, and a sentence about n: executes have no other way to differ.
 *  @param[in,out] n_requests  moves on as spmmi_irecv() has moved it */
spmm_status_t spmmi_wait_received(spmm_env_t *env, size_t bytes, int peer, MPI_Request *requests,
                                  int *n_requests, double start, const char *what);

/** Let messages in flight go on for @p grace seconds at most, whatever comes of them. */
void spmmi_linger(int n_requests, MPI_Request *requests, double grace);

/** Give up messages in flight, so that a late peer does not write into memory that is freed next.
 *  Waits for @p grace seconds at most: the peer may be gone.  A send cannot be taken back, nor a
 *  receive that has begun: true, and env->unfinished, then say that MPI may come back to their
 *  memory, which must not be freed (spmmi_alloc_keep()). */
bool spmmi_abandon(spmm_env_t *env, int n_requests, MPI_Request *requests, double grace);

/** Personalised all-to-all of elements of @p elem_size bytes.  Collective, agreed; where a rank may
 *  have failed before, agree first.  Counts and data are in rank order without gaps.
 *  @param[in]  send_count [size]
 *  @param[in]  recv_count [size], as from spmmi_alltoall_counts() */
spmm_status_t spmmi_alltoallv(spmm_env_t *env, const void *send, const int64_t *send_count,
                              void *recv, const int64_t *recv_count, size_t elem_size);

/** recv[p] = what rank p has in its send[me]; returns the sum in *total.  Collective. */
spmm_status_t spmmi_alltoall_counts(spmm_env_t *env, const int64_t *send, int64_t *recv,
                                    int64_t *total);

/** offset[p] = sum of the counts of ranks below p, offset[size] = total.  Collective. */
spmm_status_t spmmi_allgather_offsets(spmm_env_t *env, int64_t count, int64_t *offset);

/** Rank that owns @p index in @p offset [size + 1]; ranks without elements are skipped. */
int spmmi_owner(const int64_t *offset, int size, int64_t index);

#endif /* SPMM_BASE_COMM_H */
