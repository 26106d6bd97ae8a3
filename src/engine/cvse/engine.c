/* SPDX-License-Identifier: Apache-2.0 */
/** @file engine.c  CVSE (SSpMM, vectorSparse) on tensor cores in FP16 and BF16; on CPUs decoded
 *  and multiplied. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/scalar.h"
#include "engine/cvse/format.h"
#include "engine/cvse/variant.h"
#include "engine/tune/roofline.h"
#include "engine/windows/tc.h"
#include "spmm_dist/context.h"
#ifdef SPMM_HAVE_CUDA
#include "cuda/cvse/cvse.h"
#include "device/device_cuda.h"
#endif

typedef struct {
    spmm_tc_engine_t    base;
    spmm_cvse_variant_t variant;
    spmm_cvse_t         format;
    int32_t            *dealt; /**< of slabs: spmmi_cvse_deal(), the order on the device; or NULL */
    spmm_cvse_tasks_t   tasks; /**< empty without a GPU, or where work items are the variant */
    spmm_cvse_arrays_t  arrays; /**< of format */
    spmm_cvse_arrays_t
                      device_arrays; /**< the copy; first blocks of tasks stand behind the others */
    spmm_cvse_short_t device_tasks;
} cvse_t;

/* Windows above the share of a resident warp are for a thread block, and those far above are
 * cut. */
static spmm_tc_limits_t limits(const spmm_device_t *device, const spmm_problem_t *problem,
                               int32_t n_windows, int32_t blocks)
{
    const bool    few  = n_windows <= SPMM_TC_FEW * device->n_sm;
    const int32_t team = spmmi_cvse_team_limit(n_windows, blocks, device->n_sm);
    const int32_t cut = few ? 4 * team : 8 * team, least_cut = few ? 24 : 32;

    (void)problem;
    return (spmm_tc_limits_t){.team = team, .cut = cut > least_cut ? cut : least_cut};
}

/* Rows of B that slabs would have; 0: the code has no tensor maps, or the device little shared
 * memory. */
static int32_t slab_rows(const spmm_device_t *device, int32_t n_cols)
{
    return spmmi_device_runs(device, 90) && device->cc < 120 ? n_cols : 0;
}

/* Decoding on CPUs does not get faster with taller windows. */
static spmm_cvse_variant_t choose_variant(const spmm_tc_engine_t *base, const spmm_csr_t *block)
{
    const spmm_problem_t *p       = &base->problem;
    spmm_cvse_variant_t   variant = {.height = 8}, list[SPMM_CVSE_VARIANTS];
    int                   n;

    if (base->device->kind == SPMM_DEVICE_CPU ||
        (p->variant >= SPMM_CVSE_VARIANTS &&
         spmmi_cvse_variant_at(p->variant - SPMM_CVSE_VARIANTS, &variant))) {
        return variant;
    }
    n = spmmi_cvse_variants(&p->pattern->tc, block->n_rows, slab_rows(base->device, block->n_cols),
                            p->n, base->device->n_sm, list);
    return list[p->variant < n ? p->variant : 0];
}

static spmm_status_t create(spmm_tc_engine_t *base, const spmm_csr_t *block)
{
    cvse_t     *f   = (cvse_t *)base;
    spmm_env_t *env = base->device->env;

    f->variant = choose_variant(base, block);
    SPMM_TRY(spmmi_cvse_create(env, block, spmmi_pattern_windows(base->problem.pattern),
                               f->variant.height, base->device->threads, &f->format));
    f->arrays = spmmi_cvse_arrays(&f->format);
    if (f->variant.slab > 0) {
        return spmmi_cvse_deal(env, &f->format, base->device->threads, &f->dealt);
    }
    return f->variant.chain == 0
               ? SPMM_OK
               : spmmi_cvse_tasks_create(env, f->format.n_windows, f->format.window_ptr,
                                         f->variant.chain, f->variant.n_warps, &f->tasks);
}

static void release(void *engine)
{
    cvse_t *f = engine;

    spmmi_cvse_free(&f->format);
    spmmi_free(f->dealt);
    f->dealt = NULL;
    spmmi_cvse_tasks_free(&f->tasks);
}

static void refill(void *engine, const void *values, int threads)
{
    spmmi_cvse_refill(&((cvse_t *)engine)->format, values, threads);
}

static size_t held(const void *engine)
{
    const cvse_t *f = engine;

    return spmmi_cvse_held(&f->format) +
           (f->dealt == NULL ? 0
                             : (size_t)f->format.n_blocks * SPMM_CVSE_BLOCK * sizeof *f->dealt) +
           (size_t)f->tasks.n_tasks * (sizeof *f->tasks.task + sizeof *f->tasks.first);
}

/* Bytes of one block's values. */
static size_t block_bytes(const cvse_t *f)
{
    return SPMM_CVSE_BLOCK * (size_t)f->format.height * sizeof(uint16_t);
}

/* Copy @p size bytes of each block to the device, and behind them those of the first blocks of
 * tasks. */
static spmm_status_t put(cvse_t *f, const void *host, size_t size, int blank, void *to)
{
    const spmm_device_t *device = f->base.device;
    const size_t         bytes  = (size_t)f->format.n_blocks * size;
    void                *first;
    spmm_status_t        status;

    if (f->dealt != NULL) {
        void *const dealt = spmmi_cvse_dealt(&f->format, f->dealt, device->threads, host, size);

        status = dealt == NULL ? spmmi_fail_memory(&device->env->err, f->format.n_blocks, size,
                                                   "dealt vectors")
                               : device->ops->stage(device, to, dealt, bytes);
        spmmi_free(dealt);
        return status;
    }
    SPMM_TRY(device->ops->stage(device, to, host, bytes));
    if (f->tasks.n_tasks == 0) {
        return SPMM_OK;
    }
    first = spmmi_alloc(f->tasks.n_tasks, size);
    if (first == NULL) {
        return spmmi_fail_memory(&device->env->err, f->tasks.n_tasks, size,
                                 "first blocks of tasks");
    }
    spmmi_cvse_tasks_gather(&f->tasks, host, size, blank, first);
    status = device->ops->stage(device, (char *)to + bytes, first, (size_t)f->tasks.n_tasks * size);
    spmmi_free(first);
    return status;
}

static void *put_new(cvse_t *f, const void *host, size_t size, int blank, spmm_status_t *status)
{
    const size_t blocks = (size_t)f->format.n_blocks + (size_t)f->tasks.n_tasks;
    void        *to     = spmmi_upload_room(&f->base.uploads, blocks * size, status);

    if (*status == SPMM_OK) {
        *status = put(f, host, size, blank, to);
    }
    return to;
}

enum { NO_COLUMNS = 0xff, NO_VALUES = 0 }; /* bytes: SPMM_TC_NO_COLUMN and zeros */

static spmm_status_t upload(spmm_tc_engine_t *base)
{
    cvse_t                   *f  = (cvse_t *)base;
    const spmm_cvse_arrays_t *a  = &f->arrays;
    spmm_cvse_arrays_t       *to = &f->device_arrays;
    const spmm_cvse_tasks_t  *t  = &f->tasks;
    spmm_uploads_t           *up = &base->uploads;
    const size_t  blocks = (size_t)f->format.n_blocks, list = SPMM_CVSE_BLOCK * sizeof *a->col;
    const size_t  bits    = (size_t)a->height * sizeof *a->bits;
    const size_t  windows = (size_t)a->n_windows + 1;
    spmm_status_t status  = SPMM_OK;
    const void   *task;

    *to            = *a;
    to->col        = put_new(f, a->col, list, NO_COLUMNS, &status);
    to->values     = put_new(f, a->values, block_bytes(f), NO_VALUES, &status);
    to->bits       = f->dealt != NULL ? put_new(f, a->bits, bits, 0, &status)
                                      : spmmi_upload(up, a->bits, blocks * bits, 0, &status);
    to->window_ptr = SPMM_UPLOAD(up, a->window_ptr, windows, &status);
    task           = SPMM_UPLOAD(up, t->task, t->n_tasks, &status);
    spmmi_tc_let_go(base, offsetof(cvse_t, format.col), to->col, blocks * list, SPMM_TC_GONE,
                    &status);
    spmmi_tc_let_go(base, offsetof(cvse_t, format.values), to->values, blocks * block_bytes(f),
                    SPMM_TC_BLANK, &status);
    if (f->dealt == NULL) { /* dealt bits on the device are not those that refills ask for */
        spmmi_tc_let_go(base, offsetof(cvse_t, format.bits), to->bits, blocks * bits, SPMM_TC_BACK,
                        &status);
    }
    spmmi_tc_let_go(base, offsetof(cvse_t, tasks.task), task, (size_t)t->n_tasks * sizeof *t->task,
                    SPMM_TC_GONE, &status);
    SPMM_TRY(status);
    f->device_tasks =
        (spmm_cvse_short_t){.slice   = t->n_tasks > 0 ? f->variant.slice : 0,
                            .n_warps = t->n_warps,
                            .task    = task,
                            .col     = to->col + blocks * SPMM_CVSE_BLOCK,
                            .values  = (const char *)to->values + blocks * block_bytes(f)};
    f->device_tasks.slab =
        (spmm_cvse_slab_t){.columns = f->format.n_windows > 0 ? f->variant.slab : 0,
                           .n_warps = f->variant.n_warps,
                           .n_cols  = f->format.n_cols};
    memcpy(f->device_tasks.end, t->end, sizeof t->end);
    return SPMM_OK;
}

static spmm_status_t upload_values(spmm_tc_engine_t *base)
{
    cvse_t *f = (cvse_t *)base;

    SPMM_TRY(put(f, f->format.values, block_bytes(f), NO_VALUES,
                 (void *)(uintptr_t)f->device_arrays.values));
    return base->device->ops->stream_sync(base->device, NULL);
}

#ifdef SPMM_HAVE_CUDA
static int launch(const spmm_tc_engine_t *base, const spmm_tc_mm_args_t *args)
{
    const cvse_t *f = (const cvse_t *)base;

    return spmmi_cuda_cvse_mm(&f->device_arrays, &f->device_tasks, &base->work, args,
                              (cudaStream_t)args->x.stream);
}

static spmm_status_t preload(const spmm_device_t *device)
{
    return spmmi_cuda_check(device, spmmi_cuda_cvse_preload(), "loading the kernels of CVSE");
}
#endif

static const spmm_tc_kind_t kind = {
    .name          = "cvse",
    .kernel        = "the kernel cvse_mm",
    .size          = sizeof(cvse_t),
    .format        = 0, /* free(), refill() and held() take the engine */
    .arrays        = offsetof(cvse_t, arrays),
    .limits        = limits,
    .create        = create,
    .free          = release,
    .refill        = refill,
    .held          = held,
    .view          = spmmi_cvse_view,
    .upload        = upload,
    .upload_values = upload_values,
    .launch        = SPMM_TC_ON_CUDA(launch),
};

/* The same places in the order on the device. */
static spmm_status_t deal_places(const cvse_t *f, size_t size, int32_t **from)
{
    int32_t *const to =
        spmmi_cvse_dealt(&f->format, f->dealt, f->base.device->threads, *from, size);

    spmmi_free(*from);
    *from = to;
    return to != NULL ? SPMM_OK
                      : spmmi_fail_memory(&f->base.device->env->err, f->format.n_blocks, size,
                                          "the entries of dealt vectors");
}

static spmm_status_t places(const void *format, void **values, int64_t *count, int32_t **from)
{
    cvse_t                   *f      = (cvse_t *)(uintptr_t)format; /* the same afterwards */
    const spmm_device_t      *device = f->base.device;
    const spmm_cvse_arrays_t *a = device->kind == SPMM_DEVICE_CPU ? &f->arrays : &f->device_arrays;

    const size_t  block = block_bytes(f) / sizeof(uint16_t);
    const int64_t own   = f->format.n_blocks * (int64_t)block;
    spmm_status_t status;

    *values = (void *)(uintptr_t)a->values;
    *count  = own + f->tasks.n_tasks * (int64_t)block;
    if (SPMM_NEW(*from, *count) == NULL) {
        return spmmi_fail_memory(&device->env->err, *count, sizeof **from,
                                 "the entries of vectors");
    }
    status = spmmi_tc_bring_back(&f->base);
    if (status != SPMM_OK) {
        spmmi_free(*from);
        *from = NULL;
        return status;
    }
    spmmi_cvse_entries(&f->format, device->threads, *from);
    spmmi_cvse_tasks_gather(&f->tasks, *from, block * sizeof **from, NO_COLUMNS, *from + own);
    spmmi_tc_drop(&f->base);
    return f->dealt == NULL ? SPMM_OK : deal_places(f, block * sizeof **from, from);
}

/* One term in place of @p count where slabs are predicted to take less. */
static int slab_term(const spmm_pattern_t *pattern, const spmm_problem_t *problem,
                     const spmm_device_t *device, spmm_cost_term_t terms[], int count)
{
    const int32_t       n_cols = slab_rows(device, pattern->n_cols);
    spmm_cvse_variant_t list[SPMM_CVSE_VARIANTS];
    double              slab;

    (void)spmmi_cvse_variants(&pattern->tc, pattern->n_rows, n_cols, problem->n, device->n_sm,
                              list);
    if (list[0].slab == 0) {
        return count;
    }
    slab =
        spmmi_cvse_slab_s(&pattern->tc, pattern->n_rows, n_cols, problem->n, device->n_sm, list[0]);
    if (slab >= spmmi_cost_sum(terms, count)) {
        return count;
    }
    terms[0] = (spmm_cost_term_t){"slab", 1.0, slab};
    return 1;
}

/* A launch; what moves once, beyond L2 and within; the rows of B; work items that a warp takes one
 * after the other, by rough numbers of resident warps and of columns in a slice; the longest chain
 * of blocks, and the longest row, which says more of a window with many columns; and where n ends
 * within an access a part of what comes element by element, by slices of 32 columns: 3 would be all
 * of it, as where rows are not padded to whole accesses, and 0 right where they are, which plans do
 * not know.  Constants by bench/fit/fit.py from times on one H100, but that one
 * (docs/explanation/choices.md). */
static int gpu_terms(const spmm_pattern_t *pattern, const spmm_problem_t *problem,
                     const spmm_device_t *device, spmm_cost_term_t terms[SPMM_COST_TERMS])
{
    const double           us       = 1e-6;
    const int32_t          height   = spmmi_cvse_height(&pattern->tc, problem->n);
    const int32_t          windows  = spmmi_windows_count(pattern->n_rows, height);
    const double           pairs    = (double)pattern->tc.pairs[height / 16];
    const double           blocks   = pairs / SPMM_CVSE_BLOCK + 0.5 * windows;
    const double           a_bytes  = (4.0 + 2.0 * height) * SPMM_CVSE_BLOCK * blocks;
    const double           resident = height == 8 ? 20.0 : 16.0;
    const spmm_tc_limits_t cut      = limits(device, problem, windows, (int32_t)blocks);
    const spmm_tc_load_t   load     = spmmi_tc_load(pattern, height, SPMM_CVSE_BLOCK, cut);
    const double           team     = 4.0;
    const double warps = (load.single + team * load.team) * ceil((double)problem->n / 128.0);
    const double whole = ceil((double)problem->n / 32.0) * 32.0 / (double)problem->n;

    terms[0] = (spmm_cost_term_t){"launch", 5.35, us};
    spmmi_gpu_once_terms(device, spmmi_gpu_once_s(pattern, problem, device, a_bytes),
                         (const double[]){0.971, 0.621}, terms + 1);
    terms[3] =
        (spmm_cost_term_t){"gather", 0.854, spmmi_gpu_gather_s(pattern, problem, device, pairs)};
    terms[4] =
        (spmm_cost_term_t){"items", 0.144, fmax(1.0, warps / (resident * device->n_sm)) * us};
    terms[5] = (spmm_cost_term_t){"chain", 0.048,
                                  fmax(load.longest_single, load.longest_team / team) * us};
    terms[6] = spmmi_gpu_longest_term(pattern, 3.72);
    terms[7] =
        (spmm_cost_term_t){"narrow", 1.0, whole * spmmi_gpu_narrow(problem) * terms[3].seconds};
    return slab_term(pattern, problem, device, terms, 8);
}

static int cost(const spmm_pattern_t *pattern, const spmm_problem_t *problem,
                const spmm_device_t *device, spmm_cost_term_t terms[SPMM_COST_TERMS])
{
    return device->kind == SPMM_DEVICE_CPU ? spmmi_tc_cpu_cost(pattern, problem, device, terms)
                                           : gpu_terms(pattern, problem, device, terms);
}

static int variants(const spmm_pattern_t *pattern, const spmm_problem_t *problem,
                    const spmm_device_t *device)
{
    spmm_cvse_variant_t list[SPMM_CVSE_VARIANTS];

    return device->kind == SPMM_DEVICE_CPU ? 1
                                           : spmmi_cvse_variants(&pattern->tc, pattern->n_rows,
                                                                 slab_rows(device, pattern->n_cols),
                                                                 problem->n, device->n_sm, list);
}

static void describe(const void *format, const spmm_pattern_t *pattern, FILE *out)
{
    const cvse_t            *f = format;
    const spmm_cvse_tasks_t *t = &f->tasks;
    const int32_t            n = f->format.n_windows, blocks = f->format.n_blocks;

    if (f->variant.slab > 0 && n > 0) {
        (void)fprintf(out,
                      "  work of cvse: %" PRId32
                      " windows of 8 rows, %.1f blocks in the mean; thread blocks of %" PRId32
                      " warps keep %" PRId32 " columns of B in shared memory\n",
                      n, (double)blocks / n, f->variant.n_warps, f->variant.slab);
        return;
    }
    if (t->n_tasks == 0 || n == 0) {
        spmmi_tc_describe(format, pattern, out);
        return;
    }
    (void)fprintf(out,
                  "  work of cvse: %" PRId32 " windows of %" PRId32
                  " rows, %.1f blocks in the mean; teams of 1 to %" PRId32
                  " warps, so that a warp has up to %" PRId32 " blocks where that is enough\n"
                  "  tasks: %" PRId64 " warps for each %" PRId32 " columns, %" PRId32
                  " thread blocks of teams and %" PRId32 " of single warps\n",
                  n, f->format.height, (double)blocks / n, t->n_warps, f->variant.chain, t->n_tasks,
                  f->variant.slice, t->end[SPMM_CVSE_TEAMS - 2],
                  t->end[SPMM_CVSE_TEAMS - 1] - t->end[SPMM_CVSE_TEAMS - 2]);
}

/* Figures 12 and 13 of SSpMM. */
static void describe_pattern(const spmm_pattern_t *p, spmm_type_t type, FILE *out)
{
    for (int32_t height = 8; height <= 16 && spmm_type_size(type) == 2; height += 8) {
        const int64_t           vectors = p->tc.pairs[height / 16];
        const spmm_cvse_bytes_t b =
            spmmi_cvse_bytes(p->n_rows, p->nnz, vectors, height, p->tc.tc_blocks);

        (void)fprintf(out,
                      "  CVSE with V = %" PRId32 ": %" PRId64
                      " vectors, new sparsity %.1f %%, %zu bytes: %.2f of CSR, %.2f of ME-TCF\n",
                      height, vectors, 100.0 * b.new_sparsity, b.cvse,
                      (double)b.cvse / (double)b.csr, (double)b.cvse / (double)b.me_tcf);
    }
}

static const spmm_pattern_facts_t pattern_facts = {.describe = describe_pattern};

const spmm_engine_ops_t spmmi_engine_cvse = {
    .facts.name        = "cvse",
    .facts.description = "CVSE: vectors of 8 or 16 rows, transposed mma; FP16 and BF16",
    .facts.few_entries = true,
    .facts.pattern     = &pattern_facts,
    .preload           = SPMM_TC_ON_CUDA(preload),
    .supports          = spmmi_tc_supports_half,
    .cost              = cost,
    .variants          = variants,
    .kind              = &kind,
    .build             = spmmi_tc_build,
    .refill            = spmmi_tc_refill,
    .places            = places,
    .execute           = spmmi_tc_execute,
    .describe          = describe,
    .bytes             = spmmi_tc_bytes,
    .destroy           = spmmi_tc_destroy,
};
