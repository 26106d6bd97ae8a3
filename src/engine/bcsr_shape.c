/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/bcsr_shape.h"

#include <math.h>

#include "engine/roofline.h"
#include "engine/tc_engine.h"

#define STEPS(n_rows, columns)                                                                     \
    {                                                                                              \
        .form = SPMM_BCSR_BY_STEPS, .rows = (n_rows), .slice = (columns)                           \
    }
#define LISTS(n_rows, warps, columns)                                                              \
    {                                                                                              \
        .form = SPMM_BCSR_BY_LISTS, .rows = (n_rows), .slice = (columns), .split = (warps)         \
    }

const spmm_bcsr_shape_t spmm_bcsr_shapes[SPMM_BCSR_SHAPES] = {
    STEPS(4, 32),     STEPS(4, 64),    STEPS(4, 128),   STEPS(8, 32),    STEPS(8, 64),
    STEPS(8, 128),    STEPS(16, 32),   STEPS(16, 64),   STEPS(16, 128),  LISTS(4, 1, 32),
    LISTS(4, 1, 64),  LISTS(4, 4, 32), LISTS(4, 4, 64), LISTS(8, 2, 32), LISTS(8, 2, 64),
    LISTS(16, 1, 32), LISTS(16, 1, 64)};

const char *spmm_bcsr_form_name(spmm_bcsr_form_t form)
{
    static const char *const names[SPMM_BCSR_FORMS] = {"steps", "lists"};

    return names[form];
}

/** What a product takes with one shape. */
typedef struct {
    double slices;
    double l2;    /**< bytes through L2: the format for each slice, the rows of B for each panel */
    double mma_s; /**< on tensor cores */
    double launches;
    double rounds;  /**< steps that a thread block takes one after the other, at least */
    double block_s; /**< by lists: what thread blocks take one after the other, at least */
} account_t;

/* Thread blocks on a multiprocessor: registers for the sums decide (bcsr_launch.cuh). */
static double resident(spmm_bcsr_shape_t shape)
{
    const double warps = shape.rows / 4.0;

    if (shape.form == SPMM_BCSR_BY_LISTS) {
        return shape.rows * shape.split == 16 ? 1.0 : shape.slice == 32 ? 5.0 : 4.0;
    }
    return shape.slice == 32 ? (shape.rows == 4   ? 9.0
                                : shape.rows == 8 ? 5.0
                                                  : 3.0)
                             : 8.0 / warps / (shape.slice / 64.0);
}

/* By lists: seconds of the start and end of a thread block, of a chunk's barrier, and of a tile of a
 * warp, one after the other. */
static double block_seconds(const spmm_bcsr_facts_t *facts, double panels, spmm_bcsr_shape_t shape,
                            double steps, double tiles)
{
    const double start_s = 1.5e-6, chunk_s = 0.4e-6, tile_s = 0.06e-6;
    const double chunk = 48.0 * shape.rows * shape.split / shape.slice; /* steps */
    const double share = facts->steps > 0 ? steps / (double)facts->steps : 1.0 / panels;

    return start_s + chunk_s * ceil(steps / chunk) +
           tile_s * tiles * share / (double)(shape.rows * shape.split);
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
    const double slots = resident(shape) * n_sm, longest = (double)facts->longest;
    const double cut     = spmm_bcsr_cut(shape, n_sm, n, facts->steps);
    const double a_bytes = 512.0 * tiles + 576.0 * wide + 16.0 * (double)facts->steps;
    account_t    x       = {.slices = ceil((double)n / shape.slice), .launches = 1.0};

    x.l2     = x.slices * a_bytes + 16.0 * (double)facts->sides * 2.0 * (double)n;
    x.mma_s  = (512.0 * columns * tiles / dense + 1024.0 * columns * wide / sparse) / (double)n_sm;
    x.rounds = fmax(fmin(longest, cut), ((double)facts->steps + start * panels) * x.slices / slots);
    if (longest > cut) { /* sums of pieces, written and read */
        x.launches = 2.0;
        x.l2 += 8.0 * 16.0 * shape.rows * (double)n * (double)facts->steps / cut;
    }
    if (shape.form == SPMM_BCSR_BY_LISTS) {
        const double blocks = fmax(panels, (double)facts->steps / cut) * x.slices;
        const double mean   = (double)facts->steps / fmax(panels, (double)facts->steps / cut);

        x.l2 += x.slices * 16.0 * (tiles + wide);
        x.block_s =
            fmax(block_seconds(facts, panels, shape, fmin(longest, cut), tiles + wide),
                 ceil(blocks / slots) * block_seconds(facts, panels, shape, mean, tiles + wide));
    }
    return x;
}

/* Of one H200 with 132 multiprocessors: seconds of what goes through L2. */
static double l2_s(const account_t *x, int32_t n_sm)
{
    return x->l2 / (6e12 / 132.0 * n_sm);
}

/* To tell the shapes of a form apart: beside L2 and half of mma what thread blocks take one after the other,
 * by steps a barrier and bookkeeping each. */
static double shape_s(const account_t *x, spmm_bcsr_form_t form, int32_t n_sm)
{
    const double step_s = 0.5e-6, finish_s = 3e-6;

    return l2_s(x, n_sm) + 0.5 * x->mma_s + finish_s * (x->launches - 1.0) +
           (form == SPMM_BCSR_BY_LISTS ? x->block_s : x->rounds * step_s);
}

/* Of the form by lists, from its loads and instructions, half as much again: where forms or engines are
 * close, that which was measured is taken. */
static const double lists_l2 = 1.5, lists_block = 1.5;

/* To tell the forms apart: whole products, with the constants of terms_of(). */
static double form_s(const account_t *x, spmm_bcsr_form_t form, int32_t n_sm)
{
    return form == SPMM_BCSR_BY_LISTS
               ? 4e-6 * x->launches + lists_l2 * l2_s(x, n_sm) + 0.5 * x->mma_s +
                     lists_block * x->block_s
               : 7e-6 * x->launches + l2_s(x, n_sm) + 3.0 * x->mma_s + 0.5e-6 * x->rounds;
}

/** The best shape of a form so far. */
typedef struct {
    spmm_bcsr_shape_t shape;
    double            shape_s, form_s;
} choice_t;

spmm_bcsr_shape_t spmm_bcsr_shape(const spmm_bcsr_facts_t *facts, int32_t n_rows, int64_t n,
                                  int32_t n_sm, spmm_bcsr_form_t form, bool sp24)
{
    choice_t best[SPMM_BCSR_FORMS];

    for (int f = 0; f < SPMM_BCSR_FORMS; f++) {
        best[f] = (choice_t){.shape_s = INFINITY};
    }
    for (int k = 0; k < SPMM_BCSR_SHAPES; k++) {
        const spmm_bcsr_shape_t shape = spmm_bcsr_shapes[k];
        const account_t         x     = account(&facts[shape.rows / 8], n_rows, shape, n, n_sm,
                                                spmm_bcsr_takes_sp24(shape, sp24));
        const double            s     = shape_s(&x, shape.form, n_sm);

        if ((shape.slice == 32 || shape.slice / 2 < n) && s < best[shape.form].shape_s) {
            best[shape.form] =
                (choice_t){.shape = shape, .shape_s = s, .form_s = form_s(&x, shape.form, n_sm)};
        }
    }
    if (form == SPMM_BCSR_FORMS) {
        form = best[SPMM_BCSR_BY_LISTS].form_s < best[SPMM_BCSR_BY_STEPS].form_s
                   ? SPMM_BCSR_BY_LISTS
                   : SPMM_BCSR_BY_STEPS;
    }
    return best[form].shape;
}

/* Enough pieces for two thread blocks on every multiprocessor, none of a few steps.  By lists thread
 * blocks are larger: only what is three times as long as it need be is cut, none of less than 64. */
int32_t spmm_bcsr_cut(spmm_bcsr_shape_t shape, int32_t n_sm, int64_t n, int64_t steps)
{
    const bool    lists  = shape.form == SPMM_BCSR_BY_LISTS;
    const int32_t least  = lists ? 64 : 8;
    const double  slices = ceil((double)n / (lists ? shape.slice : 64.0));
    const double  slots  = lists ? resident(shape) * n_sm / 3.0 : 2.0 * n_sm;
    const double  share  = (double)steps * slices / slots;

    return share > (double)INT32_MAX ? INT32_MAX : share > least ? (int32_t)share : least;
}

/* Launches; what goes through L2, the format for each slice of C and B for each panel; tensor cores; and
 * what a thread block takes one after the other.  By steps with constants by bench/fit.py from times on one
 * H200 (docs/performance.md), where nothing was left for what moves once. */
static int terms_of(const spmm_pattern_t *pattern, const spmm_problem_t *problem,
                    const spmm_device_t *device, bool sp24, spmm_cost_term_t terms[SPMM_COST_TERMS])
{
    const double            us = 1e-6, row = 2.0 * (double)problem->n;
    const spmm_bcsr_shape_t shape = spmm_bcsr_shape(pattern->bcsr, pattern->n_rows, problem->n,
                                                    device->n_sm, SPMM_BCSR_FORMS, sp24);
    const account_t x = account(&pattern->bcsr[shape.rows / 8], pattern->n_rows, shape, problem->n,
                                device->n_sm, spmm_bcsr_takes_sp24(shape, sp24));

    if (shape.form == SPMM_BCSR_BY_LISTS) {
        terms[0] = (spmm_cost_term_t){"launch", 4.0, x.launches * us};
        terms[1] = (spmm_cost_term_t){"L2", lists_l2, l2_s(&x, device->n_sm)};
        terms[2] = (spmm_cost_term_t){"mma", 0.5, x.mma_s};
        terms[3] = (spmm_cost_term_t){"blocks", lists_block, x.block_s};
        return 4;
    }
    terms[0] = (spmm_cost_term_t){"launch", 7.0, x.launches * us};
    terms[1] =
        (spmm_cost_term_t){"gather", 0.34, spmm_gpu_gather_s(pattern, problem, device, x.l2 / row)};
    terms[2] = (spmm_cost_term_t){"mma", 3.0, x.mma_s};
    terms[3] = (spmm_cost_term_t){"steps", 0.5, x.rounds * us};
    return 4;
}

static double cost_of(const spmm_pattern_t *pattern, const spmm_problem_t *problem,
                      const spmm_device_t *device, bool sp24)
{
    spmm_cost_term_t sum[SPMM_COST_TERMS];

    if (device->kind == SPMM_DEVICE_CPU) {
        return spmm_tc_cpu_cost(pattern, problem, device);
    }
    if (pattern->nnz > INT32_MAX) {
        return INFINITY; /* build() would refuse */
    }
    return spmm_gpu_sum_s(sum, terms_of(pattern, problem, device, sp24, sum));
}

int spmm_bcsr_terms(const spmm_pattern_t *pattern, const spmm_problem_t *problem,
                    const spmm_device_t *device, spmm_cost_term_t terms[SPMM_COST_TERMS])
{
    return terms_of(pattern, problem, device, false, terms);
}

int spmm_bcsr_terms_sp24(const spmm_pattern_t *pattern, const spmm_problem_t *problem,
                         const spmm_device_t *device, spmm_cost_term_t terms[SPMM_COST_TERMS])
{
    return terms_of(pattern, problem, device, true, terms);
}

double spmm_bcsr_cost(const spmm_pattern_t *pattern, const spmm_problem_t *problem,
                      const spmm_device_t *device)
{
    return cost_of(pattern, problem, device, false);
}

double spmm_bcsr_cost_sp24(const spmm_pattern_t *pattern, const spmm_problem_t *problem,
                           const spmm_device_t *device)
{
    return cost_of(pattern, problem, device, true);
}
