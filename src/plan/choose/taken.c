/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/choose/taken.h"

#include <math.h>

#include "base/alloc.h"
#include "engine/choose/trial.h"
#include "partition/partitioners.h"
#include "plan/plan.h"

static const double uneven = 1.1;  /* largest over mean time: less is left as it is */
static const double most   = 4.0;  /* times heavier or lighter a row gets */
static const double fine   = 16.0; /* weights of short rows are small whole numbers */

static spmm_status_t add_block(const spmm_plan_t *plan, const spmm_block_t *block, double beta,
                               double *seconds)
{
    const spmm_csr_t sizes = {.n_cols = block->pattern.n_cols, .c_rows = block->pattern.c_rows};
    double           once  = 0.0;
    spmm_trial_t     trial;
    spmm_status_t    status;

    if (block->engine == NULL || block->nnz == 0) {
        return SPMM_OK;
    }
    SPMM_TRY(spmmi_trial_open(plan->device, &sizes, &block->problem, beta, false, &trial));
    status = spmmi_trial_measure(&trial, block->engine, block->format, block->problem.layout,
                                 INFINITY, &once);
    spmmi_trial_close(&trial);
    *seconds += once;
    return status;
}

/* Those of the blocks, and of the entries that a cover moves. */
static spmm_status_t own_seconds(spmm_plan_t *plan, double *seconds)
{
    double moved = 0.0;

    *seconds = 0.0;
    for (int b = 0; b < SPMM_PLAN_BLOCKS; b++) {
        const spmm_block_t *block = spmmi_plan_block(plan, b);

        SPMM_TRY(add_block(plan, block, block == &plan->blocks.halo ? 1.0 : 0.0, seconds));
    }
    if (plan->cover.plan != NULL) {
        SPMM_TRY(own_seconds(plan->cover.plan, &moved));
    }
    *seconds += moved;
    return SPMM_OK;
}

spmm_status_t (*spmmi_own_seconds)(spmm_plan_t *plan, double *seconds) = own_seconds;

static spmm_status_t measure(spmm_plan_t *plan, spmm_plan_taken_t *taken, double *own)
{
    const int size = plan->env->size;

    if (SPMM_NEW(taken->part, plan->A->n_rows) == NULL || SPMM_NEW(taken->seconds, size) == NULL) {
        return spmmi_fail_memory(&plan->env->err, plan->A->n_rows, sizeof *taken->part,
                                 "parts of rows");
    }
    spmmi_layout_parts(&plan->rows, size, taken->part);
    return spmmi_own_seconds(plan, own);
}

spmm_status_t spmmi_taken_measure(spmm_plan_t *plan, spmm_plan_taken_t *taken)
{
    double        own = 0.0;
    spmm_status_t status;

    *taken = (spmm_plan_taken_t){.part = NULL};
    status = spmmi_agree(plan->env, measure(plan, taken, &own));
    if (status == SPMM_OK) {
        status =
            spmmi_agree(plan->env, spmmi_allgather(plan->env, &own, taken->seconds, sizeof own));
    }
    if (status != SPMM_OK) {
        spmmi_taken_free(taken);
        return status;
    }
    for (int p = 0; p < plan->env->size; p++) {
        taken->largest = fmax(taken->largest, taken->seconds[p]);
        taken->mean += taken->seconds[p] / plan->env->size;
    }
    return SPMM_OK;
}

void spmmi_taken_free(spmm_plan_taken_t *taken)
{
    spmmi_free_all(taken->part, taken->seconds);
    *taken = (spmm_plan_taken_t){.part = NULL};
}

const char *spmmi_taken_enough(const spmm_plan_taken_t *taken, int64_t executes, double plan_s)
{
    if (taken->largest <= uneven * taken->mean) {
        return "which is even enough";
    }
    if ((double)spmmi_executes_to_come(executes) * (taken->largest - taken->mean) <= plan_s) {
        return "and the products to come do not pay for another partition";
    }
    return NULL;
}

/* What rows weigh where nobody has weighed them. */
static spmm_status_t take_entries(const spmm_matrix_t *A, int64_t **weight)
{
    if (*weight != NULL) {
        return SPMM_OK;
    }
    if (SPMM_NEW(*weight, A->n_rows) == NULL) {
        return spmmi_fail_memory(&A->env->err, A->n_rows, sizeof **weight, "weights of rows");
    }
    for (int32_t i = 0; i < A->n_rows; i++) {
        (*weight)[i] = spmmi_row_weight(A, NULL, i);
    }
    return SPMM_OK;
}

/* From what the rows of each part weigh together to what each of them is to weigh more. */
static void find_factors(const spmm_plan_taken_t *taken, int size, double *factor)
{
    double all = 0.0;

    for (int p = 0; p < size; p++) {
        all += factor[p];
    }
    for (int p = 0; p < size; p++) {
        const double part = taken->seconds[p] * all, even = taken->mean * size * factor[p];

        factor[p] = part > 0.0 && even > 0.0 ? fmin(most, fmax(1.0 / most, part / even)) : 1.0;
    }
}

spmm_status_t spmmi_taken_weigh(const spmm_plan_t *plan, const spmm_plan_taken_t *taken,
                                int64_t **weight)
{
    spmm_env_t   *env = plan->env;
    double       *factor; /* [size], first the weights of the parts */
    spmm_status_t status = SPMM_OK;

    if (SPMM_NEW_ZERO(factor, env->size) == NULL) {
        status = spmmi_fail_memory(&env->err, env->size, sizeof *factor, "weights of parts");
    }
    status = spmmi_first_failure(status, take_entries(plan->A, weight));
    status = spmmi_agree(env, status);
    for (int32_t i = 0; status == SPMM_OK && i < plan->A->n_rows; i++) {
        factor[taken->part[i]] += (double)(*weight)[i];
    }
    if (status == SPMM_OK) {
        status = spmmi_agree(env, spmmi_allreduce(env, factor, env->size, MPI_DOUBLE, MPI_SUM));
    }
    if (status == SPMM_OK) {
        find_factors(taken, env->size, factor);
    }
    for (int32_t i = 0; status == SPMM_OK && i < plan->A->n_rows; i++) {
        (*weight)[i] = llround(fine * (double)(*weight)[i] * factor[taken->part[i]]);
    }
    spmmi_free(factor);
    return status;
}
