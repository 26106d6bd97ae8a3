/* SPDX-License-Identifier: Apache-2.0 */
/** @file gain.c
 *  Whether another order of rows pays, and what any could gain, from the facts of patterns and the
 *  models of engines.
 */
#include "plan/block/gain.h"

#include <math.h>
#include <string.h>

#include "engine/choose/autotune.h"
#include "engine/choose/constants.h"

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

        if ((spmmi_candidate_is_auto(name) || strcmp(name, engine->name) == 0) &&
            engine->supports(problem, device, why)) {
            best = fmin(best, engine->cost(pattern, problem, device));
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
