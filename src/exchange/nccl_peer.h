/* SPDX-License-Identifier: Apache-2.0 */
/** @file nccl_peer.h
 *  The state of one plan that nccl-push and nccl-pull have in common: a window of every rank, words of
 *  peers at its head and rows behind them, and what the kernel of an exchange keeps on the device.
 */
#ifndef SPMM_EXCHANGE_NCCL_PEER_H
#define SPMM_EXCHANGE_NCCL_PEER_H

#include "exchange/pull_space.h"

/** Why neither is in a build without windows: their supports() then. */
bool spmmi_nccl_peer_unbuilt(spmm_transport_shared_t *shared, char why[SPMM_WHY]);

#ifdef SPMM_HAVE_NCCL_WINDOW

typedef struct spmm_nccl_peer spmm_nccl_peer_t;

/** Where the two differ. */
typedef struct {
    size_t state_bytes; /**< of the kernel's words, zeroed at first; SPMM_NCCL_PEER_STATE at most */
    /** Bytes at the head of a window: a multiple of SPMM_PULL_ALIGN. */
    size_t (*head_bytes)(int n_ranks);
    /** The rows that the kernel goes by, at @p host [n], owned by the caller then; the same memory as
     *  one of the halo's: not owned.  Collective, agreed. */
    spmm_status_t (*list_rows)(const spmm_nccl_peer_t *peer, int32_t **host, int64_t *n);
} spmm_nccl_peer_ops_t;

enum { SPMM_NCCL_PEER_STATE = 1024 };

struct spmm_nccl_peer {
    const spmm_nccl_peer_ops_t *ops;
    spmm_transport_shared_t    *shared; /**< borrowed, as is the halo */
    const spmm_halo_t          *halo;
    spmm_pull_space_t          *space;  /**< borrowed; NULL on one rank, as is all below */
    spmm_nccl_window_t         *window; /**< owned */
    size_t                      head;   /**< bytes of the window before its rows */
    void                       *words;  /**< device, owned, as is the next */
    int32_t                    *row;    /**< device [n_rows], of list_rows() */
    int64_t                     n_rows;
    /** [rank] first row for this rank among those of another: its mirror, its halo */
    int64_t first_mirror[SPMM_PULL_PEERS], first_halo[SPMM_PULL_PEERS];
};

/** create() with a ops.  Collective, agreed. */
spmm_status_t spmmi_nccl_peer_create(const spmm_nccl_peer_ops_t *ops,
                                     spmm_transport_shared_t *shared, const spmm_halo_t *halo,
                                     size_t max_row_bytes, void **state);

/* Functions of a transport; the state is a spmm_nccl_peer_t. */

spmm_status_t spmmi_nccl_peer_open(spmm_transport_shared_t *shared);
void          spmmi_nccl_peer_destroy(void *state);
void         *spmmi_nccl_peer_rows(const void *state);
void          spmmi_nccl_peer_bytes(const void *state, size_t *host, size_t *device);

/** Do @p bytes from @p rows lie among the rows of the window?  @p offset: where in it. */
bool spmmi_nccl_peer_holds(const spmm_nccl_peer_t *peer, const void *rows, size_t bytes,
                           size_t *offset);
/** Does no row travel from or to this rank? */
bool spmmi_nccl_peer_is_alone(const spmm_halo_t *halo);
#endif

#endif /* SPMM_EXCHANGE_NCCL_PEER_H */
