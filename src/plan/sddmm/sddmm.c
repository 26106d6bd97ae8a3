/* SPDX-License-Identifier: Apache-2.0 */
/** @file sddmm.c
 *  SDDMM as a plan runs a product (run/execute.c).  Rows of Y travel on the comm stream.  Meanwhile
 *  the user stream computes the entries whose row of Y is this rank's own, and then the others.
 *  Every entry is in one of the two blocks, so neither waits for results of the other.
 */
#include "plan/sddmm/sddmm.h"

#include <inttypes.h>

#include "base/alloc.h"
#include "plan/create/create.h"
#include "plan/create/exchange.h"
#include "plan/plan.h"
#include "plan/run/execute.h"

/* Where results go: the caller's order of values.  NULL: entries stand there already. */
static spmm_status_t places_of(const spmm_plan_t *base, const spmm_block_t *block, int64_t **place)
{
    const int64_t *order = base->A->value_order;

    *place = NULL;
    if (block->source == NULL && order == NULL) {
        return SPMM_OK;
    }
    if (SPMM_NEW(*place, block->nnz) == NULL) {
        return spmmi_fail_memory(&base->env->err, block->nnz, sizeof **place,
                                 "the places of an SDDMM");
    }
    for (int64_t k = 0; k < block->nnz; k++) {
        const int64_t e = block->source == NULL ? k : block->source[k];

        (*place)[k] = order == NULL ? e : order[e];
    }
    return SPMM_OK;
}

static spmm_status_t make_block(const spmm_plan_t *base, spmm_block_t *block,
                                const spmm_sampling_t *what, spmm_sampler_t *sampler)
{
    int64_t      *place;
    spmm_status_t status = places_of(base, block, &place);

    if (status == SPMM_OK) {
        status = spmmi_sampler_create(base->device, &block->csr, place, what, sampler);
    }
    spmmi_free(place);
    spmmi_block_free_input(block);
    return status;
}

static spmm_status_t make_local(spmm_sddmm_plan_t *plan, const spmm_sampling_t *what)
{
    spmm_plan_t *base = plan->base;

    if (spmmi_matrix_local_nnz(base->A) > INT32_MAX) { /* places count in all entries of a rank */
        return spmmi_fail(&base->env->err, SPMM_ERR_RANGE,
                          "a mask with %" PRId64
                          " entries on rank %d: an SDDMM takes up to 2^31 - 1 "
                          "on each; use more ranks",
                          spmmi_matrix_local_nnz(base->A), base->env->rank);
    }
    SPMM_TRY(make_block(base, &base->blocks.diagonal, what, &plan->local));
    SPMM_TRY(make_block(base, &base->blocks.off_diagonal, what, &plan->halo));
    return spmmi_plan_make_rows(base, false);
}

static spmm_status_t make(spmm_sddmm_plan_t *plan, spmm_transport_shared_t *shared,
                          spmm_matrix_t *mask, int64_t k, const spmm_sddmm_options_t *o)
{
    spmm_plan_options_t   options = SPMM_PLAN_OPTIONS_INIT;
    const spmm_sampling_t what    = {
           .type = mask->type, .s_type = plan->s_type, .k = k, .kernel = o->kernel};

    options.c_type    = plan->s_type;
    options.engine    = o->kernel; /* so that ranks that ask for different ones find out */
    options.transport = o->transport;
    options.tuning    = o->tuning;
    SPMM_TRY(spmmi_agree(shared->env, spmmi_sampler_check(shared->device, &what)));
    SPMM_TRY(spmmi_plan_build_exchange(shared, mask, k, &options, &plan->base));
    return spmmi_agree(shared->env, make_local(plan, &what));
}

spmm_status_t spmmi_sddmm_build(spmm_transport_shared_t *shared, spmm_matrix_t *mask, int64_t k,
                                const spmm_sddmm_options_t *options, spmm_sddmm_plan_t **plan)
{
    spmm_status_t      status = SPMM_OK;
    spmm_sddmm_plan_t *made;

    if (SPMM_NEW_ZERO(made, 1) == NULL) {
        status = spmmi_fail_memory(&shared->env->err, 1, sizeof *made, "an SDDMM plan");
    }
    status = spmmi_agree(shared->env, status);
    if (status == SPMM_OK) {
        made->s_type = options->s_type == SPMM_TYPE_AUTO ? mask->type : options->s_type;
        status       = make(made, shared, mask, k, options);
    }
    if (status != SPMM_OK) {
        spmmi_sddmm_free(made);
        return status;
    }
    *plan = made;
    return SPMM_OK;
}

void spmmi_sddmm_free(spmm_sddmm_plan_t *plan)
{
    if (plan == NULL) {
        return;
    }
    if (plan->base != NULL) {
        const spmm_device_t *device = plan->base->device;

        device->ops->release(device, plan->group_ptr);
        device->ops->release(device, plan->place);
    }
    spmmi_sampler_free(&plan->local);
    spmmi_sampler_free(&plan->halo);
    spmmi_plan_free(plan->base);
    spmmi_free(plan);
}

/* Rows of Y of other ranks are packed where the exchange left them. */
static spmm_status_t run(const void *self, const void *args, const spmm_pass_operand_t *operand,
                         spmm_stream_t stream)
{
    const spmm_sddmm_plan_t *plan = self;
    spmm_sddmm_args_t        mine = *(const spmm_sddmm_args_t *)args;

    if (operand == NULL) {
        return spmmi_sampler_run(&plan->local, &mine, stream);
    }
    mine.Y   = operand->rows;
    mine.ldy = operand->ld;
    return spmmi_sampler_run(&plan->halo, &mine, stream);
}

spmm_status_t spmmi_sddmm_run(spmm_sddmm_plan_t *plan, const spmm_sddmm_args_t *args,
                              spmm_stream_t stream)
{
    const spmm_pass_t pass = {.operand = {{args->Y, args->ldy, args->k}},
                              .count   = 1,
                              .self    = plan,
                              .args    = args,
                              .run     = run};

    return spmmi_plan_run_pass(plan->base, &pass, stream);
}

/* Softmax over the rows of what an SDDMM made: values of groups of rows that have the same columns
 * are taken as vectors. */

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
