/* SPDX-License-Identifier: Apache-2.0 */
#include "exchange/nccl_comm.h"

#if defined(SPMM_HAVE_CUDA) && defined(SPMM_HAVE_NCCL)
#include <nccl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "device/device_cuda.h"

/* A thread that aborts an NCCL communicator when an exchange stalls, for contexts with a timeout.
 *
 * The clock of an exchange runs while it is the oldest unfinished one and its stream has reached
 * it: a deep queue of products, or a long kernel before the exchange, is no stall; a peer that has
 * not come yet is one.  Each rank watches for itself; those that wait for an aborted rank time out
 * in turn. */
typedef struct spmm_nccl_watchdog spmm_nccl_watchdog_t;

static spmm_status_t nccl_watchdog_check(spmm_nccl_watchdog_t *watchdog);

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

/* Watch @p comm, which the watchdog may abort from now on.  The timeout is that of device->env. */
static spmm_status_t nccl_watchdog_start(const spmm_device_t *device, ncclComm_t comm,
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

/* Before an exchange is enqueued on @p stream: keeps the watchdog off the communicator until
 * leave().  On failure, also an earlier one, nothing is held. */
static spmm_status_t nccl_watchdog_enter(spmm_nccl_watchdog_t *w, cudaStream_t stream)
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
    return status == SPMM_OK ? nccl_watchdog_check(w) : status;
}

/* After it; a @p status other than SPMM_OK aborts the communicator.  Returns @p status. */
static spmm_status_t nccl_watchdog_leave(spmm_nccl_watchdog_t *w, cudaStream_t stream,
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

/* SPMM_ERR_COMM once the communicator was aborted. */
static spmm_status_t nccl_watchdog_check(spmm_nccl_watchdog_t *w)
{
    /* `why` was written before `failed` and never changes again. */
    return atomic_load(&w->failed)
               ? spmmi_fail(&w->device->env->err, SPMM_ERR_COMM, "%s; destroy the context", w->why)
               : SPMM_OK;
}

/* End the thread and free the watchdog.  Returns whether the communicator was aborted: then it
 * must not be used, nor destroyed. */
static bool nccl_watchdog_stop(spmm_nccl_watchdog_t *w)
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

/** Behind spmm_transport_shared_t.nccl. */
typedef struct {
    const spmm_device_t  *device;   /**< borrowed */
    ncclComm_t            comm;     /**< owned */
    spmm_nccl_watchdog_t *watchdog; /**< owned; NULL without a timeout */
    bool                  failed;   /**< without a watchdog: an exchange could not be started */
} nccl_t;

static spmm_status_t check(const nccl_t *nccl, ncclResult_t code, const char *what)
{
    if (code == ncclSuccess) {
        return SPMM_OK;
    }
    return spmmi_fail(&nccl->device->env->err, SPMM_ERR_COMM, "%.60s failed: %.100s (%.200s)", what,
                      ncclGetErrorString(code), ncclGetLastError(nccl->comm));
}

/* Seconds that ranks in time may take to find each other and register memory. */
static const double setup_s = 30.0;

/* With a timeout the communicator is a non-blocking one: NCCL then returns ncclInProgress and can
 * be aborted at any time.  Wait until the host's part of @p code, as returned by @p what, is done,
 * for the timeout or @p least seconds. */
static spmm_status_t settle(const nccl_t *nccl, ncclResult_t code, double least, const char *what)
{
    spmm_env_t  *env   = nccl->device->env;
    const double limit = env->timeout_s > least ? env->timeout_s : least;
    const double start = spmmi_now();

    while (code == ncclInProgress) {
        const ncclResult_t asked = ncclCommGetAsyncError(nccl->comm, &code);

        if (asked != ncclSuccess) {
            return check(nccl, asked, "ncclCommGetAsyncError");
        }
        if (code == ncclInProgress && env->timeout_s > 0.0 && spmmi_now() - start > limit) {
            return spmmi_fail(
                &env->err, SPMM_ERR_COMM,
                "%s did not finish within the timeout of %g s: a rank is late or gone; "
                "destroy the context",
                what, limit);
        }
        (void)sched_yield();
    }
    return check(nccl, code, what);
}

/* Some communicator of this process was made with NVLS left to NCCL.  Contexts of other threads set
 * and read it as well. */
static atomic_bool with_nvls;

bool spmmi_nccl_is_without_nvls(void)
{
    const char *text = getenv("NCCL_NVLS_ENABLE");

    return !with_nvls && text != NULL && strcmp(text, "0") == 0;
}

bool spmmi_nccl_may_be_without_nvls(void)
{
    return spmmi_nccl_is_without_nvls() || (!with_nvls && getenv("NCCL_NVLS_ENABLE") == NULL);
}

static spmm_status_t make_id(const spmm_transport_shared_t *shared, nccl_t *nccl, ncclUniqueId *id)
{
    /* Loads and stores need no multicast, which registering a window would set up all the same; not
     * every machine with NVSwitch bears it.  NCCL reads this once for the whole process. */
    if (shared->windows) {
        (void)setenv("NCCL_NVLS_ENABLE", "0", 0);
    }
    if (!spmmi_nccl_is_without_nvls()) {
        with_nvls = true;
    }
    SPMM_TRY(spmmi_cuda_use(nccl->device));
    return nccl->device->env->rank == 0 ? check(nccl, ncclGetUniqueId(id), "ncclGetUniqueId")
                                        : SPMM_OK;
}

static spmm_status_t init_comm(const spmm_transport_shared_t *shared, nccl_t *nccl, ncclUniqueId id)
{
    const spmm_env_t *env    = nccl->device->env;
    ncclConfig_t      config = NCCL_CONFIG_INITIALIZER;

    /* A communicator of NCCL 2.28.3 that does not block reports success before
     * windows are there. */
    config.blocking = env->timeout_s > 0.0 && !shared->windows ? 0 : 1;
    if (shared->nccl_ctas > 0) {
        config.maxCTAs = shared->nccl_ctas;
    }
    return settle(nccl, ncclCommInitRankConfig(&nccl->comm, env->size, id, env->rank, &config),
                  setup_s, "ncclCommInitRankConfig");
}

static spmm_status_t start_watchdog(const spmm_transport_shared_t *shared, nccl_t *nccl)
{
    return nccl->device->env->timeout_s > 0.0 && !shared->windows
               ? nccl_watchdog_start(nccl->device, nccl->comm, &nccl->watchdog)
               : SPMM_OK;
}

/* Every rank of a communicator is needed to make it: each step is agreed before the next. */
static spmm_status_t open_steps(const spmm_transport_shared_t *shared, nccl_t *nccl)
{
    spmm_env_t  *env = shared->env;
    ncclUniqueId id;

    SPMM_TRY(spmmi_agree(env, make_id(shared, nccl, &id)));
    SPMM_TRY(spmmi_bcast(env, &id, sizeof id, 0));
    SPMM_TRY(spmmi_agree(env, init_comm(shared, nccl, id)));
    return spmmi_agree(env, start_watchdog(shared, nccl));
}

spmm_status_t spmmi_nccl_open(spmm_transport_shared_t *shared)
{
    spmm_env_t   *env    = shared->env;
    spmm_status_t status = SPMM_OK;
    nccl_t       *nccl;

    if (shared->nccl != NULL) {
        return SPMM_OK;
    }
    if (SPMM_NEW_ZERO(nccl, 1) == NULL) {
        status = spmmi_fail_memory(&env->err, 1, sizeof *nccl, "the NCCL communicator");
    }
    status = spmmi_agree(env, status);
    if (status != SPMM_OK) {
        spmmi_free(nccl);
        return status;
    }
    nccl->device = shared->device;
    status       = open_steps(shared, nccl);
    shared->nccl = nccl;
    if (status != SPMM_OK) {
        nccl->failed = true; /* the ranks may be in different states: no orderly end */
        spmmi_nccl_close(shared);
        return status;
    }
    return SPMM_OK;
}

/* All ranks flush and part; false when they did not. */
static bool finalize(nccl_t *nccl)
{
    spmm_error_t *err    = &nccl->device->env->err;
    spmm_error_t  before = *err;
    bool          done;

    done = settle(nccl, ncclCommFinalize(nccl->comm), 0.0, "ncclCommFinalize") == SPMM_OK;
    *err = before; /* nobody asks a destructor for its error */
    return done;
}

void spmmi_nccl_close(spmm_transport_shared_t *shared)
{
    nccl_t *nccl = shared->nccl;

    if (nccl == NULL) {
        return;
    }
    (void)spmmi_cuda_use(nccl->device);
    if (nccl->watchdog != NULL && nccl_watchdog_stop(nccl->watchdog)) {
        nccl->comm = NULL;
    }
    if (nccl->comm != NULL && !nccl->failed && finalize(nccl)) {
        (void)ncclCommDestroy(nccl->comm);
    } else if (nccl->comm != NULL) {
        (void)ncclCommAbort(nccl->comm);
    }
    spmmi_free(nccl);
    shared->nccl = NULL;
}

void spmmi_nccl_abandon(spmm_transport_shared_t *shared)
{
    nccl_t *nccl = shared->nccl;

    if (nccl != NULL) {
        nccl->failed = true;
    }
}

static ncclResult_t post(ncclComm_t comm, const spmm_exchange_side_t *from,
                         const spmm_exchange_side_t *to, size_t row_bytes, cudaStream_t stream)
{
    ncclResult_t code = ncclSuccess;

    for (int p = 0; p < from->n_peers && code == ncclSuccess; p++) {
        code = ncclSend(spmmi_side_rows(from, p, row_bytes), spmmi_side_bytes(from, p, row_bytes),
                        ncclInt8, from->peer[p], comm, stream);
    }
    for (int p = 0; p < to->n_peers && code == ncclSuccess; p++) {
        code = ncclRecv(spmmi_side_rows(to, p, row_bytes), spmmi_side_bytes(to, p, row_bytes),
                        ncclInt8, to->peer[p], comm, stream);
    }
    return code;
}

static spmm_status_t run_group(nccl_t *nccl, const spmm_exchange_side_t *from,
                               const spmm_exchange_side_t *to, size_t row_bytes,
                               cudaStream_t stream)
{
    ncclResult_t posted, ended;

    SPMM_TRY(check(nccl, ncclGroupStart(), "ncclGroupStart"));
    posted = post(nccl->comm, from, to, row_bytes, stream);
    ended  = ncclGroupEnd();
    SPMM_TRY(check(nccl, posted, "ncclSend or ncclRecv"));
    return settle(nccl, ended, 0.0, "ncclGroupEnd");
}

spmm_status_t spmmi_nccl_exchange(spmm_transport_shared_t *shared, const spmm_exchange_side_t *from,
                                  const spmm_exchange_side_t *to, size_t row_bytes,
                                  spmm_stream_t stream)
{
    const cudaStream_t on   = (cudaStream_t)stream;
    nccl_t            *nccl = shared->nccl;
    spmm_status_t      status;

    SPMM_TRY(spmmi_cuda_use(nccl->device));
    SPMM_TRY(spmmi_nccl_check(shared));
    if (nccl->watchdog == NULL) {
        status       = run_group(nccl, from, to, row_bytes, on);
        nccl->failed = status != SPMM_OK;
        return status;
    }
    SPMM_TRY(nccl_watchdog_enter(nccl->watchdog, on));
    status = run_group(nccl, from, to, row_bytes, on);
    return nccl_watchdog_leave(nccl->watchdog, on, status);
}

ncclComm_t spmmi_nccl_comm(const spmm_transport_shared_t *shared)
{
    const nccl_t *nccl = shared->nccl;

    return nccl == NULL ? NULL : nccl->comm;
}

spmm_status_t spmmi_nccl_settle(const spmm_transport_shared_t *shared, ncclResult_t code,
                                const char *what)
{
    return settle(shared->nccl, code, setup_s, what);
}

spmm_status_t spmmi_nccl_check(spmm_transport_shared_t *shared)
{
    const nccl_t *nccl = shared->nccl;
    ncclResult_t  code = ncclSuccess;

    if (nccl == NULL) {
        return SPMM_OK;
    }
    if (nccl->watchdog != NULL) {
        return nccl_watchdog_check(nccl->watchdog);
    }
    if (nccl->failed) {
        return spmmi_fail(
            &shared->env->err, SPMM_ERR_COMM,
            "an earlier exchange over NCCL could not be started: destroy the context");
    }
    SPMM_TRY(check(nccl, ncclCommGetAsyncError(nccl->comm, &code), "ncclCommGetAsyncError"));
    return code == ncclInProgress ? SPMM_OK : check(nccl, code, "an exchange over NCCL");
}
#endif
