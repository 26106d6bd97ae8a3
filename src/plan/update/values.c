/* SPDX-License-Identifier: Apache-2.0 */
/** @file values.c  New values of A: from the host into all plans of A, or from the device. */
#include "plan/update/values.h"

#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/scalar.h"
#include "engine/sddmm/sddmm.h"
#include "plan/blocks/arrival.h"
#include "plan/blocks/split.h"
#include "plan/plan.h"
#include "plan/run/execute.h"

/* Gather the values of one block from the arrival order, conjugate them for op H, and hand them to
 * the engine of a format. */
static spmm_status_t refill_format(const spmm_plan_t *plan, const spmm_block_t *block,
                                   const void *arrived)
{
    const size_t  size = spmm_type_size(plan->ab_type);
    char         *values;
    spmm_status_t status;

    if (block->source == NULL) {
        return spmmi_engine_refill(block->engine, plan->device, plan->ab_type, block->format,
                                   arrived);
    }
    values = spmmi_alloc(block->nnz, size);
    if (values == NULL) {
        return spmmi_fail_memory(&plan->env->err, block->nnz, size, "new values");
    }
#pragma omp parallel for num_threads(plan->device->threads)
    for (int64_t k = 0; k < block->nnz; k++) {
        memcpy(values + (size_t)k * size, (const char *)arrived + (size_t)block->source[k] * size,
               size);
    }
    if (plan->conjugate && !plan->flips) {
        spmmi_conjugate(plan->ab_type, values, block->nnz);
    }
    status = spmmi_engine_refill(block->engine, plan->device, plan->ab_type, block->format, values);
    spmmi_free(values);
    return status;
}

spmm_status_t spmmi_plan_refill(void *self)
{
    spmm_plan_t   *plan = self;
    spmm_arrival_t in   = {.device = plan->device, .rows = &plan->rows, .cols = &plan->cols};
    spmm_status_t  status, finished;

    finished = spmmi_plan_wait_idle(plan); /* peers wait for this rank's values in any case */
    status   = spmmi_plan_flip(plan);
    if (status == SPMM_OK) {
        in.A   = spmmi_plan_matrix(plan);
        status = spmmi_first_failure(spmmi_arrival_receive_values(&in), finished);
    }
    for (int b = 0; b < SPMM_PLAN_BLOCKS && status == SPMM_OK; b++) {
        const spmm_block_t *block = spmmi_plan_block(plan, b);

        if (block->engine != NULL) { /* else the schedule has no use for the block */
            status = refill_format(plan, block, in.values);
        }
    }
    spmmi_arrival_free(&in);
    spmmi_plan_unflip(plan);
    return status;
}

/* Blocks without entries may have any engine, and nothing to be refilled. */
static bool has_format(const spmm_block_t *block)
{
    return block->nnz > 0 && block->engine != NULL;
}

static bool has_places(const spmm_block_t *block)
{
    return has_format(block) && block->engine->places != NULL;
}

/* Entries of the block become places among the caller's values; false: all stay where they are. */
static bool follow(const spmm_plan_t *plan, const spmm_block_t *block, int64_t count, int32_t *list)
{
    const int64_t *order = plan->A->value_order;
    bool           moves = plan->conjugate; /* a copy would not do */

    for (int64_t k = 0; k < count; k++) {
        int64_t e = list[k];

        if (e >= 0) {
            e = block->source == NULL ? e : block->source[e];
            e = order == NULL ? e : order[e];
        }
        moves   = moves || e != k;
        list[k] = (int32_t)e;
    }
    return moves;
}

static spmm_status_t make_list(const spmm_plan_t *plan, const spmm_block_t *block,
                               spmm_value_list_t *made)
{
    int32_t      *list = NULL;
    spmm_status_t status;

    SPMM_TRY(block->engine->places(block->format, &made->values, &made->count, &list));
    if (list == NULL) {
        if (SPMM_NEW(list, made->count) == NULL) {
            return spmmi_fail_memory(&plan->env->err, made->count, sizeof *list,
                                     "places of values");
        }
        for (int64_t k = 0; k < made->count; k++) {
            list[k] = (int32_t)k;
        }
    }
    status = SPMM_OK;
    if (follow(plan, block, made->count, list)) {
        status = spmmi_device_upload_list(plan->device, list, made->count, &made->source);
    }
    spmmi_free(list);
    return status;
}

static spmm_status_t make_lists(spmm_plan_t *plan)
{
    if (plan->values.listed) {
        return SPMM_OK;
    }
    for (int k = 0; k < SPMM_PLAN_BLOCKS; k++) {
        const spmm_block_t *block = spmmi_plan_block(plan, k);

        if (has_places(block)) {
            const spmm_status_t status = make_list(plan, block, &plan->values.list[k]);

            if (status != SPMM_OK) {
                spmmi_plan_free_lists(plan);
                return status;
            }
        }
    }
    plan->values.listed = true;
    return SPMM_OK;
}

void spmmi_plan_free_lists(spmm_plan_t *plan)
{
    for (int k = 0; k < SPMM_PLAN_BLOCKS; k++) {
        plan->device->ops->release(plan->device, plan->values.list[k].source);
        memset(&plan->values.list[k], 0, sizeof plan->values.list[k]);
    }
    plan->values.listed = false;
}

static spmm_status_t place(const spmm_plan_t *plan, const spmm_value_list_t *list,
                           const void *values, spmm_stream_t stream)
{
    const size_t size = spmm_type_size(plan->ab_type);

    if (list->source == NULL) {
        return list->count == 0 ? SPMM_OK
                                : plan->device->ops->copy(plan->device, list->values, values,
                                                          (size_t)list->count * size, stream);
    }
    return spmmi_place_values(plan->device,
                              &(spmm_place_args_t){.from      = values,
                                                   .source    = list->source,
                                                   .count     = list->count,
                                                   .elem_size = size,
                                                   .conjugate = plan->conjugate,
                                                   .to        = list->values},
                              stream);
}

/* All values of this rank as the matrix stores them, on the host. */
static spmm_status_t fetch(const spmm_plan_t *plan, const void *values, spmm_stream_t stream,
                           char **stored)
{
    const size_t   size  = spmm_type_size(plan->ab_type);
    const int64_t  nnz   = spmmi_matrix_local_nnz(plan->A);
    const int64_t *order = plan->A->value_order;
    char          *host = spmmi_alloc(nnz, size), *sorted = spmmi_alloc(nnz, size);
    spmm_status_t  status = SPMM_OK;

    if (host == NULL || sorted == NULL) {
        status = spmmi_fail_memory(&plan->env->err, 2 * nnz, size, "new values");
    }
    if (status == SPMM_OK) {
        status = plan->device->ops->stream_sync(plan->device, stream);
    }
    if (status == SPMM_OK) {
        status = plan->device->ops->fetch(plan->device, host, values, (size_t)nnz * size);
    }
    for (int64_t k = 0; k < nnz && status == SPMM_OK; k++) {
        memcpy(sorted + (size_t)k * size, host + (size_t)(order == NULL ? k : order[k]) * size,
               size);
    }
    spmmi_free(host);
    if (status != SPMM_OK) {
        spmmi_free(sorted);
        return status;
    }
    *stored = sorted;
    return SPMM_OK;
}

static spmm_status_t refill_rest(spmm_plan_t *plan, const void *values, spmm_stream_t stream)
{
    char         *stored = NULL;
    spmm_status_t status = SPMM_OK;

    for (int k = 0; k < SPMM_PLAN_BLOCKS && status == SPMM_OK; k++) {
        const spmm_block_t *block = spmmi_plan_block(plan, k);

        if (!has_format(block) || has_places(block)) {
            continue;
        }
        if (stored == NULL) {
            status = fetch(plan, values, stream, &stored);
        }
        if (status == SPMM_OK) {
            status = refill_format(plan, block, stored);
        }
    }
    spmmi_free(stored);
    return status;
}

static spmm_status_t enqueue(spmm_plan_t *plan, const void *values, spmm_stream_t stream)
{
    for (int k = 0; k < SPMM_PLAN_BLOCKS; k++) {
        if (has_places(spmmi_plan_block(plan, k))) {
            SPMM_TRY(place(plan, &plan->values.list[k], values, stream));
        }
    }
    return refill_rest(plan, values, stream);
}

/* What uses the formats next, on another stream or from the host, comes after these values.  Times
 * are those of executes, so only the event that streams wait for is recorded. */
static spmm_status_t record_end(spmm_plan_t *plan, spmm_stream_t stream)
{
    const spmm_device_ops_t *ops = plan->device->ops;

    plan->timing.last_stream = 0;
    SPMM_TRY(ops->event_record(plan->device, plan->phases.events[0].sync[SPMM_PHASE_DONE], stream));
    plan->timing.in_use = true;
    if (!ops->stream_id(plan->device, stream, &plan->timing.last_stream)) {
        plan->timing.last_stream = 0;
    }
    return SPMM_OK;
}

spmm_status_t spmmi_plan_take_values(spmm_plan_t *plan, const void *values, spmm_stream_t stream)
{
    spmm_status_t status;

    if (!plan->rows.keep) {
        return spmmi_fail(&plan->env->err, SPMM_ERR_UNSUPPORTED,
                          "partition %s moved the rows of A to other ranks: give new values to "
                          "spmm_matrix_update_values()",
                          plan->partition.method);
    }
    if (plan->flips) {
        return spmmi_fail(&plan->env->err, SPMM_ERR_UNSUPPORTED,
                          "op T of a reproducible plan keeps entries where their columns are: give "
                          "new values to spmm_matrix_update_values()");
    }
    if (spmmi_matrix_local_nnz(plan->A) > INT32_MAX) {
        return spmmi_fail(&plan->env->err, SPMM_ERR_RANGE,
                          "%" PRId64 " entries on rank %d: up to 2^31 - 1 on each may take values "
                          "that lie on the device",
                          spmmi_matrix_local_nnz(plan->A), plan->env->rank);
    }
    SPMM_TRY(make_lists(plan));
    /* The last execute reads the old values, on whatever stream that was. */
    if (plan->timing.in_use) {
        SPMM_TRY(spmmi_phase_wait(&plan->phases, 0, SPMM_PHASE_DONE, stream));
    }
    status = enqueue(plan, values, stream);
    return spmmi_first_failure(status, record_end(plan, stream));
}
