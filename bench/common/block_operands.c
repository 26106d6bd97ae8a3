/* SPDX-License-Identifier: Apache-2.0 */
#include "block.h"

#include <string.h>

#include "base/alloc.h"
#include "spmm_dist/context.h"

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

spmm_status_t bench_operands_multiply(const bench_operands_t *o, const spmm_engine_ops_t *engine,
                                      void *format)
{
    return engine->execute(format, &(spmm_operands_t){.ab_type = o->block->type,
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

/** What bench_block_median() repeats. */
typedef struct {
    const bench_operands_t  *o;
    const spmm_engine_ops_t *engine;
    void                    *format;
} product_t;

static spmm_status_t multiply(void *self)
{
    const product_t *p = self;

    return bench_operands_multiply(p->o, p->engine, p->format);
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
