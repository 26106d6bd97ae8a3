/* SPDX-License-Identifier: Apache-2.0 */
/** @file engine.c
 *  A block stored densely, zeros and all, multiplied by cuBLASLt: for pruned weights and other
 *  blocks that are full enough for a zero to cost less than an index.
 */
#include <math.h>
#include <stdio.h>

#include "base/scalar.h"
#include "engine/engine.h"
#ifdef SPMM_HAVE_CUBLASLT
#include "cuda/dense/dense.h"
#include "engine/dense/product_cuda.h"

enum { MOST_COLUMNS = 65535 * 32 }; /* a grid of tiles of 32 columns */

static bool supports(const spmm_problem_t *problem, const spmm_device_t *device, char why[SPMM_WHY])
{
    const spmm_type_t ab = problem->ab_type, c = problem->c_type;
    const bool        half = ab == SPMM_R_16F || ab == SPMM_R_16BF;

    if (device->kind != SPMM_DEVICE_CUDA) {
        (void)snprintf(why, SPMM_WHY, "needs a GPU");
        return false;
    }
    if (spmmi_is_complex(ab)) {
        (void)snprintf(why, SPMM_WHY, "multiplies real blocks");
        return false;
    }
    if (c != ab && !(half && c == SPMM_R_32F)) {
        (void)snprintf(why, SPMM_WHY, "needs C of type %s%s for A and B of that type",
                       spmmi_type_name(ab), half ? " or 32f" : "");
        return false;
    }
    if (spmmi_is_64f(ab) != (problem->compute == SPMM_COMPUTE_64F)) {
        (void)snprintf(why, SPMM_WHY, "computes FP64 data in FP64 and all other types in FP32");
        return false;
    }
    if (problem->n > MOST_COLUMNS) {
        (void)snprintf(why, SPMM_WHY, "takes %d columns at most", MOST_COLUMNS);
        return false;
    }
    if (device->cc < 80) {
        (void)snprintf(why, SPMM_WHY, "needs a GPU of compute capability 8.0 or later");
        return false;
    }
    return true;
}

static spmm_status_t preload(const spmm_device_t *device)
{
    return spmmi_cuda_check(device, spmmi_cuda_dense_preload(), "loading the kernels of dense");
}
#else
static bool supports(const spmm_problem_t *problem, const spmm_device_t *device, char why[SPMM_WHY])
{
    (void)problem;
    (void)device;
    (void)snprintf(why, SPMM_WHY, "needs a build with CUDA and cuBLASLt");
    return false;
}
#endif

/* By name alone. */
static double cost(const spmm_pattern_t *pattern, const spmm_problem_t *problem,
                   const spmm_device_t *device)
{
    (void)pattern;
    (void)problem;
    (void)device;
    return INFINITY;
}

const spmm_engine_ops_t spmmi_engine_dense = {
    .name        = "dense",
    .description = "all places of a block, by cuBLASLt; real types",
    .supports    = supports,
    .cost        = cost,
#ifdef SPMM_HAVE_CUBLASLT
    .built          = true,
    .stores_columns = true,
    .preload        = preload,
    .load_s         = spmmi_lt_load_s,
    .build          = spmmi_dense_build,
    .refill         = spmmi_dense_refill,
    .places         = spmmi_dense_where,
    .execute        = spmmi_dense_execute,
    .describe       = spmmi_dense_describe,
    .bytes          = spmmi_dense_bytes,
    .destroy        = spmmi_dense_destroy,
#endif
};
