/* SPDX-License-Identifier: Apache-2.0 */
/** @file device_check_cuda.c  The current device, and failed calls of CUDA. */
#include "device/device_cuda.h"

spmm_status_t spmmi_cuda_check(const spmm_device_t *device, cudaError_t code, const char *what)
{
    if (code == cudaSuccess) {
        return SPMM_OK;
    }
    /* Errors that do not break the device would otherwise be blamed on the next kernel launch. */
    (void)cudaGetLastError();
    return spmmi_fail(
        &device->env->err, code == cudaErrorMemoryAllocation ? SPMM_ERR_MEMORY : SPMM_ERR_DEVICE,
        "%.160s failed on CUDA device %d: %s", what, device->ordinal, cudaGetErrorString(code));
}

spmm_status_t spmmi_cuda_use(const spmm_device_t *device)
{
    int current = -1;

    SPMM_CUDA(device, cudaGetDevice(&current));
    if (current != device->ordinal) {
        SPMM_CUDA(device, cudaSetDevice(device->ordinal));
    }
    return SPMM_OK;
}

/* Releases return nothing: a failure goes to the log. */
void spmmi_cuda_warn(const spmm_device_t *device, cudaError_t code, const char *what)
{
    if (code != cudaSuccess) {
        (void)cudaGetLastError();
        spmmi_log(device->env, "%s failed on CUDA device %d: %s", what, device->ordinal,
                  cudaGetErrorString(code));
    }
}
