/* SPDX-License-Identifier: Apache-2.0 */
/** @file create.c  The steps of making a plan; each ends with the agreement of all ranks. */
#include "plan/create/create.h"

#include <string.h>

#include "base/alloc.h"
#include "base/nodes.h"
#include "base/range.h"
#include "plan/blocks/formats.h"
#include "plan/blocks/split.h"
#include "plan/create/exchange.h"
#include "plan/create/options.h"
#include "plan/plan.h"
#include "plan/report/stats.h"
#include "plan/run/execute.h"
#include "plan/update/values.h"

/* For sentences and profilers. */
static void enter_stage(spmm_plan_t *plan, const char *stage)
{
    plan->env->stage = stage;
    spmmi_range(&plan->phases.range, stage);
}

/* One rank keeps its rows, and needs no list that says so. */
static bool stays_whole(const spmm_plan_t *plan, const spmm_plan_options_t *o)
{
    return plan->env->size == 1 && (o->partition == NULL || strcmp(o->partition, "keep") == 0);
}

static spmm_status_t make_parts(spmm_plan_t *plan, const spmm_plan_options_t *o,
                                spmm_partition_options_t *options)
{
    if (stays_whole(plan, o)) {
        plan->partition = (spmm_partition_t){.method = "keep", .keep = true};
        return spmmi_partition_options(plan->env, options);
    }
    return spmmi_partition_create(plan->A, o->partition, options, &plan->partition);
}

static spmm_status_t make_partition(spmm_plan_t *plan, const spmm_plan_options_t *o)
{
    const spmm_nodes_t      *nodes   = &plan->env->nodes;
    spmm_partition_options_t options = {.objective = plan->tuning.objective,
                                        .imbalance = o->imbalance,
                                        .seed      = plan->tuning.seed,
                                        .nodes     = spmmi_nodes_are_grouped(nodes) ? nodes : NULL};
    const double             start   = spmmi_now();
    spmm_matrix_t           *A       = plan->A;
    spmm_layout_map_t       *of_rows = plan->flips ? &plan->cols : &plan->rows;
    spmm_layout_map_t       *of_cols = plan->flips ? &plan->rows : &plan->cols;

    SPMM_TRY(make_parts(plan, o, &options));
    SPMM_TRY(spmmi_layout_map_create(plan->env, A->row_offset, plan->partition.row_part,
                                     plan->partition.keep, of_rows));
    if (spmmi_matrix_is_square(A)) { /* columns follow the rows */
        *of_cols = *of_rows;
    } else {
        SPMM_TRY(spmmi_layout_map_create(plan->env, A->col_offset, plan->partition.col_part,
                                         plan->partition.keep, of_cols));
    }
    spmmi_free_all(plan->partition.row_part, plan->partition.col_part); /* the maps have them */
    plan->partition.row_part = plan->partition.col_part = NULL;
    plan->stats.partition_s                             = spmmi_now() - start;
    spmmi_log(plan->env, "partition %s made in %.2f s", plan->partition.method,
              plan->stats.partition_s);
    return SPMM_OK;
}

/* Which rows this rank has. */
static spmm_status_t make_layout(spmm_plan_t *plan, const spmm_plan_options_t *o, unsigned by)
{
    SPMM_TRY(spmmi_plan_take_options(plan, o, by));
    enter_stage(plan, "the partition");
    return make_partition(plan, o);
}

/* All that moves rows of B to those who need them. */
static spmm_status_t make_distribution(spmm_plan_t *plan, const spmm_plan_options_t *o)
{
    const double start = spmmi_now();

    enter_stage(plan, "the halo plan");
    SPMM_TRY(spmmi_plan_flip(plan));
    SPMM_TRY(spmmi_plan_make_blocks(plan));
    spmmi_plan_unflip(plan);
    enter_stage(plan, "the set-up of the exchange");
    SPMM_TRY(spmmi_plan_make_exchange(plan, o));
    spmmi_log(plan->env, "blocks, halo and exchange made in %.6f s", spmmi_now() - start);
    return SPMM_OK;
}

static spmm_status_t make(spmm_plan_t *plan, const spmm_plan_options_t *o)
{
    SPMM_TRY(make_layout(plan, o, SPMM_TUNING_PLAN));
    SPMM_TRY(spmmi_plan_count_block(plan));
    SPMM_TRY(make_distribution(plan, o));
    enter_stage(plan, "the choice of engine and schedule");
    SPMM_TRY(spmmi_plan_choose_schedule(plan, o));
    SPMM_TRY(spmmi_agree(plan->env, spmmi_plan_make_captures(plan, o)));
    spmmi_plan_decide(plan); /* by captures and profiling, too, without which chunks were tried */
    return spmmi_agree(plan->env, spmmi_plan_count(plan));
}

/* All that SDDMM needs. */
static spmm_status_t make_without_product(spmm_plan_t *plan, const spmm_plan_options_t *o)
{
    SPMM_TRY(make_layout(plan, o, SPMM_TUNING_SAMPLES));
    return make_distribution(plan, o);
}

static void link_to_matrix(spmm_plan_t *plan, spmm_status_t (*refill)(void *))
{
    plan->user     = (spmm_matrix_user_t){.refill = refill, .self = plan, .next = plan->A->users};
    plan->A->users = &plan->user;
}

static void unlink_from_matrix(spmm_plan_t *plan)
{
    for (spmm_matrix_user_t **u = &plan->A->users; *u != NULL; u = &(*u)->next) {
        if (*u == &plan->user) {
            *u = plan->user.next;
            return;
        }
    }
}

/* @p steps make it; @p refill is what new values of A ask of it. */
static spmm_status_t build(spmm_transport_shared_t *shared, spmm_matrix_t *A, int64_t n,
                           const spmm_plan_options_t *options,
                           spmm_status_t (*steps)(spmm_plan_t *, const spmm_plan_options_t *),
                           spmm_status_t (*refill)(void *), spmm_plan_t **plan)
{
    spmm_status_t status = SPMM_OK;
    spmm_plan_t  *made;

    if (SPMM_NEW_ZERO(made, 1) == NULL) {
        status = spmmi_fail_memory(&shared->env->err, 1, sizeof *made, "a plan");
    }
    status = spmmi_agree(shared->env, status);
    if (status != SPMM_OK) {
        spmmi_free(made);
        return status;
    }
    made->env           = shared->env;
    made->device        = shared->device;
    made->phases.device = shared->device;
    made->shared        = shared;
    made->A             = A;
    made->n             = n;
    made->ab_type       = A->type;
    status              = steps(made, options);
    spmmi_range(&made->phases.range, NULL);
    if (status != SPMM_OK) {
        spmmi_plan_free(made);
        return status;
    }
    link_to_matrix(made, refill);
    *plan = made;
    return SPMM_OK;
}

spmm_status_t spmmi_plan_build(spmm_transport_shared_t *shared, spmm_matrix_t *A, int64_t n,
                               const spmm_plan_options_t *options, spmm_plan_t **plan)
{
    return build(shared, A, n, options, make, spmmi_plan_refill, plan);
}

static spmm_status_t keep_pattern(void *self)
{
    (void)self;
    return SPMM_OK;
}

spmm_status_t spmmi_plan_build_exchange(spmm_transport_shared_t *shared, spmm_matrix_t *A,
                                        int64_t n, const spmm_plan_options_t *options,
                                        spmm_plan_t **plan)
{
    return build(shared, A, n, options, make_without_product, keep_pattern, plan);
}

void spmmi_plan_free(spmm_plan_t *plan)
{
    if (plan == NULL) {
        return;
    }
    (void)spmmi_plan_wait_idle(plan); /* an error of that work was its user's to see */
    spmmi_plan_end_waits(plan);
    unlink_from_matrix(plan);
    spmmi_plan_free_captures(plan); /* before the transport that they use */
    spmmi_plan_free_exchange(plan); /* before the rows: messages may be under way after a failure */
    spmmi_plan_free_buffers(plan);
    spmmi_plan_free_lists(plan);
    spmmi_block_free(&plan->blocks.diagonal);
    spmmi_block_free(&plan->blocks.off_diagonal);
    spmmi_block_free(&plan->blocks.merged.block);
    spmmi_free_all(plan->choice.transports, plan->blocks.need);
    spmmi_halo_free(&plan->exchange.halo);
    if (!spmmi_plan_has_one_map(plan)) {
        spmmi_layout_map_free(&plan->cols);
    }
    spmmi_layout_map_free(&plan->rows);
    spmmi_partition_free(&plan->partition);
    spmmi_plan_unflip(plan);
    spmmi_free(plan);
}
