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
#include "partition/cover/pairs.h"
#include "plan/plan.h"

/* What this rank's node, or this rank, has to do with the owner of a column. */
typedef struct {
    int32_t unit;   /* the owner's rank, or its node */
    int32_t leader; /* covers the pair */
    int32_t base;   /* the owner's first column among those of the unit */
} partner_t;

/* An entry on its way to the rank that covers its pair. */
typedef struct {
    int32_t row; /* of the rank that it comes from */
    int32_t col; /* of the unit */
    int32_t unit;
} item_t;

/* Entries at the rank that covers their pairs.  Pairs of ranks need no messages: what goes out is
 * what comes in. */
typedef struct {
    spmm_cover_marks_t *marks;
    partner_t          *partner; /* [size] */
    int64_t             n_in;
    int64_t            *out_count, *in_count, *next; /* [size], one piece of memory */
    item_t             *out, *in;                    /* [crossing], [n_in] */
    bool               *answer, *answered;           /* [crossing], [n_in] */
    uint64_t           *pair;                        /* [units] */
    int64_t            *ptr;                         /* [units + 1] */
    int64_t            *entry, *from; /* [n_in] in the order of pairs: entry, and which */
    bool               *partial;      /* [n_in] in that order */
    int32_t             n_cols;       /* of the unit that has most */
} draft_t;

static int units_of(const spmm_cover_marks_t *m)
{
    return m->nodes ? m->plan->env->nodes.count : m->plan->env->size;
}

static int unit_of(const spmm_cover_marks_t *m, int rank)
{
    return m->nodes ? m->plan->env->nodes.node[rank] : rank;
}

spmm_status_t spmmi_crossing_list(const spmm_plan_t *plan, const spmm_arrival_t *in,
                                  spmm_crossing_t *crossing)
{
    const spmm_nodes_t *nodes = &plan->env->nodes;
    const int           mine = plan->env->rank, size = plan->env->size;
    const int64_t       first = plan->cols.offset[mine], end = plan->cols.offset[mine + 1];
    const int64_t       nnz  = in->row_ptr[plan->rows.n_local];
    int64_t             most = 0, n = 0;

    for (int64_t k = 0; k < nnz; k++) {
        most += in->col[k] < first || in->col[k] >= end;
    }
    SPMM_NEW(crossing->entry, most);
    SPMM_NEW(crossing->row, most);
    SPMM_NEW(crossing->owner, most);
    if (crossing->entry == NULL || crossing->row == NULL || crossing->owner == NULL) {
        return spmmi_fail_memory(&plan->env->err, most, 2 * sizeof *crossing->entry,
                                 "entries between owners");
    }
    for (int32_t i = 0; i < plan->rows.n_local; i++) {
        for (int64_t k = in->row_ptr[i]; k < in->row_ptr[i + 1]; k++) {
            int owner;

            if (in->col[k] >= first && in->col[k] < end) {
                continue;
            }
            owner = spmmi_owner(plan->cols.offset, size, in->col[k]);
            if (nodes->count == 1 || !spmmi_nodes_share(nodes, owner, mine)) {
                crossing->entry[n]   = k;
                crossing->row[n]     = i;
                crossing->owner[n++] = owner;
            }
        }
    }
    crossing->n = n;
    return SPMM_OK;
}

void spmmi_crossing_free(spmm_crossing_t *crossing)
{
    spmmi_free_all(crossing->entry, crossing->row, crossing->owner);
    *crossing = (spmm_crossing_t){0};
}

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

/* @p width [units] zeroed */
static spmm_status_t list_partners(draft_t *d, int64_t *width)
{
    const spmm_cover_marks_t *m      = d->marks;
    spmm_env_t               *env    = m->plan->env;
    const int64_t            *offset = m->plan->cols.offset;
    int64_t                   most   = 0;

    for (int p = 0; p < env->size; p++) {
        const int unit = unit_of(m, p);

        d->partner[p] = (partner_t){unit, leader_of(m, p), (int32_t)width[unit]};
        width[unit] += offset[p + 1] - offset[p];
        most = width[unit] > most ? width[unit] : most;
        if (most > INT32_MAX) {
            return spmmi_fail(&env->err, SPMM_ERR_RANGE,
                              "more than 2^31 - 1 columns on a node: leave out option cover");
        }
    }
    d->n_cols = (int32_t)most;
    return SPMM_OK;
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

static spmm_status_t open_draft(draft_t *d)
{
    const spmm_cover_marks_t *m    = d->marks;
    const int64_t             size = m->plan->env->size, units = units_of(m), n = m->crossing->n;

    SPMM_NEW(d->partner, size);
    SPMM_NEW(d->pair, units);
    SPMM_NEW_ZERO(d->ptr, units + 1);
    SPMM_NEW_ZERO(d->out_count, 3 * size);
    SPMM_NEW(d->out, n);
    SPMM_NEW(d->answer, n);
    if (d->partner == NULL || d->pair == NULL || d->ptr == NULL || d->out_count == NULL ||
        d->out == NULL || d->answer == NULL) {
        return spmmi_fail_memory(&m->plan->env->err, n + 8 * size, sizeof *d->out,
                                 "entries between owners");
    }
    d->in_count = d->out_count + size;
    d->next     = d->in_count + size;
    SPMM_TRY(list_partners(d, d->ptr));
    for (int64_t k = 0; k < n; k++) {
        d->out_count[d->partner[m->crossing->owner[k]].leader]++;
    }
    return SPMM_OK;
}

/* What goes out, by leader. */
static void list_out(draft_t *d)
{
    const spmm_cover_marks_t *m      = d->marks;
    const spmm_crossing_t    *c      = m->crossing;
    const int64_t            *offset = m->plan->cols.offset;

    rewind_all(d);
    for (int64_t k = 0; k < c->n; k++) {
        const partner_t *p = &d->partner[c->owner[k]];

        d->out[d->next[p->leader]++] = (item_t){
            c->row[k], p->base + (int32_t)(m->in->col[c->entry[k]] - offset[c->owner[k]]), p->unit};
    }
}

static spmm_status_t alloc_in(draft_t *d)
{
    spmm_cover_marks_t *m     = d->marks;
    const int64_t       units = units_of(m);

    if (m->nodes) {
        SPMM_NEW(d->in, d->n_in);
        SPMM_NEW(d->answered, d->n_in);
    }
    SPMM_NEW(d->entry, d->n_in);
    SPMM_NEW(d->from, d->n_in);
    SPMM_NEW(d->partial, d->n_in);
    SPMM_NEW_ZERO(m->partial, m->in->row_ptr[m->plan->rows.n_local]);
    SPMM_NEW_ZERO(m->in_bytes, 2 * units);
    if ((m->nodes && (d->in == NULL || d->answered == NULL)) || d->entry == NULL ||
        d->from == NULL || d->partial == NULL || m->partial == NULL || m->in_bytes == NULL) {
        return spmmi_fail_memory(&m->plan->env->err, d->n_in, 4 * sizeof *d->entry,
                                 "entries between owners");
    }
    m->out_bytes = m->in_bytes + units;
    return SPMM_OK;
}

/* A counting sort of what came by units.  It comes in the order of ranks and rows, and so stays
 * within each pair.  @p next [units] scratch */
static spmm_status_t sort_items(draft_t *d, const item_t *in, int64_t *next)
{
    const spmm_cover_marks_t *m      = d->marks;
    spmm_env_t               *env    = m->plan->env;
    const int                 units  = units_of(m);
    int64_t                   n_rows = 0, begin = 0;

    memset(d->ptr, 0, ((size_t)units + 1) * sizeof *d->ptr);
    for (int64_t k = 0; k < d->n_in; k++) {
        d->ptr[in[k].unit + 1]++;
    }
    for (int u = 0; u < units; u++) {
        d->pair[u] = (uint64_t)u * (uint64_t)units + (uint64_t)unit_of(m, env->rank);
        d->ptr[u + 1] += d->ptr[u];
        next[u] = d->ptr[u];
    }
    for (int p = 0; p < env->size; begin += d->in_count[p], p++) {
        for (int64_t k = begin; k < begin + d->in_count[p]; k++) {
            const int64_t at = next[in[k].unit]++;

            n_rows += k == begin || in[k].row != in[k - 1].row;
            d->entry[at] = (n_rows - 1) << 32 | in[k].col;
            d->from[at]  = k;
        }
    }
    return n_rows <= INT32_MAX
               ? SPMM_OK
               : spmmi_fail(&env->err, SPMM_ERR_RANGE,
                            "more than 2^31 - 1 rows on a node: leave out option cover");
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

static spmm_status_t cover_items(draft_t *d, const item_t *in, bool *answer)
{
    spmm_env_t          *env   = d->marks->plan->env;
    const int            units = units_of(d->marks);
    spmm_cover_entries_t sorted;

    SPMM_TRY(sort_items(d, in, d->next)); /* there are no more units than ranks */
    sorted = (spmm_cover_entries_t){
        .n_pairs = units, .pair = d->pair, .ptr = d->ptr, .entry = d->entry, .n_cols = d->n_cols};
    SPMM_TRY(spmmi_cover_pairs(&env->err, &sorted, add_pair, d->marks, d->partial));
    for (int64_t k = 0; k < d->n_in; k++) {
        answer[d->from[k]] = d->partial[k];
    }
    return SPMM_OK;
}

static void take_answer(draft_t *d)
{
    const spmm_crossing_t *c = d->marks->crossing;

    rewind_all(d);
    for (int64_t k = 0; k < c->n; k++) {
        d->marks->partial[c->entry[k]] = d->answer[d->next[d->partner[c->owner[k]].leader]++];
    }
}

/* Collective, agreed. */
static spmm_status_t mark_ranks(draft_t *d)
{
    spmm_env_t   *env    = d->marks->plan->env;
    spmm_status_t status = open_draft(d);

    if (status == SPMM_OK) {
        d->n_in                = d->marks->crossing->n;
        d->in_count[env->rank] = d->n_in;
        status                 = alloc_in(d);
    }
    if (status == SPMM_OK) {
        list_out(d);
        status = cover_items(d, d->out, d->answer);
    }
    SPMM_TRY(spmmi_agree(env, status));
    take_answer(d);
    return SPMM_OK;
}

/* Collective, agreed. */
static spmm_status_t mark_nodes(draft_t *d)
{
    spmm_env_t *env = d->marks->plan->env;

    SPMM_TRY(spmmi_agree(env, open_draft(d)));
    SPMM_TRY(spmmi_alltoall_counts(env, d->out_count, d->in_count, &d->n_in));
    SPMM_TRY(spmmi_agree(env, alloc_in(d)));
    list_out(d);
    SPMM_TRY(spmmi_alltoallv(env, d->out, d->out_count, d->in, d->in_count, sizeof *d->out));
    SPMM_TRY(spmmi_agree(env, cover_items(d, d->in, d->answered)));
    SPMM_TRY(
        spmmi_alltoallv(env, d->answered, d->in_count, d->answer, d->out_count, sizeof *d->answer));
    take_answer(d);
    return SPMM_OK;
}

spmm_status_t spmmi_cover_mark(spmm_cover_marks_t *marks)
{
    draft_t             d      = {.marks = marks};
    const spmm_status_t status = marks->nodes ? mark_nodes(&d) : mark_ranks(&d);

    spmmi_free_all(d.partner, d.pair, d.ptr, d.out_count, d.out, d.answer, d.in, d.answered,
                   d.entry, d.from, d.partial);
    return status;
}

void spmmi_cover_marks_free(spmm_cover_marks_t *marks)
{
    spmmi_free_all(marks->partial, marks->in_bytes);
    marks->partial  = NULL;
    marks->in_bytes = NULL;
}
