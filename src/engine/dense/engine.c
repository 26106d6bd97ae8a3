/* SPDX-License-Identifier: Apache-2.0 */
/** @file engine.c
 *  A block stored densely, zeros and all, multiplied by cuBLASLt: for pruned weights and other
 *  blocks that are full enough for a zero to cost less than an index.
 */
#include <math.h>
#include <stdio.h>

#include "base/scalar.h"
#include "engine/dense/format.h"
#include "engine/engine.h"
#include "engine/gpu.h"
#include "engine/tune/roofline.h"
#include "spmm_dist/context.h"

int64_t spmmi_dense_ld(int32_t n_cols, spmm_type_t type)
{
    const int64_t step = SPMM_DENSE_ALIGN / (int64_t)spmm_type_size(type);

    return (n_cols + step - 1) / step * step;
}

bool spmmi_dense_fits(int32_t n_rows, int32_t n_cols, int64_t nnz, spmm_type_t type)
{
    const double size   = (double)spmm_type_size(type);
    const double places = (double)n_rows * (double)spmmi_dense_ld(n_cols, type);

    return nnz <= INT32_MAX &&
           places * size <= SPMM_DENSE_MOST * (double)nnz * (size + sizeof(int32_t));
}

void spmmi_dense_places(int32_t n_rows, int64_t ld, const int32_t *row_ptr, const int32_t *col,
                        int threads, int32_t *from)
{
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int32_t i = 0; i < n_rows; i++) {
        int32_t *row = from + i * ld;

        for (int64_t j = 0; j < ld; j++) {
            row[j] = -1;
        }
        for (int32_t e = row_ptr[i]; e < row_ptr[i + 1]; e++) {
            row[col[e]] = e;
        }
    }
}

#ifdef SPMM_HAVE_CUBLASLT
#include "cuda/dense/dense.h"
#include "engine/dense/product_cuda.h"

#define LACKS  NULL
#define LOAD_S (&spmmi_lt_load_s)

enum { MOST_COLUMNS = 65535 * 32 }; /* a grid of tiles of 32 columns */

static bool supports(const spmm_problem_t *problem, const spmm_device_t *device, char why[SPMM_WHY])
{
    if (spmmi_is_complex(problem->ab_type)) {
        (void)snprintf(why, SPMM_WHY, "multiplies real blocks");
        return false;
    }
    if (!spmmi_gpu_supports(problem, why)) {
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
#define LACKS  "CUDA and cuBLASLt"
#define LOAD_S NULL
#endif

/* Of the terms below: FP64, FP32, FP32 as TF32, 16-bit types.  Least squares of relative errors
 * over products of seven pruned weights, N = 32, 128 and 512, on one H200: off by 3 to 5 % in the
 * median, by 17 % at most.  Behind them where rows of B or places of A do not begin at multiples
 * of 16 bytes: from times of cuBLASLt alone for 24 shapes, and what the repair adds to those. */
static const double constants[2][4][4] = {
    {{2.78, 0.211, 10.3, 0.213},
     {5.24, 0.0787, 20.2, 0.343},
     {5.22, 0.206, 2.30, 0.241},
     {6.35, 0.122, 1.17, 0.0550}},
    {{6.43, 0.221, 17.2, 0.213},
     {7.13, 0.373, 20.2, 0.343},
     {7.86, 0.210, 11.1, 0.241},
     {6.79, 0.653, 1.17, 0.101}},
};

static int kind_of(const spmm_problem_t *problem)
{
    switch (problem->compute) {
    case SPMM_COMPUTE_64F:
        return 0;
    case SPMM_COMPUTE_32F_FAST_TF32:
        return 2;
    default:
        return problem->ab_type == SPMM_R_32F ? 1 : 3;
    }
}

/* Launches; A with its zeros, B and C once, C twice; multiplications and additions; and the chain
 * of those of one place of C, of which cuBLASLt makes parts where rows are long. */
static int cost(const spmm_pattern_t *pattern, const spmm_problem_t *problem,
                const spmm_device_t *device, spmm_cost_term_t terms[SPMM_COST_TERMS])
{
    const int64_t size  = (int64_t)spmm_type_size(problem->ab_type);
    const int64_t inner = problem->layout == SPMM_LAYOUT_COL ? pattern->n_cols : problem->n;
    const bool    odd   = (inner * size | pattern->n_cols * size) % SPMM_DENSE_ALIGN != 0;
    const double *c     = constants[odd][kind_of(problem)];
    const double  m = (double)pattern->n_rows, k = (double)pattern->n_cols;
    const double  n      = (double)problem->n;
    const double  places = (double)size * (m * k + k * n + m * n);

    if (pattern->nnz > 0 &&
        !spmmi_dense_fits(pattern->n_rows, pattern->n_cols, pattern->nnz, problem->ab_type)) {
        terms[0] = (spmm_cost_term_t){"once", c[1], INFINITY}; /* build() would refuse */
        return 1;
    }
    terms[0] = (spmm_cost_term_t){"launch", c[0], 1e-6};
    terms[1] = (spmm_cost_term_t){"once", c[1], places * 1e-12};
    terms[2] = (spmm_cost_term_t){"sums", c[2], 2e-15 * m * k * n * 132.0 / device->n_sm};
    terms[3] = (spmm_cost_term_t){"chain", c[3], sqrt(k) * 1e-6};
    return 4;
}

/* All places, and the sums of the planned product. */
static double least_bytes(const spmm_pattern_t *pattern, const spmm_problem_t *problem)
{
    const double rows   = (double)pattern->n_rows;
    const double places = rows * (double)spmmi_dense_ld(pattern->n_cols, problem->ab_type);

    return places * (double)spmm_type_size(problem->ab_type) +
           rows * (double)problem->n * (double)spmm_type_size(spmmi_accum_type(problem->ab_type));
}

const spmm_engine_ops_t spmmi_engine_dense = {
    .facts.name           = "dense",
    .facts.description    = "all places of a block, by cuBLASLt; real types",
    .facts.lacks          = LACKS,
    .facts.device         = SPMM_DEVICE_CUDA,
    .facts.always_tried   = true,
    .facts.stores_columns = true,
    .facts.load_s         = LOAD_S,
    .cost                 = cost,
    .least_bytes          = least_bytes,
#ifdef SPMM_HAVE_CUBLASLT
    .preload  = preload,
    .supports = supports,
    .build    = spmmi_dense_build,
    .refill   = spmmi_dense_refill,
    .places   = spmmi_dense_where,
    .execute  = spmmi_dense_execute,
    .describe = spmmi_dense_describe,
    .bytes    = spmmi_dense_bytes,
    .destroy  = spmmi_dense_destroy,
#endif
};
