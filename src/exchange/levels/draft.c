/* SPDX-License-Identifier: Apache-2.0 */
#include "exchange/levels/draft.h"

#include "base/alloc.h"
#include "base/comm.h"

spmm_status_t spmmi_levels_fail(const spmm_levels_draft_t *d, int64_t count)
{
    return spmmi_fail_memory(&d->env->err, count, sizeof(int64_t), "an exchange in two levels");
}

spmm_status_t spmmi_levels_tell(spmm_levels_draft_t *d, const void *items, size_t size, void **came,
                                int64_t *total)
{
    spmm_status_t status = SPMM_OK;

    SPMM_TRY(
        spmmi_agree(d->env, spmmi_alltoall_counts(d->env, d->send_count, d->recv_count, total)));
    *came = spmmi_alloc(*total, size);
    if (*came == NULL) {
        status = spmmi_levels_fail(d, *total);
    }
    SPMM_TRY(spmmi_agree(d->env, status));
    return spmmi_alltoallv(d->env, items, d->send_count, *came, d->recv_count, size);
}

/* Counts of ranks to the peers of one side of a halo plan. */
static spmm_status_t list_peers(const spmm_levels_draft_t *d, const int64_t *count, int *n_peers,
                                int **peer, int64_t **ptr)
{
    const int size = d->env->size;
    int       n    = 0;

    for (int p = 0; p < size; p++) {
        n += count[p] > 0;
    }
    if (SPMM_NEW(*peer, n) == NULL || SPMM_NEW(*ptr, (int64_t)n + 1) == NULL) {
        return spmmi_levels_fail(d, (int64_t)n + 1);
    }
    *n_peers  = 0;
    (*ptr)[0] = 0;
    for (int p = 0; p < size; p++) {
        if (count[p] > 0) {
            (*peer)[*n_peers]    = p;
            (*ptr)[*n_peers + 1] = (*ptr)[*n_peers] + count[p];
            ++*n_peers;
        }
    }
    return SPMM_OK;
}

spmm_status_t spmmi_levels_list_peers(const spmm_levels_draft_t *d, const int64_t *send,
                                      const int64_t *recv, spmm_halo_t *halo)
{
    SPMM_TRY(list_peers(d, send, &halo->n_send_peers, &halo->send_peer, &halo->send_ptr));
    return list_peers(d, recv, &halo->n_recv_peers, &halo->recv_peer, &halo->recv_ptr);
}

int spmmi_crossed_compare(const void *a, const void *b)
{
    const spmm_crossed_t *x = a, *y = b;

    return (x->index > y->index) - (x->index < y->index);
}
