/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/tune/roofline.h"

#include <math.h>

#include "base/scalar.h"
#include "spmm_dist/context.h"

enum {
    SLICE = 128, /* columns that kernels work through at a time, all windows of each */
    WIDE  = 16   /* bytes of the widest access */
};

/* Random rows of 512 bytes, over the rate of a copy: one H200, with an L2 of 60 MB. */
static const double typical_gather[SPMM_GATHER_SETS] = {2.05, 2.05, 1.67, 1.33, 1.12};
static const double typical_copy                     = 0.9;  /* of the theoretical rate */
static const double l2_bytes                         = 48e6; /* of B that stay in one of 60 MB */

static double copy_rate(const spmm_device_t *device)
{
    return device->copy_bw > 0.0 ? device->copy_bw : typical_copy * device->mem_bw;
}

static double rate_at(const spmm_device_t *device, int k)
{
    return device->gather_bw[k] > 0.0 ? device->gather_bw[k]
                                      : typical_gather[k] * copy_rate(device);
}

/* Between the working sets linear, outside constant. */
static double gather_rate(const spmm_device_t *device, double bytes)
{
    const double *set = spmmi_gather_sets;
    int           k   = 1;

    if (bytes <= set[0]) {
        return rate_at(device, 0);
    }
    while (k < SPMM_GATHER_SETS && bytes > set[k]) {
        k++;
    }
    if (k == SPMM_GATHER_SETS) {
        return rate_at(device, k - 1);
    }
    return rate_at(device, k - 1) + (bytes - set[k - 1]) / (set[k] - set[k - 1]) *
                                        (rate_at(device, k) - rate_at(device, k - 1));
}

double spmmi_gpu_copy_s(const spmm_device_t *device, double bytes)
{
    return bytes / copy_rate(device);
}

static double slice_of(const spmm_problem_t *problem)
{
    return (double)(problem->n < SLICE ? problem->n : SLICE);
}

/* Rows of B that come from device memory.  Where those in use exceed L2, every group of near rows
 * of A fetches its own, as far as they are in the windows at all. */
static double rows_of_b(const spmm_pattern_t *pattern, const spmm_problem_t *problem)
{
    const double used   = (double)pattern->used_cols;
    const double groups = fmax(1.0, (double)pattern->n_rows / SPMM_NEAR_ROWS);
    const double again  = fmin((double)pattern->tc.pairs[0], groups * pattern->near_cols);
    const double bytes  = used * slice_of(problem) * (double)spmm_type_size(problem->ab_type);

    return bytes <= l2_bytes ? used : used + (1.0 - l2_bytes / bytes) * fmax(0.0, again - used);
}

double spmmi_gpu_once_s(const spmm_pattern_t *pattern, const spmm_problem_t *problem,
                        const spmm_device_t *device, double a_bytes)
{
    const double b = rows_of_b(pattern, problem) * (double)spmm_type_size(problem->ab_type);
    const double c = (double)pattern->n_rows * (double)spmm_type_size(problem->c_type);

    return spmmi_gpu_copy_s(device, a_bytes + (b + c) * (double)problem->n);
}

void spmmi_gpu_once_terms(const spmm_device_t *device, double once_s, const double constant[2],
                          spmm_cost_term_t terms[2])
{
    const double none = 40e6, all = 100e6; /* bytes: one H100, with an L2 of 50 MB */
    const double cold = fmin(fmax((once_s * copy_rate(device) - none) / (all - none), 0.0), 1.0);

    terms[0] = (spmm_cost_term_t){"once", constant[0], cold * once_s};
    terms[1] = (spmm_cost_term_t){"hot", constant[1], (1.0 - cold) * once_s};
}

spmm_cost_term_t spmmi_gpu_longest_term(const spmm_pattern_t *pattern, double constant)
{
    const double cut = 1024.0; /* entries of a row */

    return (spmm_cost_term_t){"longest", constant, fmin((double)pattern->max_row, cut) * 1e-9};
}

double spmmi_gpu_gather_s(const spmm_pattern_t *pattern, const spmm_problem_t *problem,
                          const spmm_device_t *device, double rows)
{
    const double size = (double)spmm_type_size(problem->ab_type);

    return rows * (double)problem->n * size /
           gather_rate(device, pattern->near_cols * slice_of(problem) * size);
}

double spmmi_gpu_narrow(const spmm_problem_t *problem)
{
    return problem->n * (int64_t)spmm_type_size(problem->ab_type) % WIDE == 0 ? 0.0 : 1.0;
}

double spmmi_cost_sum(const spmm_cost_term_t *terms, int n)
{
    double sum = 0.0;

    for (int k = 0; k < n; k++) {
        sum += terms[k].constant * terms[k].seconds;
    }
    return sum;
}
