/* SPDX-License-Identifier: Apache-2.0 */
/** @file count.c
 *  Rows between ranks, or between nodes and dealt out over their ranks; without and with covers. */
#include "base/alloc.h"
#include "base/nodes.h"
#include "base/sort.h"
#include "partition/cover/pairs.h"
#include "partition/scale/scale.h"

/* A count under way.  Units are ranks, or nodes. */
typedef struct {
    const spmm_scale_t *scale;
    spmm_scale_tally_t *tally; /* [SPMM_WAYS] */
    bool                nodes;
    uint64_t            units;
    uint64_t           *sends; /* [2 * ranks^2 / 64] bit from * ranks + to: there is a message of
                                  rows of B, and behind these: of partial rows of C */
} count_t;

/* Entries between nodes, sorted by the pair of their units, in the order of A within each. */
typedef struct {
    int64_t   n, n_pairs;
    uint64_t *pair;  /* [n] unit of the column * units + that of the row, then [n_pairs] */
    int64_t  *ptr;   /* [n_pairs + 1] */
    int64_t  *entry; /* [n] row << 32 | column: one rank has less than 2^31 of each */
} entries_t;

static int unit_of(const count_t *c, int rank)
{
    return c->nodes ? c->scale->nodes.node[rank] : rank;
}

/* Rows go from one rank to another, in one message with all of their kind that do. */
static void add(count_t *c, int from, int to, int64_t rows, bool partials)
{
    const int64_t       ranks = c->scale->ranks;
    spmm_scale_tally_t *t     = &c->tally[spmmi_nodes_way(&c->scale->nodes, from, to)];
    const int64_t       pair  = (partials ? ranks * ranks : 0) + from * ranks + to;
    const uint64_t      bit   = (uint64_t)1 << (pair & 63);

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
 * ranks as the smaller node has ranks: exchange/levels/lanes.c. */
static void deal(count_t *c, int from, int to, int64_t rows, bool partials)
{
    const spmm_nodes_t *nodes = &c->scale->nodes;
    int                 lanes;

    if (!c->nodes) {
        add(c, from, to, rows, partials);
        return;
    }
    lanes =
        ranks_of(nodes, from) < ranks_of(nodes, to) ? ranks_of(nodes, from) : ranks_of(nodes, to);
    for (int lane = 0; lane < lanes && rows > 0; lane++) {
        const int turn = (lane + from + to) % lanes;

        add(c, rank_of(nodes, from, to, lane), rank_of(nodes, to, from, lane),
            rows * (turn + 1) / lanes - rows * turn / lanes, partials);
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
            add(c, from, to, 1, false);
        }
    }
    for (uint64_t pair = 0; c->nodes && pair < c->units * c->units; pair++) {
        deal(c, (int)(pair / c->units), (int)(pair % c->units), rows[pair], false);
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

/* Count, or with @p out list, the entries whose row and column are on different nodes. */
static int64_t scan(const count_t *c, entries_t *out)
{
    const spmm_scale_t  *s = c->scale;
    const spmm_matrix_t *A = s->A;
    int64_t              n = 0;

    for (int32_t i = 0; i < A->n_rows; i++) {
        for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++) {
            const int to = s->row_part[i], from = s->col_part[A->col_idx[k]];

            if (spmmi_nodes_share(&s->nodes, from, to)) {
                continue;
            }
            if (out != NULL) {
                out->pair[n]  = (uint64_t)unit_of(c, from) * c->units + (uint64_t)unit_of(c, to);
                out->entry[n] = (int64_t)i << 32 | A->col_idx[k];
            }
            n++;
        }
    }
    return n;
}

/* Where the entries of each pair begin. */
static spmm_status_t list_pairs(spmm_env_t *env, entries_t *e)
{
    e->n_pairs = 0;
    for (int64_t k = 0; k < e->n; k++) {
        e->n_pairs += k == 0 || e->pair[k] != e->pair[k - 1];
    }
    if (SPMM_NEW(e->ptr, e->n_pairs + 1) == NULL) {
        return spmmi_fail_memory(&env->err, e->n_pairs + 1, sizeof *e->ptr, "pairs of nodes");
    }
    for (int64_t k = 0, p = 0; k < e->n; k++) {
        if (k == 0 || e->pair[k] != e->pair[p - 1]) {
            e->pair[p]  = e->pair[k];
            e->ptr[p++] = k;
        }
    }
    e->ptr[e->n_pairs] = e->n;
    return SPMM_OK;
}

/* Rows of B and partial rows of C are two exchanges, each with messages of its own. */
static void add_pair(void *user, uint64_t pair, const spmm_cover_pair_t *found)
{
    count_t  *c    = user;
    const int from = (int)(pair / c->units), to = (int)(pair % c->units);

    deal(c, from, to, found->rows, false);
    deal(c, from, to, found->partials, true);
}

static spmm_status_t count_covers(count_t *c)
{
    const spmm_matrix_t *A      = c->scale->A;
    spmm_env_t          *env    = A->env;
    entries_t            e      = {.n = scan(c, NULL)};
    spmm_status_t        status = SPMM_OK;

    SPMM_NEW(e.pair, e.n);
    SPMM_NEW(e.entry, e.n);
    if (e.pair == NULL || e.entry == NULL) {
        status = spmmi_fail_memory(&env->err, e.n, 2 * sizeof *e.pair, "entries between nodes");
    } else {
        (void)scan(c, &e);
        status = spmmi_sort_u64_with(env, e.pair, e.entry, e.n);
    }
    if (status == SPMM_OK) {
        status = list_pairs(env, &e);
    }
    if (status == SPMM_OK) {
        const spmm_cover_entries_t all = {.n_pairs = e.n_pairs,
                                          .pair    = e.pair,
                                          .ptr     = e.ptr,
                                          .entry   = e.entry,
                                          .n_cols  = (int32_t)A->n_cols};

        status = spmmi_cover_pairs(&env->err, &all, add_pair, c, NULL);
    }
    spmmi_free_all(e.pair, e.ptr, e.entry);
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

spmm_status_t spmmi_scale_count(const spmm_scale_t *scale, bool nodes, bool covers,
                                spmm_scale_tally_t tally[SPMM_WAYS])
{
    const int64_t words = (2 * (int64_t)scale->ranks * scale->ranks + 63) / 64;
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
    status = covers ? count_covers(&c) : count_rows(&c);
    spmmi_free(c.sends);
    return status;
}

void spmmi_scale_tally_free(spmm_scale_tally_t *tally)
{
    spmmi_free(tally->rows_in); /* all are one piece */
    *tally = (spmm_scale_tally_t){0};
}
