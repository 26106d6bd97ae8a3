/* SPDX-License-Identifier: Apache-2.0 */
/** @file engine.c  BCSR (SMaT) on tensor cores in FP16 and BF16, and with tiles in 2:4 sparsity on
 *  sparse ones; on CPUs decoded and multiplied. */
#include <inttypes.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/scalar.h"
#include "engine/bcsr/format.h"
#include "engine/bcsr/variant.h"
#include "engine/windows/tc.h"
#include "spmm_dist/context.h"
#ifdef SPMM_HAVE_CUDA
#include "cuda/bcsr/bcsr.h"
#include "device/device_cuda.h"
#endif

typedef struct {
    spmm_tc_engine_t    base;
    spmm_bcsr_t         format; /**< on GPUs without values */
    spmm_bcsr_arrays_t  arrays;
    spmm_bcsr_arrays_t  device_arrays; /**< the copy */
    spmm_bcsr_variant_t variant;
    const void         *values; /**< those of CSR, borrowed during build() */
} bcsr_t;

/** A kind, and what its create() chooses among. */
typedef struct {
    spmm_tc_kind_t     tc;
    bool               sp24;   /**< 2:4 tiles, too */
    spmm_bcsr_kernel_t kernel; /**< SPMM_BCSR_KERNELS: any */
} bcsr_kind_t;

static spmm_tc_limits_t limits(const spmm_device_t *device, const spmm_problem_t *problem,
                               int32_t n_windows, int32_t blocks)
{
    const spmm_bcsr_variant_t variant = {.kernel = SPMM_BCSR_BY_STEPS, .rows = 4, .slice = 128};

    (void)n_windows;
    return (spmm_tc_limits_t){.team = 0,
                              .cut  = spmmi_bcsr_cut(variant, device->n_sm, problem->n, blocks)};
}

static spmm_tc_limits_t limits_made(const spmm_tc_engine_t *base, int32_t blocks)
{
    const bcsr_t *f = (const bcsr_t *)base;

    return (spmm_tc_limits_t){
        .team = 0, .cut = spmmi_bcsr_cut(f->variant, base->device->n_sm, base->problem.n, blocks)};
}

spmm_status_t spmmi_bcsr_lay_out(spmm_tc_engine_t *base, const spmm_csr_t *block,
                                 spmm_bcsr_variant_t variant)
{
    bcsr_t     *f   = (bcsr_t *)base;
    spmm_env_t *env = base->device->env;

    SPMM_TRY(spmmi_bcsr_create(env, block, spmmi_pattern_windows(base->problem.pattern),
                               variant.rows, variant.sp24, base->device->threads, &f->format));
    if (base->device->kind == SPMM_DEVICE_CPU) {
        SPMM_TRY(spmmi_bcsr_fill(env, &f->format, block->values, base->device->threads));
    }
    f->arrays       = spmmi_bcsr_arrays(&f->format);
    f->arrays.slice = variant.slice;
    f->arrays.split = variant.kernel == SPMM_BCSR_BY_ROWS ? -variant.split : variant.split;
    f->variant      = variant;
    f->values       = block->values;
    return SPMM_OK;
}

/* Facts of the pattern, or counted here where there are none. */
static spmm_bcsr_variant_t choose(const spmm_tc_engine_t *f, const spmm_csr_t *block,
                                  const bcsr_kind_t *kind)
{
    const spmm_bcsr_facts_t *known = spmmi_bcsr_facts(f->problem.pattern);
    spmm_bcsr_facts_t        counted[SPMM_BCSR_PANELS];
    spmm_bcsr_variant_t      list[SPMM_BCSR_RANKED];
    int                      n;

    if (known->steps == 0) {
        spmmi_bcsr_measure(spmmi_pattern_windows(f->problem.pattern), block->n_rows,
                           f->device->threads, counted);
    }
    n = spmmi_bcsr_best(known->steps > 0 ? known : counted, block->n_rows, f->problem.n,
                        f->device->n_sm, kind->kernel, kind->sp24, list);
    return list[f->problem.variant < n ? f->problem.variant : 0];
}

static spmm_status_t create(spmm_tc_engine_t *f, const spmm_csr_t *block)
{
    const bcsr_kind_t  *kind    = (const bcsr_kind_t *)f->kind;
    spmm_bcsr_variant_t variant = {.rows = 8, .slice = 64, .sp24 = kind->sp24}; /* on CPUs */

    if (f->device->kind != SPMM_DEVICE_CPU) {
        variant = choose(f, block, kind);
    }
    return spmmi_bcsr_lay_out(f, block, variant);
}

/* The values have their place: nothing is allocated, so nothing fails. */
static void refill(void *format, const void *values, int threads)
{
    (void)spmmi_bcsr_fill(NULL, format, values, threads);
}

static spmm_tc_view_t panels(const spmm_tc_engine_t *base)
{
    const spmm_bcsr_t *f = &((const bcsr_t *)base)->format;

    return (spmm_tc_view_t){.n_rows    = f->n_rows,
                            .n_windows = f->n_panels,
                            .height    = f->rows * SPMM_BCSR_SIDE,
                            .block_ptr = f->panel_ptr};
}

#ifdef SPMM_HAVE_CUDA
static int launch(const spmm_tc_engine_t *base, const spmm_tc_mm_args_t *args)
{
    const bcsr_t *f = (const bcsr_t *)base;

    return spmmi_cuda_bcsr_mm(&f->device_arrays, &base->work, args, (cudaStream_t)args->x.stream);
}

/* The values of CSR go to the device, and a kernel puts them where they belong. */
static spmm_status_t refill_device(spmm_tc_engine_t *base, const void *values)
{
    bcsr_t              *f      = (bcsr_t *)base;
    const spmm_device_t *device = base->device;
    const size_t  bytes = (size_t)f->format.entry_ptr[f->format.n_tile_rows] * sizeof(uint16_t);
    void         *csr   = NULL;
    spmm_status_t status;

    SPMM_TRY(spmmi_cuda_use(device));
    SPMM_TRY(device->ops->alloc_cached(device, bytes, &csr));
    status = device->ops->stage(device, csr, values, bytes);
    if (status == SPMM_OK) {
        status =
            spmmi_cuda_check(device,
                             spmmi_cuda_bcsr_fill(&f->device_arrays, csr,
                                                  (void *)(uintptr_t)f->device_arrays.values, NULL),
                             "the kernel bcsr_fill");
    }
    if (status == SPMM_OK) {
        status = device->ops->stream_sync(device, NULL);
    }
    device->ops->release(device, csr);
    return status;
}

static spmm_status_t preload(const spmm_device_t *device)
{
    return spmmi_cuda_check(device, spmmi_cuda_bcsr_preload(), "loading the kernels of BCSR");
}
#else
static spmm_status_t refill_device(spmm_tc_engine_t *base, const void *values)
{
    (void)values;
    return spmmi_fail(&base->device->env->err, SPMM_ERR_INTERNAL, "BCSR on a GPU without CUDA");
}
#endif

static spmm_status_t upload_lists(spmm_tc_engine_t *base)
{
    bcsr_t             *f     = (bcsr_t *)base;
    spmm_bcsr_arrays_t *to    = &f->device_arrays;
    const size_t        rows  = (size_t)f->format.n_tile_rows + 1;
    const size_t        tiles = (size_t)(f->format.n_tiles + f->format.n_sp24);
    spmm_bcsr_lists_t   lists;
    spmm_status_t       status =
        spmmi_bcsr_lists_create(base->device->env, &f->format, base->device->threads, &lists);

    SPMM_TRY(status);
    to->list_ptr = SPMM_UPLOAD(&base->uploads, lists.ptr, rows, &status);
    to->list     = SPMM_UPLOAD(&base->uploads, lists.list, tiles, &status);
    spmmi_bcsr_lists_free(&lists);
    return status;
}

static spmm_status_t upload(spmm_tc_engine_t *base)
{
    bcsr_t                   *f    = (bcsr_t *)base;
    const spmm_bcsr_arrays_t *a    = &f->arrays;
    spmm_bcsr_arrays_t       *to   = &f->device_arrays;
    const size_t              wide = (size_t)f->format.n_wide, steps = (size_t)f->format.n_steps;
    const size_t              rows   = (size_t)a->n_tile_rows + 1;
    spmm_uploads_t           *up     = &base->uploads;
    spmm_status_t             status = SPMM_OK;

    *to           = *a;
    to->panel_ptr = SPMM_UPLOAD(up, a->panel_ptr, (int64_t)a->n_panels + 1, &status);
    to->step      = SPMM_UPLOAD(up, a->step, steps, &status);
    to->bits_ptr  = SPMM_UPLOAD(up, a->bits_ptr, steps, &status);
    to->bits      = SPMM_UPLOAD(up, a->bits, wide * SPMM_BCSR_SIDE, &status);
    to->row_ptr   = SPMM_UPLOAD(up, a->row_ptr, rows, &status);
    to->tile      = SPMM_UPLOAD(up, a->tile, wide, &status);
    to->entry_ptr = SPMM_UPLOAD(up, a->entry_ptr, rows, &status);
    to->values    = spmmi_upload_room(up, spmmi_bcsr_value_bytes(&f->format), &status);
    SPMM_TRY(status);
    SPMM_TRY(upload_lists(base));
    return refill_device(base, f->values);
}

/* What the tiles are, then how panels are dealt out. */
static void describe(const void *format, const spmm_pattern_t *pattern, FILE *out)
{
    const bcsr_t      *f     = format;
    const spmm_bcsr_t *b     = &f->format;
    const int64_t      nnz   = b->entry_ptr[b->n_tile_rows];
    const double       kept  = 256.0 * (double)(b->n_tiles + b->n_sp24);
    const double       steps = b->n_steps > 0 ? (double)b->n_steps : 1.0;

    if (nnz == 0) {
        return;
    }
    (void)fprintf(out,
                  "  tiles of %s: %" PRId64 " of 16x16 and %" PRId64
                  " of 16x32 in 2:4 sparsity, %.1f %% of their values are entries; of %" PRId32
                  " 16x32 tiles %.1f %% are 2:4\n",
                  f->base.kind->name, b->n_tiles, b->n_sp24, 100.0 * (double)nnz / kept, b->n_wide,
                  100.0 * b->n_legal / b->n_wide);
    if (f->base.device->kind == SPMM_DEVICE_CPU) {
        return;
    }
    (void)fprintf(out,
                  "  panels of %" PRId32 " tile rows by up to %" PRId32
                  " columns of C, by %s; %.1f tiles share the rows of B of a step of 32 columns\n",
                  b->rows, f->arrays.slice, spmmi_bcsr_kernel_name(f->variant.kernel),
                  (double)(b->n_tiles + b->n_sp24) / steps);
    spmmi_tc_describe(format, pattern, out);
}

#define TC_KIND(kind_name)                                                                         \
    {                                                                                              \
        .name = (kind_name), .kernel = "the kernel bcsr_mm", .size = sizeof(bcsr_t),               \
        .format = offsetof(bcsr_t, format), .arrays = offsetof(bcsr_t, arrays), .limits = limits,  \
        .limits_made = limits_made, .create = create, .free = spmmi_bcsr_free, .refill = refill,   \
        .held = spmmi_bcsr_held, .view = spmmi_bcsr_view, .panels = panels, .upload = upload,      \
        .refill_device = refill_device, .launch = SPMM_TC_ON_CUDA(launch)                          \
    }
#define KIND(kind_name, two_of_four, by)                                                           \
    {                                                                                              \
        .tc = TC_KIND(kind_name), .sp24 = (two_of_four), .kernel = (by)                            \
    }
#define KINDS(kind_name, two_of_four)                                                              \
    {                                                                                              \
        KIND(kind_name, two_of_four, SPMM_BCSR_BY_STEPS),                                          \
            KIND(kind_name, two_of_four, SPMM_BCSR_BY_LISTS),                                      \
            KIND(kind_name, two_of_four, SPMM_BCSR_BY_ROWS),                                       \
            KIND(kind_name, two_of_four, SPMM_BCSR_KERNELS)                                        \
    }
static const bcsr_kind_t kinds[2][SPMM_BCSR_KERNELS + 1] = {KINDS("bcsr", false),
                                                            KINDS("bcsr-sp24", true)};

const spmm_tc_kind_t *spmmi_bcsr_kind(bool sp24, spmm_bcsr_kernel_t kernel)
{
    return &kinds[sp24][kernel].tc;
}

static int variants_of(const spmm_pattern_t *pattern, const spmm_problem_t *problem,
                       const spmm_device_t *device, bool sp24)
{
    spmm_bcsr_variant_t list[SPMM_BCSR_RANKED];

    return device->kind == SPMM_DEVICE_CPU
               ? 1
               : spmmi_bcsr_best(spmmi_bcsr_facts(pattern), pattern->n_rows, problem->n,
                                 device->n_sm, SPMM_BCSR_KERNELS, sp24, list);
}

static int variants_bcsr(const spmm_pattern_t *pattern, const spmm_problem_t *problem,
                         const spmm_device_t *device)
{
    return variants_of(pattern, problem, device, false);
}

static int variants_sp24(const spmm_pattern_t *pattern, const spmm_problem_t *problem,
                         const spmm_device_t *device)
{
    return variants_of(pattern, problem, device, true);
}

/* Values alone: a tile of 2:4 has as many as one of 16x16. */
static double least_bytes(const spmm_pattern_t *pattern, const spmm_problem_t *problem)
{
    const spmm_bcsr_facts_t *facts = spmmi_bcsr_facts(pattern);

    return (double)(facts->tiles + facts->sp24) * SPMM_BCSR_SIDE * SPMM_BCSR_SIDE *
           (double)spmm_type_size(problem->ab_type);
}

#define ENGINE(engine_name, text, two_of_four, variants_of_it, cost_of, preload_of)                \
    {                                                                                              \
        .facts.name = (engine_name), .facts.description = (text), .facts.few_entries = true,       \
        .facts.pattern = &spmmi_bcsr_pattern_facts,                                                \
        .kind = &kinds[two_of_four][SPMM_BCSR_KERNELS].tc, .preload = (preload_of),                \
        .supports = spmmi_tc_supports_half, .cost = (cost_of), .variants = (variants_of_it),       \
        .least_bytes = least_bytes, .build = spmmi_tc_build, .refill = spmmi_tc_refill,            \
        .execute = spmmi_tc_execute, .describe = describe, .bytes = spmmi_tc_bytes,                \
        .destroy = spmmi_tc_destroy                                                                \
    }

const spmm_engine_ops_t spmmi_engine_bcsr =
    ENGINE("bcsr", "BCSR (SMaT): 16x16 tiles, panels of tile rows share rows of B; FP16 and BF16",
           false, variants_bcsr, spmmi_bcsr_cost, SPMM_TC_ON_CUDA(preload));
const spmm_engine_ops_t spmmi_engine_bcsr_sp24 = ENGINE(
    "bcsr-sp24", "bcsr with 16x32 tiles in 2:4 sparsity on sparse tensor cores; FP16 and BF16",
    true, variants_sp24, spmmi_bcsr_cost_sp24, NULL);
