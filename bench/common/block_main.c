/* SPDX-License-Identifier: Apache-2.0 */
#include "block_main.h"

#include <mpi.h>
#include <stdio.h>

#include "base/alloc.h"
#include "block.h"
#include "matrix/matrix.h"
#include "spmm_dist/context.h"
#include "tool_common.h"

static const double lead_seconds = 1e-3;

int bench_block_failed(const char *program, const char *path, const spmm_device_t *device,
                       spmm_status_t status)
{
    if (status == SPMM_OK) {
        return 0;
    }
    (void)fprintf(stderr, "%s: %s: %s\n", program, path, device->env->err.text);
    spmmi_error_clear(&device->env->err);
    return 3;
}

int bench_block_main(const char *program, char **paths, void (*head)(const spmm_device_t *, void *),
                     bench_block_run_t run, void *self)
{
    spmm_env_t    env = {.size = 1};
    spmm_device_t device;
    int           code = 0;

    MPI_Init(NULL, NULL);
    env.comm = MPI_COMM_SELF;
    if (spmmi_device_open(&env, SPMM_DEVICE_CUDA, NULL, &device) != SPMM_OK ||
        spmmi_engines_preload(&device) != SPMM_OK) {
        (void)fprintf(stderr, "%s: %s\n", program, env.err.text);
        MPI_Finalize();
        return 4;
    }
    head(&device, self);
    for (; *paths != NULL; paths++) {
        const int now = run(&device, *paths, self);

        code = now > code ? now : code;
        (void)fflush(stdout);
    }
    spmmi_device_close(&device);
    MPI_Finalize();
    return code;
}

/** What bench_block_widths_main() hands through. */
typedef struct {
    const char         *program;
    bench_block_width_t one;
    int64_t             width[BENCH_WIDTHS];
    int                 n_widths;
    bool                is_wrong; /**< a C was */
} widths_t;

static int run_widths(const spmm_device_t *device, const char *path, void *self)
{
    widths_t      *r       = self;
    spmm_csr_t     block   = {0};
    spmm_pattern_t pattern = {0};
    spmm_status_t  status  = bench_block_read(device->env, path, SPMM_R_16F, &block);

    if (status == SPMM_OK) {
        status = spmmi_pattern_scan(device->env, &block, &pattern);
    }
    for (int w = 0; w < r->n_widths && status == SPMM_OK; w++) {
        const spmm_problem_t problem = {.ab_type = SPMM_R_16F,
                                        .c_type  = SPMM_R_16F,
                                        .compute = SPMM_COMPUTE_32F,
                                        .layout  = SPMM_LAYOUT_ROW,
                                        .n       = r->width[w],
                                        .pattern = &pattern};
        bench_operands_t     o;

        status = bench_operands_open(device, &block, r->width[w], &o);
        if (status == SPMM_OK) {
            status = r->one(&o, &problem, bench_block_name(path), &r->is_wrong);
        }
        bench_operands_close(&o);
    }
    spmmi_pattern_free(&pattern);
    spmmi_csr_free(&block);
    return status == SPMM_OK ? r->is_wrong : bench_block_failed(r->program, path, device, status);
}

int bench_block_widths_main(const char *program, const char *usage, char **arguments,
                            void (*head)(const spmm_device_t *, void *), bench_block_width_t one)
{
    widths_t r = {.program = program, .one = one};
    int      code;

    if (arguments[0] != NULL && arguments[1] != NULL) {
        r.n_widths = tool_read_widths(arguments[0], 1, r.width, BENCH_WIDTHS);
    }
    if (r.n_widths == 0) {
        (void)fprintf(stderr, "usage: %s %s\n", program, usage);
        return 2;
    }
    code = bench_block_main(program, arguments + 1, head, run_widths, &r);
    if (code == 1) {
        (void)fprintf(stderr, "%s: a product is wrong: it is marked `!`\n", program);
    }
    return code;
}

/** Events around each product, and what the times are kept in. */
typedef struct {
    spmm_event_t **mark; /**< [2 * iterations] before and after each */
    double        *seconds;
    int64_t        iterations;
} marks_t;

static spmm_status_t take_times(const spmm_device_t *device, spmm_stream_t stream, const marks_t *m,
                                bench_product_t product, void *self)
{
    for (int64_t k = 0; k < 2 * m->iterations; k++) {
        SPMM_TRY(device->ops->event_create(device, true, &m->mark[k]));
    }
    SPMM_TRY(device->ops->delay(device, lead_seconds, stream));
    for (int k = 0; k < BENCH_WARMUP; k++) {
        SPMM_TRY(product(self));
    }
    for (int64_t k = 0; k < m->iterations; k++) {
        SPMM_TRY(device->ops->event_record(device, m->mark[2 * k], stream));
        SPMM_TRY(product(self));
        SPMM_TRY(device->ops->event_record(device, m->mark[2 * k + 1], stream));
    }
    for (int64_t k = 0; k < m->iterations; k++) {
        SPMM_TRY(
            device->ops->event_elapsed(device, m->mark[2 * k], m->mark[2 * k + 1], &m->seconds[k]));
    }
    return SPMM_OK;
}

spmm_status_t bench_block_median(const spmm_device_t *device, spmm_stream_t stream,
                                 int64_t iterations, bench_product_t product, void *self,
                                 double *seconds)
{
    marks_t       m      = {.iterations = iterations};
    spmm_status_t status = SPMM_OK;

    SPMM_NEW_ZERO(m.mark, 2 * iterations);
    SPMM_NEW(m.seconds, iterations);
    if (m.mark == NULL || m.seconds == NULL) {
        status = spmmi_fail_memory(&device->env->err, 2 * iterations, sizeof *m.mark, "events");
    } else {
        status = take_times(device, stream, &m, product, self);
    }
    if (status == SPMM_OK) {
        *seconds = tool_median(m.seconds, iterations);
    }
    for (int64_t k = 0; k < 2 * iterations && m.mark != NULL; k++) {
        device->ops->event_destroy(device, m.mark[k]);
    }
    spmmi_free(m.mark);
    spmmi_free(m.seconds);
    return status;
}
