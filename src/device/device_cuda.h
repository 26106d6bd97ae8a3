/* SPDX-License-Identifier: Apache-2.0 */
/** @file device_cuda.h
 *  What other CUDA code of the library asks of the CUDA device layer.
 *
 *  CUDA works on the calling thread's current device, which the program may change between calls.
 *  Every operation here makes the context's device current and leaves it so, as context.h says.
 */
#ifndef SPMM_DEVICE_DEVICE_CUDA_H
#define SPMM_DEVICE_DEVICE_CUDA_H

#include <cuda_runtime_api.h>

#include "device/device.h"

/** CUDA devices this process sees; 0 also when the driver is missing or fails. */
int spmmi_cuda_device_count(void);

/** Make the device current on this thread. */
spmm_status_t spmmi_cuda_use(const spmm_device_t *device);

/** Record a failed CUDA call of @p what, which is then forgotten by the runtime; SPMM_OK for
 *  cudaSuccess. */
spmm_status_t spmmi_cuda_check(const spmm_device_t *device, cudaError_t code, const char *what);

/** After a failure for want of memory: give back what the library keeps.  False:
 *  nothing is kept. */
bool spmmi_cuda_make_room(const spmm_device_t *device);

/** Return from the enclosing function when a CUDA call fails.  See SPMM_TRY. */
#define SPMM_CUDA(device, call) SPMM_TRY(spmmi_cuda_check((device), (call), #call))

#endif /* SPMM_DEVICE_DEVICE_CUDA_H */
