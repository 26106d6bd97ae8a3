/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "exchange/levels/draft.h"

/* Where the row of @p index stands among those that came across; -1: it did not. */
static int64_t find_crossed(const spmm_levels_draft_t *d, const spmm_levels_lists_t *lists,
                            int64_t index)
{
    const spmm_crossed_t  key = {.index = index};
    const spmm_crossed_t *found =
        bsearch(&key, d->crossed, (size_t)spmmi_halo_recv_rows(&lists->cross), sizeof key,
                spmmi_crossed_compare);

    return found == NULL ? -1 : found->at;
}

static spmm_status_t fail_missing(const spmm_levels_draft_t *d, int64_t index)
{
    return spmmi_fail(&d->env->err, SPMM_ERR_INTERNAL,
                      "row %" PRId64 " of B does not come to the node of rank %d: please report it",
                      index, d->env->rank);
}

/* Rows to hand out: own ones, which are packed, and those that came across.  Places of the latter
 * count from the first of them, as -1 - place. */
static spmm_status_t answer(spmm_levels_draft_t *d, const int64_t *wanted, int64_t count,
                            spmm_levels_lists_t *lists)
{
    const int64_t first = d->offset[d->env->rank], end = d->offset[d->env->rank + 1];
    int64_t       direct = 0;

    if (SPMM_NEW(lists->to_deal, count) == NULL) {
        return spmmi_levels_fail(d, count);
    }
    for (int64_t k = 0; k < count; k++) {
        if (wanted[k] >= first && wanted[k] < end) {
            lists->packed[lists->n_packed++] = (int32_t)(wanted[k] - first);
            lists->to_deal[k]                = (int32_t)direct++;
            continue;
        }
        const int64_t at = find_crossed(d, lists, wanted[k]);

        if (at < 0) {
            return fail_missing(d, wanted[k]);
        }
        lists->to_deal[k] = (int32_t)(-1 - at);
    }
    lists->room[SPMM_ROOM_COLLECTED] = lists->room[SPMM_ROOM_DIRECT] + direct;
    return SPMM_OK;
}

/* Halo rows of this rank, grouped by the rank of the node that they come from; this rank asks
 * itself nothing.  @p asked [halo rows] */
static spmm_status_t group_by_way(spmm_levels_draft_t *d, int64_t n_halo, int64_t *asked)
{
    int64_t at = 0;

    memset(d->send_count, 0, (size_t)d->env->size * sizeof *d->send_count);
    for (int64_t i = 0; i < n_halo; i++) {
        if (d->via[i] < 0 || d->via[i] >= d->env->size || !spmmi_levels_near(d, d->via[i])) {
            return fail_missing(d, d->need[i]);
        }
        d->send_count[d->via[i]] += d->via[i] != d->env->rank;
    }
    for (int p = 0; p < d->env->size; p++) {
        d->at[p] = at;
        at += d->send_count[p];
    }
    for (int64_t i = 0; i < n_halo; i++) {
        if (d->via[i] != d->env->rank) {
            asked[d->at[d->via[i]]++] = d->need[i];
        }
    }
    return SPMM_OK;
}

/* Those who need rows to the ranks of their node that get or own them.  Collective, agreed. */
spmm_status_t spmmi_levels_make_deal(spmm_levels_draft_t *d, spmm_levels_lists_t *lists)
{
    const int64_t n_halo = spmmi_halo_recv_rows(d->flat);
    int64_t      *asked = NULL, total = 0;
    void         *wanted = NULL;
    spmm_status_t status;

    status = SPMM_NEW(asked, n_halo) == NULL ? spmmi_levels_fail(d, n_halo)
                                             : group_by_way(d, n_halo, asked);
    status = spmmi_agree(d->env, status);
    if (status == SPMM_OK) {
        status = spmmi_levels_tell(d, asked, sizeof *asked, &wanted, &total);
    }
    if (status == SPMM_OK) { /* what is asked for comes */
        status = spmmi_levels_list_peers(d, d->recv_count, d->send_count, &lists->deal);
        if (status == SPMM_OK) {
            status = answer(d, wanted, total, lists);
        }
        status = spmmi_agree(d->env, status);
    }
    spmmi_free_all(asked, wanted);
    return status;
}

/* All is counted: where the parts of the room begin, and with that the places in it. */
static spmm_status_t place_all(spmm_levels_draft_t *d, spmm_levels_lists_t *lists)
{
    int64_t      *room   = lists->room;
    const int64_t n_halo = spmmi_halo_recv_rows(d->flat), n_self = room[SPMM_ROOM_DIRECT];
    int64_t       n_own = 0;

    for (int64_t i = 0; i < n_halo; i++) {
        n_own += d->via[i] == d->env->rank;
    }
    room[SPMM_ROOM_CROSSED]  = room[SPMM_ROOM_COLLECTED] + spmmi_halo_recv_rows(&lists->collect);
    room[SPMM_ROOM_DEALT]    = room[SPMM_ROOM_CROSSED] + spmmi_halo_recv_rows(&lists->cross);
    room[SPMM_ROOM_TO_CROSS] = room[SPMM_ROOM_DEALT] + spmmi_halo_recv_rows(&lists->deal);
    room[SPMM_ROOM_TO_DEAL]  = room[SPMM_ROOM_TO_CROSS] + spmmi_halo_send_rows(&lists->cross);
    room[SPMM_ROOM_OWN]      = room[SPMM_ROOM_TO_DEAL] + spmmi_halo_send_rows(&lists->deal);
    room[SPMM_ROOM_PARTS]    = room[SPMM_ROOM_OWN] + n_own;
    if (room[SPMM_ROOM_PARTS] > INT32_MAX) {
        return spmmi_fail(&d->env->err, SPMM_ERR_UNSUPPORTED,
                          "levels node takes room for %" PRId64
                          " rows on rank %d, more than 2^31 - "
                          "1: use levels flat or more ranks",
                          room[SPMM_ROOM_PARTS], d->env->rank);
    }
    for (int64_t k = 0; k < spmmi_room_rows(lists, SPMM_ROOM_TO_CROSS); k++) {
        const int64_t at = d->relays[k].at;

        lists->to_cross[k] = (int32_t)(at < n_self ? at : room[SPMM_ROOM_COLLECTED] + at - n_self);
    }
    for (int64_t k = 0; k < spmmi_room_rows(lists, SPMM_ROOM_TO_DEAL); k++) {
        const int64_t at = lists->to_deal[k];

        lists->to_deal[k] =
            (int32_t)(at >= 0 ? room[SPMM_ROOM_DIRECT] + at : room[SPMM_ROOM_CROSSED] - 1 - at);
    }
    return SPMM_OK;
}

/* Where each halo row stands in the end. */
static spmm_status_t place_halo(spmm_levels_draft_t *d, spmm_levels_lists_t *lists)
{
    const int64_t n_halo = spmmi_halo_recv_rows(d->flat);

    if (SPMM_NEW(lists->to_halo, n_halo) == NULL) {
        return spmmi_levels_fail(d, n_halo);
    }
    for (int p = 0; p < lists->deal.n_recv_peers; p++) {
        d->at[lists->deal.recv_peer[p]] = lists->room[SPMM_ROOM_DEALT] + lists->deal.recv_ptr[p];
    }
    for (int64_t i = 0; i < n_halo; i++) {
        if (d->via[i] != d->env->rank) {
            lists->to_halo[i] = (int32_t)d->at[d->via[i]]++;
            continue;
        }
        const int64_t at = find_crossed(d, lists, d->need[i]);

        if (at < 0) {
            return fail_missing(d, d->need[i]);
        }
        lists->to_halo[i] = (int32_t)(lists->room[SPMM_ROOM_CROSSED] + at);
    }
    return SPMM_OK;
}

spmm_status_t spmmi_levels_place(spmm_levels_draft_t *d, spmm_levels_lists_t *lists)
{
    SPMM_TRY(place_all(d, lists));
    return place_halo(d, lists);
}
