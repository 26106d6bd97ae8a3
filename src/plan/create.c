/* SPDX-License-Identifier: Apache-2.0 */
/** @file create.c  The steps of making a plan; each ends with the agreement of all ranks. */
#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/scalar.h"
#include "plan/plan.h"
#include "plan/schedule.h"

static bool type_pair_is_valid(spmm_type_t ab, spmm_type_t c)
{
    return c == ab || ((ab == SPMM_R_16F || ab == SPMM_R_16BF) && c == SPMM_R_32F);
}

static spmm_status_t check_compute(spmm_plan_t *plan)
{
    const bool is_64f = plan->ab_type == SPMM_R_64F;

    if (plan->compute == SPMM_COMPUTE_AUTO) {
        plan->compute = is_64f ? SPMM_COMPUTE_64F : SPMM_COMPUTE_32F;
    }
    if (plan->compute == SPMM_COMPUTE_32F_FAST_TF32 && plan->ab_type != SPMM_R_32F) {
        return spmmi_fail(
            &plan->env->err, SPMM_ERR_ARGUMENT,
            "compute mode 32f-fast-tf32 needs a matrix of type 32f; this one has type %s",
            spmmi_type_name(plan->ab_type));
    }
    if ((plan->compute == SPMM_COMPUTE_64F) != is_64f) {
        return spmmi_fail(&plan->env->err, SPMM_ERR_ARGUMENT,
                          "compute mode %s does not go with a matrix of type %s: %s",
                          is_64f ? "32f" : "64f", spmmi_type_name(plan->ab_type),
                          is_64f ? "use 64f, or a matrix of type 32f"
                                 : "use 32f, or a matrix of type 64f");
    }
    return SPMM_OK;
}

/* Resolve what is left to us and refuse what cannot be. */
static spmm_status_t check_options(spmm_plan_t *plan, const spmm_plan_options_t *o)
{
    spmm_error_t *err = &plan->env->err;

    plan->op              = o->op;
    plan->layout          = o->layout == SPMM_LAYOUT_AUTO ? SPMM_LAYOUT_ROW : o->layout;
    plan->c_type          = o->c_type == SPMM_TYPE_AUTO ? plan->ab_type : o->c_type;
    plan->compute         = o->compute;
    plan->deterministic   = o->deterministic != 0;
    plan->profile         = o->profile != 0;
    plan->exact_nonfinite = o->exact_nonfinite != 0;
    if (plan->n < 1 || plan->n > INT32_MAX) {
        return spmmi_fail(err, SPMM_ERR_ARGUMENT,
                          "a plan for %" PRId64 " columns: n must be 1 to 2^31 - 1", plan->n);
    }
    if (plan->op != SPMM_OP_N && plan->op != SPMM_OP_T) {
        return spmmi_fail(err, SPMM_ERR_ARGUMENT, "op %d is none of spmm_op_t", (int)plan->op);
    }
    if (plan->layout != SPMM_LAYOUT_ROW && plan->layout != SPMM_LAYOUT_COL) {
        return spmmi_fail(err, SPMM_ERR_ARGUMENT, "layout %d is none of spmm_layout_t",
                          (int)plan->layout);
    }
    if (o->compute < SPMM_COMPUTE_AUTO || o->compute > SPMM_COMPUTE_32F_FAST_TF32) {
        return spmmi_fail(err, SPMM_ERR_ARGUMENT, "compute mode %d is none of spmm_compute_t",
                          (int)o->compute);
    }
    if (!type_pair_is_valid(plan->ab_type, plan->c_type)) {
        return spmmi_fail(err, SPMM_ERR_ARGUMENT,
                          "C must have the type of A, or 32f where A is 16f or 16bf");
    }
    if (o->executes < 0) {
        return spmmi_fail(err, SPMM_ERR_ARGUMENT,
                          "executes %" PRId64 ": must be 0 (choose) or more", o->executes);
    }
    return check_compute(plan);
}

static spmm_status_t check_schedule(const spmm_plan_t *plan, const char *name)
{
    if (name == NULL || strcmp(name, "auto") == 0 || spmmi_schedule_find(name) != NULL) {
        return SPMM_OK;
    }
    return spmmi_fail(&plan->env->err, SPMM_ERR_ARGUMENT,
                      "there is no schedule \"%.60s\"; spmm_dist --list-schedules prints all",
                      name);
}

/* Ranks that plan different products would wait for each other for ever: find out now. */
static spmm_status_t check_same(const spmm_plan_t *plan, const spmm_plan_options_t *o)
{
    const int64_t numbers[] = {plan->n,
                               plan->ab_type,
                               plan->c_type,
                               plan->op,
                               plan->layout,
                               plan->compute,
                               plan->deterministic,
                               plan->exact_nonfinite,
                               (int64_t)o->seed,
                               o->executes,
                               o->graph,
                               o->graph != 0 && plan->profile};
    const char   *texts[]   = {o->partition, o->objective, o->engine,
                               o->transport, o->reorder,   o->schedule};
    uint64_t      h, range[2];

    memcpy(&h, &o->imbalance, sizeof h);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        h = spmmi_mix64(h ^ (uint64_t)numbers[i]);
    }
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        h = spmmi_hash_text(h, texts[i] != NULL ? texts[i] : "");
    }
    range[0] = h;
    range[1] = ~h;
    SPMM_MPI(plan->env,
             MPI_Allreduce(MPI_IN_PLACE, range, 2, MPI_UINT64_T, MPI_MIN, plan->env->comm));
    if (range[0] != ~range[1]) {
        return spmmi_fail(&plan->env->err, SPMM_ERR_ARGUMENT,
                          "the ranks ask for different plans: the type of A, n and all options but "
                          "no_autotune, and profile without graph, must be equal on all ranks");
    }
    return SPMM_OK;
}

static spmm_status_t make_partition(spmm_plan_t *plan, const spmm_plan_options_t *o)
{
    const spmm_partition_options_t options = {
        .objective = o->objective, .imbalance = o->imbalance, .seed = o->seed};
    const double   start = spmmi_now();
    spmm_matrix_t *A     = plan->A;

    SPMM_TRY(spmmi_partition_create(A, o->partition, &options, &plan->partition));
    SPMM_TRY(spmmi_layout_map_create(plan->env, A->row_offset, plan->partition.row_part,
                                     plan->partition.keep, &plan->rows));
    SPMM_TRY(spmmi_layout_map_create(plan->env, A->col_offset, plan->partition.col_part,
                                     plan->partition.keep, &plan->cols));
    plan->stats.partition_s = spmmi_now() - start;
    spmmi_log(plan->env, "partition %s made in %.2f s", plan->partition.method,
              plan->stats.partition_s);
    return SPMM_OK;
}

static spmm_status_t make_exchange(spmm_plan_t *plan, const spmm_plan_options_t *o)
{
    const size_t           row_bytes = (size_t)plan->n * spmm_type_size(plan->halo_type);
    const spmm_schedule_t *named = o->schedule == NULL ? NULL : spmmi_schedule_find(o->schedule);
    const spmm_transport_need_t need = {
        .halo      = &plan->halo,
        .row_bytes = row_bytes,
        .picks     = plan->op == SPMM_OP_N && plan->layout != SPMM_LAYOUT_COL,
        .same      = named != NULL && named->blockset == SPMM_BLOCKSET_GATHERED};
    spmm_status_t status = SPMM_OK;

    if (SPMM_NEW_ZERO(plan->transports, spmmi_n_transports) == NULL) {
        status = spmmi_fail_memory(&plan->env->err, spmmi_n_transports, sizeof *plan->transports,
                                   "transport candidates");
    }
    SPMM_TRY(spmmi_agree(plan->env, status));
    SPMM_TRY(spmmi_transport_choose(plan->shared, o->transport, &need, plan->transports,
                                    &plan->transport));
    SPMM_TRY(spmmi_agree(
        plan->env, plan->transport->create(plan->shared, &plan->halo, row_bytes, &plan->exchange)));
    return spmmi_agree(plan->env, spmmi_plan_make_buffers(plan));
}

/* All that moves rows of B to those who need them. */
static spmm_status_t make_distribution(spmm_plan_t *plan, const spmm_plan_options_t *o)
{
    SPMM_TRY(spmmi_agree(plan->env, check_options(plan, o)));
    SPMM_TRY(spmmi_agree(plan->env, check_schedule(plan, o->schedule)));
    plan->halo_type = plan->op == SPMM_OP_N ? plan->ab_type : spmmi_accum_type(plan->ab_type);
    SPMM_TRY(check_same(plan, o));
    SPMM_TRY(make_partition(plan, o));
    SPMM_TRY(spmmi_plan_make_blocks(plan));
    plan->alone = plan->halo.n_send_peers == 0 && plan->halo.n_recv_peers == 0;
    return make_exchange(plan, o);
}

static spmm_status_t make(spmm_plan_t *plan, const spmm_plan_options_t *o)
{
    SPMM_TRY(make_distribution(plan, o));
    SPMM_TRY(spmmi_plan_choose_schedule(plan, o));
    SPMM_TRY(spmmi_agree(plan->env, spmmi_plan_make_captures(plan, o)));
    return spmmi_agree(plan->env, spmmi_plan_count(plan));
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
    made->env     = shared->env;
    made->device  = shared->device;
    made->shared  = shared;
    made->A       = A;
    made->n       = n;
    made->ab_type = A->type;
    status        = steps(made, options);
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
    return build(shared, A, n, options, make_distribution, keep_pattern, plan);
}

void spmmi_plan_free(spmm_plan_t *plan)
{
    const bool keep[SPMM_BLOCKSETS] = {false};

    if (plan == NULL) {
        return;
    }
    if (plan->in_use) { /* an error of that work was its user's to see */
        (void)spmmi_plan_wait(plan, 0, SPMM_MARK_DONE, plan->comm_stream);
        (void)plan->device->ops->stream_sync(plan->device, plan->comm_stream);
    }
    unlink_from_matrix(plan);
    spmmi_plan_free_captures(plan); /* before the transport that they use */
    if (plan->transport != NULL) {  /* before the rows: messages may be under way after a failure */
        plan->transport->destroy(plan->exchange);
    }
    spmmi_plan_drop_blocksets(plan, keep);
    spmmi_plan_free_buffers(plan);
    spmmi_plan_free_lists(plan);
    spmmi_block_free(&plan->local);
    spmmi_block_free(&plan->remote);
    for (int f = SPMM_BLOCKSET_SPLIT + 1; f < SPMM_BLOCKSETS; f++) {
        spmmi_block_free(&plan->joined[f].block);
    }
    spmmi_free(plan->schedules);
    spmmi_free(plan->transports);
    spmmi_free(plan->need);
    spmmi_halo_free(&plan->full);
    spmmi_halo_free(&plan->halo);
    spmmi_layout_map_free(&plan->rows);
    spmmi_layout_map_free(&plan->cols);
    spmmi_partition_free(&plan->partition);
    spmmi_free(plan);
}
