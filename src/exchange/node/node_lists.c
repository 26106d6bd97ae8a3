/* SPDX-License-Identifier: Apache-2.0 */
/** @file node_lists.c
 *  The lists of a node-aware exchange, made in four rounds of messages.  Owners tell those who need
 *  a row over which rank of their node it comes.  They tell the senders what to collect.  Senders
 *  tell the getters what crosses.  Those who need rows ask the ranks of their node for them.  Rows
 *  go by their global indices.
 */
#include "exchange/node/node_exchange.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/comm.h"
#include "base/env.h"
#include "base/nodes.h"
#include "base/sort.h"

/** The rows of this rank that other nodes need. */
typedef struct {
    int64_t  count;
    int32_t *node, *row;      /**< [count] for which node which local row; ascending, none twice */
    int32_t *sender, *getter; /**< [count] the ranks, of this node and of that one, over which it
                                   goes */
    int64_t *first;           /**< [nodes + 1] where the rows for a node begin */
} spmm_node_exchange_lanes_t;

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
    spmm_env_t                *env;
    const spmm_halo_t         *flat;
    const int64_t             *offset, *need;
    spmm_node_exchange_lanes_t lanes;
    int32_t        *via;        /**< [recv rows] rank of this node that each ghost row comes from */
    int64_t        *send_count; /**< [size] of the round of messages, as recv_count */
    int64_t        *recv_count;
    int64_t        *at;      /**< [size] scratch */
    spmm_relay_t   *relays;  /**< [rows that this rank sends across], in their order */
    spmm_crossed_t *crossed; /**< [rows that came across], by index */
} spmm_node_exchange_draft_t;

/** Does @p rank share the node of this one? */
static bool is_near(const spmm_node_exchange_draft_t *d, int rank)
{
    return spmmi_nodes_share(&d->env->nodes, d->env->rank, rank);
}

static int ranks_of(const spmm_nodes_t *nodes, int node)
{
    return nodes->first[node + 1] - nodes->first[node];
}

/* The place in @p node of its rank of a lane to or from @p other. */
static int place_of(const spmm_nodes_t *nodes, int node, int other, int lane)
{
    const int ranks = ranks_of(nodes, node);

    return ranks <= ranks_of(nodes, other) ? lane : (lane + other) % ranks;
}

static int rank_of(const spmm_nodes_t *nodes, int node, int other, int lane)
{
    return nodes->rank[nodes->first[node] + place_of(nodes, node, other, lane)];
}

/* The lane of rank number @p place of @p node to @p other; -1: none. */
static int lane_of(const spmm_nodes_t *nodes, int node, int other, int place)
{
    const int ranks = ranks_of(nodes, node), others = ranks_of(nodes, other);
    const int lane = ranks <= others ? place : (place + ranks - other % ranks) % ranks;

    return lane < others ? lane : -1;
}

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/** Rows of the ranks of this node for one other node. */
typedef struct {
    const spmm_nodes_t *nodes;
    int                 node, other; /**< this one and that one */
    const int64_t      *rows;        /**< of rank number k: rows[k * nodes->count] */
    int64_t             all;
    int                 lanes;
} pair_t;

static int64_t rows_of(const pair_t *pair, int place)
{
    return pair->rows[(int64_t)place * pair->nodes->count];
}

/* Rows that a lane takes.  What is left over falls to other lanes for other pairs, and to the same
 * there and back. */
static int64_t quota(const pair_t *pair, int lane)
{
    const int turn = (lane + pair->node + pair->other) % pair->lanes;

    return pair->all * (turn + 1) / pair->lanes - pair->all * turn / pair->lanes;
}

/* Rows of rank number @p place that stay with it. */
static int64_t kept(const pair_t *pair, int place)
{
    const int lane = lane_of(pair->nodes, pair->node, pair->other, place);

    return lane < 0 ? 0 : smaller(rows_of(pair, place), quota(pair, lane));
}

/* What ranks have too many of fills the lanes with too few, in order: rows @p from to @p to of this
 * surplus belong to the caller. */
static void spread(const pair_t *pair, int64_t from, int64_t to, int64_t at,
                   spmm_node_exchange_lanes_t *lanes)
{
    int64_t before = 0; /* of the surplus, that lanes so far have taken */

    for (int lane = 0; lane < pair->lanes && from < to; lane++) {
        const int     place = place_of(pair->nodes, pair->node, pair->other, lane);
        const int64_t end   = before + quota(pair, lane) - kept(pair, place);

        for (; from < to && from < end; from++, at++) {
            lanes->sender[at] = rank_of(pair->nodes, pair->node, pair->other, lane);
            lanes->getter[at] = rank_of(pair->nodes, pair->other, pair->node, lane);
        }
        before = end;
    }
}

static void fill_pair(const pair_t *pair, int me, spmm_node_exchange_lanes_t *lanes)
{
    const spmm_nodes_t *nodes = pair->nodes;
    const int64_t       first = lanes->first[pair->other];
    const int64_t       mine = kept(pair, me), more = rows_of(pair, me) - mine;
    const int           lane   = lane_of(nodes, pair->node, pair->other, me);
    int64_t             before = 0; /* surplus of the ranks in front of this one */

    for (int64_t k = first; k < first + mine; k++) {
        lanes->sender[k] = rank_of(nodes, pair->node, pair->other, lane);
        lanes->getter[k] = rank_of(nodes, pair->other, pair->node, lane);
    }
    for (int place = 0; place < me; place++) {
        before += rows_of(pair, place) - kept(pair, place);
    }
    spread(pair, before, before + more, first + mine, lanes);
}

/* @p counts [ranks of the node x nodes] */
static void fill(const spmm_env_t *env, const int64_t *counts, spmm_node_exchange_lanes_t *lanes)
{
    const spmm_nodes_t *nodes = &env->nodes;
    const int           node  = nodes->node[env->rank];

    for (int other = 0; other < nodes->count; other++) {
        pair_t pair = {.nodes = nodes, .node = node, .other = other, .rows = counts + other};

        if (other == node) {
            continue;
        }
        for (int place = 0; place < ranks_of(nodes, node); place++) {
            pair.all += rows_of(&pair, place);
        }
        pair.lanes = (int)smaller(ranks_of(nodes, node), ranks_of(nodes, other));
        fill_pair(&pair, nodes->index[env->rank], lanes);
    }
}

/* Fill sender and getter; the rest stands.  Between two nodes there are as many lanes, pairs of
 * ranks, as the smaller has ranks: between nodes of equally many, ranks of equal place.  Each lane
 * gets as many rows; a rank's own ones stay with it as far as that goes.  Collective, agreed. */
static spmm_status_t node_fill_lanes(spmm_env_t *env, spmm_node_exchange_lanes_t *lanes)
{
    const spmm_nodes_t *nodes = &env->nodes;
    const int           node = nodes->node[env->rank], ranks = ranks_of(nodes, node);
    int64_t            *mine = NULL, *counts = NULL, *to = NULL;
    spmm_status_t       status = SPMM_OK;

    SPMM_NEW(mine, (int64_t)ranks * nodes->count);
    SPMM_NEW(counts, (int64_t)ranks * nodes->count);
    SPMM_NEW_ZERO(to, env->size);
    if (mine == NULL || counts == NULL || to == NULL) {
        status = spmmi_fail_memory(&env->err, 2 * (int64_t)ranks * nodes->count, sizeof *mine,
                                   "rows between nodes");
    } else {
        for (int k = 0; k < ranks; k++) { /* the same to all ranks of the node */
            to[nodes->rank[nodes->first[node] + k]] = nodes->count;
            for (int other = 0; other < nodes->count; other++) {
                mine[(int64_t)k * nodes->count + other] =
                    lanes->first[other + 1] - lanes->first[other];
            }
        }
    }
    status = spmmi_agree(env, status);
    if (status == SPMM_OK) {
        status = spmmi_alltoallv(env, mine, to, counts, to, sizeof *mine);
    }
    if (status == SPMM_OK) {
        fill(env, counts, lanes);
    }
    spmmi_free_all(mine, counts, to);
    return status;
}

/* No memory for @p count numbers. */
static spmm_status_t node_fail(const spmm_node_exchange_draft_t *d, int64_t count)
{
    return spmmi_fail_memory(&d->env->err, count, sizeof(int64_t), "a node-aware exchange");
}

/* Send items of @p size bytes, grouped by rank as d->send_count says; d->recv_count says what
 * came.  Collective, agreed.
 * @param[out] came  [*total], to be freed by the caller in any case */
static spmm_status_t node_tell(spmm_node_exchange_draft_t *d, const void *items, size_t size,
                               void **came, int64_t *total)
{
    spmm_status_t status = SPMM_OK;

    SPMM_TRY(
        spmmi_agree(d->env, spmmi_alltoall_counts(d->env, d->send_count, d->recv_count, total)));
    *came = spmmi_alloc(*total, size);
    if (*came == NULL) {
        status = node_fail(d, *total);
    }
    SPMM_TRY(spmmi_agree(d->env, status));
    return spmmi_alltoallv(d->env, items, d->send_count, *came, d->recv_count, size);
}

/* Counts of ranks to the peers of one side of a halo plan. */
static spmm_status_t list_peers(const spmm_node_exchange_draft_t *d, const int64_t *count,
                                int *n_peers, int **peer, int64_t **ptr)
{
    const int size = d->env->size;
    int       n    = 0;

    for (int p = 0; p < size; p++) {
        n += count[p] > 0;
    }
    if (SPMM_NEW(*peer, n) == NULL || SPMM_NEW(*ptr, (int64_t)n + 1) == NULL) {
        return node_fail(d, (int64_t)n + 1);
    }
    *n_peers  = 0;
    (*ptr)[0] = 0;
    for (int p = 0; p < size; p++) {
        if (count[p] > 0) {
            (*peer)[*n_peers]    = p;
            (*ptr)[*n_peers + 1] = (*ptr)[*n_peers] + count[p];
            ++*n_peers;
        }
    }
    return SPMM_OK;
}

/* Counts of all ranks to the peers of a halo plan. */
static spmm_status_t node_list_peers(const spmm_node_exchange_draft_t *d, const int64_t *send,
                                     const int64_t *recv, spmm_halo_t *halo)
{
    SPMM_TRY(list_peers(d, send, &halo->n_send_peers, &halo->send_peer, &halo->send_ptr));
    return list_peers(d, recv, &halo->n_recv_peers, &halo->recv_peer, &halo->recv_ptr);
}

/* Of two spmm_crossed_t, by index. */
static int crossed_compare(const void *a, const void *b)
{
    const spmm_crossed_t *x = a, *y = b;

    return (x->index > y->index) - (x->index < y->index);
}

/* Where the row of @p index stands among those that came across; -1: it did not. */
static int64_t find_crossed(const spmm_node_exchange_draft_t *d,
                            const spmm_node_exchange_lists_t *lists, int64_t index)
{
    const spmm_crossed_t  key   = {.index = index};
    const spmm_crossed_t *found = bsearch(
        &key, d->crossed, (size_t)spmmi_halo_recv_rows(&lists->cross), sizeof key, crossed_compare);

    return found == NULL ? -1 : found->at;
}

static spmm_status_t fail_missing(const spmm_node_exchange_draft_t *d, int64_t index)
{
    return spmmi_fail(&d->env->err, SPMM_ERR_INTERNAL,
                      "row %" PRId64 " of B does not come to the node of rank %d: please report it",
                      index, d->env->rank);
}

/* Rows to hand out: own ones, which are packed, and those that came across.  Places of the latter
 * count from the first of them, as -1 - place. */
static spmm_status_t answer(spmm_node_exchange_draft_t *d, const int64_t *wanted, int64_t count,
                            spmm_node_exchange_lists_t *lists)
{
    const int64_t first = d->offset[d->env->rank], end = d->offset[d->env->rank + 1];
    int64_t       direct = 0;

    if (SPMM_NEW(lists->to_deal, count) == NULL) {
        return node_fail(d, count);
    }
    for (int64_t k = 0; k < count; k++) {
        if (wanted[k] >= first && wanted[k] < end) {
            lists->packed[lists->n_packed++] = (int32_t)(wanted[k] - first);
            lists->to_deal[k]                = (int32_t)direct++;
            continue;
        }
        const int64_t at = find_crossed(d, lists, wanted[k]);

        if (at < 0) {
            return fail_missing(d, wanted[k]);
        }
        lists->to_deal[k] = (int32_t)(-1 - at);
    }
    lists->room[SPMM_ROOM_COLLECTED] = lists->room[SPMM_ROOM_DIRECT] + direct;
    return SPMM_OK;
}

/* Ghost rows of this rank, grouped by the rank of the node that they come from; this rank asks
 * itself nothing.  @p asked [ghost rows] */
static spmm_status_t group_by_way(spmm_node_exchange_draft_t *d, int64_t n_halo, int64_t *asked)
{
    int64_t at = 0;

    memset(d->send_count, 0, (size_t)d->env->size * sizeof *d->send_count);
    for (int64_t i = 0; i < n_halo; i++) {
        if (d->via[i] < 0 || d->via[i] >= d->env->size || !is_near(d, d->via[i])) {
            return fail_missing(d, d->need[i]);
        }
        d->send_count[d->via[i]] += d->via[i] != d->env->rank;
    }
    for (int p = 0; p < d->env->size; p++) {
        d->at[p] = at;
        at += d->send_count[p];
    }
    for (int64_t i = 0; i < n_halo; i++) {
        if (d->via[i] != d->env->rank) {
            asked[d->at[d->via[i]]++] = d->need[i];
        }
    }
    return SPMM_OK;
}

/* Those who need rows to the ranks of their node that get or own them.  Collective, agreed. */
/* Those who need rows ask the ranks of their node that get or own them.  Collective, agreed. */
static spmm_status_t node_make_deal(spmm_node_exchange_draft_t *d,
                                    spmm_node_exchange_lists_t *lists)
{
    const int64_t n_halo = spmmi_halo_recv_rows(d->flat);
    int64_t      *asked = NULL, total = 0;
    void         *wanted = NULL;
    spmm_status_t status;

    status =
        SPMM_NEW(asked, n_halo) == NULL ? node_fail(d, n_halo) : group_by_way(d, n_halo, asked);
    status = spmmi_agree(d->env, status);
    if (status == SPMM_OK) {
        status = node_tell(d, asked, sizeof *asked, &wanted, &total);
    }
    if (status == SPMM_OK) { /* what is asked for comes */
        status = node_list_peers(d, d->recv_count, d->send_count, &lists->deal);
        if (status == SPMM_OK) {
            status = answer(d, wanted, total, lists);
        }
        status = spmmi_agree(d->env, status);
    }
    spmmi_free_all(asked, wanted);
    return status;
}

/* All is counted: where the parts of the room begin, and with that the places in it. */
static spmm_status_t place_all(spmm_node_exchange_draft_t *d, spmm_node_exchange_lists_t *lists)
{
    int64_t      *room   = lists->room;
    const int64_t n_halo = spmmi_halo_recv_rows(d->flat), n_self = room[SPMM_ROOM_DIRECT];
    int64_t       n_own = 0;

    for (int64_t i = 0; i < n_halo; i++) {
        n_own += d->via[i] == d->env->rank;
    }
    room[SPMM_ROOM_CROSSED]  = room[SPMM_ROOM_COLLECTED] + spmmi_halo_recv_rows(&lists->collect);
    room[SPMM_ROOM_DEALT]    = room[SPMM_ROOM_CROSSED] + spmmi_halo_recv_rows(&lists->cross);
    room[SPMM_ROOM_TO_CROSS] = room[SPMM_ROOM_DEALT] + spmmi_halo_recv_rows(&lists->deal);
    room[SPMM_ROOM_TO_DEAL]  = room[SPMM_ROOM_TO_CROSS] + spmmi_halo_send_rows(&lists->cross);
    room[SPMM_ROOM_OWN]      = room[SPMM_ROOM_TO_DEAL] + spmmi_halo_send_rows(&lists->deal);
    room[SPMM_ROOM_PARTS]    = room[SPMM_ROOM_OWN] + n_own;
    if (room[SPMM_ROOM_PARTS] > INT32_MAX) {
        return spmmi_fail(&d->env->err, SPMM_ERR_UNSUPPORTED,
                          "exchange node takes room for %" PRId64
                          " rows on rank %d, more than 2^31 - "
                          "1: use exchange flat or more ranks",
                          room[SPMM_ROOM_PARTS], d->env->rank);
    }
    for (int64_t k = 0; k < spmmi_room_rows(lists, SPMM_ROOM_TO_CROSS); k++) {
        const int64_t at = d->relays[k].at;

        lists->to_cross[k] = (int32_t)(at < n_self ? at : room[SPMM_ROOM_COLLECTED] + at - n_self);
    }
    for (int64_t k = 0; k < spmmi_room_rows(lists, SPMM_ROOM_TO_DEAL); k++) {
        const int64_t at = lists->to_deal[k];

        lists->to_deal[k] =
            (int32_t)(at >= 0 ? room[SPMM_ROOM_DIRECT] + at : room[SPMM_ROOM_CROSSED] - 1 - at);
    }
    return SPMM_OK;
}

/* Where each ghost row stands in the end. */
static spmm_status_t place_halo(spmm_node_exchange_draft_t *d, spmm_node_exchange_lists_t *lists)
{
    const int64_t n_halo = spmmi_halo_recv_rows(d->flat);

    if (SPMM_NEW(lists->to_halo, n_halo) == NULL) {
        return node_fail(d, n_halo);
    }
    for (int p = 0; p < lists->deal.n_recv_peers; p++) {
        d->at[lists->deal.recv_peer[p]] = lists->room[SPMM_ROOM_DEALT] + lists->deal.recv_ptr[p];
    }
    for (int64_t i = 0; i < n_halo; i++) {
        if (d->via[i] != d->env->rank) {
            lists->to_halo[i] = (int32_t)d->at[d->via[i]]++;
            continue;
        }
        const int64_t at = find_crossed(d, lists, d->need[i]);

        if (at < 0) {
            return fail_missing(d, d->need[i]);
        }
        lists->to_halo[i] = (int32_t)(lists->room[SPMM_ROOM_CROSSED] + at);
    }
    return SPMM_OK;
}

/* All is counted: where the parts of the room begin, and what stands where in it. */
static spmm_status_t node_place(spmm_node_exchange_draft_t *d, spmm_node_exchange_lists_t *lists)
{
    SPMM_TRY(place_all(d, lists));
    return place_halo(d, lists);
}

/* Rows for other nodes, each once for a node. */
static spmm_status_t list_lanes(spmm_node_exchange_draft_t *d)
{
    const spmm_halo_t          *flat  = d->flat;
    const spmm_nodes_t         *nodes = &d->env->nodes;
    spmm_node_exchange_lanes_t *l     = &d->lanes;
    uint64_t                   *key;
    spmm_status_t               status;

    SPMM_NEW(key, spmmi_halo_send_rows(flat));
    SPMM_NEW_ZERO(l->first, (int64_t)nodes->count + 1);
    if (key == NULL || l->first == NULL) {
        spmmi_free(key);
        return node_fail(d, spmmi_halo_send_rows(flat));
    }
    for (int p = 0; p < flat->n_send_peers; p++) {
        const uint64_t node = (uint64_t)nodes->node[flat->send_peer[p]];

        for (int64_t k = flat->send_ptr[p];
             k < flat->send_ptr[p + 1] && !is_near(d, flat->send_peer[p]); k++) {
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
        status = node_fail(d, l->count);
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
static int32_t way_of(const spmm_node_exchange_draft_t *d, int peer, int32_t row)
{
    const spmm_node_exchange_lanes_t *l    = &d->lanes;
    const int                         node = d->env->nodes.node[peer];
    int64_t                           low = l->first[node], high = l->first[node + 1];

    if (is_near(d, peer)) {
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
static spmm_status_t tell_ways(spmm_node_exchange_draft_t *d)
{
    const spmm_halo_t *flat   = d->flat;
    void              *came   = NULL;
    int64_t            total  = 0;
    spmm_status_t      status = SPMM_OK;
    int32_t           *ways;

    memset(d->send_count, 0, (size_t)d->env->size * sizeof *d->send_count);
    if (SPMM_NEW(ways, spmmi_halo_send_rows(flat)) == NULL) {
        status = node_fail(d, spmmi_halo_send_rows(flat));
    }
    status = spmmi_agree(d->env, status);
    for (int p = 0; p < flat->n_send_peers && status == SPMM_OK; p++) {
        d->send_count[flat->send_peer[p]] = flat->send_ptr[p + 1] - flat->send_ptr[p];
        for (int64_t k = flat->send_ptr[p]; k < flat->send_ptr[p + 1]; k++) {
            ways[k] = way_of(d, flat->send_peer[p], flat->send_row[k]);
        }
    }
    if (status == SPMM_OK) {
        status = node_tell(d, ways, sizeof *ways, &came, &total);
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
static void group_by_sender(spmm_node_exchange_draft_t *d, spmm_relay_t *mine, int32_t *packed)
{
    const spmm_node_exchange_lanes_t *l    = &d->lanes;
    const int                         me   = d->env->rank;
    const int64_t                     base = d->offset[me];
    int64_t                           at   = 0;

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
static spmm_status_t join_relays(spmm_node_exchange_draft_t *d, const spmm_relay_t *self,
                                 int64_t n_self, const spmm_relay_t *came, int64_t n_came,
                                 spmm_node_exchange_lists_t *lists)
{
    const int64_t count = n_self + n_came;

    lists->room[SPMM_ROOM_DIRECT] = n_self; /* first rows until all are counted: counts, shifted */
    SPMM_NEW(d->relays, count);
    SPMM_NEW(lists->to_cross, count);
    if (d->relays == NULL || lists->to_cross == NULL) {
        return node_fail(d, count);
    }
    for (int64_t k = 0; k < count; k++) {
        d->relays[k]    = k < n_self ? self[k] : came[k - n_self];
        d->relays[k].at = k;
    }
    qsort(d->relays, (size_t)count, sizeof *d->relays, by_getter);
    return SPMM_OK;
}

/* Owners to senders of their node.  Collective, agreed. */
static spmm_status_t make_collect(spmm_node_exchange_draft_t *d, spmm_node_exchange_lists_t *lists)
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
        status = node_fail(d, count);
    }
    status = spmmi_agree(d->env, status);
    if (status == SPMM_OK) {
        group_by_sender(d, mine, lists->packed);
        n_self            = d->send_count[me];
        d->send_count[me] = 0;
        lists->n_packed   = count;
        status            = node_tell(d, mine, sizeof *mine, &came, &total);
    }
    if (status == SPMM_OK) {
        status = node_list_peers(d, d->send_count, d->recv_count, &lists->collect);
        if (status == SPMM_OK) {
            status = join_relays(d, mine + count - n_self, n_self, came, total, lists);
        }
        status = spmmi_agree(d->env, status);
    }
    spmmi_free_all(mine, came);
    return status;
}

/* Senders to getters.  Collective, agreed. */
static spmm_status_t make_cross(spmm_node_exchange_draft_t *d, spmm_node_exchange_lists_t *lists)
{
    const int64_t count = lists->room[SPMM_ROOM_DIRECT] + spmmi_halo_recv_rows(&lists->collect);
    int64_t       total = 0, *index = NULL;
    void         *came   = NULL;
    spmm_status_t status = SPMM_OK;

    if (SPMM_NEW(index, count) == NULL) {
        status = node_fail(d, count);
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
    status = node_tell(d, index, sizeof *index, &came, &total);
    if (status == SPMM_OK) {
        status = node_list_peers(d, d->send_count, d->recv_count, &lists->cross);
        if (status == SPMM_OK && SPMM_NEW(d->crossed, total) == NULL) {
            status = node_fail(d, total);
        }
        for (int64_t k = 0; k < total && status == SPMM_OK; k++) {
            d->crossed[k] = (spmm_crossed_t){.index = ((const int64_t *)came)[k], .at = k};
        }
        if (status == SPMM_OK) {
            qsort(d->crossed, (size_t)total, sizeof *d->crossed, crossed_compare);
        }
        status = spmmi_agree(d->env, status);
    }
    spmmi_free_all(index, came);
    return status;
}

static spmm_status_t build(spmm_node_exchange_draft_t *d, spmm_node_exchange_lists_t *lists)
{
    spmm_status_t status;

    SPMM_NEW(d->send_count, d->env->size);
    SPMM_NEW(d->recv_count, d->env->size);
    SPMM_NEW(d->at, d->env->size);
    status = d->send_count == NULL || d->recv_count == NULL || d->at == NULL
                 ? node_fail(d, d->env->size)
                 : list_lanes(d);
    SPMM_TRY(spmmi_agree(d->env, status));
    SPMM_TRY(node_fill_lanes(d->env, &d->lanes));
    SPMM_TRY(tell_ways(d));
    SPMM_TRY(make_collect(d, lists));
    SPMM_TRY(make_cross(d, lists));
    SPMM_TRY(node_make_deal(d, lists));
    SPMM_TRY(spmmi_agree(d->env, node_place(d, lists)));
    return spmmi_halo_sum_node(d->env, &lists->cross);
}

spmm_status_t spmmi_node_exchange_lists_create(spmm_env_t *env, const spmm_halo_t *flat,
                                               const int64_t *offset, const int64_t *need,
                                               spmm_node_exchange_lists_t *lists)
{
    spmm_node_exchange_draft_t d = {.env = env, .flat = flat, .offset = offset, .need = need};
    spmm_status_t              status;

    *lists = (spmm_node_exchange_lists_t){.n_packed = 0};
    status = build(&d, lists);
    spmmi_free_all(d.lanes.node, d.lanes.row, d.lanes.sender, d.lanes.getter, d.lanes.first, d.via,
                   d.send_count, d.recv_count, d.at, d.relays, d.crossed);
    if (status != SPMM_OK) {
        spmmi_node_exchange_lists_free(lists);
    }
    return status;
}

void spmmi_node_exchange_lists_free(spmm_node_exchange_lists_t *lists)
{
    spmmi_halo_free(&lists->collect);
    spmmi_halo_free(&lists->cross);
    spmmi_halo_free(&lists->deal);
    spmmi_free_all(lists->to_cross, lists->to_deal, lists->to_halo, lists->packed);
    *lists = (spmm_node_exchange_lists_t){.n_packed = 0};
}
