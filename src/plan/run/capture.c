/* SPDX-License-Identifier: Apache-2.0 */
/** @file capture.c
 *  A first call with new operands runs as without captures: what is set up lazily (kernels being
 *  loaded, the preprocessing of cuSPARSE) is no part of a product and may not be captured.  The
 *  second call captures, and launches like all later ones.
 *
 *  Engines may keep state for one kind of operands (cuSPARSE: n, leading dimensions, alignment of B
 *  and C) that captured kernels read: a call with others voids all captures.  So does a call that
 *  was refused, since the steps of exchanges are captured, too.
 */
#include "plan/run/capture.h"

#include <string.h>

#include "base/alloc.h"
#include "plan/plan.h"

enum { MOST_CAPTURES = 8, ALIGNMENT = 16 };

/** Calls with one list of arguments. */
typedef struct {
    spmm_operands_t x;     /**< of any stream */
    spmm_graph_t   *graph; /**< owned; NULL: called once */
    uint64_t        used;  /**< when it was last called, counted in calls */
} entry_t;

struct spmm_captures {
    spmm_stream_t stream; /**< owned: captures, since the caller's may be the default one */
    entry_t       entry[MOST_CAPTURES];
    int           count;
    uint32_t      skipped; /**< exchange.skipped as of the graphs: their steps contain it */
    uint64_t      calls;
    int64_t       captured, launched;
};

/* Why not?  By facts that are equal on all ranks; NULL: it can. */
static const char *refuse(const spmm_plan_t *plan)
{
    if (plan->device->ops->graph_begin == NULL) {
        return "needs GPUs";
    }
    if (plan->env->size > 1 && !plan->exchange.transport->captures) {
        return "needs a transport whose exchanges can be captured, nccl or nccl-push, on "
               "more than one rank";
    }
    if (plan->env->size > 1 && plan->env->timeout_s > 0.0) {
        return "needs a context without timeout_s: exchanges in a graph cannot be watched one by "
               "one";
    }
    return NULL;
}

spmm_status_t spmmi_plan_make_captures(spmm_plan_t *plan, const spmm_plan_options_t *options)
{
    const char *why;

    if (options->graph == 0) {
        return SPMM_OK;
    }
    why = refuse(plan);
    if (why != NULL) {
        return spmmi_fail(&plan->env->err, SPMM_ERR_UNSUPPORTED, "option graph %s", why);
    }
    if (plan->profile) {
        plan->captures_why = "not captured, since the plan profiles its phases";
        return SPMM_OK;
    }
    if (SPMM_NEW_ZERO(plan->captures, 1) == NULL) {
        return spmmi_fail_memory(&plan->env->err, 1, sizeof *plan->captures, "graphs");
    }
    return plan->device->ops->stream_create(plan->device, false, &plan->captures->stream);
}

static void drop_all(spmm_plan_t *plan)
{
    for (int g = 0; g < plan->captures->count; g++) {
        plan->device->ops->graph_destroy(plan->device, plan->captures->entry[g].graph);
    }
    plan->captures->count = 0;
}

void spmmi_plan_free_captures(spmm_plan_t *plan)
{
    if (plan->captures == NULL) {
        return;
    }
    if (plan->captures->count > 0) {
        drop_all(plan);
    }
    if (plan->captures->stream != NULL) {
        plan->device->ops->stream_destroy(plan->device, plan->captures->stream);
    }
    spmmi_free(plan->captures);
    plan->captures = NULL;
}

/* A graph may still run: wait for the last execute before any is destroyed. */
static spmm_status_t wait_until_idle(spmm_plan_t *plan)
{
    SPMM_TRY(spmmi_phase_wait(&plan->phases, 0, SPMM_PHASE_DONE, plan->captures->stream));
    return plan->device->ops->stream_sync(plan->device, plan->captures->stream);
}

static bool is_aligned_alike(const void *a, const void *b)
{
    return (uintptr_t)a % ALIGNMENT == (uintptr_t)b % ALIGNMENT;
}

static bool is_like(const spmm_operands_t *a, const spmm_operands_t *b)
{
    return a->n == b->n && a->ldb == b->ldb && a->ldc == b->ldc && is_aligned_alike(a->B, b->B) &&
           is_aligned_alike(a->C, b->C);
}

/* Bits of alpha and beta: 0 and -0 are two, and a NaN equals itself. */
static bool is_same(const spmm_operands_t *a, const spmm_operands_t *b)
{
    return is_like(a, b) && a->B == b->B && a->C == b->C &&
           memcmp(&a->alpha, &b->alpha, sizeof a->alpha) == 0 &&
           memcmp(&a->beta, &b->beta, sizeof a->beta) == 0;
}

/* The entry of these arguments, NULL when there is none. */
static entry_t *find(spmm_captures_t *captures, const spmm_operands_t *x)
{
    for (int g = 0; g < captures->count; g++) {
        if (is_same(&captures->entry[g].x, x)) {
            return &captures->entry[g];
        }
    }
    return NULL;
}

/* Room for one more: that of the entry that was called least recently when all is taken. */
static spmm_status_t add(spmm_plan_t *plan, const spmm_operands_t *x)
{
    spmm_captures_t *captures = plan->captures;
    entry_t         *entry    = &captures->entry[captures->count];

    if (captures->count == MOST_CAPTURES) {
        entry = &captures->entry[0];
        for (int g = 1; g < MOST_CAPTURES; g++) {
            entry = captures->entry[g].used < entry->used ? &captures->entry[g] : entry;
        }
        if (entry->graph != NULL) {
            SPMM_TRY(wait_until_idle(plan));
            plan->device->ops->graph_destroy(plan->device, entry->graph);
        }
    } else {
        captures->count++;
    }
    *entry = (entry_t){.x = *x, .used = captures->calls};
    return SPMM_OK;
}

static spmm_status_t capture(spmm_plan_t *plan, const spmm_operands_t *x, spmm_enqueue_t enqueue,
                             spmm_graph_t **graph)
{
    const spmm_device_ops_t *ops  = plan->device->ops;
    spmm_operands_t          here = *x;
    spmm_status_t            status;

    here.stream = plan->captures->stream;
    SPMM_TRY(ops->graph_begin(plan->device, here.stream));
    status = enqueue(plan, &here);
    status = spmmi_first_failure(status, ops->graph_end(plan->device, here.stream, graph));
    if (status != SPMM_OK) {
        ops->graph_destroy(plan->device, *graph);
        *graph = NULL;
        return status;
    }
    plan->captures->captured++;
    return SPMM_OK;
}

spmm_status_t spmmi_plan_run_captured(spmm_plan_t *plan, const spmm_operands_t *x,
                                      spmm_enqueue_t enqueue)
{
    spmm_captures_t *captures = plan->captures;
    entry_t         *entry;
    spmm_status_t    status;

    captures->calls++;
    if (captures->count > 0 &&
        (!is_like(&captures->entry[0].x, x) || captures->skipped != plan->exchange.skipped)) {
        SPMM_TRY(wait_until_idle(plan));
        drop_all(plan);
    }
    captures->skipped = plan->exchange.skipped;
    entry             = find(captures, x);
    if (entry == NULL) {
        SPMM_TRY(enqueue(plan, x)); /* what failed is not prepared for a capture */
        return add(plan, x);
    }
    entry->used = captures->calls;
    if (entry->graph == NULL) {
        status = capture(plan, x, enqueue, &entry->graph);
        if (status != SPMM_OK) { /* peers exchange rows with this rank all the same */
            (void)enqueue(plan, x);
            return status;
        }
    }
    captures->launched++;
    plan->exchange.begun++;
    status = plan->device->ops->graph_launch(plan->device, entry->graph, x->stream);
    if (status != SPMM_OK) { /* the same: nothing of the graph runs */
        (void)enqueue(plan, x);
    }
    return status;
}

void spmmi_plan_count_captures(const spmm_plan_t *plan, int64_t *captured, int64_t *launched)
{
    *captured = plan->captures == NULL ? 0 : plan->captures->captured;
    *launched = plan->captures == NULL ? 0 : plan->captures->launched;
}
