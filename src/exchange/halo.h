/* SPDX-License-Identifier: Apache-2.0 */
/** @file halo.h  Who sends which rows to whom, from the column footprints of the ranks. */
#ifndef SPMM_EXCHANGE_HALO_H
#define SPMM_EXCHANGE_HALO_H

#include "base/env.h"
#include "device/device.h"

/** Op N sends the send rows and receives the ghost rows; op T runs it backwards. */
typedef struct {
    int      n_send_peers, n_recv_peers;
    int     *send_peer, *recv_peer; /**< [n_*_peers] ascending ranks, never this one */
    int64_t *send_ptr, *recv_ptr;   /**< [n_*_peers + 1] rows, prefix sums */
    int32_t *send_row;              /**< [send_ptr[n_send_peers]] local rows to send, ascending for
                                         each peer */
    int64_t node_rows; /**< the rows that this rank's node gets from other nodes, or sends them: the
                            greater */
} spmm_halo_t;

static inline int64_t spmmi_halo_send_rows(const spmm_halo_t *halo)
{
    return halo->send_ptr[halo->n_send_peers];
}

static inline int64_t spmmi_halo_recv_rows(const spmm_halo_t *halo)
{
    return halo->recv_ptr[halo->n_recv_peers];
}

/** Rows and messages of this rank in one exchange (op T: in is out). */
typedef struct {
    int64_t rows_in, rows_out, messages_in, messages_out;
} spmm_halo_flow_t;

/** What goes within nodes and what between them: added to @p flow.  Local. */
void spmmi_halo_flow(const spmm_halo_t *halo, const spmm_env_t *env,
                     spmm_halo_flow_t flow[SPMM_WAYS]);

/** Fill halo->node_rows: ranks of a node may share its adapter.  Collective, agreed. */
spmm_status_t spmmi_halo_sum_node(spmm_env_t *env, spmm_halo_t *halo);

/** Build the halo plan.  Collective, agreed; both sides of every pair are compared.
 *  @param[in] offset [size + 1] owners of the indices
 *  @param[in] need   [n_need] indices owned by other ranks, ascending, no index twice: ghost row i
 *                    is index need[i] */
spmm_status_t spmmi_halo_create(spmm_env_t *env, const int64_t *offset, const int64_t *need,
                                int64_t n_need, spmm_halo_t *halo);

void spmmi_halo_free(spmm_halo_t *halo);
/** That its lists take. */
size_t spmmi_halo_bytes(const spmm_halo_t *halo);

/** Seconds of what this rank exchanges on ways of one kind, by what the context has measured; 0 on
 *  one node, where nothing is. */
double spmmi_way_s(const spmm_halo_t *halo, spmm_way_t way, size_t row_bytes,
                   const spmm_device_t *device);

/** Seconds of an exchange whose rows within nodes go at @p rate bytes/s in and out, while those
 *  between nodes go through this rank's adapter. */
double spmmi_ways_s(const spmm_halo_t *halo, size_t row_bytes, const spmm_device_t *device,
                    double rate);

#endif /* SPMM_EXCHANGE_HALO_H */
