/* SPDX-License-Identifier: Apache-2.0 */
/** @file engine.c
 *  A worked example of an engine (docs/how-to/extend.md): FP64 on tensor cores, windows of 8 rows,
 *  blocks of 4 condensed columns; on CPUs decoded and multiplied.
 */
#include "engine/octet/format.h"
#include "engine/tune/roofline.h"
#include "engine/windows/tc.h"
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

static spmm_status_t upload(spmm_tc_engine_t *base)
{
    octet_t                   *f       = (octet_t *)base;
    const spmm_octet_arrays_t *a       = &f->arrays;
    spmm_octet_arrays_t       *to      = &f->device_arrays;
    const size_t               windows = (size_t)a->n_windows, blocks = (size_t)f->format.n_blocks;
    const size_t               index = sizeof(int32_t), nnz = (size_t)a->value_ptr[blocks];
    spmm_status_t              status = SPMM_OK;

    *to           = *a;
    to->block_ptr = SPMM_UPLOAD(&base->uploads, a->block_ptr, windows + 1, &status);
    to->col       = SPMM_UPLOAD(&base->uploads, a->col, blocks * SPMM_OCTET_COLS, &status);
    to->bits      = SPMM_UPLOAD(&base->uploads, a->bits, blocks, &status);
    to->value_ptr = SPMM_UPLOAD(&base->uploads, a->value_ptr, blocks + 1, &status);
    to->values    = spmmi_tc_upload_values(base, offsetof(octet_t, format.values),
                                           nnz * sizeof(double), SPMM_TC_BLANK, &status);
    spmmi_tc_let_go(base, offsetof(octet_t, format.col), to->col, blocks * SPMM_OCTET_COLS * index,
                    SPMM_TC_GONE, &status);
    return status;
}

#ifdef SPMM_HAVE_CUDA
static int launch(const spmm_tc_engine_t *base, const spmm_tc_mm_args_t *args)
{
    return spmmi_cuda_octet_mm(&((const octet_t *)base)->device_arrays, args,
                               (cudaStream_t)args->x.stream);
}

static spmm_status_t preload(const spmm_device_t *device)
{
    return spmmi_cuda_check(device, spmmi_cuda_octet_preload(), "loading the kernels of octet");
}
#endif

static const spmm_tc_kind_t kind = {
    .name   = "octet",
    .kernel = "the kernel octet_mm",
    .size   = sizeof(octet_t),
    .format = offsetof(octet_t, format),
    .arrays = offsetof(octet_t, arrays),
    .create = create,
    .free   = spmmi_octet_free,
    .refill = spmmi_octet_refill,
    .held   = spmmi_octet_held,
    .view   = spmmi_octet_view,
    .upload = upload,
    .launch = SPMM_TC_ON_CUDA(launch),
};

static bool supports(const spmm_problem_t *problem, const spmm_device_t *device, char why[SPMM_WHY])
{
    return spmmi_tc_supports(problem, device, SPMM_R_64F, why);
}

/* What moves once through device memory, and a row of B for each pair of a window and a column of
 * it through L2.  A model to be ranked by needs its constants fitted to measured times. */
static int cost(const spmm_pattern_t *pattern, const spmm_problem_t *problem,
                const spmm_device_t *device, spmm_cost_term_t terms[SPMM_COST_TERMS])
{
    /* tc.pairs[0], [1] and [2] are of windows of 8, 16 and 32 rows.  A pair of window and column
     * has 4 bytes of col and, a block being 4 pairs, a quarter of the 8 of bits and value_ptr. */
    const double pairs = (double)pattern->tc.pairs[0];
    const double bytes = 6.0 * pairs + 8.0 * (double)pattern->nnz;

    if (device->kind == SPMM_DEVICE_CPU) {
        return spmmi_tc_cpu_cost(pattern, problem, device, terms);
    }
    terms[0] = (spmm_cost_term_t){"once", 1.0, spmmi_gpu_once_s(pattern, problem, device, bytes)};
    terms[1] =
        (spmm_cost_term_t){"gather", 1.0, spmmi_gpu_gather_s(pattern, problem, device, pairs)};
    return 2;
}

const spmm_engine_ops_t spmmi_engine_octet = {
    .facts.name        = "octet",
    .facts.description = "blocks of 8 rows and 4 condensed columns; FP64",
    .facts.few_entries = true,
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
