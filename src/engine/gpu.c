/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/gpu.h"

#include <stdio.h>

#include "base/scalar.h"

bool spmmi_gpu_supports(const spmm_problem_t *problem, char why[SPMM_WHY])
{
    const spmm_type_t ab = problem->ab_type, c = problem->c_type;
    const bool        half = ab == SPMM_R_16F || ab == SPMM_R_16BF;

    if (c != ab && !(half && c == SPMM_R_32F)) {
        (void)snprintf(why, SPMM_WHY, "needs C of type %s%s for A and B of that type",
                       spmmi_type_name(ab), half ? " or 32f" : "");
        return false;
    }
    if (spmmi_is_64f(ab) != (problem->compute == SPMM_COMPUTE_64F)) {
        (void)snprintf(why, SPMM_WHY, "computes FP64 data in FP64 and all other types in FP32");
        return false;
    }
    return true;
}

void *spmmi_upload_room(spmm_uploads_t *uploads, size_t bytes, spmm_status_t *status)
{
    const spmm_device_t *device = uploads->device;
    void                *memory = NULL;

    if (*status == SPMM_OK && uploads->n == SPMM_UPLOADS) {
        *status = spmmi_fail(&device->env->err, SPMM_ERR_INTERNAL,
                             "a format has more than %d arrays on a device; raise SPMM_UPLOADS",
                             SPMM_UPLOADS);
    }
    if (*status == SPMM_OK) {
        *status = device->ops->alloc_cached(device, bytes, &memory);
    }
    if (*status != SPMM_OK) {
        return NULL;
    }
    uploads->array[uploads->n++] = memory;
    uploads->bytes += bytes;
    return memory;
}

void *spmmi_upload(spmm_uploads_t *uploads, const void *host, size_t bytes, size_t pad,
                   spmm_status_t *status)
{
    static const char    zeros[128];
    const spmm_device_t *device = uploads->device;
    char                *copy   = spmmi_upload_room(uploads, bytes + pad, status);

    if (*status == SPMM_OK) {
        *status = device->ops->stage(device, copy, host, bytes);
    }
    for (size_t at = 0; at < pad && *status == SPMM_OK; at += sizeof zeros) {
        *status = device->ops->stage(device, copy + bytes + at, zeros,
                                     pad - at < sizeof zeros ? pad - at : sizeof zeros);
    }
    return copy;
}

void spmmi_uploads_free(spmm_uploads_t *uploads)
{
    for (int k = 0; k < uploads->n; k++) {
        uploads->device->ops->release(uploads->device, uploads->array[k]);
    }
    uploads->n = 0;
}
