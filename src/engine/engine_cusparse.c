/* SPDX-License-Identifier: Apache-2.0 */
/** @file engine_cusparse.c  CSR through cuSPARSE's generic API: the yardstick and the fallback. */
#include <stdio.h>

#include "engine/engine.h"
#include "engine/roofline.h"
#include "spmm_dist/context.h"

#ifdef SPMM_HAVE_CUDA
#include "engine/cusparse_cuda.h"

/* cuSPARSE's CSR kernels compute 16- and 32-bit data in FP32.  That also serves 32F_FAST_TF32,
 * which allows less accuracy and does not ask for it. */
static bool supports(const spmm_problem_t *problem, const spmm_device_t *device, char why[SPMM_WHY])
{
    const spmm_type_t ab = problem->ab_type, c = problem->c_type;
    const bool        half = ab == SPMM_R_16F || ab == SPMM_R_16BF;

    if (device->kind != SPMM_DEVICE_CUDA) {
        (void)snprintf(why, SPMM_WHY, "needs a GPU");
        return false;
    }
    if (c != ab && !(half && c == SPMM_R_32F)) {
        (void)snprintf(why, SPMM_WHY,
                       "cannot store C in a type other than that of A and B, "
                       "FP32 for 16-bit ones aside");
        return false;
    }
    if ((ab == SPMM_R_64F) != (problem->compute == SPMM_COMPUTE_64F)) {
        (void)snprintf(why, SPMM_WHY, "computes FP64 data in FP64 and all other types in FP32");
        return false;
    }
    return true;
}
#else
static bool supports(const spmm_problem_t *problem, const spmm_device_t *device, char why[SPMM_WHY])
{
    (void)problem;
    (void)device;
    (void)snprintf(why, SPMM_WHY, "needs a build with CUDA");
    return false;
}
#endif

/* The sum of launches; of what moves once through device memory, which it does at two thirds of the
 * rate of a copy; of a row of B for every entry, through L2; of every row of A; and of the longest
 * one.  Fitted to 38 matrices at N = 32, 128 and 512 on one H200 (docs/performance.md). */
static double cost(const spmm_pattern_t *pattern, const spmm_problem_t *problem,
                   const spmm_device_t *device)
{
    const double launches = 5.0e-6, row_s = 84e-12, entry_s = 0.56e-9; /* seconds */
    const double nnz   = (double)pattern->nnz;
    const double index = pattern->nnz > INT32_MAX ? 8.0 : 4.0;
    const double a =
        nnz * ((double)spmm_type_size(problem->ab_type) + index) + (double)pattern->n_rows * index;

    return launches + 1.53 * spmm_gpu_once_s(pattern, problem, device, a) +
           0.84 * spmm_gpu_gather_s(pattern, problem, device, nnz) +
           row_s * (double)pattern->n_rows + entry_s * (double)pattern->max_row;
}

const spmm_engine_ops_t spmm_engine_cusparse = {
    .name        = "cusparse",
    .description = "CSR through cuSPARSE, fastest of its algorithms, all types",
    .supports    = supports,
    .cost        = cost,
#ifdef SPMM_HAVE_CUDA
    .built   = true,
    .build   = spmm_cusparse_build,
    .refill  = spmm_cusparse_refill,
    .execute = spmm_cusparse_execute,
    .bytes   = spmm_cusparse_bytes,
    .destroy = spmm_cusparse_destroy,
#endif
};
