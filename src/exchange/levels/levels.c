/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "base/alloc.h"
#include "base/nodes.h"
#include "exchange/levels/state.h"

bool spmmi_levels_supports(const spmm_env_t *env, const spmm_transport_ops_t *transport,
                           char why[SPMM_WHY])
{
    why[0] = '\0';
    if (!spmmi_nodes_have_levels(&env->nodes)) {
        (void)snprintf(why, SPMM_WHY,
                       "needs several nodes, one at least of several ranks: there are %d of up to "
                       "%d (option ranks_per_node)",
                       env->nodes.count, env->nodes.most);
    } else if (transport->packs) {
        (void)snprintf(why, SPMM_WHY, "needs another transport: %s writes to where rows end up",
                       transport->name);
    }
    return why[0] == '\0';
}

static void drop(const spmm_device_t *device, spmm_levels_list_t *list)
{
    device->ops->release(device, list->row);
    *list = (spmm_levels_list_t){.row = NULL};
}

void spmmi_levels_destroy(spmm_levels_t *l)
{
    const spmm_device_t *device;

    if (l == NULL) {
        return;
    }
    device = l->shared->device;
    for (int part = 0; part < SPMM_LEVELS_PARTS; part++) {
        if (l->state[part] != NULL) {
            l->transport->destroy(l->state[part]);
        }
    }
    if (!l->shared->env->unfinished) { /* MPI may come back to it */
        device->ops->release(device, l->room);
    }
    drop(device, &l->to_cross);
    drop(device, &l->to_deal);
    drop(device, &l->to_halo);
    drop(device, &l->dealt);
    drop(device, &l->own);
    drop(device, &l->crossed);
    drop(device, &l->self);
    drop(device, &l->direct);
    drop(device, &l->collected);
    device->ops->release(device, l->sums.row);
    device->ops->release(device, l->sums.ptr);
    device->ops->release(device, l->sums.pos);
    spmmi_levels_lists_free(&l->lists);
    spmmi_halo_free(&l->flat);
    spmmi_free(l);
}

spmm_status_t spmmi_levels_create(spmm_transport_shared_t    *shared,
                                  const spmm_transport_ops_t *transport,
                                  const spmm_levels_need_t *need, spmm_levels_t **levels)
{
    spmm_env_t    *env    = shared->env;
    spmm_status_t  status = SPMM_OK;
    spmm_levels_t *l;

    if (SPMM_NEW_ZERO(l, 1) == NULL) {
        status = spmmi_fail_memory(&env->err, 1, sizeof *l, "an exchange in two levels");
    }
    status = spmmi_agree(env, status);
    if (status != SPMM_OK) {
        spmmi_free(l);
        return status;
    }
    *l     = (spmm_levels_t){.shared    = shared,
                             .transport = transport,
                             .direction = need->direction,
                             .type      = need->type,
                             .row_bytes = need->row_bytes,
                             .n_halo    = spmmi_halo_recv_rows(need->flat)};
    status = spmmi_levels_lists_create(env, need->flat, need->offset, need->need, &l->lists);
    if (status != SPMM_OK) {
        spmmi_levels_destroy(l);
        return status;
    }
    *levels = l;
    return SPMM_OK;
}

static spmm_status_t upload(const spmm_levels_t *l, const int32_t *host, int64_t count,
                            int32_t **row)
{
    void *device = NULL;

    SPMM_TRY(spmmi_device_upload(l->shared->device, host, (size_t)count * sizeof *host, &device));
    *row = device;
    return SPMM_OK;
}

static spmm_status_t upload_list(const spmm_levels_t *l, const int32_t *host, int64_t count,
                                 spmm_levels_list_t *list)
{
    list->count = count;
    return count == 0 ? SPMM_OK : upload(l, host, count, &list->row);
}

static spmm_status_t upload_forward(spmm_levels_t *l)
{
    const spmm_levels_lists_t *s = &l->lists;

    SPMM_TRY(upload_list(l, s->to_cross, spmmi_room_rows(s, SPMM_ROOM_TO_CROSS), &l->to_cross));
    SPMM_TRY(upload_list(l, s->to_deal, spmmi_room_rows(s, SPMM_ROOM_TO_DEAL), &l->to_deal));
    return upload_list(l, s->to_halo, l->n_halo, &l->to_halo);
}

/* The way back of a list: place[from[k] - first of part] = base + k, for those of the part. */
static void invert(const spmm_levels_lists_t *s, const int32_t *from, int64_t count, int64_t base,
                   spmm_room_part_t part, int32_t *place)
{
    for (int64_t k = 0; k < count; k++) {
        if (from[k] >= s->room[part] && from[k] < s->room[part + 1]) {
            place[from[k] - s->room[part]] = (int32_t)(base + k);
        }
    }
}

/* Invert and upload.  @p place is scratch */
static spmm_status_t turn(const spmm_levels_t *l, const int32_t *from, int64_t count, int64_t base,
                          spmm_room_part_t part, int32_t *place, spmm_levels_list_t *list)
{
    invert(&l->lists, from, count, base, part, place);
    return upload_list(l, place, spmmi_room_rows(&l->lists, part), list);
}

/* The addends of each row that goes back across: places in TO_DEAL, by rank, and then in OWN, whose
 * halo rows go to @p own.  The first is copied, the others are added.  @p scratch [4 * crossed rows
 * + addends + 2] */
static spmm_status_t upload_sums(spmm_levels_t *l, int32_t *own, int32_t *scratch)
{
    const spmm_levels_lists_t *s       = &l->lists;
    const int64_t              n       = spmmi_room_rows(s, SPMM_ROOM_CROSSED);
    const int64_t              n_deal  = spmmi_room_rows(s, SPMM_ROOM_TO_DEAL);
    const int64_t              crossed = s->room[SPMM_ROOM_CROSSED];
    int32_t                   *first = scratch, *more = first + n, *row = more + n, *ptr = row + n;
    int32_t                   *pos   = ptr + n + 1;
    int64_t                    n_own = 0, n_rows = 0, n_pos = 0;

    for (int64_t j = 0; j < n; j++) {
        first[j] = -1;
        more[j]  = 0;
    }
    for (int64_t k = 0; k < n_deal + l->n_halo; k++) { /* count */
        const int64_t j = (k < n_deal ? s->to_deal[k] : s->to_halo[k - n_deal]) - crossed;

        if (j < 0 || j >= n) {
            continue;
        }
        if (k >= n_deal) {
            own[n_own++] = (int32_t)(k - n_deal);
        }
        if (first[j] < 0) {
            first[j] = (int32_t)(k < n_deal ? s->room[SPMM_ROOM_TO_DEAL] + k
                                            : s->room[SPMM_ROOM_OWN] + n_own - 1);
        } else {
            more[j]++;
        }
    }
    ptr[0] = 0;
    for (int64_t j = 0; j < n; j++) {
        if (more[j] > 0) {
            row[n_rows]     = (int32_t)(crossed + j);
            ptr[n_rows + 1] = ptr[n_rows] + more[j];
            more[j]         = ptr[n_rows++]; /* from here on: where the next addend goes */
        } else {
            more[j] = -1;
        }
    }
    n_own = 0;
    for (int64_t k = 0; k < n_deal + l->n_halo; k++) {
        const int64_t j = (k < n_deal ? s->to_deal[k] : s->to_halo[k - n_deal]) - crossed;
        int32_t       at;

        if (j < 0 || j >= n) {
            continue;
        }
        at = (int32_t)(k < n_deal ? s->room[SPMM_ROOM_TO_DEAL] + k
                                  : s->room[SPMM_ROOM_OWN] + n_own++);
        if (more[j] >= 0 && at != first[j]) {
            pos[more[j]++] = at;
            n_pos++;
        }
    }
    l->sums.n_rows = n_rows;
    SPMM_TRY(upload_list(l, own, n_own, &l->own));
    SPMM_TRY(upload_list(l, first, n, &l->crossed));
    if (n_rows == 0) {
        return SPMM_OK;
    }
    SPMM_TRY(upload(l, row, n_rows, &l->sums.row));
    SPMM_TRY(upload(l, ptr, n_rows + 1, &l->sums.ptr));
    return upload(l, pos, n_pos, &l->sums.pos);
}

static spmm_status_t upload_back(spmm_levels_t *l)
{
    const spmm_levels_lists_t *s       = &l->lists;
    const int64_t              n_cross = spmmi_room_rows(s, SPMM_ROOM_TO_CROSS);
    const int64_t              n_deal  = spmmi_room_rows(s, SPMM_ROOM_TO_DEAL);
    const int64_t cross = s->room[SPMM_ROOM_TO_CROSS], deal = s->room[SPMM_ROOM_TO_DEAL];
    int32_t      *own = NULL, *scratch = NULL;
    spmm_status_t status = SPMM_OK;

    SPMM_NEW(own, l->n_halo);
    SPMM_NEW(scratch, 6 * s->room[SPMM_ROOM_PARTS] + 2);
    if (own == NULL || scratch == NULL) {
        status = spmmi_fail_memory(&l->shared->env->err, 6 * s->room[SPMM_ROOM_PARTS] + 2,
                                   sizeof *scratch, "an exchange in two levels");
    }
    if (status == SPMM_OK) {
        status = turn(l, s->to_halo, l->n_halo, 0, SPMM_ROOM_DEALT, scratch, &l->dealt);
    }
    if (status == SPMM_OK) {
        status = turn(l, s->to_cross, n_cross, cross, SPMM_ROOM_SELF, scratch, &l->self);
    }
    if (status == SPMM_OK) {
        status = turn(l, s->to_cross, n_cross, cross, SPMM_ROOM_COLLECTED, scratch, &l->collected);
    }
    if (status == SPMM_OK) {
        status = turn(l, s->to_deal, n_deal, deal, SPMM_ROOM_DIRECT, scratch, &l->direct);
    }
    if (status == SPMM_OK) {
        status = upload_sums(l, own, scratch);
    }
    spmmi_free_all(own, scratch);
    return status;
}

static spmm_status_t make_room(spmm_levels_t *l)
{
    const spmm_device_t *device = l->shared->device;
    const int64_t        rows   = l->lists.room[SPMM_ROOM_PARTS];
    size_t               bytes;

    if (!spmmi_size_mul((size_t)rows, l->row_bytes, &bytes)) {
        return spmmi_fail_memory(&device->env->err, rows, l->row_bytes, "rows on their way");
    }
    SPMM_TRY(device->ops->alloc(device, bytes, &l->room));
    return l->direction == SPMM_HALO_FORWARD ? upload_forward(l) : upload_back(l);
}

spmm_status_t spmmi_levels_open(spmm_levels_t *l)
{
    spmm_env_t *env = l->shared->env;

    SPMM_TRY(spmmi_agree(env, make_room(l)));
    for (int part = 0; part < SPMM_LEVELS_PARTS; part++) {
        SPMM_TRY(spmmi_agree(env, l->transport->create(l->shared, spmmi_levels_part(l, part),
                                                       l->row_bytes, &l->state[part])));
    }
    return SPMM_OK;
}

bool spmmi_levels_is_alone(const spmm_levels_t *l)
{
    int peers = 0;

    for (int part = 0; part < SPMM_LEVELS_PARTS; part++) {
        peers +=
            spmmi_levels_part(l, part)->n_send_peers + spmmi_levels_part(l, part)->n_recv_peers;
    }
    return peers == 0;
}

spmm_status_t spmmi_levels_take_mirror(spmm_levels_t *l, spmm_halo_t *halo)
{
    int     *peer = NULL;
    int64_t *ptr  = NULL;

    SPMM_NEW(peer, 1);
    SPMM_NEW(ptr, 2);
    if (peer == NULL || ptr == NULL) {
        spmmi_free_all(peer, ptr);
        return spmmi_fail_memory(&l->shared->env->err, 2, sizeof *ptr, "mirror rows");
    }
    l->flat.n_send_peers = halo->n_send_peers;
    l->flat.send_peer    = halo->send_peer;
    l->flat.send_ptr     = halo->send_ptr;
    l->flat.send_row     = halo->send_row;

    peer[0]            = l->shared->env->rank;
    ptr[0]             = 0;
    ptr[1]             = l->lists.n_packed;
    halo->n_send_peers = 1;
    halo->send_peer    = peer;
    halo->send_ptr     = ptr;
    halo->send_row     = l->lists.packed;
    l->lists.packed    = NULL;
    return SPMM_OK;
}

const spmm_halo_t *spmmi_levels_flat(const spmm_levels_t *l)
{
    return &l->flat;
}

double spmmi_levels_cost(const spmm_levels_t *l, size_t row_bytes)
{
    const spmm_device_t *device = l->shared->device;
    const double         launch = device->kind == SPMM_DEVICE_CPU ? 0.0 : 3e-6;
    double               cost   = 0.0;

    if (spmmi_levels_is_alone(l)) {
        return 0.0;
    }
    for (int part = 0; part < SPMM_LEVELS_PARTS; part++) {
        if (spmmi_levels_part(l, part)->n_send_peers + spmmi_levels_part(l, part)->n_recv_peers >
            0) {
            cost += l->transport->cost(spmmi_levels_part(l, part), row_bytes, device);
        }
    }
    return cost + 4.0 * launch +
           2.0 * (double)(l->lists.room[SPMM_ROOM_PARTS] + l->n_halo) * (double)row_bytes /
               device->mem_bw;
}

void spmmi_levels_flow(const spmm_levels_t *l, spmm_halo_flow_t flow[SPMM_WAYS])
{
    for (int part = 0; part < SPMM_LEVELS_PARTS; part++) {
        spmmi_halo_flow(spmmi_levels_part(l, part), l->shared->env, flow);
    }
}

void spmmi_levels_trace(const spmm_levels_t *l, int64_t *rows)
{
    const bool forward = l->direction == SPMM_HALO_FORWARD;

    for (int part = 0; part < SPMM_LEVELS_PARTS; part++) {
        const spmm_halo_t *h    = spmmi_levels_part(l, part);
        const int          n    = forward ? h->n_recv_peers : h->n_send_peers;
        const int         *peer = forward ? h->recv_peer : h->send_peer;
        const int64_t     *ptr  = forward ? h->recv_ptr : h->send_ptr;

        for (int p = 0; p < n; p++) {
            rows[peer[p]] += ptr[p + 1] - ptr[p];
        }
    }
}

void spmmi_levels_bytes(const spmm_levels_t *l, size_t *host, size_t *device)
{
    const spmm_levels_lists_t *s     = &l->lists;
    const size_t               rows  = (size_t)s->room[SPMM_ROOM_PARTS];
    const size_t               lists = (size_t)(spmmi_room_rows(s, SPMM_ROOM_TO_CROSS) +
                                  spmmi_room_rows(s, SPMM_ROOM_TO_DEAL) + l->n_halo);

    *host   = sizeof *l + lists * sizeof *s->to_halo + spmmi_halo_bytes(&l->flat);
    *device = rows * l->row_bytes +
              sizeof *s->to_halo *
                  (l->direction == SPMM_HALO_FORWARD
                       ? lists
                       : (size_t)(l->dealt.count + l->own.count + l->crossed.count + l->self.count +
                                  l->direct.count + l->collected.count + 2 * l->sums.n_rows));
    for (int part = 0; part < SPMM_LEVELS_PARTS; part++) {
        size_t more_host, more_device;

        l->transport->bytes(l->state[part], &more_host, &more_device);
        *host += more_host;
        *device += more_device;
    }
}
