/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/choose/fewer.h"

#include <math.h>

#include "plan/plan.h"

/* Models are off by as much. */
static const double clear_gain = 0.9;

enum { COUNTS = 7, BINS = 2 * SPMM_TC_BINS };

/* The counts of a pattern that add up when blocks of other rows stand below it. */
static int64_t *count_of(spmm_pattern_t *p, int k)
{
    int64_t *const counts[COUNTS] = {&p->nnz,          &p->used_cols, &p->tc.quads,
                                     &p->tc.tc_blocks, &p->tc.bricks, &p->tc.pairs[0],
                                     &p->tc.pairs[1]};

    return counts[k];
}

/* The facts of all rows: the rows of one rank below those of the other.  Collective. */
static spmm_status_t stack(spmm_env_t *env, spmm_pattern_t *p)
{
    double  most[4] = {(double)p->max_row, p->near_cols, (double)p->tc.lengths[0].longest,
                       (double)p->tc.lengths[1].longest};
    int64_t sum[COUNTS + 2 * BINS + 3];
    int     n = 0;

    for (int k = 0; k < COUNTS; k++) {
        sum[n++] = *count_of(p, k);
    }
    for (int k = 0; k < BINS; k++) {
        sum[n++] = p->tc.lengths[k / SPMM_TC_BINS].windows[k % SPMM_TC_BINS];
        sum[n++] = p->tc.lengths[k / SPMM_TC_BINS].pairs[k % SPMM_TC_BINS];
    }
    sum[n++] = p->n_rows;
    sum[n++] = p->tc.pairs[2];
    sum[n++] = (int64_t)(p->row_cv * (double)p->nnz);
    SPMM_TRY(spmmi_allreduce(env, sum, n, MPI_INT64_T, MPI_SUM));
    SPMM_TRY(spmmi_allreduce(env, most, 4, MPI_DOUBLE, MPI_MAX));
    n = 0;
    for (int k = 0; k < COUNTS; k++) {
        *count_of(p, k) = sum[n++];
    }
    for (int k = 0; k < BINS; k++) {
        p->tc.lengths[k / SPMM_TC_BINS].windows[k % SPMM_TC_BINS] = sum[n++];
        p->tc.lengths[k / SPMM_TC_BINS].pairs[k % SPMM_TC_BINS]   = sum[n++];
    }
    p->n_rows = p->c_rows = (int32_t)(sum[n] < INT32_MAX ? sum[n] : INT32_MAX);
    p->tc.pairs[2]        = sum[n + 1];
    p->row_cv             = p->nnz == 0 ? 0.0 : (double)sum[n + 2] / (double)p->nnz;
    p->max_row            = (int64_t)most[0];
    p->near_cols          = most[1];
    for (int h = 0; h < 2; h++) {
        p->tc.lengths[h].longest = (int64_t)most[2 + h];
    }
    p->tc.mean_nnz_tc = (double)p->nnz / fmax(1.0, (double)p->tc.tc_blocks);
    p->tc.alpha       = (double)p->nnz / fmax(1.0, 64.0 * (double)p->tc.bricks);
    p->tc.synergy     = (double)p->nnz / fmax(1.0, 16.0 * (double)p->tc.pairs[1]);
    return SPMM_OK;
}

/* Of engines whose models read none of the facts that only their formats know: those do not add up
 * over rows. */
static double least_s(const spmm_plan_t *plan, const char *engine, const spmm_pattern_t *all)
{
    const spmm_problem_t problem = spmmi_plan_problem(plan, plan->c_type, plan->n);
    double               least   = INFINITY;
    char                 why[SPMM_WHY];

    for (int e = 0; e < spmmi_n_engines; e++) {
        const spmm_engine_ops_t *one = spmmi_engines[e];

        if ((spmmi_candidate_is_auto(engine) || spmmi_engine_find(engine) == one) &&
            one->facts == NULL && one->supports(&problem, plan->device, why)) {
            least = fmin(least, one->cost(all, &problem, plan->device));
        }
    }
    return least;
}

spmm_status_t spmmi_plan_predict_one(spmm_plan_t *plan, const char *engine,
                                     const spmm_pattern_t *own)
{
    spmm_pattern_t all = *own;
    double         slowest;

    plan->choice.one_rank_s = NAN;
    if (plan->op != SPMM_OP_N) {
        return SPMM_OK;
    }
    SPMM_TRY(spmmi_agree(plan->env, stack(plan->env, &all)));
    slowest = least_s(plan, engine, &all); /* devices may differ */
    SPMM_TRY(spmmi_agree(plan->env, spmmi_allreduce(plan->env, &slowest, 1, MPI_DOUBLE, MPI_MAX)));
    plan->choice.one_rank_s = isfinite(slowest) ? slowest : NAN;
    return SPMM_OK;
}

static double ratio(const spmm_plan_t *plan)
{
    for (int s = 0; plan->choice.travels && s < spmmi_n_schedules; s++) {
        const spmm_candidate_t *c = &plan->choice.schedules[s];

        if (c->schedule == plan->choice.schedule) {
            return plan->choice.one_rank_s / c->predicted_s;
        }
    }
    return NAN;
}

bool spmmi_plan_one_is_faster(const spmm_plan_t *plan)
{
    return ratio(plan) < 1.0;
}

bool spmmi_plan_one_pays(const spmm_plan_t *plan)
{
    return ratio(plan) < clear_gain;
}
