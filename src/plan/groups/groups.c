/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/groups/groups.h"

#include "base/alloc.h"
#include "base/nodes.h"
#include "base/same.h"
#include "plan/create.h"
#include "plan/options.h"
#include "plan/plan.h"
#include "plan/values/refill.h"

/* That a group chosen has: of FP32 a sector of 32 bytes, of which products read whole ones. */
enum { LEAST_COLUMNS = 8 };

int64_t spmmi_groups_columns(const spmm_plan_groups_t *groups, int group, int64_t n)
{
    return n / groups->count + (group < n % groups->count);
}

int64_t spmmi_groups_first(const spmm_plan_groups_t *groups, int group, int64_t n)
{
    const int64_t more = n % groups->count;

    return n / groups->count * group + (group < more ? group : more);
}

/* Do all groups of @p ranks successive ranks lie on a node each? */
static bool fit_nodes(const spmm_env_t *env, int ranks)
{
    bool fit = true;

    for (int p = 0; p < env->size && env->nodes.count > 1; p++) {
        fit = fit && spmmi_nodes_share(&env->nodes, p / ranks * ranks, p);
    }
    return fit;
}

/* How many groups SPMM_COLUMN_GROUPS_AUTO stands for: the same on all ranks. */
static int choose(const spmm_env_t *env, int64_t n)
{
    int best = 1;

    for (int count = 1; count <= env->size && count <= n / LEAST_COLUMNS; count++) {
        if (env->size % count == 0) {
            best = count;
            if (fit_nodes(env, env->size / count)) {
                break;
            }
        }
    }
    return best;
}

/* After the plan: the context goes on without its communicator. */
static void close_groups(spmm_plan_groups_t *g)
{
    for (spmm_matrix_user_t **u = &g->whole->users; *u != NULL; u = &(*u)->next) {
        if (*u == &g->user) {
            *u = g->user.next;
            break;
        }
    }
    for (int t = 0; t < spmmi_n_transports && g->shared.env != NULL; t++) {
        if (spmmi_transports[t]->close != NULL) {
            spmmi_transports[t]->close(&g->shared);
        }
    }
    if (g->A != NULL) {
        spmmi_matrix_free(g->A);
    }
    if (g->env.comm != MPI_COMM_NULL && !g->env.lost) {
        (void)MPI_Comm_free(&g->env.comm);
    }
    spmmi_nodes_free(&g->env.nodes);
    spmmi_free(g);
}

static spmm_status_t check(spmm_env_t *env, int count, int64_t n)
{
    if (count < 1 || env->size % count != 0) {
        return spmmi_fail(&env->err, SPMM_ERR_ARGUMENT,
                          "column_groups is %d, must divide the number of ranks, %d", count,
                          env->size);
    }
    if (n < count) {
        return spmmi_fail(&env->err, SPMM_ERR_ARGUMENT,
                          "%d column groups for %lld column(s): a group would have none", count,
                          (long long)n);
    }
    return SPMM_OK;
}

/* The ranks of the group that share a node. */
static spmm_status_t find_nodes(spmm_plan_groups_t *g)
{
    const spmm_nodes_t *all   = &g->outer->env->nodes;
    const int           first = g->mine * g->ranks;
    int                *lowest;
    spmm_status_t       status;

    if (all->node == NULL) { /* not known: all is one node */
        return SPMM_OK;
    }
    if (SPMM_NEW(lowest, g->ranks) == NULL) {
        return spmmi_fail_memory(&g->env.err, g->ranks, sizeof *lowest, "the nodes of the ranks");
    }
    for (int p = 0; p < g->ranks; p++) {
        lowest[p] = 0;
        while (!spmmi_nodes_share(all, first + lowest[p], first + p)) {
            lowest[p]++;
        }
    }
    status = spmmi_nodes_create(&g->env.err, g->ranks, lowest, &g->env.nodes);
    spmmi_free(lowest);
    return status;
}

/* All but the communicator. */
static spmm_status_t fill_env(spmm_plan_groups_t *g)
{
    const spmm_env_t *outer = g->outer->env;
    spmm_env_t       *env   = &g->env;

    *env          = *outer;
    env->comm     = MPI_COMM_NULL;
    env->rank     = outer->rank % g->ranks;
    env->size     = g->ranks;
    env->hosts    = outer->hosts == NULL ? NULL : outer->hosts + (ptrdiff_t)g->mine * g->ranks;
    env->nodes    = (spmm_nodes_t){0};
    env->check    = outer->check && g->ranks > 1;
    env->err      = (spmm_error_t){.parent = &g->outer->env->err};
    g->device     = *g->outer->device;
    g->device.env = env;
    g->shared     = (spmm_transport_shared_t){.env = env, .device = &g->device};

    g->shared.nccl_ctas = g->outer->nccl_ctas;
    g->shared.push      = g->outer->push;
    return find_nodes(g);
}

/* Collective, agreed. */
static spmm_status_t open_groups(spmm_plan_groups_t *g)
{
    spmm_env_t   *outer  = g->outer->env;
    spmm_status_t status = spmmi_agree(outer, fill_env(g));

    if (status == SPMM_OK) {
        const int code = MPI_Comm_split(outer->comm, g->mine, outer->rank, &g->env.comm);

        status = spmmi_agree(outer, spmmi_mpi_check(outer, code, "MPI_Comm_split"));
    }
    if (status == SPMM_OK) {
        const int code = MPI_Comm_set_errhandler(g->env.comm, MPI_ERRORS_RETURN);

        status = spmmi_agree(outer, spmmi_mpi_check(outer, code, "MPI_Comm_set_errhandler"));
    }
    return status == SPMM_OK ? spmmi_groups_copy(g) : status;
}

static spmm_status_t refill(void *self)
{
    spmm_plan_t *plan = self;

    SPMM_TRY(spmmi_groups_copy_values(plan->groups));
    return spmmi_plan_refill(plan);
}

/* Every group knows its own: the sum of all, one rank speaking for each. */
static spmm_status_t add_stats(spmm_plan_t *plan)
{
    spmm_env_t        *outer  = plan->groups->outer->env;
    spmm_plan_stats_t *s      = &plan->stats;
    int64_t *const     sums[] = {
            &s->halo_rows_total, &s->block_halo_rows_total, &s->allgather_rows_total,
            &s->within.rows,     &s->within.bytes,          &s->within.messages,
            &s->between.rows,    &s->between.bytes,         &s->between.messages};
    int64_t *const tops[] = {&s->halo_rows_max,       &s->within.rows_max,  &s->within.bytes_max,
                             &s->within.messages_max, &s->between.rows_max, &s->between.bytes_max,
                             &s->between.messages_max};
    enum { SUMS = sizeof sums / sizeof sums[0], TOPS = sizeof tops / sizeof tops[0] };
    int64_t sum[SUMS], top[TOPS];

    for (int k = 0; k < SUMS; k++) {
        sum[k] = plan->env->rank == 0 ? *sums[k] : 0;
    }
    for (int k = 0; k < TOPS; k++) {
        top[k] = *tops[k];
    }
    SPMM_TRY(spmmi_allreduce(outer, sum, SUMS, MPI_INT64_T, MPI_SUM));
    SPMM_TRY(spmmi_allreduce(outer, top, TOPS, MPI_INT64_T, MPI_MAX));
    for (int k = 0; k < SUMS; k++) {
        *sums[k] = sum[k];
    }
    for (int k = 0; k < TOPS; k++) {
        *tops[k] = top[k];
    }
    return SPMM_OK;
}

/* Groups that fail leave the others a plan to destroy. */
static spmm_status_t build_plan(spmm_plan_groups_t *g, const spmm_plan_options_t *options,
                                spmm_plan_t **plan)
{
    spmm_env_t   *outer = g->outer->env;
    spmm_plan_t  *made  = NULL;
    spmm_status_t status =
        spmmi_plan_build(&g->shared, g->A, spmmi_groups_columns(g, g->mine, g->n), options, &made);

    status = spmmi_agree(outer, status);
    if (status == SPMM_OK) { /* each group has compared its own ranks */
        status = spmmi_plan_compare(outer, made, g->n, options);
    }
    if (status == SPMM_OK) {
        made->groups              = g;
        made->stats.column_groups = g->count;

        status = spmmi_agree(outer, add_stats(made));
    }
    if (status != SPMM_OK) {
        if (made != NULL) {
            made->groups = NULL;
            spmmi_plan_free(made);
        }
        return status;
    }
    g->user         = (spmm_matrix_user_t){.refill = refill, .self = made, .next = g->whole->users};
    g->whole->users = &g->user;
    *plan           = made;
    return SPMM_OK;
}

spmm_status_t spmmi_groups_build(spmm_transport_shared_t *shared, spmm_matrix_t *A, int64_t n,
                                 const spmm_plan_options_t *options, spmm_plan_t **plan)
{
    spmm_env_t         *env       = shared->env;
    const bool          automatic = options->column_groups == SPMM_COLUMN_GROUPS_AUTO;
    const int           count     = automatic ? choose(env, n) : options->column_groups;
    spmm_status_t       status    = check(env, count, n);
    spmm_plan_groups_t *g         = NULL;

    SPMM_TRY(SPMM_COMPARE(env, "a plan", status, spmmi_whole("n", n)));
    if (automatic && count == 1) {
        return spmmi_plan_build(shared, A, n, options, plan);
    }
    if (SPMM_NEW_ZERO(g, 1) == NULL) {
        status = spmmi_fail_memory(&env->err, 1, sizeof *g, "column groups");
    }
    status = spmmi_agree(env, status);
    if (status != SPMM_OK) {
        spmmi_free(g);
        return status;
    }
    *g      = (spmm_plan_groups_t){.outer = shared,
                                   .whole = A,
                                   .count = count,
                                   .ranks = env->size / count,
                                   .n     = n,
                                   .env   = {.comm = MPI_COMM_NULL},
                                   .close = close_groups};
    g->mine = env->rank / g->ranks;
    status  = open_groups(g);
    if (status == SPMM_OK) {
        g->A->context = A->context;
        g->A->live    = A->live; /* of the context: plans count down there */
        status        = build_plan(g, options, plan);
    }
    if (status != SPMM_OK) {
        close_groups(g);
    }
    return status;
}
