/* SPDX-License-Identifier: Apache-2.0 */
#include "device/device.h"

#include <stdlib.h>
#include <string.h>

#ifdef SPMM_HAVE_CUDA
#include "device/device_cuda.h"
#endif

static int visible_cuda_devices(void)
{
#ifdef SPMM_HAVE_CUDA
    return spmmi_cuda_device_count();
#else
    return 0;
#endif
}

/* May this rank serve the kind asked for? */
static spmm_status_t check_kind(spmm_env_t *env, spmm_device_kind_t kind, int visible)
{
    if (kind != SPMM_DEVICE_AUTO && kind != SPMM_DEVICE_CPU && kind != SPMM_DEVICE_CUDA) {
        return spmmi_fail(&env->err, SPMM_ERR_ARGUMENT,
                          "device kind %d is none of spmm_device_kind_t", (int)kind);
    }
    if (kind != SPMM_DEVICE_CUDA || visible > 0) {
        return SPMM_OK;
    }
#ifdef SPMM_HAVE_CUDA
    return spmmi_fail(&env->err, SPMM_ERR_UNSUPPORTED,
                      "no CUDA device is visible: check nvidia-smi and CUDA_VISIBLE_DEVICES, or "
                      "choose the CPU");
#else
    return spmmi_fail(
        &env->err, SPMM_ERR_UNSUPPORTED,
        "this build has no CUDA: configure with SPMM_ENABLE_CUDA=ON, or choose the CPU");
#endif
}

spmm_status_t spmmi_device_open(spmm_env_t *env, spmm_device_kind_t kind, const int *ordinal,
                                spmm_device_t *device)
{
    const int visible  = visible_cuda_devices();
    int       least[3] = {visible, (int)kind, -(int)kind};

    memset(device, 0, sizeof *device);
    SPMM_TRY(spmmi_agree(env, check_kind(env, kind, visible)));
    SPMM_TRY(spmmi_allreduce(env, least, 3, MPI_INT, MPI_MIN));
    if (least[1] != -least[2]) {
        return spmmi_fail(&env->err, SPMM_ERR_ARGUMENT,
                          "the ranks ask for different kinds of device; ask for one kind on all");
    }
    if (kind == SPMM_DEVICE_AUTO) {
        kind = least[0] > 0 ? SPMM_DEVICE_CUDA : SPMM_DEVICE_CPU;
    }
    device->kind = kind;
    device->env  = env;
    device->ops  = &spmmi_device_cpu;
#ifdef SPMM_HAVE_CUDA
    if (kind == SPMM_DEVICE_CUDA) {
        device->ops = &spmmi_device_cuda;
    }
#endif
    SPMM_TRY(spmmi_agree(env, device->ops->open(device, ordinal)));
    env->threads = device->threads;
    return SPMM_OK;
}

bool spmmi_device_runs(const spmm_device_t *device, int cc)
{
    return (device->code != 0 ? device->code : device->cc) >= cc;
}

void spmmi_device_close(spmm_device_t *device)
{
    if (device->ops != NULL) {
        device->ops->close(device);
    }
    memset(device, 0, sizeof *device);
}

spmm_status_t spmmi_device_write(const spmm_device_t *device, void *to, const void *host,
                                 size_t bytes)
{
    SPMM_TRY(device->ops->stage(device, to, host, bytes));
    return device->ops->stream_sync(device, NULL);
}

spmm_status_t spmmi_device_upload(const spmm_device_t *device, const void *host, size_t bytes,
                                  void **ptr)
{
    spmm_status_t status;
    void         *memory;

    SPMM_TRY(device->ops->alloc(device, bytes, &memory));
    status = spmmi_device_write(device, memory, host, bytes);
    if (status != SPMM_OK) {
        device->ops->release(device, memory);
        return status;
    }
    *ptr = memory;
    return SPMM_OK;
}

spmm_status_t spmmi_device_upload_list(const spmm_device_t *device, const int32_t *host,
                                       int64_t count, int32_t **ptr)
{
    void *memory = NULL;

    SPMM_TRY(spmmi_device_upload(device, host, (size_t)count * sizeof *host, &memory));
    *ptr = memory;
    return SPMM_OK;
}
