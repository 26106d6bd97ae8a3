/* SPDX-License-Identifier: Apache-2.0 */
/** @file gpu.h  What engines, SDDMM and attention share on GPUs. */
#ifndef SPMM_ENGINE_GPU_H
#define SPMM_ENGINE_GPU_H

#include "engine/engine.h"

enum { SPMM_UPLOADS = 14 }; /**< most arrays of a format on a device */

/** supports() of engines whose CUDA kernels take A and B of a type, C of that or, for 16-bit ones,
 *  of FP32, and compute FP64 in FP64 and all others in FP32. */
bool spmmi_gpu_supports(const spmm_problem_t *problem, char why[SPMM_WHY]);

/** Arrays of a format on a device, which it owns together. */
typedef struct {
    const spmm_device_t *device; /**< borrowed */
    void                *array[SPMM_UPLOADS];
    int                  n;
    size_t               bytes;
} spmm_uploads_t;

/** Device memory, uninitialised.  This and what comes next do nothing where *status is not SPMM_OK,
 *  and set it where they fail: arrays are made one after the other, and *status is looked at once.
 *  @return NULL unless *status is SPMM_OK */
void *spmmi_upload_room(spmm_uploads_t *uploads, size_t bytes, spmm_status_t *status);
/** The same, filled from @p host, and @p pad zeros behind, which kernels read but make no use of.
 *  The copy is enqueued, see spmm_device_ops_t.stage. */
void *spmmi_upload(spmm_uploads_t *uploads, const void *host, size_t bytes, size_t pad,
                   spmm_status_t *status);
/** The same of @p count elements of an array. */
#define SPMM_UPLOAD(uploads, host, count, status)                                                  \
    spmmi_upload((uploads), (host), (size_t)(count) * sizeof *(host), 0, (status))
void spmmi_uploads_free(spmm_uploads_t *uploads);

/** Where @p device is a GPU, enqueue by a CUDA launcher on it and return what came of it. */
#ifdef SPMM_HAVE_CUDA
#define SPMM_RUN_CUDA(device, what, launch)                                                        \
    do {                                                                                           \
        if ((device)->kind == SPMM_DEVICE_CUDA) {                                                  \
            SPMM_TRY(spmmi_cuda_use(device));                                                      \
            return spmmi_cuda_check(device, launch, what);                                         \
        }                                                                                          \
    } while (0)
#else
#define SPMM_RUN_CUDA(device, what, launch) (void)stream
#endif

#endif /* SPMM_ENGINE_GPU_H */
