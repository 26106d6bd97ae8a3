/* SPDX-License-Identifier: Apache-2.0 */
#include "exchange/levels/lanes.h"

#include "base/alloc.h"
#include "base/comm.h"

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
                   spmm_levels_lanes_t *lanes)
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

static void fill_pair(const pair_t *pair, int me, spmm_levels_lanes_t *lanes)
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
static void fill(const spmm_env_t *env, const int64_t *counts, spmm_levels_lanes_t *lanes)
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

spmm_status_t spmmi_levels_fill_lanes(spmm_env_t *env, spmm_levels_lanes_t *lanes)
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
