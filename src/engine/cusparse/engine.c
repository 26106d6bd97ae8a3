/* SPDX-License-Identifier: Apache-2.0 */
/** @file engine.c  CSR through cuSPARSE's generic API: the baseline and the fallback. */
#include <stdio.h>
#include <string.h>

#include "base/scalar.h"
#include "engine/engine.h"
#include "engine/gpu.h"
#include "engine/tune/roofline.h"
#include "spmm_dist/context.h"

#ifdef SPMM_HAVE_CUDA
#include "engine/cusparse/product_cuda.h"

/* A grid of 65535 blocks of 16 columns (github.com/cupy/cupy issue 9850). */
enum { MOST_COLUMNS = 65535 * 16 };

/* cuSPARSE's CSR kernels compute 16- and 32-bit data in FP32.  That also serves 32F_FAST_TF32,
 * which allows less accuracy and does not ask for it. */
static bool supports(const spmm_problem_t *problem, const spmm_device_t *device, char why[SPMM_WHY])
{
    (void)device;
    if (!spmmi_gpu_supports(problem, why)) {
        return false;
    }
    if (problem->n > MOST_COLUMNS) {
        (void)snprintf(why, SPMM_WHY,
                       "takes %d columns at most: with more cuSPARSE before CUDA 13.2 may say that "
                       "it has multiplied and leave C as zeros",
                       MOST_COLUMNS);
        return false;
    }
    if (problem->exact) { /* seen in FP64: NaN in a row of C without entries */
        (void)snprintf(
            why, SPMM_WHY,
            "multiplies padding in some of its kernels, which exact_nonfinite rules out");
        return false;
    }
    return true;
}
#endif

/* Of the terms below, by bench/fit/fit.py (docs/explanation/choices.md): 16-bit types, from times
 * on one H200; FP32, types of 8 bytes and more, on one H100. */
static const double constants[3][6] = {
    {7.60, 1.92, 1.64, 152.0, 1.18},
    {7.70, 1.75, 0.550, 49.0, 0.641, 0.67},
    {9.01, 1.60, 0.722, 55.8, 0.650, 0.48},
};

/* Column-major B and C: launches; a row of B for every entry, element by element; columns of B and
 * C.  By bench/fit/fit.py from 46 real matrices, N = 8, 32 and 128, and a third of them at 1, 34,
 * and 239, on one H200: off by 12 % in the median, by half at the 90th percentile.  16-bit types as
 * FP32. */
static const double by_column[2][3] = {{12.3, 1.55, 8.03}, {12.1, 2.71, 9.54}};

static int terms_by_column(const spmm_pattern_t *pattern, const spmm_problem_t *problem,
                           spmm_cost_term_t terms[SPMM_COST_TERMS])
{
    const double *c = by_column[spmmi_is_64f(problem->ab_type)];
    const double  n = (double)problem->n * 1e-12;

    terms[0] = (spmm_cost_term_t){"launch", c[0], 1e-6};
    terms[1] = (spmm_cost_term_t){"gather", c[1], n * (double)pattern->nnz};
    terms[2] = (spmm_cost_term_t){"once", c[2], n * (double)pattern->n_cols};
    return 3;
}

/* One column, by cusparseSpMV: launches, entries, rows.  14 real matrices in FP64 on one H200: 0.75
 * to 1.1 of the times. */
static int terms_of_column(const spmm_pattern_t *pattern, const spmm_problem_t *problem,
                           spmm_cost_term_t terms[SPMM_COST_TERMS])
{
    const double entry = (double)spmm_type_size(problem->ab_type) + sizeof(int32_t);

    terms[0] = (spmm_cost_term_t){"launch", 8.6, 1e-6};
    terms[1] = (spmm_cost_term_t){"entries", 0.25, (double)pattern->nnz * entry * 1e-12};
    terms[2] = (spmm_cost_term_t){"rows", 10.0, (double)pattern->n_rows * 1e-12};
    return 3;
}

/* Launches; what moves once through device memory; a row of B for every entry, through L2; every
 * row of A; the longest one; and what comes element by element. */
static int terms_by_row(const spmm_pattern_t *pattern, const spmm_problem_t *problem,
                        const spmm_device_t *device, spmm_cost_term_t terms[SPMM_COST_TERMS])
{
    const double  nnz = (double)pattern->nnz, rows = (double)pattern->n_rows;
    const double  index = pattern->nnz > INT32_MAX ? 8.0 : 4.0;
    const size_t  size  = spmm_type_size(problem->ab_type);
    const double *c     = constants[size > 8 ? 2 : size / 4];
    const double  a     = nnz * ((double)size + index) + rows * index;

    terms[0] = (spmm_cost_term_t){"launch", c[0], 1e-6};
    terms[1] = (spmm_cost_term_t){"once", c[1], spmmi_gpu_once_s(pattern, problem, device, a)};
    terms[2] =
        (spmm_cost_term_t){"gather", c[2], spmmi_gpu_gather_s(pattern, problem, device, nnz)};
    terms[3] = (spmm_cost_term_t){"rows", c[3], rows * 1e-12};
    terms[4] = (spmm_cost_term_t){"longest", c[4], (double)pattern->max_row * 1e-9};
    terms[5] = (spmm_cost_term_t){"narrow", c[5], spmmi_gpu_narrow(problem) * terms[2].seconds};
    return 6;
}

/* Of one column the faster of cusparseSpMV and the others: a format measures both. */
static int cost(const spmm_pattern_t *pattern, const spmm_problem_t *problem,
                const spmm_device_t *device, spmm_cost_term_t terms[SPMM_COST_TERMS])
{
    const int        count = problem->layout == SPMM_LAYOUT_COL
                                 ? terms_by_column(pattern, problem, terms)
                                 : terms_by_row(pattern, problem, device, terms);
    spmm_cost_term_t one[SPMM_COST_TERMS];

    if (problem->n == 1) {
        const int of_one = terms_of_column(pattern, problem, one);

        if (spmmi_cost_sum(one, of_one) < spmmi_cost_sum(terms, count)) {
            memcpy(terms, one, (size_t)of_one * sizeof *one);
            return of_one;
        }
    }
    return count;
}

const spmm_engine_ops_t spmmi_engine_cusparse = {
    .facts.name        = "cusparse",
    .facts.description = "CSR through cuSPARSE, fastest of its algorithms, all types",
    .facts.lacks       = SPMM_LACKS_CUDA,
    .facts.device      = SPMM_DEVICE_CUDA,
    .facts.baseline    = true,
    .cost              = cost,
#ifdef SPMM_HAVE_CUDA
    .supports = supports,
    .variants = spmmi_cusparse_variants,
    .build    = spmmi_cusparse_build,
    .places   = spmmi_cusparse_places,
    .execute  = spmmi_cusparse_execute,
    .bytes    = spmmi_cusparse_bytes,
    .destroy  = spmmi_cusparse_destroy,
#endif
};
