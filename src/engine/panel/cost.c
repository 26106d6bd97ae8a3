/* SPDX-License-Identifier: Apache-2.0 */
/** @file cost.c  How long a product of panels takes on a GPU. */
#include "engine/panel/cost.h"

#include <math.h>

#include "engine/choose/roofline.h"
#include "engine/panel/facts.h"
#include "spmm_dist/context.h"

enum { HEIGHT = 4 /* windows of a panel */, RESIDENT = 4 /* thread blocks of a multiprocessor */ };

static const double width = 128.0; /* columns of a thread block */

/* Rounds of thread blocks, as many as are resident at once in each. */
typedef struct {
    double  fill;       /* the time that they take over that of whole rounds all the time */
    int32_t tail, cuts; /* panels of the last round, and the parts each of them goes into */
} rounds_t;

/* The last round takes as long as another, however few panels it has: they are cut, as long as a
 * part has work for a while. */
static rounds_t rounds_of(const spmm_pattern_t *pattern, const spmm_problem_t *problem,
                          const spmm_device_t *device)
{
    const double  most = 8.0, least_cols = 64.0;
    const int32_t windows = spmmi_windows_count(pattern->n_rows, SPMM_PANEL_HEIGHT);
    const double  panels = spmmi_windows_count(windows, HEIGHT), slots = RESIDENT * device->n_sm;
    const double  slices = ceil((double)problem->n / width);
    const double  whole = floor(panels * slices / slots), tail = panels * slices - whole * slots;
    const double  cols = (double)spmmi_panel_facts(pattern).cols[0] / fmax(panels, 1.0);
    double        cuts = 1.0;

    if (slots * panels * slices == 0.0) {
        return (rounds_t){.fill = 1.0, .cuts = 1};
    }
    if (slices == 1.0 && tail > 0.0) {
        cuts = fmax(1.0, floor(fmin(fmin(slots / tail, cols / least_cols), most)));
    }
    return (rounds_t){.fill = (whole + (tail > 0.0) / cuts) * slots / (panels * slices),
                      .tail = cuts > 1.0 ? (int32_t)tail : 0,
                      .cuts = (int32_t)cuts};
}

/* A panel whose longest window has so many times the columns of the mean window keeps a thread
 * block busy when the others have finished; short ones are not worth the sums of parts, which go
 * through memory. */
spmm_panel_variant_t spmmi_panel_variant(const spmm_pattern_t *pattern,
                                         const spmm_problem_t *problem, const spmm_device_t *device)
{
    const double         least = 512.0, times = 3.0;
    spmm_panel_variant_t variant = {.height = HEIGHT, .cut = (int32_t)least};

    if (pattern != NULL) {
        const int32_t  windows = spmmi_windows_count(pattern->n_rows, SPMM_PANEL_HEIGHT);
        const double   mean    = windows == 0 ? 0.0 : (double)pattern->tc.pairs[1] / windows;
        const rounds_t rounds  = rounds_of(pattern, problem, device);

        variant.cut        = (int32_t)fmin(fmax(least, times * mean), 1e6);
        variant.tail       = rounds.tail;
        variant.tail_parts = rounds.cuts;
    }
    return variant;
}

bool spmmi_panel_may_win(const spmm_pattern_t *pattern, const spmm_problem_t *problem)
{
    const int64_t            rows = 25000, columns = 64;
    const double             shared = 0.77; /* rows of B of panels over those of windows */
    const spmm_panel_facts_t facts  = spmmi_panel_facts(pattern);

    return problem->compute == SPMM_COMPUTE_32F_FAST_TF32 && problem->n > columns &&
           pattern->n_rows >= rows && spmmi_gpu_narrow(problem) == 0.0 &&
           (double)facts.cols[0] < shared * (double)pattern->tc.pairs[1];
}

/* A start, and one more where sums of parts are added up; what goes through memory; steps of
 * panels, and tiles of the longest window of each, one after the other in each place for a thread
 * block.  Constants: least squares over 12 matrices, N = 128, one H100. */
int spmmi_panel_terms(const spmm_pattern_t *pattern, const spmm_problem_t *problem,
                      const spmm_device_t *device, spmm_cost_term_t terms[SPMM_COST_TERMS])
{
    const double             us = 1e-6, size = sizeof(float);
    const spmm_panel_facts_t facts  = spmmi_panel_facts(pattern);
    const rounds_t           rounds = rounds_of(pattern, problem, device);
    const double             n      = (double)problem->n;
    const double share = rounds.fill * ceil(n / width) / (RESIDENT * (double)device->n_sm) * us;
    const double sums  = 2.0 * rounds.tail * rounds.cuts * HEIGHT * SPMM_PANEL_HEIGHT;
    const double rows  = (double)pattern->n_rows + (double)pattern->used_cols + sums;

    terms[0] = (spmm_cost_term_t){"launch", 3.4, rounds.tail > 0 ? 2.0 * us : us};
    terms[1] = (spmm_cost_term_t){
        "once", 0.954, spmmi_gpu_copy_s(device, (rows * n + (double)pattern->nnz) * size)};
    terms[2] = (spmm_cost_term_t){"steps", 0.161, (double)facts.cols[0] / SPMM_PANEL_STEP * share};
    terms[3] =
        (spmm_cost_term_t){"tiles", 0.43, 2.0 * (double)facts.chain / SPMM_PANEL_TILE * share};
    return 4;
}
