/* SPDX-License-Identifier: Apache-2.0 */
/** @file engine.c
 *  Blocked-ELL through cuSPARSE, FP16 and BF16 on tensor cores: for matrices of dense blocks, about
 *  as many in every row of blocks.  The zeros of a block are multiplied too, so Inf and NaN of B
 *  reach rows of C whose entries do not use them.
 */
#include <math.h>
#include <stdio.h>

#include "engine/choose/roofline.h"
#include "engine/cusparse_bell/format.h"
#include "spmm_dist/context.h"
#ifdef SPMM_HAVE_CUDA
#include "engine/cusparse_bell/product_cuda.h"
#endif

static bool supports(const spmm_problem_t *problem, const spmm_device_t *device, char why[SPMM_WHY])
{
    const char *reason = NULL;

    if (device->kind != SPMM_DEVICE_CUDA) {
        reason = "needs a GPU";
    } else if (problem->ab_type != SPMM_R_16F && problem->ab_type != SPMM_R_16BF) {
        reason = "needs A and B of type 16f or 16bf";
    } else if (problem->c_type != problem->ab_type && problem->c_type != SPMM_R_32F) {
        reason = "needs C of the type of A and B, or 32f";
    } else if (problem->layout != SPMM_LAYOUT_ROW) {
        reason = "multiplies row-major blocks";
    } else if (problem->exact) {
        reason = "multiplies padding, which exact_nonfinite rules out";
    } else if (device->cc < 80) {
        reason = "needs a GPU of compute capability 8.0 or later";
    }
#ifndef SPMM_HAVE_CUDA
    else {
        reason = "needs a build with CUDA";
    }
#endif
    if (reason != NULL) {
        (void)snprintf(why, SPMM_WHY, "%s", reason);
    }
    return reason == NULL;
}

/* Below the width of each size of blocks. */
static void least_widths(const spmm_pattern_t *pattern, int64_t width[SPMM_BELL_SIZES])
{
    width[0] = (pattern->tc.lengths[0].longest + 7) / 8;
    width[1] = (pattern->tc.lengths[1].longest + 15) / 16;
    width[2] = (width[1] + 1) / 2;
}

/* The widths, where the block may have the format at all; 0 for types of 32 and 64 bits and for
 * skewed rows. */
static void scan_widths(const spmm_pattern_t *pattern, const spmm_csr_t *block, int threads,
                        void *facts)
{
    int64_t least[SPMM_BELL_SIZES];
    double  places;

    least_widths(pattern, least);
    if (spmm_type_size(block->type) == 2 &&
        spmmi_bell_choose(pattern->n_rows, pattern->nnz, least, 1, &places) != 0) {
        spmmi_bell_widths(&pattern->windows, threads, facts);
    }
}

static void join_widths(void *facts, const void *other)
{
    for (int k = 0; k < SPMM_BELL_SIZES; k++) {
        ((int64_t *)facts)[k] += ((const int64_t *)other)[k];
    }
}

static const spmm_pattern_facts_t widths = {
    .size = SPMM_BELL_SIZES * sizeof(int64_t), .scan = scan_widths, .join = join_widths};

/* Values that Blocked-ELL would store and the side of its blocks; 0 for the side where that is too
 * many.  The longest window bounds the width from below, and stands for it where nobody looked. */
static int32_t width_of(const spmm_pattern_t *pattern, const spmm_problem_t *problem,
                        double *places)
{
    const int64_t *known = spmmi_pattern_facts(pattern, &widths);
    int64_t        width[SPMM_BELL_SIZES];

    least_widths(pattern, width);
    for (int k = 0; k < SPMM_BELL_SIZES && known != NULL; k++) {
        width[k] = known[k] > width[k] ? known[k] : width[k];
    }
    return spmmi_bell_choose(pattern->n_rows, pattern->nnz, width, problem->n, places);
}

/* Launches; what moves once: A with its zeros, B, C; a row of B for every column of a block; and
 * the blocks of a row, one after the other.  Constants by bench/fit/fit.py from times on one H200
 * of the eight matrices of the table that it takes: half of them are off by more than 15 %,
 * lp_maros_r7 by a factor of 2. */
static int terms(const spmm_pattern_t *pattern, const spmm_problem_t *problem,
                 const spmm_device_t *device, spmm_cost_term_t terms[SPMM_COST_TERMS])
{
    double        places = 0.0;
    const int32_t size   = width_of(pattern, problem, &places);
    const double  rows   = size == 0 ? 0.0 : places / size;
    const double  once   = spmmi_gpu_once_s(pattern, problem, device, 2.0 * places);
    const double  width =
        rows == 0.0 ? 0.0 : rows / spmmi_windows_count(pattern->n_rows, size) / size;

    terms[0] = (spmm_cost_term_t){"launch", 4.0, 1e-6};
    terms[1] = (spmm_cost_term_t){"once", 5.66, once};
    terms[2] =
        (spmm_cost_term_t){"gather", 1.36, spmmi_gpu_gather_s(pattern, problem, device, rows)};
    terms[3] = (spmm_cost_term_t){"chain", 0.284, width * 1e-6};
    return 4;
}

static double cost(const spmm_pattern_t *pattern, const spmm_problem_t *problem,
                   const spmm_device_t *device)
{
    spmm_cost_term_t sum[SPMM_COST_TERMS];
    double           places;

    if (pattern->nnz > 0 && width_of(pattern, problem, &places) == 0) {
        return INFINITY; /* build() would refuse */
    }
    return spmmi_gpu_sum_s(sum, terms(pattern, problem, device, sum));
}

const spmm_engine_ops_t spmmi_engine_cusparse_bell = {
    .name        = "cusparse-bell",
    .description = "Blocked-ELL through cuSPARSE; FP16 and BF16, multiplies padding",
    .facts       = &widths,
    .supports    = supports,
    .cost        = cost,
    .terms       = terms,
#ifdef SPMM_HAVE_CUDA
    .built    = true,
    .build    = spmmi_cusparse_bell_build,
    .refill   = spmmi_cusparse_bell_refill,
    .execute  = spmmi_cusparse_bell_execute,
    .describe = spmmi_cusparse_bell_describe,
    .bytes    = spmmi_cusparse_bell_bytes,
    .destroy  = spmmi_cusparse_bell_destroy,
#endif
};
