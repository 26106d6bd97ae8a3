/* SPDX-License-Identifier: Apache-2.0 */
/** @file bcsr.c
 *  Engines `bcsr` and `bcsr-sp24` on one GPU with every variant of thread block, beside the one that
 *  the model takes (src/engine/bcsr/variant.c).
 *
 *      bench_bcsr N,N,... MATRIX...
 *
 *  MATRIX: a file, or a generator's spec.  FP16 in and out, device time of a product, the mean of 20
 *  after 3, the same B and C again.  `*` marks the variant of bcsr, `+` that of bcsr-sp24 where it is another
 *  one.  `!`: C of the variant is wrong, compared once with the FP64 product; exit code 1.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "block.h"
#include "block_error.h"
#include "block_operands.h"
#include "device/device_cuda.h"
#include "engine/bcsr/variant.h"
#include "matrix/matrix.h"
#include "spmm_dist/context.h"
#include "tool_common.h"

enum { MOST_WIDTHS = 8, WARMUP = 3, PRODUCTS = 20 };

/** What create() is to take; kinds hand nothing through. */
static spmm_bcsr_variant_t wanted;
static bool                is_wrong; /* a C was */

static spmm_status_t create_wanted(spmm_tc_engine_t *f, const spmm_csr_t *block)
{
    return spmmi_bcsr_lay_out(f, block, spmmi_pattern_windows(f->problem.pattern), wanted);
}

typedef struct {
    bench_operands_t on;
    spmm_event_t    *from, *to;
    spmm_problem_t   problem;
} operands_t;

static spmm_status_t multiply(void *format, const operands_t *o, int times)
{
    const int64_t         n = o->problem.n;
    const spmm_operands_t x = {.ab_type = o->problem.ab_type,
                               .c_type  = o->problem.c_type,
                               .layout  = SPMM_LAYOUT_ROW,
                               .n       = n,
                               .alpha   = {.re = 1.0},
                               .B       = o->on.B,
                               .ldb     = n,
                               .C       = o->on.C,
                               .ldc     = n,
                               .stream  = o->on.stream};

    for (int k = 0; k < times; k++) {
        SPMM_TRY(spmmi_tc_execute(format, &x));
    }
    return SPMM_OK;
}

static spmm_status_t measure(const spmm_device_t *device, void *format, const operands_t *o,
                             double *seconds)
{
    SPMM_TRY(multiply(format, o, WARMUP));
    SPMM_TRY(device->ops->delay(device, 0.5e-3, o->on.stream)); /* the host gets ahead */
    SPMM_TRY(device->ops->event_record(device, o->from, o->on.stream));
    SPMM_TRY(multiply(format, o, PRODUCTS));
    SPMM_TRY(device->ops->event_record(device, o->to, o->on.stream));
    SPMM_TRY(device->ops->event_elapsed(device, o->from, o->to, seconds));
    *seconds /= PRODUCTS;
    return SPMM_OK;
}

/* C of the last product, of a C that was NaN before the first. */
static spmm_status_t check(const spmm_device_t *device, const spmm_csr_t *block,
                           const operands_t *o, bool *right)
{
    const spmm_problem_t *p    = &o->problem;
    const size_t          size = (size_t)block->c_rows * (size_t)p->n * sizeof(uint16_t);

    SPMM_TRY(device->ops->fetch(device, o->on.host_C, o->on.C, size));
    *right = bench_block_error(block, p->n, o->on.host_B, o->on.host_C) <=
             tool_tolerance(p->c_type, p->compute);
    return SPMM_OK;
}

static spmm_status_t run_variant(const spmm_device_t *device, const spmm_csr_t *block,
                                 const operands_t *o, double *seconds, bool *right)
{
    spmm_tc_kind_t kind   = *spmmi_bcsr_kind(wanted.sp24, SPMM_BCSR_KERNELS);
    void          *format = NULL;
    spmm_status_t  status;

    kind.create = create_wanted;
    SPMM_TRY(spmmi_tc_build(&kind, block, &o->problem, device, &format));
    status = spmmi_cuda_check(
        device,
        cudaMemset(o->on.C, 0xff, (size_t)block->c_rows * (size_t)o->problem.n * sizeof(uint16_t)),
        "cudaMemset");
    if (status == SPMM_OK) { /* another stream goes on */
        status = spmmi_cuda_check(device, cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    }
    if (status == SPMM_OK) {
        status = measure(device, format, o, seconds);
    }
    if (status == SPMM_OK) {
        status = check(device, block, o, right);
    }
    spmmi_tc_destroy(format);
    return status;
}

static bool same_variant(spmm_bcsr_variant_t a, spmm_bcsr_variant_t b)
{
    return a.kernel == b.kernel && a.rows == b.rows && a.slice == b.slice && a.split == b.split &&
           a.sp24 == b.sp24;
}

/* Microseconds of every variant. */
static spmm_status_t run_variants(const spmm_device_t *device, const spmm_csr_t *block,
                                  const char *name, const operands_t *o)
{
    const spmm_pattern_t *p = o->problem.pattern;
    spmm_bcsr_variant_t   model[2][SPMM_BCSR_RANKED];

    for (int sp24 = 0; sp24 < 2; sp24++) {
        (void)spmmi_bcsr_best(spmmi_bcsr_facts(p), block->n_rows, o->problem.n, device->n_sm,
                              SPMM_BCSR_KERNELS, sp24 != 0, model[sp24]);
    }
    (void)printf("%-34.34s %5d %9.2f %9.2f", name, (int)o->problem.n,
                 1e6 * spmmi_bcsr_cost(p, &o->problem, device),
                 1e6 * spmmi_bcsr_cost_sp24(p, &o->problem, device));
    for (int k = 0; k < SPMM_BCSR_VARIANTS; k++) {
        double seconds = 0.0;
        bool   right   = false;

        wanted = spmmi_bcsr_variants[k];
        SPMM_TRY(run_variant(device, block, o, &seconds, &right));
        is_wrong = is_wrong || !right;
        (void)printf(" %9.2f%c", 1e6 * seconds,
                     !right                              ? '!'
                     : same_variant(wanted, model[0][0]) ? '*'
                     : same_variant(wanted, model[1][0]) ? '+'
                                                         : ' ');
    }
    (void)printf("\n");
    return SPMM_OK;
}

static spmm_status_t open_operands(const spmm_device_t *device, const spmm_csr_t *block,
                                   operands_t *o)
{
    SPMM_TRY(bench_operands_open(device, block, o->problem.n, &o->on));
    SPMM_TRY(device->ops->event_create(device, true, &o->from));
    return device->ops->event_create(device, true, &o->to);
}

static void close_operands(const spmm_device_t *device, operands_t *o)
{
    device->ops->event_destroy(device, o->from);
    device->ops->event_destroy(device, o->to);
    bench_operands_close(device, &o->on);
}

static spmm_status_t run_matrix(const spmm_device_t *device, const char *spec,
                                const int64_t *widths, int n_widths)
{
    spmm_csr_t     block   = {0};
    spmm_pattern_t pattern = {0};
    spmm_status_t  status  = bench_block_read(device->env, spec, SPMM_R_16F, &block);

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
            status = run_variants(device, &block, bench_block_name(spec), &o);
        }
        close_operands(device, &o);
    }
    spmmi_pattern_free(&pattern);
    spmmi_csr_free(&block);
    return status;
}

static void print_head(const spmm_device_t *device)
{
    (void)printf(
        "# %s, FP16, microseconds: predicted of bcsr and bcsr-sp24, then by steps (S) and lists "
        "(L), "
        "tile rows x columns, of lists / warps of a tile row, + with 2:4 tiles\n%-34s %5s %9s %9s",
        device->description, "matrix", "N", "bcsr", "bcsr-sp24");
    for (int k = 0; k < SPMM_BCSR_VARIANTS; k++) {
        const spmm_bcsr_variant_t s        = spmmi_bcsr_variants[k];
        char                      name[32] = "";

        if (s.kernel == SPMM_BCSR_BY_LISTS) {
            (void)snprintf(name, sizeof name, "L%dx%d/%d%s", (int)s.rows, (int)s.slice,
                           (int)s.split, s.sp24 ? "+" : "");
        } else {
            (void)snprintf(name, sizeof name, "S%dx%d", (int)s.rows, (int)s.slice);
        }
        (void)printf(" %9s ", name);
    }
    (void)printf("\n");
}

int main(int argc, char **argv)
{
    spmm_env_t    env = {.size = 1};
    spmm_device_t device;
    int64_t       widths[MOST_WIDTHS];
    int           n_widths = 0, code = 0;

    for (char *at = argc > 2 ? argv[1] : NULL; at != NULL && *at != '\0' && n_widths < MOST_WIDTHS;
         at += *at == ',') {
        widths[n_widths++] = strtoll(at, &at, 10);
    }
    if (n_widths == 0 || widths[0] < 1) {
        (void)fprintf(stderr, "usage: bench_bcsr N,N,... MATRIX...\n");
        return 2;
    }
    MPI_Init(&argc, &argv);
    env.comm = MPI_COMM_SELF;
    if (spmmi_device_open(&env, SPMM_DEVICE_CUDA, NULL, &device) != SPMM_OK ||
        spmmi_engines_preload(&device) != SPMM_OK) {
        (void)fprintf(stderr, "bench_bcsr: %s\n", env.err.text);
        MPI_Finalize();
        return 4;
    }
    print_head(&device);
    for (int k = 2; k < argc; k++) {
        if (run_matrix(&device, argv[k], widths, n_widths) != SPMM_OK) {
            (void)fprintf(stderr, "bench_bcsr: %s: %s\n", argv[k], env.err.text);
            spmmi_error_clear(&env.err);
            code = 3;
        }
        (void)fflush(stdout);
    }
    spmmi_device_close(&device);
    MPI_Finalize();
    if (code == 0 && is_wrong) {
        (void)fprintf(stderr, "bench_bcsr: a product is wrong: it is marked `!`\n");
        code = 1;
    }
    return code;
}
