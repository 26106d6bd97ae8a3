/* SPDX-License-Identifier: Apache-2.0 */
/** @file covers.c  Least covers of the entries between nodes. */
#include "base/alloc.h"
#include "base/nodes.h"
#include "base/sort.h"
#include "partition/cover/pairs.h"
#include "partition/scale/tally.h"

/* Entries between nodes: sorted by the pair of their owners, in the order of A within each. */
typedef struct {
    int64_t   n, n_pairs;
    uint64_t *pair;  /* [n] owner of the column * units + owner of the row, then [n_pairs] */
    int64_t  *ptr;   /* [n_pairs + 1] */
    int64_t  *entry; /* [n] row << 32 | column: one rank has less than 2^31 of each */
} entries_t;

/* A count of covers of pairs of ranks, or of nodes. */
typedef struct {
    spmm_scale_count_t *count;
    bool                nodes;
    uint64_t            units;
} covers_t;

static int unit_of(const spmm_scale_t *s, bool nodes, int rank)
{
    return nodes ? s->nodes.node[rank] : rank;
}

/* Count, or with @p out list, the entries whose row and column are on different nodes. */
static int64_t scan(const covers_t *c, entries_t *out)
{
    const spmm_scale_t  *s = c->count->scale;
    const spmm_matrix_t *A = s->A;
    int64_t              n = 0;

    for (int32_t i = 0; i < A->n_rows; i++) {
        for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++) {
            const int to = s->row_part[i], from = s->col_part[A->col_idx[k]];

            if (spmmi_nodes_share(&s->nodes, from, to)) {
                continue;
            }
            if (out != NULL) {
                out->pair[n] = (uint64_t)unit_of(s, c->nodes, from) * c->units +
                               (uint64_t)unit_of(s, c->nodes, to);
                out->entry[n] = (int64_t)i << 32 | A->col_idx[k];
            }
            n++;
        }
    }
    return n;
}

static void add(const covers_t *c, int from, int to, int64_t rows)
{
    if (c->nodes) {
        spmmi_scale_deal(c->count, from, to, rows);
    } else {
        spmmi_scale_add(c->count, from, to, rows);
    }
}

/* Rows of B and partial rows of C are two exchanges, each with messages of its own. */
static void add_pair(void *user, uint64_t pair, const spmm_cover_pair_t *found)
{
    const covers_t *c    = user;
    const int       from = (int)(pair / c->units), to = (int)(pair % c->units);

    c->count->partials = false;
    add(c, from, to, found->rows);
    c->count->partials = true;
    add(c, from, to, found->partials);
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

static spmm_status_t cover(covers_t *c, entries_t *e)
{
    const spmm_matrix_t *A = c->count->scale->A;
    spmm_cover_entries_t all;

    SPMM_TRY(list_pairs(A->env, e));
    all = (spmm_cover_entries_t){.n_pairs = e->n_pairs,
                                 .pair    = e->pair,
                                 .ptr     = e->ptr,
                                 .entry   = e->entry,
                                 .n_cols  = (int32_t)A->n_cols};
    return spmmi_cover_pairs(&A->env->err, &all, add_pair, c, NULL);
}

spmm_status_t spmmi_scale_covers(spmm_scale_count_t *count, bool nodes)
{
    const spmm_scale_t *s     = count->scale;
    const uint64_t      units = (uint64_t)(nodes ? s->nodes.count : s->ranks);
    covers_t            c     = {.count = count, .nodes = nodes, .units = units};
    entries_t           e     = {.n = scan(&c, NULL)};
    spmm_status_t       status;

    SPMM_NEW(e.pair, e.n);
    SPMM_NEW(e.entry, e.n);
    if (e.pair == NULL || e.entry == NULL) {
        status =
            spmmi_fail_memory(&s->A->env->err, e.n, 2 * sizeof *e.pair, "entries between nodes");
    } else {
        (void)scan(&c, &e);
        status = spmmi_sort_u64_with(s->A->env, e.pair, e.entry, e.n);
    }
    if (status == SPMM_OK) {
        status = cover(&c, &e);
    }
    spmmi_free_all(e.pair, e.ptr, e.entry);
    return status;
}
