/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/choose/weigh.h"

#include <math.h>
#include <string.h>

#include "cpu/cpu_kernels.h"
#include "spmm_dist/context.h"

/* What is added to see what it costs: enough to be more than the steps in which work is dealt out,
 * little beside the whole. */
static const double more = 1.0 / 16.0;

static int64_t grown(int64_t count)
{
    return count + (int64_t)ceil(more * (double)count);
}

static spmm_pattern_t with_entries(const spmm_pattern_t *pattern)
{
    spmm_pattern_t p = *pattern;

    p.nnz = grown(p.nnz);
    return p;
}

/* Windows with more columns; as many of them. */
static spmm_pattern_t with_pairs(const spmm_pattern_t *pattern)
{
    spmm_pattern_t p = *pattern;

    for (int h = 0; h < SPMM_TC_HEIGHTS; h++) {
        p.tc.pairs[h] = grown(p.tc.pairs[h]);
    }
    for (int k = 0; k < SPMM_TC_BINS; k++) {
        p.tc.lengths[0].pairs[k] = grown(p.tc.lengths[0].pairs[k]);
        p.tc.lengths[1].pairs[k] = grown(p.tc.lengths[1].pairs[k]);
    }
    p.tc.quads     = grown(p.tc.quads);
    p.tc.tc_blocks = grown(p.tc.tc_blocks);
    p.tc.bricks    = grown(p.tc.bricks);
    return p;
}

/* Rows of C and of B: in a square matrix they go together. */
static spmm_pattern_t with_rows(const spmm_pattern_t *pattern)
{
    spmm_pattern_t p = *pattern;

    p.n_rows    = (int32_t)fmin((double)grown(p.n_rows), INT32_MAX);
    p.c_rows    = (int32_t)fmin((double)grown(p.c_rows), INT32_MAX);
    p.used_cols = grown(p.used_cols);
    return p;
}

/* Seconds for one more of @p count, of which @p p has more. */
static double slope(const spmm_engine_ops_t *engine, const spmm_pattern_t *p,
                    const spmm_problem_t *problem, const spmm_device_t *device, double seconds,
                    int64_t count)
{
    return count == 0 ? 0.0
                      : fmax(0.0, engine->cost(p, problem, device) - seconds) /
                            (double)(grown(count) - count);
}

/* As long as nothing was measured on it. */
static spmm_device_t typical(const spmm_device_t *device)
{
    spmm_device_t d = *device;

    d.copy_bw = 0.0;
    memset(d.gather_bw, 0, sizeof d.gather_bw);
    return d;
}

static const spmm_engine_ops_t *best_engine(const char *name, const spmm_pattern_t *pattern,
                                            const spmm_problem_t *problem,
                                            const spmm_device_t *device, double *seconds)
{
    const spmm_engine_ops_t *best = NULL;
    char                     why[SPMM_WHY];

    *seconds = INFINITY;
    for (int e = 0; e < spmmi_n_engines; e++) {
        const spmm_engine_ops_t *engine = spmmi_engines[e];

        if ((spmmi_candidate_is_auto(name) || strcmp(name, engine->name) == 0) &&
            engine->supports(problem, device, why) &&
            engine->cost(pattern, problem, device) < *seconds) {
            best     = engine;
            *seconds = engine->cost(pattern, problem, device);
        }
    }
    return best;
}

spmm_row_cost_t spmmi_row_cost(const char *name, const spmm_pattern_t *pattern,
                               const spmm_problem_t *problem, const spmm_device_t *device)
{
    const double             least   = 0.5; /* of the time that the three must explain */
    const double             launch  = device->kind == SPMM_DEVICE_CPU ? 0.0 : 5e-6;
    const spmm_pattern_t     entries = with_entries(pattern), pairs = with_pairs(pattern);
    const spmm_pattern_t     rows = with_rows(pattern);
    const spmm_device_t      d    = typical(device);
    double                   seconds, sum;
    const spmm_engine_ops_t *engine = best_engine(name, pattern, problem, &d, &seconds);
    spmm_row_cost_t          cost   = {.engine = engine};

    if (engine == NULL) {
        return cost;
    }
    cost.entry = slope(engine, &entries, problem, &d, seconds, pattern->nnz);
    cost.pair  = slope(engine, &pairs, problem, &d, seconds, pattern->tc.pairs[0]);
    cost.row   = slope(engine, &rows, problem, &d, seconds, pattern->n_rows);
    sum        = cost.entry * (double)pattern->nnz + cost.pair * (double)pattern->tc.pairs[0] +
          cost.row * (double)pattern->n_rows;
    cost.engine = sum >= least * (seconds - launch) && sum > 0.0 ? engine : NULL;
    cost.all    = cost.engine == NULL ? 0.0 : sum;
    return cost;
}

/* The part of each row of window @p w in its pairs. */
static void share_pairs(const spmm_windows_t *windows, int32_t w, double share[SPMM_WINDOWS_TALL])
{
    enum { HEIGHT = 8 };

    memset(share, 0, SPMM_WINDOWS_TALL * sizeof *share);
    for (int64_t k = windows->first[w]; k < windows->first[w] + windows->count[w]; k++) {
        for (int at = 0; at < SPMM_WINDOWS_TALL; at += HEIGHT) {
            const unsigned in    = windows->rows[k] >> at & ((1U << HEIGHT) - 1);
            int            users = 0;

            for (int r = 0; r < HEIGHT; r++) {
                users += (int)(in >> r & 1U);
            }
            for (int r = 0; r < HEIGHT && in != 0; r++) {
                share[at + r] += (in >> r & 1U) != 0 ? 1.0 / users : 0.0;
            }
        }
    }
}

void spmmi_weigh_rows(const spmm_row_cost_t *cost, const spmm_csr_t *block,
                      const spmm_pattern_t *pattern, double unit, int threads, int64_t *weight)
{
    const spmm_windows_t *windows = &pattern->windows;

#pragma omp parallel for num_threads(spmmi_cpu_team(threads))
    for (int32_t w = 0; w < windows->n_windows; w++) {
        const int32_t first = w * SPMM_WINDOWS_TALL;
        double        share[SPMM_WINDOWS_TALL];

        share_pairs(windows, w, share);
        for (int32_t i = first; i < block->n_rows && i - first < SPMM_WINDOWS_TALL; i++) {
            const double length  = (double)(block->row_ptr[i + 1] - block->row_ptr[i]);
            const double seconds = cost->entry * length + cost->pair * share[i - first] + cost->row;

            weight[i] = (int64_t)fmax(1.0, seconds / unit);
        }
    }
}
