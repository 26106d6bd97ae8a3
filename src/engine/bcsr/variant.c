/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/bcsr/variant.h"

#include <inttypes.h>
#include <math.h>

#include "engine/tune/roofline.h"
#include "engine/windows/tc.h"
#include "spmm_dist/context.h"

/* What BCSR makes of a pattern, as patterns keep it and --explain prints it. */

/* Types of 32 and 64 bits have no use for them. */
static void scan(const spmm_pattern_t *pattern, const spmm_csr_t *block, int threads, void *facts)
{
    if (spmm_type_size(block->type) == 2) {
        spmmi_bcsr_measure(&pattern->windows, block->n_rows, threads, facts);
    }
}

const spmm_bcsr_facts_t *spmmi_bcsr_facts(const spmm_pattern_t *pattern)
{
    static const spmm_bcsr_facts_t none[SPMM_BCSR_PANELS];
    const spmm_bcsr_facts_t       *facts = spmmi_pattern_facts(pattern, &spmmi_bcsr_pattern_facts);

    return facts != NULL ? facts : none;
}

static void describe(const spmm_pattern_t *p, spmm_type_t type, FILE *out)
{
    const spmm_bcsr_facts_t *f     = spmmi_bcsr_facts(p);
    const int64_t            tiles = f->tiles + 2 * f->sp24;

    (void)type; /* others have no facts */
    if (tiles > 0) {
        (void)fprintf(out,
                      "  16x16 tiles: %" PRId64 ", density %.1f %%; 16x32 tiles: %" PRId64
                      ", of which %.1f %% are 2:4\n",
                      tiles, 100.0 * (double)p->nnz / (256.0 * (double)tiles), f->wide,
                      100.0 * (double)f->legal / (double)f->wide);
    }
}

const spmm_pattern_facts_t spmmi_bcsr_pattern_facts = {
    .size = SPMM_BCSR_PANELS * sizeof(spmm_bcsr_facts_t), .scan = scan, .describe = describe};

#define STEPS(n_rows, columns)                                                                     \
    {                                                                                              \
        .kernel = SPMM_BCSR_BY_STEPS, .rows = (n_rows), .slice = (columns)                         \
    }
#define LISTS(n_rows, warps, columns, two_of_four)                                                 \
    {                                                                                              \
        .kernel = SPMM_BCSR_BY_LISTS, .rows = (n_rows), .slice = (columns), .split = (warps),      \
        .sp24 = (two_of_four)                                                                      \
    }

#define ROWS(warps, two_of_four)                                                                   \
    {                                                                                              \
        .kernel = SPMM_BCSR_BY_ROWS, .rows = 4, .slice = 32, .split = (warps),                     \
        .sp24 = (two_of_four)                                                                      \
    }

/* Taller panels and narrower slices by steps, and 2:4 tiles as such elsewhere, were behind
 * others for every matrix and width measured. */
const spmm_bcsr_variant_t spmmi_bcsr_variants[SPMM_BCSR_VARIANTS] = {
    STEPS(4, 128),          LISTS(4, 1, 32, false),  LISTS(4, 1, 64, false),
    LISTS(4, 4, 32, false), LISTS(4, 4, 64, false),  LISTS(8, 2, 32, false),
    LISTS(8, 2, 64, false), LISTS(16, 1, 32, false), LISTS(16, 1, 64, false),
    LISTS(16, 1, 64, true), ROWS(1, false),          ROWS(4, false),
    ROWS(1, true)};

const char *spmmi_bcsr_kernel_name(spmm_bcsr_kernel_t kernel)
{
    static const char *const names[SPMM_BCSR_KERNELS] = {"steps", "lists", "rows"};

    return names[kernel];
}

/** What a product takes with one variant, in plain accounts. */
typedef struct {
    double cut;    /**< 1 where sums of work items are added by a second kernel */
    double a, b;   /**< bytes through L2: the format for each slice, rows of B for each panel */
    double mma_s;  /**< on tensor cores, at full rate */
    double starts; /**< of thread blocks, one after the other */
    double chunks; /**< by lists: barriers, one after the other */
    double
        products; /**< of tiles by 32 columns in a warp, one after the other; by steps: of steps */
} account_t;

/** Seconds for each of these. */
typedef struct {
    double launch, cut, a, b, mma, start, chunk, product;
} rates_t;

/* Fitted to times on one H200, these and more variants, 5 matrices and 4 widths: by lists within
 * 6 % (median), by steps and with 2:4 tiles within 5 and 10 %. */
static const rates_t steps_rates = {3.6e-6, 3.9e-6, 0.12e-12, 0.005e-12,
                                    0.85,   2.8e-6, 0.0,      0.265e-6};
static const rates_t lists_rates = {3.6e-6, 3.9e-6, 0.109e-12, 0.044e-12,
                                    0.0,    2.8e-6, 0.21e-6,   0.1425e-6};
static const rates_t sp24_rates  = {6.2e-6, 4.2e-6, 0.0955e-12, 0.0734e-12,
                                    0.0,    2.7e-6, 0.63e-6,    0.055e-6};

/* To times of 11 matrices at N = 16: within 3 % (median; 20 % at most). */
static const rates_t rows_rates = {3.33e-6, 6.25e-6, 0.083e-12, 0.083e-12,
                                   0.0,     2.55e-6, 0.0,       0.1226e-6};

/* 2:4 tiles are taken as such where they are predicted to gain more than their prediction errs
 * by. */
static const double sp24_doubt = 1.3;

/* The variant that is best predicted takes more than that: in the median so many times, 60 times of
 * 23 real matrices in FP16 on one H100; tiles of few entries most. */
static const double optimism = 1.25;

/* Thread blocks on a multiprocessor: registers for the sums decide (bcsr_launch.cuh). */
static double resident(spmm_bcsr_variant_t variant)
{
    if (variant.kernel == SPMM_BCSR_BY_ROWS) {
        return variant.split == 1 ? 6.0 : 2.0; /* by what they share of memory */
    }
    return variant.rows * variant.split == 16 ? 1.0 : variant.slice == 32 ? 5.0 : 4.0;
}

static const rates_t *rates_of(spmm_bcsr_variant_t variant)
{
    return variant.kernel == SPMM_BCSR_BY_STEPS  ? &steps_rates
           : variant.kernel == SPMM_BCSR_BY_ROWS ? &rows_rates
           : variant.sp24                        ? &sp24_rates
                                                 : &lists_rates;
}

/* What one thread block of @p steps steps takes, one after the other. */
static void add_block(const spmm_bcsr_facts_t *facts, spmm_bcsr_variant_t variant, double steps,
                      double tiles, account_t *x)
{
    const double wide = variant.slice / 32.0;

    x->starts = 1.0;
    if (variant.kernel != SPMM_BCSR_BY_STEPS) {
        const double chunk = 48.0 * variant.rows * variant.split / variant.slice; /* steps */

        x->chunks = ceil(steps / chunk);
        x->products =
            wide * tiles * steps / fmax((double)facts->steps, 1.0) / (variant.rows * variant.split);
    } else {
        x->products = steps * (1.0 + 0.12 * wide * variant.rows / 4.0);
    }
}

/* Rates of mma and mma.sp that one H200 reached: 641 and 968 TFLOP/s as of dense tiles. */
static account_t account(const spmm_bcsr_facts_t *facts, int32_t n_rows,
                         spmm_bcsr_variant_t variant, int64_t n, int32_t n_sm)
{
    const double dense = 641e12 / 132.0 * n_sm, sparse = 968e12 / 132.0 * n_sm;
    const double slices = ceil((double)n / variant.slice), columns = slices * variant.slice;
    const double tiles  = (double)facts->tiles + (variant.sp24 ? 0.0 : 2.0 * (double)facts->sp24);
    const double wide   = variant.sp24 ? (double)facts->sp24 : 0.0;
    const double panels = (double)spmmi_windows_count(n_rows, SPMM_BCSR_SIDE * variant.rows);
    const double steps = (double)facts->steps, cut = spmmi_bcsr_cut(variant, n_sm, n, facts->steps);
    const double items = fmax(fmax(panels, steps / cut), 1.0);
    const double waves = fmax(1.0, items * slices / (resident(variant) * n_sm));
    const rates_t *r   = rates_of(variant);
    account_t      x = {.cut = (double)facts->longest > cut ? 1.0 : 0.0}, last = {.cut = 0.0};

    x.a = slices * (512.0 * tiles + 576.0 * wide + 16.0 * steps) * 132.0 / n_sm;
    x.b = (double)facts->sides * 32.0 * columns * 132.0 / n_sm;
    if (variant.kernel == SPMM_BCSR_BY_ROWS) { /* each tile has its own; kernels of 16 and 32 */
        x.b = (32.0 * tiles + 64.0 * wide) * (n <= 16 ? 16.0 : columns) * 132.0 / n_sm;
    }
    x.mma_s = 512.0 * columns * tiles / dense + 1024.0 * columns * wide / sparse;
    add_block(facts, variant, steps / items, tiles + wide, &x);
    x.starts *= waves;
    x.chunks *= waves;
    x.products *= waves;
    add_block(facts, variant, fmin((double)facts->longest, cut), tiles + wide, &last);
    if (r->chunk * last.chunks + r->product * last.products >
        r->chunk * x.chunks + r->product * x.products) { /* the longest work item alone is longer */
        x.chunks   = last.chunks;
        x.products = last.products;
    }
    return x;
}

static int terms_by(const account_t *x, const rates_t *r, spmm_cost_term_t terms[SPMM_COST_TERMS])
{
    terms[0] = (spmm_cost_term_t){"launch", 1.0, r->launch + r->cut * x->cut};
    terms[1] = (spmm_cost_term_t){"A", 1.0, r->a * x->a};
    terms[2] = (spmm_cost_term_t){"B", 1.0, r->b * x->b};
    terms[3] = (spmm_cost_term_t){"mma", 1.0, r->mma * x->mma_s};
    terms[4] = (spmm_cost_term_t){
        "blocks", 1.0, r->start * x->starts + r->chunk * x->chunks + r->product * x->products};
    return 5;
}

static double seconds_of(const spmm_bcsr_facts_t *facts, int32_t n_rows,
                         spmm_bcsr_variant_t variant, int64_t n, int32_t n_sm)
{
    const account_t  x = account(&facts[variant.rows / 8], n_rows, variant, n, n_sm);
    spmm_cost_term_t sum[SPMM_COST_TERMS];

    return spmmi_cost_sum(sum, terms_by(&x, rates_of(variant), sum)) *
           (variant.sp24 ? sp24_doubt : 1.0);
}

/** A variant and what it is predicted to take. */
typedef struct {
    spmm_bcsr_variant_t variant;
    double              seconds;
} ranked_t;

/* Into its place among the best. */
static int rank_in(ranked_t best[SPMM_BCSR_RANKED], int n, ranked_t one)
{
    int at = n;

    while (at > 0 && one.seconds < best[at - 1].seconds) {
        if (at < SPMM_BCSR_RANKED) {
            best[at] = best[at - 1];
        }
        at--;
    }
    if (at < SPMM_BCSR_RANKED) {
        best[at] = one;
    }
    return n < SPMM_BCSR_RANKED ? n + 1 : n;
}

/* 2:4 tiles as such were seen to gain for wide C where several tiles share a step and all of
 * them stay in L2 (15 MB did, 60 MB did not); elsewhere they lost up to half, which the rates do
 * not show. */
static bool may_gain(const spmm_bcsr_facts_t *facts, spmm_bcsr_variant_t variant, int64_t n)
{
    const spmm_bcsr_facts_t *of = &facts[variant.rows / 8];

    return n >= 256 && of->sp24 >= 2 * of->steps && (double)of->sp24 * 576.0 <= 32e6;
}

/* Columns of B for which kernels by rows are in question, those of their slices.  For less they
 * took 1.0 to 1.3 times as long, which is behind others at times; for more B for each tile costs
 * what waiting does: at N = 32 0.8 to 1.2 of the time of those by lists, and predictions do not
 * tell where.  Their 2:4 tiles never gained. */
static const int64_t rows_columns = 16;

/* Is it one of those asked for? */
static bool is_asked(const spmm_bcsr_facts_t *facts, spmm_bcsr_variant_t variant, int64_t n,
                     spmm_bcsr_kernel_t kernel, bool sp24)
{
    const bool wider = variant.slice > 32 && variant.slice / 2 >= n; /* than C needs */

    if (kernel == SPMM_BCSR_BY_ROWS) {
        return variant.kernel == kernel && variant.sp24 == sp24;
    }
    if (kernel == SPMM_BCSR_KERNELS && variant.kernel == SPMM_BCSR_BY_ROWS) {
        return n == rows_columns && !variant.sp24;
    }
    if (kernel == SPMM_BCSR_KERNELS) {
        return !wider && (!variant.sp24 || (sp24 && may_gain(facts, variant, n)));
    }
    if (kernel == SPMM_BCSR_BY_LISTS && !sp24) {
        return variant.kernel == kernel && !variant.sp24 && !wider;
    }
    return variant.kernel == kernel &&
           variant.sp24 == (kernel == SPMM_BCSR_BY_LISTS); /* the only one */
}

static int rank(const spmm_bcsr_facts_t *facts, int32_t n_rows, int64_t n, int32_t n_sm,
                spmm_bcsr_kernel_t kernel, bool sp24, ranked_t best[SPMM_BCSR_RANKED])
{
    int count = 0;

    for (int k = 0; k < SPMM_BCSR_VARIANTS; k++) {
        ranked_t one = {.variant = spmmi_bcsr_variants[k]};

        if (is_asked(facts, one.variant, n, kernel, sp24)) {
            one.seconds = seconds_of(facts, n_rows, one.variant, n, n_sm);
            count       = rank_in(best, count, one);
        }
    }
    return count;
}

int spmmi_bcsr_best(const spmm_bcsr_facts_t *facts, int32_t n_rows, int64_t n, int32_t n_sm,
                    spmm_bcsr_kernel_t kernel, bool sp24,
                    spmm_bcsr_variant_t list[SPMM_BCSR_RANKED])
{
    ranked_t  best[SPMM_BCSR_RANKED];
    const int count = rank(facts, n_rows, n, n_sm, kernel, sp24, best);

    for (int k = 0; k < count; k++) {
        list[k] = best[k].variant;
    }
    return count;
}

/* Enough work items for two thread blocks on every multiprocessor, none of a few steps.  By lists
 * thread blocks are larger: only what is three times as long as it need be is cut, none of less
 * than 64. */
int32_t spmmi_bcsr_cut(spmm_bcsr_variant_t variant, int32_t n_sm, int64_t n, int64_t steps)
{
    const bool    lists  = variant.kernel != SPMM_BCSR_BY_STEPS;
    const int32_t least  = lists ? 64 : 8;
    const double  slices = ceil((double)n / (lists ? variant.slice : 64.0));
    const double  slots  = lists ? resident(variant) * n_sm / 3.0 : 2.0 * n_sm;
    const double  share  = (double)steps * slices / slots;

    return share > (double)INT32_MAX ? INT32_MAX : share > least ? (int32_t)share : least;
}

/* Of the best variant. */
static int terms_of(const spmm_pattern_t *pattern, const spmm_problem_t *problem,
                    const spmm_device_t *device, bool sp24, spmm_cost_term_t terms[SPMM_COST_TERMS])
{
    const spmm_bcsr_facts_t *facts = spmmi_bcsr_facts(pattern);
    spmm_bcsr_variant_t      list[SPMM_BCSR_RANKED];
    account_t                x;
    int                      count;

    if (device->kind == SPMM_DEVICE_CPU) {
        return spmmi_tc_cpu_cost(pattern, problem, device, terms);
    }
    (void)spmmi_bcsr_best(facts, pattern->n_rows, problem->n, device->n_sm, SPMM_BCSR_KERNELS, sp24,
                          list);
    x     = account(&facts[list[0].rows / 8], pattern->n_rows, list[0], problem->n, device->n_sm);
    count = terms_by(&x, rates_of(list[0]), terms);
    for (int k = 0; k < count; k++) {
        terms[k].constant *= optimism;
    }
    return count;
}

int spmmi_bcsr_cost(const spmm_pattern_t *pattern, const spmm_problem_t *problem,
                    const spmm_device_t *device, spmm_cost_term_t terms[SPMM_COST_TERMS])
{
    return terms_of(pattern, problem, device, false, terms);
}

int spmmi_bcsr_cost_sp24(const spmm_pattern_t *pattern, const spmm_problem_t *problem,
                         const spmm_device_t *device, spmm_cost_term_t terms[SPMM_COST_TERMS])
{
    return terms_of(pattern, problem, device, true, terms);
}
