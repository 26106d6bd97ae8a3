/* SPDX-License-Identifier: Apache-2.0 */
/** @file covers.c  Least covers of the entries between all pairs of owners. */
#include "base/alloc.h"
#include "base/nodes.h"
#include "base/sort.h"
#include "partition/cover/cover.h"
#include "partition/scale/tally.h"

/* Entries between nodes: sorted by the pair of their owners, in the order of A within each. */
typedef struct {
    int64_t   n;
    uint64_t *pair;  /* [n] owner of the column * units + owner of the row */
    int64_t  *entry; /* [n] row << 32 | column: one rank has less than 2^31 of each */
} entries_t;

/* Scratch for the largest pair. */
typedef struct {
    int64_t *ptr;
    int32_t *right;
    bool    *left_in, *right_in;
    int32_t *place; /* [columns] of A among those of the pair; -1 */
} scratch_t;

static int unit_of(const spmm_scale_t *s, bool nodes, int rank)
{
    return nodes ? s->nodes.node[rank] : rank;
}

/* Count, or with @p out list, the entries whose row and column are on different nodes. */
static int64_t scan(const spmm_scale_t *s, bool nodes, entries_t *out)
{
    const spmm_matrix_t *A     = s->A;
    const uint64_t       units = (uint64_t)(nodes ? s->nodes.count : s->ranks);
    int64_t              n     = 0;

    for (int32_t i = 0; i < A->n_rows; i++) {
        for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++) {
            const int to = s->row_part[i], from = s->col_part[A->col_idx[k]];

            if (spmmi_nodes_share(&s->nodes, from, to)) {
                continue;
            }
            if (out != NULL) {
                out->pair[n] =
                    (uint64_t)unit_of(s, nodes, from) * units + (uint64_t)unit_of(s, nodes, to);
                out->entry[n] = (int64_t)i << 32 | A->col_idx[k];
            }
            n++;
        }
    }
    return n;
}

/* Entries [from, to) of a pair as a graph: rows ascend.  Columns get places in order of
 * appearance. */
static spmm_bipartite_t take_pair(const entries_t *e, int64_t from, int64_t to, scratch_t *x)
{
    int32_t n_left = 0, n_right = 0;

    for (int64_t k = from; k < to; k++) {
        const int64_t column = e->entry[k] & INT32_MAX;

        if (k == from || e->entry[k] >> 32 != e->entry[k - 1] >> 32) {
            x->ptr[n_left++] = k - from;
        }
        if (x->place[column] < 0) {
            x->place[column] = n_right++;
        }
        x->right[k - from] = x->place[column];
    }
    x->ptr[n_left] = to - from;
    for (int64_t k = from; k < to; k++) {
        x->place[e->entry[k] & INT32_MAX] = -1;
    }
    return (spmm_bipartite_t){n_left, n_right, x->ptr, x->right};
}

static spmm_status_t cover_pairs(spmm_scale_count_t *count, bool nodes, const entries_t *e,
                                 scratch_t *x)
{
    const spmm_scale_t *s     = count->scale;
    const uint64_t      units = (uint64_t)(nodes ? s->nodes.count : s->ranks);

    for (int64_t from = 0, to = 0; from < e->n; from = to) {
        const int sender = (int)(e->pair[from] / units), getter = (int)(e->pair[from] % units);
        spmm_bipartite_t graph;
        int64_t          rows;

        while (to < e->n && e->pair[to] == e->pair[from]) {
            to++;
        }
        graph = take_pair(e, from, to, x);
        SPMM_TRY(spmmi_cover_least(&s->A->env->err, &graph, x->left_in, x->right_in, &rows));
        if (nodes) {
            spmmi_scale_deal(count, sender, getter, rows);
        } else {
            spmmi_scale_add(count, sender, getter, rows);
        }
    }
    return SPMM_OK;
}

static int64_t longest(const entries_t *e)
{
    int64_t most = 0;

    for (int64_t k = 0, from = 0; k < e->n; k++) {
        from = e->pair[k] != e->pair[from] ? k : from;
        most = k + 1 - from > most ? k + 1 - from : most;
    }
    return most;
}

static spmm_status_t cover_all(spmm_scale_count_t *count, bool nodes, const entries_t *e)
{
    const spmm_matrix_t *A    = count->scale->A;
    const int64_t        most = longest(e);
    scratch_t            x    = {0};
    spmm_status_t        status;

    SPMM_NEW(x.ptr, most + 1);
    SPMM_NEW(x.right, most);
    SPMM_NEW(x.left_in, most);
    SPMM_NEW(x.right_in, most);
    SPMM_NEW(x.place, A->n_cols);
    if (x.ptr == NULL || x.right == NULL || x.left_in == NULL || x.right_in == NULL ||
        x.place == NULL) {
        status = spmmi_fail_memory(&A->env->err, most, sizeof *x.ptr, "entries between nodes");
    } else {
        for (int32_t j = 0; j < A->n_cols; j++) {
            x.place[j] = -1;
        }
        status = cover_pairs(count, nodes, e, &x);
    }
    spmmi_free_all(x.ptr, x.right, x.left_in, x.right_in, x.place);
    return status;
}

spmm_status_t spmmi_scale_covers(spmm_scale_count_t *count, bool nodes)
{
    const spmm_scale_t *s = count->scale;
    entries_t           e = {.n = scan(s, nodes, NULL)};
    spmm_status_t       status;

    SPMM_NEW(e.pair, e.n);
    SPMM_NEW(e.entry, e.n);
    if (e.pair == NULL || e.entry == NULL) {
        status =
            spmmi_fail_memory(&s->A->env->err, e.n, 2 * sizeof *e.pair, "entries between nodes");
    } else {
        (void)scan(s, nodes, &e);
        status = spmmi_sort_u64_with(s->A->env, e.pair, e.entry, e.n);
    }
    if (status == SPMM_OK) {
        status = cover_all(count, nodes, &e);
    }
    spmmi_free_all(e.pair, e.entry);
    return status;
}
