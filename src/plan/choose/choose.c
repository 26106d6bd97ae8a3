/* SPDX-License-Identifier: Apache-2.0 */
/** @file choose.c
 *  From predictions to the schedule of a plan.  All ranks walk through the same candidates, since
 *  every number and every status that they go by is agreed.
 */
#include "plan/choose/choose.h"

#include "base/alloc.h"
#include "plan/block/blockset.h"
#include "plan/choose/predict.h"
#include "plan/choose/trial.h"
#include "plan/options.h"
#include "plan/plan.h"

enum { MOST_TRIED = 3 }; /* the two best predicted and the yardstick */
static const double clear_gain =
    0.95;                        /* of the yardstick: a longer prediction does not replace it */
static const double worth = 1.5; /* times the least predicted: longer ones are not measured */

/* The schedule that the others must beat: the first that may run. */
static int yardstick(const spmm_plan_t *plan)
{
    int s = 0;

    while (s + 1 < spmmi_n_schedules && !plan->choice.schedules[s].usable) {
        s++;
    }
    return s;
}

/** Candidates in the order of trial. */
typedef struct {
    int  index[MOST_TRIED], count;
    bool measure; /**< keep the fastest, else the first that can be made */
} list_t;

/** The walk through the list. */
typedef struct {
    spmm_plan_t               *plan;
    const spmm_plan_options_t *options;
    bool                       may_measure;
    list_t                     list;
    spmm_schedule_trial_t     *trial;
    spmm_candidate_t          *best;                    /**< NULL: none made yet */
    bool                       refused[SPMM_BLOCKSETS]; /**< formats that could not be made */
} walk_t;

/* Widths of chunks would count, too: engines sum narrow blocks in another order. */
static bool sums_at_once(const spmm_schedule_t *schedule)
{
    return schedule->blockset != SPMM_BLOCKSET_SPLIT && schedule->chunks == 1;
}

static spmm_status_t set_up(spmm_plan_t *plan)
{
    if (SPMM_NEW_ZERO(plan->choice.schedules, spmmi_n_schedules) == NULL) {
        return spmmi_fail_memory(&plan->env->err, spmmi_n_schedules, sizeof *plan->choice.schedules,
                                 "schedule candidates");
    }
    for (int s = 0; s < spmmi_n_schedules; s++) {
        spmm_candidate_t *c = &plan->choice.schedules[s];

        *c          = spmmi_candidate_new(spmmi_schedules[s]->name);
        c->schedule = spmmi_schedules[s];
        c->usable   = c->schedule->applies(plan, c->why);
        if (plan->reproducible && c->usable && !sums_at_once(c->schedule)) {
            spmmi_candidate_leave_out(c, "does not sum a row of C at once, as option reproducible "
                                         "asks");
        }
    }
    SPMM_TRY(spmmi_block_scan(plan->device, plan->layout, &plan->blocks.local));
    return spmmi_block_scan(plan->device, plan->layout, &plan->blocks.halo);
}

/* What one rank has, or asks for, counts for all. */
static spmm_status_t find_travel(walk_t *w)
{
    int any[2] = {!w->plan->exchange.alone, w->options->no_autotune != 0};

    SPMM_TRY(spmmi_allreduce(w->plan->env, any, 2, MPI_INT, MPI_MAX));
    w->plan->choice.travels = any[0] != 0;
    w->may_measure          = any[1] == 0 && !w->plan->deterministic;
    return SPMM_OK;
}

/* The least predicted candidate that is not @p but; -1: none. */
static int least_predicted(const spmm_plan_t *plan, int but)
{
    return spmmi_candidate_least(plan->choice.schedules, spmmi_n_schedules, but);
}

static void add(list_t *list, int index)
{
    for (int k = 0; k < list->count; k++) {
        if (list->index[k] == index) {
            return;
        }
    }
    list->index[list->count++] = index;
}

/* The two best predicted and the yardstick, those of equal formats next to each other: formats are
 * made once. */
static void list_rivals(const spmm_plan_t *plan, list_t *list)
{
    const int    best = least_predicted(plan, -1), next = least_predicted(plan, best);
    const double least_s  = plan->choice.schedules[best].predicted_s;
    const bool   is_alike = plan->choice.schedules[best].schedule->blockset ==
                          plan->choice.schedules[yardstick(plan)].schedule->blockset;

    add(list, best);
    if (is_alike) {
        add(list, yardstick(plan));
    }
    if (next >= 0 && plan->choice.schedules[next].predicted_s <= worth * least_s) {
        add(list, next);
    }
    add(list, yardstick(plan));
}

static spmm_status_t list_candidates(walk_t *w)
{
    const spmm_plan_t         *plan = w->plan;
    const spmm_plan_options_t *o    = w->options;
    list_t                    *list = &w->list;
    const bool is_cpu = plan->device->kind == SPMM_DEVICE_CPU && !plan->env->measures_on_cpu;

    *list = (list_t){.count = 0};
    if (!spmmi_candidate_is_auto(o->schedule)) {
        const int s = spmmi_candidate_find(plan->choice.schedules, spmmi_n_schedules, o->schedule);

        SPMM_TRY(spmmi_candidate_check(&plan->env->err, "schedule", &plan->choice.schedules[s]));
        add(list, plan->choice.travels ? s : yardstick(plan));
        return SPMM_OK;
    }
    /* Without streams nothing overlaps, and the schedules differ by a pass over C at most. */
    if (is_cpu || !plan->choice.travels) {
        add(list, yardstick(plan));
        return SPMM_OK;
    }
    list->measure = w->may_measure;
    if (list->measure) {
        list_rivals(plan, list);
        return SPMM_OK;
    }
    if (plan->choice.schedules[least_predicted(plan, -1)].predicted_s <
        clear_gain * plan->choice.schedules[yardstick(plan)].predicted_s) {
        add(list, least_predicted(plan, -1));
    }
    add(list, yardstick(plan));
    return SPMM_OK;
}

static spmm_blockset_t blockset_of(const walk_t *w, int k)
{
    return w->plan->choice.schedules[w->list.index[k]].schedule->blockset;
}

/* Does a candidate behind number k take other formats, so that the blocks are needed again? */
static bool has_other(const walk_t *w, int k)
{
    for (int later = k + 1; later < w->list.count; later++) {
        if (blockset_of(w, later) != blockset_of(w, k) && !w->refused[blockset_of(w, later)]) {
            return true;
        }
    }
    return false;
}

static spmm_status_t make(walk_t *w, const spmm_schedule_t *schedule)
{
    SPMM_TRY(spmmi_plan_make_blockset(w->plan, schedule->blockset, w->options));
    return spmmi_agree(w->plan->env, spmmi_plan_make_marks(w->plan, schedule->chunks));
}

/* Without room for B and C beside the plan nothing is measured. */
static spmm_status_t open_trial(walk_t *w)
{
    spmm_env_t   *env = w->plan->env;
    spmm_status_t status;

    if (!w->list.measure || w->trial != NULL || w->list.count == 1) {
        return SPMM_OK;
    }
    status = spmmi_schedule_trial_open(w->plan, &w->trial);
    if (status == SPMM_ERR_MEMORY) {
        spmmi_log(env, "schedules are not measured: %s", env->err.text);
        spmmi_error_clear(&env->err);
        w->list.measure = false;
        return SPMM_OK;
    }
    return status;
}

static spmm_status_t try_candidate(walk_t *w, spmm_candidate_t *c)
{
    SPMM_TRY(make(w, c->schedule));
    SPMM_TRY(open_trial(w));
    if (w->trial != NULL) {
        w->plan->choice.schedule = c->schedule;
        SPMM_TRY(spmmi_schedule_trial_measure(w->trial, &c->measured_s));
    }
    if (w->best == NULL || c->measured_s < w->best->measured_s) {
        w->best = c;
    }
    return SPMM_OK;
}

/* Failures that say nothing of other schedules. */
static bool may_go_on(const walk_t *w, int k, spmm_status_t status)
{
    return spmmi_is_refusal(status) && (w->best != NULL || has_other(w, k));
}

/* What is neither the best's nor that of a candidate to come. */
static void drop(walk_t *w, int k)
{
    bool keep[SPMM_BLOCKSETS] = {false};

    if (w->best != NULL) {
        keep[w->best->schedule->blockset] = true;
    }
    for (int later = k + 1; later < w->list.count; later++) {
        keep[blockset_of(w, later)] |= w->list.measure && !w->refused[blockset_of(w, later)];
    }
    spmmi_plan_drop_blocksets(w->plan, keep);
}

static spmm_status_t walk(walk_t *w)
{
    spmm_plan_t *plan = w->plan;

    for (int k = 0; k < w->list.count && (w->best == NULL || w->list.measure); k++) {
        spmm_candidate_t *c = &plan->choice.schedules[w->list.index[k]];
        spmm_status_t     status;

        if (w->refused[c->schedule->blockset]) {
            continue;
        }
        plan->blocks.keep_input = has_other(w, k);
        status                  = try_candidate(w, c);
        if (status != SPMM_OK && !may_go_on(w, k, status)) {
            return status;
        }
        if (status != SPMM_OK) {
            spmmi_log(plan->env, "schedule %s is passed over: %s", c->schedule->name,
                      plan->env->err.text);
            spmmi_candidate_leave_out(c, "was passed over: %.120s", plan->env->err.text);
            w->refused[c->schedule->blockset] = true;
            spmmi_error_clear(&plan->env->err);
        }
        drop(w, k);
    }
    plan->choice.schedule = w->best->schedule;
    return SPMM_OK;
}

/* What only makes formats. */
static void free_inputs(spmm_plan_t *plan)
{
    plan->blocks.keep_input = false;
    spmmi_block_free_csr(&plan->blocks.local);
    spmmi_block_free_csr(&plan->blocks.halo);
    spmmi_free(plan->blocks.need);
    plan->blocks.need = NULL;
}

spmm_status_t spmmi_plan_choose_schedule(spmm_plan_t *plan, const spmm_plan_options_t *options)
{
    walk_t        w     = {.plan = plan, .options = options};
    const double  start = spmmi_now();
    spmm_status_t status;
    double        built_s;

    SPMM_TRY(spmmi_agree(plan->env, set_up(plan)));
    SPMM_TRY(find_travel(&w));
    if (plan->choice.travels) {
        SPMM_TRY(spmmi_plan_predict(plan, options->engine));
    }
    SPMM_TRY(spmmi_agree(plan->env, list_candidates(&w)));
    status = walk(&w);
    spmmi_schedule_trial_close(w.trial);
    SPMM_TRY(status);
    free_inputs(plan);
    drop(&w, w.list.count);
    built_s = plan->stats.build_s + plan->stats.reorder_s;
    if (w.list.measure && w.list.count > 1) {
        plan->stats.tune_s += spmmi_now() - start - built_s;
        plan->stats.build_s = spmmi_now() - start - plan->stats.reorder_s;
    }
    spmmi_log(plan->env, "schedule %s chosen in %.2f s, formats included",
              plan->choice.schedule->name, spmmi_now() - start);
    return SPMM_OK;
}
