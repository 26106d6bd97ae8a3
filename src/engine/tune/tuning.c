/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/tune/tuning.h"

#include <math.h>

#include "base/scalar.h"
#include "engine/tune/constants.h"
#include "engine/tune/roofline.h"
#include "spmm_dist/context.h"

/* The baseline's format is the block as it is: bytes/s of a copy to the device, and the copy's own
 * allocations. */
static const double upload_rate = 5e9, upload_s = 0.5e-3;

enum {
    MOST_TRIED  = 3, /* beside the baseline */
    FEW_COLUMNS = 32,
    FEW         = 200 /* products: they may not pay for the format of the baseline */
};
/* Most bytes of a format: times what the block takes as CSR, and more. */
static const double most_factor = 4.0, most_more = 8388608.0;

void spmmi_tuning_sort(spmm_tuning_t *t, spmm_candidate_t *candidates, int n)
{
    for (int e = 0; e < n && t->n < SPMM_MOST_ENGINES; e++) {
        int at = t->n;

        if (!candidates[e].usable) {
            continue;
        }
        for (; at > 0 && t->order[at - 1]->predicted_s > candidates[e].predicted_s; at--) {
            t->order[at] = t->order[at - 1];
        }
        t->order[at] = &candidates[e];
        t->n++;
    }
}

spmm_status_t spmmi_tuning_pass_over(spmm_tuning_t *t, spmm_candidate_t *c, spmm_status_t status)
{
    spmm_error_t *err = &t->device->env->err;

    if (!spmmi_is_refusal(status) || (t->needs_room && status == SPMM_ERR_MEMORY)) {
        return status;
    }
    spmmi_log(t->device->env, "engine %s is passed over: %s", c->engine->facts.name, err->text);
    if (isnan(
            c->measured_s)) { /* none of its variants has run; others are compared with its time */
        c->usable = false;
        (void)snprintf(c->why, sizeof c->why, "was passed over: %.170s", err->text);
    }
    if (t->failed == SPMM_OK) {
        t->failed = status;
        t->first  = *err;
    }
    spmmi_error_clear(err);
    return SPMM_OK;
}

double spmmi_tuning_load_seconds(const spmm_candidate_t *c)
{
    return c->engine->facts.load_s == NULL ? 0.0 : *c->engine->facts.load_s;
}

spmm_status_t spmmi_tuning_build(spmm_tuning_t *t, const spmm_candidate_t *c, int variant,
                                 void **format, double *seconds)
{
    const double  start = spmmi_now(), load = spmmi_tuning_load_seconds(c);
    spmm_status_t status;

    *format            = NULL;
    t->problem.layout  = c->layout;
    t->problem.c_type  = c->c_type;
    t->problem.variant = t->measures && c->engine->facts.baseline && variant == 0 ? 1 : variant;
    t->problem.sibling = !c->engine->facts.baseline ? NULL
                         : t->lender != NULL        ? t->lender
                         : t->best == c             ? t->format
                                                    : NULL;
    status             = c->engine->build(c->engine, t->block, &t->problem, t->device, format);
    t->problem.variant = 0;
    t->problem.sibling = NULL;
    *seconds           = fmax(0.0, spmmi_now() - start - load); /* as others may take */
    return status;
}

spmm_status_t spmmi_tuning_build_first(spmm_tuning_t *t, int from)
{
    for (t->at = from; t->at < t->n && t->best == NULL; t->at++) {
        spmm_candidate_t   *c      = t->order[t->at];
        const spmm_status_t status = spmmi_tuning_build(t, c, 0, &t->format, &t->best_build_s);

        if (status == SPMM_OK) {
            t->best    = c;
            t->variant = 0;
            c->usable  = true; /* whatever a variant of an earlier plan came to */
            break;
        }
        SPMM_TRY(spmmi_tuning_pass_over(t, c, status));
    }
    return SPMM_OK;
}

spmm_status_t spmmi_tuning_build_best(spmm_tuning_t *t)
{
    SPMM_TRY(spmmi_tuning_build_first(t, 0));
    if (t->best == NULL) {
        t->device->env->err = t->first;
        return t->failed;
    }
    return SPMM_OK;
}

void spmmi_tuning_drop_best(spmm_tuning_t *t)
{
    if (t->best != NULL) {
        t->best->engine->destroy(t->format);
        t->best = NULL;
    }
}

double spmmi_tuning_csr_bytes(const spmm_tuning_t *t)
{
    return (double)spmmi_csr_nnz(t->block) *
               (double)(sizeof(int32_t) + spmm_type_size(t->problem.ab_type)) +
           (double)t->block->n_rows * (double)sizeof(int32_t);
}

/* Another engine than the baseline takes about as long as the one that is there. */
double spmmi_tuning_build_seconds(const spmm_tuning_t *t, const spmm_candidate_t *c)
{
    return c->engine->facts.baseline
               ? fmin(t->best_build_s, upload_s + spmmi_tuning_csr_bytes(t) / upload_rate)
               : t->best_build_s + spmmi_tuning_load_seconds(c);
}

/* Of few columns, of column-major blocks and of complex numbers models know least. */
static bool is_doubted(const spmm_tuning_t *t, const spmm_candidate_t *c)
{
    return c->engine->facts.baseline &&
           (t->problem.n < FEW_COLUMNS || c->layout != SPMM_LAYOUT_ROW ||
            spmmi_is_complex(t->problem.ab_type));
}

bool spmmi_tuning_is_worth_trying(const spmm_tuning_t *t, const spmm_candidate_t *c, int tried)
{
    const double most = is_doubted(t, c) ? SPMM_BASELINE_WORTH_TRYING : SPMM_WORTH_TRYING;

    return (c->engine->facts.baseline || tried < MOST_TRIED) &&
           c->predicted_s <= most * t->order[0]->predicted_s;
}

bool spmmi_tuning_is_due(const spmm_tuning_t *t, const spmm_candidate_t *c)
{
    return t->executes >= FEW && (c->engine->facts.baseline || c->engine->facts.always_tried);
}

bool spmmi_tuning_fits(const spmm_tuning_t *t, const spmm_candidate_t *c)
{
    const double most = most_factor * spmmi_tuning_csr_bytes(t) + most_more;

    if (c->engine->least_bytes == NULL || t->problem.pattern == NULL ||
        c->engine->least_bytes(t->problem.pattern, &t->problem) <= most) {
        return true;
    }
    spmmi_log(t->device->env, "engine %s is not tried: its format is too large", c->name);
    return false;
}

bool spmmi_tuning_is_near(const spmm_tuning_t *t, const spmm_candidate_t *c)
{
    const spmm_problem_t *p      = &t->problem;
    const bool            narrow = spmm_type_size(p->ab_type) == 2 && spmmi_gpu_narrow(p) > 0.0;

    return c->predicted_s <= (narrow ? SPMM_VARIANTS_GAIN : SPMM_NEAR) * t->best->predicted_s;
}

int spmmi_tuning_variants(const spmm_tuning_t *t, const spmm_candidate_t *c)
{
    return c->engine->variants != NULL && t->problem.pattern != NULL &&
                   (t->measures || !c->engine->facts.baseline)
               ? c->engine->variants(t->problem.pattern, &t->problem, t->device)
               : 1;
}
