/* SPDX-License-Identifier: Apache-2.0 */
/** @file upload.c  The arrays of a format on a device, and what the host keeps of them. */
#include <string.h>

#include "base/alloc.h"
#include "engine/tc/engine.h"

void *spmmi_tc_take(spmm_tc_engine_t *f, size_t bytes, spmm_status_t *status)
{
    void *memory = NULL;

    if (*status == SPMM_OK && f->n_uploads == SPMM_TC_UPLOADS) {
        *status = spmmi_fail(&f->device->env->err, SPMM_ERR_INTERNAL,
                             "format %s has more than %d arrays on a device; raise SPMM_TC_UPLOADS",
                             f->kind->name, SPMM_TC_UPLOADS);
    }
    if (*status == SPMM_OK) {
        *status = f->device->ops->alloc_cached(f->device, bytes, &memory);
    }
    if (*status != SPMM_OK) {
        return NULL;
    }
    f->upload[f->n_uploads++] = memory;
    f->device_bytes += bytes;
    return memory;
}

void *spmmi_tc_upload(spmm_tc_engine_t *f, const void *host, size_t bytes, size_t pad,
                      spmm_status_t *status)
{
    static const char zeros[128];
    char             *copy = spmmi_tc_take(f, bytes + pad, status);

    if (*status == SPMM_OK) {
        *status = f->device->ops->stage(f->device, copy, host, bytes);
    }
    for (size_t at = 0; at < pad && *status == SPMM_OK; at += sizeof zeros) {
        *status = f->device->ops->stage(f->device, copy + bytes + at, zeros,
                                        pad - at < sizeof zeros ? pad - at : sizeof zeros);
    }
    return copy;
}

/* The pointer of an array to host memory: it may point to any type. */
static void *host_of(const spmm_tc_engine_t *f, const spmm_tc_let_go_t *array)
{
    void *host;

    memcpy(&host, (const char *)f + array->pointer, sizeof host);
    return host;
}

static void set_host(spmm_tc_engine_t *f, const spmm_tc_let_go_t *array, void *host)
{
    memcpy((char *)f + array->pointer, &host, sizeof host);
}

void spmmi_tc_let_go(spmm_tc_engine_t *f, size_t pointer, const void *device, size_t bytes,
                     spmm_tc_need_t need, spmm_status_t *status)
{
    if (*status == SPMM_OK && f->n_let_go == SPMM_TC_LET_GO) {
        *status = spmmi_fail(&f->device->env->err, SPMM_ERR_INTERNAL,
                             "format %s lets more than %d arrays go; raise SPMM_TC_LET_GO",
                             f->kind->name, SPMM_TC_LET_GO);
    }
    if (*status == SPMM_OK) {
        f->let_go[f->n_let_go++] =
            (spmm_tc_let_go_t){.pointer = pointer, .device = device, .bytes = bytes, .need = need};
    }
}

void *spmmi_tc_upload_values(spmm_tc_engine_t *f, size_t pointer, size_t bytes, spmm_tc_need_t need,
                             spmm_status_t *status)
{
    f->values        = (spmm_tc_let_go_t){.pointer = pointer, .bytes = bytes};
    f->values.device = spmmi_tc_upload(f, host_of(f, &f->values), bytes, 0, status);
    spmmi_tc_let_go(f, pointer, f->values.device, bytes, need, status);
    return (void *)(uintptr_t)f->values.device;
}

spmm_status_t spmmi_tc_write_values(const spmm_tc_engine_t *f)
{
    return spmmi_device_write(f->device, (void *)(uintptr_t)f->values.device,
                              host_of(f, &f->values), f->values.bytes);
}

void spmmi_tc_drop(spmm_tc_engine_t *f)
{
    for (int k = 0; k < f->n_let_go; k++) {
        spmmi_free(host_of(f, &f->let_go[k]));
        set_host(f, &f->let_go[k], NULL);
    }
}

spmm_status_t spmmi_tc_bring_back(spmm_tc_engine_t *f)
{
    spmm_status_t status = SPMM_OK;

    for (int k = 0; k < f->n_let_go && status == SPMM_OK; k++) {
        const spmm_tc_let_go_t *array = &f->let_go[k];
        void                   *host;

        if (array->need == SPMM_TC_GONE) {
            continue;
        }
        host = array->need == SPMM_TC_BLANK ? spmmi_alloc_zero(1, array->bytes)
                                            : spmmi_alloc(1, array->bytes);
        set_host(f, array, host);
        if (host == NULL) {
            status = spmmi_fail_memory(&f->device->env->err, 1, array->bytes,
                                       "an array of a format while its values change");
        } else if (array->need == SPMM_TC_BACK) {
            status = f->device->ops->fetch(f->device, host, array->device, array->bytes);
        }
    }
    if (status != SPMM_OK) {
        spmmi_tc_drop(f);
    }
    return status;
}

size_t spmmi_tc_let_go_bytes(const spmm_tc_engine_t *f)
{
    size_t bytes = 0;

    for (int k = 0; k < f->n_let_go; k++) {
        bytes += f->let_go[k].bytes;
    }
    return bytes;
}
