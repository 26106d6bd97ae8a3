/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/choose/balance.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "engine/choose/weigh.h"
#include "plan/plan.h"

/* Rows weigh at least so much on average: entries may be fewer than rows. */
enum { LEAST_WEIGHT = 32 };

bool spmmi_partition_is_own(const char *name)
{
    return name != NULL && strcmp(name, "keep") != 0 && strcmp(name, "one") != 0 &&
           strncmp(name, "file:", 5) != 0;
}

static bool asks_for_time(const spmm_plan_options_t *o)
{
    return spmmi_candidate_is_named(o->balance, "time") || spmmi_balance_is_measured(o);
}

bool spmmi_balance_is_measured(const spmm_plan_options_t *o)
{
    return spmmi_candidate_is_named(o->balance, "measured");
}

/* Why not?  By what is equal on all ranks. */
static const char *refuse(const spmm_plan_t *plan, const spmm_plan_options_t *o)
{
    if (!spmmi_partition_is_own(o->partition)) {
        return "is for partitions that the plan makes: block, metis, ptscotch and auto";
    }
    if (plan->op != SPMM_OP_N || plan->flips) {
        return "is for op N: with op T a rank does not multiply the rows that it has";
    }
    if (plan->deterministic && spmmi_balance_is_measured(o)) {
        return "is not for deterministic plans: times are not the same twice";
    }
    if (plan->A->cols > INT32_MAX) {
        return "needs a matrix of fewer than 2^31 columns, for the facts of its rows";
    }
    return NULL;
}

/* The rows of this rank as a block of all columns, without values. */
static spmm_status_t view_rows(const spmm_matrix_t *A, spmm_csr_t *block)
{
    const int64_t nnz = spmmi_matrix_local_nnz(A);

    *block = (spmm_csr_t){.n_rows  = A->n_rows,
                          .c_rows  = A->n_rows,
                          .n_cols  = (int32_t)A->cols,
                          .row_ptr = A->row_ptr,
                          .type    = A->type};
    if (SPMM_NEW(block->col_idx, nnz) == NULL) {
        return spmmi_fail_memory(&A->env->err, nnz, sizeof *block->col_idx, "columns of rows");
    }
    for (int64_t k = 0; k < nnz; k++) {
        block->col_idx[k] = (int32_t)A->col_idx[k];
    }
    return SPMM_OK;
}

/* A unit that is the same on all ranks, and weights that add up to about as much as entries do,
 * which partitioners can hold.  Collective. */
static spmm_status_t find_unit(const spmm_plan_t *plan, const spmm_row_cost_t *cost, double *unit)
{
    const spmm_matrix_t *A      = plan->A;
    const double         most   = fmax((double)A->nnz, (double)LEAST_WEIGHT * (double)A->rows);
    const bool           silent = cost->engine == NULL && spmmi_matrix_local_nnz(A) > 0;
    double               all[2] = {cost->all, silent};

    SPMM_TRY(spmmi_agree(plan->env, spmmi_allreduce(plan->env, all, 2, MPI_DOUBLE, MPI_SUM)));
    *unit = all[1] > 0.0 ? 0.0 : all[0] / most;
    return SPMM_OK;
}

/* Collective, agreed. */
static spmm_status_t weigh(spmm_plan_t *plan, const spmm_plan_options_t *o, spmm_csr_t *block,
                           spmm_pattern_t *pattern, int64_t **weight)
{
    const spmm_problem_t problem = spmmi_plan_problem(plan, plan->c_type, plan->n);
    spmm_row_cost_t      cost    = {0};
    spmm_status_t        status  = view_rows(plan->A, block);
    double               unit;

    if (status == SPMM_OK) {
        status = spmmi_pattern_scan_for(plan->env, block, plan->layout, pattern);
    }
    SPMM_TRY(spmmi_agree(plan->env, status));
    cost = spmmi_row_cost(o->engine, pattern, &problem, plan->device);
    SPMM_TRY(find_unit(plan, &cost, &unit));
    if (unit == 0.0) {
        plan->choice.balance.why = "no model of an engine says what these rows cost";
        return SPMM_OK;
    }
    if (SPMM_NEW(*weight, block->n_rows) == NULL) {
        status =
            spmmi_fail_memory(&plan->env->err, block->n_rows, sizeof **weight, "weights of rows");
    } else {
        spmmi_weigh_rows(&cost, block, pattern, unit, plan->device->threads, *weight);
    }
    plan->choice.balance.engine = cost.engine == NULL ? NULL : cost.engine->name;
    return spmmi_agree(plan->env, status);
}

spmm_status_t spmmi_plan_weigh(spmm_plan_t *plan, const spmm_plan_options_t *o, int64_t **weight)
{
    spmm_plan_balance_t *balance = &plan->choice.balance;
    spmm_pattern_t       pattern = {0};
    spmm_csr_t           block   = {0};
    spmm_status_t        status;

    *weight      = NULL;
    balance->why = refuse(plan, o);
    if (balance->why != NULL && asks_for_time(o)) {
        return spmmi_fail(&plan->env->err, SPMM_ERR_UNSUPPORTED, "balance %s %s", o->balance,
                          balance->why);
    }
    if (!spmmi_partition_is_own(o->partition)) {
        balance->why = NULL; /* nobody weighs */
        return SPMM_OK;
    }
    if (balance->why == NULL && !asks_for_time(o)) {
        balance->why = "is balanced by name alone";
    }
    if (balance->why != NULL || plan->env->size == 1) {
        return SPMM_OK;
    }
    status = weigh(plan, o, &block, &pattern, weight);
    spmmi_pattern_free(&pattern);
    spmmi_free(block.col_idx);
    if (status != SPMM_OK) {
        spmmi_free(*weight);
        *weight = NULL;
    }
    balance->by_time = status == SPMM_OK && balance->why == NULL;
    return status;
}
