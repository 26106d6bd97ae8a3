/* SPDX-License-Identifier: Apache-2.0 */
/** @file engine_cvse.c  CVSE (SSpMM, vectorSparse) on tensor cores in FP16 and BF16; on CPUs decoded
 *  and multiplied. */
#include <math.h>

#include "base/alloc.h"
#include "base/scalar.h"
#include "engine/format_cvse.h"
#include "engine/roofline.h"
#include "engine/tc_engine.h"
#ifdef SPMM_HAVE_CUDA
#include "cuda/cuda_kernels.h"
#include "device/device_cuda.h"
#endif

typedef struct {
    spmm_tc_engine_t   base;
    spmm_cvse_t        format;
    spmm_cvse_arrays_t arrays;        /**< of format */
    spmm_cvse_arrays_t device_arrays; /**< the copy */
} cvse_t;

/* Bytes that the vectors of one height take a product through: an index, their values and a row of
 * B for each. */
static double vector_bytes(const spmm_tc_facts_t *facts, int32_t height, int64_t n)
{
    return (double)facts->pairs[height / 16] * (4.0 + 2.0 * height + 2.0 * (double)n);
}

/* V = 16 where it saves a good part of the bytes: it takes twice the sums in registers, so fewer
 * warps are resident, and multiplies more zeros. */
static int32_t height_of(const spmm_tc_facts_t *facts, int64_t n)
{
    const double worth_it = 0.75;

    return vector_bytes(facts, 16, n) < worth_it * vector_bytes(facts, 8, n) ? 16 : 8;
}

/* As for BitTCF (engine_bittcf.c), whose blocks have half the columns. */
static spmm_tc_limits_t limits(const spmm_device_t *device, const spmm_problem_t *problem,
                               int32_t n_windows, int32_t blocks)
{
    enum { WARPS = 32, LEAST = 6, CUT = 8 };
    const int32_t n_sm      = device->n_sm;
    const int32_t share     = blocks / (WARPS * n_sm);
    const int32_t team      = share > LEAST ? share : LEAST;
    const int32_t least_cut = n_windows <= SPMM_TC_FEW * n_sm ? 64 : 32;

    (void)problem;
    return (spmm_tc_limits_t){.team = team, .cut = CUT * team > least_cut ? CUT * team : least_cut};
}

static spmm_status_t create(spmm_tc_engine_t *base, const spmm_csr_t *block)
{
    cvse_t *f      = (cvse_t *)base;
    int32_t height = 8; /* decoding on CPUs does not get faster with taller windows */

    if (base->device->kind != SPMM_DEVICE_CPU && base->problem.pattern != NULL) {
        height = height_of(&base->problem.pattern->tc, base->problem.n);
    } else if (base->device->kind != SPMM_DEVICE_CPU) {
        spmm_tc_facts_t facts;
        int64_t         used_cols;

        SPMM_TRY(spmm_tc_facts_scan(base->device->env, block, &facts, &used_cols));
        height = height_of(&facts, base->problem.n);
    }
    SPMM_TRY(spmm_cvse_create(base->device->env, block, spmm_pattern_windows(base->problem.pattern),
                              height, base->device->threads, &f->format));
    f->arrays = spmm_cvse_arrays(&f->format);
    return SPMM_OK;
}

static void release(spmm_tc_engine_t *base)
{
    spmm_cvse_free(&((cvse_t *)base)->format);
}

static void refill(spmm_tc_engine_t *base, const void *values)
{
    spmm_cvse_refill(&((cvse_t *)base)->format, values, base->device->threads);
}

static size_t held(const spmm_tc_engine_t *base)
{
    return spmm_cvse_held(&((const cvse_t *)base)->format);
}

static spmm_tc_view_t view(const spmm_tc_engine_t *base)
{
    return spmm_cpu_cvse_view(&((const cvse_t *)base)->arrays);
}

static size_t value_bytes(const cvse_t *f)
{
    return (size_t)f->format.n_blocks * SPMM_CVSE_BLOCK * (size_t)f->format.height *
           sizeof(uint16_t);
}

static spmm_status_t upload(spmm_tc_engine_t *base)
{
    cvse_t                   *f      = (cvse_t *)base;
    const spmm_cvse_arrays_t *a      = &f->arrays;
    const size_t              blocks = (size_t)f->format.n_blocks;
    const void               *col = NULL, *bits = NULL, *window_ptr = NULL, *values = NULL;

    SPMM_TRY(spmm_tc_upload(base, a->col, blocks * SPMM_CVSE_BLOCK * sizeof *a->col, 0, &col));
    SPMM_TRY(spmm_tc_upload(base, a->bits, blocks * (size_t)a->height * sizeof *a->bits, 0, &bits));
    SPMM_TRY(spmm_tc_upload(base, a->window_ptr, ((size_t)a->n_windows + 1) * sizeof(int32_t), 0,
                            &window_ptr));
    SPMM_TRY(spmm_tc_upload(base, a->values, value_bytes(f), 0, &values));
    f->device_arrays            = *a;
    f->device_arrays.col        = col;
    f->device_arrays.bits       = bits;
    f->device_arrays.window_ptr = window_ptr;
    f->device_arrays.values     = values;
    return SPMM_OK;
}

static spmm_status_t upload_values(spmm_tc_engine_t *base)
{
    const cvse_t *f = (const cvse_t *)base;

    return spmm_device_write(base->device, (void *)(uintptr_t)f->device_arrays.values,
                             f->arrays.values, value_bytes(f));
}

#ifdef SPMM_HAVE_CUDA
static spmm_status_t launch(const spmm_tc_engine_t *base, const spmm_tc_mm_args_t *args,
                            spmm_stream_t stream)
{
    const cvse_t *f = (const cvse_t *)base;

    SPMM_TRY(spmm_cuda_use(base->device));
    return spmm_cuda_check(
        base->device, spmm_cuda_cvse_mm(&f->device_arrays, &base->work, args, (cudaStream_t)stream),
        "the kernel cvse_mm");
}
#endif

static const spmm_tc_kind_t kind = {
    .name          = "cvse",
    .size          = sizeof(cvse_t),
    .limits        = limits,
    .create        = create,
    .free          = release,
    .refill        = refill,
    .held          = held,
    .view          = view,
    .upload        = upload,
    .upload_values = upload_values,
#ifdef SPMM_HAVE_CUDA
    .launch = launch,
#endif
};

static spmm_status_t build(const spmm_csr_t *block, const spmm_problem_t *problem,
                           const spmm_device_t *device, void **format)
{
    return spmm_tc_build(&kind, block, problem, device, format);
}

static spmm_status_t places(const void *format, void **values, int64_t *count, int32_t **from)
{
    const cvse_t             *f      = format;
    const spmm_device_t      *device = f->base.device;
    const spmm_cvse_arrays_t *a = device->kind == SPMM_DEVICE_CPU ? &f->arrays : &f->device_arrays;

    *values = (void *)(uintptr_t)a->values;
    *count  = (int64_t)(value_bytes(f) / sizeof(uint16_t));
    if (SPMM_NEW(*from, *count) == NULL) {
        return spmm_fail_memory(&device->env->err, *count, sizeof **from, "the entries of vectors");
    }
    spmm_cvse_entries(&f->format, device->threads, *from);
    return SPMM_OK;
}

/* The accounts of bittcf: a launch; what moves once; the rows of B; pieces that a warp takes one after
 * the other, by rough numbers of resident warps and of columns in a slice; the longest chain of blocks, half
 * as many as of BitTCF.  Constants by bench/fit.py from times on one H200 (docs/performance.md). */
static int terms(const spmm_pattern_t *pattern, const spmm_problem_t *problem,
                 const spmm_device_t *device, spmm_cost_term_t terms[SPMM_COST_TERMS])
{
    const double         us       = 1e-6;
    const int32_t        height   = height_of(&pattern->tc, problem->n);
    const int32_t        windows  = spmm_windows_count(pattern->n_rows, height);
    const double         pairs    = (double)pattern->tc.pairs[height / 16];
    const double         blocks   = pairs / SPMM_CVSE_BLOCK + 0.5 * windows;
    const double         a_bytes  = (4.0 + 2.0 * height) * SPMM_CVSE_BLOCK * blocks;
    const double         resident = height == 8 ? 20.0 : 16.0;
    const spmm_tc_load_t load     = spmm_tc_load(pattern, height, SPMM_CVSE_BLOCK,
                                                 limits(device, problem, windows, (int32_t)blocks));
    const double         team     = 4.0;
    const double warps = (load.single + team * load.team) * ceil((double)problem->n / 128.0);

    terms[0] = (spmm_cost_term_t){"launch", 4.21, us};
    terms[1] =
        (spmm_cost_term_t){"once", 0.564, spmm_gpu_once_s(pattern, problem, device, a_bytes)};
    terms[2] =
        (spmm_cost_term_t){"gather", 1.32, spmm_gpu_gather_s(pattern, problem, device, pairs)};
    terms[3] =
        (spmm_cost_term_t){"pieces", 0.854, fmax(1.0, warps / (resident * device->n_sm)) * us};
    terms[4] = (spmm_cost_term_t){"chain", 0.415,
                                  fmax(load.longest_single, load.longest_team / team) * us};
    return 5;
}

static double cost(const spmm_pattern_t *pattern, const spmm_problem_t *problem,
                   const spmm_device_t *device)
{
    spmm_cost_term_t sum[SPMM_COST_TERMS];

    if (device->kind == SPMM_DEVICE_CPU) {
        return spmm_tc_cpu_cost(pattern, problem, device);
    }
    if (pattern->nnz > INT32_MAX) {
        return INFINITY; /* build() would refuse */
    }
    return spmm_gpu_sum_s(sum, terms(pattern, problem, device, sum));
}

const spmm_engine_ops_t spmm_engine_cvse = {
    .name        = "cvse",
    .description = "CVSE: vectors of 8 or 16 rows, transposed mma; FP16 and BF16",
    .built       = true,
    .supports    = spmm_tc_supports_half,
    .cost        = cost,
    .terms       = terms,
    .build       = build,
    .refill      = spmm_tc_refill,
    .places      = places,
    .execute     = spmm_tc_execute,
    .describe    = spmm_tc_describe,
    .bytes       = spmm_tc_bytes,
    .destroy     = spmm_tc_destroy,
};
