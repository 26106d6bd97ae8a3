/* SPDX-License-Identifier: Apache-2.0 */
/** @file attention.c
 *  Sparse attention distributed by rows of Q.  Rows of K and V travel.  The off-diagonal block
 *  resumes the softmax where the diagonal block left it, by O and the log of the sum of
 *  exponentials.
 *
 *  The gradient of Q has the rows of the mask, those of K and V have the rows of its transpose.
 *  Rows of Q, dO and stats are at the columns of the transpose: they travel, and no sums have to.
 */
#include "plan/attention/attention.h"

#include "base/alloc.h"
#include "base/scalar.h"
#include "matrix/transpose.h"
#include "plan/create/create.h"
#include "plan/create/exchange.h"
#include "plan/plan.h"
#include "plan/run/execute.h"

/* Elements of the mask's type that a row of stats takes. */
static int64_t stats_width(spmm_type_t type, int64_t heads)
{
    return 2 * heads * (int64_t)(spmm_type_size(spmmi_accum_type(type)) / spmm_type_size(type));
}

static spmm_status_t make_block(const spmm_plan_t *base, spmm_block_t *block,
                                const spmm_attention_what_t *what, spmm_attender_t *attender)
{
    const spmm_status_t status = spmmi_attender_create(base->device, &block->csr, what, attender);

    spmmi_block_free_input(block);
    return status;
}

static spmm_status_t make_local(spmm_attention_side_t *side, const spmm_attention_what_t *what)
{
    SPMM_TRY(make_block(side->base, &side->base->blocks.diagonal, what, &side->local));
    SPMM_TRY(make_block(side->base, &side->base->blocks.off_diagonal, what, &side->halo));
    SPMM_TRY(spmmi_phases_create(&side->base->phases, SPMM_PASS_OPERANDS));
    return spmmi_plan_make_rows(side->base, false);
}

/* @p n: columns of all operands that travel.  Collective, agreed. */
static spmm_status_t make_side(spmm_transport_shared_t *shared, spmm_matrix_t *mask, int64_t n,
                               const spmm_attention_what_t *what, const spmm_attention_options_t *o,
                               spmm_attention_side_t *side)
{
    spmm_plan_options_t options = SPMM_PLAN_OPTIONS_INIT;

    options.engine    = what->kernel; /* so that ranks that ask for different ones find out */
    options.transport = o->transport;
    options.tuning    = o->tuning;
    SPMM_TRY(spmmi_plan_build_exchange(shared, mask, n, &options, &side->base));
    return spmmi_agree(shared->env, make_local(side, what));
}

static spmm_status_t alloc_stats(const spmm_plan_t *base, int64_t rows, int64_t width, void **to)
{
    const size_t size = spmm_type_size(spmmi_accum_type(base->ab_type));
    size_t       bytes;

    if (!spmmi_size_mul((size_t)rows, (size_t)width * size, &bytes)) {
        return spmmi_fail_memory(&base->env->err, rows, (size_t)width * size, "sums of attention");
    }
    return base->device->ops->alloc(base->device, bytes, to);
}

static spmm_status_t make(spmm_attention_plan_t *plan, spmm_transport_shared_t *shared,
                          spmm_matrix_t *mask, const spmm_attention_options_t *o)
{
    const int64_t         n    = plan->heads * plan->k;
    spmm_attention_what_t what = {.type      = mask->type,
                                  .heads     = plan->heads,
                                  .k         = plan->k,
                                  .kernel    = o->kernel,
                                  .gradients = o->backward != 0};

    SPMM_TRY(spmmi_agree(shared->env, spmmi_attender_check(shared->device, &what)));
    SPMM_TRY(make_side(shared, mask, 2 * n, &what, o, &plan->mask));
    SPMM_TRY(spmmi_agree(shared->env,
                         alloc_stats(plan->mask.base, mask->n_rows, plan->heads, &plan->lse)));
    if (!what.gradients) {
        return SPMM_OK;
    }
    what.transposed = true;
    SPMM_TRY(spmmi_matrix_transpose(mask, false, &plan->transpose));
    SPMM_TRY(make_side(shared, plan->transpose, 2 * n + stats_width(mask->type, plan->heads), &what,
                       o, &plan->transposed));
    return spmmi_agree(shared->env,
                       alloc_stats(plan->mask.base, mask->n_rows, 2 * plan->heads, &plan->stats));
}

spmm_status_t spmmi_attention_build(spmm_transport_shared_t *shared, spmm_matrix_t *mask,
                                    int64_t heads, int64_t k,
                                    const spmm_attention_options_t *options,
                                    spmm_attention_plan_t         **plan)
{
    spmm_status_t          status = SPMM_OK;
    spmm_attention_plan_t *made;

    if (SPMM_NEW_ZERO(made, 1) == NULL) {
        status = spmmi_fail_memory(&shared->env->err, 1, sizeof *made, "an attention plan");
    }
    status = spmmi_agree(shared->env, status);
    if (status == SPMM_OK) {
        made->heads = heads;
        made->k     = k;
        status      = make(made, shared, mask, options);
    }
    if (status != SPMM_OK) {
        spmmi_attention_free(made);
        return status;
    }
    *plan = made;
    return SPMM_OK;
}

static void free_side(spmm_attention_side_t *side)
{
    spmmi_attender_free(&side->local);
    spmmi_attender_free(&side->halo);
    spmmi_plan_free(side->base);
}

void spmmi_attention_free(spmm_attention_plan_t *plan)
{
    if (plan == NULL) {
        return;
    }
    if (plan->mask.base != NULL) {
        const spmm_device_t *device = plan->mask.base->device;

        (void)spmmi_plan_wait_idle(plan->mask.base);
        device->ops->release(device, plan->lse);
        device->ops->release(device, plan->stats);
    }
    free_side(&plan->mask);
    free_side(&plan->transposed);
    spmmi_matrix_free(plan->transpose);
    spmmi_free(plan);
}

static const spmm_attender_t *attender_of(const void *side, const spmm_pass_operand_t *operand)
{
    const spmm_attention_side_t *of = side;

    return operand == NULL ? &of->local : &of->halo;
}

/* Rows of the off-diagonal block are what was received. */
static void take(const spmm_pass_operand_t *operand, const void **rows, int64_t *ld)
{
    *rows = operand->rows;
    *ld   = operand->ld;
}

static spmm_status_t run_forward(const void *side, const void *args,
                                 const spmm_pass_operand_t *operand, spmm_stream_t stream)
{
    spmm_attention_args_t mine = *(const spmm_attention_args_t *)args;

    if (operand != NULL) {
        take(&operand[0], &mine.K, &mine.ldk);
        take(&operand[1], &mine.V, &mine.ldv);
        mine.resume = true;
    }
    return spmmi_attender_run(attender_of(side, operand), &mine, stream);
}

spmm_status_t spmmi_attention_run(spmm_attention_plan_t *plan, const spmm_attention_args_t *args,
                                  spmm_stream_t stream)
{
    spmm_attention_args_t mine = *args;
    const int64_t         n    = plan->heads * plan->k;
    const spmm_pass_t     pass = {.operand = {{args->K, args->ldk, n}, {args->V, args->ldv, n}},
                                  .count   = 2,
                                  .self    = &plan->mask,
                                  .args    = &mine,
                                  .run     = run_forward};

    mine.lse = args->lse == NULL ? plan->lse : args->lse;
    return spmmi_plan_run_pass(plan->mask.base, &pass, stream);
}

static spmm_status_t run_query(const void *side, const void *args,
                               const spmm_pass_operand_t *operand, spmm_stream_t stream)
{
    spmm_attention_gradient_t mine = *(const spmm_attention_gradient_t *)args;

    if (operand != NULL) {
        take(&operand[0], &mine.K, &mine.ldk);
        take(&operand[1], &mine.V, &mine.ldv);
        mine.resume = true;
    }
    return spmmi_attender_query(attender_of(side, operand), &mine, stream);
}

static spmm_status_t run_key(const void *side, const void *args, const spmm_pass_operand_t *operand,
                             spmm_stream_t stream)
{
    spmm_attention_gradient_t mine = *(const spmm_attention_gradient_t *)args;

    if (operand != NULL) {
        take(&operand[0], &mine.Q, &mine.ldq);
        take(&operand[1], &mine.dO, &mine.ldo);
        mine.stats  = operand[2].rows;
        mine.resume = true;
    }
    return spmmi_attender_key(attender_of(side, operand), &mine, stream);
}

/* Both sides are run also where one has failed: peers wait for what travels. */
spmm_status_t spmmi_attention_run_backward(spmm_attention_plan_t           *plan,
                                           const spmm_attention_gradient_t *args,
                                           const spmm_attention_stats_t    *stats,
                                           spmm_stream_t                    stream)
{
    spmm_attention_gradient_t mine   = *args;
    spmm_attention_stats_t    filled = *stats;
    const int64_t     n = plan->heads * plan->k, cols = stats_width(args->type, plan->heads);
    const spmm_pass_t query = {.operand = {{args->K, args->ldk, n}, {args->V, args->ldv, n}},
                               .count   = 2,
                               .self    = &plan->mask,
                               .args    = &mine,
                               .run     = run_query};
    const spmm_pass_t key   = {
          .operand = {{args->Q, args->ldq, n}, {args->dO, args->ldo, n}, {plan->stats, cols, cols}},
          .count   = 3,
          .self    = &plan->transposed,
          .args    = &mine,
          .run     = run_key};
    spmm_plan_t  *transposed = plan->transposed.base;
    spmm_status_t status     = SPMM_OK, ended;

    mine.stats   = plan->stats;
    filled.stats = plan->stats;
    /* The last gradients, on whatever stream, may be at work on them. */
    if (transposed->timing.in_use) {
        status = spmmi_phase_wait(&transposed->phases, 0, SPMM_PHASE_DONE, stream);
    }
    if (status == SPMM_OK) {
        status = spmmi_attender_stats(plan->mask.base->device, &filled, stream);
    }
    status = spmmi_first_failure(status, spmmi_plan_run_pass(plan->mask.base, &query, stream));
    status = spmmi_first_failure(status, spmmi_plan_run_pass(transposed, &key, stream));
    ended  = spmmi_phase_record(&transposed->phases, 0, SPMM_PHASE_DONE, stream);
    transposed->timing.in_use = transposed->timing.in_use || ended == SPMM_OK;
    return spmmi_first_failure(status, ended);
}
