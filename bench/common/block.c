/* SPDX-License-Identifier: Apache-2.0 */
#include "block.h"

#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/scalar.h"
#include "matrix/matrix.h"
#include "spmm_dist/context.h"
#include "tool_common.h"

/* A word, a colon: `kind:key=value`; paths with a colon have a '/' or a '.' before it. */
static bool is_spec(const char *path)
{
    const size_t word = strcspn(path, ":/.");

    return word > 0 && path[word] == ':';
}

const char *bench_block_name(const char *path)
{
    const char *slash = is_spec(path) ? NULL : strrchr(path, '/');

    return slash == NULL ? path : slash + 1;
}

static spmm_status_t copy(spmm_env_t *env, const spmm_matrix_t *A, spmm_csr_t *block)
{
    SPMM_TRY(spmmi_csr_alloc(env, A->n_rows, A->n_cols, A->nnz, A->type, block));
    memcpy(block->row_ptr, A->row_ptr, ((size_t)A->n_rows + 1) * sizeof *block->row_ptr);
    memcpy(block->values, A->values, (size_t)A->nnz * spmm_type_size(A->type));
    for (int64_t k = 0; k < A->nnz; k++) {
        block->col_idx[k] = (int32_t)A->col_idx[k];
    }
    return SPMM_OK;
}

spmm_status_t bench_block_read(spmm_env_t *env, const char *path, spmm_type_t type,
                               spmm_csr_t *block)
{
    spmm_matrix_t *A = NULL;
    spmm_status_t  status;

    SPMM_TRY(is_spec(path) ? spmmi_matrix_from_spec(env, path, type, 1, &A)
                           : spmmi_matrix_from_file(env, path, type, 1, &A));
    status = copy(env, A, block);
    spmmi_matrix_free(A);
    return status;
}

spmm_status_t bench_block_reorder(spmm_env_t *env, const spmm_reorderer_t *method,
                                  const spmm_csr_t *block, spmm_csr_t *permuted, double *seconds)
{
    const clock_t start = clock();
    int32_t      *order;
    spmm_status_t status;

    if (SPMM_NEW(order, block->n_rows) == NULL) {
        return spmmi_fail_memory(&env->err, block->n_rows, sizeof *order, "an order");
    }
    status = spmmi_reorder(env, method, block, 0, order);
    if (seconds != NULL) {
        *seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
    }
    if (status == SPMM_OK) {
        status = spmmi_csr_permute(env, block, order, permuted, NULL);
    }
    spmmi_free(order);
    return status;
}

static const double most_checked = 5e7; /* products of the reference, about */

static double scale_of_b(const spmm_csr_t *A)
{
    double most = 0.0;

    for (int32_t i = 0; i < A->n_rows && A->type == SPMM_R_16F; i++) {
        double sum = 0.0;

        for (int64_t e = A->row_ptr[i]; e < A->row_ptr[i + 1]; e++) {
            sum += fabs(spmmi_value_get(A->type, A->values, e));
        }
        most = fmax(most, sum);
    }
    return tool_scale_of_b(most);
}

void bench_block_random(const spmm_csr_t *A, int64_t n, void *B)
{
    const double scale = scale_of_b(A);

#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < A->n_cols; i++) {
        for (int64_t j = 0; j < n; j++) {
            spmmi_value_set(A->type, B, i * n + j, scale * spmmi_random_value(2, i, j));
        }
    }
}

static double element_error(const spmm_csr_t *A, int64_t i, int64_t j, int64_t n, const void *B,
                            double got)
{
    const int64_t terms = A->row_ptr[i + 1] - A->row_ptr[i];
    tool_sum_t    want  = {0.0, 0.0};

    for (int64_t e = A->row_ptr[i]; e < A->row_ptr[i + 1]; e++) {
        tool_sum_add(&want, spmmi_value_get(A->type, A->values, e) *
                                spmmi_value_get(A->type, B, (int64_t)A->col_idx[e] * n + j));
    }
    if (!isfinite(want.size)) {
        return (double)INFINITY;
    }
    return tool_relative_error(got, want.sum, want.size, tool_range(A->type, terms).eta);
}

double bench_block_error(const spmm_csr_t *A, int64_t n, const void *B, const void *C)
{
    const double  work  = ((double)spmmi_csr_nnz(A) + (double)A->n_rows) * (double)n;
    const int64_t step  = (int64_t)(work / most_checked) | 1; /* odd: misses no power of two */
    double        worst = 0.0;

#pragma omp parallel for schedule(dynamic, 64) reduction(max : worst)
    for (int64_t i = 0; i < A->n_rows; i++) {
        for (int64_t j = 0; j < n; j++) {
            const double got   = spmmi_value_get(A->type, C, i * n + j);
            double       error = isfinite(got) ? 0.0 : (double)INFINITY;

            if (i % step == 0 && isfinite(got)) {
                error = element_error(A, i, j, n, B, got);
            }
            worst = error > worst ? error : worst;
        }
    }
    return worst;
}

static size_t bytes_of_c(const bench_operands_t *o)
{
    return (size_t)o->block->c_rows * (size_t)o->n * spmm_type_size(o->block->type);
}

spmm_status_t bench_operands_open(const spmm_device_t *device, const spmm_csr_t *block, int64_t n,
                                  bench_operands_t *o)
{
    const size_t row = (size_t)n * spmm_type_size(block->type);

    *o        = (bench_operands_t){.device = device, .block = block, .n = n};
    o->host_B = spmmi_alloc(block->n_cols, row);
    o->host_C = spmmi_alloc(block->c_rows, row);
    if (o->host_B == NULL || o->host_C == NULL) {
        return spmmi_fail_memory(&device->env->err, (int64_t)block->n_cols + block->c_rows, row,
                                 "B and C");
    }
    bench_block_random(block, n, o->host_B);
    SPMM_TRY(spmmi_device_upload(device, o->host_B, (size_t)block->n_cols * row, &o->B));
    SPMM_TRY(device->ops->alloc(device, bytes_of_c(o), &o->C));
    return device->ops->stream_create(device, false, &o->stream);
}

void bench_operands_close(bench_operands_t *o)
{
    if (o->stream != NULL) {
        o->device->ops->stream_destroy(o->device, o->stream);
    }
    o->device->ops->release(o->device, o->B);
    o->device->ops->release(o->device, o->C);
    spmmi_free_all(o->host_B, o->host_C);
}

spmm_status_t bench_operands_poison(const bench_operands_t *o)
{
    memset(o->host_C, 0xff, bytes_of_c(o)); /* a NaN in every type */
    SPMM_TRY(o->device->ops->copy(o->device, o->C, o->host_C, bytes_of_c(o), o->stream));
    return o->device->ops->stream_sync(o->device, o->stream);
}

/** What bench_block_median() repeats. */
typedef struct {
    const bench_operands_t  *o;
    const spmm_engine_ops_t *engine;
    void                    *format;
} product_t;

static spmm_status_t multiply(void *self)
{
    const product_t        *p = self;
    const bench_operands_t *o = p->o;

    return p->engine->execute(p->format, &(spmm_operands_t){.ab_type = o->block->type,
                                                            .c_type  = o->block->type,
                                                            .layout  = SPMM_LAYOUT_ROW,
                                                            .n       = o->n,
                                                            .alpha   = {.re = 1.0},
                                                            .B       = o->B,
                                                            .ldb     = o->n,
                                                            .C       = o->C,
                                                            .ldc     = o->n,
                                                            .stream  = o->stream});
}

spmm_status_t bench_operands_error(const bench_operands_t *o, double *error)
{
    SPMM_TRY(o->device->ops->fetch(o->device, o->host_C, o->C, bytes_of_c(o)));
    *error = bench_block_error(o->block, o->n, o->host_B, o->host_C);
    return SPMM_OK;
}

spmm_status_t bench_operands_measure(const bench_operands_t *o, const spmm_engine_ops_t *engine,
                                     void *format, int64_t iterations, double *seconds,
                                     double *error)
{
    product_t product = {o, engine, format};

    SPMM_TRY(bench_operands_poison(o));
    SPMM_TRY(bench_block_median(o->device, o->stream, iterations, multiply, &product, seconds));
    return bench_operands_error(o, error);
}

static const double lead_seconds = 1e-3;

int bench_block_each(const char *program, const char *titles, bench_run_t run, char **paths)
{
    spmm_env_t env  = {.size = 1, .threads = 1};
    int        code = 0;

    MPI_Init(NULL, NULL);
    env.comm = MPI_COMM_SELF;
    (void)puts(titles);
    for (; *paths != NULL; paths++) {
        if (run(&env, *paths) != SPMM_OK) {
            (void)fprintf(stderr, "%s: %s: %s\n", program, *paths, env.err.text);
            spmmi_error_clear(&env.err);
            code = 3;
        }
    }
    MPI_Finalize();
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
