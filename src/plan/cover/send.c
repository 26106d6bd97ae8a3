/* SPDX-License-Identifier: Apache-2.0 */
/** @file send.c  Entries move to the owners of their columns, and their values after them. */
#include <string.h>

#include "base/alloc.h"
#include "base/comm.h"
#include "base/scalar.h"
#include "plan/plan.h"

/* Row of each entry that moves, and how many go to each rank. */
static void count_moved(const spmm_plan_t *plan, const spmm_arrival_t *in, int64_t *count)
{
    const int64_t nnz = in->row_ptr[plan->rows.n_local];

    for (int64_t k = 0; k < nnz; k++) {
        if (plan->cover.partial[k]) {
            count[spmmi_owner(plan->cols.offset, plan->env->size, in->col[k])]++;
        }
    }
}

/* @p next [size] where the next entry of each rank goes */
static void list_moved(const spmm_plan_t *plan, const spmm_arrival_t *in, int64_t *next)
{
    const spmm_plan_cover_t *c     = &plan->cover;
    const int64_t            first = plan->rows.offset[plan->env->rank];

    for (int32_t i = 0; i < plan->rows.n_local; i++) {
        for (int64_t k = in->row_ptr[i]; k < in->row_ptr[i + 1]; k++) {
            if (c->partial[k]) {
                const int     owner = spmmi_owner(plan->cols.offset, plan->env->size, in->col[k]);
                const int64_t to    = next[owner]++;

                c->out[to]        = k;
                c->at[2 * to]     = first + i;
                c->at[2 * to + 1] = in->col[k];
            }
        }
    }
}

spmm_status_t spmmi_cover_list(spmm_plan_t *plan, const spmm_arrival_t *in)
{
    spmm_plan_cover_t *c    = &plan->cover;
    const int64_t      size = plan->env->size;
    int64_t           *next;

    if (SPMM_NEW_ZERO(c->out_count, 2 * size) == NULL || SPMM_NEW(next, size) == NULL) {
        return spmmi_fail_memory(&plan->env->err, 3 * size, sizeof *next, "entries that move");
    }
    c->in_count = c->out_count + size;
    count_moved(plan, in, c->out_count);
    for (int64_t p = 0; p < size; p++) {
        next[p] = c->n_out;
        c->n_out += c->out_count[p];
    }
    SPMM_NEW(c->out, c->n_out);
    SPMM_NEW(c->at, 2 * c->n_out);
    if (c->out == NULL || c->at == NULL) {
        spmmi_free(next);
        return spmmi_fail_memory(&plan->env->err, 3 * c->n_out, sizeof *next, "entries that move");
    }
    list_moved(plan, in, next);
    spmmi_free_all(next, c->partial);
    c->partial = NULL;
    return SPMM_OK;
}

/* A counting sort by row of the transposed matrix: what comes is ascending in its columns, which
 * are the rows of ranks in order.  @p ptr [n + 1] */
static void place_all(spmm_plan_t *plan, const int64_t *at, int64_t *ptr, int64_t *col)
{
    spmm_plan_cover_t *c     = &plan->cover;
    const int64_t      first = plan->cols.offset[plan->env->rank];
    const int32_t      n     = plan->cols.n_local;

    memset(ptr, 0, ((size_t)n + 1) * sizeof *ptr);
    for (int64_t k = 0; k < c->n_in; k++) {
        ptr[at[2 * k + 1] - first + 1]++;
    }
    for (int32_t j = 0; j < n; j++) {
        ptr[j + 1] += ptr[j];
    }
    for (int64_t k = 0; k < c->n_in; k++) {
        c->place[k]      = ptr[at[2 * k + 1] - first]++;
        col[c->place[k]] = at[2 * k];
    }
    for (int32_t j = n; j > 0; j--) { /* each beginning went to where the next row begins */
        ptr[j] = ptr[j - 1];
    }
    ptr[0] = 0;
}

/* Values of the moved entries to @p to [n_in] in the order of the matrix.  Collective, agreed. */
static spmm_status_t send_values(spmm_plan_t *plan, const void *values, void *to)
{
    const spmm_plan_cover_t *c    = &plan->cover;
    const size_t             size = spmm_type_size(plan->ab_type);
    char                    *pack = spmmi_alloc(c->n_out, size), *come = spmmi_alloc(c->n_in, size);
    spmm_status_t            status = SPMM_OK;

    if (pack == NULL || come == NULL) {
        status = spmmi_fail_memory(&plan->env->err, c->n_out + c->n_in, size, "values that move");
    }
    status = spmmi_agree(plan->env, status);
    if (status == SPMM_OK) {
        for (int64_t k = 0; k < c->n_out; k++) {
            memcpy(pack + (size_t)k * size, (const char *)values + (size_t)c->out[k] * size, size);
        }
        status = spmmi_alltoallv(plan->env, pack, c->out_count, come, c->in_count, size);
    }
    for (int64_t k = 0; k < c->n_in && status == SPMM_OK; k++) {
        memcpy((char *)to + (size_t)c->place[k] * size, come + (size_t)k * size, size);
    }
    if (status == SPMM_OK && plan->conjugate) {
        spmmi_conjugate(plan->ab_type, to, c->n_in);
    }
    spmmi_free_all(pack, come);
    return status;
}

/* @p at [2 * n_in], @p ptr, @p col, @p values: scratch for the matrix.  Collective, agreed. */
static spmm_status_t make_matrix(spmm_plan_t *plan, const void *arrived, int64_t *at, int64_t *ptr,
                                 int64_t *col, void *values)
{
    spmm_plan_cover_t *c = &plan->cover;

    SPMM_TRY(spmmi_alltoallv(plan->env, c->at, c->out_count, at, c->in_count, 2 * sizeof *c->at));
    place_all(plan, at, ptr, col);
    SPMM_TRY(send_values(plan, arrived, values));
    SPMM_TRY(spmmi_matrix_from_csr(plan->env, plan->cols.n_local, plan->rows.n_local, ptr, col,
                                   values, plan->ab_type, &c->A));
    c->A->context = plan->A->context;
    c->A->live    = plan->A->live;
    return SPMM_OK;
}

spmm_status_t spmmi_cover_send(spmm_plan_t *plan, const void *arrived)
{
    spmm_plan_cover_t *c    = &plan->cover;
    const size_t       size = spmm_type_size(plan->ab_type);
    int64_t           *at = NULL, *ptr = NULL, *col = NULL;
    void              *values = NULL;
    spmm_status_t      status = SPMM_OK;

    SPMM_TRY(spmmi_alltoall_counts(plan->env, c->out_count, c->in_count, &c->n_in));
    SPMM_NEW(c->place, c->n_in);
    SPMM_NEW(at, 2 * c->n_in);
    SPMM_NEW(ptr, (int64_t)plan->cols.n_local + 1);
    SPMM_NEW(col, c->n_in);
    values = spmmi_alloc(c->n_in, size);
    if (c->place == NULL || at == NULL || ptr == NULL || col == NULL || values == NULL) {
        status = spmmi_fail_memory(&plan->env->err, 4 * c->n_in, sizeof *at, "entries that move");
    }
    status = spmmi_agree(plan->env, status);
    if (status == SPMM_OK) {
        status = spmmi_agree(plan->env, make_matrix(plan, arrived, at, ptr, col, values));
    }
    spmmi_free_all(at, ptr, col, values, c->at);
    c->at = NULL;
    return status;
}

spmm_status_t spmmi_cover_send_values(spmm_plan_t *plan, const void *values)
{
    return send_values(plan, values, plan->cover.A->values);
}

void spmmi_cover_free(spmm_plan_cover_t *c)
{
    if (c->A != NULL) {
        spmmi_matrix_free(c->A);
    }
    spmmi_free_all(c->partial, c->out, c->at, c->out_count, c->place);
    memset(c, 0, sizeof *c);
}
