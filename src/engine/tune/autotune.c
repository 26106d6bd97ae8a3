/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/tune/autotune.h"

#include <math.h>
#include <string.h>

#include "engine/tune/constants.h"
#include "engine/tune/remember.h"
#include "engine/tune/tuning.h"
#include "spmm_dist/context.h"

enum { ANEW = 2 }; /* more times that two which are not clearly apart are measured */

/* What measuring the best takes, where that is still to be done. */
static double best_seconds(const spmm_tuning_t *t)
{
    return isnan(t->best->measured_s)
               ? SPMM_TRIAL_OPEN_S + spmmi_trial_seconds(t->best->predicted_s)
               : 0.0;
}

/* Would trying @p c, and before it the best where that is still to be measured, stay within the
 * budget, or take less than @p c is predicted to save over what the best was seen to take? */
static bool is_affordable(const spmm_tuning_t *t, const spmm_candidate_t *c)
{
    const double spent     = spmmi_now() - t->start;
    const double product_s = isnan(c->measured_s) ? c->predicted_s : c->measured_s;
    const double trials    = c->engine->facts.baseline ? 3.0 : 1.0;
    const double cost  = spmmi_tuning_build_seconds(t, c) + trials * spmmi_trial_seconds(product_s);
    const double saved = (double)t->executes * (t->best->measured_s - product_s);
    const double times = spmmi_tuning_is_near(t, c) ? SPMM_NEAR_SHARES : 1.0;

    return spmmi_tuning_is_due(t, c) || spent + best_seconds(t) + cost <= times * t->budget_s ||
           cost <= saved; /* NaN: not measured */
}

/* May the best be measured, though no other candidate is within the budget?  It may prove so slow
 * that one is. */
static bool may_doubt(const spmm_tuning_t *t)
{
    return spmmi_now() - t->start + best_seconds(t) <= t->budget_s;
}

/* Room for B and C, and the time of the best.  *goes_on: measured, others may be tried. */
static spmm_status_t measure_best(spmm_tuning_t *t, bool *goes_on)
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
    status              = spmmi_tuning_pass_over(t, t->best, status);
    spmmi_tuning_drop_best(t);
    spmmi_trial_close(&t->trial);
    t->measuring = false;
    return status;
}

/* The best and @p c by turns: the least of each, so that a disturbance does not decide. */
static spmm_status_t measure_anew(spmm_tuning_t *t, const spmm_candidate_t *c, void *format,
                                  double *seconds)
{
    spmm_candidate_t *best = t->best;
    double            took;

    for (int k = 0; k < ANEW; k++) {
        t->trial.c_type = best->c_type;
        SPMM_TRY(spmmi_trial_measure(&t->trial, best->engine, t->format, best->layout,
                                     (double)INFINITY, &took));
        best->measured_s = fmin(best->measured_s, took + best->copies_s);
        t->trial.c_type  = c->c_type;
        SPMM_TRY(
            spmmi_trial_measure(&t->trial, c->engine, format, c->layout, (double)INFINITY, &took));
        *seconds = fmin(*seconds, took + c->copies_s);
    }
    return SPMM_OK;
}

/* A format that is not the fastest; of the baseline, one lends its arrays to those to come. */
static void put_away(spmm_tuning_t *t, const spmm_candidate_t *c, void *format)
{
    if (c->engine->facts.baseline && t->lender == NULL) {
        t->lender = format;
    } else {
        c->engine->destroy(format);
    }
}

/* Build a candidate in one of its variants and measure it; keep it where it is the best so far. */
static spmm_status_t try_one(spmm_tuning_t *t, spmm_candidate_t *c, int variant)
{
    double        build_s, seconds;
    void         *format;
    spmm_status_t status;

    status = spmmi_tuning_build(t, c, variant, &format, &build_s);
    if (status != SPMM_OK) {
        return spmmi_tuning_pass_over(t, c, status);
    }
    t->trial.c_type = c->c_type;
    status          = spmmi_trial_measure(&t->trial, c->engine, format, c->layout,
                                          t->best->measured_s - c->copies_s, &seconds);
    if (status != SPMM_OK) {
        c->engine->destroy(format);
        return spmmi_tuning_pass_over(t, c, status);
    }
    seconds += c->copies_s;
    if (fabs(seconds - t->best->measured_s) < (1.0 - SPMM_CLEAR) * t->best->measured_s) {
        status = measure_anew(t, c, format, &seconds);
        if (status != SPMM_OK) {
            c->engine->destroy(format);
            return status;
        }
    }
    if (!(seconds < t->best->measured_s)) {
        c->measured_s = fmin(c->measured_s, seconds); /* of its fastest variant */
        put_away(t, c, format);
        return SPMM_OK;
    }
    spmmi_tuning_drop_best(t);
    c->measured_s   = seconds;
    t->best         = c;
    t->variant      = variant;
    t->format       = format;
    t->best_build_s = build_s;
    return SPMM_OK;
}

/* The algorithms of the baseline from number @p first on, whose arrays are those of the block. */
static spmm_status_t try_algorithms(spmm_tuning_t *t, spmm_candidate_t *c, int first)
{
    const int     n      = spmmi_tuning_variants(t, c);
    spmm_status_t status = SPMM_OK;

    for (int k = first; k < (n > 2 ? n : 2) && status == SPMM_OK && t->best != NULL; k++) {
        status = try_one(t, c, k);
    }
    if (t->lender != NULL) {
        c->engine->destroy(t->lender);
        t->lender = NULL;
    }
    return status;
}

/* The other candidates, by predicted time, as far as the budget goes, or what they are to save. */
static spmm_status_t try_others(spmm_tuning_t *t)
{
    bool goes_on  = true;
    int  measured = 1;

    for (int rank = t->at + 1; rank < t->n; rank++) {
        spmm_candidate_t *c = t->order[rank];

        if (!spmmi_tuning_is_worth_trying(t, c, spmmi_tuning_is_due(t, c) ? 0 : measured) ||
            !spmmi_tuning_fits(t, c)) {
            continue;
        }
        if (!t->measuring && (is_affordable(t, c) || may_doubt(t))) {
            SPMM_TRY(measure_best(t, &goes_on));
        }
        if (!goes_on) {
            return SPMM_OK;
        }
        if (!is_affordable(t, c)) {
            t->ended = true;
        } else if (t->measuring) {
            SPMM_TRY(c->engine->facts.baseline ? try_algorithms(t, c, 1) : try_one(t, c, 0));
            measured += !c->engine->facts.baseline;
        }
    }
    return SPMM_OK;
}

/* The other variants of @p c, as far as the budget goes.  A baseline that was built first has had
 * one algorithm measured: here come the rest. */
static spmm_status_t try_variants_of(spmm_tuning_t *t, spmm_candidate_t *c)
{
    const int n       = spmmi_tuning_variants(t, c);
    bool      goes_on = true;

    for (int variant = 1; variant < n && goes_on; variant++) {
        if (!is_affordable(t, c)) {
            t->ended = true;
            return SPMM_OK;
        }
        if (!t->measuring) {
            SPMM_TRY(measure_best(t, &goes_on));
        }
        if (goes_on && c->engine->facts.baseline) {
            return try_algorithms(t, c, 2);
        }
        if (goes_on) {
            SPMM_TRY(try_one(t, c, variant));
        }
    }
    return SPMM_OK;
}

/* Rank of the fastest engine whose variants may make it the best and are still to be tried; -1:
 * none. */
static int next_to_variant(const spmm_tuning_t *t, const bool *done)
{
    int next = -1;

    for (int rank = 0; rank < t->n && t->best != NULL; rank++) {
        const spmm_candidate_t *c = t->order[rank];
        const bool may = c == t->best || c->measured_s <= SPMM_VARIANTS_GAIN * t->best->measured_s;

        if (may && !done[rank] && (next < 0 || c->measured_s < t->order[next]->measured_s)) {
            next = rank;
        }
    }
    return next;
}

/* The other variants of the best engine, and of those near it. */
static spmm_status_t try_variants(spmm_tuning_t *t)
{
    bool done[SPMM_MOST_ENGINES] = {false};

    for (int rank = t->at + 1; rank < t->n; rank++) { /* its algorithms have been tried */
        done[rank] = t->order[rank]->engine->facts.baseline;
    }
    for (int rank = next_to_variant(t, done); rank >= 0; rank = next_to_variant(t, done)) {
        done[rank] = true;
        SPMM_TRY(try_variants_of(t, t->order[rank]));
    }
    return SPMM_OK;
}

static spmm_status_t tune(spmm_tuning_t *t)
{
    int from = 0;

    while (t->best == NULL) {
        SPMM_TRY(spmmi_tuning_build_first(t, from));
        if (t->best == NULL) {
            t->device->env->err = t->first;
            return t->failed;
        }
        from     = t->at + 1;
        t->start = spmmi_now();
        SPMM_TRY(try_others(t)); /* without a best one where that could be built, but not run */
        SPMM_TRY(try_variants(t));
    }
    return SPMM_OK;
}

/* The time of the best, for others to be compared with; NaN without room for B and C. */
static spmm_status_t time_only(spmm_tuning_t *t)
{
    bool goes_on;

    SPMM_TRY(measure_best(t, &goes_on));
    if (t->best == NULL) { /* it could be built, but not run */
        t->device->env->err = t->first;
        return t->failed;
    }
    return SPMM_OK;
}

/* What an earlier plan found out; t->best stays NULL where that is nothing, or cannot be built. */
static spmm_status_t build_remembered(spmm_tuning_t *t, const char *key)
{
    spmm_winner_t winner;

    if (!spmmi_remember_load(key, &winner)) {
        return SPMM_OK;
    }
    for (int rank = 0; rank < t->n && t->best == NULL; rank++) {
        spmm_candidate_t *c = t->order[rank];
        spmm_status_t     status;

        if (strcmp(c->name, winner.engine) != 0 || winner.variant >= spmmi_tuning_variants(t, c)) {
            continue;
        }
        status = spmmi_tuning_build(t, c, winner.variant, &t->format, &t->best_build_s);
        if (status != SPMM_OK) {
            return spmmi_tuning_pass_over(t, c, status);
        }
        t->best       = c;
        t->variant    = winner.variant;
        c->measured_s = winner.seconds;
    }
    return SPMM_OK;
}

/* Later plans for the same block take what this one has found, unless the budget ended it. */
static void remember(const spmm_tuning_t *t, const char *key)
{
    spmm_winner_t winner = {.variant = t->variant, .seconds = t->best->measured_s};

    if (key[0] == '\0' || t->ended || isnan(t->best->measured_s)) {
        return;
    }
    (void)snprintf(winner.engine, sizeof winner.engine, "%s", t->best->name);
    if (!spmmi_remember_store(key, &winner)) {
        spmmi_log(t->device->env, "the choice of engine %s is not remembered: no file",
                  winner.engine);
    }
}

/* The fastest of what is measured with scratch operands, now or in an earlier plan. */
static spmm_status_t choose_by_times(spmm_tuning_t *t, const spmm_engine_choice_t *choice,
                                     spmm_engine_settled_t *settled)
{
    char          key[SPMM_REMEMBER_KEY] = "";
    spmm_status_t status;

    t->measures = true;
    if (t->n > 1) { /* else there is no choice */
        spmmi_remember_key(t->block, &t->problem, t->device, t->beta != 0.0, key);
        SPMM_TRY(build_remembered(t, key));
        settled->remembered = t->best != NULL;
    }
    if (settled->remembered) {
        return SPMM_OK;
    }
    status = tune(t);
    if (status == SPMM_OK && choice->compared && isnan(t->best->measured_s)) {
        status = time_only(t);
    }
    spmmi_trial_close(&t->trial);
    if (status == SPMM_OK) {
        remember(t, key);
    }
    return status;
}

static spmm_status_t choose(spmm_tuning_t *t, const spmm_engine_choice_t *choice,
                            spmm_engine_settled_t *settled)
{
    if (choice->measures && spmmi_csr_nnz(t->block) > 0) {
        return choose_by_times(t, choice, settled);
    }
    t->needs_room = t->device->kind == SPMM_DEVICE_CPU || t->problem.deterministic;
    return spmmi_tuning_build_best(t);
}

/* C of 16 bits is rounded once, but the baseline's library adds rounded sums in it. */
static void leave_out_rounding(spmm_candidate_t *candidates, int n)
{
    for (int e = 0; e < n; e++) {
        spmm_candidate_t *c = &candidates[e];

        if (c->usable && c->engine->facts.baseline && spmm_type_size(c->c_type) == 2 &&
            spmmi_candidate_least(candidates, n, e) >= 0) {
            spmmi_candidate_leave_out(c, "adds sums of 16 bits: it is taken by name alone");
        }
    }
}

/* So many products as the caller has said may not be worth the loading of a library. */
static void leave_out_unloaded(const spmm_engine_choice_t *choice, spmm_candidate_t *candidates,
                               int n)
{
    for (int e = 0; e < n && choice->executes > 0; e++) {
        spmm_candidate_t *c    = &candidates[e];
        const double      load = c->usable ? spmmi_tuning_load_seconds(c) : 0.0;
        const int         next = spmmi_candidate_least(candidates, n, e);

        if (load > 0.0 && next >= 0 &&
            load > (double)choice->executes * (candidates[next].predicted_s - c->predicted_s)) {
            spmmi_candidate_leave_out(c,
                                      "needs a library that takes %.1f s to load, which %lld "
                                      "products do not make up for",
                                      load, (long long)choice->executes);
        }
    }
}

spmm_status_t spmmi_engine_settle(const spmm_engine_choice_t *choice, const spmm_csr_t *block,
                                  const spmm_problem_t *problem, const spmm_device_t *device,
                                  spmm_candidate_t *candidates, int n,
                                  spmm_engine_settled_t *settled)
{
    const double  start = spmmi_now();
    spmm_tuning_t t = {.block = block, .device = device, .problem = *problem, .beta = choice->beta};
    spmm_status_t status;
    const spmm_candidate_t *picked;

    memset(settled, 0, sizeof *settled);
    if (spmmi_candidate_is_auto(choice->name)) {
        leave_out_unloaded(choice, candidates, n);
        leave_out_rounding(candidates, n);
    }
    SPMM_TRY(spmmi_engine_pick(choice->name, device, candidates, n, &picked));
    if (!spmmi_candidate_is_auto(choice->name)) {
        settled->picked  = picked;
        t.problem.layout = picked->layout;
        t.problem.c_type = picked->c_type;
        return picked->engine->build(picked->engine, block, &t.problem, device, &settled->format);
    }
    spmmi_tuning_sort(&t, candidates, n);
    t.executes = spmmi_executes_to_come(choice->executes);
    t.budget_s = SPMM_TUNE_SHARE * (double)t.executes * picked->predicted_s;
    status     = choose(&t, choice, settled);
    if (status != SPMM_OK) {
        spmmi_tuning_drop_best(&t);
        return status;
    }
    settled->picked = t.best;
    settled->format = t.format;
    settled->tune_s = spmmi_now() - start - t.best_build_s;
    return SPMM_OK;
}
