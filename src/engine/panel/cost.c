/* SPDX-License-Identifier: Apache-2.0 */
/** @file cost.c  How long a product of panels takes on a GPU. */
#include "engine/panel/cost.h"

#include <math.h>

#include "engine/choose/roofline.h"
#include "engine/panel/args.h"
#include "engine/panel/facts.h"
#include "spmm_dist/context.h"

/* Rounds of thread blocks, as many as are resident at once in each, that a panel is work in, and
 * the device's time for all over that of these rounds: see the launcher. */
static double rounds_of(const spmm_pattern_t *pattern, const spmm_problem_t *problem,
                        const spmm_device_t *device)
{
    const double width = 128.0, half = 0.65; /* the time of half a slice over that of a whole one */
    const double slots = 3.0 * device->n_sm;
    const double rows  = (double)SPMM_PANEL_WINDOWS * SPMM_PANEL_HEIGHT;
    const double all   = ceil((double)pattern->n_rows / rows) * ceil((double)problem->n / width);
    const double whole = floor(all / slots), tail = all - whole * slots;

    if (problem->n <= 64) {
        return half * ceil(all / slots);
    }
    return whole + (tail == 0.0 ? 0.0 : 2.0 * tail <= slots ? half : 1.0);
}

/* How panels share, and how even they are, as measured, on the pairs of a pattern, which may be
 * those of an order of rows that is only thought of. */
static spmm_panel_facts_t facts_of(const spmm_pattern_t *pattern)
{
    spmm_panel_facts_t facts = spmmi_panel_facts(pattern);
    const double       scale =
        facts.pairs == 0 ? 0.0 : (double)pattern->tc.pairs[1] / (double)facts.pairs;

    facts.cols  = (int64_t)(scale * (double)facts.cols);
    facts.chain = (int64_t)(scale * (double)facts.chain);
    facts.pairs = pattern->tc.pairs[1];
    return facts;
}

bool spmmi_panel_may_win(const spmm_pattern_t *pattern, const spmm_problem_t *problem)
{
    const int64_t            rows = 25000, columns = 64;
    const double             shared = 0.77; /* rows of B of panels over those of windows */
    const spmm_panel_facts_t facts  = facts_of(pattern);

    return problem->compute == SPMM_COMPUTE_32F_FAST_TF32 && problem->n > columns &&
           pattern->n_rows >= rows && spmmi_gpu_narrow(problem) == 0.0 &&
           (double)facts.cols < shared * (double)facts.pairs;
}

/* A start; what goes through memory; in each round the steps of a panel, and the tiles of its
 * longest window. */
int spmmi_panel_terms(const spmm_pattern_t *pattern, const spmm_problem_t *problem,
                      const spmm_device_t *device, spmm_cost_term_t terms[SPMM_COST_TERMS])
{
    const double             us = 1e-6, size = sizeof(float);
    const spmm_panel_facts_t facts = facts_of(pattern);
    const double panels = ceil((double)pattern->n_rows / (SPMM_PANEL_WINDOWS * SPMM_PANEL_HEIGHT));
    const double share  = panels > 0.0 ? rounds_of(pattern, problem, device) / panels * us : 0.0;
    const double rows   = (double)pattern->n_rows + (double)pattern->used_cols;

    terms[0] = (spmm_cost_term_t){"launch", 3.4, us};
    terms[1] = (spmm_cost_term_t){
        "once", 0.954,
        spmmi_gpu_copy_s(device, (rows * (double)problem->n + (double)pattern->nnz) * size)};
    terms[2] = (spmm_cost_term_t){"steps", 0.161, (double)facts.cols / SPMM_PANEL_STEP * share};
    terms[3] = (spmm_cost_term_t){"tiles", 0.43, (double)facts.chain / SPMM_PANEL_TILE * share};
    return 4;
}
