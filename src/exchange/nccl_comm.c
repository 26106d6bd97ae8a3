/* SPDX-License-Identifier: Apache-2.0 */
#include "exchange/nccl_comm.h"

#if defined(SPMM_HAVE_CUDA) && defined(SPMM_HAVE_NCCL)
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "device/device_cuda.h"
#include "exchange/nccl_watchdog.h"

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
               ? spmmi_nccl_watchdog_start(nccl->device, nccl->comm, &nccl->watchdog)
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
    if (nccl->watchdog != NULL && spmmi_nccl_watchdog_stop(nccl->watchdog)) {
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
    SPMM_TRY(spmmi_nccl_watchdog_enter(nccl->watchdog, on));
    status = run_group(nccl, from, to, row_bytes, on);
    return spmmi_nccl_watchdog_leave(nccl->watchdog, on, status);
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
        return spmmi_nccl_watchdog_check(nccl->watchdog);
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
