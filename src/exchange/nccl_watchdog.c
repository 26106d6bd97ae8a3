/* SPDX-License-Identifier: Apache-2.0 */
#include "exchange/nccl_watchdog.h"

#if defined(SPMM_HAVE_CUDA) && defined(SPMM_HAVE_NCCL)
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>

#include "base/alloc.h"
#include "device/device_cuda.h"

/* More exchanges than a stream holds kernels that wait (1024 launches, and an exchange takes at
 * least three): begin() does not meet a full ring before the launch itself blocks. */
enum { SLOTS = 512, POLL_NS = 2000000 };

/** One exchange in flight. */
typedef struct {
    cudaEvent_t start, end;
    double running_since; /**< when the stream was first seen to have reached it; < 0: not yet */
} slot_t;

struct spmm_nccl_watchdog {
    const spmm_device_t *device; /**< borrowed */
    ncclComm_t           comm;   /**< borrowed; gone once failed */
    double               timeout_s;
    pthread_t            thread;
    pthread_mutex_t      lock;    /**< of everything below, and of the use of comm */
    pthread_cond_t       changed; /**< a slot was filled or emptied, failed or stopping was set */
    slot_t              *slot;    /**< [SLOTS], a ring, owned */
    int                  first, count; /**< in flight */
    bool                 stopping;
    atomic_bool          failed; /**< also read without the lock */
    char                 why[SPMM_ERROR_TEXT / 2];
};

/* The lock is held.  Kernels of the communicator leave the device, so streams run on, with void
 * data: from now on every call on the context reports it. */
static void abort_comm(spmm_nccl_watchdog_t *w, const char *format, const char *detail)
{
    (void)snprintf(w->why, sizeof w->why, format, detail);
    atomic_store(&w->failed, true);
    (void)ncclCommAbort(w->comm);
    w->count = 0;
    (void)pthread_cond_broadcast(&w->changed);
}

/* Has the stream passed the event?  A broken device counts as failure and aborts. */
static bool has_passed(spmm_nccl_watchdog_t *w, cudaEvent_t event)
{
    const cudaError_t code = cudaEventQuery(event);

    if (code != cudaSuccess && code != cudaErrorNotReady) {
        abort_comm(w, "CUDA failed during an exchange over NCCL: %.120s", cudaGetErrorString(code));
    }
    return code == cudaSuccess;
}

/* The lock is held and exchanges are in flight: retire the finished ones, judge the oldest. */
static void inspect(spmm_nccl_watchdog_t *w)
{
    ncclResult_t error = ncclSuccess;
    char         limit[32];

    if (ncclCommGetAsyncError(w->comm, &error) != ncclSuccess ||
        (error != ncclSuccess && error != ncclInProgress)) {
        abort_comm(w, "NCCL failed during an exchange: %.120s", ncclGetErrorString(error));
        return;
    }
    while (w->count > 0) {
        slot_t *oldest = &w->slot[w->first];

        if (oldest->running_since < 0.0) {
            if (!has_passed(w, oldest->start)) {
                return;
            }
            oldest->running_since = spmmi_now();
        }
        if (!has_passed(w, oldest->end)) {
            break;
        }
        w->first = (w->first + 1) % SLOTS;
        w->count--;
        (void)pthread_cond_broadcast(&w->changed);
    }
    if (w->count > 0 && spmmi_now() - w->slot[w->first].running_since > w->timeout_s) {
        (void)snprintf(limit, sizeof limit, "%g", w->timeout_s);
        abort_comm(
            w,
            "an exchange over NCCL did not finish within the timeout of %s s: a rank is late "
            "or gone",
            limit);
    }
}

static void wait_briefly(spmm_nccl_watchdog_t *w)
{
    struct timespec until;

    (void)clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += POLL_NS;
    if (until.tv_nsec >= 1000000000) {
        until.tv_nsec -= 1000000000;
        until.tv_sec++;
    }
    (void)pthread_cond_timedwait(&w->changed, &w->lock, &until);
}

static void *watch(void *self)
{
    spmm_nccl_watchdog_t      *w    = self;
    enum cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;

    /* Else a question about an event here would end a capture of any other thread. */
    (void)cudaThreadExchangeStreamCaptureMode(&mode);
    (void)cudaSetDevice(w->device->ordinal);
    (void)pthread_mutex_lock(&w->lock);
    while (!w->stopping) {
        if (w->count == 0) {
            (void)pthread_cond_wait(&w->changed, &w->lock);
            continue;
        }
        inspect(w);
        if (w->count > 0) {
            wait_briefly(w);
        }
    }
    (void)pthread_mutex_unlock(&w->lock);
    return NULL;
}

/* Signals of the process are for its own threads. */
static int start_thread(spmm_nccl_watchdog_t *w)
{
    sigset_t all, before;
    int      code;

    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    code = pthread_create(&w->thread, NULL, watch, w);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return code;
}

static void free_all(spmm_nccl_watchdog_t *w)
{
    for (int s = 0; w->slot != NULL && s < SLOTS; s++) {
        if (w->slot[s].start != NULL) {
            (void)cudaEventDestroy(w->slot[s].start);
        }
        if (w->slot[s].end != NULL) {
            (void)cudaEventDestroy(w->slot[s].end);
        }
    }
    (void)pthread_cond_destroy(&w->changed);
    (void)pthread_mutex_destroy(&w->lock);
    spmmi_free_all(w->slot, w);
}

static spmm_status_t create_events(spmm_nccl_watchdog_t *w)
{
    if (SPMM_NEW_ZERO(w->slot, SLOTS) == NULL) {
        return spmmi_fail_memory(&w->device->env->err, SLOTS, sizeof *w->slot, "the NCCL watchdog");
    }
    for (int s = 0; s < SLOTS; s++) {
        SPMM_CUDA(w->device, cudaEventCreateWithFlags(&w->slot[s].start, cudaEventDisableTiming));
        SPMM_CUDA(w->device, cudaEventCreateWithFlags(&w->slot[s].end, cudaEventDisableTiming));
    }
    return SPMM_OK;
}

spmm_status_t spmmi_nccl_watchdog_start(const spmm_device_t *device, ncclComm_t comm,
                                        spmm_nccl_watchdog_t **watchdog)
{
    spmm_error_t         *err = &device->env->err;
    spmm_nccl_watchdog_t *w;
    pthread_condattr_t    clock;
    spmm_status_t         status;

    if (SPMM_NEW_ZERO(w, 1) == NULL) {
        return spmmi_fail_memory(err, 1, sizeof *w, "the NCCL watchdog");
    }
    w->device    = device;
    w->comm      = comm;
    w->timeout_s = device->env->timeout_s;
    (void)pthread_mutex_init(&w->lock, NULL);
    (void)pthread_condattr_init(&clock);
    (void)pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&w->changed, &clock);
    (void)pthread_condattr_destroy(&clock);
    status = create_events(w);
    if (status == SPMM_OK && start_thread(w) != 0) {
        status = spmmi_fail(err, SPMM_ERR_MEMORY, "the thread of the NCCL watchdog did not start");
    }
    if (status != SPMM_OK) {
        free_all(w);
        return status;
    }
    *watchdog = w;
    return SPMM_OK;
}

spmm_status_t spmmi_nccl_watchdog_enter(spmm_nccl_watchdog_t *w, cudaStream_t stream)
{
    spmm_status_t status = SPMM_OK;

    (void)pthread_mutex_lock(&w->lock);
    while (!atomic_load(&w->failed) && w->count == SLOTS) {
        (void)pthread_cond_wait(&w->changed, &w->lock);
    }
    if (!atomic_load(&w->failed)) {
        const slot_t *next = &w->slot[(w->first + w->count) % SLOTS];

        status = spmmi_cuda_check(w->device, cudaEventRecord(next->start, stream),
                                  "cudaEventRecord before an exchange");
        if (status == SPMM_OK) {
            return SPMM_OK; /* leave() unlocks */
        }
    }
    (void)pthread_mutex_unlock(&w->lock);
    return status == SPMM_OK ? spmmi_nccl_watchdog_check(w) : status;
}

spmm_status_t spmmi_nccl_watchdog_leave(spmm_nccl_watchdog_t *w, cudaStream_t stream,
                                        spmm_status_t status)
{
    slot_t *next = &w->slot[(w->first + w->count) % SLOTS];

    if (status == SPMM_OK) {
        status = spmmi_cuda_check(w->device, cudaEventRecord(next->end, stream),
                                  "cudaEventRecord after an exchange");
    }
    if (status == SPMM_OK) {
        next->running_since = -1.0;
        w->count++;
        (void)pthread_cond_broadcast(&w->changed);
    } else {
        abort_comm(w, "%s", "an earlier exchange over NCCL could not be started");
    }
    (void)pthread_mutex_unlock(&w->lock);
    return status;
}

spmm_status_t spmmi_nccl_watchdog_check(spmm_nccl_watchdog_t *w)
{
    /* `why` was written before `failed` and never changes again. */
    return atomic_load(&w->failed)
               ? spmmi_fail(&w->device->env->err, SPMM_ERR_COMM, "%s; destroy the context", w->why)
               : SPMM_OK;
}

bool spmmi_nccl_watchdog_stop(spmm_nccl_watchdog_t *w)
{
    bool failed;

    (void)pthread_mutex_lock(&w->lock);
    w->stopping = true;
    (void)pthread_cond_broadcast(&w->changed);
    (void)pthread_mutex_unlock(&w->lock);
    (void)pthread_join(w->thread, NULL);
    failed = atomic_load(&w->failed);
    free_all(w);
    return failed;
}
#endif
