/* SPDX-License-Identifier: Apache-2.0 */
/** @file lists.c
 *  Made in four rounds of messages: owners tell those who need a row over which rank of their node
 *  it comes, and the senders what they are to collect; senders tell the getters what crosses; and
 *  those who need rows ask the ranks of their node for them.  Rows go by their global indices.
 */
#include "exchange/levels/draft.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/comm.h"
#include "base/sort.h"

/* Rows for other nodes, each once for a node. */
static spmm_status_t list_lanes(spmm_levels_draft_t *d)
{
    const spmm_halo_t   *flat  = d->flat;
    const spmm_nodes_t  *nodes = &d->env->nodes;
    spmm_levels_lanes_t *l     = &d->lanes;
    uint64_t            *key;
    spmm_status_t        status;

    SPMM_NEW(key, spmmi_halo_send_rows(flat));
    SPMM_NEW_ZERO(l->first, (int64_t)nodes->count + 1);
    if (key == NULL || l->first == NULL) {
        spmmi_free(key);
        return spmmi_levels_fail(d, spmmi_halo_send_rows(flat));
    }
    for (int p = 0; p < flat->n_send_peers; p++) {
        const uint64_t node = (uint64_t)nodes->node[flat->send_peer[p]];

        for (int64_t k = flat->send_ptr[p];
             k < flat->send_ptr[p + 1] && !spmmi_levels_near(d, flat->send_peer[p]); k++) {
            key[l->count++] = node << 32 | (uint64_t)flat->send_row[k];
        }
    }
    status   = spmmi_sort_u64(d->env, key, l->count);
    l->count = spmmi_unique_u64(key, l->count);
    SPMM_NEW(l->node, l->count);
    SPMM_NEW(l->row, l->count);
    SPMM_NEW(l->sender, l->count);
    SPMM_NEW(l->getter, l->count);
    if (l->node == NULL || l->row == NULL || l->sender == NULL || l->getter == NULL) {
        status = spmmi_levels_fail(d, l->count);
    }
    for (int64_t k = 0; k < l->count && status == SPMM_OK; k++) {
        l->node[k]               = (int32_t)(key[k] >> 32);
        l->row[k]                = (int32_t)(key[k] & UINT32_MAX);
        l->first[l->node[k] + 1] = k + 1;
    }
    for (int k = 0; k < nodes->count && status == SPMM_OK; k++) {
        l->first[k + 1] = l->first[k + 1] > l->first[k] ? l->first[k + 1] : l->first[k];
    }
    spmmi_free(key);
    return status;
}

/* The rank over which a row comes to @p peer. */
static int32_t way_of(const spmm_levels_draft_t *d, int peer, int32_t row)
{
    const spmm_levels_lanes_t *l    = &d->lanes;
    const int                  node = d->env->nodes.node[peer];
    int64_t                    low = l->first[node], high = l->first[node + 1];

    if (spmmi_levels_near(d, peer)) {
        return d->env->rank;
    }
    while (low < high) {
        const int64_t mid = low + (high - low) / 2;

        if (l->row[mid] < row) {
            low = mid + 1;
        } else {
            high = mid;
        }
    }
    return l->getter[low];
}

/* Owners to those who need their rows.  Collective, agreed. */
static spmm_status_t tell_ways(spmm_levels_draft_t *d)
{
    const spmm_halo_t *flat   = d->flat;
    void              *came   = NULL;
    int64_t            total  = 0;
    spmm_status_t      status = SPMM_OK;
    int32_t           *ways;

    memset(d->send_count, 0, (size_t)d->env->size * sizeof *d->send_count);
    if (SPMM_NEW(ways, spmmi_halo_send_rows(flat)) == NULL) {
        status = spmmi_levels_fail(d, spmmi_halo_send_rows(flat));
    }
    status = spmmi_agree(d->env, status);
    for (int p = 0; p < flat->n_send_peers && status == SPMM_OK; p++) {
        d->send_count[flat->send_peer[p]] = flat->send_ptr[p + 1] - flat->send_ptr[p];
        for (int64_t k = flat->send_ptr[p]; k < flat->send_ptr[p + 1]; k++) {
            ways[k] = way_of(d, flat->send_peer[p], flat->send_row[k]);
        }
    }
    if (status == SPMM_OK) {
        status = spmmi_levels_tell(d, ways, sizeof *ways, &came, &total);
    }
    d->via = came;
    spmmi_free(ways);
    return status;
}

static int by_getter(const void *a, const void *b)
{
    const spmm_relay_t *x = a, *y = b;

    return x->getter != y->getter ? (x->getter > y->getter) - (x->getter < y->getter)
                                  : (x->index > y->index) - (x->index < y->index);
}

/* This rank's rows for other nodes, grouped by sender with this rank last, and within each in the
 * order in which it sends them; packed gets the rows.  @p mine [lanes.count] */
static void group_by_sender(spmm_levels_draft_t *d, spmm_relay_t *mine, int32_t *packed)
{
    const spmm_levels_lanes_t *l    = &d->lanes;
    const int                  me   = d->env->rank;
    const int64_t              base = d->offset[me];
    int64_t                    at   = 0;

    memset(d->send_count, 0, (size_t)d->env->size * sizeof *d->send_count);
    for (int64_t k = 0; k < l->count; k++) {
        d->send_count[l->sender[k]]++;
    }
    for (int p = 0; p <= d->env->size; p++) {
        if (p != me && p < d->env->size) {
            d->at[p] = at;
            at += d->send_count[p];
        } else if (p == d->env->size) {
            d->at[me] = at;
        }
    }
    for (int64_t k = 0; k < l->count; k++) {
        mine[d->at[l->sender[k]]++] =
            (spmm_relay_t){.getter = l->getter[k], .index = base + l->row[k]};
    }
    for (int p = 0; p < d->env->size; p++) {
        qsort(mine + d->at[p] - d->send_count[p], (size_t)d->send_count[p], sizeof *mine,
              by_getter);
    }
    for (int64_t k = 0; k < l->count; k++) {
        packed[k] = (int32_t)(mine[k].index - base);
    }
}

/* Own rows to send, then those collected.  @p self: of this rank, @p n_self of them */
static spmm_status_t join_relays(spmm_levels_draft_t *d, const spmm_relay_t *self, int64_t n_self,
                                 const spmm_relay_t *came, int64_t n_came,
                                 spmm_levels_lists_t *lists)
{
    const int64_t count = n_self + n_came;

    lists->room[SPMM_ROOM_DIRECT] = n_self; /* first rows until all are counted: counts, shifted */
    SPMM_NEW(d->relays, count);
    SPMM_NEW(lists->to_cross, count);
    if (d->relays == NULL || lists->to_cross == NULL) {
        return spmmi_levels_fail(d, count);
    }
    for (int64_t k = 0; k < count; k++) {
        d->relays[k]    = k < n_self ? self[k] : came[k - n_self];
        d->relays[k].at = k;
    }
    qsort(d->relays, (size_t)count, sizeof *d->relays, by_getter);
    return SPMM_OK;
}

/* Owners to senders of their node.  Collective, agreed. */
static spmm_status_t make_collect(spmm_levels_draft_t *d, spmm_levels_lists_t *lists)
{
    const int64_t count = d->lanes.count;
    const int     me    = d->env->rank;
    spmm_relay_t *mine  = NULL;
    void         *came  = NULL;
    int64_t       total = 0, n_self = 0;
    spmm_status_t status = SPMM_OK;

    SPMM_NEW(mine, count);
    SPMM_NEW(lists->packed, count + spmmi_halo_send_rows(d->flat));
    if (mine == NULL || lists->packed == NULL) {
        status = spmmi_levels_fail(d, count);
    }
    status = spmmi_agree(d->env, status);
    if (status == SPMM_OK) {
        group_by_sender(d, mine, lists->packed);
        n_self            = d->send_count[me];
        d->send_count[me] = 0;
        lists->n_packed   = count;
        status            = spmmi_levels_tell(d, mine, sizeof *mine, &came, &total);
    }
    if (status == SPMM_OK) {
        status = spmmi_levels_list_peers(d, d->send_count, d->recv_count, &lists->collect);
        if (status == SPMM_OK) {
            status = join_relays(d, mine + count - n_self, n_self, came, total, lists);
        }
        status = spmmi_agree(d->env, status);
    }
    spmmi_free_all(mine, came);
    return status;
}

/* Senders to getters.  Collective, agreed. */
static spmm_status_t make_cross(spmm_levels_draft_t *d, spmm_levels_lists_t *lists)
{
    const int64_t count = lists->room[SPMM_ROOM_DIRECT] + spmmi_halo_recv_rows(&lists->collect);
    int64_t       total = 0, *index = NULL;
    void         *came   = NULL;
    spmm_status_t status = SPMM_OK;

    if (SPMM_NEW(index, count) == NULL) {
        status = spmmi_levels_fail(d, count);
    }
    status = spmmi_agree(d->env, status);
    if (status != SPMM_OK) {
        spmmi_free(index);
        return status;
    }
    memset(d->send_count, 0, (size_t)d->env->size * sizeof *d->send_count);
    for (int64_t k = 0; k < count; k++) {
        index[k] = d->relays[k].index;
        d->send_count[d->relays[k].getter]++;
    }
    status = spmmi_levels_tell(d, index, sizeof *index, &came, &total);
    if (status == SPMM_OK) {
        status = spmmi_levels_list_peers(d, d->send_count, d->recv_count, &lists->cross);
        if (status == SPMM_OK && SPMM_NEW(d->crossed, total) == NULL) {
            status = spmmi_levels_fail(d, total);
        }
        for (int64_t k = 0; k < total && status == SPMM_OK; k++) {
            d->crossed[k] = (spmm_crossed_t){.index = ((const int64_t *)came)[k], .at = k};
        }
        if (status == SPMM_OK) {
            qsort(d->crossed, (size_t)total, sizeof *d->crossed, spmmi_crossed_compare);
        }
        status = spmmi_agree(d->env, status);
    }
    spmmi_free_all(index, came);
    return status;
}

static spmm_status_t build(spmm_levels_draft_t *d, spmm_levels_lists_t *lists)
{
    spmm_status_t status;

    SPMM_NEW(d->send_count, d->env->size);
    SPMM_NEW(d->recv_count, d->env->size);
    SPMM_NEW(d->at, d->env->size);
    status = d->send_count == NULL || d->recv_count == NULL || d->at == NULL
                 ? spmmi_levels_fail(d, d->env->size)
                 : list_lanes(d);
    SPMM_TRY(spmmi_agree(d->env, status));
    SPMM_TRY(spmmi_levels_fill_lanes(d->env, &d->lanes));
    SPMM_TRY(tell_ways(d));
    SPMM_TRY(make_collect(d, lists));
    SPMM_TRY(make_cross(d, lists));
    SPMM_TRY(spmmi_levels_make_deal(d, lists));
    SPMM_TRY(spmmi_agree(d->env, spmmi_levels_place(d, lists)));
    return spmmi_halo_sum_node(d->env, &lists->cross);
}

spmm_status_t spmmi_levels_lists_create(spmm_env_t *env, const spmm_halo_t *flat,
                                        const int64_t *offset, const int64_t *need,
                                        spmm_levels_lists_t *lists)
{
    spmm_levels_draft_t d = {.env = env, .flat = flat, .offset = offset, .need = need};
    spmm_status_t       status;

    *lists = (spmm_levels_lists_t){.n_packed = 0};
    status = build(&d, lists);
    spmmi_free_all(d.lanes.node, d.lanes.row, d.lanes.sender, d.lanes.getter, d.lanes.first, d.via,
                   d.send_count, d.recv_count, d.at, d.relays, d.crossed);
    if (status != SPMM_OK) {
        spmmi_levels_lists_free(lists);
    }
    return status;
}

void spmmi_levels_lists_free(spmm_levels_lists_t *lists)
{
    spmmi_halo_free(&lists->collect);
    spmmi_halo_free(&lists->cross);
    spmmi_halo_free(&lists->deal);
    spmmi_free_all(lists->to_cross, lists->to_deal, lists->to_halo, lists->packed);
    *lists = (spmm_levels_lists_t){.n_packed = 0};
}
