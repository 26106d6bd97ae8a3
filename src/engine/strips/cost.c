/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/strips/cost.h"

#include <math.h>

#include "base/scalar.h"
#include "engine/choose/roofline.h"
#include "engine/strips/args.h"
#include "engine/strips/facts.h"
#include "spmm_dist/context.h"

/* What moves once, beyond L2 and within; B in sectors of 32 bytes, each of one column, for all
 * strips that use it, and once more where a slice of B does not stay in L1; what groups of lanes
 * read of shared memory; slices of strips one after the other; and the longest row, whose pieces
 * meet.  Constants by bench/fit/fit.py from times of 40 real matrices on one H100
 * (docs/explanation/choices.md). */
static const double constants[2][8] = {
    {5.93, 0.121, 0.247, 0.112, 0.650, 1.01, 1.13, 1.56}, /* FP32 */
    {5.91, 0.263, 0.217, 0.244, 0.673, 0.923, 0.947, 1.98},
};

/* The share of sectors that come from L2 again: of B in slices of a megabyte all. */
static double far(const spmm_pattern_t *pattern)
{
    return fmin((double)pattern->used_cols * 2.0 * SPMM_STRIP_SLICE / 1e6, 1.0);
}

int spmmi_strips_terms(const spmm_pattern_t *pattern, const spmm_problem_t *problem,
                       const spmm_device_t *device, spmm_cost_term_t terms[SPMM_COST_TERMS])
{
    const spmm_strips_facts_t facts = spmmi_strips_facts(pattern);
    const double us = 1e-6, size = (double)spmm_type_size(problem->ab_type), n = (double)problem->n;
    const double resident = 6.0, l2 = 6e12; /* thread blocks of a multiprocessor; bytes/s */
    const double a       = (double)pattern->nnz * (size + (double)sizeof(uint16_t));
    const double sectors = 32.0 * (double)(size > 4.0 ? facts.quads : facts.octs);
    const double slices  = ceil(n * size / (2.0 * SPMM_STRIP_SLICE));
    const double *k      = constants[size > 4.0];

    terms[0] = (spmm_cost_term_t){"launch", k[0], us};
    spmmi_gpu_once_terms(device, spmmi_gpu_once_s(pattern, problem, device, a), k + 1, terms + 1);
    terms[3] = (spmm_cost_term_t){"sectors", k[3], sectors * n / l2};
    terms[4] = (spmm_cost_term_t){"far", k[4], far(pattern) * sectors * n / l2};
    terms[5] =
        (spmm_cost_term_t){"entries", k[5], (double)pattern->nnz * n * size / device->n_sm * 1e-11};
    terms[6] = (spmm_cost_term_t){"strips", k[6],
                                  (double)facts.strips * slices / (resident * device->n_sm) * us};
    terms[7] = spmmi_gpu_longest_term(pattern, k[7]);
    return 8;
}
