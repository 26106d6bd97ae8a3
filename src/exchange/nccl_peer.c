/* SPDX-License-Identifier: Apache-2.0 */
#include "exchange/nccl_peer.h"

#include <stdio.h>

bool spmmi_nccl_peer_unbuilt(spmm_transport_shared_t *shared, char why[SPMM_WHY])
{
    (void)shared;
    (void)snprintf(why, SPMM_WHY, "is not in this build: it needs CUDA and NCCL 2.28 or later");
    return false;
}

#ifdef SPMM_HAVE_NCCL_WINDOW
#include "base/alloc.h"
#include "device/device_cuda.h"

spmm_status_t spmmi_nccl_peer_open(spmm_transport_shared_t *shared)
{
    return shared->env->size == 1 ? SPMM_OK : spmmi_pull_space_open(shared);
}

static spmm_status_t make_window(spmm_nccl_peer_t *p, size_t max_row_bytes)
{
    const int64_t out = spmmi_halo_send_rows(p->halo), in = spmmi_halo_recv_rows(p->halo);
    const int64_t most   = out > in ? out : in;
    size_t        bytes  = 0;
    spmm_status_t status = SPMM_OK;

    p->head = p->ops->head_bytes(p->shared->env->size);
    if (!spmmi_size_mul((size_t)most, max_row_bytes, &bytes)) {
        status = spmmi_fail_memory(&p->shared->env->err, most, max_row_bytes, "rows of peers");
    }
    SPMM_TRY(spmmi_agree(p->shared->env, status));
    return spmmi_nccl_window_create(&p->space->own, p->head + bytes, &p->window);
}

static spmm_status_t upload(spmm_nccl_peer_t *p, const int32_t *row)
{
    static const char    zero[SPMM_NCCL_PEER_STATE];
    const spmm_device_t *device = p->shared->device;
    void                *list   = NULL;

    SPMM_TRY(spmmi_device_upload(device, row, (size_t)p->n_rows * sizeof *row, &list));
    p->row = list;
    return spmmi_device_upload(device, zero, p->ops->state_bytes, &p->words);
}

/* Collective, agreed. */
static spmm_status_t set_up(spmm_nccl_peer_t *p, size_t max_row_bytes)
{
    spmm_env_t   *env = p->shared->env;
    int32_t      *row = NULL;
    spmm_status_t status;

    SPMM_TRY(spmmi_pull_space_open(p->shared));
    p->space = p->shared->pull;
    SPMM_TRY(
        spmmi_agree(env, spmmi_pull_space_firsts(env, p->halo, p->first_mirror, p->first_halo)));
    SPMM_TRY(p->ops->list_rows(p, &row, &p->n_rows));
    status = spmmi_agree(env, upload(p, row));
    if (row != p->halo->send_row) {
        spmmi_free(row);
    }
    SPMM_TRY(status);
    return make_window(p, max_row_bytes);
}

spmm_status_t spmmi_nccl_peer_create(const spmm_nccl_peer_ops_t *ops,
                                     spmm_transport_shared_t *shared, const spmm_halo_t *halo,
                                     size_t max_row_bytes, void **state)
{
    spmm_status_t     status = SPMM_OK;
    spmm_nccl_peer_t *p;

    if (SPMM_NEW_ZERO(p, 1) == NULL) {
        status = spmmi_fail_memory(&shared->env->err, 1, sizeof *p, "a transport");
    }
    status = spmmi_agree(shared->env, status);
    if (status != SPMM_OK) {
        spmmi_free(p);
        return status;
    }
    p->ops    = ops;
    p->shared = shared;
    p->halo   = halo;
    if (shared->env->size > 1) {
        status = set_up(p, max_row_bytes);
    }
    if (status != SPMM_OK) {
        spmmi_nccl_peer_destroy(p);
        return status;
    }
    *state = p;
    return SPMM_OK;
}

/* An exchange under way uses the window, and an event after it would spoil CUDA graphs: wait for the
 * device, as freeing memory does anyway.  A peer that was late may still write into the window: its
 * hold on the memory outlives ours. */
void spmmi_nccl_peer_destroy(void *state)
{
    spmm_nccl_peer_t    *p = state;
    const spmm_device_t *device;

    if (p == NULL) {
        return;
    }
    device = p->shared->device;
    if (p->words != NULL && spmmi_cuda_use(device) == SPMM_OK) {
        (void)cudaDeviceSynchronize();
    }
    device->ops->release(device, p->words);
    device->ops->release(device, p->row);
    if (p->space != NULL) {
        spmmi_pull_space_free_window(p->space, p->window);
    }
    spmmi_free(p);
}

void *spmmi_nccl_peer_rows(const void *state)
{
    const spmm_nccl_peer_t *p = state;

    return p->window == NULL ? NULL : p->window->memory + p->head;
}

void spmmi_nccl_peer_bytes(const void *state, size_t *host, size_t *device)
{
    const spmm_nccl_peer_t *p = state;

    *host   = sizeof *p + (p->window == NULL ? 0 : sizeof *p->window);
    *device = p->window == NULL
                  ? 0
                  : p->window->bytes + p->ops->state_bytes + (size_t)p->n_rows * sizeof *p->row;
}

bool spmmi_nccl_peer_holds(const spmm_nccl_peer_t *peer, const void *rows, size_t bytes,
                           size_t *offset)
{
    const uintptr_t at   = (uintptr_t)rows;
    const uintptr_t from = (uintptr_t)peer->window->memory + peer->head;
    const size_t    room = peer->window->bytes - peer->head;

    if (at < from || at - from > room || bytes > room - (at - from)) {
        return false;
    }
    *offset = peer->head + (at - from);
    return true;
}

bool spmmi_nccl_peer_is_alone(const spmm_halo_t *halo)
{
    return halo->n_send_peers == 0 && halo->n_recv_peers == 0;
}
#endif
