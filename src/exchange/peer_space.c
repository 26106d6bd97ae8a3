/* SPDX-License-Identifier: Apache-2.0 */
#include "exchange/peer_space.h"

#ifdef SPMM_HAVE_NCCL_WINDOW
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "cuda/exchange/nccl_window.h"
#include "device/device_cuda.h"
#include "exchange/step.h"

static void nccl_window_free(spmm_transport_shared_t *shared, spmm_nccl_window_t *window);

static bool is_zero(const char *name)
{
    const char *text = getenv(name);

    return text != NULL && strcmp(text, "0") == 0;
}

/* The sentence that says why the NCCL in use cannot do it; NULL: it can, as far as is known
 * without a communicator. */
static const char *nccl_window_refusal(void)
{
    static _Thread_local char why[SPMM_WHY];
    int                       version = 0;

    if (!spmmi_nccl_may_be_without_nvls()) {
        return "keeps multicast off: start the program with NCCL_NVLS_ENABLE=0";
    }
    /* NCCL then gives a handle that its device side cannot read. */
    if (is_zero("NCCL_WIN_ENABLE") || is_zero("NCCL_CUMEM_ENABLE")) {
        return "needs windows of NCCL, and NCCL_WIN_ENABLE or NCCL_CUMEM_ENABLE is 0";
    }
    if (ncclGetVersion(&version) == ncclSuccess && version == NCCL_VERSION_CODE) {
        return NULL;
    }
    /* ncclWindow_vidmem and ncclDevComm change even between patch releases. */
    (void)snprintf(why, sizeof why,
                   "needs the NCCL it was compiled with, version code %d, and runs with %d: build "
                   "where it runs",
                   NCCL_VERSION_CODE, version);
    return why;
}

/* Memory that NCCL can map elsewhere; NULL: there is none. */
static void *ask_for(const spmm_device_t *device, size_t bytes)
{
    void *memory = NULL;
    bool  given  = ncclMemAlloc(&memory, bytes) == ncclSuccess;

    if (!given && spmmi_cuda_make_room(device)) {
        given = ncclMemAlloc(&memory, bytes) == ncclSuccess;
    }
    return given ? memory : NULL;
}

static spmm_status_t take(spmm_transport_shared_t *shared, spmm_nccl_window_t *w)
{
    spmm_env_t *env = shared->env;
    void       *memory;

    SPMM_TRY(spmmi_cuda_use(shared->device));
    if (!spmmi_alloc_note()) {
        return spmmi_fail_memory(&env->err, (int64_t)w->bytes, 1, "a window for peers");
    }
    memory = ask_for(shared->device, w->bytes);
    if (memory == NULL) {
        (void)cudaGetLastError();
        spmmi_alloc_note_free();
        return spmmi_fail_memory(&env->err, (int64_t)w->bytes, 1, "a window for peers");
    }
    w->memory = memory;
    SPMM_CUDA(shared->device, cudaMemset(memory, 0, w->bytes));
    SPMM_CUDA(shared->device, cudaDeviceSynchronize());
    return SPMM_OK;
}

/* NCCL reports success without a window where symmetric memory is off. */
static spmm_status_t check_reach(spmm_transport_shared_t *shared, const spmm_nccl_window_t *w)
{
    spmm_env_t *env = shared->env;
    int         team;

    if (w->handle == NULL) {
        return spmmi_fail(&env->err, SPMM_ERR_UNSUPPORTED,
                          "NCCL gave no window: the GPUs do not all reach "
                          "each other, or NCCL_CUMEM_ENABLE or NCCL_WIN_ENABLE is 0");
    }
    team = spmmi_nccl_team_size(spmmi_nccl_comm(shared));
    if (team != env->size) {
        return spmmi_fail(
            &env->err, SPMM_ERR_UNSUPPORTED,
            "all ranks must be within reach of loads and stores, and NCCL puts %d of %d together",
            team, env->size);
    }
    return SPMM_OK;
}

static spmm_status_t read_addresses(spmm_transport_shared_t *shared, spmm_nccl_window_t *w)
{
    const spmm_device_t *device = shared->device;
    const size_t         bytes  = (size_t)shared->env->size * sizeof w->peer[0];
    void                *list   = NULL;
    spmm_status_t        status;

    SPMM_TRY(device->ops->alloc(device, bytes, &list));
    status = spmmi_cuda_check(
        device, spmmi_nccl_peer_addresses(w->handle, shared->env->size, (void **)list, NULL),
        "the kernel that reads a window");
    if (status == SPMM_OK) {
        status = device->ops->fetch(device, w->peer, list, bytes);
    }
    device->ops->release(device, list);
    return status;
}

/* A registration that timed out goes on in NCCL, which writes the handle at last. */
static spmm_status_t enroll(spmm_transport_shared_t *shared, spmm_nccl_window_t *w)
{
    ncclComm_t          comm   = spmmi_nccl_comm(shared);
    ncclResult_t        state  = ncclSuccess;
    const spmm_status_t status = spmmi_nccl_settle(
        shared,
        ncclCommWindowRegister(comm, w->memory, w->bytes, &w->handle, NCCL_WIN_COLL_SYMMETRIC),
        "ncclCommWindowRegister");

    w->pending = status != SPMM_OK &&
                 (ncclCommGetAsyncError(comm, &state) != ncclSuccess || state == ncclInProgress);
    return status;
}

static spmm_status_t set_up(spmm_transport_shared_t *shared, spmm_nccl_window_t *w)
{
    spmm_env_t *env = shared->env;

    SPMM_TRY(spmmi_agree(env, take(shared, w)));
    SPMM_TRY(spmmi_agree(env, enroll(shared, w)));
    SPMM_TRY(spmmi_agree(env, check_reach(shared, w)));
    return spmmi_agree(env, read_addresses(shared, w));
}

spmm_status_t spmmi_nccl_window_create(spmm_transport_shared_t *shared, size_t bytes,
                                       spmm_nccl_window_t **window)
{
    spmm_env_t         *env    = shared->env;
    const size_t        grain  = NCCL_WIN_REQUIRED_ALIGNMENT;
    uint64_t            most   = bytes;
    spmm_status_t       status = SPMM_OK;
    spmm_nccl_window_t *w;

    if (SPMM_NEW_ZERO(w, 1) == NULL) {
        status = spmmi_fail_memory(&env->err, 1, sizeof *w, "a window for peers");
    }
    status = spmmi_agree(env, status);
    if (status == SPMM_OK) {
        status = spmmi_allreduce(env, &most, 1, MPI_UINT64_T, MPI_MAX);
    }
    if (status == SPMM_OK) {
        w->bytes = ((size_t)most + grain) / grain * grain;
        status   = set_up(shared, w);
    }
    if (status != SPMM_OK) {
        nccl_window_free(shared, w);
        return status;
    }
    *window = w;
    return SPMM_OK;
}

/* Local, NULL-safe.  Peers that still hold the window may go on reading and writing it. */
static void nccl_window_free(spmm_transport_shared_t *shared, spmm_nccl_window_t *w)
{
    if (w == NULL || w->pending) {
        return;
    }
    (void)spmmi_cuda_use(shared->device);
    if (w->handle != NULL && spmmi_nccl_comm(shared) != NULL) {
        (void)ncclCommWindowDeregister(spmmi_nccl_comm(shared), w->handle);
    }
    if (w->memory != NULL) {
        (void)ncclMemFree(w->memory);
        spmmi_alloc_note_free();
    }
    spmmi_free(w);
}

/* Free what describes it; its memory and the registration are the process's from here on, no block
 * of the library.  Local, NULL-safe. */
static void nccl_window_leave(spmm_nccl_window_t *w)
{
    if (w == NULL || w->pending) {
        return;
    }
    if (w->memory != NULL) {
        spmmi_alloc_note_free();
    }
    spmmi_free(w);
}

extern const spmm_transport_ops_t spmmi_transport_nccl;

/* Do all ranks think so?  Collective; false also when MPI fails. */
static bool everywhere(spmm_env_t *env, bool here)
{
    int all = here;

    return spmmi_allreduce(env, &all, 1, MPI_INT, MPI_LAND) == SPMM_OK && all;
}

/* NCCL tells nodes apart by NCCL_HOSTID, or else by the name of the host. */
static bool on_one_node(spmm_env_t *env)
{
    char        name[MPI_MAX_PROCESSOR_NAME] = "";
    int         length                       = 0;
    const char *id                           = getenv("NCCL_HOSTID");
    uint64_t    range[2]                     = {1, 0};

    if (id == NULL || id[0] == '\0') {
        (void)MPI_Get_processor_name(name, &length);
        id = name;
    }
    for (; *id != '\0'; id++) {
        range[0] = spmmi_mix64(range[0] ^ (unsigned char)*id);
    }
    range[1] = ~range[0];
    return spmmi_allreduce(env, range, 2, MPI_UINT64_T, MPI_MIN) == SPMM_OK &&
           range[0] == ~range[1];
}

bool spmmi_peer_space_supports(spmm_transport_shared_t *shared, char why[SPMM_WHY])
{
    spmm_env_t *env = shared->env;
    const char *refusal;

    if (!spmmi_transport_nccl.supports(shared, why) || env->size == 1) {
        return why[0] == '\0';
    }
    if (env->size > SPMM_PEER_RANKS) {
        (void)snprintf(why, SPMM_WHY, "is for %d ranks of one node at most; use nccl",
                       SPMM_PEER_RANKS);
        return false;
    }
    if (shared->no_windows[0] != '\0') {
        (void)snprintf(why, SPMM_WHY, "%s", shared->no_windows);
        return false;
    }
    refusal = nccl_window_refusal();
    if (!everywhere(env, refusal == NULL)) {
        (void)snprintf(why, SPMM_WHY, "%.190s",
                       refusal != NULL ? refusal
                                       : "is refused by another rank, for its version of NCCL or "
                                         "its NCCL_NVLS_ENABLE");
        return false;
    }
    if (!on_one_node(env)) {
        (void)snprintf(why, SPMM_WHY,
                       "needs all ranks on one node, and they are on several (by NCCL_HOSTID where "
                       "it is set); use nccl");
        return false;
    }
    return true;
}

static spmm_status_t make_words(spmm_peer_space_t *space)
{
    const spmm_device_t *device = space->own.device;
    const uint32_t       zero   = 0;
    void                *failed = NULL, *report = NULL;
    spmm_status_t        status = spmmi_device_upload(device, &zero, sizeof zero, &failed);

    space->failed = failed;
    if (status == SPMM_OK) {
        status        = device->ops->alloc_pinned(device, sizeof *space->report, &report);
        space->report = report;
    }
    if (status == SPMM_OK) {
        *space->report = (spmm_peer_report_t){0};
    }
    return status;
}

static bool has_lost_peer(const spmm_peer_space_t *space)
{
    const volatile spmm_peer_report_t *report = space->report;

    return report != NULL && report->failed != 0;
}

void spmmi_peer_space_free_window(spmm_peer_space_t *space, spmm_nccl_window_t *window)
{
    if (has_lost_peer(space)) {
        nccl_window_leave(window);
    } else {
        nccl_window_free(&space->own, window);
    }
}

static void free_space(spmm_peer_space_t *space)
{
    const spmm_device_t *device = space->own.device;

    if (has_lost_peer(space)) {
        spmmi_nccl_abandon(&space->own);
    }
    spmmi_nccl_close(&space->own);
    device->ops->release(device, space->failed);
    device->ops->release_pinned(device, space->report);
    spmmi_free(space);
}

/* Does NCCL give a window that all ranks reach?  Else the reason is for all plans to come: where
 * the registration fails, too, since NCCL says so in many ways.  Collective, agreed. */
static spmm_status_t try_window(spmm_transport_shared_t *shared, spmm_peer_space_t *space)
{
    spmm_error_t       *err    = &shared->env->err;
    spmm_nccl_window_t *window = NULL;
    spmm_status_t       status = spmmi_nccl_window_create(&space->own, 1, &window);

    nccl_window_free(&space->own, window);
    if (status == SPMM_ERR_COMM || status == SPMM_ERR_UNSUPPORTED) {
        const spmm_error_t reason = *err;

        (void)snprintf(shared->no_windows, sizeof shared->no_windows, "could not be opened: %.170s",
                       reason.text);
        if (status == SPMM_ERR_COMM) {
            spmmi_nccl_abandon(&space->own);
        }
        spmmi_error_clear(err);
        return spmmi_fail(err, SPMM_ERR_UNSUPPORTED, "%s", reason.text);
    }
    return status;
}

spmm_status_t spmmi_peer_space_open(spmm_transport_shared_t *shared)
{
    spmm_env_t        *env    = shared->env;
    spmm_status_t      status = SPMM_OK;
    spmm_peer_space_t *space;

    if (env->size == 1 || shared->peer_space != NULL) {
        return SPMM_OK;
    }
    if (SPMM_NEW_ZERO(space, 1) == NULL) {
        status = spmmi_fail_memory(&env->err, 1, sizeof *space, "a transport");
    }
    status = spmmi_agree(env, status);
    if (status != SPMM_OK) {
        spmmi_free(space);
        return status;
    }
    space->own = (spmm_transport_shared_t){.env = env, .device = shared->device, .windows = true};
    status     = spmmi_agree(env, make_words(space));
    if (status == SPMM_OK) {
        status = spmmi_nccl_open(&space->own);
    }
    if (status == SPMM_OK) {
        status = try_window(shared, space);
    }
    if (status != SPMM_OK) {
        free_space(space);
        return status;
    }
    shared->peer_space = space;
    return SPMM_OK;
}

void spmmi_peer_space_close(spmm_transport_shared_t *shared)
{
    if (shared->peer_space != NULL) {
        free_space(shared->peer_space);
        shared->peer_space = NULL;
    }
}

spmm_status_t spmmi_peer_space_check(spmm_transport_shared_t *shared)
{
    const spmm_peer_space_t           *space = shared->peer_space;
    const volatile spmm_peer_report_t *report;

    if (space == NULL) {
        return SPMM_OK;
    }
    report = space->report;
    if (report->failed == 0) {
        return SPMM_OK;
    }
    if (report->came[1] != report->expected[1]) {
        return spmmi_fail_step(shared->env, report->peer, report->came[1], report->expected[1]);
    }
    if (report->came[0] != report->expected[0]) {
        return spmmi_fail_bytes_came(shared->env, report->peer, "rows of ", report->came[0],
                                     report->expected[0]);
    }
    return spmmi_fail(&shared->env->err, SPMM_ERR_COMM,
                      "an exchange between GPUs did not finish within the timeout of %g s: rank %d "
                      "is late or gone; destroy the context",
                      shared->env->timeout_s, (int)report->peer);
}

/* A timeout of more than 30 years is none. */
spmm_peer_watch_t spmmi_peer_space_watch(const spmm_peer_space_t *space)
{
    const double seconds = space->own.env->timeout_s;

    return (spmm_peer_watch_t){.failed     = space->failed,
                               .report     = space->report,
                               .timeout_ns = seconds < 1e9 ? (uint64_t)(1e9 * seconds) : 0};
}
#endif
