/* SPDX-License-Identifier: Apache-2.0 */
/** @file engine.c
 *  A worked example of an engine (docs/how-to/extend.md): FP64 on tensor cores, windows of 8 rows,
 *  blocks of 4 condensed columns; on CPUs decoded and multiplied.
 */
#include <math.h>

#include "engine/choose/roofline.h"
#include "engine/octet/format.h"
#include "engine/tc/engine.h"
#ifdef SPMM_HAVE_CUDA
#include "cuda/octet/octet.h"
#include "device/device_cuda.h"
#endif

/* What spmm_tc_kind_t functions get: their first member. */
typedef struct {
    spmm_tc_engine_t    base;
    spmm_octet_t        format;
    spmm_octet_arrays_t arrays;        /**< of format */
    spmm_octet_arrays_t device_arrays; /**< the copy */
} octet_t;

static spmm_status_t create(spmm_tc_engine_t *base, const spmm_csr_t *block)
{
    octet_t *f = (octet_t *)base;

    SPMM_TRY(spmmi_octet_create(base->device->env, block,
                                spmmi_pattern_windows(base->problem.pattern), base->device->threads,
                                &f->format));
    f->arrays = spmmi_octet_arrays(&f->format);
    return SPMM_OK;
}

static void release(spmm_tc_engine_t *base)
{
    spmmi_octet_free(&((octet_t *)base)->format);
}

static void refill(spmm_tc_engine_t *base, const void *values)
{
    spmmi_octet_refill(&((octet_t *)base)->format, values, base->device->threads);
}

static size_t held(const spmm_tc_engine_t *base)
{
    return spmmi_octet_held(&((const octet_t *)base)->format);
}

static spmm_tc_view_t view(const spmm_tc_engine_t *base)
{
    return spmmi_octet_view(&((const octet_t *)base)->arrays);
}

static size_t value_bytes(const octet_t *f)
{
    return (size_t)f->format.value_ptr[f->format.n_blocks] * sizeof(double);
}

static spmm_status_t upload(spmm_tc_engine_t *base)
{
    octet_t                   *f       = (octet_t *)base;
    const spmm_octet_arrays_t *a       = &f->arrays;
    const size_t               windows = (size_t)a->n_windows, blocks = (size_t)f->format.n_blocks;
    const void *block_ptr = NULL, *col = NULL, *bits = NULL, *value_ptr = NULL, *values = NULL;

    SPMM_TRY(spmmi_tc_upload(base, a->block_ptr, (windows + 1) * sizeof(int32_t), 0, &block_ptr));
    SPMM_TRY(spmmi_tc_upload(base, a->col, blocks * SPMM_OCTET_COLS * sizeof(int32_t), 0, &col));
    SPMM_TRY(spmmi_tc_upload(base, a->bits, blocks * sizeof(uint32_t), 0, &bits));
    SPMM_TRY(spmmi_tc_upload(base, a->value_ptr, (blocks + 1) * sizeof(int32_t), 0, &value_ptr));
    SPMM_TRY(spmmi_tc_upload(base, a->values, value_bytes(f), 0, &values));
    f->device_arrays           = *a;
    f->device_arrays.block_ptr = block_ptr;
    f->device_arrays.col       = col;
    f->device_arrays.bits      = bits;
    f->device_arrays.value_ptr = value_ptr;
    f->device_arrays.values    = values;
    return SPMM_OK;
}

static spmm_status_t upload_values(spmm_tc_engine_t *base)
{
    const octet_t *f = (const octet_t *)base;

    return spmmi_device_write(base->device, (void *)(uintptr_t)f->device_arrays.values,
                              f->arrays.values, value_bytes(f));
}

#ifdef SPMM_HAVE_CUDA
static spmm_status_t launch(const spmm_tc_engine_t *base, const spmm_tc_mm_args_t *args)
{
    SPMM_TRY(spmmi_cuda_use(base->device));
    return spmmi_cuda_check(base->device,
                            spmmi_cuda_octet_mm(&((const octet_t *)base)->device_arrays, args,
                                                (cudaStream_t)args->x.stream),
                            "the kernel octet_mm");
}

static spmm_status_t preload(const spmm_device_t *device)
{
    return spmmi_cuda_check(device, spmmi_cuda_octet_preload(), "loading the kernels of octet");
}
#endif

static const spmm_tc_kind_t kind = {
    .name          = "octet",
    .size          = sizeof(octet_t),
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
    return spmmi_tc_build(&kind, block, problem, device, format);
}

static bool supports(const spmm_problem_t *problem, const spmm_device_t *device, char why[SPMM_WHY])
{
    return spmmi_tc_supports(problem, device, SPMM_R_64F, why);
}

/* What moves once through device memory, and a row of B for each pair of a window and a column of
 * it through L2.  A model to be ranked by needs its constants fitted to measured times. */
static double cost(const spmm_pattern_t *pattern, const spmm_problem_t *problem,
                   const spmm_device_t *device)
{
    /* tc.pairs[0], [1] and [2] are of windows of 8, 16 and 32 rows.  A pair of window and column
     * has 4 bytes of col and, a block being 4 pairs, a quarter of the 8 of bits and value_ptr. */
    const double pairs = (double)pattern->tc.pairs[0];

    if (device->kind == SPMM_DEVICE_CPU) {
        return spmmi_tc_cpu_cost(pattern, problem, device);
    }
    if (pattern->nnz > INT32_MAX) {
        return INFINITY; /* build() would refuse */
    }
    return spmmi_gpu_once_s(pattern, problem, device, 6.0 * pairs + 8.0 * (double)pattern->nnz) +
           spmmi_gpu_gather_s(pattern, problem, device, pairs);
}

const spmm_engine_ops_t spmmi_engine_octet = {
    .name        = "octet",
    .description = "blocks of 8 rows and 4 condensed columns; FP64",
    .built       = true,
#ifdef SPMM_HAVE_CUDA
    .preload = preload,
#endif
    .supports = supports,
    .cost     = cost,
    .build    = build,
    .refill   = spmmi_tc_refill,
    .execute  = spmmi_tc_execute,
    .describe = spmmi_tc_describe,
    .bytes    = spmmi_tc_bytes,
    .destroy  = spmmi_tc_destroy,
};
