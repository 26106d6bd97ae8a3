/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/values/refill.h"

#include <string.h>

#include "base/alloc.h"
#include "base/scalar.h"
#include "plan/block/arrival.h"
#include "plan/plan.h"

/* Gather the values of one block from the arrival order, conjugate them for op H, and hand them to
 * the engine of a format. */
spmm_status_t spmmi_plan_refill_format(const spmm_plan_t *plan, const spmm_block_t *block,
                                       const void *arrived)
{
    const size_t  size = spmm_type_size(plan->ab_type);
    char         *values;
    spmm_status_t status;

    if (block->source == NULL) {
        return block->engine->refill(block->format, arrived);
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
    status = block->engine->refill(block->format, values);
    spmmi_free(values);
    return status;
}

spmm_status_t spmmi_plan_refill(void *self)
{
    spmm_plan_t   *plan = self;
    spmm_arrival_t in   = {0};
    spmm_status_t  status, finished;

    finished = spmmi_plan_wait_idle(plan); /* peers wait for this rank's values in any case */
    status   = spmmi_plan_flip(plan);
    if (status == SPMM_OK) {
        status = spmmi_first_failure(spmmi_arrival_receive_values(plan, &in), finished);
    }
    for (int b = 0; b < SPMM_PLAN_BLOCKS && status == SPMM_OK; b++) {
        const spmm_block_t *block = spmmi_plan_block(plan, b);

        if (block->engine != NULL) { /* else the schedule has no use for the block */
            status = spmmi_plan_refill_format(plan, block, in.values);
        }
    }
    spmmi_arrival_free(&in);
    spmmi_plan_unflip(plan);
    return status;
}
