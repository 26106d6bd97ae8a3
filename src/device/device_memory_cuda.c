/* SPDX-License-Identifier: Apache-2.0 */
/** @file device_memory_cuda.c
 *  Memory of a CUDA device and the way to it.
 *
 *  cudaMalloc() and cudaFree() take 0.1 to 1 ms each, about what a plan has for a whole format
 *  before it costs more products than it saves; so what no other process or library sees comes from
 *  a pool that keeps some of what is given back.  Copies from pageable memory run at 8 to 12 GB/s,
 *  by one thread of the driver; threads that fill pinned slots in turn keep the link busy.
 */
#include <string.h>

#include "base/alloc.h"
#include "device/device_cuda.h"

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

spmm_status_t spmmi_cuda_memory_open(spmm_device_t *device)
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

void spmmi_cuda_memory_close(spmm_device_t *device)
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

spmm_status_t spmmi_cuda_alloc(const spmm_device_t *device, size_t bytes, void **ptr)
{
    return take(device, bytes, false, ptr);
}

spmm_status_t spmmi_cuda_alloc_cached(const spmm_device_t *device, size_t bytes, void **ptr)
{
    return take(device, bytes, true, ptr);
}

/* cudaFree() takes memory of pools as well, but does not wait for its users there; what waits for
 * them waits for the current device, which may be another one of the program. */
void spmmi_cuda_release(const spmm_device_t *device, void *ptr)
{
    const memory_t *m = device->state;

    if (ptr == NULL) {
        return;
    }
    if (m != NULL && m->pool != NULL) {
        spmmi_cuda_warn(device, cudaSetDevice(device->ordinal), "cudaSetDevice");
        spmmi_cuda_warn(device, cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    }
    spmmi_cuda_warn(device, cudaFree(ptr), "cudaFree");
    spmmi_alloc_note_free();
}

void spmmi_cuda_count_kept(const spmm_device_t *device, size_t *pinned, size_t *cached)
{
    const memory_t *m    = device->state;
    uint64_t        held = 0, used = 0;

    if (m->pool != NULL) {
        spmmi_cuda_warn(device,
                        cudaMemPoolGetAttribute(m->pool, cudaMemPoolAttrReservedMemCurrent, &held),
                        "cudaMemPoolGetAttribute");
        spmmi_cuda_warn(device,
                        cudaMemPoolGetAttribute(m->pool, cudaMemPoolAttrUsedMemCurrent, &used),
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

spmm_status_t spmmi_cuda_stage(const spmm_device_t *device, void *to, const void *host,
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
