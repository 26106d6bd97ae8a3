/* SPDX-License-Identifier: Apache-2.0 */
#include "block.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
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

/* @return what comes behind the options and widths, NULL: arguments are wrong */
static char **parse(bench_program_t *p, char **at)
{
    bool good = true;

    for (; at[0] != NULL && at[1] != NULL; at += 2) {
        if (p->iterations > 0 && strcmp(at[0], "--iterations") == 0) {
            p->iterations = strtoll(at[1], NULL, 10);
            good          = good && p->iterations > 0;
        } else if (p->has_only && strcmp(at[0], "--only") == 0) {
            p->only = at[1];
        } else {
            break;
        }
    }
    if (good && at[0] != NULL && at[1] != NULL) {
        p->n_widths = tool_read_widths(at[0], p->unit, p->width, BENCH_WIDTHS);
    }
    return p->n_widths == 0 ? NULL : at + 1;
}

int bench_block_main(bench_program_t *program, char **arguments)
{
    spmm_env_t    env = {.size = 1};
    spmm_device_t device;
    char        **paths = parse(program, arguments);
    int           code  = 0;

    if (paths == NULL) {
        (void)fprintf(stderr, "usage: %s %s\n", program->name, program->usage);
        return 2;
    }
    MPI_Init(NULL, NULL);
    env.comm = MPI_COMM_SELF;
    if (spmmi_device_open(&env, SPMM_DEVICE_CUDA, NULL, &device) != SPMM_OK ||
        spmmi_engines_preload(&device) != SPMM_OK) {
        (void)fprintf(stderr, "%s: %s\n", program->name, env.err.text);
        MPI_Finalize();
        return 4;
    }
    program->head(&device, program);
    for (; *paths != NULL; paths++) {
        const int now = program->run(&device, *paths, program);

        code = now > code ? now : code;
        (void)fflush(stdout);
    }
    spmmi_device_close(&device);
    MPI_Finalize();
    if (program->is_wrong) {
        (void)fprintf(stderr, "%s: a product is wrong: it is marked `!` or `no`\n", program->name);
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
    spmmi_free_all(m.mark, m.seconds);
    return status;
}
