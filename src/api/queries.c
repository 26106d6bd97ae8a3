/* SPDX-License-Identifier: Apache-2.0 */
/** @file queries.c  What a plan says of itself. */
#include <string.h>

#include "api/context.h"
#include "base/same.h"
#include "plan/plan.h"
#include "plan/report/explain.h"
#include "plan/report/stats.h"
#include "plan/report/timeline.h"

spmm_status_t spmm_plan_get_stats(const spmm_plan_t *plan, spmm_plan_stats_t *stats)
{
    spmm_plan_stats_t mine;

    if (plan == NULL) {
        return spmmi_fail(NULL, SPMM_ERR_ARGUMENT, "spmm_plan_get_stats: plan is NULL");
    }
    spmmi_error_clear(&plan->env->err);
    SPMM_TRY(spmmi_plan_collect_stats(plan, &mine));
    return spmmi_give_info(&plan->env->err, &mine, sizeof mine, stats, "plan stats");
}

spmm_status_t spmm_plan_get_timeline(const spmm_plan_t *plan, int capacity, spmm_span_t *spans,
                                     int *count)
{
    spmm_span_t mine[SPMM_MOST_SPANS];
    int         n = 0;

    if (plan == NULL) {
        return spmmi_fail(NULL, SPMM_ERR_ARGUMENT, "spmm_plan_get_timeline: plan is NULL");
    }
    spmmi_error_clear(&plan->env->err);
    if (spans == NULL || count == NULL) {
        return spmmi_fail(&plan->env->err, SPMM_ERR_ARGUMENT, "spmm_plan_get_timeline: %s is NULL",
                          spans == NULL ? "spans" : "count");
    }
    if (capacity < 0) {
        return spmmi_fail(&plan->env->err, SPMM_ERR_ARGUMENT, "capacity is %d, must be >= 0",
                          capacity);
    }
    SPMM_TRY(spmmi_plan_trace(plan, mine, &n));
    *count = n < capacity ? n : capacity;
    memcpy(spans, mine, (size_t)*count * sizeof *spans);
    return SPMM_OK;
}

spmm_status_t spmm_plan_get_traffic(const spmm_plan_t *plan, int64_t *rows)
{
    if (plan == NULL) {
        return spmmi_fail(NULL, SPMM_ERR_ARGUMENT, "spmm_plan_get_traffic: plan is NULL");
    }
    spmmi_error_clear(&plan->env->err);
    if (rows == NULL) {
        return spmmi_fail(&plan->env->err, SPMM_ERR_ARGUMENT,
                          "spmm_plan_get_traffic: rows is NULL");
    }
    spmmi_plan_trace_rows(plan, rows);
    return SPMM_OK;
}

spmm_status_t spmm_plan_get_halo(const spmm_plan_t *plan, int64_t *rows)
{
    spmm_status_t status = SPMM_OK;

    if (plan == NULL) {
        return spmmi_fail(NULL, SPMM_ERR_ARGUMENT, "spmm_plan_get_halo: plan is NULL");
    }
    SPMM_TRY(spmmi_enter(plan->env, "spmm_plan_get_halo"));
    if (rows == NULL && spmmi_halo_recv_rows(&plan->exchange.halo) > 0) {
        status = spmmi_fail(&plan->env->err, SPMM_ERR_ARGUMENT, "spmm_plan_get_halo: rows is NULL");
    }
    SPMM_TRY(
        SPMM_COMPARE(plan->env, "spmm_plan_get_halo", status, spmmi_whole("plan", plan->number)));
    return spmmi_plan_list_halo(plan, rows);
}

spmm_status_t spmm_plan_explain(const spmm_plan_t *plan, FILE *out)
{
    if (plan == NULL) {
        return spmmi_fail(NULL, SPMM_ERR_ARGUMENT, "spmm_plan_explain: plan is NULL");
    }
    spmmi_error_clear(&plan->env->err);
    if (out == NULL) {
        return spmmi_fail(&plan->env->err, SPMM_ERR_ARGUMENT, "spmm_plan_explain: out is NULL");
    }
    return spmmi_plan_print(plan, out);
}
