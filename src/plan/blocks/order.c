/* SPDX-License-Identifier: Apache-2.0 */
/** @file order.c
 *  Rows of a block may be multiplied in any order: engines write through a row map anyway.  An
 *  order that puts rows with the same columns into one window saves a tensor-core engine loads of
 *  B; to the others it is worth nothing here, and to the baseline it costs a pass over C.
 */
#include "plan/blocks/order.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "engine/tune/autotune.h"
#include "engine/tune/constants.h"
#include "partition/reorder/sorted.h"

/* A sample leaves a little more than the whole order, of which less is asked for. */
static const double sample_promising = SPMM_ORDER_PROMISING + 0.05;

/* In windows of 8 or of 16 rows, at most @p share of what there were. */
bool spmmi_has_fewer_pairs(const spmm_pattern_t *before, const spmm_pattern_t *after, double share)
{
    return (double)after->tc.pairs[0] < share * (double)before->tc.pairs[0] ||
           (double)after->tc.pairs[1] < share * (double)before->tc.pairs[1];
}

bool spmmi_reordering_promises(const spmm_pattern_t *before, const double sample[2])
{
    const double nnz = (double)before->nnz;

    return sample[0] * nnz < sample_promising * (double)before->tc.pairs[0] ||
           sample[1] * nnz < sample_promising * (double)before->tc.pairs[1];
}

/* Least predicted time on a pattern; INFINITY where nothing runs.  For engines that take row-major
 * blocks, as those that gain do; column-major plans copy at the same price before and after. */
double spmmi_best_time(const char *name, const spmm_pattern_t *pattern,
                       const spmm_problem_t *problem, const spmm_device_t *device)
{
    double best = INFINITY;
    char   why[SPMM_WHY];

    for (int e = 0; e < spmmi_n_engines; e++) {
        const spmm_engine_ops_t *engine = spmmi_engines[e];

        if ((spmmi_candidate_is_auto(name) || strcmp(name, engine->facts.name) == 0) &&
            spmmi_engine_supports(engine, problem, device, why)) {
            best = fmin(best, spmmi_engine_cost(engine, pattern, problem, device));
        }
    }
    return best;
}

/* An order is blamed for more columns in work at a time, not praised for fewer: then the times of
 * engines that have no windows are in both minima, or higher in the second, and a lower one means
 * that an engine which gains by pairs is ahead of them all. */
bool spmmi_reordering_gains(const char *engine, const spmm_pattern_t *before,
                            const spmm_pattern_t *after, const spmm_problem_t *problem,
                            const spmm_device_t *device)
{
    spmm_problem_t rows   = *problem;
    spmm_pattern_t blamed = *after;

    rows.layout      = SPMM_LAYOUT_ROW;
    blamed.near_cols = fmax(before->near_cols, after->near_cols);
    return spmmi_has_fewer_pairs(before, after, SPMM_CLEAR_AT_A_COST) &&
           spmmi_best_time(engine, &blamed, &rows, device) <
               SPMM_CLEAR * spmmi_best_time(engine, before, &rows, device);
}

/* Windows of one length. */
static spmm_tc_lengths_t even_lengths(const spmm_pattern_t *pattern, int h)
{
    const int64_t     windows = spmmi_windows_count(pattern->n_rows, 8 << h);
    const int64_t     pairs   = pattern->tc.pairs[h];
    spmm_tc_lengths_t even    = {.longest = windows == 0 ? 0 : (pairs + windows - 1) / windows};
    int               bin     = 0;

    while (bin < SPMM_TC_BINS - 1 && even.longest >> (bin + 1) != 0) {
        bin++;
    }
    even.windows[bin] = even.longest == 0 ? 0 : windows;
    even.pairs[bin]   = pairs;
    return even;
}

/* A pair holds no more entries than a window has rows, and every column that is used is in one. */
spmm_pattern_t spmmi_reordering_bound(const spmm_pattern_t *pattern)
{
    spmm_pattern_t bound = *pattern;

    for (int h = 0; h < SPMM_TC_HEIGHTS; h++) {
        const int64_t full = (pattern->nnz + (8 << h) - 1) / (8 << h);

        bound.tc.pairs[h] = full > pattern->used_cols ? full : pattern->used_cols;
    }
    bound.tc.tc_blocks = (bound.tc.pairs[0] + 7) / 8;
    bound.tc.quads     = (bound.tc.pairs[0] + 3) / 4;
    bound.tc.bricks    = (bound.tc.pairs[1] + 3) / 4;
    for (int h = 0; h < 2; h++) {
        bound.tc.lengths[h] = even_lengths(&bound, h);
    }
    return bound;
}

/* Order `sorted` takes 0.015 to 0.045 us for an entry on 16 cores, with all that a plan does to
 * compare it, and the best of 40 matrices save half of what the best thinkable order would. */
double spmmi_reordering_worth(const char *engine, const spmm_pattern_t *before,
                              const spmm_problem_t *problem, const spmm_device_t *device,
                              int64_t executes)
{
    const double         entry_s = 0.14e-6;
    const spmm_pattern_t bound   = spmmi_reordering_bound(before);
    const double         saved   = spmmi_best_time(engine, before, problem, device) -
                         spmmi_best_time(engine, &bound, problem, device);

    return saved * (double)spmmi_executes_to_come(executes) / (entry_s * (double)before->nnz);
}

/* The rows of @p block in the order of @p method, and what it makes of the pattern. */
static spmm_status_t permute(const spmm_order_choice_t *by, const spmm_block_t *block,
                             const spmm_reorderer_t *method, spmm_permuted_t *p)
{
    spmm_env_t   *env = by->device->env;
    int32_t      *order;
    spmm_status_t status;

    *p = (spmm_permuted_t){.source = NULL};
    if (SPMM_NEW(order, block->csr.n_rows) == NULL) {
        return spmmi_fail_memory(&env->err, block->csr.n_rows, sizeof *order, "an order of rows");
    }
    status = spmmi_reorder(env, method, &block->csr, by->device->threads, order);
    if (status == SPMM_OK) {
        status = spmmi_csr_permute(env, &block->csr, order, &p->csr, &p->source);
    }
    spmmi_free(order);
    for (int64_t k = 0; status == SPMM_OK && block->source != NULL && k < block->nnz; k++) {
        p->source[k] = block->source[p->source[k]];
    }
    if (status == SPMM_OK) {
        status = spmmi_pattern_scan_for(env, &p->csr, by->layout, &p->pattern);
    }
    if (status != SPMM_OK) {
        spmmi_permuted_free(p);
    }
    return status;
}

static void apply(spmm_block_t *block, spmm_permuted_t *p)
{
    spmmi_pattern_free(&block->pattern);
    spmmi_csr_free(&block->csr);
    spmmi_free(block->source);
    block->csr                = p->csr;
    block->source             = p->source;
    block->pattern            = p->pattern;
    block->reordering.applied = true;
}

/* The method asked for, whatever it brings. */
static spmm_status_t reorder_always(const spmm_order_choice_t *by, spmm_block_t *block,
                                    const spmm_reorderer_t *method)
{
    spmm_permuted_t p;

    SPMM_TRY(permute(by, block, method, &p));
    block->reordering.method = method;
    block->reordering.before = block->pattern.tc;
    block->reordering.after  = p.pattern.tc;
    apply(block, &p);
    return SPMM_OK;
}

/* An order, if it gains, or to be measured.  A block that it cannot take, for its size or for want
 * of memory, stays as it is. */
static spmm_status_t reorder_auto(const spmm_order_choice_t *by, spmm_block_t *block)
{
    const char             *engine = by->engine;
    spmm_env_t             *env    = by->device->env;
    const bool              named  = !spmmi_candidate_is_auto(engine);
    spmm_reordering_t      *r      = &block->reordering;
    const spmm_pattern_t    before = block->pattern; /* borrows the windows */
    const spmm_pattern_t    bound  = spmmi_reordering_bound(&before);
    const spmm_reorderer_t *method;
    double                  worth, sample[2];
    spmm_permuted_t         p;
    spmm_status_t           status = SPMM_OK;

    if (!spmmi_reordering_gains(engine, &before, &bound, by->problem, by->device)) {
        r->why = "not even the best order would make an engine much faster";
        return SPMM_OK;
    }
    worth = spmmi_reordering_worth(engine, &before, by->problem, by->device, by->executes);
    if (worth <= 1.0) {
        r->why = "no order would pay for itself in the products to come (executes)";
        return SPMM_OK;
    }
    method = worth < SPMM_ORDER_MUCH ? &spmmi_reorderer_sorted : &spmmi_reorderer_affinity;
    if (worth < SPMM_ORDER_MUCH) {
        status = spmmi_sorted_sample(env, &block->csr, by->device->threads, sample);
        if (status == SPMM_OK && !spmmi_reordering_promises(&before, sample)) {
            r->why = "a sample of them in another one shares too few columns";
            return SPMM_OK;
        }
    }
    if (status == SPMM_OK) {
        status = permute(by, block, method, &p);
    }
    if (status == SPMM_ERR_MEMORY || status == SPMM_ERR_UNSUPPORTED) {
        spmmi_log(env, "rows stay in order: %s", env->err.text);
        spmmi_error_clear(&env->err);
        r->why = "the block is too large for it";
        return SPMM_OK;
    }
    SPMM_TRY(status);
    r->method = method;
    r->before = before.tc;
    r->after  = p.pattern.tc;
    r->why    = "it makes no engine much faster";
    if (worth < SPMM_ORDER_MUCH &&
        !spmmi_has_fewer_pairs(&before, &p.pattern, SPMM_ORDER_PROMISING)) {
        spmmi_permuted_free(&p);
    } else if (by->measures && !named &&
               spmmi_has_fewer_pairs(&before, &p.pattern, SPMM_MEASURABLE)) {
        block->other_order = p;
    } else if (spmmi_reordering_gains(engine, &before, &p.pattern, by->problem, by->device)) {
        apply(block, &p);
    } else {
        spmmi_permuted_free(&p);
    }
    return SPMM_OK;
}

static spmm_status_t reorder(const spmm_order_choice_t *by, spmm_block_t *block)
{
    const spmm_reorderer_t *method = by->order == NULL ? NULL : spmmi_reorderer_find(by->order);

    if (block->nnz == 0) {
        block->reordering.why = "there are no entries";
    } else if (method == &spmmi_reorderer_none) {
        block->reordering.why = "as asked for";
    } else if (method != NULL) {
        return reorder_always(by, block, method);
    } else if (by->device->kind == SPMM_DEVICE_CPU) {
        block->reordering.why = "on CPUs no engine gains by it";
    } else {
        return reorder_auto(by, block);
    }
    return SPMM_OK;
}

spmm_status_t spmmi_block_reorder(const spmm_order_choice_t *by, spmm_block_t *block)
{
    const double        start  = spmmi_now();
    const spmm_status_t status = reorder(by, block);

    block->reordering.seconds = spmmi_now() - start;
    if (block->reordering.applied) {
        spmmi_log(by->device->env, "rows reordered in %.2f s", block->reordering.seconds);
    }
    return status;
}
