/* SPDX-License-Identifier: Apache-2.0 */
#include "exchange/pull_space.h"

#ifdef SPMM_HAVE_NCCL_WINDOW
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/hash.h"

extern const spmm_transport_ops_t spmmi_transport_nccl;

/* Do all ranks think so?  Collective; false also when MPI fails. */
static bool everywhere(spmm_env_t *env, bool here)
{
    int all = here;

    return MPI_Allreduce(MPI_IN_PLACE, &all, 1, MPI_INT, MPI_LAND, env->comm) == MPI_SUCCESS && all;
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
    return MPI_Allreduce(MPI_IN_PLACE, range, 2, MPI_UINT64_T, MPI_MIN, env->comm) == MPI_SUCCESS &&
           range[0] == ~range[1];
}

bool spmmi_pull_space_supports(spmm_transport_shared_t *shared, char why[SPMM_WHY])
{
    spmm_env_t *env = shared->env;
    const char *refusal;

    if (!spmmi_transport_nccl.supports(shared, why) || env->size == 1) {
        return why[0] == '\0';
    }
    if (env->size > SPMM_PULL_PEERS) {
        (void)snprintf(why, SPMM_WHY, "is for %d ranks of one node at most; use nccl",
                       SPMM_PULL_PEERS);
        return false;
    }
    if (shared->no_windows[0] != '\0') {
        (void)snprintf(why, SPMM_WHY, "%s", shared->no_windows);
        return false;
    }
    refusal = spmmi_nccl_window_refusal();
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

static spmm_status_t make_words(spmm_pull_space_t *space)
{
    const spmm_device_t *device = space->own.device;
    const uint32_t       zero   = 0;
    void                *failed = NULL, *table = NULL, *report = NULL;
    spmm_status_t        status = spmmi_device_upload(device, &zero, sizeof zero, &failed);

    space->failed = failed;
    if (status == SPMM_OK) {
        status = device->ops->alloc(
            device, (size_t)SPMM_PULL_SHARED * SPMM_PULL_PEERS * sizeof *space->table, &table);
        space->table = table;
    }
    if (status == SPMM_OK) {
        status        = device->ops->alloc_pinned(device, sizeof *space->report, &report);
        space->report = report;
    }
    if (status == SPMM_OK) {
        *space->report = (spmm_pull_report_t){0};
    }
    return status;
}

static bool has_lost_peer(const spmm_pull_space_t *space)
{
    const volatile spmm_pull_report_t *report = space->report;

    return report != NULL && report->failed != 0;
}

void spmmi_pull_space_free_window(spmm_pull_space_t *space, spmm_nccl_window_t *window)
{
    if (has_lost_peer(space)) {
        spmmi_nccl_window_leave(window);
    } else {
        spmmi_nccl_window_free(&space->own, window);
    }
}

static void free_space(spmm_pull_space_t *space)
{
    const spmm_device_t *device = space->own.device;

    for (int h = 0; h < SPMM_PULL_SHARED; h++) {
        spmmi_pull_space_free_window(space, space->home[h]);
    }
    if (has_lost_peer(space)) {
        spmmi_nccl_abandon(&space->own);
    }
    spmmi_nccl_close(&space->own);
    device->ops->release(device, space->failed);
    device->ops->release(device, space->table);
    device->ops->release_pinned(device, space->report);
    spmmi_free(space);
}

/* Does NCCL give a window that all ranks reach?  Else the reason is for all plans to come: where the
 * registration fails, too, since NCCL says so in many ways.  Collective, agreed. */
static spmm_status_t try_window(spmm_transport_shared_t *shared, spmm_pull_space_t *space)
{
    spmm_error_t       *err    = &shared->env->err;
    spmm_nccl_window_t *window = NULL;
    spmm_status_t       status = spmmi_nccl_window_create(&space->own, 1, &window);

    spmmi_nccl_window_free(&space->own, window);
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

spmm_status_t spmmi_pull_space_open(spmm_transport_shared_t *shared)
{
    spmm_env_t        *env    = shared->env;
    spmm_status_t      status = SPMM_OK;
    spmm_pull_space_t *space;

    if (shared->pull != NULL) {
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
    shared->pull = space;
    return SPMM_OK;
}

void spmmi_pull_space_close(spmm_transport_shared_t *shared)
{
    if (shared->pull != NULL) {
        free_space(shared->pull);
        shared->pull = NULL;
    }
}

spmm_status_t spmmi_pull_space_check(spmm_transport_shared_t *shared)
{
    const spmm_pull_space_t           *space = shared->pull;
    const volatile spmm_pull_report_t *report;

    if (space == NULL) {
        return SPMM_OK;
    }
    report = space->report;
    if (report->failed == 0) {
        return SPMM_OK;
    }
    return spmmi_fail(&shared->env->err, SPMM_ERR_COMM,
                      "an exchange between GPUs did not finish within the timeout of %g s: rank %d "
                      "is late or gone; destroy the context",
                      shared->env->timeout_s, (int)report->peer);
}

/* The first number that no rank uses: a buffer is free when all ranks have freed it. */
static spmm_status_t find_free(spmm_pull_space_t *space, int *number)
{
    spmm_env_t *env  = space->own.env;
    uint64_t    free = 0;

    for (int h = 0; h < SPMM_PULL_SHARED; h++) {
        free |= (uint64_t)(space->home[h] == NULL) << h;
    }
    SPMM_MPI(env, MPI_Allreduce(MPI_IN_PLACE, &free, 1, MPI_UINT64_T, MPI_BAND, env->comm));
    for (*number = 0; *number < SPMM_PULL_SHARED; ++*number) {
        if ((free >> *number & 1) != 0) {
            return SPMM_OK;
        }
    }
    return SPMM_OK;
}

spmm_status_t spmmi_pull_space_alloc(spmm_pull_space_t *space, size_t bytes, void **buffer)
{
    spmm_env_t         *env    = space->own.env;
    spmm_nccl_window_t *window = NULL;
    int                 number = 0;
    spmm_status_t       status;

    *buffer = NULL;
    SPMM_TRY(spmmi_agree(env, find_free(space, &number)));
    if (number == SPMM_PULL_SHARED) {
        return SPMM_OK;
    }
    SPMM_TRY(spmmi_nccl_window_create(&space->own, bytes, &window));
    status = spmmi_agree(env, spmmi_device_write(space->own.device,
                                                 space->table + (size_t)number * SPMM_PULL_PEERS,
                                                 window->peer, sizeof window->peer));
    if (status != SPMM_OK) {
        spmmi_nccl_window_free(&space->own, window);
        return status;
    }
    space->home[number] = window;
    *buffer             = window->memory;
    return SPMM_OK;
}

bool spmmi_pull_space_release(spmm_pull_space_t *space, const void *buffer)
{
    for (int h = 0; h < SPMM_PULL_SHARED; h++) {
        if (space->home[h] != NULL && space->home[h]->memory == buffer) {
            spmmi_pull_space_free_window(space, space->home[h]);
            space->home[h] = NULL;
            return true;
        }
    }
    return false;
}

int spmmi_pull_space_find(const spmm_pull_space_t *space, const void *at, size_t bytes,
                          size_t *offset)
{
    for (int h = 0; h < SPMM_PULL_SHARED; h++) {
        const spmm_nccl_window_t *w = space->home[h];

        if (w != NULL && (uintptr_t)at >= (uintptr_t)w->memory &&
            (uintptr_t)at - (uintptr_t)w->memory <= w->bytes &&
            bytes <= w->bytes - ((uintptr_t)at - (uintptr_t)w->memory)) {
            *offset = (uintptr_t)at - (uintptr_t)w->memory;
            return h;
        }
    }
    return -1;
}

static spmm_status_t exchange_firsts(spmm_env_t *env, int n_peers, const int *peer,
                                     const int64_t *ptr, int64_t *first)
{
    int64_t mine[SPMM_PULL_PEERS] = {0};

    for (int p = 0; p < n_peers; p++) {
        mine[peer[p]] = ptr[p];
    }
    return spmmi_mpi_check(
        env, MPI_Alltoall(mine, 1, MPI_INT64_T, first, 1, MPI_INT64_T, env->comm), "MPI_Alltoall");
}

spmm_status_t spmmi_pull_space_firsts(spmm_env_t *env, const spmm_halo_t *peers, int64_t *mirror,
                                      int64_t *halo)
{
    const spmm_status_t status =
        exchange_firsts(env, peers->n_send_peers, peers->send_peer, peers->send_ptr, mirror);
    const spmm_status_t second =
        exchange_firsts(env, peers->n_recv_peers, peers->recv_peer, peers->recv_ptr, halo);

    return status != SPMM_OK ? status : second;
}

/* A timeout of more than 30 years is none. */
spmm_peer_watch_t spmmi_pull_space_watch(const spmm_pull_space_t *space)
{
    const double seconds = space->own.env->timeout_s;

    return (spmm_peer_watch_t){.failed     = space->failed,
                               .report     = space->report,
                               .timeout_ns = seconds < 1e9 ? (uint64_t)(1e9 * seconds) : 0};
}
#endif
