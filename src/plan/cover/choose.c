/* SPDX-License-Identifier: Apache-2.0 */
/** @file choose.c  Is there a cover, and of which pairs? */
#include <math.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/comm.h"
#include "base/nodes.h"
#include "device/network.h"
#include "plan/cover/mark.h"
#include "plan/plan.h"

/* Two exchanges have twice the messages, and the sums that they bring are added: what models leave
 * out may not eat up what a cover saves. */
static const double clear_gain = 0.92;
/* As with levels: exchange.c. */
static const double level_gain = 0.9;

/** What is compared: pairs of ranks, and of nodes. */
enum { RANKS, NODES, KINDS };

/* Why not?  By what is equal on all ranks; NULL: there may be one. */
static const char *refuse(const spmm_plan_t *plan, const spmm_plan_options_t *o)
{
    if (spmmi_candidate_is_named(o->cover, "rows")) {
        return "is not asked for";
    }
    if (plan->reproducible) {
        return "is not for reproducible plans: partial rows of C depend on the partition";
    }
    if (o->graph != 0) {
        return "is not captured: leave out option graph";
    }
    if (spmmi_candidate_is_named(o->cover, "both")) {
        return NULL;
    }
    if (plan->deterministic) {
        return "is taken by name alone in deterministic plans: it goes by measured rates";
    }
    if (plan->device->kind != SPMM_DEVICE_CPU) {
        return "is taken on GPUs by name alone: few times were measured there";
    }
    if (plan->rows.keep) {
        return "is taken by name alone where no row moves: entries would, and new values on the "
               "device could not follow";
    }
    return plan->env->nodes.count > 1 ? NULL : "is taken on one node by name alone";
}

bool spmmi_cover_may(const spmm_plan_t *plan, const spmm_plan_options_t *o)
{
    return refuse(plan, o) == NULL;
}

/* Are covers of pairs of ranks, or of nodes, what the option levels allows? */
static bool may_take(const spmm_plan_t *plan, const spmm_plan_options_t *o, int kind)
{
    const bool two = spmmi_candidate_is_named(o->levels, "node");

    if (kind == RANKS) {
        return !two;
    }
    return !spmmi_candidate_is_named(o->levels, "flat") &&
           spmmi_nodes_have_levels(&plan->env->nodes) &&
           (two || plan->device->kind == SPMM_DEVICE_CPU);
}

static double time_of(const spmm_plan_t *plan, int64_t messages, double bytes, double share)
{
    const spmm_load_t load = {.messages = messages, .bytes = bytes, .share = share};

    return spmmi_network_time(&plan->device->network, SPMM_BETWEEN, &load);
}

/* In and out of this rank and, by node, of all; @p at [4 * nodes], zeroed. */
static spmm_status_t time_ranks(const spmm_cover_marks_t *m, double *at, double seconds[2])
{
    spmm_env_t         *env  = m->plan->env;
    const int           mine = env->nodes.node[env->rank], nodes = env->nodes.count;
    const double        ranks = env->nodes.first[mine + 1] - env->nodes.first[mine];
    spmm_cover_bytes_t *from;
    spmm_cover_bytes_t  in = m->in_bytes[env->rank], out = {0.0, 0.0};
    int64_t             messages = 0;
    spmm_status_t       status   = SPMM_OK;

    if (SPMM_NEW(from, env->size) == NULL) {
        status = spmmi_fail_memory(&env->err, env->size, sizeof *from, "bytes between ranks");
    }
    status = spmmi_agree(env, status);
    if (status == SPMM_OK) {
        status = spmmi_alltoall(env, m->out_bytes, from, sizeof *from);
    }
    for (int p = 0; p < env->size && status == SPMM_OK; p++) {
        out.rows += from[p].rows;
        out.both += from[p].both;
        messages += m->out_bytes[p].rows > 0.0;
    }
    spmmi_free(from);
    SPMM_TRY(status);
    at[4 * mine]     = in.rows;
    at[4 * mine + 1] = out.rows;
    at[4 * mine + 2] = in.both;
    at[4 * mine + 3] = out.both;
    SPMM_TRY(spmmi_allreduce(env, at, 4 * nodes, MPI_DOUBLE, MPI_SUM));
    seconds[0] = time_of(m->plan, messages, fmax(in.rows, out.rows),
                         fmax(at[4 * mine], at[4 * mine + 1]) / ranks);
    seconds[1] = time_of(m->plan, 2 * messages, fmax(in.both, out.both),
                         fmax(at[4 * mine + 2], at[4 * mine + 3]) / ranks);
    return SPMM_OK;
}

/* Rows are dealt evenly over the ranks of nodes. */
static spmm_status_t time_nodes(const spmm_cover_marks_t *m, double *at, double seconds[2])
{
    spmm_env_t  *env  = m->plan->env;
    const int    mine = env->nodes.node[env->rank], nodes = env->nodes.count;
    const double ranks = env->nodes.first[mine + 1] - env->nodes.first[mine];

    for (int k = 0; k < nodes; k++) {
        at[4 * k]     = m->in_bytes[k].rows;
        at[4 * k + 1] = m->out_bytes[k].rows;
        at[4 * k + 2] = m->in_bytes[k].both;
        at[4 * k + 3] = m->out_bytes[k].both;
    }
    SPMM_TRY(spmmi_allreduce(env, at, 4 * nodes, MPI_DOUBLE, MPI_SUM));
    for (int both = 0; both < 2; both++) {
        const double share = fmax(at[4 * mine + 2 * both], at[4 * mine + 2 * both + 1]) / ranks;

        seconds[both] = time_of(m->plan, (int64_t)(1 + both) * (nodes - 1), share, share);
    }
    return SPMM_OK;
}

/* Seconds between nodes of the slowest rank.  Collective, agreed. */
static spmm_status_t predict(const spmm_cover_marks_t *m, double seconds[2])
{
    spmm_env_t   *env   = m->plan->env;
    const int64_t count = 4 * (int64_t)env->nodes.count;
    double       *at;
    spmm_status_t status = SPMM_OK;

    if (SPMM_NEW_ZERO(at, count) == NULL) {
        status = spmmi_fail_memory(&env->err, count, sizeof *at, "bytes between nodes");
    }
    status = spmmi_agree(env, status);
    if (status == SPMM_OK) {
        status = m->nodes ? time_nodes(m, at, seconds) : time_ranks(m, at, seconds);
    }
    spmmi_free(at);
    return status == SPMM_OK ? spmmi_allreduce(env, seconds, 2, MPI_DOUBLE, MPI_MAX) : status;
}

/* Both kinds where both may be; the better one's marks stay.  Collective, agreed. */
static spmm_status_t compare(spmm_plan_t *plan, const spmm_plan_options_t *o,
                             spmm_crossing_t *crossing, spmm_cover_marks_t marks[KINDS])
{
    spmm_plan_cover_t *c              = &plan->cover;
    double             seconds[KINDS] = {INFINITY, INFINITY};
    int                best           = -1;

    SPMM_TRY(spmmi_agree(plan->env, spmmi_crossing_list(plan, marks[RANKS].in, crossing)));
    c->rows_s = INFINITY;
    for (int kind = 0; kind < KINDS; kind++) {
        const double weight  = kind == NODES ? 1.0 / level_gain : 1.0;
        double       both[2] = {0.0, 0.0};

        if (!may_take(plan, o, kind)) {
            continue;
        }
        SPMM_TRY(spmmi_cover_mark(&marks[kind]));
        if (plan->env->nodes.count > 1) {
            SPMM_TRY(predict(&marks[kind], both));
        }
        c->rows_s     = fmin(c->rows_s, weight * both[0]);
        seconds[kind] = weight * both[1];
        best          = best < 0 || seconds[kind] < seconds[best] ? kind : best;
    }
    if (best >= 0) {
        c->both_s = seconds[best];
        c->nodes  = best == NODES;
        c->chosen =
            spmmi_candidate_is_named(o->cover, "both") || c->both_s < clear_gain * c->rows_s;
        c->partial = marks[best].partial;

        marks[best].partial = NULL;
    }
    return SPMM_OK;
}

/* Does any entry move at all?  Collective. */
static spmm_status_t drop_if_idle(spmm_plan_t *plan, const spmm_arrival_t *in)
{
    spmm_plan_cover_t *c      = &plan->cover;
    int                moving = 0;

    for (int64_t k = 0; k < in->row_ptr[plan->rows.n_local] && c->chosen; k++) {
        moving = moving || c->partial[k];
    }
    SPMM_TRY(spmmi_allreduce(plan->env, &moving, 1, MPI_INT, MPI_LOR));
    if (!moving) {
        if (c->chosen) {
            (void)snprintf(c->why, SPMM_WHY, "saves no row");
        }
        c->chosen = false;
        spmmi_free(c->partial);
        c->partial = NULL;
    }
    return SPMM_OK;
}

spmm_status_t spmmi_cover_choose(spmm_plan_t *plan, const spmm_plan_options_t *o,
                                 const spmm_arrival_t *in)
{
    spmm_plan_cover_t *c            = &plan->cover;
    spmm_crossing_t    crossing     = {0};
    spmm_cover_marks_t marks[KINDS] = {
        {.plan = plan, .in = in, .crossing = &crossing},
        {.plan = plan, .in = in, .crossing = &crossing, .nodes = true}};
    const char   *why   = refuse(plan, o);
    const double  start = spmmi_now();
    spmm_status_t status;

    *c = (spmm_plan_cover_t){.rows_s = NAN, .both_s = NAN};
    if (why != NULL) {
        (void)snprintf(c->why, SPMM_WHY, "%s", why);
        return spmmi_candidate_is_named(o->cover, "both")
                   ? spmmi_fail(&plan->env->err, SPMM_ERR_UNSUPPORTED, "cover both %s", why)
                   : SPMM_OK;
    }
    if (plan->env->size == 1) {
        (void)snprintf(c->why, SPMM_WHY, "is of several ranks");
        return SPMM_OK;
    }
    status = compare(plan, o, &crossing, marks);
    spmmi_log(plan->env, "covers compared in %.6f s", spmmi_now() - start);
    spmmi_crossing_free(&crossing);
    for (int kind = 0; kind < KINDS; kind++) {
        spmmi_cover_marks_free(&marks[kind]);
    }
    if (!spmmi_candidate_is_named(o->cover, "both") &&
        (status == SPMM_ERR_MEMORY || status == SPMM_ERR_RANGE)) {
        spmmi_log(plan->env, "no cover is compared: %s", plan->env->err.text);
        spmmi_error_clear(&plan->env->err);
        (void)snprintf(c->why, SPMM_WHY, "has no room to be compared");
        return SPMM_OK;
    }
    return status == SPMM_OK ? drop_if_idle(plan, in) : status;
}
