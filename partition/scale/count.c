/* SPDX-License-Identifier: Apache-2.0 */
/** @file count.c
 *  Rows between ranks, or between nodes and dealt out over their ranks. */
#include "base/alloc.h"
#include "base/nodes.h"
#include "base/sort.h"
#include "partition/scale/scale.h"

/* A count under way.  Units are ranks, or nodes. */
typedef struct {
    const spmm_scale_t *scale;
    spmm_scale_tally_t *tally; /* [SPMM_WAYS] */
    bool                nodes;
    uint64_t            units;
    uint64_t           *sends; /* [ranks^2 / 64] bit from * ranks + to: there is a message */
} count_t;

static int unit_of(const count_t *c, int rank)
{
    return c->nodes ? c->scale->nodes.node[rank] : rank;
}

/* Rows go from one rank to another, in one message with all that do. */
static void add(count_t *c, int from, int to, int64_t rows)
{
    spmm_scale_tally_t *t    = &c->tally[spmmi_nodes_way(&c->scale->nodes, from, to)];
    const int64_t       pair = (int64_t)from * c->scale->ranks + to;
    const uint64_t      bit  = (uint64_t)1 << (pair & 63);

    if (rows == 0) {
        return;
    }
    t->rows_out[from] += rows;
    t->rows_in[to] += rows;
    if ((c->sends[pair >> 6] & bit) == 0) {
        c->sends[pair >> 6] |= bit;
        t->messages_out[from]++;
        t->messages_in[to]++;
    }
}

static int ranks_of(const spmm_nodes_t *nodes, int node)
{
    return nodes->first[node + 1] - nodes->first[node];
}

/* The rank of @p node in a lane to or from @p other. */
static int rank_of(const spmm_nodes_t *nodes, int node, int other, int lane)
{
    const int ranks = ranks_of(nodes, node);
    const int place = ranks <= ranks_of(nodes, other) ? lane : (lane + other) % ranks;

    return nodes->rank[nodes->first[node] + place];
}

/* Rows go from one unit to another.  Those of nodes are dealt out evenly over as many pairs of
 * ranks as the smaller node has ranks: exchange/node/node_lists.c. */
static void deal(count_t *c, int from, int to, int64_t rows)
{
    const spmm_nodes_t *nodes = &c->scale->nodes;
    int                 lanes;

    if (!c->nodes) {
        add(c, from, to, rows);
        return;
    }
    lanes =
        ranks_of(nodes, from) < ranks_of(nodes, to) ? ranks_of(nodes, from) : ranks_of(nodes, to);
    for (int lane = 0; lane < lanes && rows > 0; lane++) {
        const int turn = (lane + from + to) % lanes;

        add(c, rank_of(nodes, from, to, lane), rank_of(nodes, to, from, lane),
            rows * (turn + 1) / lanes - rows * turn / lanes);
    }
}

/* The pairs (column, unit with an entry in it), ascending: *key [*n] is the caller's, also after a
 * failure. */
static spmm_status_t list_needs(const count_t *c, uint64_t **key, int64_t *n)
{
    const spmm_matrix_t *A   = c->scale->A;
    const int64_t        nnz = spmmi_matrix_local_nnz(A);

    if (SPMM_NEW(*key, nnz) == NULL) {
        return spmmi_fail_memory(&A->env->err, nnz, sizeof **key, "columns in use");
    }
    for (int32_t i = 0; i < A->n_rows; i++) {
        const uint64_t to = (uint64_t)unit_of(c, c->scale->row_part[i]);

        for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++) {
            (*key)[k] = (uint64_t)A->col_idx[k] * c->units + to;
        }
    }
    SPMM_TRY(spmmi_sort_u64(A->env, *key, nnz));
    *n = spmmi_unique_u64(*key, nnz);
    return SPMM_OK;
}

/* @p rows [nodes^2], zeroed, of nodes; of ranks nothing is kept */
static void add_needs(count_t *c, const uint64_t *key, int64_t n, int64_t *rows)
{
    for (int64_t k = 0; k < n; k++) {
        const int from = unit_of(c, c->scale->col_part[key[k] / c->units]);
        const int to   = (int)(key[k] % c->units);

        if (from != to && c->nodes) {
            rows[(uint64_t)from * c->units + (uint64_t)to]++;
        } else if (from != to) {
            add(c, from, to, 1);
        }
    }
    for (uint64_t pair = 0; c->nodes && pair < c->units * c->units; pair++) {
        deal(c, (int)(pair / c->units), (int)(pair % c->units), rows[pair]);
    }
}

static spmm_status_t count_rows(count_t *c)
{
    const int64_t pairs  = c->nodes ? (int64_t)(c->units * c->units) : 1;
    spmm_env_t   *env    = c->scale->A->env;
    uint64_t     *key    = NULL;
    int64_t      *rows   = NULL;
    int64_t       n      = 0;
    spmm_status_t status = list_needs(c, &key, &n);

    if (status == SPMM_OK && SPMM_NEW_ZERO(rows, pairs) == NULL) {
        status = spmmi_fail_memory(&env->err, pairs, sizeof *rows, "pairs of nodes");
    }
    if (status == SPMM_OK) {
        add_needs(c, key, n, rows);
    }
    spmmi_free_all(key, rows);
    return status;
}

static spmm_status_t alloc_tally(const spmm_scale_t *s, spmm_scale_tally_t *t)
{
    if (SPMM_NEW_ZERO(t->rows_in, 4 * (int64_t)s->ranks) == NULL) {
        return spmmi_fail_memory(&s->A->env->err, 4 * (int64_t)s->ranks, sizeof *t->rows_in,
                                 "counts of ranks");
    }
    t->rows_out     = t->rows_in + s->ranks;
    t->messages_in  = t->rows_out + s->ranks;
    t->messages_out = t->messages_in + s->ranks;
    return SPMM_OK;
}

spmm_status_t spmmi_scale_count(const spmm_scale_t *scale, bool nodes,
                                spmm_scale_tally_t tally[SPMM_WAYS])
{
    const int64_t words = ((int64_t)scale->ranks * scale->ranks + 63) / 64;
    count_t       c     = {.scale = scale,
                           .tally = tally,
                           .nodes = nodes,
                           .units = (uint64_t)(nodes ? scale->nodes.count : scale->ranks)};
    spmm_status_t status;

    tally[SPMM_WITHIN] = tally[SPMM_BETWEEN] = (spmm_scale_tally_t){0};
    SPMM_TRY(alloc_tally(scale, &tally[SPMM_WITHIN]));
    SPMM_TRY(alloc_tally(scale, &tally[SPMM_BETWEEN]));
    if (SPMM_NEW_ZERO(c.sends, words) == NULL) {
        return spmmi_fail_memory(&scale->A->env->err, words, sizeof *c.sends, "pairs of ranks");
    }
    status = count_rows(&c);
    spmmi_free(c.sends);
    return status;
}

void spmmi_scale_tally_free(spmm_scale_tally_t *tally)
{
    spmmi_free(tally->rows_in); /* all are one piece */
    *tally = (spmm_scale_tally_t){0};
}
