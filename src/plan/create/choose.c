/* SPDX-License-Identifier: Apache-2.0 */
/** @file choose.c
 *  The schedule of a plan, its formats, and into how many chunks it cuts B.  All ranks take the
 *  same, since every number and every status that they go by is agreed.
 */
#include "plan/create/choose.h"

#include "base/alloc.h"
#include "engine/tune/constants.h"
#include "plan/blocks/formats.h"
#include "plan/create/schedule_predict.h"
#include "plan/create/schedule_trial.h"
#include "plan/plan.h"

/* Why it may not run this plan; NULL: it may. */
static const char *refuse(const spmm_plan_t *plan)
{
    const spmm_schedule_t *schedule = plan->choice.schedule;

    if (plan->reproducible && !schedule->merges) {
        return "does not sum a row of C at once, as option reproducible asks";
    }
    if (spmmi_tuning_options_chunks(&plan->tuning) > 1 && !schedule->cuts) {
        return "does not cut the columns of B: leave out chunks";
    }
    return schedule->refuse == NULL ? NULL : schedule->refuse(plan);
}

/* By facts that are equal on all ranks. */
static spmm_status_t pick_schedule(spmm_plan_t *plan)
{
    const char *name = plan->reproducible ? "merged" : "overlap", *why;

    if (plan->tuning.schedule != NULL) {
        name = plan->tuning.schedule;
    }
    plan->choice.schedule = spmmi_schedule_find(name);
    why                   = refuse(plan);
    return why == NULL
               ? SPMM_OK
               : spmmi_fail(&plan->env->err, SPMM_ERR_UNSUPPORTED, "schedule %s %s", name, why);
}

static spmm_status_t set_up(spmm_plan_t *plan)
{
    static const char *const names[SPMM_CUTS] = {"1", "2", "4"};

    for (int k = 0; k < SPMM_CUTS; k++) {
        plan->choice.cuts[k]        = spmmi_candidate_new(names[k]);
        plan->choice.cuts[k].usable = true;
    }
    plan->choice.chunks = 1;
    SPMM_TRY(pick_schedule(plan));
    SPMM_TRY(spmmi_block_scan(plan->device, plan->layout, &plan->blocks.diagonal));
    return spmmi_block_scan(plan->device, plan->layout, &plan->blocks.off_diagonal);
}

/* What one rank has counts for all. */
static spmm_status_t find_travel(spmm_plan_t *plan)
{
    int any = !plan->exchange.alone;

    SPMM_TRY(spmmi_allreduce(plan->env, &any, 1, MPI_INT, MPI_MAX));
    plan->choice.travels = any != 0;
    return SPMM_OK;
}

/* The least predicted number of chunks that is not @p but. */
static int least_predicted(const spmm_plan_t *plan, int but)
{
    return spmmi_candidate_least(plan->choice.cuts, SPMM_CUTS, but);
}

static void take(spmm_plan_t *plan, int k)
{
    plan->choice.chunks = 1 << k;
}

static void take_predicted(spmm_plan_t *plan)
{
    const spmm_candidate_t *cuts = plan->choice.cuts;
    const int               best = least_predicted(plan, -1);

    take(plan, cuts[best].predicted_s < SPMM_CLEAR * cuts[0].predicted_s ? best : 0);
}

/* Numbers of chunks to measure: one, and the two best predicted.
 * @return how many */
static int list_tried(const spmm_plan_t *plan, bool tried[SPMM_CUTS])
{
    const spmm_candidate_t *cuts = plan->choice.cuts;
    const int               best = least_predicted(plan, -1), next = least_predicted(plan, best);
    int                     count = 0;

    for (int k = 0; k < SPMM_CUTS; k++) {
        const bool is_near =
            cuts[k].predicted_s <= SPMM_CHUNKS_WORTH_TRYING * cuts[best].predicted_s;

        tried[k] = k == 0 || k == best || (k == next && is_near);
        count += tried[k];
    }
    return count;
}

/* The fastest stays. */
static spmm_status_t measure(spmm_plan_t *plan, const bool tried[SPMM_CUTS],
                             spmm_schedule_trial_t *trial)
{
    spmm_candidate_t *cuts    = plan->choice.cuts;
    int               fastest = 0;

    for (int k = 0; k < SPMM_CUTS; k++) {
        if (tried[k]) {
            take(plan, k);
            SPMM_TRY(spmmi_schedule_trial_measure(trial, &cuts[k].measured_s));
            fastest = cuts[k].measured_s < cuts[fastest].measured_s ? k : fastest;
        }
    }
    take(plan, fastest);
    return SPMM_OK;
}

/* Without room for B and C beside the plan nothing is measured. */
static spmm_status_t try_chunks(spmm_plan_t *plan)
{
    spmm_schedule_trial_t *trial = NULL;
    const double           start = spmmi_now();
    bool                   tried[SPMM_CUTS];
    spmm_status_t          status;

    if (list_tried(plan, tried) == 1) {
        return SPMM_OK;
    }
    SPMM_TRY(spmmi_agree(plan->env, spmmi_phases_create(&plan->phases, SPMM_MOST_CHUNKS)));
    status = spmmi_schedule_trial_open(plan, &trial);
    if (status == SPMM_ERR_MEMORY) {
        spmmi_log(plan->env, "chunks are not measured: %s", plan->env->err.text);
        spmmi_error_clear(&plan->env->err);
        take_predicted(plan);
        return SPMM_OK;
    }
    SPMM_TRY(status);
    status = measure(plan, tried, trial);
    spmmi_schedule_trial_close(trial);
    plan->stats.tune_s += spmmi_now() - start;
    plan->stats.build_s += spmmi_now() - start;
    return status;
}

static spmm_status_t choose_chunks(spmm_plan_t *plan)
{
    const int  asked  = spmmi_tuning_options_chunks(&plan->tuning);
    const bool is_cpu = plan->device->kind == SPMM_DEVICE_CPU && !plan->env->measures_on_cpu;

    if (asked > 0) {
        plan->choice.chunks = asked;
    } else if (plan->measures) { /* without streams nothing overlaps */
        SPMM_TRY(try_chunks(plan));
    } else if (!is_cpu) {
        take_predicted(plan);
    }
    return spmmi_agree(plan->env, spmmi_phases_create(&plan->phases, plan->choice.chunks));
}

spmm_status_t spmmi_plan_choose_schedule(spmm_plan_t *plan, const spmm_plan_options_t *options)
{
    const double start = spmmi_now();
    bool         cuts;

    SPMM_TRY(spmmi_agree(plan->env, set_up(plan)));
    SPMM_TRY(find_travel(plan));
    cuts = plan->choice.travels && plan->choice.schedule->cuts;
    if (cuts) {
        SPMM_TRY(spmmi_plan_predict(plan, options->engine));
    }
    SPMM_TRY(spmmi_plan_make_formats(plan, options));
    if (cuts) {
        SPMM_TRY(choose_chunks(plan));
    }
    spmmi_free(plan->blocks.need);
    plan->blocks.need = NULL;
    spmmi_log(plan->env, "schedule %s, chunks %d, chosen in %.2f s, formats included",
              plan->choice.schedule->name, plan->choice.chunks, spmmi_now() - start);
    return SPMM_OK;
}
