/* SPDX-License-Identifier: Apache-2.0 */
/** @file engine.c
 *  BitTCF (Acc-SpMM) on tensor cores, the engines bittcf and dmma; on CPUs decoded and
 *  multiplied.
 *
 *  No published SpMM runs FP64 on tensor cores, but with 512 bytes of B for every 8 x 8 x 8
 *  products the memory system, not the FP64 unit, sets the pace, and condensed columns fetch a
 *  row of B once for 8 rows of A.
 */
#include <math.h>

#include "base/alloc.h"
#include "base/scalar.h"
#include "engine/bittcf/cost.h"
#include "engine/bittcf/engine.h"
#include "engine/bittcf/format.h"
#include "engine/choose/roofline.h"
#include "engine/tc/engine.h"
#include "spmm_dist/context.h"
#ifdef SPMM_HAVE_CUDA
#include "cuda/bittcf/bittcf.h"
#include "device/device_cuda.h"
#endif

typedef struct {
    spmm_tc_engine_t     base;
    spmm_bittcf_t        format;
    spmm_bittcf_arrays_t arrays;        /**< of format */
    spmm_bittcf_arrays_t device_arrays; /**< the copy */
} bittcf_t;

static spmm_status_t choose_tiles(const spmm_tc_engine_t *base, const spmm_csr_t *block,
                                  int32_t *tiles)
{
    spmm_tc_facts_t facts;
    int64_t         used_cols;

    *tiles = 1;
    if (base->device->kind == SPMM_DEVICE_CPU) {
        return SPMM_OK;
    }
    if (base->problem.pattern != NULL) {
        facts = base->problem.pattern->tc;
    } else {
        SPMM_TRY(spmmi_tc_facts_scan(base->device->env, block, &facts, &used_cols));
    }
    *tiles = spmmi_bittcf_tiles(&facts);
    return SPMM_OK;
}

spmm_status_t spmmi_bittcf_fill(spmm_tc_engine_t *base, const spmm_csr_t *block, int32_t tiles)
{
    bittcf_t *f = (bittcf_t *)base;

    SPMM_TRY(spmmi_bittcf_create(base->device->env, block,
                                 spmmi_pattern_windows(base->problem.pattern), tiles,
                                 base->device->threads, &f->format));
    f->arrays = spmmi_bittcf_arrays(&f->format);
    return SPMM_OK;
}

static spmm_status_t create(spmm_tc_engine_t *base, const spmm_csr_t *block)
{
    int32_t tiles;

    SPMM_TRY(choose_tiles(base, block, &tiles));
    return spmmi_bittcf_fill(base, block, tiles);
}

/* Kernels load a row of B for every place of a block, so that no load depends on a comparison: a
 * place without a column repeats the one before it, which costs a hit in L1.  Its entries of A are
 * zero. */
static const int32_t *upload_columns(spmm_tc_engine_t *base, const spmm_bittcf_arrays_t *a,
                                     int64_t n_blocks, spmm_status_t *status)
{
    const int64_t n    = n_blocks * SPMM_BITTCF_SIDE;
    const size_t  size = sizeof *a->col;
    const void   *device;
    int32_t      *col;

    if (SPMM_NEW(col, n) == NULL) {
        *status = spmmi_fail_memory(&base->device->env->err, n, size, "columns of TC blocks");
        return NULL;
    }
#pragma omp parallel for num_threads(spmmi_cpu_team(base->device->threads))
    for (int64_t b = 0; b < n_blocks; b++) {
        int32_t last = SPMM_TC_NO_COLUMN; /* the first column of a block is never missing */

        for (int64_t k = b * SPMM_BITTCF_SIDE; k < (b + 1) * SPMM_BITTCF_SIDE; k++) {
            last   = a->col[k] != SPMM_TC_NO_COLUMN ? a->col[k] : last;
            col[k] = last;
        }
    }
    device =
        spmmi_tc_upload(base, col, (size_t)n * size, SPMM_TC_PAD * SPMM_BITTCF_SIDE * size, status);
    spmmi_free(col);
    spmmi_tc_let_go(base, offsetof(bittcf_t, format.col), device, (size_t)n * size, SPMM_TC_GONE,
                    status);
    return device;
}

static spmm_status_t upload(spmm_tc_engine_t *base)
{
    bittcf_t                   *f      = (bittcf_t *)base;
    const spmm_bittcf_arrays_t *a      = &f->arrays;
    spmm_bittcf_arrays_t       *to     = &f->device_arrays;
    const size_t                blocks = (size_t)f->format.n_blocks, index = sizeof(int32_t);
    const size_t                bits   = (size_t)a->tiles * sizeof *a->bits;
    const size_t                nnz    = (size_t)a->value_ptr[blocks];
    spmm_status_t               status = SPMM_OK;

    *to      = *a;
    to->col  = upload_columns(base, a, f->format.n_blocks, &status);
    to->bits = spmmi_tc_upload(base, a->bits, blocks * bits, SPMM_TC_PAD * bits, &status);
    to->window_ptr =
        spmmi_tc_upload(base, a->window_ptr, ((size_t)a->n_windows + 1) * index, 0, &status);
    to->value_ptr = spmmi_tc_upload(base, a->value_ptr, (blocks + 1) * index, 0, &status);
    to->values    = spmmi_tc_upload_values(base, offsetof(bittcf_t, format.values),
                                           nnz * spmm_type_size(a->type), SPMM_TC_BLANK, &status);
    spmmi_tc_let_go(base, offsetof(bittcf_t, format.bits), to->bits, blocks * bits, SPMM_TC_BACK,
                    &status);
    spmmi_tc_let_go(base, offsetof(bittcf_t, format.value_ptr), to->value_ptr, (blocks + 1) * index,
                    SPMM_TC_BACK, &status);
    return status;
}

#ifdef SPMM_HAVE_CUDA
static int launch(const spmm_tc_engine_t *base, const spmm_tc_mm_args_t *args)
{
    const bittcf_t *f = (const bittcf_t *)base;

    return spmmi_cuda_bittcf_mm(&f->device_arrays, &base->work, args, (cudaStream_t)args->x.stream);
}

static spmm_status_t preload(const spmm_device_t *device)
{
    return spmmi_cuda_check(device, spmmi_cuda_bittcf_preload(), "loading the kernels of BitTCF");
}
#endif

const spmm_tc_kind_t spmmi_tc_kind_bittcf = {
    .name   = "bittcf",
    .kernel = "the kernel bittcf_mm",
    .size   = sizeof(bittcf_t),
    .format = offsetof(bittcf_t, format),
    .arrays = offsetof(bittcf_t, arrays),
    .limits = spmmi_bittcf_limits,
    .create = create,
    .free   = spmmi_bittcf_free,
    .refill = spmmi_bittcf_refill,
    .held   = spmmi_bittcf_held,
    .view   = spmmi_bittcf_view,
    .upload = upload,
    .launch = SPMM_TC_ON_CUDA(launch),
};

static spmm_status_t build(const spmm_csr_t *block, const spmm_problem_t *problem,
                           const spmm_device_t *device, void **format)
{
    return spmmi_tc_build(&spmmi_tc_kind_bittcf, block, problem, device, format);
}

/* The kernels take column-major blocks, the product on CPUs does not. */
static bool reads_columns(const spmm_problem_t *problem, const spmm_device_t *device)
{
    return problem->layout == SPMM_LAYOUT_COL && device->kind == SPMM_DEVICE_CUDA;
}

/* Of FP32 or FP64, real or complex. */
static bool supports_part(const spmm_problem_t *problem, const spmm_device_t *device,
                          spmm_type_t part, spmm_type_t whole, char why[SPMM_WHY])
{
    spmm_problem_t rows = *problem;

    rows.layout = reads_columns(problem, device) ? SPMM_LAYOUT_ROW : problem->layout;
    return spmmi_tc_supports(&rows, device, spmmi_is_complex(problem->ab_type) ? whole : part, why);
}

static bool supports_32f(const spmm_problem_t *problem, const spmm_device_t *device,
                         char why[SPMM_WHY])
{
    return supports_part(problem, device, SPMM_R_32F, SPMM_C_32F, why);
}

static bool supports_64f(const spmm_problem_t *problem, const spmm_device_t *device,
                         char why[SPMM_WHY])
{
    return supports_part(problem, device, SPMM_R_64F, SPMM_C_64F, why);
}

/* One column leaves most of a fragment unused: 0.9 to 1.4 times the time that the terms are, twice
 * where windows are long, 14 real matrices in FP64 on one H200.  Some more columns take no less. */
static int terms_of(const spmm_pattern_t *pattern, const spmm_problem_t *problem,
                    const spmm_device_t *device, spmm_cost_term_t terms[SPMM_COST_TERMS])
{
    const double     column = 1.25;
    spmm_problem_t   one    = *problem;
    spmm_cost_term_t of_one[SPMM_COST_TERMS];
    const int        n = spmmi_bittcf_terms(pattern, problem, device, terms);

    one.n = 1;
    (void)spmmi_bittcf_terms(pattern, &one, device, of_one);
    if (spmmi_gpu_sum_s(terms, n) < column * spmmi_gpu_sum_s(of_one, n)) {
        for (int k = 0; k < n; k++) {
            terms[k] = of_one[k];
            terms[k].seconds *= column;
        }
    }
    return n;
}

static double cost(const spmm_pattern_t *pattern, const spmm_problem_t *problem,
                   const spmm_device_t *device)
{
    return spmmi_tc_cost(pattern, problem, device, terms_of);
}

static void describe_pattern(const spmm_pattern_t *p, spmm_type_t type, FILE *out)
{
    const spmm_bittcf_bytes_t b = spmmi_bittcf_bytes(p->n_rows, p->tc.tc_blocks, p->nnz, type);

    (void)fprintf(out,
                  "  bytes of indices: CSR %zu, TCF %zu, ME-TCF %zu, BitTCF %zu; of values %zu\n",
                  b.csr, b.tcf, b.me_tcf, b.bittcf, b.values);
}

#define ENGINE(engine_name, text, supports_of, preload_of, tell)                                   \
    {                                                                                              \
        .name = (engine_name), .description = (text), .built = true, .preload = (preload_of),      \
        .describe_pattern = (tell), .supports = (supports_of), .cost = cost, .terms = terms_of,    \
        .stores_columns = true, .follows = true, .build = build, .refill = spmmi_tc_refill,        \
        .execute = spmmi_tc_execute, .describe = spmmi_tc_describe, .bytes = spmmi_tc_bytes,       \
        .destroy = spmmi_tc_destroy                                                                \
    }

const spmm_engine_ops_t spmmi_engine_bittcf =
    ENGINE("bittcf", "BitTCF: 8x8 blocks of condensed columns, bit patterns; FP32 and TF32",
           supports_32f, SPMM_TC_ON_CUDA(preload), describe_pattern);
const spmm_engine_ops_t spmmi_engine_dmma =
    ENGINE("dmma", "BitTCF blocks on FP64 tensor cores", supports_64f, NULL, NULL);
