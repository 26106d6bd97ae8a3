/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/choose/rivals.h"

#include <math.h>

#include "spmm_dist/context.h"

/* So few products may not pay for the format of the yardstick: it is tried as the others are. */
enum { FEW = 200 };
/* Near engines may take so many times the budget, since later plans remember which was the faster
 * one.  Others bring a hundredth at most, in the mean, and may take no more. */
static const double near_budget = 5.0, far_budget = 0.2;

typedef struct {
    spmm_tuning_t *t;
    spmm_tries_t  *tries;
    size_t         host, device; /* bytes of what is built beside the first */
} rivals_t;

/* May variants of @p c prove the fastest? */
static bool may_vary(const spmm_tuning_t *t, const spmm_candidate_t *c)
{
    return c->predicted_s <= SPMM_VARIANTS_GAIN * t->best->predicted_s;
}

/* Would building @p c and trying it stay within so many times the budget? */
static bool is_affordable(const rivals_t *r, const spmm_candidate_t *c, double times)
{
    const spmm_tuning_t *t     = r->t;
    const double         spent = spmmi_now() - t->start;
    const double         lost = SPMM_TRY_SAMPLES * fmax(0.0, c->predicted_s - t->best->predicted_s);

    return spent + spmmi_tuning_build_seconds(t, c) + lost <= times * t->budget_s;
}

static double most_bytes(const rivals_t *r)
{
    return SPMM_RIVALS_FACTOR * spmmi_tuning_csr_bytes(r->t) + SPMM_RIVALS_BYTES;
}

static bool say_too_large(const rivals_t *r, const spmm_candidate_t *c)
{
    spmmi_log(r->t->device->env, "engine %s is not tried: its format is too large", c->name);
    return false;
}

/* Could there be room for a format of @p c? */
static bool may_fit(const rivals_t *r, const spmm_candidate_t *c)
{
    const spmm_problem_t *problem = &r->t->problem;

    return c->engine->least_bytes == NULL || problem->pattern == NULL ||
           (double)r->device + c->engine->least_bytes(problem->pattern, problem) <= most_bytes(r) ||
           say_too_large(r, c);
}

/* Is there room for @p format beside the others? */
static bool fits(rivals_t *r, const spmm_candidate_t *c, const void *format)
{
    const double most = most_bytes(r);
    size_t       host = 0, device = 0;

    c->engine->bytes(format, &host, &device);
    r->host += host;
    r->device += device;
    if ((double)r->host <= most && (double)r->device <= most) {
        return true;
    }
    r->host -= host;
    r->device -= device;
    return say_too_large(r, c);
}

static spmm_status_t add(rivals_t *r, spmm_candidate_t *c, int variant)
{
    spmm_tuning_t *t = r->t;
    double         seconds;
    void          *format;
    spmm_status_t  status;

    if (!may_fit(r, c)) {
        return SPMM_OK;
    }
    status = spmmi_tuning_build(t, c, variant, &format, &seconds);
    if (status != SPMM_OK) {
        return spmmi_tuning_pass_over(t, c, status);
    }
    if (!fits(r, c, format)) {
        c->engine->destroy(format);
        return SPMM_OK;
    }
    status = spmmi_tries_add(r->tries, c, format, variant);
    if (status != SPMM_OK) {
        c->engine->destroy(format);
    }
    return status;
}

static double budget_of(const spmm_tuning_t *t, const spmm_candidate_t *c)
{
    return spmmi_tuning_is_near(t, c) ? near_budget : far_budget;
}

static bool is_tried(const spmm_tries_t *tries, const spmm_candidate_t *c)
{
    for (int k = 0; k < tries->count; k++) {
        if (tries->of[k].candidate == c) {
            return true;
        }
    }
    return false;
}

/* The algorithms of the yardstick, unless it is predicted to be far behind: its arrays are those of
 * the block, which they share, and the plan should never be slower. */
static spmm_status_t add_yardstick(rivals_t *r)
{
    spmm_tuning_t *t = r->t;

    for (int rank = 0; rank < t->n && t->executes >= FEW; rank++) {
        spmm_candidate_t *c     = t->order[rank];
        const int         first = c == t->best ? 2 : 1, n = spmmi_tuning_variants(t, c);

        if (!c->engine->yardstick || c->layout != t->best->layout ||
            !spmmi_tuning_is_rival(t, c, 0)) {
            continue;
        }
        t->problem.sibling = c == t->best ? t->format : NULL;
        for (int v = first; v < (n > 2 ? n : 2) && r->tries->count < SPMM_MOST_TRIES; v++) {
            const int before = r->tries->count;

            SPMM_TRY(add(r, c, v));
            if (t->problem.sibling == NULL && r->tries->count > before) {
                t->problem.sibling = r->tries->of[before].format;
            }
        }
        t->problem.sibling = NULL;
    }
    return SPMM_OK;
}

/* The dense product, which models put within a third of the best where it is the faster one. */
static spmm_status_t add_always_tried(rivals_t *r)
{
    spmm_tuning_t *t = r->t;

    for (int rank = t->at + 1; rank < t->n && t->executes >= FEW; rank++) {
        spmm_candidate_t *c = t->order[rank];

        if (r->tries->count < SPMM_MOST_TRIES && c->engine->always_tried &&
            c->layout == t->best->layout && spmmi_tuning_is_rival(t, c, 0)) {
            SPMM_TRY(add(r, c, 0));
        }
    }
    return SPMM_OK;
}

static spmm_status_t add_others(rivals_t *r)
{
    spmm_tuning_t *t     = r->t;
    int            tried = 1;

    for (int k = 1; k < r->tries->count; k++) {
        tried += r->tries->of[k].candidate->engine->always_tried;
    }
    for (int rank = t->at + 1; rank < t->n && r->tries->count < SPMM_MOST_TRIES; rank++) {
        spmm_candidate_t *c = t->order[rank];

        if (c->layout == t->best->layout && !is_tried(r->tries, c) &&
            spmmi_tuning_is_rival(t, c, tried) && is_affordable(r, c, budget_of(t, c))) {
            SPMM_TRY(add(r, c, 0));
            tried++;
        }
    }
    for (int rank = t->at; rank < t->n; rank++) {
        spmm_candidate_t *c   = t->order[rank];
        const bool        may = is_tried(r->tries, c) && !c->engine->yardstick && may_vary(t, c);
        const int         n   = may ? spmmi_tuning_variants(t, c) : 1;

        for (int v = 1; v < n && r->tries->count < SPMM_MOST_TRIES && is_affordable(r, c, 1.0);
             v++) {
            SPMM_TRY(add(r, c, v));
        }
    }
    return SPMM_OK;
}

static spmm_status_t add_all(rivals_t *r)
{
    SPMM_TRY(spmmi_tries_add(r->tries, r->t->best, r->t->format, 0));
    SPMM_TRY(add_yardstick(r));
    SPMM_TRY(add_always_tried(r));
    r->t->start = spmmi_now();
    return add_others(r);
}

spmm_status_t spmmi_rivals_build(spmm_tuning_t *t, spmm_tries_t **tries)
{
    rivals_t      r = {.t = t};
    spmm_status_t status;

    *tries = NULL;
    SPMM_TRY(spmmi_tries_create(t->device, &r.tries));
    status = add_all(&r);
    if (status != SPMM_OK || r.tries->count < 2) {
        spmmi_tries_free(r.tries); /* the first format, in use, stays */
        return status;
    }
    *tries = r.tries;
    return SPMM_OK;
}
