/* SPDX-License-Identifier: Apache-2.0 */
/** @file mark.c
 *  The entries between two owners are covered by one rank: with pairs of ranks that is the rank
 *  that has them, with pairs of nodes one of its node, which gets them from all ranks of it, and
 *  tells them what moves.
 */
#include "plan/cover/mark.h"

#include <string.h>

#include "base/alloc.h"
#include "base/comm.h"
#include "base/nodes.h"
#include "base/scalar.h"
#include "base/sort.h"
#include "partition/cover/pairs.h"
#include "plan/plan.h"

/* An entry between owners, in the numbering of the plan. */
typedef struct {
    int64_t row, col;
} item_t;

/* Entries on their way to the rank that covers their pair, and there. */
typedef struct {
    spmm_cover_marks_t *marks;
    int64_t             n_out, n_in;
    int64_t            *out_count, *in_count, *next; /* [size], one piece of memory */
    item_t             *out, *in;
    bool               *answer, *answered; /* [n_out], [n_in] */
    uint64_t           *pair, *column;     /* [n_in] */
    int64_t            *entry, *from;      /* [n_in] of the pairs in order: entry, and which */
} draft_t;

bool spmmi_cover_crosses(const spmm_plan_t *plan, int owner)
{
    const spmm_nodes_t *nodes = &plan->env->nodes;

    return nodes->count > 1 ? !spmmi_nodes_share(nodes, owner, plan->env->rank)
                            : owner != plan->env->rank;
}

static int units_of(const spmm_cover_marks_t *m)
{
    return m->nodes ? m->plan->env->nodes.count : m->plan->env->size;
}

static int unit_of(const spmm_cover_marks_t *m, int rank)
{
    return m->nodes ? m->plan->env->nodes.node[rank] : rank;
}

/* Which rank covers the pair of this rank, or its node, and the owner of a column? */
static int leader_of(const spmm_cover_marks_t *m, int owner)
{
    const spmm_nodes_t *nodes = &m->plan->env->nodes;
    int                 mine, ranks;

    if (!m->nodes) {
        return m->plan->env->rank;
    }
    mine  = nodes->node[m->plan->env->rank];
    ranks = nodes->first[mine + 1] - nodes->first[mine];
    return nodes->rank[nodes->first[mine] + nodes->node[owner] % ranks];
}

/* Entries that cross, by leader: counted, or with d->out also listed.  d->answer: marked. */
static void scan(draft_t *d)
{
    const spmm_cover_marks_t *m     = d->marks;
    const spmm_plan_t        *plan  = m->plan;
    const int64_t             first = plan->rows.offset[plan->env->rank];

    for (int32_t i = 0; i < plan->rows.n_local; i++) {
        for (int64_t k = m->in->row_ptr[i]; k < m->in->row_ptr[i + 1]; k++) {
            const int owner = spmmi_owner(plan->cols.offset, plan->env->size, m->in->col[k]);
            int64_t   at;

            if (!spmmi_cover_crosses(plan, owner)) {
                continue;
            }
            at = d->next[leader_of(m, owner)]++;
            if (d->answer != NULL) {
                m->partial[k] = d->answer[at];
            } else if (d->out != NULL) {
                d->out[at] = (item_t){first + i, m->in->col[k]};
            }
        }
    }
}

/* @p next [size] begins at the first entry of each leader again. */
static void rewind_all(draft_t *d)
{
    int64_t at = 0;

    for (int p = 0; p < d->marks->plan->env->size; p++) {
        d->next[p] = at;
        at += d->out_count[p];
    }
}

static spmm_status_t count_out(draft_t *d)
{
    const int64_t size = d->marks->plan->env->size;

    if (SPMM_NEW_ZERO(d->out_count, 3 * size) == NULL) {
        return spmmi_fail_memory(&d->marks->plan->env->err, 3 * size, sizeof *d->out_count,
                                 "entries between owners");
    }
    d->in_count = d->out_count + size;
    d->next     = d->in_count + size;
    scan(d);
    memcpy(d->out_count, d->next, (size_t)size * sizeof *d->next);
    rewind_all(d);
    for (int64_t p = 0; p < size; p++) {
        d->n_out += d->out_count[p];
    }
    return SPMM_OK;
}

static spmm_status_t alloc_items(draft_t *d)
{
    spmm_cover_marks_t *m   = d->marks;
    const int64_t       nnz = m->in->row_ptr[m->plan->rows.n_local], units = units_of(m);

    SPMM_NEW(d->out, d->n_out);
    SPMM_NEW(d->in, d->n_in);
    SPMM_NEW(d->answered, d->n_in);
    SPMM_NEW(d->pair, d->n_in);
    SPMM_NEW(d->column, d->n_in);
    SPMM_NEW(d->entry, d->n_in);
    SPMM_NEW(d->from, d->n_in);
    SPMM_NEW_ZERO(m->partial, nnz);
    SPMM_NEW_ZERO(m->in_bytes, 2 * units);
    if (d->out == NULL || d->in == NULL || d->answered == NULL || d->pair == NULL ||
        d->column == NULL || d->entry == NULL || d->from == NULL || m->partial == NULL ||
        m->in_bytes == NULL) {
        return spmmi_fail_memory(&m->plan->env->err, d->n_out + d->n_in, 6 * sizeof *d->entry,
                                 "entries between owners");
    }
    m->out_bytes = m->in_bytes + units;
    return SPMM_OK;
}

static int32_t find(const uint64_t *list, int64_t count, uint64_t value)
{
    int64_t low = 0, high = count;

    while (low < high) {
        const int64_t mid = low + (high - low) / 2;

        low  = list[mid] < value ? mid + 1 : low;
        high = list[mid] < value ? high : mid;
    }
    return (int32_t)low;
}

/* What came, sorted by pairs.  @return columns there are */
static spmm_status_t sort_items(draft_t *d, spmm_cover_entries_t *sorted)
{
    const spmm_cover_marks_t *m     = d->marks;
    spmm_env_t               *env   = m->plan->env;
    const uint64_t            units = (uint64_t)units_of(m);
    int64_t                   n_columns, n_rows = 0;

    for (int64_t k = 0; k < d->n_in; k++) {
        const int to   = spmmi_owner(m->plan->rows.offset, env->size, d->in[k].row);
        const int from = spmmi_owner(m->plan->cols.offset, env->size, d->in[k].col);

        d->pair[k]   = (uint64_t)unit_of(m, from) * units + (uint64_t)unit_of(m, to);
        d->column[k] = (uint64_t)d->in[k].col;
        d->from[k]   = k;
    }
    SPMM_TRY(spmmi_sort_u64(env, d->column, d->n_in));
    n_columns = spmmi_unique_u64(d->column, d->n_in);
    SPMM_TRY(spmmi_sort_u64_with(env, d->pair, d->from, d->n_in));
    for (int64_t k = 0; k < d->n_in; k++) {
        const item_t *item = &d->in[d->from[k]];

        n_rows += k > 0 && item->row != d->in[d->from[k - 1]].row;
        d->entry[k] = n_rows << 32 | find(d->column, n_columns, (uint64_t)item->col);
    }
    if (n_columns > INT32_MAX || n_rows > INT32_MAX) {
        return spmmi_fail(&env->err, SPMM_ERR_RANGE,
                          "entries of more than 2^31 - 1 rows or columns between nodes: leave "
                          "out option cover");
    }
    *sorted = (spmm_cover_entries_t){
        .n = d->n_in, .pair = d->pair, .entry = d->entry, .n_cols = (int32_t)n_columns};
    return SPMM_OK;
}

/* Rows of B go from the owner of the column to that of the row, with op T sums the other way: in
 * and out change places, and with them what is taken for a row of B. */
static void add_pair(void *user, uint64_t pair, const spmm_cover_pair_t *found)
{
    spmm_cover_marks_t *m     = user;
    const spmm_plan_t  *plan  = m->plan;
    const uint64_t      units = (uint64_t)units_of(m);
    const double        b     = (double)plan->n * (double)spmm_type_size(plan->ab_type);
    const double c     = (double)plan->n * (double)spmm_type_size(spmmi_accum_type(plan->ab_type));
    const double stay  = (double)plan->n * (double)plan->sent_size;
    const double moved = plan->op == SPMM_OP_N ? c : b;
    const double rows  = (double)found->needed * stay;
    const double both  = (double)found->rows * stay + (double)found->partials * moved;

    m->in_bytes[pair % units].rows += rows;
    m->in_bytes[pair % units].both += both;
    m->out_bytes[pair / units].rows += rows;
    m->out_bytes[pair / units].both += both;
}

static spmm_status_t cover_items(draft_t *d)
{
    spmm_cover_entries_t sorted;
    bool                *partial;
    spmm_status_t        status;

    SPMM_TRY(sort_items(d, &sorted));
    if (SPMM_NEW(partial, d->n_in) == NULL) {
        return spmmi_fail_memory(&d->marks->plan->env->err, d->n_in, sizeof *partial,
                                 "entries between owners");
    }
    status = spmmi_cover_pairs(&d->marks->plan->env->err, &sorted, add_pair, d->marks, partial);
    for (int64_t k = 0; k < d->n_in && status == SPMM_OK; k++) {
        d->answered[d->from[k]] = partial[k];
    }
    spmmi_free(partial);
    return status;
}

/* Collective, agreed. */
static spmm_status_t mark(draft_t *d)
{
    spmm_env_t   *env = d->marks->plan->env;
    spmm_status_t status;

    SPMM_TRY(spmmi_agree(env, count_out(d)));
    SPMM_TRY(spmmi_alltoall_counts(env, d->out_count, d->in_count, &d->n_in));
    SPMM_TRY(spmmi_agree(env, alloc_items(d)));
    scan(d);
    SPMM_TRY(spmmi_alltoallv(env, d->out, d->out_count, d->in, d->in_count, sizeof *d->out));
    status = cover_items(d);
    if (status == SPMM_OK && SPMM_NEW(d->answer, d->n_out) == NULL) {
        status = spmmi_fail_memory(&env->err, d->n_out, sizeof *d->answer, "entries that move");
    }
    SPMM_TRY(spmmi_agree(env, status));
    SPMM_TRY(
        spmmi_alltoallv(env, d->answered, d->in_count, d->answer, d->out_count, sizeof *d->answer));
    rewind_all(d);
    scan(d);
    return SPMM_OK;
}

spmm_status_t spmmi_cover_mark(spmm_cover_marks_t *marks)
{
    draft_t             d      = {.marks = marks};
    const spmm_status_t status = mark(&d);

    spmmi_free_all(d.out_count, d.out, d.in, d.answer, d.answered, d.pair, d.column, d.entry,
                   d.from);
    return status;
}

void spmmi_cover_marks_free(spmm_cover_marks_t *marks)
{
    spmmi_free_all(marks->partial, marks->in_bytes);
    marks->partial  = NULL;
    marks->in_bytes = NULL;
}
