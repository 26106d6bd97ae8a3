/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/autotune.h"

#include <math.h>
#include <string.h>

#include "engine/trial.h"

enum { MOST_MEASURED = 3 };      /* beside the yardstick */
static const double worth = 3.0; /* times the least predicted: slower ones are not measured */

/* What stands while candidates are tried. */
typedef struct {
    const spmm_csr_t        *block;
    const spmm_device_t     *device;
    spmm_problem_t           problem;
    spmm_trial_t             trial;
    bool                     measuring; /* trial is open */
    spmm_engine_candidate_t *best;      /* NULL: none built yet */
    void                    *format;    /* of best */
    double                   best_build_s;
} tuning_t;

/* The plan must never be slower than with this one. */
static bool is_yardstick(const spmm_engine_candidate_t *c)
{
    return strcmp(c->engine->name, "cusparse") == 0;
}

static spmm_engine_candidate_t *least_predicted(spmm_engine_candidate_t *candidates, int n)
{
    spmm_engine_candidate_t *least = NULL;

    for (int e = 0; e < n; e++) {
        spmm_engine_candidate_t *c = &candidates[e];

        if (c->usable && !c->tried && (least == NULL || c->predicted_s < least->predicted_s)) {
            least = c;
        }
    }
    return least;
}

/* Does measuring leave a choice? */
static bool have_rivals(const spmm_engine_candidate_t *candidates, int n, double least_s)
{
    int rivals = 0;

    for (int e = 0; e < n; e++) {
        const spmm_engine_candidate_t *c = &candidates[e];

        rivals += c->usable && (c->predicted_s <= worth * least_s || is_yardstick(c));
    }
    return rivals > 1;
}

/* Failures of one engine that say nothing of the others. */
static bool may_go_on(spmm_status_t status)
{
    return status == SPMM_ERR_MEMORY || status == SPMM_ERR_RANGE || status == SPMM_ERR_UNSUPPORTED;
}

static spmm_status_t open_trial(tuning_t *t, double beta)
{
    const spmm_error_t  before = t->device->env->err;
    const spmm_status_t status = spmm_trial_open(t->device, t->block, &t->problem, beta, &t->trial);

    t->measuring = status == SPMM_OK;
    if (status == SPMM_ERR_MEMORY) {
        t->device->env->err = before;
        spmm_log(t->device->env, "no room to measure engines with");
        return SPMM_OK;
    }
    return status;
}

/* Build a candidate and measure it; keep it where it is the best so far. */
static spmm_status_t try_candidate(tuning_t *t, spmm_engine_candidate_t *c)
{
    const double  start   = spmm_now();
    const double  best_s  = t->best == NULL ? INFINITY : t->best->measured_s - c->copies_s;
    double        build_s = 0.0;
    void         *format  = NULL;
    spmm_status_t status;

    c->tried          = true;
    t->problem.layout = c->layout;
    SPMM_TRY(c->engine->build(t->block, &t->problem, t->device, &format));
    build_s = spmm_now() - start;
    if (t->measuring) {
        status =
            spmm_trial_measure(&t->trial, c->engine, format, c->layout, best_s, &c->measured_s);
        if (status != SPMM_OK) {
            c->measured_s = NAN;
            c->engine->destroy(format);
            return status;
        }
        c->measured_s += c->copies_s;
    }
    if (t->best != NULL && !(c->measured_s < t->best->measured_s)) {
        c->engine->destroy(format);
        return SPMM_OK;
    }
    if (t->best != NULL) {
        t->best->engine->destroy(t->format);
    }
    t->best         = c;
    t->format       = format;
    t->best_build_s = build_s;
    return SPMM_OK;
}

/* Candidates by predicted time: those to measure, and others only until one could be built. */
static spmm_status_t try_all(tuning_t *t, spmm_engine_candidate_t *candidates, int n,
                             double least_s)
{
    const spmm_error_t       before = t->device->env->err;
    spmm_error_t             first  = before;
    spmm_status_t            failed = SPMM_OK, status;
    spmm_engine_candidate_t *c;

    for (int rank = 0; (c = least_predicted(candidates, n)) != NULL; rank++) {
        const bool rival =
            t->measuring &&
            (is_yardstick(c) || (rank < MOST_MEASURED && c->predicted_s <= worth * least_s));

        if (t->best != NULL && !rival) {
            c->tried = true;
            continue;
        }
        status = try_candidate(t, c);
        if (status != SPMM_OK && !may_go_on(status)) {
            return status;
        }
        if (status != SPMM_OK) {
            spmm_log(t->device->env, "engine %s is passed over: %s", c->engine->name,
                     t->device->env->err.text);
            first               = failed == SPMM_OK ? t->device->env->err : first;
            failed              = failed == SPMM_OK ? status : failed;
            t->device->env->err = before;
        }
    }
    if (t->best == NULL) {
        t->device->env->err = first;
        return failed;
    }
    return SPMM_OK;
}

static spmm_status_t tune(tuning_t *t, double beta, spmm_engine_candidate_t *candidates, int n,
                          double least_s)
{
    spmm_status_t status = open_trial(t, beta);

    if (status == SPMM_OK) {
        status = try_all(t, candidates, n, least_s);
    }
    spmm_trial_close(&t->trial);
    if (status != SPMM_OK && t->best != NULL) {
        t->best->engine->destroy(t->format);
        t->best = NULL;
    }
    return status;
}

/* The best predicted candidate that can be built. */
static spmm_status_t build_unmeasured(tuning_t *t, spmm_engine_candidate_t *candidates, int n)
{
    for (int e = 0; e < n; e++) {
        candidates[e].tried      = false;
        candidates[e].measured_s = NAN;
    }
    t->measuring = false;
    return try_all(t, candidates, n, 0.0);
}

spmm_status_t spmm_engine_settle(const spmm_engine_choice_t *choice, const spmm_csr_t *block,
                                 const spmm_problem_t *problem, const spmm_device_t *device,
                                 spmm_engine_candidate_t *candidates, int n,
                                 spmm_engine_settled_t *settled)
{
    const double start       = spmm_now();
    const bool   free_choice = choice->name == NULL || strcmp(choice->name, "auto") == 0;
    tuning_t     t           = {.block = block, .device = device, .problem = *problem};
    const spmm_engine_candidate_t *picked;
    spmm_status_t                  status;

    memset(settled, 0, sizeof *settled);
    SPMM_TRY(spmm_engine_pick(choice->name, device, candidates, n, &picked));
    if (!free_choice || !choice->measure || spmm_csr_nnz(block) == 0 ||
        !have_rivals(candidates, n, picked->predicted_s)) {
        settled->picked  = picked;
        t.problem.layout = picked->layout;
        return picked->engine->build(block, &t.problem, device, &settled->format);
    }
    status = tune(&t, choice->beta, candidates, n, picked->predicted_s);
    if (status != SPMM_OK && may_go_on(status)) {
        /* A format may fit where it does not beside the B and C that it is measured with. */
        spmm_log(device->env, "engines are not measured: %s", device->env->err.text);
        spmm_error_clear(&device->env->err);
        status = build_unmeasured(&t, candidates, n);
    }
    SPMM_TRY(status);
    settled->picked = t.best;
    settled->format = t.format;
    settled->tune_s = spmm_now() - start - t.best_build_s;
    return SPMM_OK;
}
