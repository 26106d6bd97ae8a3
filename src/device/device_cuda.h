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

/* device_check_cuda.c */

/** Make the device current on this thread. */
spmm_status_t spmmi_cuda_use(const spmm_device_t *device);

/** Record a failed CUDA call of @p what, which is then forgotten by the runtime; SPMM_OK for
 *  cudaSuccess. */
spmm_status_t spmmi_cuda_check(const spmm_device_t *device, cudaError_t code, const char *what);

/** What releases do, which return nothing: a failure goes to the log. */
void spmmi_cuda_warn(const spmm_device_t *device, cudaError_t code, const char *what);

/* The operations on graphs (device_graph_cuda.c). */
spmm_status_t spmmi_cuda_graph_begin(const spmm_device_t *device, spmm_stream_t stream);
spmm_status_t spmmi_cuda_graph_end(const spmm_device_t *device, spmm_stream_t stream,
                                   spmm_graph_t **graph);
spmm_status_t spmmi_cuda_graph_launch(const spmm_device_t *device, spmm_graph_t *graph,
                                      spmm_stream_t stream);
void          spmmi_cuda_graph_destroy(const spmm_device_t *device, spmm_graph_t *graph);

/* device_memory_cuda.c: device->state, and operations of spmm_device_ops_t. */

/** The device is current.  What was made is freed by spmmi_cuda_memory_close() also on failure. */
spmm_status_t spmmi_cuda_memory_open(spmm_device_t *device);
void          spmmi_cuda_memory_close(spmm_device_t *device);
spmm_status_t spmmi_cuda_alloc(const spmm_device_t *device, size_t bytes, void **ptr);
spmm_status_t spmmi_cuda_alloc_cached(const spmm_device_t *device, size_t bytes, void **ptr);
/** After a failure for want of memory: give back what the library keeps.  False:
 *  nothing is kept. */
bool          spmmi_cuda_make_room(const spmm_device_t *device);
void          spmmi_cuda_release(const spmm_device_t *device, void *ptr);
void          spmmi_cuda_count_kept(const spmm_device_t *device, size_t *pinned, size_t *cached);
spmm_status_t spmmi_cuda_stage(const spmm_device_t *device, void *to, const void *host,
                               size_t bytes);

/** Return from the enclosing function when a CUDA call fails.  See SPMM_TRY. */
#define SPMM_CUDA(device, call) SPMM_TRY(spmmi_cuda_check((device), (call), #call))

#endif /* SPMM_DEVICE_DEVICE_CUDA_H */
