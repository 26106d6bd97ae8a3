/* SPDX-License-Identifier: Apache-2.0 */
/** @file hrpb.c  HRPB (cuTeSpMM) on tensor cores; on CPUs decoded and multiplied. */
#include <math.h>

#include "engine/tune/roofline.h"
#include "engine/windows/hrpb_format.h"
#include "engine/windows/tc.h"
#include "spmm_dist/context.h"
#ifdef SPMM_HAVE_CUDA
#include "cuda/windows/hrpb.h"
#include "device/device_cuda.h"
#endif

typedef struct {
    spmm_tc_engine_t   base;
    spmm_hrpb_t        format;
    spmm_hrpb_arrays_t arrays;        /**< of format */
    spmm_hrpb_arrays_t device_arrays; /**< the copy */
} hrpb_t;

enum {
    COLUMNS      = 32, /* of a warp: TN */
    FITTED_WARPS = 24  /* of a multiprocessor: what the constants of the model were fitted with */
};

/* Warps of the kernel that a multiprocessor holds at a time. */
static int resident_warps(const spmm_problem_t *problem)
{
    int warps = FITTED_WARPS;

#ifdef SPMM_HAVE_CUDA
    if (spmmi_cuda_hrpb_resident(problem->compute, &warps) != cudaSuccess) {
        (void)cudaGetLastError();
    }
#else
    (void)problem;
#endif
    return warps;
}

static double waves_of(const spmm_device_t *device, const spmm_problem_t *problem,
                       int32_t n_windows)
{
    const double slices = ceil((double)problem->n / COLUMNS);

    return n_windows * slices / ((double)device->n_sm * resident_warps(problem));
}

/* Virtual panels (cuTeSpMM, section 5): a panel with num_loads times the mean number of blocks
 * is cut into num_loads / num_waves, which is none below 2.  Here a work item is for a warp, so
 * num_waves counts resident warps.  Panels of up to 16 blocks stay whole: the sums of work items go
 * through memory (measured: cutting uniform panels of 8 blocks cost up to a factor of 4).  Where
 * panels fill less than half a wave, all longer ones are cut, also those of the mean length. */
static spmm_tc_limits_t limits(const spmm_device_t *device, const spmm_problem_t *problem,
                               int32_t n_windows, int32_t blocks)
{
    const double  least   = 16.0;
    const double  waves   = waves_of(device, problem, n_windows);
    const double  mean    = n_windows == 0 ? 0.0 : (double)blocks / n_windows;
    const double  longest = waves < 0.5 ? least : fmax(least, mean * fmax(2.0, waves));
    const int32_t cut     = (int32_t)fmin(longest, INT32_MAX);

    return (spmm_tc_limits_t){.team = cut, .cut = cut};
}

static spmm_status_t create(spmm_tc_engine_t *base, const spmm_csr_t *block)
{
    hrpb_t *f = (hrpb_t *)base;

    SPMM_TRY(spmmi_hrpb_create(base->device->env, block,
                               spmmi_pattern_windows(base->problem.pattern), SPMM_HRPB_BRICK_M,
                               base->device->threads, &f->format));
    f->arrays = spmmi_hrpb_arrays(&f->format);
    return SPMM_OK;
}

static spmm_status_t upload(spmm_tc_engine_t *base)
{
    hrpb_t                   *f      = (hrpb_t *)base;
    const spmm_hrpb_arrays_t *a      = &f->arrays;
    spmm_hrpb_arrays_t       *to     = &f->device_arrays;
    const size_t              blocks = (size_t)f->format.n_blocks, index = sizeof(int32_t);
    const size_t              packed = (size_t)a->size_ptr[blocks] * SPMM_HRPB_UNIT;
    spmm_status_t             status = SPMM_OK;

    *to           = *a;
    to->col       = SPMM_UPLOAD(&base->uploads, a->col, blocks * SPMM_HRPB_BLOCK, &status);
    to->block_ptr = SPMM_UPLOAD(&base->uploads, a->block_ptr, (int64_t)a->n_panels + 1, &status);
    to->size_ptr  = SPMM_UPLOAD(&base->uploads, a->size_ptr, blocks + 1, &status);
    to->packed = spmmi_tc_upload_values(base, offsetof(hrpb_t, format.packed), packed, SPMM_TC_BACK,
                                        &status);
    spmmi_tc_let_go(base, offsetof(hrpb_t, format.col), to->col, blocks * SPMM_HRPB_BLOCK * index,
                    SPMM_TC_GONE, &status);
    return status;
}

#ifdef SPMM_HAVE_CUDA
static int launch(const spmm_tc_engine_t *base, const spmm_tc_mm_args_t *args)
{
    const hrpb_t *f = (const hrpb_t *)base;

    return spmmi_cuda_hrpb_mm(&f->device_arrays, &base->work, args, (cudaStream_t)args->x.stream);
}

static spmm_status_t preload(const spmm_device_t *device)
{
    return spmmi_cuda_check(device, spmmi_cuda_hrpb_preload(), "loading the kernels of HRPB");
}
#endif

static const spmm_tc_kind_t kind = {
    .name   = "hrpb",
    .kernel = "the kernel hrpb_mm",
    .size   = sizeof(hrpb_t),
    .format = offsetof(hrpb_t, format),
    .arrays = offsetof(hrpb_t, arrays),
    .limits = limits,
    .waves  = waves_of,
    .create = create,
    .free   = spmmi_hrpb_free,
    .refill = spmmi_hrpb_refill,
    .held   = spmmi_hrpb_held,
    .view   = spmmi_hrpb_view,
    .upload = upload,
    .launch = SPMM_TC_ON_CUDA(launch),
};

static bool supports(const spmm_problem_t *problem, const spmm_device_t *device, char why[SPMM_WHY])
{
    return spmmi_tc_supports(problem, device, SPMM_R_32F, why);
}

/* Rows of B that panels gather; panels that a warp takes one after the other, each with its
 * start, its store of C and what it waits for; the longest chain of blocks; sums of cut panels,
 * which go through memory; B and A once more where rows of B come element by element.  Constants
 * by bench/fit/fit.py from times on one H100, that of narrow on one H200
 * (docs/explanation/choices.md); 3xTF32 multiplies three times what it gathers: its share by five
 * times there. */
static int gpu_terms(const spmm_pattern_t *pattern, const spmm_problem_t *problem,
                     const spmm_device_t *device, spmm_cost_term_t terms[SPMM_COST_TERMS])
{
    const double           split  = problem->compute == SPMM_COMPUTE_32F ? 1.53 : 1.0;
    const double           slices = ceil((double)problem->n / COLUMNS), us = 1e-6;
    const double           resident = (double)device->n_sm * FITTED_WARPS;
    const int32_t          panels   = spmmi_windows_count(pattern->n_rows, SPMM_HRPB_BRICK_M);
    const double           pairs    = (double)pattern->tc.pairs[1];
    const spmm_tc_limits_t cut =
        limits(device, problem, panels, (int32_t)(pairs / SPMM_HRPB_BLOCK + 0.5 * panels));
    const spmm_tc_load_t load   = spmmi_tc_load(pattern, SPMM_HRPB_BRICK_M, SPMM_HRPB_BLOCK, cut);
    const double         warps  = (load.single + load.team) * slices;
    const double         gather = spmmi_gpu_gather_s(pattern, problem, device, pairs);
    const double a_bytes = 4.0 * ((double)pattern->nnz + pairs) + 8.0 * (double)pattern->tc.bricks;

    terms[0] = (spmm_cost_term_t){"launch", 2.65, us};
    terms[1] = (spmm_cost_term_t){"gather", 0.969, split * gather};
    terms[2] = (spmm_cost_term_t){"items", 3.70, fmax(1.0, warps / resident) * us};
    terms[3] = (spmm_cost_term_t){"chain", 0.470,
                                  split * fmax(load.longest_single, load.longest_team) * us};
    terms[4] = (spmm_cost_term_t){"parts", 0.669, load.parts * slices / device->n_sm * us};
    terms[5] = (spmm_cost_term_t){
        "narrow", 2.8, spmmi_gpu_narrow(problem) * (gather + spmmi_gpu_copy_s(device, a_bytes))};
    return 6;
}

static int cost(const spmm_pattern_t *pattern, const spmm_problem_t *problem,
                const spmm_device_t *device, spmm_cost_term_t terms[SPMM_COST_TERMS])
{
    return device->kind == SPMM_DEVICE_CPU ? spmmi_tc_cpu_cost(pattern, problem, device, terms)
                                           : gpu_terms(pattern, problem, device, terms);
}

const spmm_engine_ops_t spmmi_engine_hrpb = {
    .facts.name        = "hrpb",
    .facts.description = "HRPB: 16x4 bricks of condensed columns, packed blocks; FP32 and TF32",
    .facts.few_entries = true,
    .facts.follows     = true,
    .preload           = SPMM_TC_ON_CUDA(preload),
    .supports          = supports,
    .cost              = cost,
    .kind              = &kind,
    .build             = spmmi_tc_build,
    .refill            = spmmi_tc_refill,
    .execute           = spmmi_tc_execute,
    .describe          = spmmi_tc_describe,
    .bytes             = spmmi_tc_bytes,
    .destroy           = spmmi_tc_destroy,
};
