/* SPDX-License-Identifier: Apache-2.0 */
/** @file sddmm.c
 *  SDDMM as a plan runs a product (run/overlap.c).  Rows of Y travel on the comm stream.  Meanwhile
 *  the user stream computes the entries whose row of Y is this rank's own, and then the others.
 *  Every entry is in one of the two blocks, so neither waits for results of the other.
 */
#include "plan/sddmm/sddmm.h"

#include <inttypes.h>

#include "base/alloc.h"
#include "plan/create/buffers.h"
#include "plan/create/create.h"
#include "plan/plan.h"

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
    spmmi_block_free_csr(block);
    spmmi_free(block->source);
    block->source = NULL;
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

/* The entries of other ranks' rows of Y, packed where the exchange left them. */
static spmm_status_t run_halo(const spmm_sddmm_plan_t *plan, const spmm_sddmm_args_t *args,
                              const void *rows, spmm_stream_t stream)
{
    spmm_sddmm_args_t mine = *args;

    mine.Y   = rows;
    mine.ldy = args->k;
    return spmmi_sampler_run(&plan->halo, &mine, stream);
}

/* What failed here does not keep this rank from the exchange, which peers wait for. */
static spmm_status_t run_overlapped(spmm_sddmm_plan_t *plan, const spmm_sddmm_args_t *args,
                                    spmm_stream_t stream)
{
    spmm_plan_t          *base = plan->base;
    const spmm_operands_t y    = {.ab_type = args->type,
                                  .layout  = SPMM_LAYOUT_ROW,
                                  .n       = args->k,
                                  .B       = args->Y,
                                  .ldb     = args->ldy,
                                  .stream  = stream};
    const spmm_slice_t    all  = {.n = args->k, .halo = base->exchange.ghost_rows};
    spmm_status_t         work;

    SPMM_TRY(spmmi_phase_wait(&base->phases, 0, SPMM_PHASE_START, base->exchange.comm_stream));
    SPMM_TRY(spmmi_plan_begin_rows(base, &y, &all, base->exchange.comm_stream));
    work = spmmi_sampler_run(&plan->local, args, stream);
    SPMM_TRY(spmmi_plan_end_rows(base, &y, &all, base->exchange.comm_stream));
    /* Also where the diagonal block failed: Y is the caller's again behind this. */
    work =
        spmmi_first_failure(work, spmmi_phase_wait(&base->phases, 0, SPMM_PHASE_EXCHANGED, stream));
    SPMM_TRY(work);
    return run_halo(plan, args, base->exchange.ghost_rows, stream);
}

static spmm_status_t run(spmm_sddmm_plan_t *plan, const spmm_sddmm_args_t *args,
                         spmm_stream_t stream)
{
    spmm_plan_t  *base = plan->base;
    spmm_status_t status, ended;

    /* One kernel and nothing else: there are no buffers, and memory in use is not released. */
    if (base->exchange.alone) {
        return spmmi_sampler_run(&plan->local, args, stream);
    }
    /* The buffers belong to the last product until it is done, on whatever stream that was. */
    if (base->timing.in_use) {
        SPMM_TRY(spmmi_phase_wait(&base->phases, 0, SPMM_PHASE_DONE, stream));
    }
    SPMM_TRY(spmmi_phase_record(&base->phases, 0, SPMM_PHASE_START, stream));
    status              = run_overlapped(plan, args, stream);
    ended               = spmmi_phase_record(&base->phases, 0, SPMM_PHASE_DONE, stream);
    base->timing.in_use = base->timing.in_use || ended == SPMM_OK;
    return spmmi_first_failure(status, ended);
}

spmm_status_t spmmi_sddmm_run(spmm_sddmm_plan_t *plan, const spmm_sddmm_args_t *args,
                              spmm_stream_t stream)
{
    spmm_plan_exchange_t *exchange = &plan->base->exchange;
    const uint32_t        begun    = exchange->begun;
    const spmm_status_t   status   = run(plan, args, stream);

    exchange->skipped += status != SPMM_OK && exchange->begun == begun;
    return status;
}
