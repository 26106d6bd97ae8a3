/* SPDX-License-Identifier: Apache-2.0 */

#include <inttypes.h>

#include "api/context.h"
#include "base/same.h"
#include "base/scalar.h"
#include "device/check.h"
#include "plan/attention/attention.h"
#include "plan/plan.h"
#include "plan/run/execute.h"

enum { ALIGNED = 16 }; /* bytes, of what kernel windows copies */

spmm_status_t spmm_attention_plan_create(spmm_matrix_t *mask, int64_t heads, int64_t k,
                                         const spmm_attention_options_t *options,
                                         spmm_attention_plan_t         **plan)
{
    spmm_attention_options_t mine   = SPMM_ATTENTION_OPTIONS_INIT;
    spmm_status_t            status = SPMM_OK;
    spmm_context_t          *ctx;

    if (mask == NULL) {
        return spmmi_fail(NULL, SPMM_ERR_ARGUMENT, "spmm_attention_plan_create: mask is NULL");
    }
    ctx = mask->context;
    SPMM_TRY(spmmi_enter(&ctx->env, "spmm_attention_plan_create"));
    if (plan == NULL) {
        status = spmmi_fail(&ctx->env.err, SPMM_ERR_ARGUMENT,
                            "spmm_attention_plan_create: plan is NULL");
    } else if (options != NULL) {
        status = spmmi_take_options(&ctx->env.err, options, options->struct_size, &mine,
                                    sizeof mine, "attention");
    }
    status = status == SPMM_OK ? spmmi_matrix_need_entries(mask) : status;
    SPMM_TRY(SPMM_COMPARE(&ctx->env, "spmm_attention_plan_create", status,
                          spmmi_whole("mask", mask->number), spmmi_whole("heads", heads),
                          spmmi_whole("k", k), spmmi_whole("backward", mine.backward != 0),
                          spmmi_text("kernel", mine.kernel)));
    SPMM_TRY(spmmi_attention_build(&ctx->shared, mask, heads, k, &mine, plan));
    (*plan)->mask.base->number = ++ctx->made;
    ctx->live++;
    return SPMM_OK;
}

/** A dense operand of a call. */
typedef struct {
    const char *name;
    const void *at;
    int64_t     rows, ld;
    bool        written;
} operand_t;

static spmm_extent_t extent_of(const spmm_attention_plan_t *plan, const operand_t *o)
{
    return spmmi_extent_of(o->at, o->rows, plan->heads * plan->k, o->ld, plan->mask.base->ab_type);
}

static bool copies_16_bytes(const spmm_attention_plan_t *plan)
{
    return (plan->mask.local.in_windows || plan->mask.halo.in_windows) &&
           plan->mask.base->device->kind == SPMM_DEVICE_CUDA;
}

static spmm_status_t check_alignment(const spmm_attention_plan_t *plan, const operand_t *o)
{
    const size_t ld = (size_t)o->ld * spmm_type_size(plan->mask.base->ab_type);

    if (o->rows > 0 && ((uintptr_t)o->at % ALIGNED != 0 || ld % ALIGNED != 0)) {
        return spmmi_fail(&plan->mask.base->env->err, SPMM_ERR_ARGUMENT,
                          "%s begins at %p with rows of %zu bytes: the attention kernel windows "
                          "needs multiples of 16; use kernel rows",
                          o->name, o->at, ld);
    }
    return SPMM_OK;
}

/* Local.  @p lse  NULL: none */
static spmm_status_t check_operands(const spmm_attention_plan_t *plan, const operand_t *o,
                                    int count, const void *lse)
{
    const spmm_plan_t  *base   = plan->mask.base;
    const int64_t       n_sums = lse == NULL ? 0 : base->A->n_rows * plan->heads;
    const spmm_type_t   type   = spmmi_accum_type(base->ab_type);
    const spmm_extent_t sums   = spmmi_extent_of(lse, 1, n_sums, n_sums, type);

    for (int k = 0; k < count; k++) {
        SPMM_TRY(spmmi_check_rows(base->device, o[k].name, o[k].at, o[k].rows,
                                  plan->heads * plan->k, o[k].ld, base->ab_type));
        if (copies_16_bytes(plan)) {
            SPMM_TRY(check_alignment(plan, &o[k]));
        }
    }
    SPMM_TRY(spmmi_check_block(base->device, "lse", lse, n_sums, type));
    for (int k = 0; k < count; k++) {
        const spmm_extent_t a = extent_of(plan, &o[k]);

        SPMM_TRY(spmmi_check_apart(base->device, "lse", &sums, o[k].name, &a));
        for (int j = 0; j < count && o[k].written; j++) {
            const spmm_extent_t b = extent_of(plan, &o[j]);

            if (j != k) {
                SPMM_TRY(spmmi_check_apart(base->device, o[k].name, &a, o[j].name, &b));
            }
        }
    }
    return SPMM_OK;
}

spmm_status_t spmm_attention(spmm_attention_plan_t *plan, double scale, const void *Q, int64_t ldq,
                             const void *K, int64_t ldk, const void *V, int64_t ldv, void *O,
                             int64_t ldo, void *lse, spmm_stream_t stream)
{
    spmm_status_t status;
    spmm_plan_t  *base;

    if (plan == NULL) {
        return spmmi_fail(NULL, SPMM_ERR_ARGUMENT, "spmm_attention: plan is NULL");
    }
    base = plan->mask.base;
    SPMM_TRY(spmmi_enter(base->env, "spmm_attention"));
    const int64_t   rows = base->A->n_rows, cols = base->A->n_cols;
    const operand_t operand[] = {{"Q", Q, rows, ldq, false},
                                 {"K", K, cols, ldk, false},
                                 {"V", V, cols, ldv, false},
                                 {"O", O, rows, ldo, true}};

    status = spmmi_plan_check_sequence(base);
    if (status == SPMM_OK) {
        status = check_operands(plan, operand, (int)(sizeof operand / sizeof operand[0]), lse);
    }
    status =
        SPMM_CHECK_CALL(base->env, "spmm_attention", status, spmmi_whole("plan", base->number),
                        spmmi_real("scale", scale), spmmi_whole("ldq", ldq),
                        spmmi_whole("ldk", ldk), spmmi_whole("ldv", ldv), spmmi_whole("ldo", ldo));
    if (status != SPMM_OK) {
        spmmi_plan_skip(base);
        return status;
    }
    return spmmi_attention_run(plan,
                               &(spmm_attention_args_t){.type  = base->ab_type,
                                                        .heads = plan->heads,
                                                        .k     = plan->k,
                                                        .scale = scale,
                                                        .Q     = Q,
                                                        .K     = K,
                                                        .V     = V,
                                                        .O     = O,
                                                        .ldq   = ldq,
                                                        .ldk   = ldk,
                                                        .ldv   = ldv,
                                                        .ldo   = ldo,
                                                        .lse   = lse},
                               stream);
}

/* Local. */
static spmm_status_t check_backward(const spmm_attention_plan_t *plan, const operand_t *operand,
                                    int count, const void *lse)
{
    const spmm_plan_t *base = plan->mask.base;

    if (plan->transpose == NULL) {
        return spmmi_fail(&base->env->err, SPMM_ERR_UNSUPPORTED,
                          "this attention plan was made without option backward");
    }
    SPMM_TRY(spmmi_plan_check_sequence(base));
    SPMM_TRY(spmmi_plan_check_sequence(plan->transposed.base));
    if (lse == NULL && base->A->n_rows > 0) {
        return spmmi_fail(&base->env->err, SPMM_ERR_ARGUMENT, "lse is NULL");
    }
    return check_operands(plan, operand, count, lse);
}

spmm_status_t spmm_attention_backward(spmm_attention_plan_t *plan, double scale, const void *Q,
                                      int64_t ldq, const void *K, int64_t ldk, const void *V,
                                      int64_t ldv, const void *O, const void *dO, int64_t ldo,
                                      const void *lse, void *dQ, void *dK, void *dV,
                                      spmm_stream_t stream)
{
    spmm_status_t status;
    spmm_plan_t  *base;

    if (plan == NULL) {
        return spmmi_fail(NULL, SPMM_ERR_ARGUMENT, "spmm_attention_backward: plan is NULL");
    }
    base = plan->mask.base;
    SPMM_TRY(spmmi_enter(base->env, "spmm_attention_backward"));
    const int64_t   rows = base->A->n_rows, cols = base->A->n_cols;
    const operand_t operand[] = {{"Q", Q, rows, ldq, false},   {"K", K, cols, ldk, false},
                                 {"V", V, cols, ldv, false},   {"O", O, rows, ldo, false},
                                 {"dO", dO, rows, ldo, false}, {"dQ", dQ, rows, ldq, true},
                                 {"dK", dK, cols, ldk, true},  {"dV", dV, cols, ldv, true}};

    status = check_backward(plan, operand, (int)(sizeof operand / sizeof operand[0]), lse);
    status = SPMM_CHECK_CALL(base->env, "spmm_attention_backward", status,
                             spmmi_whole("plan", base->number), spmmi_real("scale", scale),
                             spmmi_whole("ldq", ldq), spmmi_whole("ldk", ldk),
                             spmmi_whole("ldv", ldv), spmmi_whole("ldo", ldo));
    if (status != SPMM_OK) {
        if (plan->transpose != NULL) {
            spmmi_plan_skip(base);
            spmmi_plan_skip(plan->transposed.base);
        }
        return status;
    }
    return spmmi_attention_run_backward(plan,
                                        &(spmm_attention_gradient_t){.type  = base->ab_type,
                                                                     .heads = plan->heads,
                                                                     .k     = plan->k,
                                                                     .scale = scale,
                                                                     .Q     = Q,
                                                                     .K     = K,
                                                                     .V     = V,
                                                                     .dO    = dO,
                                                                     .ldq   = ldq,
                                                                     .ldk   = ldk,
                                                                     .ldv   = ldv,
                                                                     .ldo   = ldo,
                                                                     .dQ    = dQ,
                                                                     .dK    = dK,
                                                                     .dV    = dV},
                                        &(spmm_attention_stats_t){.type   = base->ab_type,
                                                                  .n_rows = rows,
                                                                  .heads  = plan->heads,
                                                                  .k      = plan->k,
                                                                  .O      = O,
                                                                  .dO     = dO,
                                                                  .ldo    = ldo,
                                                                  .lse    = lse},
                                        stream);
}

static size_t side_bytes(const spmm_attention_side_t *side)
{
    return side->base == NULL
               ? 0
               : side->local.uploads.bytes + side->halo.uploads.bytes + side->base->buffer_bytes;
}

spmm_status_t spmm_attention_plan_get_info(const spmm_attention_plan_t *plan,
                                           spmm_attention_info_t       *info)
{
    const spmm_attender_t *local, *halo;
    const spmm_plan_t     *base;
    spmm_attention_info_t  mine;
    size_t                 sums;

    if (plan == NULL) {
        return spmmi_fail(NULL, SPMM_ERR_ARGUMENT, "spmm_attention_plan_get_info: plan is NULL");
    }
    base = plan->mask.base;
    spmmi_error_clear(&base->env->err);
    local = &plan->mask.local;
    halo  = &plan->mask.halo;
    sums  = (size_t)(base->A->n_rows * plan->heads) * (plan->stats == NULL ? 1 : 3) *
           spmm_type_size(spmmi_accum_type(base->ab_type));
    mine = (spmm_attention_info_t){.kernel       = spmmi_attender_kernel(local),
                                   .halo_kernel  = spmmi_attender_kernel(halo),
                                   .vector       = local->in_windows ? local->windows.height : 1,
                                   .halo_vector  = halo->in_windows ? halo->windows.height : 1,
                                   .vectors      = local->vectors,
                                   .halo_vectors = halo->vectors,
                                   .columns      = local->columns,
                                   .halo_columns = halo->columns,
                                   .transport    = base->exchange.transport->name,
                                   .halo_rows    = spmmi_halo_recv_rows(&base->exchange.halo),
                                   .send_rows    = spmmi_halo_send_rows(&base->exchange.halo),
                                   .device_bytes = side_bytes(&plan->mask) +
                                                   side_bytes(&plan->transposed) + sums};
    return spmmi_give_info(&base->env->err, &mine, sizeof mine, info, "attention info");
}

spmm_status_t spmm_attention_plan_destroy(spmm_attention_plan_t **plan)
{
    if (plan == NULL || *plan == NULL) {
        return SPMM_OK;
    }
    spmmi_error_clear(&(*plan)->mask.base->env->err);
    --*(*plan)->mask.base->A->live;
    spmmi_attention_free(*plan);
    *plan = NULL;
    return SPMM_OK;
}
