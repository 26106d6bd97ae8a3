/* SPDX-License-Identifier: Apache-2.0 */
#include "device/device_cuda.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "cuda/cuda_kernels.h"
#include "device/calibrate.h"
#include "device/place.h"

/* The current device, and failed calls of CUDA. */

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

/* What releases do, which return nothing: a failure goes to the log. */
static void cuda_warn(const spmm_device_t *device, cudaError_t code, const char *what)
{
    if (code != cudaSuccess) {
        (void)cudaGetLastError();
        spmmi_log(device->env, "%s failed on CUDA device %d: %s", what, device->ordinal,
                  cudaGetErrorString(code));
    }
}

/* A spmm_graph_t is a cudaGraphExec_t: the graph it was made from is not kept. */
static cudaGraphExec_t exec_of(spmm_graph_t *graph)
{
    return (cudaGraphExec_t)(void *)graph;
}

/* Of this thread alone: others, such as the watchdog's or the program's, go on as they like. */
static spmm_status_t cuda_graph_begin(const spmm_device_t *device, spmm_stream_t stream)
{
    SPMM_TRY(spmmi_cuda_use(device));
    SPMM_CUDA(device,
              cudaStreamBeginCapture((cudaStream_t)stream, cudaStreamCaptureModeThreadLocal));
    return SPMM_OK;
}

static spmm_status_t cuda_graph_end(const spmm_device_t *device, spmm_stream_t stream,
                                    spmm_graph_t **graph)
{
    cudaGraph_t     recorded = NULL;
    cudaGraphExec_t exec     = NULL;
    spmm_status_t   status;

    *graph = NULL;
    SPMM_TRY(spmmi_cuda_use(device));
    status = spmmi_cuda_check(device, cudaStreamEndCapture((cudaStream_t)stream, &recorded),
                              "cudaStreamEndCapture");
    if (status == SPMM_OK) {
        /* Else nodes of the comm stream would wait behind the diagonal block. */
        status = spmmi_cuda_check(
            device, cudaGraphInstantiate(&exec, recorded, cudaGraphInstantiateFlagUseNodePriority),
            "cudaGraphInstantiate");
    }
    if (recorded != NULL) {
        cuda_warn(device, cudaGraphDestroy(recorded), "cudaGraphDestroy");
    }
    *graph = (spmm_graph_t *)(void *)exec;
    return status;
}

static spmm_status_t cuda_graph_launch(const spmm_device_t *device, spmm_graph_t *graph,
                                       spmm_stream_t stream)
{
    SPMM_TRY(spmmi_cuda_use(device));
    SPMM_CUDA(device, cudaGraphLaunch(exec_of(graph), (cudaStream_t)stream));
    return SPMM_OK;
}

static void cuda_graph_destroy(const spmm_device_t *device, spmm_graph_t *graph)
{
    if (graph != NULL) {
        cuda_warn(device, cudaGraphExecDestroy(exec_of(graph)), "cudaGraphExecDestroy");
    }
}

/* Memory of a CUDA device and the way to it.
 *
 * cudaMalloc() and cudaFree() take 0.1 to 1 ms each, about what a plan has for a whole format
 * before it costs more products than it saves; so what no other process or library sees comes from
 * a pool that keeps some of what is given back.  Copies from pageable memory run at 8 to 12 GB/s,
 * by one thread of the driver; threads that fill pinned slots in turn keep the link busy. */

enum {
    N_SLOTS    = 4,
    SLOT       = 4 << 20,
    SMALL      = 1 << 16, /* bytes that the driver takes along with the command */
    PIECE      = 1 << 18, /* that a thread copies at least */
    KEPT_SHARE = 32       /* of the device's memory: what the pool keeps at most */
};

/** device->state. */
typedef struct {
    cudaMemPool_t pool;   /**< NULL: the device has none */
    cudaStream_t  stream; /**< of what is taken from it: copies under way are not waited for */
    void         *slots;  /**< pinned [N_SLOTS x SLOT], NULL before the first use */
    cudaEvent_t   done[N_SLOTS]; /**< its copy to the device */
    int           next;
} memory_t;

static spmm_status_t make_pool(const spmm_device_t *device, memory_t *m)
{
    struct cudaMemPoolProps props;
    size_t                  all = 0, free_now = 0;
    unsigned long long      kept;
    int                     has = 0;

    SPMM_CUDA(device,
              cudaDeviceGetAttribute(&has, cudaDevAttrMemoryPoolsSupported, device->ordinal));
    if (has == 0) {
        return SPMM_OK;
    }
    memset(&props, 0, sizeof props);
    props.allocType     = cudaMemAllocationTypePinned;
    props.handleTypes   = cudaMemHandleTypeNone;
    props.location.type = cudaMemLocationTypeDevice;
    props.location.id   = device->ordinal;
    SPMM_CUDA(device, cudaMemGetInfo(&free_now, &all));
    kept = all / KEPT_SHARE;
    SPMM_CUDA(device, cudaStreamCreateWithFlags(&m->stream, cudaStreamNonBlocking));
    SPMM_CUDA(device, cudaMemPoolCreate(&m->pool, &props));
    SPMM_CUDA(device, cudaMemPoolSetAttribute(m->pool, cudaMemPoolAttrReleaseThreshold, &kept));
    return SPMM_OK;
}

/* The device is current.  What was made is freed by cuda_memory_close() also on failure. */
static spmm_status_t cuda_memory_open(spmm_device_t *device)
{
    memory_t *m;

    if (SPMM_NEW_ZERO(m, 1) == NULL) {
        return spmmi_fail_memory(&device->env->err, 1, sizeof *m, "the memory of a device");
    }
    device->state = m;
    return make_pool(device, m);
}

static void free_slots(memory_t *m)
{
    for (int k = 0; k < N_SLOTS; k++) {
        if (m->done[k] != NULL) {
            (void)cudaEventDestroy(m->done[k]);
            m->done[k] = NULL;
        }
    }
    if (m->slots != NULL) {
        (void)cudaFreeHost(m->slots);
        m->slots = NULL;
    }
}

static void cuda_memory_close(spmm_device_t *device)
{
    memory_t *m = device->state;

    if (m == NULL) {
        return;
    }
    if (spmmi_cuda_use(device) == SPMM_OK) {
        free_slots(m);
        if (m->pool != NULL) {
            (void)cudaMemPoolDestroy(m->pool);
        }
        if (m->stream != NULL) {
            (void)cudaStreamDestroy(m->stream);
        }
        (void)cudaGetLastError(); /* nothing to be done about what is lost with the device */
    }
    spmmi_free(m);
    device->state = NULL;
}

bool spmmi_cuda_make_room(const spmm_device_t *device)
{
    const memory_t *m = device->state;

    (void)cudaGetLastError();
    return m != NULL && m->pool != NULL && cudaMemPoolTrimTo(m->pool, 0) == cudaSuccess;
}

/* Ready for every stream once it returns. */
static cudaError_t take_from_pool(const memory_t *m, void **ptr, size_t bytes)
{
    const cudaError_t code = cudaMallocFromPoolAsync(ptr, bytes, m->pool, m->stream);

    return code == cudaSuccess ? cudaStreamSynchronize(m->stream) : code;
}

static spmm_status_t take(const spmm_device_t *device, size_t bytes, bool cached, void **ptr)
{
    const memory_t *m     = device->state;
    const size_t    some  = bytes == 0 ? 1 : bytes;
    void           *fresh = NULL;
    cudaError_t     code;
    spmm_status_t   status = spmmi_cuda_use(device);

    if (status != SPMM_OK) {
        return status;
    }
    if (!spmmi_alloc_note()) {
        return spmmi_fail_bytes(&device->env->err, bytes, "a device buffer");
    }
    cached = cached && m != NULL && m->pool != NULL;
    code   = cached ? take_from_pool(m, &fresh, some) : cudaMalloc(&fresh, some);
    if (code == cudaErrorMemoryAllocation && spmmi_cuda_make_room(device)) {
        code = cached ? take_from_pool(m, &fresh, some) : cudaMalloc(&fresh, some);
    }
    status = spmmi_cuda_check(device, code, "allocating device memory");
    if (status != SPMM_OK) {
        spmmi_alloc_note_free();
        return status;
    }
    *ptr = fresh;
    return SPMM_OK;
}

static spmm_status_t cuda_alloc(const spmm_device_t *device, size_t bytes, void **ptr)
{
    return take(device, bytes, false, ptr);
}

static spmm_status_t cuda_alloc_cached(const spmm_device_t *device, size_t bytes, void **ptr)
{
    return take(device, bytes, true, ptr);
}

/* cudaFree() takes memory of pools as well, but does not wait for its users there; what waits for
 * them waits for the current device, which may be another one of the program. */
static void cuda_release(const spmm_device_t *device, void *ptr)
{
    const memory_t *m = device->state;

    if (ptr == NULL) {
        return;
    }
    if (m != NULL && m->pool != NULL) {
        cuda_warn(device, cudaSetDevice(device->ordinal), "cudaSetDevice");
        cuda_warn(device, cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    }
    cuda_warn(device, cudaFree(ptr), "cudaFree");
    spmmi_alloc_note_free();
}

static void cuda_count_kept(const spmm_device_t *device, size_t *pinned, size_t *cached)
{
    const memory_t *m    = device->state;
    uint64_t        held = 0, used = 0;

    if (m->pool != NULL) {
        cuda_warn(device,
                  cudaMemPoolGetAttribute(m->pool, cudaMemPoolAttrReservedMemCurrent, &held),
                  "cudaMemPoolGetAttribute");
        cuda_warn(device, cudaMemPoolGetAttribute(m->pool, cudaMemPoolAttrUsedMemCurrent, &used),
                  "cudaMemPoolGetAttribute");
    }
    *pinned = m->slots != NULL ? (size_t)N_SLOTS * SLOT : 0;
    *cached = (size_t)(held > used ? held - used : 0);
}

static cudaError_t make_slots(memory_t *m)
{
    cudaError_t code = cudaHostAlloc(&m->slots, (size_t)N_SLOTS * SLOT, cudaHostAllocDefault);

    for (int k = 0; k < N_SLOTS && code == cudaSuccess; k++) {
        code = cudaEventCreateWithFlags(&m->done[k], cudaEventDisableTiming);
    }
    if (code != cudaSuccess) {
        (void)cudaGetLastError();
        free_slots(m);
    }
    return code;
}

static void copy_by_threads(char *to, const char *from, size_t bytes, int threads)
{
    const int64_t pieces = (int64_t)((bytes + PIECE - 1) / PIECE);

#pragma omp parallel for schedule(static) num_threads(threads) if (pieces > 1)
    for (int64_t k = 0; k < pieces; k++) {
        const size_t at = (size_t)k * PIECE, left = bytes - at;

        memcpy(to + at, from + at, left < PIECE ? left : PIECE);
    }
}

static spmm_status_t cuda_stage(const spmm_device_t *device, void *to, const void *host,
                                size_t bytes)
{
    memory_t *m = device->state;

    if (bytes == 0) {
        return SPMM_OK;
    }
    SPMM_TRY(spmmi_cuda_use(device));
    if (bytes <= SMALL || m == NULL || (m->slots == NULL && make_slots(m) != cudaSuccess)) {
        SPMM_CUDA(device, cudaMemcpyAsync(to, host, bytes, cudaMemcpyHostToDevice, NULL));
        return SPMM_OK;
    }
    for (size_t at = 0; at < bytes; at += SLOT) {
        const size_t count = bytes - at < SLOT ? bytes - at : SLOT;
        const int    k     = m->next;
        char        *slot  = (char *)m->slots + (size_t)k * SLOT;

        SPMM_CUDA(device, cudaEventSynchronize(m->done[k])); /* at once before the first record */
        copy_by_threads(slot, (const char *)host + at, count, device->threads);
        SPMM_CUDA(device,
                  cudaMemcpyAsync((char *)to + at, slot, count, cudaMemcpyHostToDevice, NULL));
        SPMM_CUDA(device, cudaEventRecord(m->done[k], NULL));
        m->next = (k + 1) % N_SLOTS;
    }
    return SPMM_OK;
}

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
    SPMM_TRY(cuda_memory_open(device));
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
    cuda_memory_close(device);
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
        cuda_warn(device, cudaFreeHost(ptr), "cudaFreeHost");
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
        cuda_warn(device, cudaStreamDestroy((cudaStream_t)stream), "cudaStreamDestroy");
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
        cuda_warn(device, cudaEventDestroy(raw(event)), "cudaEventDestroy");
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
    .alloc            = cuda_alloc,
    .alloc_cached     = cuda_alloc_cached,
    .release          = cuda_release,
    .alloc_pinned     = cuda_alloc_pinned,
    .release_pinned   = cuda_release_pinned,
    .count_kept       = cuda_count_kept,
    .copy             = cuda_copy,
    .stage            = cuda_stage,
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
    .graph_begin      = cuda_graph_begin,
    .graph_end        = cuda_graph_end,
    .graph_launch     = cuda_graph_launch,
    .graph_destroy    = cuda_graph_destroy,
    .gather_rows      = cuda_gather_rows,
    .scatter_rows     = cuda_scatter_rows,
    .scatter_add_rows = cuda_scatter_add_rows,
    .store_columns    = cuda_store_columns,
    .merge_rows       = cuda_merge_rows,
    .round_rows       = cuda_round_rows,
};
