/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/create/exchange.h"

#include <math.h>
#include <stdio.h>

#include "base/alloc.h"
#include "engine/tune/constants.h"
#include "plan/create/buffers.h"
#include "plan/plan.h"

static size_t row_bytes_of(const spmm_plan_t *plan)
{
    return (size_t)plan->n * plan->sent_size;
}

static spmm_status_t choose_transport(spmm_plan_t *plan, const spmm_plan_options_t *o)
{
    const spmm_transport_need_t need = {
        .halo      = &plan->exchange.halo,
        .row_bytes = row_bytes_of(plan),
        .picks     = plan->op == SPMM_OP_N && plan->layout != SPMM_LAYOUT_COL,
        .packed =
            spmmi_candidate_is_named(plan->tuning.exchange, "node") || spmmi_plan_rounds(plan)};
    spmm_status_t status = SPMM_OK;

    if (SPMM_NEW_ZERO(plan->choice.transports, spmmi_n_transports) == NULL) {
        status = spmmi_fail_memory(&plan->env->err, spmmi_n_transports,
                                   sizeof *plan->choice.transports, "transport candidates");
    }
    SPMM_TRY(spmmi_agree(plan->env, status));
    SPMM_TRY(spmmi_transport_choose(plan->shared, o->transport, &need, plan->choice.transports,
                                    &plan->exchange.transport));
    return spmmi_plan_rounds(plan) && plan->exchange.transport->packs
               ? spmmi_fail(&plan->env->err, SPMM_ERR_UNSUPPORTED,
                            "halo_type needs another transport: %s sends rows of B as they are",
                            plan->exchange.transport->name)
               : SPMM_OK;
}

/* May there be a node-aware exchange?  By what is equal on all ranks. */
static bool may_be_node_aware(const spmm_plan_t *plan, const spmm_plan_options_t *o,
                              char why[SPMM_WHY])
{
    const bool named = spmmi_candidate_is_named(plan->tuning.exchange, "node");

    why[0] = '\0';
    if (spmmi_candidate_is_named(plan->tuning.exchange, "flat")) {
        (void)snprintf(why, SPMM_WHY, "is not asked for");
    } else if (o->graph != 0) {
        (void)snprintf(why, SPMM_WHY, "is not captured: leave out option graph");
    } else if (!named && plan->device->kind != SPMM_DEVICE_CPU) {
        (void)snprintf(why, SPMM_WHY, "is taken on GPUs by name alone: no time was measured there");
    } else {
        (void)spmmi_node_exchange_supports(plan->env, plan->exchange.transport, why);
    }
    return why[0] == '\0';
}

/* Times of the slowest rank, which count.  Collective. */
static spmm_status_t predict(const spmm_plan_t *plan, const spmm_node_exchange_t *node,
                             spmm_node_exchange_choice_t *choice)
{
    const spmm_halo_t *halo       = &plan->exchange.halo;
    double             seconds[2] = {0.0, spmmi_node_exchange_cost(node, row_bytes_of(plan))};

    if (halo->n_send_peers > 0 || halo->n_recv_peers > 0) {
        seconds[0] = plan->exchange.transport->cost(halo, row_bytes_of(plan), plan->device);
    }
    SPMM_TRY(spmmi_allreduce(plan->env, seconds, 2, MPI_DOUBLE, MPI_MAX));
    choice->flat_s = seconds[0];
    choice->node_s = seconds[1];
    return SPMM_OK;
}

/* Make the lists, and keep them where a node-aware exchange is asked for, or predicted to be
 * faster. */
static spmm_status_t compare_node_aware(spmm_plan_t *plan)
{
    spmm_node_exchange_choice_t *choice = &plan->choice.node;
    const spmm_direction_t       direction =
        plan->op == SPMM_OP_N ? SPMM_HALO_FORWARD : SPMM_HALO_REVERSE;
    const spmm_node_exchange_need_t need = {.flat      = &plan->exchange.halo,
                                            .offset    = plan->cols.offset,
                                            .need      = plan->blocks.need,
                                            .direction = direction,
                                            .type      = plan->sent_type,
                                            .row_bytes = row_bytes_of(plan)};
    spmm_node_exchange_t           *node = NULL;
    spmm_status_t                   status;

    SPMM_TRY(spmmi_node_exchange_create(plan->shared, plan->exchange.transport, &need, &node));
    plan->exchange.node = node; /* freed with the plan */
    status              = predict(plan, node, choice);
    choice->chosen      = spmmi_candidate_is_named(plan->tuning.exchange, "node") ||
                     choice->node_s < SPMM_CLEAR_AT_A_COST * choice->flat_s;
    if (status == SPMM_OK && choice->chosen) {
        status = spmmi_node_exchange_open(node);
        if (status == SPMM_OK) {
            status = spmmi_agree(plan->env,
                                 spmmi_node_exchange_take_send_rows(node, &plan->exchange.halo));
        }
        return status;
    }
    spmmi_node_exchange_destroy(node);
    plan->exchange.node = NULL;
    return status;
}

static spmm_status_t choose_node_aware(spmm_plan_t *plan, const spmm_plan_options_t *o)
{
    spmm_node_exchange_choice_t *choice = &plan->choice.node;

    *choice = (spmm_node_exchange_choice_t){.flat_s = NAN, .node_s = NAN};
    if (may_be_node_aware(plan, o, choice->why)) {
        return compare_node_aware(plan);
    }
    return spmmi_candidate_is_named(plan->tuning.exchange, "node")
               ? spmmi_fail(&plan->env->err, SPMM_ERR_UNSUPPORTED, "exchange node %s", choice->why)
               : SPMM_OK;
}

static bool is_alone(const spmm_plan_exchange_t *e)
{
    return e->node != NULL ? spmmi_node_exchange_is_alone(e->node)
                           : e->halo.n_send_peers == 0 && e->halo.n_recv_peers == 0;
}

spmm_status_t spmmi_plan_make_exchange(spmm_plan_t *plan, const spmm_plan_options_t *o)
{
    spmm_plan_exchange_t *e = &plan->exchange;

    SPMM_TRY(choose_transport(plan, o));
    SPMM_TRY(choose_node_aware(plan, o));
    e->alone    = is_alone(e);
    e->in_place = e->transport->packs && plan->op == SPMM_OP_N && plan->layout == SPMM_LAYOUT_ROW &&
                  plan->cols.n_local > 0;
    if (e->node == NULL) {
        SPMM_TRY(spmmi_agree(plan->env, e->transport->create(plan->shared, &e->halo,
                                                             row_bytes_of(plan), &e->state)));
    }
    return spmmi_agree(plan->env, spmmi_plan_make_buffers(plan));
}

void spmmi_plan_free_exchange(spmm_plan_t *plan)
{
    spmmi_node_exchange_destroy(plan->exchange.node);
    if (plan->exchange.state != NULL) {
        plan->exchange.transport->destroy(plan->exchange.state);
    }
}

double spmmi_plan_exchange_s(const spmm_plan_t *plan, size_t row_bytes)
{
    const spmm_plan_exchange_t *e = &plan->exchange;

    if (e->alone) {
        return 0.0;
    }
    return e->node != NULL ? spmmi_node_exchange_cost(e->node, row_bytes)
                           : e->transport->cost(&e->halo, row_bytes, plan->device);
}
