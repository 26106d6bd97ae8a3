/* SPDX-License-Identifier: Apache-2.0 */
/** @file peer_space.h
 *  What all plans of a context share whose GPUs store to each other's memory: a communicator for
 *  windows, and the word of an exchange that gave up.
 */
#ifndef SPMM_EXCHANGE_PEER_SPACE_H
#define SPMM_EXCHANGE_PEER_SPACE_H

#include "exchange/nccl_window.h"

#ifdef SPMM_HAVE_NCCL_WINDOW

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
