/* SPDX-License-Identifier: Apache-2.0 */
/** @file draft.h  What the lists of two levels are made from; nothing outside this folder includes
 *  it. */
#ifndef SPMM_EXCHANGE_LEVELS_DRAFT_H
#define SPMM_EXCHANGE_LEVELS_DRAFT_H

#include "base/nodes.h"
#include "exchange/levels/lanes.h"
#include "exchange/levels/lists.h"

/** A row on its way across, as its sender sees it. */
typedef struct {
    int64_t getter, index;
    int64_t at; /**< place in the room */
} spmm_relay_t;

/** A row that has come across. */
typedef struct {
    int64_t index, at;
} spmm_crossed_t;

/** What the lists are made from. */
typedef struct {
    spmm_env_t         *env;
    const spmm_halo_t  *flat;
    const int64_t      *offset, *need;
    spmm_levels_lanes_t lanes;
    int32_t            *via; /**< [recv rows] rank of this node that each halo row comes from */
    int64_t            *send_count; /**< [size] of the round of messages, as recv_count */
    int64_t            *recv_count;
    int64_t            *at;      /**< [size] scratch */
    spmm_relay_t       *relays;  /**< [rows that this rank sends across], in their order */
    spmm_crossed_t     *crossed; /**< [rows that came across], by index */
} spmm_levels_draft_t;

/** No memory for @p count numbers. */
spmm_status_t spmmi_levels_fail(const spmm_levels_draft_t *d, int64_t count);
/** Does @p rank share the node of this one? */
static inline bool spmmi_levels_near(const spmm_levels_draft_t *d, int rank)
{
    return spmmi_nodes_share(&d->env->nodes, d->env->rank, rank);
}
/** Send items of @p size bytes, grouped by rank as d->send_count says; d->recv_count says what
 *  came.  Collective, agreed.
 *  @param[out] came  [*total], to be freed by the caller in any case */
spmm_status_t spmmi_levels_tell(spmm_levels_draft_t *d, const void *items, size_t size, void **came,
                                int64_t *total);
/** Counts of all ranks to the peers of a halo plan. */
spmm_status_t spmmi_levels_list_peers(const spmm_levels_draft_t *d, const int64_t *send,
                                      const int64_t *recv, spmm_halo_t *halo);
/** Of two spmm_crossed_t, by index. */
int spmmi_crossed_compare(const void *a, const void *b);

/** Those who need rows ask the ranks of their node that get or own them.  Collective, agreed. */
spmm_status_t spmmi_levels_make_deal(spmm_levels_draft_t *d, spmm_levels_lists_t *lists);
/** All is counted: where the parts of the room begin, and what stands where in it. */
spmm_status_t spmmi_levels_place(spmm_levels_draft_t *d, spmm_levels_lists_t *lists);

#endif /* SPMM_EXCHANGE_LEVELS_DRAFT_H */
