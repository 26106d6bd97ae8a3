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

/** A message in flight. */
typedef struct {
    MPI_Request request;
    int         peer; /**< -1: all */
} spmm_message_t;

/** Post the sends or receives of one buffer, split by spmmi_message_limit().
 *  @param[in,out] count  grows by spmmi_message_count() */
spmm_status_t spmmi_isend(spmm_env_t *env, MPI_Comm comm, const void *data, size_t bytes, int peer,
                          int tag, spmm_message_t *messages, int *count);
spmm_status_t spmmi_irecv(spmm_env_t *env, MPI_Comm comm, void *data, size_t bytes, int peer,
                          int tag, spmm_message_t *messages, int *count);

/** Wait for one message, or all.  With a timeout in @p env, counted from @p start (spmmi_now()), a
 *  late peer is SPMM_ERR_COMM: give the messages to spmmi_abandon() then; the context must be
 *  destroyed.  Sentences name the peer.
 *  @param[out] truncated  more came than was asked for, which is no error then; may be NULL */
spmm_status_t spmmi_wait_message(spmm_env_t *env, spmm_message_t *message, double start,
                                 const char *what, MPI_Status *status, bool *truncated);
spmm_status_t spmmi_wait_messages(spmm_env_t *env, int count, spmm_message_t *messages,
                                  double start, const char *what);

/** Let messages in flight go on for @p grace seconds at most, whatever comes of them. */
void spmmi_linger(int count, spmm_message_t *messages, double grace);

/** Give up messages in flight, so that a late peer does not write into memory that is freed next.
 *  Waits for @p grace seconds at most: the peer may be gone.  A send cannot be taken back, nor a
 *  receive that has begun: true, and env->unfinished, then say that MPI may come back to their
 *  memory, which must not be freed (spmmi_alloc_keep()). */
bool spmmi_abandon(spmm_env_t *env, int count, spmm_message_t *messages, double grace);

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

/** Fill env->hosts: what names of ranks tell beside their number.  Collective, agreed. */
spmm_status_t spmmi_gather_hosts(spmm_env_t *env);

enum { SPMM_RANK_NAME = SPMM_HOST + 24 };

/** "rank 2 on node07", "a rank" for -1, for sentences; returns @p text. */
const char *spmmi_rank_name(const spmm_env_t *env, int rank, char text[SPMM_RANK_NAME]);

/** Rank that owns @p index in @p offset [size + 1]; ranks without elements are skipped. */
int spmmi_owner(const int64_t *offset, int size, int64_t index);

#endif /* SPMM_BASE_COMM_H */
