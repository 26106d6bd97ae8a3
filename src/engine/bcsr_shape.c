/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/bcsr_shape.h"

#include <math.h>

#include "engine/roofline.h"
#include "engine/tc_engine.h"

/** What a product takes with one shape. */
typedef struct {
    double slices;
    double l2;    /**< bytes through L2: the format for each slice, the rows of B for each panel */
    double mma_s; /**< on tensor cores */
    double launches;
    double rounds; /**< steps that a thread block takes one after the other, at least */
} account_t;

/* Thread blocks on a multiprocessor: registers for the sums decide (bcsr_launch.cuh). */
static double resident(spmm_bcsr_shape_t shape)
{
    const double warps = shape.rows / 4.0;

    return shape.slice == 32 ? (shape.rows == 4   ? 9.0
                                : shape.rows == 8 ? 5.0
                                                  : 3.0)
                             : 8.0 / warps / (shape.slice / 64.0);
}

/* Rates of mma and mma.sp that one H200 reached: 641 and 968 TFLOP/s as of dense tiles. */
static account_t account(const spmm_bcsr_facts_t *facts, int32_t n_rows, spmm_bcsr_shape_t shape,
                         int64_t n, int32_t n_sm, bool sp24)
{
    const double dense = 641e12 / 132.0, sparse = 968e12 / 132.0;
    const double start   = 8.0; /* steps that the start and end of a panel take as long as */
    const double columns = ceil((double)n / 32.0) * 32.0;
    const double tiles   = (double)facts->tiles + (sp24 ? 0.0 : 2.0 * (double)facts->sp24);
    const double wide    = sp24 ? (double)facts->sp24 : 0.0;
    const double panels  = (double)spmm_windows_count(n_rows, SPMM_BCSR_SIDE * shape.rows);
    account_t    x       = {.slices = ceil((double)n / shape.slice), .launches = 1.0};
    const double a_bytes = 512.0 * tiles + 576.0 * wide + 16.0 * (double)facts->steps;
    double       slots, cut;

    x.l2     = x.slices * a_bytes + 16.0 * (double)facts->sides * 2.0 * (double)n;
    x.mma_s  = (512.0 * columns * tiles / dense + 1024.0 * columns * wide / sparse) / (double)n_sm;
    slots    = resident(shape) * n_sm;
    cut      = spmm_bcsr_cut(n_sm, n, facts->steps);
    x.rounds = fmax(fmin((double)facts->longest, cut),
                    ((double)facts->steps + start * panels) * x.slices / slots);
    if ((double)facts->longest > cut) { /* sums of pieces, written and read */
        x.launches = 2.0;
        x.l2 += 8.0 * 16.0 * shape.rows * (double)n * (double)facts->steps / cut;
    }
    return x;
}

spmm_bcsr_shape_t spmm_bcsr_shape(const spmm_bcsr_facts_t *facts, int32_t n_rows, int64_t n,
                                  int32_t n_sm, bool sp24)
{
    /* Of one H200 with 132 multiprocessors: bytes/s from L2, and seconds of a step's barrier and
     * bookkeeping. */
    const double      rate = 6e12 / 132.0 * n_sm, step_s = 0.5e-6;
    spmm_bcsr_shape_t best   = {.rows = 4, .slice = 32};
    double            best_s = INFINITY;

    for (int k = 0; k < 3; k++) {
        for (int32_t slice = 32; slice <= 128 && (slice == 32 || slice / 2 < n); slice *= 2) {
            const spmm_bcsr_shape_t shape = {.rows = 4 << k, .slice = slice};
            const account_t         x     = account(&facts[k], n_rows, shape, n, n_sm, sp24);
            const double            s     = x.l2 / rate + 0.5 * x.mma_s + x.rounds * step_s;

            if (s < best_s) {
                best_s = s;
                best   = shape;
            }
        }
    }
    return best;
}

/* Enough pieces for two thread blocks on every multiprocessor, none of a few steps. */
int32_t spmm_bcsr_cut(int32_t n_sm, int64_t n, int64_t steps)
{
    const int32_t least  = 8;
    const double  slices = ceil((double)n / 64.0);
    const double  share  = (double)steps * slices / (2.0 * n_sm);

    return share > (double)INT32_MAX ? INT32_MAX : share > least ? (int32_t)share : least;
}

/* Launches; what goes through L2, the format for each slice of C and B for each panel; tensor cores; and
 * the steps of a thread block.  Constants by bench/fit.py from times on one H200 (docs/performance.md); nothing
 * was left for what moves once.  For both engines, as if all tiles were dense: 2:4 tiles made products 0.92
 * to 1.03 times as fast, so that only measuring can tell, and of equals bcsr comes first. */
int spmm_bcsr_terms(const spmm_pattern_t *pattern, const spmm_problem_t *problem,
                    const spmm_device_t *device, spmm_cost_term_t terms[SPMM_COST_TERMS])
{
    const double            us = 1e-6, row = 2.0 * (double)problem->n;
    const spmm_bcsr_shape_t shape =
        spmm_bcsr_shape(pattern->bcsr, pattern->n_rows, problem->n, device->n_sm, false);
    const account_t x = account(&pattern->bcsr[shape.rows / 8], pattern->n_rows, shape, problem->n,
                                device->n_sm, false);

    terms[0] = (spmm_cost_term_t){"launch", 7.0, x.launches * us};
    terms[1] =
        (spmm_cost_term_t){"gather", 0.34, spmm_gpu_gather_s(pattern, problem, device, x.l2 / row)};
    terms[2] = (spmm_cost_term_t){"mma", 3.0, x.mma_s};
    terms[3] = (spmm_cost_term_t){"steps", 0.5, x.rounds * us};
    return 4;
}

double spmm_bcsr_cost(const spmm_pattern_t *pattern, const spmm_problem_t *problem,
                      const spmm_device_t *device)
{
    spmm_cost_term_t sum[SPMM_COST_TERMS];

    if (device->kind == SPMM_DEVICE_CPU) {
        return spmm_tc_cpu_cost(pattern, problem, device);
    }
    if (pattern->nnz > INT32_MAX) {
        return INFINITY; /* build() would refuse */
    }
    return spmm_gpu_sum_s(sum, spmm_bcsr_terms(pattern, problem, device, sum));
}
