/* SPDX-License-Identifier: Apache-2.0 */
/** @file gpu_test.h  What the tests on a GPU share: skipping, and the device. */
#ifndef SPMM_GPU_TEST_H
#define SPMM_GPU_TEST_H

#include "device_test.h"

#include "device/device_cuda.h"

/** The device of rank's choice; where no GPU is visible the program ends as skipped. */
static inline void gpu_test_open(spmm_device_t *device)
{
    if (spmmi_cuda_device_count() == 0) {
        spmm_test_skip("no CUDA device is visible");
    }
    memset(device, 0, sizeof *device);
    device->ops  = &spmmi_device_cuda;
    device->kind = SPMM_DEVICE_CUDA;
    device->env  = &spmm_test_env;
    spmm_assert_ok(device->ops->open(device, NULL));
}

#endif /* SPMM_GPU_TEST_H */
