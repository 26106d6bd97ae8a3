/* SPDX-License-Identifier: Apache-2.0 */
/** @file bittcf.c
 *  BitTCF (Acc-SpMM) on tensor cores, the engines bittcf and dmma; on CPUs decoded and
 *  multiplied.
 *
 *  No published SpMM runs FP64 on tensor cores, but with 512 bytes of B for every 8 x 8 x 8
 *  products the memory system, not the FP64 unit, sets the pace, and condensed columns fetch a
 *  row of B once for 8 rows of A.
 */
#include "engine/windows/bittcf.h"

#include <math.h>

#include "base/alloc.h"
#include "base/scalar.h"
#include "engine/tune/roofline.h"
#include "engine/windows/bittcf_args.h"
#include "engine/windows/bittcf_format.h"
#include "engine/windows/tc.h"
#include "spmm_dist/context.h"
#ifdef SPMM_HAVE_CUDA
#include "cuda/windows/bittcf.h"
#include "device/device_cuda.h"
#endif

/* Tiles of 8 rows in a window.  Windows of 8 rows as in the paper, or on a GPU of 16 where that
 * saves nearly half of the pairs of a window and an active column, each a row of B to fetch: taller
 * blocks keep fewer warps resident and multiply more padding.  At three quarters of the pairs 8
 * rows were still as fast or faster, over real matrices and stand-ins on one H200. */
static int32_t bittcf_tiles(const spmm_tc_facts_t *facts)
{
    const double worth_it = 0.65;

    return (double)facts->pairs[1] < worth_it * (double)facts->pairs[0] ? 2 : 1;
}

/* The share of one resident warp if all had the same: a window above it is for the warps of a whole
 * thread block, and one far above that is cut, at the earliest where each warp of its thread block
 * has 16 blocks (Acc-SpMM, section 3.5, allows 32).  Few windows take thread blocks of twice the
 * warps, see the launcher.  Measured on one H200: without teams the small matrices with long rows
 * took 1.2 to 2.7 times as long. */
static spmm_tc_limits_t bittcf_limits(const spmm_device_t *device, const spmm_problem_t *problem,
                                      int32_t n_windows, int32_t blocks)
{
    enum { WARPS = 32, LEAST = 12, CUT = 8 };
    const int32_t n_sm      = device->n_sm;
    const int32_t share     = blocks / (WARPS * n_sm);
    const int32_t team      = share > LEAST ? share : LEAST;
    const int32_t least_cut = n_windows <= SPMM_TC_FEW * n_sm ? 128 : 64;

    (void)problem;
    return (spmm_tc_limits_t){.team = team, .cut = CUT * team > least_cut ? CUT * team : least_cut};
}

/** What the launcher (kernels/cuda/windows/bittcf_launch.cuh) makes of a product. */
typedef struct {
    double width;    /**< columns of a slice */
    double loads;    /**< of a lane for each row of B: 1, 2 or 4 */
    double slices;   /**< of C */
    double team;     /**< warps of a thread block */
    double resident; /**< warps on a multiprocessor */
} launch_t;

/* Thread blocks of 4 warps that a multiprocessor holds, with 1, 2 and 4 loads of a lane for each
 * row of B; the registers that are left decide.  Complex kernels hold fewer: their constants were
 * fitted with these. */
static double resident_warps(spmm_compute_t compute, int32_t tiles, int loads, double team)
{
    static const int blocks[3][3] = {{8, 7, 5}, {6, 5, 4}, {6, 5, 3}}; /* TF32, wider sums, tiles */
    const int        row          = tiles == 2 ? 2 : compute == SPMM_COMPUTE_32F_FAST_TF32 ? 0 : 1;
    const int        four         = blocks[row][loads / 2];

    return team > 4.0 ? (double)(four / 2) * team : four * team;
}

static double warps_of(const spmm_tc_load_t *load, const launch_t *s)
{
    return (load->single + load->team * s->team) * s->slices;
}

/* The widest slices that compute no more columns than narrower ones and leave enough warps. */
static launch_t launch_of(const spmm_tc_load_t *load, const spmm_problem_t *problem,
                          const spmm_device_t *device, int32_t tiles)
{
    const double enough = 12.0;
    const int most = problem->layout != SPMM_LAYOUT_COL && spmmi_gpu_narrow(problem) > 0.0 ? 1 : 4;
    const double narrow = 128.0 / (double)spmm_type_size(problem->ab_type);
    const bool   pairs  = problem->ab_type == SPMM_R_64F && (double)problem->n > 6.0 * narrow;
    const double step   = pairs ? 2.0 * narrow : narrow;
    const double up     = ceil((double)problem->n / step) * step;
    const double n      = problem->layout == SPMM_LAYOUT_COL ? (double)problem->n : up;
    launch_t     best   = {.width = narrow, .loads = 1.0, .slices = ceil(n / narrow)};

    best.team = load->single + load->team <= (double)SPMM_TC_FEW * device->n_sm ? 8.0 : 4.0;
    for (int more = 2; more <= most; more *= 2) {
        launch_t wide = {.width = more * narrow, .loads = more, .team = best.team};

        wide.slices = ceil(n / wide.width);
        if (n >= wide.width && wide.slices * wide.width <= best.slices * best.width &&
            warps_of(load, &wide) >= enough * device->n_sm) {
            best = wide;
        }
    }
    best.resident = resident_warps(problem->compute, tiles, (int)best.loads, best.team);
    return best;
}

/* Windows that a resident warp takes one after the other.  Up to two times as many as are
 * resident take two rounds: the second one leaves multiprocessors idle.  Of more, short ones
 * make up for long ones. */
static double rounds_of(const spmm_tc_load_t *load, const launch_t *s, const spmm_device_t *device)
{
    const double waves = warps_of(load, s) / (s->resident * device->n_sm);

    return waves <= 1.0 ? 1.0 : fmax(waves, 2.0);
}

/* Blocks of one warp in that many rounds, one after the other, the longest chain last; one takes
 * longer where slices are wider. */
static double chain_of(const spmm_tc_load_t *load, const launch_t *s, double rounds, double blocks)
{
    const double wider   = 0.3; /* for twice the loads; 0.2 to 0.4 make no difference */
    const double mean    = blocks / fmax(load->single + load->team * s->team, 1.0);
    const double longest = fmax(load->longest_single, load->longest_team / s->team);

    return (longest + (rounds - 1.0) * mean) * (1.0 + wider * log2(s->loads));
}

/* Of the terms below, by bench/fit/fit.py from times on one H100, narrow, complex and column-major
 * ones but for those of FP64 on one H200 (docs/explanation/choices.md): TF32, 3xTF32 and FP64, of
 * real and of complex numbers, row-major; and column-major, where TF32 and complex numbers were not
 * measured: they are as the others, with the chain of rows. */
static const double constants[2][2][3][8] = {
    {{
         {5.46, 0.646, 0.333, 0.614, 0.914, 0.215, 1.70, 3.98},
         {6.58, 0.672, 0.371, 0.837, 0.825, 0.128, 1.35, 5.96},
         {5.70, 0.650, 0.162, 0.631, 1.610, 0.086, 0.50, 5.72},
     },
     {
         {3.21, 0.514, 0.514, 0.209, 2.24, 0.420},
         {4.12, 0.700, 0.700, 0.770, 1.11, 0.572},
         {3.76, 0.817, 0.817, 0.381, 0.246, 0.429},
     }},
    {{
         {3.66, 2.510, 2.510, 0.319, 0.81, 0.536},
         {3.66, 2.510, 2.510, 0.319, 0.81, 0.536},
         {4.23, 1.370, 1.000, 0.912, 0.149, 0.199},
     },
     {
         {4.68, 1.120, 1.120, 0.841, 1.19, 0.420},
         {4.68, 1.120, 1.120, 0.841, 1.19, 0.572},
         {3.10, 0.817, 0.817, 0.937, 1.12, 0.429},
     }},
};

static const double *constants_of(const spmm_problem_t *problem)
{
    const int mode = problem->compute == SPMM_COMPUTE_64F   ? 2
                     : problem->compute == SPMM_COMPUTE_32F ? 1
                                                            : 0;

    return constants[problem->layout == SPMM_LAYOUT_COL][spmmi_is_complex(problem->ab_type)][mode];
}

/* Column-major B comes in sectors of 32 bytes, each of one column: as rows of as many bytes. */
static double sectors(const spmm_pattern_t *pattern, const spmm_problem_t *problem)
{
    const double size = (double)spmm_type_size(problem->ab_type);

    return (double)pattern->tc.quads * fmax(4.0, 32.0 / size);
}

/* us that a block of a chain takes longer where rows of B come element by element, as those of few
 * columns do: 0.37 to 0.50 on three stand-ins in FP32, N = 8, one H100; 0.1 and 0.4 in FP64, where
 * it is left out. */
static double few(const spmm_problem_t *problem)
{
    return problem->layout != SPMM_LAYOUT_COL && problem->ab_type == SPMM_R_32F && problem->n > 1 &&
                   problem->n <= 16
               ? 0.4
               : 0.0;
}

/* What moves once, beyond L2 and within; a row of B for every pair of a window and an active
 * column, through L2; windows that a warp takes one after the other, each with its start, its store
 * of C and what it waits for; their blocks; rows of B that come element by element; and the longest
 * row, which says more of a window with many columns than its blocks do. */
int spmmi_bittcf_terms(const spmm_pattern_t *pattern, const spmm_problem_t *problem,
                       const spmm_device_t *device, spmm_cost_term_t terms[SPMM_COST_TERMS])
{
    const double  us      = 1e-6;
    const int32_t tiles   = bittcf_tiles(&pattern->tc);
    const int     height  = SPMM_BITTCF_SIDE * tiles;
    const int32_t windows = spmmi_windows_count(pattern->n_rows, height);
    const double  pairs   = (double)pattern->tc.pairs[tiles - 1];
    const double  blocks  = pairs / SPMM_BITTCF_SIDE + 0.5 * windows;
    const double  a_bytes = (36.0 + 8.0 * tiles) * blocks +
                           (double)spmm_type_size(problem->ab_type) * (double)pattern->nnz;
    const spmm_tc_load_t load =
        spmmi_tc_load(pattern, height, SPMM_BITTCF_SIDE,
                      bittcf_limits(device, problem, windows, (int32_t)blocks));
    const launch_t launch = launch_of(&load, problem, device, tiles);
    const double   rounds = rounds_of(&load, &launch, device);
    const double  *c      = constants_of(problem);
    const double   rows   = problem->layout == SPMM_LAYOUT_COL ? sectors(pattern, problem) : pairs;

    terms[0] = (spmm_cost_term_t){"launch", c[0], us};
    spmmi_gpu_once_terms(device, spmmi_gpu_once_s(pattern, problem, device, a_bytes), c + 1,
                         terms + 1);
    terms[3] =
        (spmm_cost_term_t){"gather", c[3], spmmi_gpu_gather_s(pattern, problem, device, rows)};
    terms[4] = (spmm_cost_term_t){"items", c[4], rounds * us};
    terms[5] = (spmm_cost_term_t){"chain", c[5] + few(problem),
                                  chain_of(&load, &launch, rounds, blocks) * us};
    terms[6] = (spmm_cost_term_t){
        "narrow", c[6],
        problem->layout == SPMM_LAYOUT_COL ? 0.0 : spmmi_gpu_narrow(problem) * terms[3].seconds};
    terms[7] = spmmi_gpu_longest_term(pattern, c[7]);
    /* Column-major C from row-major B: ps of each element, medians of 40 real matrices on one H100:
     * -1.9, 0.5 and 0.8 in FP64, -2.2, 0.9 and 3.5 in FP32, N = 8, 32 and 128. */
    terms[8] = (spmm_cost_term_t){
        "columns", spmm_type_size(problem->c_type) < 8 ? fmin((double)problem->n / 32.0, 3.0) : 0.8,
        problem->layout == SPMM_LAYOUT_MIXED ? (double)problem->n * (double)pattern->c_rows * 1e-12
                                             : 0.0};
    return 9;
}

typedef struct {
    spmm_tc_engine_t     base;
    spmm_bittcf_t        format;
    spmm_bittcf_arrays_t arrays;        /**< of format */
    spmm_bittcf_arrays_t device_arrays; /**< the copy */
} bittcf_t;

static spmm_status_t create(spmm_tc_engine_t *base, const spmm_csr_t *block)
{
    const spmm_pattern_t *pattern = base->problem.pattern;
    const int32_t tiles = base->device->kind == SPMM_DEVICE_CPU ? 1 : bittcf_tiles(&pattern->tc);
    bittcf_t     *f     = (bittcf_t *)base;

    SPMM_TRY(spmmi_bittcf_create(base->device->env, block, spmmi_pattern_windows(pattern), tiles,
                                 base->device->threads, &f->format));
    f->arrays = spmmi_bittcf_arrays(&f->format);
    return SPMM_OK;
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
    device = spmmi_upload(&base->uploads, col, (size_t)n * size,
                          SPMM_TC_PAD * SPMM_BITTCF_SIDE * size, status);
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
    to->bits = spmmi_upload(&base->uploads, a->bits, blocks * bits, SPMM_TC_PAD * bits, &status);
    to->window_ptr = SPMM_UPLOAD(&base->uploads, a->window_ptr, (int64_t)a->n_windows + 1, &status);
    to->value_ptr  = SPMM_UPLOAD(&base->uploads, a->value_ptr, blocks + 1, &status);
    to->values     = spmmi_tc_upload_values(base, offsetof(bittcf_t, format.values),
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

static const spmm_tc_kind_t kind = {
    .name   = "bittcf",
    .kernel = "the kernel bittcf_mm",
    .size   = sizeof(bittcf_t),
    .format = offsetof(bittcf_t, format),
    .arrays = offsetof(bittcf_t, arrays),
    .limits = bittcf_limits,
    .create = create,
    .free   = spmmi_bittcf_free,
    .refill = spmmi_bittcf_refill,
    .held   = spmmi_bittcf_held,
    .view   = spmmi_bittcf_view,
    .upload = upload,
    .launch = SPMM_TC_ON_CUDA(launch),
};

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
static int cost(const spmm_pattern_t *pattern, const spmm_problem_t *problem,
                const spmm_device_t *device, spmm_cost_term_t terms[SPMM_COST_TERMS])
{
    const double     column = 1.25;
    spmm_problem_t   one    = *problem;
    spmm_cost_term_t of_one[SPMM_COST_TERMS];
    int              n;

    if (device->kind == SPMM_DEVICE_CPU) {
        return spmmi_tc_cpu_cost(pattern, problem, device, terms);
    }
    n     = spmmi_bittcf_terms(pattern, problem, device, terms);
    one.n = 1;
    (void)spmmi_bittcf_terms(pattern, &one, device, of_one);
    if (spmmi_cost_sum(terms, n) < column * spmmi_cost_sum(of_one, n)) {
        for (int k = 0; k < n; k++) {
            terms[k] = of_one[k];
            terms[k].seconds *= column;
        }
    }
    return n;
}

static void describe_pattern(const spmm_pattern_t *p, spmm_type_t type, FILE *out)
{
    const spmm_bittcf_bytes_t b = spmmi_bittcf_bytes(p->n_rows, p->tc.tc_blocks, p->nnz, type);

    (void)fprintf(out,
                  "  bytes of indices: CSR %zu, TCF %zu, ME-TCF %zu, BitTCF %zu; of values %zu\n",
                  b.csr, b.tcf, b.me_tcf, b.bittcf, b.values);
}

static const spmm_pattern_facts_t pattern_facts = {.describe = describe_pattern};

#define ENGINE(engine_name, text, supports_of, preload_of)                                         \
    {                                                                                              \
        .facts.name = (engine_name), .facts.description = (text), .facts.few_entries = true,       \
        .facts.stores_columns = true, .facts.follows = true, .facts.pattern = &pattern_facts,      \
        .preload = (preload_of), .supports = (supports_of), .cost = cost, .kind = &kind,           \
        .build = spmmi_tc_build, .refill = spmmi_tc_refill, .execute = spmmi_tc_execute,           \
        .describe = spmmi_tc_describe, .bytes = spmmi_tc_bytes, .destroy = spmmi_tc_destroy        \
    }

const spmm_engine_ops_t spmmi_engine_bittcf =
    ENGINE("bittcf", "BitTCF: 8x8 blocks of condensed columns, bit patterns; FP32 and TF32",
           supports_32f, SPMM_TC_ON_CUDA(preload));
const spmm_engine_ops_t spmmi_engine_dmma =
    ENGINE("dmma", "BitTCF blocks on FP64 tensor cores", supports_64f, NULL);
