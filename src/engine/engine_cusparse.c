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

/* Roofline.  Through device memory go A once, the used rows of B once and C (read and written,
 * as beta may be non-zero); through L2 one row of B for every entry.  The slower of the two, times
 * 1.3 for what cuSPARSE loses against it on skewed matrices, plus two launches. */
static double cost(const spmm_pattern_t *pattern, const spmm_problem_t *problem,
                   const spmm_device_t *device)
{
    const double ab     = (double)spmm_type_size(problem->ab_type);
    const double c      = (double)spmm_type_size(problem->c_type);
    const double n      = (double)problem->n;
    const double nnz    = (double)pattern->nnz;
    const double index  = pattern->nnz > INT32_MAX ? 8.0 : 4.0;
    const double b      = (double)pattern->used_cols * n * ab;
    const double dram   = nnz * (ab + index) + b + (double)pattern->n_rows * (index + 2.0 * n * c);
    const double gather = nnz * n * ab / spmm_gather_rate(b);
    const double launches = 5e-6;

    return launches + 1.3 * (dram > gather ? dram : gather) / device->mem_bw;
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
