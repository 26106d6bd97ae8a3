/* SPDX-License-Identifier: Apache-2.0 */
/** @file peer_space.h
 *  What all plans of a context share whose GPUs store to each other's memory: a communicator for
 *  windows, and the word of an exchange that gave up.
 */
#ifndef SPMM_EXCHANGE_PEER_SPACE_H
#define SPMM_EXCHANGE_PEER_SPACE_H

#include "exchange/nccl_comm.h"

/* Device memory of every rank of a node that the GPUs of all of them load from and store to, by
 * NCCL's symmetric windows. */

#if defined(SPMM_HAVE_CUDA) && defined(SPMM_HAVE_NCCL)
#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 28, 0)
#define SPMM_HAVE_NCCL_WINDOW
#endif
#include "cuda/exchange/peer_args.h"

typedef struct {
    char        *memory; /**< of this rank, owned */
    size_t       bytes;  /**< of every rank */
    ncclWindow_t handle;
    bool         pending;               /**< NCCL may still be at work on all this: never freed */
    char        *peer[SPMM_PEER_RANKS]; /**< the memory of each rank, as this one sees it */
} spmm_nccl_window_t;

/** Memory for all ranks, zeroed: as much as the rank that wants most.  Collective, agreed;
 *  SPMM_ERR_UNSUPPORTED when NCCL gives no window or not all ranks are within reach.
 *  @param[in] shared  with an open communicator
 *  @param[in] bytes   local */
spmm_status_t spmmi_nccl_window_create(spmm_transport_shared_t *shared, size_t bytes,
                                       spmm_nccl_window_t **window);

/** Behind spmm_transport_shared_t.peer_space. */
typedef struct {
    /** env, device and a communicator of its own: that of transport nccl may be aborted, with all
     *  its windows, while exchanges of this one are under way. */
    spmm_transport_shared_t own;
    uint32_t               *failed; /**< device */
    spmm_peer_report_t     *report; /**< pinned */
} spmm_peer_space_t;

/** supports() of the transport. */
bool spmmi_peer_space_supports(spmm_transport_shared_t *shared, char why[SPMM_WHY]);
/** Make shared->peer_space unless it is there; nothing on one rank.  Collective, agreed. */
spmm_status_t spmmi_peer_space_open(spmm_transport_shared_t *shared);
/** Free shared->peer_space.  Collective; NULL-safe. */
void spmmi_peer_space_close(spmm_transport_shared_t *shared);
/** SPMM_ERR_COMM once an exchange gave up.  Local, does not wait. */
spmm_status_t spmmi_peer_space_check(spmm_transport_shared_t *shared);

/** Free a window of the context, or leave it to the process where a peer is lost, whom NCCL would
 *  wait for.  Local, NULL-safe. */
void spmmi_peer_space_free_window(spmm_peer_space_t *space, spmm_nccl_window_t *window);
/** What a kernel that waits for peers needs to give up.  Local. */
spmm_peer_watch_t spmmi_peer_space_watch(const spmm_peer_space_t *space);
#endif

#endif /* SPMM_EXCHANGE_PEER_SPACE_H */
