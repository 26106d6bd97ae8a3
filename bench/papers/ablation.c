/* SPDX-License-Identifier: Apache-2.0 */
/** @file ablation.c
 *  What each measure of engine `bittcf` is worth on one GPU: its time with all of them, and with
 *  one left out at a time (figure 15 of Acc-SpMM does that for its own).
 *
 *      bench_ablation [--iterations K] N,N,... FILE...
 *
 *  TF32, device time, median of K (20) products after 3, the same B and C again.  A line for each
 *  matrix, N and variant: time, its ratio to that of `all`, the largest difference of C from that
 *  of `all` over the largest |C|, the largest |C - FP64 product| / (|A||B|) over some rows, and
 *  whether that is in its bound and all of C finite.  Exit code 1: a C is wrong.  `all` has the
 *  order of rows `affinity` where that saves a tenth of the pairs of a window of 8 rows and a
 *  column.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "block.h"
#include "engine/bittcf/engine.h"
#include "spmm_dist/context.h"
#include "tool_common.h"

/* Limits. */
static spmm_tc_limits_t no_balance(const spmm_device_t *device, const spmm_problem_t *problem,
                                   int32_t n_windows, int32_t blocks)
{
    (void)device;
    (void)problem;
    (void)n_windows;
    (void)blocks;
    return (spmm_tc_limits_t){.team = INT32_MAX, .cut = INT32_MAX};
}

/* One window for each thread block, whose warps share its blocks, as in the published kernels. */
static spmm_tc_limits_t one_window(const spmm_device_t *device, const spmm_problem_t *problem,
                                   int32_t n_windows, int32_t blocks)
{
    spmm_tc_limits_t limits = spmmi_tc_kind_bittcf.limits(device, problem, n_windows, blocks);

    limits.team = -1;
    return limits;
}

/* Windows. */
static spmm_status_t create_8(spmm_tc_engine_t *f, const spmm_csr_t *block)
{
    return spmmi_bittcf_fill(f, block, 1);
}
static spmm_status_t create_16(spmm_tc_engine_t *f, const spmm_csr_t *block)
{
    return spmmi_bittcf_fill(f, block, 2);
}

/** One measure left out, or another choice in its place; NULL: as the library has it. */
typedef struct {
    const char *name;
    bool        in_order; /**< rows as they are */
    spmm_tc_limits_t (*limits)(const spmm_device_t *device, const spmm_problem_t *problem,
                               int32_t n_windows, int32_t blocks);
    spmm_status_t (*create)(spmm_tc_engine_t *f, const spmm_csr_t *block);
} variant_t;

static const variant_t variants[] = {
    {.name = "all"},
    {.name = "no reordering", .in_order = true},
    {.name = "no balancing", .limits = no_balance},
    {.name = "one window a thread block", .limits = one_window},
    {.name = "windows of 8 rows", .create = create_8},
    {.name = "windows of 16 rows", .create = create_16},
};
enum { VARIANTS = sizeof variants / sizeof variants[0] };

/* Largest difference of C from @p first, over its largest entry; infinity where one of them is not
 * finite. */
static double difference_of(const bench_operands_t *o, const float *first)
{
    const int64_t size  = (int64_t)o->block->c_rows * o->n;
    const float  *now   = o->host_C;
    double        worst = 0.0, most = 0.0;

    for (int64_t k = 0; k < size; k++) {
        worst = fmax(worst, fabs((double)now[k] - (double)first[k]));
        most  = fmax(most, fabs((double)first[k]));
        if (!isfinite(now[k]) || !isfinite(first[k])) {
            return (double)INFINITY;
        }
    }
    return most > 0.0 ? worst / most : worst;
}

/* Time of the variant, C in o->host_C and its error; rows of C are those of o->block in their
 * order. */
static spmm_status_t run_variant(const variant_t *v, const spmm_csr_t *block,
                                 const bench_operands_t *o, int64_t iterations, double *seconds,
                                 double *error)
{
    const spmm_problem_t problem = {.ab_type = SPMM_R_32F,
                                    .c_type  = SPMM_R_32F,
                                    .compute = SPMM_COMPUTE_32F_FAST_TF32,
                                    .layout  = SPMM_LAYOUT_ROW,
                                    .n       = o->n};
    spmm_tc_kind_t       kind    = spmmi_tc_kind_bittcf;
    void                *format  = NULL;
    spmm_status_t        status;

    kind.limits = v->limits != NULL ? v->limits : kind.limits;
    kind.create = v->create != NULL ? v->create : kind.create;
    SPMM_TRY(spmmi_tc_build(&kind, block, &problem, o->device, &format));
    status =
        bench_operands_measure(o, spmmi_engine_find("bittcf"), format, iterations, seconds, error);
    spmmi_tc_destroy(format);
    return status;
}

/* A ratio to nothing where `all` is wrong: @p all NaN. */
static void print_row(const char *name, const spmm_csr_t *block, const char *order, int64_t n,
                      const variant_t *v, double seconds, double all)
{
    (void)printf("%s\t%lld\t%lld\t%s\t%s\t%.6f", name, (long long)spmmi_csr_nnz(block),
                 (long long)n, order, v->name, 1e3 * seconds);
    if (isnan(all)) {
        (void)printf("\t-");
    } else {
        (void)printf("\t%.4f", seconds / all);
    }
}

static spmm_status_t run_width(bench_program_t *r, const bench_operands_t *o, const char *name,
                               const spmm_csr_t *ordered)
{
    const size_t  bytes  = (size_t)o->block->c_rows * (size_t)o->n * sizeof(float);
    const double  bound  = tool_tolerance(SPMM_R_32F, SPMM_COMPUTE_32F_FAST_TF32);
    const char   *order  = ordered == o->block ? "none" : "affinity";
    float        *first  = spmmi_alloc(1, bytes); /* C of the first variant */
    double        all    = 0.0;
    spmm_status_t status = SPMM_OK;

    if (first == NULL) {
        return spmmi_fail_memory(&o->device->env->err, 1, bytes, "C");
    }
    for (int v = 0; v < VARIANTS && status == SPMM_OK; v++) {
        double seconds = 0.0, error = 0.0, difference;
        bool   passed;

        status = run_variant(&variants[v], variants[v].in_order ? o->block : ordered, o,
                             r->iterations, &seconds, &error);
        if (status != SPMM_OK) {
            break;
        }
        if (v == 0) {
            memcpy(first, o->host_C, bytes);
        }
        difference = difference_of(o, first);
        passed     = error <= bound && isfinite(difference);
        if (v == 0) {
            all = passed ? seconds : (double)NAN;
        }
        r->is_wrong = r->is_wrong || !passed;
        print_row(name, o->block, order, o->n, &variants[v], seconds, all);
        (void)printf("\t%.2e\t%.2e\t%s\n", difference, error, passed ? "yes" : "no");
        (void)fflush(stdout);
    }
    spmmi_free(first);
    return status;
}

/* @p ordered gets the rows in the order affinity, where that saves a tenth of the pairs. */
static spmm_status_t order(spmm_env_t *env, const spmm_csr_t *block, spmm_csr_t *ordered,
                           bool *better)
{
    spmm_tc_facts_t before, after;
    int64_t         used;

    SPMM_TRY(bench_block_reorder(env, &spmmi_reorderer_affinity, block, ordered, NULL));
    SPMM_TRY(spmmi_tc_facts_scan(env, block, &before, &used));
    SPMM_TRY(spmmi_tc_facts_scan(env, ordered, &after, &used));
    *better = (double)after.pairs[0] <= 0.9 * (double)before.pairs[0];
    return SPMM_OK;
}

static int run_matrix(const spmm_device_t *device, const char *path, bench_program_t *r)
{
    spmm_env_t   *env   = device->env;
    spmm_csr_t    block = {0}, ordered = {0};
    bool          better = false;
    spmm_status_t status = bench_block_read(env, path, SPMM_R_32F, &block);

    if (status == SPMM_OK) {
        status = order(env, &block, &ordered, &better);
    }
    for (int w = 0; w < r->n_widths && status == SPMM_OK; w++) {
        bench_operands_t o;

        status = bench_operands_open(device, &block, r->width[w], &o);
        if (status == SPMM_OK) {
            status = run_width(r, &o, bench_block_name(path), better ? &ordered : &block);
        }
        bench_operands_close(&o);
    }
    spmmi_csr_free(&block);
    spmmi_csr_free(&ordered);
    return status != SPMM_OK ? bench_block_failed(r->name, path, device, status) : r->is_wrong;
}

static void print_head(const spmm_device_t *device, const bench_program_t *program)
{
    (void)printf("# engine bittcf on %s, TF32, device time, median of %lld after %d, caches warm\n",
                 device->description, (long long)program->iterations, BENCH_WARMUP);
    (void)printf("matrix\tnnz\tN\torder\tvariant\tmedian_ms\tratio\tdifference\terror\tpassed\n");
}

int main(int argc, char **argv)
{
    bench_program_t program = {.name       = "bench_ablation",
                               .usage      = "[--iterations K] N,N,... FILE...",
                               .unit       = 32, /* kernels access 16 bytes at a time */
                               .head       = print_head,
                               .run        = run_matrix,
                               .iterations = 20};

    (void)argc;
    return bench_block_main(&program, argv + 1);
}
