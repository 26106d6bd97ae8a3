/* SPDX-License-Identifier: Apache-2.0 */
/** @file nccl_window.h
 *  Device memory of every rank of a node that the GPUs of all of them load from and store to, by
 *  NCCL's symmetric windows.
 */
#ifndef SPMM_EXCHANGE_NCCL_WINDOW_H
#define SPMM_EXCHANGE_NCCL_WINDOW_H

#include "exchange/nccl_comm.h"

#if defined(SPMM_HAVE_CUDA) && defined(SPMM_HAVE_NCCL)
#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 28, 0)
#define SPMM_HAVE_NCCL_WINDOW
#endif
#endif

#ifdef SPMM_HAVE_NCCL_WINDOW
#include "cuda/exchange/peer_args.h"

typedef struct {
    char        *memory; /**< of this rank, owned */
    size_t       bytes;  /**< of every rank */
    ncclWindow_t handle;
    bool         pending;               /**< NCCL may still be at work on all this: never freed */
    char        *peer[SPMM_PEER_RANKS]; /**< the memory of each rank, as this one sees it */
} spmm_nccl_window_t;

/** The sentence that says why the NCCL in use cannot do it; NULL: it can, as far as is known
 *  without a communicator. */
const char *spmmi_nccl_window_refusal(void);

/** Memory for all ranks, zeroed: as much as the rank that wants most.  Collective, agreed;
 *  SPMM_ERR_UNSUPPORTED when NCCL gives no window or not all ranks are within reach.
 *  @param[in] shared  with an open communicator
 *  @param[in] bytes   local */
spmm_status_t spmmi_nccl_window_create(spmm_transport_shared_t *shared, size_t bytes,
                                       spmm_nccl_window_t **window);
/** Local, NULL-safe.  Peers that still hold the window may go on reading and writing it. */
void spmmi_nccl_window_free(spmm_transport_shared_t *shared, spmm_nccl_window_t *window);
/** Free what describes it; its memory and the registration are the process's from here on, no block
 *  of the library.  Local, NULL-safe. */
void spmmi_nccl_window_leave(spmm_nccl_window_t *window);
#endif

#endif /* SPMM_EXCHANGE_NCCL_WINDOW_H */
