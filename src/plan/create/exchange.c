/* SPDX-License-Identifier: Apache-2.0 */
/** @file exchange.c
 *  The exchange of a plan, flat or node-aware, and device memory that execute needs besides the
 *  formats.
 */
#include "plan/create/exchange.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "base/alloc.h"
#include "engine/tune/constants.h"
#include "plan/plan.h"

static spmm_status_t take(spmm_plan_t *plan, int64_t count, size_t size, const char *what,
                          void **ptr)
{
    size_t bytes;

    if (!spmmi_size_mul((size_t)count, size, &bytes)) {
        return spmmi_fail_memory(&plan->env->err, count, size, what);
    }
    plan->buffer_bytes += bytes;
    return plan->device->ops->alloc(plan->device, bytes, ptr);
}

static spmm_status_t upload(spmm_plan_t *plan, const int32_t *host, int64_t count, int32_t **ptr)
{
    plan->buffer_bytes += (size_t)count * sizeof *host;
    return spmmi_device_upload_list(plan->device, host, count, ptr);
}

/* The rows that op N packs. */
static spmm_status_t list_sent(spmm_plan_t *plan, int64_t count)
{
    int32_t *row = plan->exchange.halo.send_row;

    if (plan->device->kind == SPMM_DEVICE_CPU) {
        plan->exchange.send_row = row;
        return SPMM_OK;
    }
    return upload(plan, row, count, &plan->exchange.send_row);
}

/* Group the send rows by local row (counting sort): row[u] gets the received rows pos[ptr[u] ..
 * ptr[u + 1]), ascending, so the order of the sum does not depend on timing. */
static int64_t group_rows(const spmm_halo_t *halo, int32_t n_local, int32_t *cursor, int32_t *row,
                          int32_t *ptr, int32_t *pos)
{
    const int32_t n_send_rows = (int32_t)spmmi_halo_send_rows(halo);
    int64_t       n_rows      = 0;

    for (int32_t k = 0; k < n_send_rows; k++) {
        cursor[halo->send_row[k]]++;
    }
    ptr[0] = 0;
    for (int32_t i = 0; i < n_local; i++) {
        const int32_t count = cursor[i];

        if (count > 0) {
            cursor[i]       = ptr[n_rows];
            row[n_rows]     = i;
            ptr[n_rows + 1] = ptr[n_rows] + count;
            n_rows++;
        }
    }
    for (int32_t k = 0; k < n_send_rows; k++) {
        pos[cursor[halo->send_row[k]]++] = k;
    }
    return n_rows;
}

static spmm_status_t make_reduce_list(spmm_plan_t *plan)
{
    const int64_t n_send_rows = spmmi_halo_send_rows(&plan->exchange.halo);
    const int32_t n_local     = plan->cols.n_local;
    int32_t      *cursor, *row, *ptr, *pos;
    spmm_status_t status = SPMM_OK;

    SPMM_NEW_ZERO(cursor, n_local);
    SPMM_NEW(row, n_send_rows);
    SPMM_NEW(ptr, n_send_rows + 1);
    SPMM_NEW(pos, n_send_rows);
    if (cursor == NULL || row == NULL || ptr == NULL || pos == NULL) {
        status = spmmi_fail_memory(&plan->env->err, n_send_rows, sizeof *row, "rows to add");
    } else {
        plan->exchange.reduce.n_rows =
            group_rows(&plan->exchange.halo, n_local, cursor, row, ptr, pos);
        status = upload(plan, row, plan->exchange.reduce.n_rows, &plan->exchange.reduce.row);
        if (status == SPMM_OK) {
            status =
                upload(plan, ptr, plan->exchange.reduce.n_rows + 1, &plan->exchange.reduce.ptr);
        }
        if (status == SPMM_OK) {
            status = upload(plan, pos, n_send_rows, &plan->exchange.reduce.pos);
        }
    }
    spmmi_free_all(cursor, row, ptr, pos);
    return status;
}

/* Room for row-major copies: of B, which a merged block does not read, and of C where the blocks do
 * not write columns. */
static spmm_status_t make_conversion(spmm_plan_t *plan, bool merged)
{
    const size_t b_row = (size_t)plan->n * spmm_type_size(plan->ab_type);
    const size_t c_row = (size_t)plan->n * spmm_type_size(spmmi_accum_type(plan->c_type));

    if (plan->conversion.kind != SPMM_CONVERT_NONE && !merged) {
        SPMM_TRY(take(plan, spmmi_plan_map(plan, SPMM_OPERAND_B)->n_local, b_row,
                      "a row-major copy of B", &plan->conversion.b));
    }
    return plan->conversion.kind == SPMM_CONVERT_B_AND_C
               ? take(plan, spmmi_plan_map(plan, SPMM_OPERAND_C)->n_local, c_row,
                      "a row-major copy of C", &plan->conversion.c)
               : SPMM_OK;
}

/* Rows that come lie where the transport wants them, if it cares. */
static void use_peer_rows(spmm_plan_t *plan, bool merged)
{
    const spmm_transport_ops_t *transport = plan->exchange.transport;
    const bool                  is_halo   = plan->op == SPMM_OP_N;

    plan->exchange.peer_rows =
        transport->target_rows != NULL ? transport->target_rows(plan->exchange.state) : NULL;
    if (plan->exchange.peer_rows != NULL && !(is_halo && merged)) {
        *(is_halo ? &plan->exchange.ghost_rows : &plan->exchange.send_rows) =
            plan->exchange.peer_rows;
    }
}

spmm_status_t spmmi_plan_make_rows(spmm_plan_t *plan, bool merged)
{
    const int64_t n_recv    = spmmi_halo_recv_rows(&plan->exchange.halo);
    const size_t  row_bytes = (size_t)plan->n * spmm_type_size(plan->halo_type);

    use_peer_rows(plan, merged);
    if (plan->exchange.send_rows == NULL) {
        SPMM_TRY(take(plan, spmmi_halo_send_rows(&plan->exchange.halo), row_bytes,
                      "rows to exchange", &plan->exchange.send_rows));
    }
    SPMM_TRY(make_conversion(plan, merged));
    if (merged) {
        return take(plan, plan->cols.n_local + n_recv, row_bytes, "rows of B to multiply at once",
                    &plan->blocks.merged.rows);
    }
    if (plan->exchange.ghost_rows == NULL) {
        SPMM_TRY(take(plan, n_recv, row_bytes, "rows to exchange", &plan->exchange.ghost_rows));
    }
    if (plan->blocks.off_diagonal.problem.layout == SPMM_LAYOUT_COL) {
        SPMM_TRY(take(plan, n_recv, row_bytes, "rows to exchange", &plan->conversion.halo));
    }
    return SPMM_OK;
}

/* A row-major copy of C takes its place. */
spmm_status_t spmmi_plan_make_sum(spmm_plan_t *plan, bool merged)
{
    const spmm_type_t type = spmmi_plan_sum_type(plan, merged);

    plan->conversion.sums = type != plan->c_type && plan->conversion.kind != SPMM_CONVERT_B_AND_C;
    if (!plan->conversion.sums) {
        return SPMM_OK;
    }
    return take(plan, spmmi_plan_map(plan, SPMM_OPERAND_C)->n_local,
                (size_t)plan->n * spmm_type_size(type), "sums of C", &plan->conversion.sum);
}

static void give(const spmm_plan_t *plan, void **ptr)
{
    /* Those of peers go with the transport; those that MPI may come back to stay for good. */
    if (*ptr != plan->exchange.peer_rows && !plan->env->unfinished) {
        plan->device->ops->release(plan->device, *ptr);
    }
    *ptr = NULL;
}

/* Lists, events and the comm stream. */
static spmm_status_t make_lists(spmm_plan_t *plan)
{
    const int64_t n_send = spmmi_halo_send_rows(&plan->exchange.halo);

    if (n_send > INT32_MAX) {
        return spmmi_fail(&plan->env->err, SPMM_ERR_RANGE,
                          "rank %d sends %" PRId64
                          " rows per execute, more than 2^31 - 1; use more "
                          "ranks or a better partition",
                          plan->env->rank, n_send);
    }
    if (plan->op == SPMM_OP_N) {
        SPMM_TRY(list_sent(plan, n_send));
    } else {
        SPMM_TRY(make_reduce_list(plan));
    }
    if (spmmi_plan_rounds(plan)) {
        SPMM_TRY(take(plan, n_send + spmmi_halo_recv_rows(&plan->exchange.halo),
                      (size_t)plan->n * plan->sent_size, "rows to exchange",
                      &plan->exchange.rounded));
    }
    SPMM_TRY(plan->device->ops->stream_create(plan->device, true, &plan->exchange.comm_stream));
    return spmmi_phases_create(&plan->phases, 1);
}

void spmmi_plan_free_buffers(spmm_plan_t *plan)
{
    const spmm_device_ops_t *ops = plan->device->ops;

    give(plan, &plan->conversion.b);
    give(plan, &plan->conversion.c);
    give(plan, &plan->conversion.sum);
    give(plan, &plan->conversion.halo);
    give(plan, &plan->blocks.merged.rows);
    give(plan, &plan->exchange.ghost_rows);
    give(plan, &plan->exchange.send_rows);
    give(plan, &plan->exchange.rounded);
    if (plan->exchange.send_row != plan->exchange.halo.send_row) {
        ops->release(plan->device, plan->exchange.send_row);
    }
    ops->release(plan->device, plan->exchange.reduce.row);
    ops->release(plan->device, plan->exchange.reduce.ptr);
    ops->release(plan->device, plan->exchange.reduce.pos);
    if (plan->exchange.comm_stream != NULL) {
        ops->stream_destroy(plan->device, plan->exchange.comm_stream);
    }
    spmmi_phases_free(&plan->phases);
}

static size_t sent_bytes_of(const spmm_plan_t *plan)
{
    return (size_t)plan->n * plan->sent_size;
}

static spmm_status_t choose_transport(spmm_plan_t *plan, const spmm_plan_options_t *o)
{
    const spmm_transport_need_t need = {
        .halo      = &plan->exchange.halo,
        .row_bytes = sent_bytes_of(plan),
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
    double             seconds[2] = {0.0, spmmi_node_exchange_cost(node, sent_bytes_of(plan))};

    if (halo->n_send_peers > 0 || halo->n_recv_peers > 0) {
        seconds[0] = plan->exchange.transport->cost(halo, sent_bytes_of(plan), plan->device);
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
                                            .row_bytes = sent_bytes_of(plan)};
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
                                                             sent_bytes_of(plan), &e->state)));
    }
    return spmmi_agree(plan->env, make_lists(plan));
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
