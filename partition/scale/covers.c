/* SPDX-License-Identifier: Apache-2.0 */
/** @file covers.c  Least covers of the entries between nodes. */
#include "base/alloc.h"
#include "base/nodes.h"
#include "base/sort.h"
#include "partition/cover/pairs.h"
#include "partition/scale/tally.h"

/* Entries between nodes: sorted by the pair of their owners, in the order of A within each. */
typedef struct {
    int64_t   n;
    uint64_t *pair;  /* [n] owner of the column * units + owner of the row */
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

static spmm_status_t cover(covers_t *c, const entries_t *e)
{
    const spmm_matrix_t       *A   = c->count->scale->A;
    const spmm_cover_entries_t all = {
        .n = e->n, .pair = e->pair, .entry = e->entry, .n_cols = (int32_t)A->n_cols};

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
    spmmi_free_all(e.pair, e.entry);
    return status;
}
