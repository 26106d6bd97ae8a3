/* SPDX-License-Identifier: Apache-2.0 */
#include "partition/cover/pairs.h"

#include "base/alloc.h"
#include "partition/cover/cover.h"

/* Scratch for the largest pair. */
typedef struct {
    int64_t *ptr;                /* [most + 1] of columns */
    int32_t *column;             /* [most] place of each entry's column among those of the pair */
    int32_t *row;                /* [most] rows by column */
    bool    *column_in, *row_in; /* [most] in the cover? */
    int32_t *place;              /* [n_cols] of columns among those of the pair; -1 */
} scratch_t;

/* Places of the columns of entries [from, to), by appearance.  @return how many */
static int32_t place_columns(const spmm_cover_entries_t *e, int64_t from, int64_t to, scratch_t *x)
{
    int32_t n = 0;

    for (int64_t k = from; k < to; k++) {
        int32_t *place = &x->place[e->entry[k] & INT32_MAX];

        if (*place < 0) {
            *place    = n;
            x->ptr[n] = 0;
            n++;
        }
        x->column[k - from] = *place;
        x->ptr[*place]++;
    }
    for (int64_t k = from; k < to; k++) {
        x->place[e->entry[k] & INT32_MAX] = -1;
    }
    return n;
}

/* Entries [from, to) of a pair as a graph whose left vertices are rows of B: which a least cover
 * has as many of as one can have. */
static spmm_bipartite_t take_pair(const spmm_cover_entries_t *e, int64_t from, int64_t to,
                                  scratch_t *x)
{
    const int32_t n_columns = place_columns(e, from, to, x);
    int64_t       at        = 0;
    int32_t       n_rows    = 0;

    for (int32_t c = 0; c < n_columns; c++) { /* lengths become ends, which filling takes back */
        at += x->ptr[c];
        x->ptr[c] = at;
    }
    x->ptr[n_columns] = at;
    for (int64_t k = to - 1; k >= from; k--) {
        n_rows += k == to - 1 || e->entry[k] >> 32 != e->entry[k + 1] >> 32;
        x->row[--x->ptr[x->column[k - from]]] = n_rows - 1;
    }
    return (spmm_bipartite_t){n_columns, n_rows, x->ptr, x->row};
}

static spmm_cover_pair_t count(const spmm_bipartite_t *graph, const scratch_t *x)
{
    spmm_cover_pair_t found = {.needed = graph->n_left};

    for (int32_t c = 0; c < graph->n_left; c++) {
        found.rows += x->column_in[c];
    }
    for (int32_t i = 0; i < graph->n_right; i++) {
        found.partials += x->row_in[i];
    }
    return found;
}

static spmm_status_t cover_pairs(spmm_error_t *err, const spmm_cover_entries_t *e, scratch_t *x,
                                 spmm_cover_seen_t seen, void *user, bool *partial)
{
    for (int64_t p = 0; p < e->n_pairs; p++) {
        const int64_t     from = e->ptr[p], to = e->ptr[p + 1];
        spmm_bipartite_t  graph;
        spmm_cover_pair_t found;

        if (from == to) {
            continue;
        }
        graph = take_pair(e, from, to, x);
        SPMM_TRY(spmmi_cover_least(err, &graph, x->column_in, x->row_in, NULL));
        found = count(&graph, x);
        seen(user, e->pair[p], &found);
        for (int64_t k = from; k < to && partial != NULL; k++) {
            partial[k] = !x->column_in[x->column[k - from]];
        }
    }
    return SPMM_OK;
}

static int64_t longest(const spmm_cover_entries_t *e)
{
    int64_t most = 0;

    for (int64_t p = 0; p < e->n_pairs; p++) {
        most = e->ptr[p + 1] - e->ptr[p] > most ? e->ptr[p + 1] - e->ptr[p] : most;
    }
    return most;
}

spmm_status_t spmmi_cover_pairs(spmm_error_t *err, const spmm_cover_entries_t *entries,
                                spmm_cover_seen_t seen, void *user, bool *partial)
{
    const int64_t most = longest(entries);
    scratch_t     x    = {0};
    spmm_status_t status;

    SPMM_NEW(x.ptr, most + 1);
    SPMM_NEW(x.column, most);
    SPMM_NEW(x.row, most);
    SPMM_NEW(x.column_in, most);
    SPMM_NEW(x.row_in, most);
    SPMM_NEW(x.place, entries->n_cols);
    if (x.ptr == NULL || x.column == NULL || x.row == NULL || x.column_in == NULL ||
        x.row_in == NULL || x.place == NULL) {
        status = spmmi_fail_memory(err, most, sizeof *x.ptr, "entries between owners");
    } else {
        for (int32_t j = 0; j < entries->n_cols; j++) {
            x.place[j] = -1;
        }
        status = cover_pairs(err, entries, &x, seen, user, partial);
    }
    spmmi_free_all(x.ptr, x.column, x.row, x.column_in, x.row_in, x.place);
    return status;
}
