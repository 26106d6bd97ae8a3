/* SPDX-License-Identifier: Apache-2.0 */

#include <inttypes.h>

#include "api/context.h"
#include "base/same.h"
#include "device/check.h"
#include "plan/plan.h"
#include "plan/run/execute.h"
#include "plan/sddmm/sddmm.h"

spmm_status_t spmm_sddmm_plan_create(spmm_matrix_t *mask, int64_t k,
                                     const spmm_sddmm_options_t *options, spmm_sddmm_plan_t **plan)
{
    spmm_sddmm_options_t mine   = SPMM_SDDMM_OPTIONS_INIT;
    spmm_status_t        status = SPMM_OK;
    spmm_context_t      *ctx;

    if (mask == NULL) {
        return spmmi_fail(NULL, SPMM_ERR_ARGUMENT, "spmm_sddmm_plan_create: mask is NULL");
    }
    ctx = mask->context;
    SPMM_TRY(spmmi_enter(&ctx->env, "spmm_sddmm_plan_create"));
    if (plan == NULL) {
        status =
            spmmi_fail(&ctx->env.err, SPMM_ERR_ARGUMENT, "spmm_sddmm_plan_create: plan is NULL");
    } else if (options != NULL) {
        status = spmmi_take_options(&ctx->env.err, options, options->struct_size, &mine,
                                    sizeof mine, "SDDMM");
    }
    status = status == SPMM_OK ? spmmi_matrix_need_entries(mask) : status;
    SPMM_TRY(SPMM_COMPARE(&ctx->env, "spmm_sddmm_plan_create", status,
                          spmmi_whole("mask", mask->number), spmmi_whole("k", k),
                          spmmi_whole("s_type", mine.s_type), spmmi_text("kernel", mine.kernel)));
    SPMM_TRY(spmmi_sddmm_build(&ctx->shared, mask, k, &mine, plan));
    (*plan)->base->number = ++ctx->made;
    ctx->live++;
    return SPMM_OK;
}

/* Rounded once to the type of the sums, see in_compute_type() of plan.c. */
static double rounded(const spmm_plan_t *base, double x)
{
    const volatile float narrow = (float)x;

    return base->ab_type == SPMM_R_64F ? x : (double)narrow;
}

/* Local. */
static spmm_status_t check_sddmm(const spmm_sddmm_plan_t *plan, int64_t k, const void *X,
                                 int64_t ldx, const void *Y, int64_t ldy, const void *S)
{
    const spmm_plan_t *base = plan->base;
    const int64_t      nnz  = spmmi_matrix_local_nnz(base->A);
    spmm_extent_t      s, x, y;

    SPMM_TRY(spmmi_plan_check_sequence(base));
    if (k < 1 || k > base->n) {
        return spmmi_fail(&base->env->err, SPMM_ERR_ARGUMENT,
                          "k is %" PRId64 ", must be 1 to %" PRId64 " as planned", k, base->n);
    }
    SPMM_TRY(spmmi_check_rows(base->device, "X", X, base->A->n_rows, k, ldx, base->ab_type));
    SPMM_TRY(spmmi_check_rows(base->device, "Y", Y, base->A->n_cols, k, ldy, base->ab_type));
    SPMM_TRY(spmmi_check_block(base->device, "S", S, nnz, plan->s_type));
    s = spmmi_extent_of(S, 1, nnz, nnz, plan->s_type);
    x = spmmi_extent_of(X, base->A->n_rows, k, ldx, base->ab_type);
    y = spmmi_extent_of(Y, base->A->n_cols, k, ldy, base->ab_type);
    SPMM_TRY(spmmi_check_apart(base->device, "S", &s, "X", &x));
    return spmmi_check_apart(base->device, "S", &s, "Y", &y);
}

spmm_status_t spmm_sddmm(spmm_sddmm_plan_t *plan, int64_t k, double alpha, const void *X,
                         int64_t ldx, const void *Y, int64_t ldy, double beta, void *S,
                         spmm_stream_t stream)
{
    spmm_status_t status;
    spmm_plan_t  *base;

    if (plan == NULL) {
        return spmmi_fail(NULL, SPMM_ERR_ARGUMENT, "spmm_sddmm: plan is NULL");
    }
    base = plan->base;
    SPMM_TRY(spmmi_enter(base->env, "spmm_sddmm"));
    status = check_sddmm(plan, k, X, ldx, Y, ldy, S);
    status =
        SPMM_CHECK_CALL(base->env, "spmm_sddmm", status, spmmi_whole("plan", base->number),
                        spmmi_whole("k", k), spmmi_real("alpha", alpha), spmmi_real("beta", beta),
                        spmmi_whole("ldx", ldx), spmmi_whole("ldy", ldy));
    if (status != SPMM_OK) {
        spmmi_plan_skip(base);
        return status;
    }
    return spmmi_sddmm_run(plan,
                           &(spmm_sddmm_args_t){.type   = base->ab_type,
                                                .s_type = plan->s_type,
                                                .k      = k,
                                                .alpha  = rounded(base, alpha),
                                                .beta   = rounded(base, beta),
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
    const spmm_plan_t *base;
    spmm_extent_t      s, p;
    int64_t            nnz;

    if (plan == NULL) {
        return spmmi_fail(NULL, SPMM_ERR_ARGUMENT, "spmm_sddmm_softmax: plan is NULL");
    }
    base = plan->base;
    spmmi_error_clear(&base->env->err);
    nnz = spmmi_matrix_local_nnz(base->A);
    SPMM_TRY(spmmi_check_block(base->device, "S", S, nnz, plan->s_type));
    SPMM_TRY(spmmi_check_block(base->device, "P", P, nnz, base->ab_type));
    if (S != P || plan->s_type != base->ab_type) {
        s = spmmi_extent_of(S, 1, nnz, nnz, plan->s_type);
        p = spmmi_extent_of(P, 1, nnz, nnz, base->ab_type);
        SPMM_TRY(spmmi_check_apart(base->device, "P", &p, "S", &s));
    }
    return spmmi_sddmm_run_softmax(plan, scale, S, P, stream);
}

spmm_status_t spmm_sddmm_plan_get_info(const spmm_sddmm_plan_t *plan, spmm_sddmm_info_t *info)
{
    const spmm_sampler_t *local, *halo;
    spmm_sddmm_info_t     mine;

    if (plan == NULL) {
        return spmmi_fail(NULL, SPMM_ERR_ARGUMENT, "spmm_sddmm_plan_get_info: plan is NULL");
    }
    spmmi_error_clear(&plan->base->env->err);
    local = &plan->local;
    halo  = &plan->halo;
    mine  = (spmm_sddmm_info_t){.kernel       = spmmi_sampler_kernel(local),
                                .halo_kernel  = spmmi_sampler_kernel(halo),
                                .vector       = local->height > 0 ? local->height : 1,
                                .halo_vector  = halo->height > 0 ? halo->height : 1,
                                .vectors      = local->height > 0 ? local->vectors : local->nnz,
                                .halo_vectors = halo->height > 0 ? halo->vectors : halo->nnz,
                                .transport    = plan->base->exchange.transport->name,
                                .halo_rows    = spmmi_halo_recv_rows(&plan->base->exchange.halo),
                                .send_rows    = spmmi_halo_send_rows(&plan->base->exchange.halo),
                                .device_bytes = local->uploads.bytes + halo->uploads.bytes +
                                                plan->base->buffer_bytes};
    return spmmi_give_info(&plan->base->env->err, &mine, sizeof mine, info, "SDDMM info");
}

spmm_status_t spmm_sddmm_plan_destroy(spmm_sddmm_plan_t **plan)
{
    if (plan == NULL || *plan == NULL) {
        return SPMM_OK;
    }
    spmmi_error_clear(&(*plan)->base->env->err);
    --*(*plan)->base->A->live;
    spmmi_sddmm_free(*plan);
    *plan = NULL;
    return SPMM_OK;
}
