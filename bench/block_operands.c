/* SPDX-License-Identifier: Apache-2.0 */
#include "block_operands.h"

#include "base/alloc.h"
#include "block_error.h"

spmm_status_t bench_operands_open(const spmm_device_t *device, const spmm_csr_t *block, int64_t n,
                                  bench_operands_t *o)
{
    const size_t row = (size_t)n * sizeof(uint16_t);

    o->host_B = spmmi_alloc(block->n_cols, row);
    o->host_C = spmmi_alloc(block->c_rows, row);
    if (o->host_B == NULL || o->host_C == NULL) {
        return spmmi_fail_memory(&device->env->err, (int64_t)block->n_cols + block->c_rows, row,
                                 "B and C");
    }
    bench_block_random(block, n, o->host_B);
    SPMM_TRY(spmmi_device_upload(device, o->host_B, (size_t)block->n_cols * row, &o->B));
    SPMM_TRY(device->ops->alloc(device, (size_t)block->c_rows * row, &o->C));
    return device->ops->stream_create(device, false, &o->stream);
}

void bench_operands_close(const spmm_device_t *device, bench_operands_t *o)
{
    if (o->stream != NULL) {
        device->ops->stream_destroy(device, o->stream);
    }
    device->ops->release(device, o->B);
    device->ops->release(device, o->C);
    spmmi_free(o->host_B);
    spmmi_free(o->host_C);
}
