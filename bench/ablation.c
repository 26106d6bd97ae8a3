/* SPDX-License-Identifier: Apache-2.0 */
/** @file ablation.c
 *  What each measure of engine `bittcf` is worth on one GPU: its time with all of them, and with
 *  one left out at a time (figure 15 of Acc-SpMM does that for its own).
 *
 *      bench_ablation [--iterations K] N,N,... FILE...
 *
 *  TF32, device time, median of K (20) products after 3, the same B and C again.  A line for each
 *  matrix, N and variant: time, its ratio to that of `all`, the largest difference of C from that of
 *  `all` over the largest |C|, the largest |C - FP64 product| / (|A||B|) over some rows, and whether that
 *  is in its bound and all of C finite.  Exit code 1: a C is wrong.  `all` has the order of rows
 *  `affinity` where that saves a tenth of the pairs of a window of 8 rows and a column.
 */
#include "ablation.h"

#include <limits.h>
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "block.h"
#include "block_error.h"
#include "cuda/cuda_kernels.h"
#include "device/device_cuda.h"
#include "engine/bittcf/engine.h"
#include "partition/reorder/reorder.h"
#include "spmm_dist/context.h"
#include "tool_common.h"

enum { MOST_WIDTHS = 8, WARMUP = 3, LEAD_COPIES = 8, LEAD_BYTES = 128000000 };

typedef struct {
    int64_t width[MOST_WIDTHS];
    int     n_widths;
    int64_t iterations;
    bool    is_wrong; /**< a C was */
} request_t;

/** Device buffers of one width, and the events around products. */
typedef struct {
    float       *B, *C;   /**< device memory, owned */
    float       *host_B;  /**< owned */
    float       *first;   /**< C of the first variant, on the host, owned */
    float       *now;     /**< room for another */
    void        *lead[2]; /**< what is copied to keep the GPU busy while the host launches */
    double      *seconds;
    int64_t      n, b_rows, c_rows;
    cudaStream_t stream;
} operands_t;

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

/* Kernels. */
static spmm_status_t launch(ablation_kernel_t kernel, const spmm_tc_engine_t *f,
                            const spmm_tc_mm_args_t *args)
{
    return spmmi_cuda_check(f->device,
                            ablation_mm(kernel, spmmi_bittcf_on_device(f), &f->work, args,
                                        (cudaStream_t)args->x.stream),
                            "a kernel of the ablation");
}
static spmm_status_t not_ahead(const spmm_tc_engine_t *f, const spmm_tc_mm_args_t *args)
{
    return launch(ABLATION_NOT_AHEAD, f, args);
}
static spmm_status_t not_permuted(const spmm_tc_engine_t *f, const spmm_tc_mm_args_t *args)
{
    return launch(ABLATION_NOT_PERMUTED, f, args);
}
static spmm_status_t narrow(const spmm_tc_engine_t *f, const spmm_tc_mm_args_t *args)
{
    return launch(ABLATION_NARROW, f, args);
}

/** One measure left out, or another choice in its place; NULL: as the library has it. */
typedef struct {
    const char *name;
    bool        in_order; /**< rows as they are */
    spmm_tc_limits_t (*limits)(const spmm_device_t *device, const spmm_problem_t *problem,
                               int32_t n_windows, int32_t blocks);
    spmm_status_t (*create)(spmm_tc_engine_t *f, const spmm_csr_t *block);
    spmm_status_t (*launch)(const spmm_tc_engine_t *f, const spmm_tc_mm_args_t *args);
} variant_t;

static const variant_t variants[] = {
    {.name = "all"},
    {.name = "no reordering", .in_order = true},
    {.name = "no balancing", .limits = no_balance},
    {.name = "one window a thread block", .limits = one_window},
    {.name = "windows of 8 rows", .create = create_8},
    {.name = "windows of 16 rows", .create = create_16},
    {.name = "no prefetch", .launch = not_ahead},
    {.name = "lanes not permuted", .launch = not_permuted},
    {.name = "slices of 32 columns", .launch = narrow},
};
enum { VARIANTS = sizeof variants / sizeof variants[0] };

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static spmm_status_t multiply(spmm_tc_engine_t *f, const operands_t *o)
{
    return spmmi_tc_execute(f, &(spmm_operands_t){.ab_type = f->problem.ab_type,
                                                  .c_type  = f->problem.c_type,
                                                  .layout  = SPMM_LAYOUT_ROW,
                                                  .n       = o->n,
                                                  .alpha   = {.re = 1.0},
                                                  .B       = o->B,
                                                  .ldb     = o->n,
                                                  .C       = o->C,
                                                  .ldc     = o->n,
                                                  .stream  = (spmm_stream_t)o->stream});
}

/* Events around each product; copies ahead let the host be ahead. */
static spmm_status_t take_times(spmm_tc_engine_t *f, const operands_t *o, cudaEvent_t *events,
                                int64_t iterations)
{
    const spmm_device_t *device = f->device;

    for (int k = 0; k < LEAD_COPIES; k++) {
        SPMM_CUDA(device, cudaMemcpyAsync(o->lead[0], o->lead[1], LEAD_BYTES,
                                          cudaMemcpyDeviceToDevice, o->stream));
    }
    for (int64_t k = -WARMUP; k < iterations; k++) {
        if (k >= 0) {
            SPMM_CUDA(device, cudaEventRecord(events[2 * k], o->stream));
        }
        SPMM_TRY(multiply(f, o));
        if (k >= 0) {
            SPMM_CUDA(device, cudaEventRecord(events[2 * k + 1], o->stream));
        }
    }
    SPMM_CUDA(device, cudaStreamSynchronize(o->stream));
    for (int64_t k = 0; k < iterations; k++) {
        float ms = 0.0f;

        SPMM_CUDA(device, cudaEventElapsedTime(&ms, events[2 * k], events[2 * k + 1]));
        o->seconds[k] = 1e-3 * (double)ms;
    }
    qsort(o->seconds, (size_t)iterations, sizeof *o->seconds, compare);
    return SPMM_OK;
}

static spmm_status_t measure(spmm_tc_engine_t *f, const operands_t *o, int64_t iterations,
                             double *median)
{
    cudaEvent_t  *events;
    spmm_status_t status = SPMM_OK;

    if (SPMM_NEW_ZERO(events, 2 * iterations) == NULL) {
        return spmmi_fail_memory(&f->device->env->err, 2 * iterations, sizeof *events, "events");
    }
    for (int64_t k = 0; k < 2 * iterations && status == SPMM_OK; k++) {
        status = spmmi_cuda_check(f->device, cudaEventCreate(&events[k]), "cudaEventCreate");
    }
    if (status == SPMM_OK) {
        status = take_times(f, o, events, iterations);
    }
    for (int64_t k = 0; k < 2 * iterations; k++) {
        if (events[k] != NULL) {
            (void)cudaEventDestroy(events[k]);
        }
    }
    spmmi_free(events);
    *median = o->seconds[iterations / 2];
    return status;
}

/* Largest difference from the first result, over its largest entry; infinity where one is not finite. */
static spmm_status_t compare_with_first(const spmm_device_t *device, const operands_t *o,
                                        bool first, double *difference)
{
    const int64_t size  = o->c_rows * o->n;
    float *const  to    = first ? o->first : o->now;
    double        worst = 0.0, most = 0.0;

    SPMM_TRY(device->ops->fetch(device, to, o->C, (size_t)size * sizeof *to));
    for (int64_t k = 0; k < size; k++) {
        worst = fmax(worst, fabs((double)to[k] - (double)o->first[k]));
        most  = fmax(most, fabs((double)o->first[k]));
        if (!isfinite(to[k]) || !isfinite(o->first[k])) {
            *difference = (double)INFINITY;
            return SPMM_OK;
        }
    }
    *difference = most > 0.0 ? worst / most : worst;
    return SPMM_OK;
}

static spmm_status_t run_variant(const variant_t *v, const spmm_csr_t *block,
                                 const spmm_device_t *device, const operands_t *o,
                                 int64_t iterations, double *seconds, double *difference)
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
    kind.launch = v->launch != NULL ? v->launch : kind.launch;
    SPMM_TRY(spmmi_tc_build(&kind, block, &problem, device, &format));
    /* Bytes of NaN: rows that a variant forgets show. */
    status = spmmi_cuda_check(
        device, cudaMemset(o->C, 0xff, (size_t)(o->c_rows * o->n) * sizeof *o->C), "cudaMemset");
    if (status == SPMM_OK) {
        status = measure(format, o, iterations, seconds);
    }
    if (status == SPMM_OK) {
        status = compare_with_first(device, o, v == variants, difference);
    }
    spmmi_tc_destroy(format);
    return status;
}

static void close_operands(const spmm_device_t *device, operands_t *o)
{
    device->ops->release(device, o->B);
    device->ops->release(device, o->C);
    device->ops->release(device, o->lead[0]);
    device->ops->release(device, o->lead[1]);
    spmmi_free(o->host_B);
    spmmi_free(o->first);
    spmmi_free(o->now);
    spmmi_free(o->seconds);
}

static spmm_status_t open_operands(const spmm_device_t *device, const spmm_csr_t *block, int64_t n,
                                   int64_t iterations, operands_t *o)
{
    const int64_t b = (int64_t)block->n_cols * n, c = (int64_t)block->c_rows * n;
    const size_t  size = sizeof(float);

    o->n = n, o->b_rows = block->n_cols, o->c_rows = block->c_rows;
    SPMM_NEW(o->first, c);
    SPMM_NEW(o->now, c);
    SPMM_NEW(o->seconds, iterations);
    if (o->first == NULL || o->now == NULL || o->seconds == NULL ||
        SPMM_NEW(o->host_B, b) == NULL) {
        return spmmi_fail_memory(&device->env->err, b + 2 * c, size, "B and C");
    }
    bench_block_random(block, n, o->host_B);
    SPMM_TRY(spmmi_device_upload(device, o->host_B, (size_t)b * size, (void **)&o->B));
    SPMM_TRY(device->ops->alloc(device, (size_t)c * size, (void **)&o->C));
    SPMM_TRY(device->ops->alloc(device, LEAD_BYTES, &o->lead[0]));
    return device->ops->alloc(device, LEAD_BYTES, &o->lead[1]);
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

static spmm_status_t run_width(request_t *r, const spmm_device_t *device, const char *name,
                               const spmm_csr_t *in_order, const spmm_csr_t *ordered, int64_t n)
{
    operands_t    o      = {.B = NULL};
    spmm_status_t status = open_operands(device, in_order, n, r->iterations, &o);
    double        all = 0.0, seconds = 0.0, difference = 0.0;

    for (int v = 0; v < VARIANTS && status == SPMM_OK; v++) {
        status = run_variant(&variants[v], variants[v].in_order ? in_order : ordered, device, &o,
                             r->iterations, &seconds, &difference);
        if (status == SPMM_OK) {
            const double error = bench_block_error(in_order, n, o.host_B, v == 0 ? o.first : o.now);
            const bool   passed = error <= tool_tolerance(SPMM_R_32F, SPMM_COMPUTE_32F_FAST_TF32) &&
                                isfinite(difference);

            if (v == 0) {
                all = passed ? seconds : (double)NAN;
            }
            r->is_wrong = r->is_wrong || !passed;
            print_row(name, in_order, ordered == in_order ? "none" : "affinity", n, &variants[v],
                      seconds, all);
            (void)printf("\t%.2e\t%.2e\t%s\n", difference, error, passed ? "yes" : "no");
            (void)fflush(stdout);
        }
    }
    close_operands(device, &o);
    return status;
}

/* @p ordered gets the rows in the order affinity, where that saves a tenth of the pairs. */
static spmm_status_t order(spmm_env_t *env, const spmm_csr_t *block, spmm_csr_t *ordered,
                           bool *better)
{
    spmm_tc_facts_t before, after;
    int64_t         used;
    int32_t        *rows;
    spmm_status_t   status;

    if (SPMM_NEW(rows, block->n_rows) == NULL) {
        return spmmi_fail_memory(&env->err, block->n_rows, sizeof *rows, "an order");
    }
    status = spmmi_reorder(env, &spmmi_reorderer_affinity, block, 0, rows);
    if (status == SPMM_OK) {
        status = spmmi_csr_permute(env, block, rows, ordered, NULL);
    }
    spmmi_free(rows);
    SPMM_TRY(status);
    SPMM_TRY(spmmi_tc_facts_scan(env, block, &before, &used));
    SPMM_TRY(spmmi_tc_facts_scan(env, ordered, &after, &used));
    *better = (double)after.pairs[0] <= 0.9 * (double)before.pairs[0];
    return SPMM_OK;
}

static spmm_status_t run_matrix(request_t *r, const spmm_device_t *device, const char *path)
{
    spmm_env_t   *env   = device->env;
    spmm_csr_t    block = {0}, ordered = {0};
    bool          better = false;
    spmm_status_t status = bench_block_read(env, path, SPMM_R_32F, &block);

    if (status == SPMM_OK) {
        status = order(env, &block, &ordered, &better);
    }
    for (int w = 0; w < r->n_widths && status == SPMM_OK; w++) {
        status = run_width(r, device, bench_block_name(path), &block, better ? &ordered : &block,
                           r->width[w]);
    }
    spmmi_csr_free(&block);
    spmmi_csr_free(&ordered);
    return status;
}

/* Multiples of 32, for which the library's kernels access 16 bytes at a time. */
static bool parse_widths(char *at, request_t *r)
{
    for (; *at != '\0' && r->n_widths < MOST_WIDTHS; at += *at == ',') {
        const int64_t n = strtoll(at, &at, 10);

        if (n < 32 || n % 32 != 0 || (*at != ',' && *at != '\0')) {
            return false;
        }
        r->width[r->n_widths++] = n;
    }
    return r->n_widths > 0;
}

int main(int argc, char **argv)
{
    spmm_env_t    env     = {.size = 1};
    request_t     request = {.iterations = 20};
    spmm_device_t device;
    int           first = 1, code = 0;

    if (argc > 2 && strcmp(argv[1], "--iterations") == 0) {
        request.iterations = strtoll(argv[2], NULL, 10);
        first              = 3;
    }
    if (argc < first + 2 || request.iterations < 1 || !parse_widths(argv[first], &request)) {
        (void)fprintf(stderr, "usage: bench_ablation [--iterations K] N,N,... FILE...\n");
        return 2;
    }
    MPI_Init(&argc, &argv);
    env.comm = MPI_COMM_SELF;
    if (spmmi_device_open(&env, SPMM_DEVICE_CUDA, NULL, &device) != SPMM_OK ||
        spmmi_engines_preload(&device) != SPMM_OK) {
        (void)fprintf(stderr, "bench_ablation: %s\n", env.err.text);
        MPI_Finalize();
        return 4;
    }
    (void)printf("# engine bittcf on %s, TF32, device time, median of %lld after %d, caches warm\n",
                 device.description, (long long)request.iterations, WARMUP);
    (void)printf("matrix\tnnz\tN\torder\tvariant\tmedian_ms\tratio\tdifference\terror\tpassed\n");
    for (int k = first + 1; k < argc; k++) {
        if (run_matrix(&request, &device, argv[k]) != SPMM_OK) {
            (void)fprintf(stderr, "bench_ablation: %s: %s\n", argv[k], env.err.text);
            spmmi_error_clear(&env.err);
            code = 3;
        }
    }
    spmmi_device_close(&device);
    MPI_Finalize();
    if (code == 0 && request.is_wrong) {
        (void)fprintf(stderr, "bench_ablation: a product is wrong: see column passed\n");
        code = 1;
    }
    return code;
}
