/* SPDX-License-Identifier: Apache-2.0 */
/** @file fixed.c
 *  What a product costs where there is next to nothing to multiply, on the device and on the host:
 *
 *      [mpirun -n RANKS] bench_fixed [-n N,N...] [-t 64f|32f] [-e ENGINE,...] [FILE|SPEC...]
 *
 *  Without a matrix stencil9 on 5 x 5 points, 25 rows.  One line of tab-separated values for each
 *  piece of the way of a product, and for each matrix, N and engine one for products as they come
 *  and one for those of a plan with option graph; times in microseconds, the slowest rank's:
 *
 *      events_us  one of them between two events while the host is ahead, median
 *      loop_us    wall time of one in a loop of many, with the wait at its end, median of loops
 *      host_us    the same of the calls alone: the device is busy with something else meanwhile
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/context.h"
#include "block.h"
#include "device/device_cuda.h"
#include "fixed.h"
#include "plan/plan.h"
#include "plan/run/execute.h"
#include "tool_common.h"

enum { MOST_WIDTHS = 8, SINGLES = 201, ROUNDS = 21, LOOP = 500, BURST = 64, WARMUP = 100 };

static const double busy_s = 1e-3;

typedef struct {
    spmm_context_t *ctx;
    spmm_device_t  *device; /**< of ctx */
    spmm_stream_t   stream;
    spmm_event_t   *event;
    spmm_plan_t    *plan;
    const char     *engines;
    spmm_type_t     type;
    int64_t         widths[MOST_WIDTHS], n;
    int             n_widths, rank;
    void           *B, *C;
} bench_t;

static void must(const bench_t *b, spmm_status_t status, const char *what)
{
    if (status != SPMM_OK) {
        (void)fprintf(stderr, "bench_fixed: %s: %s\n", what, spmm_last_error(b->ctx));
        MPI_Abort(MPI_COMM_WORLD, 4);
    }
}

static spmm_status_t product(void *self)
{
    bench_t *b = self;

    return spmm_execute(b->plan, b->n, 1.0, b->B, b->n, 0.0, b->C, b->n, b->stream);
}

static spmm_status_t empty(void *self)
{
    bench_t *b = self;

    return spmmi_cuda_check(b->device, bench_fixed_empty((cudaStream_t)b->stream), "empty");
}

static spmm_status_t record(void *self)
{
    bench_t *b = self;

    return b->device->ops->event_record(b->device, b->event, b->stream);
}

static spmm_status_t look_up(void *self)
{
    bench_t *b = self;

    return b->device->ops->is_usable(b->device, b->B) ? SPMM_OK : SPMM_ERR_INTERNAL;
}

static spmm_status_t number(void *self)
{
    bench_t *b = self;
    uint64_t id;

    return b->device->ops->stream_id(b->device, b->stream, &id) ? SPMM_OK : SPMM_ERR_INTERNAL;
}

/* The diagonal block, as the plan multiplies it. */
static spmm_status_t multiply(void *self)
{
    bench_t              *b     = self;
    const spmm_block_t   *local = &b->plan->blocks.diagonal;
    const spmm_operands_t x     = {.n       = b->n,
                                   .alpha   = {.re = 1.0},
                                   .B       = b->B,
                                   .ldb     = b->n,
                                   .C       = b->C,
                                   .ldc     = b->n,
                                   .ab_type = b->type,
                                   .c_type  = b->type,
                                   .layout  = SPMM_LAYOUT_ROW,
                                   .stream  = b->stream};

    return local->engine->execute(local->format, &x);
}

/* Seconds of one of @p calls. */
static double time_calls(bench_t *b, bench_product_t call, int calls, bool hold)
{
    double seconds[ROUNDS];

    for (int r = 0; r < ROUNDS; r++) {
        double start;

        must(b, b->device->ops->stream_sync(b->device, b->stream), "stream_sync");
        MPI_Barrier(MPI_COMM_WORLD);
        if (hold) {
            must(b, b->device->ops->delay(b->device, busy_s, b->stream), "delay");
        }
        start = MPI_Wtime();
        for (int k = 0; k < calls; k++) {
            must(b, call(b), "a call");
        }
        if (!hold) {
            must(b, b->device->ops->stream_sync(b->device, b->stream), "stream_sync");
        }
        seconds[r] = (MPI_Wtime() - start) / calls;
    }
    return tool_median(seconds, ROUNDS);
}

static void measure(bench_t *b, bench_product_t call, const char *what, const char *name,
                    const char *engine)
{
    double us[3];

    for (int k = 0; k < WARMUP; k++) {
        must(b, call(b), what);
    }
    must(b, bench_block_median(b->device, b->stream, SINGLES, call, b, &us[0]), what);
    us[1] = time_calls(b, call, LOOP, false);
    us[2] = time_calls(b, call, BURST, true);
    MPI_Allreduce(MPI_IN_PLACE, us, 3, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    if (b->rank == 0) {
        (void)printf("%s\t%s\t%lld\t%s\t%.2f\t%.2f\t%.2f\n", what, name, (long long)b->n, engine,
                     1e6 * us[0], 1e6 * us[1], 1e6 * us[2]);
        (void)fflush(stdout);
    }
}

static void *buffer(const bench_t *b, int64_t rows)
{
    const size_t bytes = (size_t)(rows * b->n) * spmm_type_size(b->type);
    void        *host = calloc(bytes + 1, 1), *made = NULL;

    must(b, spmm_buffer_alloc(b->ctx, bytes, &made), "spmm_buffer_alloc");
    must(b, host == NULL ? SPMM_ERR_MEMORY : spmm_buffer_copy(b->ctx, made, host, bytes), "copy");
    free(host);
    return made;
}

static void with_plan(bench_t *b, spmm_matrix_t *A, const char *name, const char *engine,
                      bool graph, bool parts)
{
    spmm_plan_options_t o     = SPMM_PLAN_OPTIONS_INIT;
    spmm_plan_stats_t   stats = {.struct_size = sizeof stats};

    o.engine    = engine;
    o.partition = "block";
    o.graph     = graph;
    if (spmm_plan_create(A, b->n, &o, &b->plan) != SPMM_OK) {
        (void)fprintf(stderr, "bench_fixed: %s: %s\n", name, spmm_last_error(b->ctx));
        return;
    }
    b->B = buffer(b, spmmi_plan_map(b->plan, SPMM_OPERAND_B)->n_local);
    b->C = buffer(b, spmmi_plan_map(b->plan, SPMM_OPERAND_C)->n_local);
    must(b, spmm_plan_get_stats(b->plan, &stats), "stats");
    if (parts) {
        measure(b, empty, "empty kernel", "none", "none");
        measure(b, record, "event", "none", "none");
        measure(b, look_up, "pointer", "none", "none");
        measure(b, number, "stream number", "none", "none");
    }
    if (!graph && b->plan->exchange.alone) {
        measure(b, multiply, "block", name, stats.engine);
    }
    measure(b, product, graph ? "graph" : "product", name, stats.engine);
    must(b, spmm_buffer_free(b->ctx, &b->B), "B");
    must(b, spmm_buffer_free(b->ctx, &b->C), "C");
    must(b, spmm_plan_destroy(&b->plan), "spmm_plan_destroy");
}

static void with_matrix(bench_t *b, const char *name, bool parts)
{
    const char    *dot  = strchr(name, '.');
    const bool     file = dot != NULL && strstr(dot, ".mtx") != NULL;
    spmm_matrix_t *A    = NULL;
    char          *list = strdup(b->engines), *rest = NULL;

    must(b,
         file ? spmm_matrix_read(b->ctx, name, b->type, 1, &A)
              : spmm_matrix_generate(b->ctx, name, b->type, 1, &A),
         name);
    for (char *e = strtok_r(list, ",", &rest); e != NULL; e = strtok_r(NULL, ",", &rest)) {
        for (int w = 0; w < b->n_widths; w++) {
            b->n = b->widths[w];
            with_plan(b, A, bench_block_name(name), e, false, parts);
            with_plan(b, A, bench_block_name(name), e, true, false);
            parts = false;
        }
    }
    free(list);
    must(b, spmm_matrix_destroy(&A), "spmm_matrix_destroy");
}

static bool parse(bench_t *b, int argc, char **argv)
{
    int code;

    while ((code = getopt(argc, argv, "n:t:e:")) != -1) {
        switch (code) {
        case 'n':
            b->n_widths = tool_read_widths(optarg, 1, b->widths, MOST_WIDTHS);
            break;
        case 't':
            b->type = strcmp(optarg, "64f") == 0 ? SPMM_R_64F : SPMM_R_32F;
            break;
        case 'e':
            b->engines = optarg;
            break;
        default:
            return false;
        }
    }
    return b->n_widths > 0;
}

int main(int argc, char **argv)
{
    spmm_context_options_t o = SPMM_CONTEXT_OPTIONS_INIT;
    bench_t b = {.engines = "auto", .type = SPMM_R_32F, .widths = {8, 32, 128}, .n_widths = 3};

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &b.rank);
    if (!parse(&b, argc, argv)) {
        (void)fprintf(stderr, "bench_fixed: see the head of bench/engine/fixed.c\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    o.device = SPMM_DEVICE_CUDA;
    must(&b, spmm_context_create(MPI_COMM_WORLD, &o, &b.ctx), "spmm_context_create");
    b.device = &b.ctx->device;
    must(&b, b.device->ops->stream_create(b.device, false, &b.stream), "stream_create");
    must(&b, b.device->ops->event_create(b.device, false, &b.event), "event_create");
    if (b.rank == 0) {
        (void)printf("what\tmatrix\tN\tengine\tevents_us\tloop_us\thost_us\n");
    }
    with_matrix(&b, optind < argc ? argv[optind] : "stencil9:nx=5,ny=5", true);
    for (int k = optind + 1; k < argc; k++) {
        with_matrix(&b, argv[k], false);
    }
    b.device->ops->event_destroy(b.device, b.event);
    b.device->ops->stream_destroy(b.device, b.stream);
    must(&b, spmm_context_destroy(&b.ctx), "spmm_context_destroy");
    MPI_Finalize();
    return 0;
}
