/* SPDX-License-Identifier: Apache-2.0 */
#include "exchange/peer_space.h"

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
        spmmi_nccl_window_leave(window);
    } else {
        spmmi_nccl_window_free(&space->own, window);
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
