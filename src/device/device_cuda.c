/* SPDX-License-Identifier: Apache-2.0 */
#include "device/device_cuda.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "cuda/cuda_kernels.h"
#include "device/calibrate.h"
#include "device/place.h"

int spmmi_cuda_device_count(void)
{
    int count = 0;

    if (cudaGetDeviceCount(&count) != cudaSuccess) {
        (void)cudaGetLastError(); /* forget it: no driver is an answer, not a failure */
        return 0;
    }
    return count;
}

/* The GPUs that this rank may take: the one asked for, or what it sees.  One that does not tell its
 * bus counts as like all such. */
static void list_devices(const int *ordinal, int count, uint64_t *ids)
{
    const int first = ordinal != NULL ? *ordinal : 0;
    const int n     = ordinal != NULL ? 1 : count;

    memset(ids, 0, SPMM_PLACE_DEVICES * sizeof *ids);
    if (first < 0 || first >= count) {
        return;
    }
    for (int d = 0; d < n && d < SPMM_PLACE_DEVICES; d++) {
        char bus[32] = "";

        if (cudaDeviceGetPCIBusId(bus, (int)sizeof bus, first + d) != cudaSuccess) {
            (void)cudaGetLastError();
            bus[0] = '\0';
        }
        ids[d] = spmmi_hash_text(0, bus) | 1; /* 0: no device */
    }
}

/* FP32 lanes of one multiprocessor (CUDA C++ Programming Guide, arithmetic throughput). */
static int fp32_lanes(int cc)
{
    return cc == 60 || cc == 70 || cc == 72 || cc == 75 || cc == 80 ? 64 : 128;
}

static spmm_status_t read_facts(spmm_device_t *device)
{
    struct cudaDeviceProp prop;
    int                   clock_khz, mem_khz, bus_bits;

    SPMM_CUDA(device, cudaGetDeviceProperties(&prop, device->ordinal));
    SPMM_CUDA(device, cudaDeviceGetAttribute(&clock_khz, cudaDevAttrClockRate, device->ordinal));
    SPMM_CUDA(device,
              cudaDeviceGetAttribute(&mem_khz, cudaDevAttrMemoryClockRate, device->ordinal));
    SPMM_CUDA(device,
              cudaDeviceGetAttribute(&bus_bits, cudaDevAttrGlobalMemoryBusWidth, device->ordinal));
    SPMM_CUDA(device,
              cudaDeviceGetPCIBusId(device->bus_id, (int)sizeof device->bus_id, device->ordinal));
    (void)snprintf(device->description, sizeof device->description, "%.95s", prop.name);
    device->cc   = 10 * prop.major + prop.minor;
    device->n_sm = prop.multiProcessorCount;
    /* Two transfers per memory clock, two operations per fused multiply-add. */
    device->mem_bw    = 2.0 * 1e3 * (double)mem_khz * (double)bus_bits / 8.0;
    device->fp32_peak = 2.0 * 1e3 * (double)clock_khz * fp32_lanes(device->cc) * device->n_sm;
    return SPMM_OK;
}

static spmm_status_t cuda_open(spmm_device_t *device, const int *ordinal)
{
    spmm_env_t *env   = device->env;
    int         index = 0, n_before = 0;
    int         count = 0;
    cudaError_t code  = cudaGetDeviceCount(&count);
    uint64_t    ids[SPMM_PLACE_DEVICES];

    list_devices(ordinal, code == cudaSuccess ? count : 0, ids);
    SPMM_TRY(spmmi_place_device(env, ids, &index, &n_before));
    SPMM_TRY(spmmi_device_count_threads(env, &device->threads));
    if (code != cudaSuccess || count == 0) {
        (void)cudaGetLastError();
        return spmmi_fail(&env->err, SPMM_ERR_UNSUPPORTED, "no CUDA device is visible: %s",
                          code != cudaSuccess ? cudaGetErrorString(code)
                                              : "the driver reports none");
    }
    if (ordinal != NULL && (*ordinal < 0 || *ordinal >= count)) {
        return spmmi_fail(&env->err, SPMM_ERR_ARGUMENT,
                          "CUDA device %d was asked for, but the visible ones are 0 to %d",
                          *ordinal, count - 1);
    }
    device->ordinal = ordinal != NULL ? *ordinal : index;
    SPMM_CUDA(device, cudaSetDevice(device->ordinal));
    SPMM_CUDA(device, cudaFree(NULL)); /* starts the device, whose failures then show here */
    SPMM_TRY(read_facts(device));
    SPMM_TRY(spmmi_cuda_memory_open(device));
    code = spmmi_cuda_probe();
    if (code == cudaErrorNoKernelImageForDevice || code == cudaErrorInvalidDeviceFunction) {
        (void)cudaGetLastError();
        return spmmi_fail(&env->err, SPMM_ERR_UNSUPPORTED,
                          "this build holds no code for %s: configure it with "
                          "CMAKE_CUDA_ARCHITECTURES=%d",
                          device->description, device->cc);
    }
    SPMM_TRY(spmmi_cuda_check(device, code, "loading the kernels"));
    SPMM_CUDA(device, spmmi_cuda_code(&device->code));
    /* Ranks that share a device, or were sent to one, might disturb each other. */
    spmmi_calibrate_cuda(device, ordinal == NULL && n_before == 0);
    return SPMM_OK;
}

/* The device's primary context belongs to the process: the program may go on using it. */
static void cuda_close(spmm_device_t *device)
{
    spmmi_cuda_memory_close(device);
}

static spmm_status_t cuda_alloc_pinned(const spmm_device_t *device, size_t bytes, void **ptr)
{
    void         *fresh  = NULL;
    spmm_status_t status = spmmi_cuda_use(device);

    if (status != SPMM_OK) {
        return status;
    }
    if (!spmmi_alloc_note()) {
        return spmmi_fail_bytes(&device->env->err, bytes, "a pinned buffer");
    }
    status = spmmi_cuda_check(device,
                              cudaHostAlloc(&fresh, bytes == 0 ? 1 : bytes, cudaHostAllocDefault),
                              "cudaHostAlloc");
    if (status != SPMM_OK) {
        spmmi_alloc_note_free();
        return status;
    }
    *ptr = fresh;
    return SPMM_OK;
}

static void cuda_release_pinned(const spmm_device_t *device, void *ptr)
{
    if (ptr != NULL) {
        spmmi_cuda_warn(device, cudaFreeHost(ptr), "cudaFreeHost");
        spmmi_alloc_note_free();
    }
}

static spmm_status_t cuda_copy(const spmm_device_t *device, void *dst, const void *src,
                               size_t bytes, spmm_stream_t stream)
{
    if (bytes == 0) {
        return SPMM_OK;
    }
    SPMM_TRY(spmmi_cuda_use(device));
    SPMM_CUDA(device, cudaMemcpyAsync(dst, src, bytes, cudaMemcpyDefault, (cudaStream_t)stream));
    return SPMM_OK;
}

static bool cuda_is_usable(const spmm_device_t *device, const void *ptr)
{
    struct cudaPointerAttributes attr;

    memset(&attr, 0, sizeof attr);
    if (spmmi_cuda_use(device) != SPMM_OK) {
        return false;
    }
    if (cudaPointerGetAttributes(&attr, ptr) != cudaSuccess) {
        (void)cudaGetLastError(); /* plain host memory may be an error here, and is an answer */
        return false;
    }
    return attr.type == cudaMemoryTypeManaged ||
           (attr.type == cudaMemoryTypeDevice && attr.device == device->ordinal);
}

static spmm_status_t cuda_fetch(const spmm_device_t *device, void *host, const void *any,
                                size_t bytes)
{
    if (bytes == 0) {
        return SPMM_OK;
    }
    SPMM_TRY(spmmi_cuda_use(device));
    SPMM_CUDA(device, cudaMemcpy(host, any, bytes, cudaMemcpyDefault));
    return SPMM_OK;
}

static spmm_status_t cuda_stream_create(const spmm_device_t *device, bool high_priority,
                                        spmm_stream_t *stream)
{
    int          least    = 0;
    int          greatest = 0;
    cudaStream_t fresh    = NULL;

    SPMM_TRY(spmmi_cuda_use(device));
    SPMM_CUDA(device, cudaDeviceGetStreamPriorityRange(&least, &greatest));
    SPMM_CUDA(device, cudaStreamCreateWithPriority(&fresh, cudaStreamNonBlocking,
                                                   high_priority ? greatest : least));
    *stream = fresh;
    return SPMM_OK;
}

static void cuda_stream_destroy(const spmm_device_t *device, spmm_stream_t stream)
{
    if (stream != NULL) {
        spmmi_cuda_warn(device, cudaStreamDestroy((cudaStream_t)stream), "cudaStreamDestroy");
    }
}

static spmm_status_t cuda_stream_sync(const spmm_device_t *device, spmm_stream_t stream)
{
    SPMM_TRY(spmmi_cuda_use(device));
    SPMM_CUDA(device, cudaStreamSynchronize((cudaStream_t)stream));
    return SPMM_OK;
}

static bool cuda_stream_id(const spmm_device_t *device, spmm_stream_t stream, uint64_t *id)
{
    unsigned long long number = 0;
    /* The same handle stands for another stream in every thread. */
    const bool known = (cudaStream_t)stream != cudaStreamPerThread &&
                       spmmi_cuda_use(device) == SPMM_OK &&
                       cudaStreamGetId((cudaStream_t)stream, &number) == cudaSuccess;

    if (!known) {
        (void)cudaGetLastError();
    }
    *id = number;
    return known;
}

static bool cuda_is_captured(const spmm_device_t *device, spmm_stream_t stream)
{
    enum cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    const bool                   known  = spmmi_cuda_use(device) == SPMM_OK &&
                       cudaStreamIsCapturing((cudaStream_t)stream, &status) == cudaSuccess;

    if (!known) { /* the default stream, while another one is captured */
        (void)cudaGetLastError();
    }
    return !known || status != cudaStreamCaptureStatusNone;
}

/* spmm_event_t stays incomplete: a pointer to it is the cudaEvent_t itself. */
static cudaEvent_t raw(const spmm_event_t *event)
{
    return (cudaEvent_t)event;
}

static spmm_status_t cuda_event_create(const spmm_device_t *device, bool timed,
                                       spmm_event_t **event)
{
    cudaEvent_t fresh = NULL;

    SPMM_TRY(spmmi_cuda_use(device));
    SPMM_CUDA(device,
              cudaEventCreateWithFlags(&fresh, timed ? cudaEventDefault : cudaEventDisableTiming));
    *event = (spmm_event_t *)fresh;
    return SPMM_OK;
}

static void cuda_event_destroy(const spmm_device_t *device, spmm_event_t *event)
{
    if (event != NULL) {
        spmmi_cuda_warn(device, cudaEventDestroy(raw(event)), "cudaEventDestroy");
    }
}

static spmm_status_t cuda_event_record(const spmm_device_t *device, spmm_event_t *event,
                                       spmm_stream_t stream)
{
    SPMM_TRY(spmmi_cuda_use(device));
    SPMM_CUDA(device, cudaEventRecord(raw(event), (cudaStream_t)stream));
    return SPMM_OK;
}

static spmm_status_t cuda_stream_wait(const spmm_device_t *device, spmm_stream_t stream,
                                      const spmm_event_t *event)
{
    SPMM_TRY(spmmi_cuda_use(device));
    SPMM_CUDA(device, cudaStreamWaitEvent((cudaStream_t)stream, raw(event), 0));
    return SPMM_OK;
}

static spmm_status_t cuda_delay(const spmm_device_t *device, double seconds, spmm_stream_t stream)
{
    SPMM_TRY(spmmi_cuda_use(device));
    return spmmi_cuda_check(device, spmmi_cuda_delay(seconds, (cudaStream_t)stream),
                            "the kernel delay");
}

static spmm_status_t cuda_event_query(const spmm_device_t *device, const spmm_event_t *event,
                                      bool *done)
{
    cudaError_t code;

    SPMM_TRY(spmmi_cuda_use(device));
    code  = cudaEventQuery(raw(event));
    *done = code == cudaSuccess;
    if (code == cudaErrorNotReady) {
        (void)cudaGetLastError(); /* an answer, no failure */
        return SPMM_OK;
    }
    return spmmi_cuda_check(device, code, "cudaEventQuery");
}

static spmm_status_t cuda_event_elapsed(const spmm_device_t *device, spmm_event_t *from,
                                        spmm_event_t *to, double *seconds)
{
    float ms = 0.0f;

    SPMM_TRY(spmmi_cuda_use(device));
    SPMM_CUDA(device, cudaEventSynchronize(raw(from)));
    SPMM_CUDA(device, cudaEventSynchronize(raw(to)));
    SPMM_CUDA(device, cudaEventElapsedTime(&ms, raw(from), raw(to)));
    *seconds = 1e-3 * (double)ms;
    return SPMM_OK;
}

/* A kernel of kernels/cuda/dense. */
#define ROWS(name, args_t)                                                                         \
    static spmm_status_t cuda_##name(const spmm_device_t *device, const args_t *args,              \
                                     spmm_stream_t stream)                                         \
    {                                                                                              \
        SPMM_TRY(spmmi_cuda_use(device));                                                          \
        return spmmi_cuda_check(device, spmmi_cuda_##name(args, (cudaStream_t)stream),             \
                                "the kernel " #name);                                              \
    }

ROWS(gather_rows, spmm_gather_args_t)
ROWS(scatter_rows, spmm_scatter_args_t)
ROWS(scatter_add_rows, spmm_scatter_add_args_t)
ROWS(store_columns, spmm_store_args_t)
ROWS(merge_rows, spmm_merge_args_t)
ROWS(round_rows, spmm_round_args_t)

const spmm_device_ops_t spmmi_device_cuda = {
    .name             = "cuda",
    .open             = cuda_open,
    .close            = cuda_close,
    .alloc            = spmmi_cuda_alloc,
    .alloc_cached     = spmmi_cuda_alloc_cached,
    .release          = spmmi_cuda_release,
    .alloc_pinned     = cuda_alloc_pinned,
    .release_pinned   = cuda_release_pinned,
    .count_kept       = spmmi_cuda_count_kept,
    .copy             = cuda_copy,
    .stage            = spmmi_cuda_stage,
    .is_usable        = cuda_is_usable,
    .fetch            = cuda_fetch,
    .stream_create    = cuda_stream_create,
    .stream_destroy   = cuda_stream_destroy,
    .stream_sync      = cuda_stream_sync,
    .stream_id        = cuda_stream_id,
    .is_captured      = cuda_is_captured,
    .event_create     = cuda_event_create,
    .event_destroy    = cuda_event_destroy,
    .event_record     = cuda_event_record,
    .stream_wait      = cuda_stream_wait,
    .delay            = cuda_delay,
    .event_query      = cuda_event_query,
    .event_elapsed    = cuda_event_elapsed,
    .graph_begin      = spmmi_cuda_graph_begin,
    .graph_end        = spmmi_cuda_graph_end,
    .graph_launch     = spmmi_cuda_graph_launch,
    .graph_destroy    = spmmi_cuda_graph_destroy,
    .gather_rows      = cuda_gather_rows,
    .scatter_rows     = cuda_scatter_rows,
    .scatter_add_rows = cuda_scatter_add_rows,
    .store_columns    = cuda_store_columns,
    .merge_rows       = cuda_merge_rows,
    .round_rows       = cuda_round_rows,
};
