/* SPDX-License-Identifier: Apache-2.0 */
/** @file softmax.c
 *  Softmax over the rows of what an SDDMM made: values of groups of rows that have the same columns
 *  are taken as vectors.
 */
#include "plan/sddmm/softmax.h"

#include "base/alloc.h"
#include "plan/plan.h"

/* Rows of A in groups of @p vector that have the same columns, their values one behind the other in
 * the caller's order? */
static bool has_vectors(const spmm_matrix_t *A, int32_t vector)
{
    bool fits = A->n_rows % vector == 0;

    for (int32_t i = 0; i < A->n_rows && fits; i += vector) {
        const int64_t first = A->row_ptr[i], count = A->row_ptr[i + 1] - first;

        for (int32_t r = 1; r < vector && fits; r++) {
            fits = A->row_ptr[i + r + 1] - A->row_ptr[i + r] == count;
            for (int64_t p = 0; p < count && fits; p++) {
                fits = A->value_order[A->row_ptr[i + r] + p] == A->value_order[first + p] + r;
            }
        }
    }
    return fits;
}

/** Lists of a softmax, on the host. */
typedef struct {
    int32_t  n_groups, n_vectors;
    int32_t *ptr, *place;
    bool follow; /**< the vectors of a group stand at its places, in whatever order, which a softmax
                          does not see */
} groups_t;

static spmm_status_t make_groups(const spmm_matrix_t *A, int32_t vector, groups_t *g)
{
    g->n_groups  = A->n_rows / vector;
    g->n_vectors = (int32_t)(spmmi_matrix_local_nnz(A) / vector);
    g->follow    = true;
    SPMM_NEW(g->ptr, (int64_t)g->n_groups + 1);
    SPMM_NEW(g->place, g->n_vectors);
    if (g->ptr == NULL || g->place == NULL) {
        return spmmi_fail_memory(&A->env->err, g->n_vectors, sizeof *g->place,
                                 "the rows of a softmax");
    }
    g->ptr[0] = 0;
    for (int32_t i = 0; i < g->n_groups; i++) {
        const int64_t first = A->row_ptr[(int64_t)i * vector];
        const int64_t count = A->row_ptr[(int64_t)i * vector + 1] - first;

        g->ptr[i + 1] = g->ptr[i] + (int32_t)count;
        for (int64_t p = 0; p < count; p++) {
            const int64_t e = A->value_order == NULL ? first + p : A->value_order[first + p];

            g->place[g->ptr[i] + p] = (int32_t)e;
            g->follow               = g->follow && e >= (int64_t)g->ptr[i] * vector &&
                        e < (int64_t)g->ptr[i + 1] * vector && e % vector == 0;
        }
    }
    return SPMM_OK;
}

static spmm_status_t upload_groups(spmm_sddmm_plan_t *plan)
{
    const spmm_plan_t *base   = plan->base;
    int32_t            vector = base->A->value_order == NULL ? 1 : 16;
    groups_t           g      = {0};
    spmm_status_t      status;

    while (vector > 1 && !has_vectors(base->A, vector)) {
        vector /= 2;
    }
    status = make_groups(base->A, vector, &g);
    if (status == SPMM_OK && !g.follow) {
        status = spmmi_device_upload(base->device, g.place, (size_t)g.n_vectors * sizeof *g.place,
                                     &plan->place);
    }
    if (status == SPMM_OK) {
        status = spmmi_device_upload(base->device, g.ptr, ((size_t)g.n_groups + 1) * sizeof *g.ptr,
                                     &plan->group_ptr);
    }
    spmmi_free_all(g.ptr, g.place);
    if (status != SPMM_OK) {
        base->device->ops->release(base->device, plan->place);
        plan->place = NULL;
        return status;
    }
    plan->vector = vector;
    return SPMM_OK;
}

spmm_status_t spmmi_sddmm_run_softmax(spmm_sddmm_plan_t *plan, double scale, const void *S, void *P,
                                      spmm_stream_t stream)
{
    const spmm_plan_t *base = plan->base;

    if (plan->vector == 0) {
        SPMM_TRY(upload_groups(plan));
    }
    return spmmi_row_softmax(base->device,
                             &(spmm_softmax_args_t){.n_groups  = base->A->n_rows / plan->vector,
                                                    .vector    = plan->vector,
                                                    .group_ptr = plan->group_ptr,
                                                    .place     = plan->place,
                                                    .s_type    = plan->s_type,
                                                    .p_type    = base->A->type,
                                                    .scale     = scale,
                                                    .S         = S,
                                                    .P         = P},
                             stream);
}
