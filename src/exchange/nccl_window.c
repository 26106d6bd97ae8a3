/* SPDX-License-Identifier: Apache-2.0 */
#include "exchange/nccl_window.h"

#ifdef SPMM_HAVE_NCCL_WINDOW
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "cuda/exchange/nccl_window.h"
#include "device/device_cuda.h"

static bool is_zero(const char *name)
{
    const char *text = getenv(name);

    return text != NULL && strcmp(text, "0") == 0;
}

const char *spmmi_nccl_window_refusal(void)
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
        spmmi_nccl_window_free(shared, w);
        return status;
    }
    *window = w;
    return SPMM_OK;
}

void spmmi_nccl_window_free(spmm_transport_shared_t *shared, spmm_nccl_window_t *w)
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

void spmmi_nccl_window_leave(spmm_nccl_window_t *w)
{
    if (w == NULL || w->pending) {
        return;
    }
    if (w->memory != NULL) {
        spmmi_alloc_note_free();
    }
    spmmi_free(w);
}
#endif
