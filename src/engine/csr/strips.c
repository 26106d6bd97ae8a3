/* SPDX-License-Identifier: Apache-2.0 */
/** @file strips.c
 *  Strips of rows on the CUDA cores of a GPU, for column-major blocks.  Rows of B that a strip uses
 *  are transposed in shared memory, so neither B nor C is copied.
 */
#include <math.h>
#include <stdio.h>

#include "base/scalar.h"
#include "engine/csr/strips_args.h"
#include "engine/csr/strips_format.h"
#include "engine/engine.h"
#include "engine/gpu.h"
#include "engine/tune/roofline.h"
#include "spmm_dist/context.h"

/* What moves once, beyond L2 and within; B in sectors of 32 bytes, each of one column, for all
 * strips that use it, and once more where a slice of B does not stay in L1; what groups of lanes
 * read of shared memory; slices of strips one after the other; and the longest row, whose work
 * items meet.  Constants by bench/fit/fit.py from times of 40 real matrices on one H100
 * (docs/explanation/choices.md). */
static const double constants[2][8] = {
    {5.93, 0.121, 0.247, 0.112, 0.650, 1.01, 1.13, 1.56}, /* FP32 */
    {5.91, 0.263, 0.217, 0.244, 0.673, 0.923, 0.947, 1.98},
};

/* The share of sectors that come from L2 again: of B in slices of a megabyte all. */
static double far(const spmm_pattern_t *pattern)
{
    return fmin((double)pattern->used_cols * 2.0 * SPMM_STRIP_SLICE / 1e6, 1.0);
}

static int cost(const spmm_pattern_t *pattern, const spmm_problem_t *problem,
                const spmm_device_t *device, spmm_cost_term_t terms[SPMM_COST_TERMS])
{
    const spmm_strips_facts_t facts = spmmi_strips_facts(pattern);
    const double us = 1e-6, size = (double)spmm_type_size(problem->ab_type), n = (double)problem->n;
    const double resident = 6.0, l2 = 6e12; /* thread blocks of a multiprocessor; bytes/s */
    const double a       = (double)pattern->nnz * (size + (double)sizeof(uint16_t));
    const double sectors = 32.0 * (double)(size > 4.0 ? facts.quads : facts.octs);
    const double slices  = ceil(n * size / (2.0 * SPMM_STRIP_SLICE));
    const double *k      = constants[size > 4.0];

    if (pattern->nnz > 0 && facts.strips == 0) { /* by name alone */
        terms[0] = (spmm_cost_term_t){"strips", k[6], INFINITY};
        return 1;
    }
    terms[0] = (spmm_cost_term_t){"launch", k[0], us};
    spmmi_gpu_once_terms(device, spmmi_gpu_once_s(pattern, problem, device, a), k + 1, terms + 1);
    terms[3] = (spmm_cost_term_t){"sectors", k[3], sectors * n / l2};
    terms[4] = (spmm_cost_term_t){"far", k[4], far(pattern) * sectors * n / l2};
    terms[5] =
        (spmm_cost_term_t){"entries", k[5], (double)pattern->nnz * n * size / device->n_sm * 1e-11};
    terms[6] = (spmm_cost_term_t){"strips", k[6],
                                  (double)facts.strips * slices / (resident * device->n_sm) * us};
    terms[7] = spmmi_gpu_longest_term(pattern, k[7]);
    return 8;
}

#ifdef SPMM_HAVE_CUDA
#include "base/alloc.h"
#include "cuda/csr/strips.h"
#include "device/device_cuda.h"

typedef struct {
    const spmm_device_t *device;
    spmm_strips_args_t   args;    /* device arrays, as of the next */
    spmm_uploads_t       uploads; /* they */
    int64_t              n_entries;
} strips_t;

static bool supports(const spmm_problem_t *problem, const spmm_device_t *device, char why[SPMM_WHY])
{
    (void)device;
    if ((problem->ab_type != SPMM_R_64F && problem->ab_type != SPMM_R_32F) ||
        problem->c_type != problem->ab_type) {
        (void)snprintf(why, SPMM_WHY, "needs A, B and C of type 64f or 32f");
        return false;
    }
    if ((problem->ab_type == SPMM_R_64F) != (problem->compute == SPMM_COMPUTE_64F)) {
        (void)snprintf(why, SPMM_WHY, "computes FP64 data in FP64 and FP32 data in FP32");
        return false;
    }
    if (problem->layout != SPMM_LAYOUT_COL) {
        (void)snprintf(why, SPMM_WHY, "multiplies column-major blocks");
        return false;
    }
    if (problem->n > INT32_MAX / 2) {
        (void)snprintf(why, SPMM_WHY, "takes fewer than 2^30 columns");
        return false;
    }
    return true;
}

static void destroy(void *format)
{
    strips_t *f = format;

    if (f == NULL) {
        return;
    }
    spmmi_uploads_free(&f->uploads);
    spmmi_free(f);
}

/* Device memory of @p count elements, in whole words of 16 bytes, which kernels copy. */
static void *upload(strips_t *f, const void *host, int64_t count, size_t size,
                    spmm_status_t *status)
{
    const size_t bytes = (size_t)count * size; /* of an array that the host holds */

    return spmmi_upload(&f->uploads, host, bytes, (16 - bytes % 16) % 16, status);
}

/* Sums of the work items of split rows, and zeros to count those that are done in. */
static spmm_status_t make_room(strips_t *f, const spmm_strips_t *host, int64_t n)
{
    const size_t  size   = spmm_type_size(f->args.type);
    const int64_t slices = (n * (int64_t)size + SPMM_STRIP_SLICE - 1) / SPMM_STRIP_SLICE;
    size_t        bytes;
    uint32_t     *zeros;
    spmm_status_t status = SPMM_OK;

    if (slices > INT32_MAX || !spmmi_size_mul((size_t)host->n_items * size, (size_t)n, &bytes)) {
        return spmmi_fail_memory(&f->device->env->err, host->n_items, (size_t)n * size,
                                 "sums of work items");
    }
    if (SPMM_NEW_ZERO(zeros, host->n_splits * slices) == NULL) {
        return spmmi_fail_memory(&f->device->env->err, host->n_splits * slices, sizeof *zeros,
                                 "counts of work items");
    }
    f->args.n_slices = (int32_t)slices;
    f->args.partial  = spmmi_upload_room(&f->uploads, (bytes + 15) / 16 * 16, &status);
    f->args.arrived  = upload(f, zeros, host->n_splits * slices, sizeof *zeros, &status);
    spmmi_free(zeros);
    return status;
}

static spmm_status_t upload_all(strips_t *f, const spmm_csr_t *block, const spmm_strips_t *host)
{
    spmm_strips_args_t *to     = &f->args;
    spmm_status_t       status = SPMM_OK;

    f->n_entries = spmmi_csr_nnz(block);
    *to          = (spmm_strips_args_t){.n_strips     = host->n_strips,
                                        .most_cols    = host->most_cols,
                                        .most_entries = host->most_entries,
                                        .n_sm         = f->device->n_sm,
                                        .type         = block->type};
    to->strip    = upload(f, host->strip, host->n_strips, sizeof *host->strip, &status);
    to->split    = upload(f, host->split, host->n_splits, sizeof *host->split, &status);
    to->col      = upload(f, host->col, host->n_cols, sizeof *host->col, &status);
    to->index    = upload(f, host->index, f->n_entries, sizeof *host->index, &status);
    to->ptr      = upload(f, host->ptr, host->n_ptr, sizeof *host->ptr, &status);
    to->values   = upload(f, block->values, f->n_entries, spmm_type_size(block->type), &status);
    if (block->row_map != NULL) {
        to->row_map = upload(f, block->row_map, block->n_rows, sizeof *block->row_map, &status);
    }
    return status;
}

static spmm_status_t build(const spmm_engine_ops_t *engine, const spmm_csr_t *block,
                           const spmm_problem_t *problem, const spmm_device_t *device,
                           void **format)
{
    strips_t     *f;
    spmm_strips_t host;
    const int64_t size = (int64_t)spmm_type_size(block->type);
    spmm_status_t status;

    (void)engine;
    SPMM_TRY(spmmi_strips_create(device->env, block,
                                 spmmi_strips_rows(block->n_rows, problem->n, size, device->n_sm),
                                 device->threads, &host));
    if (SPMM_NEW_ZERO(f, 1) == NULL) {
        spmmi_strips_free(&host);
        return spmmi_fail_memory(&device->env->err, 1, sizeof *f, "an engine of strips");
    }
    f->device         = device;
    f->uploads.device = device;
    status            = upload_all(f, block, &host);
    if (status == SPMM_OK) {
        status = make_room(f, &host, problem->n);
    }
    if (status == SPMM_OK) {
        status = device->ops->stream_sync(device, NULL);
    }
    spmmi_log(
        device->env,
        "format strips: %d strips, %lld rows of B for them, %lld entries, %d rows in %d work items",
        (int)host.n_strips, (long long)host.n_cols, (long long)f->n_entries, (int)host.n_splits,
        (int)host.n_items);
    spmmi_strips_free(&host);
    if (status != SPMM_OK) {
        destroy(f);
        return status;
    }
    *format = f;
    return SPMM_OK;
}

static spmm_status_t places(const void *format, void **values, int64_t *count, int32_t **from)
{
    const strips_t *f = format;

    *values = (void *)(uintptr_t)f->args.values;
    *count  = f->n_entries;
    *from   = NULL;
    return SPMM_OK;
}

static spmm_status_t preload(const spmm_device_t *device)
{
    return spmmi_cuda_check(device, spmmi_cuda_strips_preload(), "loading the kernels of strips");
}

static spmm_status_t execute(void *format, const spmm_operands_t *x)
{
    const strips_t *f = format;

    SPMM_TRY(spmmi_cuda_use(f->device));
    return spmmi_cuda_check(f->device, spmmi_cuda_strips_mm(&f->args, x, (cudaStream_t)x->stream),
                            "the kernel strips_mm");
}

static void bytes(const void *format, size_t *host, size_t *device)
{
    const strips_t *f = format;

    *host   = sizeof *f;
    *device = f->uploads.bytes;
}
#endif

const spmm_engine_ops_t spmmi_engine_strips = {
    .facts.name        = "strips",
    .facts.description = "strips of rows on CUDA cores, column-major B transposed in shared memory",
    .facts.lacks       = SPMM_LACKS_CUDA,
    .facts.device      = SPMM_DEVICE_CUDA,
    .facts.few_entries = true,
    .facts.pattern     = &spmmi_strips_pattern_facts,
    .cost              = cost,
#ifdef SPMM_HAVE_CUDA
    .preload  = preload,
    .supports = supports,
    .build    = build,
    .places   = places,
    .execute  = execute,
    .bytes    = bytes,
    .destroy  = destroy,
#endif
};
