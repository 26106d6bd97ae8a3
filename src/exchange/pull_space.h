/* SPDX-License-Identifier: Apache-2.0 */
/** @file pull_space.h  What all plans of a context with transports nccl-pull and nccl-push share. */
#ifndef SPMM_EXCHANGE_PULL_SPACE_H
#define SPMM_EXCHANGE_PULL_SPACE_H

#include "exchange/nccl_window.h"

#ifdef SPMM_HAVE_NCCL_WINDOW

/** Behind spmm_transport_shared_t.pull. */
typedef struct {
    /** env, device and a communicator of its own: that of transport nccl may be aborted, with all
     *  its windows, while exchanges of this one are under way. */
    spmm_transport_shared_t own;
    spmm_nccl_window_t     *home[SPMM_PULL_SHARED]; /**< buffers that B may lie in; NULL: free */
    char              **table;  /**< device [SPMM_PULL_SHARED x SPMM_PULL_PEERS]: their addresses */
    uint32_t           *failed; /**< device */
    spmm_pull_report_t *report; /**< pinned */
} spmm_pull_space_t;

/** supports() of the transport. */
bool spmmi_pull_space_supports(spmm_transport_shared_t *shared, char why[SPMM_WHY]);
/** Make shared->pull unless it is there.  Collective, agreed. */
spmm_status_t spmmi_pull_space_open(spmm_transport_shared_t *shared);
/** Free shared->pull.  Collective; NULL-safe. */
void spmmi_pull_space_close(spmm_transport_shared_t *shared);
/** SPMM_ERR_COMM once an exchange gave up.  Does not wait. */
spmm_status_t spmmi_pull_space_check(spmm_transport_shared_t *shared);

/** A buffer for B on all ranks; NULL where there are too many.  Collective, agreed. */
spmm_status_t spmmi_pull_space_alloc(spmm_pull_space_t *space, size_t bytes, void **buffer);
/** Free it on this rank; false: it is none of them. */
bool spmmi_pull_space_release(spmm_pull_space_t *space, const void *buffer);
/** The buffer that holds @p bytes from @p at; -1: none does.
 *  @param[out] offset  of @p at in it, bytes */
int spmmi_pull_space_find(const spmm_pull_space_t *space, const void *at, size_t bytes,
                          size_t *offset);
/** Free a window of the context, or leave it to the process where a peer is lost, whom NCCL would
 *  wait for; NULL-safe. */
void spmmi_pull_space_free_window(spmm_pull_space_t *space, spmm_nccl_window_t *window);
/** For each rank, where the rows of this one begin: among its mirror rows those for this rank, among
 *  its halo rows those from here.  Collective, not agreed.
 *  @param[out] mirror, halo  [SPMM_PULL_PEERS] */
spmm_status_t spmmi_pull_space_firsts(spmm_env_t *env, const spmm_halo_t *peers, int64_t *mirror,
                                      int64_t *halo);
/** What a kernel that waits for peers needs to give up. */
spmm_peer_watch_t spmmi_pull_space_watch(const spmm_pull_space_t *space);
#endif

#endif /* SPMM_EXCHANGE_PULL_SPACE_H */
