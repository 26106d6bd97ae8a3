/* SPDX-License-Identifier: Apache-2.0 */
/** @file cvse.c
 *  Engine `cvse` on one GPU in the variants that plans measure (src/engine/cvse/variant.c), or in all.
 *
 *      bench_cvse [--all] N,N,... FILE...
 *
 *  FP16 in and out, device time, median of 20 products after 3, the same B and C again.  A line for
 *  each matrix and N: microseconds of each candidate, the model's first, and with --all the fastest
 *  five of all variants.  A variant reads V/blocks of a warp/columns of a warp/warps of a thread block;
 *  V/pieces: that without tasks.  `!` after a time: C is wrong, compared once with the FP64 product; exit
 *  code 1.
 */
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "block.h"
#include "block_error.h"
#include "block_operands.h"
#include "device/device_cuda.h"
#include "engine/cvse/variant.h"
#include "engine/engine.h"
#include "matrix/matrix.h"
#include "spmm_dist/context.h"
#include "tool_common.h"

enum { MOST_WIDTHS = 8, WARMUP = 3, PRODUCTS = 20, MOST_VARIANTS = 128, SHOWN = 5 };

static bool is_wrong; /* a C was */

typedef struct {
    bench_operands_t on;
    spmm_event_t    *from[PRODUCTS], *to[PRODUCTS];
    spmm_problem_t   problem;
} operands_t;

/** What a variant took. */
typedef struct {
    spmm_cvse_variant_t variant;
    double              seconds;
    bool                right; /**< is C */
} result_t;

static int compare_seconds(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static int compare_results(const void *a, const void *b)
{
    return compare_seconds(&((const result_t *)a)->seconds, &((const result_t *)b)->seconds);
}

static spmm_status_t multiply(const spmm_engine_ops_t *engine, void *format, const operands_t *o)
{
    return engine->execute(format, &(spmm_operands_t){.ab_type = o->problem.ab_type,
                                                      .c_type  = o->problem.c_type,
                                                      .layout  = SPMM_LAYOUT_ROW,
                                                      .n       = o->problem.n,
                                                      .alpha   = {.re = 1.0},
                                                      .B       = o->on.B,
                                                      .ldb     = o->problem.n,
                                                      .C       = o->on.C,
                                                      .ldc     = o->problem.n,
                                                      .stream  = o->on.stream});
}

static spmm_status_t measure(const spmm_device_t *device, const spmm_engine_ops_t *engine,
                             void *format, const operands_t *o, double *median)
{
    double seconds[PRODUCTS];

    SPMM_TRY(device->ops->delay(device, 0.5e-3, o->on.stream)); /* the host gets ahead */
    for (int k = 0; k < WARMUP; k++) {
        SPMM_TRY(multiply(engine, format, o));
    }
    for (int k = 0; k < PRODUCTS; k++) {
        SPMM_TRY(device->ops->event_record(device, o->from[k], o->on.stream));
        SPMM_TRY(multiply(engine, format, o));
        SPMM_TRY(device->ops->event_record(device, o->to[k], o->on.stream));
    }
    for (int k = 0; k < PRODUCTS; k++) {
        SPMM_TRY(device->ops->event_elapsed(device, o->from[k], o->to[k], &seconds[k]));
    }
    qsort(seconds, PRODUCTS, sizeof *seconds, compare_seconds);
    *median = seconds[PRODUCTS / 2];
    return SPMM_OK;
}

/* Overwrite C with NaN; another stream goes on. */
static spmm_status_t poison(const spmm_device_t *device, const spmm_csr_t *block,
                            const operands_t *o)
{
    SPMM_CUDA(device, cudaMemset(o->on.C, 0xff,
                                 (size_t)block->c_rows * (size_t)o->problem.n * sizeof(uint16_t)));
    SPMM_CUDA(device, cudaDeviceSynchronize());
    return SPMM_OK;
}

static spmm_status_t check(const spmm_device_t *device, const spmm_csr_t *block,
                           const operands_t *o, bool *right)
{
    const spmm_problem_t *p = &o->problem;

    SPMM_TRY(device->ops->fetch(device, o->on.host_C, o->on.C,
                                (size_t)block->c_rows * (size_t)p->n * sizeof(uint16_t)));
    *right = bench_block_error(block, p->n, o->on.host_B, o->on.host_C) <=
             tool_tolerance(p->c_type, p->compute);
    is_wrong = is_wrong || !*right;
    return SPMM_OK;
}

static spmm_status_t run_variant(const spmm_device_t *device, const spmm_csr_t *block,
                                 const operands_t *o, int variant, result_t *x)
{
    const spmm_engine_ops_t *engine  = spmmi_engine_find("cvse");
    spmm_problem_t           problem = o->problem;
    void                    *format  = NULL;
    spmm_status_t            status;

    problem.variant = variant;
    SPMM_TRY(engine->build(block, &problem, device, &format));
    status = poison(device, block, o);
    if (status == SPMM_OK) {
        status = measure(device, engine, format, o, &x->seconds);
    }
    if (status == SPMM_OK) {
        status = check(device, block, o, &x->right);
    }
    engine->destroy(format);
    return status;
}

static void print(result_t x)
{
    const spmm_cvse_variant_t s = x.variant;

    if (s.chain == 0) {
        (void)printf(" %d/pieces %.2f", (int)s.height, 1e6 * x.seconds);
    } else {
        (void)printf(" %d/%d/%d/%d %.2f", (int)s.height, (int)s.chain, (int)s.slice, (int)s.n_warps,
                     1e6 * x.seconds);
    }
    if (!x.right) {
        (void)printf("!");
    }
}

static spmm_status_t run_all(const spmm_device_t *device, const spmm_csr_t *block,
                             const operands_t *o)
{
    result_t result[MOST_VARIANTS];
    int      n = 0;

    for (int k = 0; n < MOST_VARIANTS && spmmi_cvse_variant_at(k, &result[n].variant); k++) {
        if (result[n].variant.chain == 0 || result[n].variant.slice == 32 ||
            result[n].variant.slice <= o->problem.n) {
            SPMM_TRY(run_variant(device, block, o, SPMM_CVSE_VARIANTS + k, &result[n]));
            n++;
        }
    }
    qsort(result, (size_t)n, sizeof *result, compare_results);
    (void)printf(" | of %d:", n);
    for (int k = 0; k < SHOWN && k < n; k++) {
        print(result[k]);
    }
    return SPMM_OK;
}

static spmm_status_t run_width(const spmm_device_t *device, const spmm_csr_t *block,
                               const char *name, const operands_t *o, bool all)
{
    spmm_cvse_variant_t list[SPMM_CVSE_VARIANTS];
    const int     n      = spmmi_cvse_variants(&o->problem.pattern->tc, block->n_rows, o->problem.n,
                                               device->n_sm, list);
    double        least  = (double)NAN; /* of right products */
    spmm_status_t status = SPMM_OK;

    (void)printf("%s %d:", name, (int)o->problem.n);
    for (int k = 0; k < n; k++) {
        result_t x = {.variant = list[k]};

        SPMM_TRY(run_variant(device, block, o, k, &x));
        least = x.right ? fmin(least, x.seconds) : least;
        print(x);
    }
    (void)printf(" | least %.2f", 1e6 * least);
    if (all) {
        status = run_all(device, block, o);
    }
    (void)printf("\n");
    (void)fflush(stdout);
    return status;
}

static spmm_status_t open_operands(const spmm_device_t *device, const spmm_csr_t *block,
                                   operands_t *o)
{
    SPMM_TRY(bench_operands_open(device, block, o->problem.n, &o->on));
    for (int k = 0; k < PRODUCTS; k++) {
        SPMM_TRY(device->ops->event_create(device, true, &o->from[k]));
        SPMM_TRY(device->ops->event_create(device, true, &o->to[k]));
    }
    return SPMM_OK;
}

static void close_operands(const spmm_device_t *device, operands_t *o)
{
    for (int k = 0; k < PRODUCTS; k++) {
        device->ops->event_destroy(device, o->from[k]);
        device->ops->event_destroy(device, o->to[k]);
    }
    bench_operands_close(device, &o->on);
}

static spmm_status_t run_matrix(const spmm_device_t *device, const char *path,
                                const int64_t *widths, int n_widths, bool all)
{
    spmm_csr_t     block   = {0};
    spmm_pattern_t pattern = {0};
    spmm_status_t  status  = bench_block_read(device->env, path, SPMM_R_16F, &block);

    if (status == SPMM_OK) {
        status = spmmi_pattern_scan(device->env, &block, &pattern);
    }
    for (int w = 0; w < n_widths && status == SPMM_OK; w++) {
        operands_t o = {.problem = {.ab_type = SPMM_R_16F,
                                    .c_type  = SPMM_R_16F,
                                    .compute = SPMM_COMPUTE_32F,
                                    .layout  = SPMM_LAYOUT_ROW,
                                    .n       = widths[w],
                                    .pattern = &pattern}};

        status = open_operands(device, &block, &o);
        if (status == SPMM_OK) {
            status = run_width(device, &block, bench_block_name(path), &o, all);
        }
        close_operands(device, &o);
    }
    spmmi_pattern_free(&pattern);
    spmmi_csr_free(&block);
    return status;
}

int main(int argc, char **argv)
{
    const bool    all = argc > 1 && strcmp(argv[1], "--all") == 0;
    spmm_env_t    env = {.size = 1};
    spmm_device_t device;
    int64_t       widths[MOST_WIDTHS];
    int           n_widths = 0, code = 0, first = all ? 2 : 1;

    for (char *at = argc > first + 1 ? argv[first] : NULL;
         at != NULL && *at != '\0' && n_widths < MOST_WIDTHS; at += *at == ',') {
        widths[n_widths] = strtoll(at, &at, 10);
        if (widths[n_widths++] < 1 || (*at != ',' && *at != '\0')) {
            n_widths = 0;
            break;
        }
    }
    if (n_widths == 0) {
        (void)fprintf(stderr, "usage: bench_cvse [--all] N,N,... FILE...\n");
        return 2;
    }
    MPI_Init(&argc, &argv);
    env.comm = MPI_COMM_SELF;
    if (spmmi_device_open(&env, SPMM_DEVICE_CUDA, NULL, &device) != SPMM_OK ||
        spmmi_engines_preload(&device) != SPMM_OK) {
        (void)fprintf(stderr, "bench_cvse: %s\n", env.err.text);
        MPI_Finalize();
        return 4;
    }
    (void)printf("# %s, FP16, microseconds by V/blocks/columns/warps\n", device.description);
    for (int k = first + 1; k < argc; k++) {
        if (run_matrix(&device, argv[k], widths, n_widths, all) != SPMM_OK) {
            (void)fprintf(stderr, "bench_cvse: %s: %s\n", argv[k], env.err.text);
            spmmi_error_clear(&env.err);
            code = 3;
        }
    }
    spmmi_device_close(&device);
    MPI_Finalize();
    if (code == 0 && is_wrong) {
        (void)fprintf(stderr, "bench_cvse: a product is wrong: it is marked `!`\n");
        code = 1;
    }
    return code;
}
