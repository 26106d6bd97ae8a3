/* SPDX-License-Identifier: Apache-2.0 */
/** @file move.c
 *  Blocks of the caller, with all columns, become blocks of the groups, with theirs, in the
 *  distribution of the group's copy of A; from there spmmi_plan_move() goes on.
 */
#include "plan/move.h"

#include "base/alloc.h"
#include "base/comm.h"
#include "plan/groups/groups.h"
#include "plan/plan.h"

/* One move.  Element (i, j) of the caller's block is at block + i * down + j * right elements. */
typedef struct {
    spmm_plan_t              *plan;
    const spmm_plan_groups_t *g;
    int64_t                   n;       /* columns of all groups */
    int64_t                   rows;    /* of the caller's block on this rank */
    int64_t                   copied;  /* rows of this rank's part of the copy of A */
    int64_t                   columns; /* of this group */
    size_t                    elem;
    int64_t                  *out, *in; /* [outer size] elements for groups, and from ranks */
    char                     *host_all, *host_mine; /* [rows x n], [copied x columns] */
    void                     *packed, *turned;      /* device: one group's columns packed; [copied x
                                                  columns] as the plan lays blocks out */
    spmm_stream_t             stream;
} move_t;

/* First row of each outer rank in the caller's distribution of the operand.  Where the plan flips
 * A, its columns are the rows of the caller's. */
static const int64_t *offsets_of(const spmm_plan_t *plan, spmm_operand_t operand)
{
    const bool columns = (operand == SPMM_OPERAND_B) == (plan->op == SPMM_OP_N);

    return columns != plan->flips ? plan->groups->whole->col_offset
                                  : plan->groups->whole->row_offset;
}

int64_t spmmi_groups_original(const spmm_plan_t *plan, spmm_operand_t operand, int64_t *rows)
{
    const int64_t *offset = offsets_of(plan, operand);
    const int      rank   = plan->groups->outer->env->rank;

    *rows = offset[rank + 1] - offset[rank];
    return offset[rank];
}

static int64_t wide(const move_t *m, int group)
{
    return spmmi_groups_columns(m->g, group, m->n / m->plan->b_parts) * m->plan->b_parts;
}

static int64_t first(const move_t *m, int group)
{
    return spmmi_groups_first(m->g, group, m->n / m->plan->b_parts) * m->plan->b_parts;
}

static spmm_status_t alloc_move(move_t *m)
{
    const spmm_device_ops_t *ops  = m->plan->device->ops;
    const int64_t            size = m->g->outer->env->size;
    const int64_t            most = m->rows * wide(m, 0), mine = m->copied * m->columns;

    SPMM_NEW_ZERO(m->out, size);
    SPMM_NEW_ZERO(m->in, size);
    m->host_all  = spmmi_alloc(m->rows * m->n, m->elem);
    m->host_mine = spmmi_alloc(mine, m->elem);
    if (m->out == NULL || m->in == NULL || m->host_all == NULL || m->host_mine == NULL) {
        return spmmi_fail_memory(&m->plan->env->err, m->rows * m->n + mine, m->elem,
                                 "rows being moved");
    }
    SPMM_TRY(
        ops->alloc(m->plan->device, (size_t)(most > mine ? most : mine) * m->elem, &m->packed));
    return ops->alloc(m->plan->device, (size_t)mine * m->elem, &m->turned);
}

static void free_move(move_t *m)
{
    m->plan->device->ops->release(m->plan->device, m->packed);
    m->plan->device->ops->release(m->plan->device, m->turned);
    spmmi_free_all(m->out, m->in, m->host_all, m->host_mine);
}

/* Who sends how much; ranks that stand for each other are `count` successive ones. */
static void count(move_t *m, const int64_t *offset)
{
    const int from = m->plan->env->rank * m->g->count;

    for (int k = 0; k < m->g->count; k++) {
        m->out[spmmi_groups_rank(m->g, k)] = m->rows * wide(m, k);
        m->in[from + k]                    = (offset[from + k + 1] - offset[from + k]) * m->columns;
    }
}

/* To or from packed rows of @p columns columns on the host.  @p first: of them in @p block. */
static spmm_status_t pack(move_t *m, const void *block, int64_t ld, int64_t first_column,
                          int64_t rows, int64_t columns, char *host)
{
    const spmm_plan_t       *plan = m->plan;
    const spmm_device_ops_t *ops  = plan->device->ops;
    const int64_t at = plan->layout == SPMM_LAYOUT_ROW ? first_column : first_column * ld;

    SPMM_TRY(
        ops->gather_rows(plan->device,
                         &(spmm_gather_args_t){.src    = (const char *)block + (size_t)at * m->elem,
                                               .ld_src = ld,
                                               .src_layout = plan->layout,
                                               .n_rows     = rows,
                                               .n          = columns,
                                               .elem_size  = m->elem,
                                               .dst        = m->packed},
                         m->stream));
    SPMM_TRY(ops->stream_sync(plan->device, m->stream));
    return ops->fetch(plan->device, host, m->packed, (size_t)(rows * columns) * m->elem);
}

static spmm_status_t unpack(move_t *m, const char *host, void *block, int64_t ld,
                            int64_t first_column, int64_t rows, int64_t columns)
{
    const spmm_plan_t       *plan = m->plan;
    const spmm_device_ops_t *ops  = plan->device->ops;
    const int64_t at = plan->layout == SPMM_LAYOUT_ROW ? first_column : first_column * ld;

    SPMM_TRY(
        ops->copy(plan->device, m->packed, host, (size_t)(rows * columns) * m->elem, m->stream));
    SPMM_TRY(ops->scatter_rows(plan->device,
                               &(spmm_scatter_args_t){.src       = m->packed,
                                                      .n_rows    = rows,
                                                      .n         = columns,
                                                      .elem_size = m->elem,
                                                      .dst = (char *)block + (size_t)at * m->elem,
                                                      .ld_dst     = ld,
                                                      .dst_layout = plan->layout},
                               m->stream));
    return ops->stream_sync(plan->device, m->stream);
}

static int64_t turned_ld(const move_t *m)
{
    const int64_t ld = m->plan->layout == SPMM_LAYOUT_ROW ? m->columns : m->copied;

    return ld > 0 ? ld : 1;
}

/* Collective, agreed. */
static spmm_status_t scatter(move_t *m, spmm_operand_t operand, const void *src, int64_t ld_src,
                             void *dst, int64_t ld_dst)
{
    spmm_env_t   *outer  = m->g->outer->env;
    spmm_status_t status = SPMM_OK;
    char         *at     = m->host_all;

    for (int k = 0; k < m->g->count && status == SPMM_OK && m->rows > 0; k++) {
        status = pack(m, src, ld_src, first(m, k), m->rows, wide(m, k), at);
        at += (size_t)(m->rows * wide(m, k)) * m->elem;
    }
    SPMM_TRY(spmmi_agree(outer, status));
    SPMM_TRY(spmmi_alltoallv(outer, m->host_all, m->out, m->host_mine, m->in, m->elem));
    if (m->copied > 0) {
        status = unpack(m, m->host_mine, m->turned, turned_ld(m), 0, m->copied, m->columns);
    }
    SPMM_TRY(spmmi_agree(outer, status));
    return spmmi_agree(outer, spmmi_plan_move(m->plan, operand, true, m->columns, m->turned,
                                              turned_ld(m), dst, ld_dst, m->stream));
}

/* Collective, agreed. */
static spmm_status_t gather(move_t *m, spmm_operand_t operand, const void *src, int64_t ld_src,
                            void *dst, int64_t ld_dst)
{
    spmm_env_t   *outer = m->g->outer->env;
    spmm_status_t status;
    char         *at = m->host_all;

    status = spmmi_plan_move(m->plan, operand, false, m->columns, src, ld_src, m->turned,
                             turned_ld(m), m->stream);
    if (status == SPMM_OK && m->copied > 0) {
        status = pack(m, m->turned, turned_ld(m), 0, m->copied, m->columns, m->host_mine);
    }
    SPMM_TRY(spmmi_agree(outer, status));
    SPMM_TRY(spmmi_alltoallv(outer, m->host_mine, m->in, m->host_all, m->out, m->elem));
    for (int k = 0; k < m->g->count && status == SPMM_OK && m->rows > 0; k++) {
        status = unpack(m, at, dst, ld_dst, first(m, k), m->rows, wide(m, k));
        at += (size_t)(m->rows * wide(m, k)) * m->elem;
    }
    return spmmi_agree(outer, status);
}

spmm_status_t spmmi_groups_move(spmm_plan_t *plan, spmm_operand_t operand, bool to_plan, int64_t n,
                                const void *src, int64_t ld_src, void *dst, int64_t ld_dst,
                                spmm_stream_t stream)
{
    const spmm_plan_groups_t *g      = plan->groups;
    const int64_t            *offset = offsets_of(plan, operand);
    const int                 rank   = g->outer->env->rank;
    const spmm_type_t         type   = operand == SPMM_OPERAND_B ? plan->ab_type : plan->c_type;
    move_t                    m      = {.plan   = plan,
                                        .g      = g,
                                        .n      = n,
                                        .rows   = offset[rank + 1] - offset[rank],
                                        .copied = spmmi_plan_map(plan, operand)->n_orig,
                                        .elem   = spmm_type_size(type),
                                        .stream = stream};
    spmm_status_t             status;

    m.columns = wide(&m, g->mine);
    status    = spmmi_agree(g->outer->env, alloc_move(&m));
    if (status == SPMM_OK) {
        count(&m, offset);
        status = to_plan ? scatter(&m, operand, src, ld_src, dst, ld_dst)
                         : gather(&m, operand, src, ld_src, dst, ld_dst);
    }
    free_move(&m);
    return status;
}
