/* SPDX-License-Identifier: Apache-2.0 */
/** @file device_test.h  Memory for tests that run on any device. */
#ifndef SPMM_DEVICE_TEST_H
#define SPMM_DEVICE_TEST_H

#include "test_main.h"

#include "device/device.h"

/** Host to new device memory, shifted by @p shift bytes from an aligned address (*base is what to
 *  release). */
static inline void *device_test_put(const spmm_device_t *device, const void *host, size_t bytes,
                                    size_t shift, void **base)
{
    spmm_assert_ok(device->ops->alloc(device, bytes + shift, base));
    spmm_assert_ok(device->ops->copy(device, (char *)*base + shift, host, bytes, NULL));
    spmm_assert_ok(device->ops->stream_sync(device, NULL));
    return (char *)*base + shift;
}

/** A GPU that need not be there, for predictions: an H100, nearly. */
static inline spmm_device_t device_test_gpu(void)
{
    return (spmm_device_t){.kind    = SPMM_DEVICE_CUDA,
                           .env     = &spmm_test_env,
                           .cc      = 90,
                           .n_sm    = 132,
                           .threads = 1,
                           .mem_bw  = 4e12};
}

#endif /* SPMM_DEVICE_TEST_H */
