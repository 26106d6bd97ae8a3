/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/sddmm.h"

#include <inttypes.h>

#include "api/context.h"

spmm_status_t spmm_sddmm_plan_create(spmm_matrix_t *mask, int64_t k,
                                     const spmm_sddmm_options_t *options, spmm_sddmm_plan_t **plan)
{
    spmm_sddmm_options_t mine   = SPMM_SDDMM_OPTIONS_INIT;
    spmm_status_t        status = SPMM_OK;
    spmm_context_t      *ctx;

    if (mask == NULL) {
        return spmm_fail(NULL, SPMM_ERR_ARGUMENT, "spmm_sddmm_plan_create: mask is NULL");
    }
    ctx = mask->context;
    spmm_error_clear(&ctx->env.err);
    if (plan == NULL) {
        status =
            spmm_fail(&ctx->env.err, SPMM_ERR_ARGUMENT, "spmm_sddmm_plan_create: plan is NULL");
    } else if (options != NULL) {
        status = spmm_take_options(&ctx->env.err, options, options->struct_size, &mine, sizeof mine,
                                   "SDDMM");
    }
    SPMM_TRY(spmm_agree(&ctx->env, status));
    SPMM_TRY(spmm_sddmm_build(&ctx->shared, mask, k, &mine, plan));
    ctx->live++;
    return SPMM_OK;
}

static spmm_status_t check_pointer(const spmm_plan_t *graph, const char *name, const void *data,
                                   int64_t count)
{
    if (count > 0 && data == NULL) {
        return spmm_fail(&graph->env->err, SPMM_ERR_ARGUMENT, "%s is NULL", name);
    }
    if (count > 0 && !graph->device->ops->is_usable(graph->device, data)) {
        return spmm_fail(&graph->env->err, SPMM_ERR_ARGUMENT,
                         "%s does not lie in memory of this context's device (%s); see "
                         "spmm_buffer_alloc()",
                         name, graph->device->description);
    }
    return SPMM_OK;
}

static spmm_status_t check_rows(const spmm_plan_t *graph, const char *name, const void *data,
                                int64_t rows, int64_t k, int64_t ld)
{
    if (ld < k) {
        return spmm_fail(&graph->env->err, SPMM_ERR_ARGUMENT,
                         "ld of %s is %" PRId64 ", must be at least %" PRId64
                         " (row-major, %" PRId64 " columns)",
                         name, ld, k, k);
    }
    if (!spmm_ld_fits(rows, ld)) {
        return spmm_fail(&graph->env->err, SPMM_ERR_ARGUMENT,
                         "ld of %s is %" PRId64 ": no memory is that large", name, ld);
    }
    return check_pointer(graph, name, data, rows);
}

/* Rounded once to the type of the sums, see in_compute_type() of plan.c. */
static double rounded(const spmm_plan_t *graph, double x)
{
    const volatile float narrow = (float)x;

    return graph->ab_type == SPMM_R_64F ? x : (double)narrow;
}

spmm_status_t spmm_sddmm(spmm_sddmm_plan_t *plan, int64_t k, double alpha, const void *X,
                         int64_t ldx, const void *Y, int64_t ldy, double beta, void *S,
                         spmm_stream_t stream)
{
    const spmm_plan_t *graph;

    if (plan == NULL) {
        return spmm_fail(NULL, SPMM_ERR_ARGUMENT, "spmm_sddmm: plan is NULL");
    }
    graph = plan->graph;
    spmm_error_clear(&graph->env->err);
    if (k < 1 || k > graph->n) {
        return spmm_fail(&graph->env->err, SPMM_ERR_ARGUMENT,
                         "k is %" PRId64 ", must be 1 to %" PRId64 " as planned", k, graph->n);
    }
    SPMM_TRY(check_rows(graph, "X", X, graph->A->n_rows, k, ldx));
    SPMM_TRY(check_rows(graph, "Y", Y, graph->A->n_cols, k, ldy));
    SPMM_TRY(check_pointer(graph, "S", S, spmm_matrix_local_nnz(graph->A)));
    return spmm_sddmm_run(plan,
                          &(spmm_sddmm_args_t){.type   = graph->ab_type,
                                               .s_type = plan->s_type,
                                               .k      = k,
                                               .alpha  = rounded(graph, alpha),
                                               .beta   = rounded(graph, beta),
                                               .X      = X,
                                               .Y      = Y,
                                               .ldx    = ldx,
                                               .ldy    = ldy,
                                               .S      = S},
                          stream);
}

spmm_status_t spmm_sddmm_softmax(spmm_sddmm_plan_t *plan, double scale, const void *S, void *P,
                                 spmm_stream_t stream)
{
    int64_t nnz;

    if (plan == NULL) {
        return spmm_fail(NULL, SPMM_ERR_ARGUMENT, "spmm_sddmm_softmax: plan is NULL");
    }
    spmm_error_clear(&plan->graph->env->err);
    nnz = spmm_matrix_local_nnz(plan->graph->A);
    SPMM_TRY(check_pointer(plan->graph, "S", S, nnz));
    SPMM_TRY(check_pointer(plan->graph, "P", P, nnz));
    if (nnz > 0 && S == P && plan->s_type != plan->graph->ab_type) {
        return spmm_fail(&plan->graph->env->err, SPMM_ERR_ARGUMENT,
                         "P is S, but their types differ: P needs memory of its own");
    }
    return spmm_sddmm_run_softmax(plan, scale, S, P, stream);
}

spmm_status_t spmm_sddmm_plan_get_info(const spmm_sddmm_plan_t *plan, spmm_sddmm_info_t *info)
{
    const spmm_sampler_t *local, *remote;
    spmm_sddmm_info_t     mine;

    if (plan == NULL) {
        return spmm_fail(NULL, SPMM_ERR_ARGUMENT, "spmm_sddmm_plan_get_info: plan is NULL");
    }
    spmm_error_clear(&plan->graph->env->err);
    local  = &plan->local;
    remote = &plan->remote;
    mine   = (spmm_sddmm_info_t){.kernel       = spmm_sampler_kernel(local),
                                 .halo_kernel  = spmm_sampler_kernel(remote),
                                 .vector       = local->height > 0 ? local->height : 1,
                                 .halo_vector  = remote->height > 0 ? remote->height : 1,
                                 .vectors      = local->height > 0 ? local->vectors : local->nnz,
                                 .halo_vectors = remote->height > 0 ? remote->vectors : remote->nnz,
                                 .transport    = plan->graph->transport->name,
                                 .halo_rows    = spmm_halo_recv_rows(&plan->graph->halo),
                                 .mirror_rows  = spmm_halo_send_rows(&plan->graph->halo),
                                 .device_bytes = local->device_bytes + remote->device_bytes +
                                                 spmm_plan_buffer_bytes(plan->graph)};
    return spmm_give_info(&plan->graph->env->err, &mine, sizeof mine, info, "SDDMM info");
}

spmm_status_t spmm_sddmm_plan_destroy(spmm_sddmm_plan_t **plan)
{
    if (plan == NULL || *plan == NULL) {
        return SPMM_OK;
    }
    spmm_error_clear(&(*plan)->graph->env->err);
    --*(*plan)->graph->A->live;
    spmm_sddmm_free(*plan);
    *plan = NULL;
    return SPMM_OK;
}
