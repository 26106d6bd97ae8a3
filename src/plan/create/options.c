/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/create/options.h"

#include <inttypes.h>
#include <string.h>

#include "base/same.h"
#include "base/scalar.h"
#include "plan/plan.h"

static bool type_pair_is_valid(spmm_type_t ab, spmm_type_t c)
{
    return c == ab || ((ab == SPMM_R_16F || ab == SPMM_R_16BF) && c == SPMM_R_32F);
}

static spmm_status_t check_compute(spmm_plan_t *plan)
{
    const bool is_64f = spmmi_is_64f(plan->ab_type);

    if (plan->compute == SPMM_COMPUTE_AUTO) {
        plan->compute = is_64f ? SPMM_COMPUTE_64F : SPMM_COMPUTE_32F;
    }
    if (plan->compute == SPMM_COMPUTE_32F_FAST_TF32 &&
        spmmi_part_type(plan->ab_type) != SPMM_R_32F) {
        return spmmi_fail(
            &plan->env->err, SPMM_ERR_ARGUMENT,
            "compute mode 32f-fast-tf32 needs a matrix of type 32f or 32c; this one has type %s",
            spmmi_type_name(plan->ab_type));
    }
    if ((plan->compute == SPMM_COMPUTE_64F) != is_64f) {
        return spmmi_fail(&plan->env->err, SPMM_ERR_ARGUMENT,
                          "compute mode %s does not go with a matrix of type %s: %s",
                          is_64f ? "32f" : "64f", spmmi_type_name(plan->ab_type),
                          is_64f ? "use 64f, or a matrix of type 32f"
                                 : "use 32f, or a matrix of type 64f");
    }
    return SPMM_OK;
}

/* Blocks of another type than A. */
static spmm_status_t check_b_type(spmm_plan_t *plan, const spmm_plan_options_t *o)
{
    spmm_error_t *err = &plan->env->err;

    plan->b_parts = 1;
    if (o->b_type == SPMM_TYPE_AUTO || o->b_type == plan->ab_type) {
        return SPMM_OK;
    }
    if (spmmi_part_type(o->b_type) != plan->ab_type) {
        return spmmi_fail(
            err, SPMM_ERR_ARGUMENT,
            "B must have the type of A, or 64c where A is 64f and 32c where A is 32f");
    }
    if (o->c_type != SPMM_TYPE_AUTO && o->c_type != o->b_type) {
        return spmmi_fail(err, SPMM_ERR_ARGUMENT,
                          "C must have the type of B where A is real and B is complex");
    }
    if (plan->layout == SPMM_LAYOUT_COL) {
        return spmmi_fail(err, SPMM_ERR_UNSUPPORTED,
                          "a real A multiplies complex blocks where they are row-major: use layout "
                          "row, or a complex A");
    }
    plan->b_parts = 2;
    plan->c_type  = plan->ab_type;
    return SPMM_OK;
}

/* On CPUs the prediction decides: there one engine is ahead nearly always.  So it does where equal
 * bits are asked for, which times that vary must not take away. */
static bool may_measure(const spmm_plan_t *plan)
{
    return plan->tuning.measure == NULL && !plan->deterministic &&
           (plan->device->kind != SPMM_DEVICE_CPU || plan->env->measures_on_cpu);
}

static spmm_status_t check_options(spmm_plan_t *plan, const spmm_plan_options_t *o)
{
    spmm_error_t *err = &plan->env->err;

    plan->op            = o->op == SPMM_OP_H ? SPMM_OP_T : o->op;
    plan->conjugate     = o->op == SPMM_OP_H && spmmi_is_complex(plan->ab_type);
    plan->layout        = o->layout == SPMM_LAYOUT_AUTO ? SPMM_LAYOUT_ROW : o->layout;
    plan->c_type        = o->c_type == SPMM_TYPE_AUTO ? plan->ab_type : o->c_type;
    plan->compute       = o->compute;
    plan->reproducible  = o->reproducible != 0;
    plan->deterministic = o->deterministic != 0 || plan->reproducible;
    plan->profile = plan->phases.timed = o->profile != 0;
    plan->exact_nonfinite              = o->exact_nonfinite != 0;
    if (plan->n < 1 || plan->n > INT32_MAX) {
        return spmmi_fail(err, SPMM_ERR_ARGUMENT,
                          "a plan for %" PRId64 " columns: n must be 1 to 2^31 - 1", plan->n);
    }
    if (plan->op != SPMM_OP_N && plan->op != SPMM_OP_T) {
        return spmmi_fail(err, SPMM_ERR_ARGUMENT, "op %d is none of spmm_op_t", (int)plan->op);
    }
    if (plan->layout != SPMM_LAYOUT_ROW && plan->layout != SPMM_LAYOUT_COL) {
        return spmmi_fail(err, SPMM_ERR_ARGUMENT, "layout %d is none of spmm_layout_t",
                          (int)plan->layout);
    }
    if (o->compute < SPMM_COMPUTE_AUTO || o->compute > SPMM_COMPUTE_32F_FAST_TF32) {
        return spmmi_fail(err, SPMM_ERR_ARGUMENT, "compute mode %d is none of spmm_compute_t",
                          (int)o->compute);
    }
    SPMM_TRY(check_b_type(plan, o));
    if (!type_pair_is_valid(plan->ab_type, plan->c_type)) {
        return spmmi_fail(err, SPMM_ERR_ARGUMENT,
                          "C must have the type of A, or 32f where A is 16f or 16bf");
    }
    if (o->executes < 0) {
        return spmmi_fail(err, SPMM_ERR_ARGUMENT,
                          "executes %" PRId64 ": must be 0 (choose) or more", o->executes);
    }
    if (plan->n > INT32_MAX / plan->b_parts) {
        return spmmi_fail(err, SPMM_ERR_ARGUMENT,
                          "a plan for %" PRId64 " complex columns and a real A: n must be 1 to "
                          "2^30 - 1",
                          plan->n);
    }
    plan->n *= plan->b_parts;
    plan->measures = may_measure(plan);
    return check_compute(plan);
}

/* Rows of B alone are rounded: sums would be at every hop. */
static spmm_status_t check_halo_type(const spmm_plan_t *plan, const spmm_plan_options_t *o)
{
    const spmm_type_t part = spmmi_part_type(plan->ab_type), sent = o->halo_type;
    const char       *why = NULL;

    if (sent == SPMM_TYPE_AUTO) {
        return SPMM_OK;
    }
    if (!(part == SPMM_R_64F && sent == SPMM_R_32F) &&
        !(part == SPMM_R_32F && (sent == SPMM_R_16F || sent == SPMM_R_16BF))) {
        return spmmi_fail(&plan->env->err, SPMM_ERR_ARGUMENT,
                          "halo_type must be 16f or 16bf where A is in FP32, 32f where it is in "
                          "FP64, or auto");
    }
    if (plan->op != SPMM_OP_N) {
        why = "rounds rows of B, and op T and H send sums";
    } else if (plan->reproducible) {
        why = "is not for reproducible plans: which rows are rounded depends on the partition";
    }
    return why == NULL ? SPMM_OK
                       : spmmi_fail(&plan->env->err, SPMM_ERR_UNSUPPORTED, "halo_type %s", why);
}

static spmm_status_t read_tuning(spmm_plan_t *plan, const spmm_plan_options_t *o, unsigned by)
{
    char why[SPMM_TUNING_WHY];

    return spmmi_tuning_options_read(o->tuning, by, &plan->tuning, why)
               ? SPMM_OK
               : spmmi_fail(&plan->env->err, SPMM_ERR_ARGUMENT, "%s", why);
}

static spmm_status_t check(spmm_plan_t *plan, const spmm_plan_options_t *o, unsigned by)
{
    SPMM_TRY(read_tuning(plan, o, by));
    SPMM_TRY(check_options(plan, o));
    return check_halo_type(plan, o);
}

/* Ranks that plan different products would wait for each other for ever: find out at once. */
static spmm_status_t compare(const spmm_plan_t *plan, const spmm_plan_options_t *o)
{
    const spmm_tuning_options_t *t = &plan->tuning;

    return SPMM_COMPARE(
        plan->env, "a plan", SPMM_OK, spmmi_whole("n", plan->n),
        spmmi_whole("type of A", plan->ab_type), spmmi_whole("c_type", plan->c_type),
        spmmi_whole("op", plan->op), spmmi_whole("conjugated op", plan->conjugate),
        spmmi_whole("parts of b_type", plan->b_parts), spmmi_whole("layout", plan->layout),
        spmmi_whole("compute", plan->compute), spmmi_whole("reproducible", plan->reproducible),
        spmmi_whole("deterministic", plan->deterministic),
        spmmi_whole("exact_nonfinite", plan->exact_nonfinite), spmmi_whole("executes", o->executes),
        spmmi_whole("graph", o->graph),
        spmmi_whole("profile with graph", o->graph != 0 && plan->profile),
        spmmi_real("imbalance", o->imbalance), spmmi_text("partition", o->partition),
        spmmi_text("engine", o->engine), spmmi_text("transport", o->transport),
        spmmi_text("order", t->order), spmmi_text("schedule", t->schedule),
        spmmi_text("chunks", t->chunks), spmmi_text("exchange", t->exchange),
        spmmi_text("objective", t->objective), spmmi_whole("seed", (int64_t)t->seed),
        spmmi_text("measure", t->measure), spmmi_whole("halo_type", o->halo_type));
}

spmm_status_t spmmi_plan_take_options(spmm_plan_t *plan, const spmm_plan_options_t *o, unsigned by)
{
    SPMM_TRY(spmmi_agree(plan->env, check(plan, o, by)));
    SPMM_TRY(compare(plan, o));
    plan->flips = plan->reproducible && plan->op == SPMM_OP_T;
    plan->op    = plan->flips ? SPMM_OP_N : plan->op;
    /* Merged blocks multiply no column-major rows. */
    plan->conversion.kind = plan->reproducible && plan->layout == SPMM_LAYOUT_COL
                                ? SPMM_CONVERT_B_AND_C
                                : SPMM_CONVERT_NONE;
    plan->halo_type       = plan->op == SPMM_OP_N ? plan->ab_type : spmmi_accum_type(plan->ab_type);
    plan->sent_type       = o->halo_type == SPMM_TYPE_AUTO ? plan->halo_type : o->halo_type;
    plan->sent_size       = spmm_type_size(plan->sent_type);
    if (spmmi_plan_rounds(plan)) {
        plan->sent_size *= (size_t)spmmi_type_parts(plan->ab_type);
    }
    return SPMM_OK;
}
