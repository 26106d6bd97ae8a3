/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/choose/autotune.h"

#include <math.h>
#include <string.h>

#include "engine/choose/trial.h"
#include "spmm_dist/context.h"

/* How much faster the fastest may prove than the best predicted, by the errors of the models
 * (docs/explanation/choices.md), is what measuring can bring: so much of the products to come it
 * may take. */
static const double share = 0.05;
/* The same for the yardstick: what must not be slower may take longer to make sure of. */
static const double yardstick_share = 0.1;
/* Its format is the block as it is: bytes/s of a copy to the device, and the copy's own
 * allocations. */
static const double upload_rate = 5e9, upload_s = 0.5e-3;
/* Times the least predicted: slower ones are not measured.  More for the yardstick, which the plan
 * should never be slower than. */
static const double worth = 1.6, yardstick_worth = 2.0;
/* What other variants were seen to bring at most, rounded (docs/explanation/choices.md): an engine
 * behind the best by more stays behind in all of them. */
static const double may_gain = 1.3;

enum {
    MOST_MEASURED = 3 /* beside the yardstick */
};

/* What stands while candidates are tried. */
typedef struct {
    const spmm_csr_t    *block;
    const spmm_device_t *device;
    spmm_problem_t       problem;
    double               beta;
    spmm_trial_t         trial;
    bool                 measuring;                /* trial is open */
    spmm_candidate_t    *order[SPMM_MOST_ENGINES]; /* usable ones by predicted time */
    int                  n, at;                    /* at: rank of best */
    spmm_candidate_t    *best;                     /* NULL: none built yet */
    void                *format;                   /* of best */
    double               best_build_s;
    double               budget_s, start; /* for measuring; start: of that */
    bool needs_room; /* want of memory is an error: how much is free must not decide on bits, and a
                        CPU has as much for one format as for another */
    spmm_error_t  first; /* failure of a candidate */
    spmm_status_t failed;
} tuning_t;

static void sort_usable(spmm_candidate_t *candidates, int n, tuning_t *t)
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

/* A candidate failed: remember the first reason, and go on where that may be. */
static spmm_status_t pass_over(tuning_t *t, const spmm_candidate_t *c, spmm_status_t status)
{
    spmm_error_t *err = &t->device->env->err;

    if (!spmmi_is_refusal(status) || (t->needs_room && status == SPMM_ERR_MEMORY)) {
        return status;
    }
    spmmi_log(t->device->env, "engine %s is passed over: %s", c->engine->name, err->text);
    if (t->failed == SPMM_OK) {
        t->failed = status;
        t->first  = *err;
    }
    spmmi_error_clear(err);
    return SPMM_OK;
}

static spmm_status_t build(tuning_t *t, const spmm_candidate_t *c, void **format, double *seconds)
{
    const double start = spmmi_now();

    *format           = NULL;
    t->problem.layout = c->layout;
    SPMM_TRY(c->engine->build(t->block, &t->problem, t->device, format));
    *seconds = spmmi_now() - start;
    return SPMM_OK;
}

/* The best predicted from rank @p from on that can be built; t->best stays NULL where none can. */
static spmm_status_t build_first(tuning_t *t, int from)
{
    for (t->at = from; t->at < t->n && t->best == NULL; t->at++) {
        spmm_candidate_t   *c      = t->order[t->at];
        const spmm_status_t status = build(t, c, &t->format, &t->best_build_s);

        if (status == SPMM_OK) {
            t->best = c;
            break;
        }
        SPMM_TRY(pass_over(t, c, status));
    }
    return SPMM_OK;
}

static void drop_best(tuning_t *t)
{
    if (t->best != NULL) {
        t->best->engine->destroy(t->format);
        t->best = NULL;
    }
}

/* Seconds that the format of @p c takes to build: the yardstick's, which measures three algorithms,
 * without these; another takes about as long as the one that is there. */
static double build_seconds(const tuning_t *t, const spmm_candidate_t *c)
{
    const double bytes = (double)spmmi_csr_nnz(t->block) *
                             (double)(sizeof(int32_t) + spmm_type_size(t->problem.ab_type)) +
                         (double)t->block->n_rows * (double)sizeof(int32_t);

    return c->engine->yardstick ? fmin(t->best_build_s, upload_s + bytes / upload_rate)
                                : t->best_build_s;
}

/* Would trying @p c, and before it the best where that is still to be measured, stay within the
 * budget? */
static bool is_affordable(const tuning_t *t, const spmm_candidate_t *c)
{
    const double spent = spmmi_now() - t->start;
    const double best  = isnan(t->best->measured_s)
                             ? SPMM_TRIAL_OPEN_S + spmmi_trial_seconds(t->best->predicted_s)
                             : 0.0;

    const double product_s = isnan(c->measured_s) ? c->predicted_s : c->measured_s;
    const double trials    = c->engine->yardstick ? 3.0 : 1.0;
    const double budget =
        c->engine->yardstick ? yardstick_share / share * t->budget_s : t->budget_s;

    return spent + best + build_seconds(t, c) + trials * spmmi_trial_seconds(product_s) <= budget;
}

static bool is_rival(const tuning_t *t, const spmm_candidate_t *c, int measured)
{
    const double least_s = t->order[0]->predicted_s;

    return c->engine->yardstick ? c->predicted_s <= yardstick_worth * least_s
                                : measured < MOST_MEASURED && c->predicted_s <= worth * least_s;
}

/* Room for B and C, and the time of the best.  *goes_on: measured, there may be rivals. */
static spmm_status_t measure_best(tuning_t *t, bool *goes_on)
{
    spmm_status_t status;

    *goes_on = false;
    status   = spmmi_trial_open(t->device, t->block, &t->problem, t->beta, false, &t->trial);
    if (status == SPMM_ERR_MEMORY) {
        spmmi_error_clear(&t->device->env->err);
        spmmi_log(t->device->env, "no room to measure engines with");
        return SPMM_OK;
    }
    SPMM_TRY(status);
    t->measuring = true;
    status = spmmi_trial_measure(&t->trial, t->best->engine, t->format, t->best->layout, INFINITY,
                                 &t->best->measured_s);
    if (status == SPMM_OK) {
        t->best->measured_s += t->best->copies_s;
        *goes_on = true;
        return SPMM_OK;
    }
    t->best->measured_s = NAN;
    status              = pass_over(t, t->best, status);
    drop_best(t);
    spmmi_trial_close(&t->trial);
    t->measuring = false;
    return status;
}

/* Build a candidate in one of its variants and measure it; keep it where it is the best so far. */
static spmm_status_t try_one(tuning_t *t, spmm_candidate_t *c, int variant)
{
    double        build_s, seconds;
    void         *format;
    spmm_status_t status;

    t->problem.variant = variant;
    status             = build(t, c, &format, &build_s);
    t->problem.variant = 0;
    if (status != SPMM_OK) {
        return pass_over(t, c, status);
    }
    status = spmmi_trial_measure(&t->trial, c->engine, format, c->layout,
                                 t->best->measured_s - c->copies_s, &seconds);
    if (status != SPMM_OK) {
        c->engine->destroy(format);
        return pass_over(t, c, status);
    }
    seconds += c->copies_s;
    if (!(seconds < t->best->measured_s)) {
        c->measured_s = fmin(c->measured_s, seconds); /* of its fastest variant */
        c->engine->destroy(format);
        return SPMM_OK;
    }
    drop_best(t);
    c->measured_s   = seconds;
    t->best         = c;
    t->format       = format;
    t->best_build_s = build_s;
    return SPMM_OK;
}

/* Rivals of the best, by predicted time, as far as the budget goes. */
static spmm_status_t try_rivals(tuning_t *t)
{
    bool goes_on  = true;
    int  measured = 1;

    for (int rank = t->at + 1; rank < t->n && goes_on; rank++) {
        spmm_candidate_t *c = t->order[rank];

        if (!is_rival(t, c, measured) || !is_affordable(t, c)) {
            continue;
        }
        if (!t->measuring) {
            SPMM_TRY(measure_best(t, &goes_on));
        }
        if (goes_on) {
            SPMM_TRY(try_one(t, c, 0));
            measured += !c->engine->yardstick;
        }
    }
    return SPMM_OK;
}

/* The other variants of @p c, as far as the budget goes. */
static spmm_status_t try_variants_of(tuning_t *t, spmm_candidate_t *c)
{
    bool goes_on = true;
    int  n       = 1;

    if (c->engine->variants != NULL && t->problem.pattern != NULL) {
        n = c->engine->variants(t->problem.pattern, &t->problem, t->device);
    }
    for (int variant = 1; variant < n && goes_on && is_affordable(t, c); variant++) {
        if (!t->measuring) {
            SPMM_TRY(measure_best(t, &goes_on));
        }
        if (goes_on) {
            SPMM_TRY(try_one(t, c, variant));
        }
    }
    return SPMM_OK;
}

/* Rank of the fastest engine whose variants may make it the best and are still to be tried; -1:
 * none. */
static int next_to_variant(const tuning_t *t, const bool *done)
{
    int next = -1;

    for (int rank = 0; rank < t->n && t->best != NULL; rank++) {
        const spmm_candidate_t *c = t->order[rank];
        const bool may            = c == t->best || c->measured_s <= may_gain * t->best->measured_s;

        if (may && !done[rank] && (next < 0 || c->measured_s < t->order[next]->measured_s)) {
            next = rank;
        }
    }
    return next;
}

/* The other variants of the best engine, and of those near it. */
static spmm_status_t try_variants(tuning_t *t)
{
    bool done[SPMM_MOST_ENGINES] = {false};

    for (int rank = next_to_variant(t, done); rank >= 0; rank = next_to_variant(t, done)) {
        done[rank] = true;
        SPMM_TRY(try_variants_of(t, t->order[rank]));
    }
    return SPMM_OK;
}

static spmm_status_t tune(tuning_t *t)
{
    int from = 0;

    while (t->best == NULL) {
        SPMM_TRY(build_first(t, from));
        if (t->best == NULL) {
            t->device->env->err = t->first;
            return t->failed;
        }
        from     = t->at + 1;
        t->start = spmmi_now();
        SPMM_TRY(try_rivals(t)); /* without a best one where that could be built, but not run */
        SPMM_TRY(try_variants(t));
    }
    return SPMM_OK;
}

/* The best predicted that can be built. */
static spmm_status_t predict_only(tuning_t *t)
{
    SPMM_TRY(build_first(t, 0));
    if (t->best == NULL) {
        t->device->env->err = t->first;
        return t->failed;
    }
    return SPMM_OK;
}

/* The time of the best, for others to be compared with; NaN without room for B and C. */
static spmm_status_t time_only(tuning_t *t)
{
    bool goes_on;

    SPMM_TRY(measure_best(t, &goes_on));
    if (t->best == NULL) { /* it could be built, but not run */
        t->device->env->err = t->first;
        return t->failed;
    }
    return SPMM_OK;
}

spmm_status_t spmmi_engine_settle(const spmm_engine_choice_t *choice, const spmm_csr_t *block,
                                  const spmm_problem_t *problem, const spmm_device_t *device,
                                  spmm_candidate_t *candidates, int n,
                                  spmm_engine_settled_t *settled)
{
    const double  start       = spmmi_now();
    const bool    free_choice = spmmi_candidate_is_auto(choice->name);
    tuning_t      t = {.block = block, .device = device, .problem = *problem, .beta = choice->beta};
    spmm_status_t status;
    const spmm_candidate_t *picked;

    memset(settled, 0, sizeof *settled);
    SPMM_TRY(spmmi_engine_pick(choice->name, device, candidates, n, &picked));
    if (!free_choice) {
        settled->picked  = picked;
        t.problem.layout = picked->layout;
        return picked->engine->build(block, &t.problem, device, &settled->format);
    }
    sort_usable(candidates, n, &t);
    if (!choice->measure || spmmi_csr_nnz(block) == 0) {
        t.needs_room = device->kind == SPMM_DEVICE_CPU || problem->deterministic;
        SPMM_TRY(predict_only(&t));
        settled->picked = t.best;
        settled->format = t.format;
        return SPMM_OK;
    }
    t.budget_s = share * (double)spmmi_executes_to_come(choice->executes) * picked->predicted_s;
    status     = tune(&t);
    if (status == SPMM_OK && choice->compared && isnan(t.best->measured_s)) {
        status = time_only(&t);
    }
    spmmi_trial_close(&t.trial);
    if (status != SPMM_OK) {
        drop_best(&t);
        return status;
    }
    settled->picked = t.best;
    settled->format = t.format;
    settled->tune_s = spmmi_now() - start - t.best_build_s;
    return SPMM_OK;
}
