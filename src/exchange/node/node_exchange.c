/* SPDX-License-Identifier: Apache-2.0 */
#include "exchange/node/node_exchange.h"

#include <stdio.h>

#include "base/alloc.h"
#include "base/nodes.h"
#include "spmm_dist/context.h"

/** The three exchanges. */
enum { SPMM_COLLECT, SPMM_CROSS, SPMM_DEAL, SPMM_LEVELS_PARTS };

/** Copies between parts of the room: lists of places, on the device. */
typedef struct {
    int32_t *row; /**< owned; NULL: none */
    int64_t  count;
} spmm_node_exchange_list_t;

/** Sums of op T: row[u] of the room gets the rows pos[ptr[u]] .. pos[ptr[u + 1] - 1]. */
typedef struct {
    int32_t *row, *ptr, *pos; /**< device, owned */
    int64_t  n_rows;
} spmm_node_exchange_sums_t;

struct spmm_node_exchange {
    spmm_transport_shared_t    *shared;    /**< borrowed */
    const spmm_transport_ops_t *transport; /**< borrowed */
    spmm_direction_t            direction;
    spmm_type_t                 type;
    size_t                      row_bytes;
    int64_t                     n_halo;
    spmm_node_exchange_lists_t  lists;
    spmm_halo_t                 flat; /**< sent rows of the halo plan, taken by take_send_rows() */
    void                       *state[SPMM_LEVELS_PARTS];
    void                       *room; /**< device [lists.room rows x row_bytes], owned */

    /* Forward: TO_CROSS, TO_DEAL, ghost rows.  Back: DEALT and OWN of the ghost rows, the first
     * addend of each CROSSED, send rows of SELF, DIRECT, and COLLECTED of the room. */
    spmm_node_exchange_list_t to_cross, to_deal, to_halo, dealt, own, crossed, self, direct,
        collected;
    spmm_node_exchange_sums_t sums;
    bool                      failed; /**< a part failed: no exchange may follow */
};

static const spmm_halo_t *node_part(const spmm_node_exchange_t *l, int part)
{
    return part == SPMM_COLLECT ? &l->lists.collect
           : part == SPMM_CROSS ? &l->lists.cross
                                : &l->lists.deal;
}

bool spmmi_node_exchange_supports(const spmm_env_t *env, const spmm_transport_ops_t *transport,
                                  char why[SPMM_WHY])
{
    why[0] = '\0';
    if (!spmmi_nodes_are_grouped(&env->nodes)) {
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

static void drop(const spmm_device_t *device, spmm_node_exchange_list_t *list)
{
    device->ops->release(device, list->row);
    *list = (spmm_node_exchange_list_t){.row = NULL};
}

void spmmi_node_exchange_destroy(spmm_node_exchange_t *l)
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
    spmmi_node_exchange_lists_free(&l->lists);
    spmmi_halo_free(&l->flat);
    spmmi_free(l);
}

spmm_status_t spmmi_node_exchange_create(spmm_transport_shared_t         *shared,
                                         const spmm_transport_ops_t      *transport,
                                         const spmm_node_exchange_need_t *need,
                                         spmm_node_exchange_t           **e)
{
    spmm_env_t           *env    = shared->env;
    spmm_status_t         status = SPMM_OK;
    spmm_node_exchange_t *l;

    if (SPMM_NEW_ZERO(l, 1) == NULL) {
        status = spmmi_fail_memory(&env->err, 1, sizeof *l, "an exchange in a node-aware exchange");
    }
    status = spmmi_agree(env, status);
    if (status != SPMM_OK) {
        spmmi_free(l);
        return status;
    }
    *l     = (spmm_node_exchange_t){.shared    = shared,
                                    .transport = transport,
                                    .direction = need->direction,
                                    .type      = need->type,
                                    .row_bytes = need->row_bytes,
                                    .n_halo    = spmmi_halo_recv_rows(need->flat)};
    status = spmmi_node_exchange_lists_create(env, need->flat, need->offset, need->need, &l->lists);
    if (status != SPMM_OK) {
        spmmi_node_exchange_destroy(l);
        return status;
    }
    *e = l;
    return SPMM_OK;
}

static spmm_status_t upload(const spmm_node_exchange_t *l, const int32_t *host, int64_t count,
                            int32_t **row)
{
    void *device = NULL;

    SPMM_TRY(spmmi_device_upload(l->shared->device, host, (size_t)count * sizeof *host, &device));
    *row = device;
    return SPMM_OK;
}

static spmm_status_t upload_list(const spmm_node_exchange_t *l, const int32_t *host, int64_t count,
                                 spmm_node_exchange_list_t *list)
{
    list->count = count;
    return count == 0 ? SPMM_OK : upload(l, host, count, &list->row);
}

static spmm_status_t upload_forward(spmm_node_exchange_t *l)
{
    const spmm_node_exchange_lists_t *s = &l->lists;

    SPMM_TRY(upload_list(l, s->to_cross, spmmi_room_rows(s, SPMM_ROOM_TO_CROSS), &l->to_cross));
    SPMM_TRY(upload_list(l, s->to_deal, spmmi_room_rows(s, SPMM_ROOM_TO_DEAL), &l->to_deal));
    return upload_list(l, s->to_halo, l->n_halo, &l->to_halo);
}

/* The way back of a list: place[from[k] - first of part] = base + k, for those of the part. */
static void invert(const spmm_node_exchange_lists_t *s, const int32_t *from, int64_t count,
                   int64_t base, spmm_room_part_t part, int32_t *place)
{
    for (int64_t k = 0; k < count; k++) {
        if (from[k] >= s->room[part] && from[k] < s->room[part + 1]) {
            place[from[k] - s->room[part]] = (int32_t)(base + k);
        }
    }
}

/* Invert and upload.  @p place is scratch */
static spmm_status_t turn(const spmm_node_exchange_t *l, const int32_t *from, int64_t count,
                          int64_t base, spmm_room_part_t part, int32_t *place,
                          spmm_node_exchange_list_t *list)
{
    invert(&l->lists, from, count, base, part, place);
    return upload_list(l, place, spmmi_room_rows(&l->lists, part), list);
}

/* The addends of each row that goes back across: places in TO_DEAL, by rank, and then in OWN, whose
 * ghost rows go to @p own.  The first is copied, the others are added.  @p scratch [4 * crossed
 * rows + addends + 2] */
static spmm_status_t upload_sums(spmm_node_exchange_t *l, int32_t *own, int32_t *scratch)
{
    const spmm_node_exchange_lists_t *s       = &l->lists;
    const int64_t                     n       = spmmi_room_rows(s, SPMM_ROOM_CROSSED);
    const int64_t                     n_deal  = spmmi_room_rows(s, SPMM_ROOM_TO_DEAL);
    const int64_t                     crossed = s->room[SPMM_ROOM_CROSSED];
    int32_t *first = scratch, *more = first + n, *row = more + n, *ptr = row + n;
    int32_t *pos   = ptr + n + 1;
    int64_t  n_own = 0, n_rows = 0, n_pos = 0;

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

static spmm_status_t upload_back(spmm_node_exchange_t *l)
{
    const spmm_node_exchange_lists_t *s       = &l->lists;
    const int64_t                     n_cross = spmmi_room_rows(s, SPMM_ROOM_TO_CROSS);
    const int64_t                     n_deal  = spmmi_room_rows(s, SPMM_ROOM_TO_DEAL);
    const int64_t cross = s->room[SPMM_ROOM_TO_CROSS], deal = s->room[SPMM_ROOM_TO_DEAL];
    int32_t      *own = NULL, *scratch = NULL;
    spmm_status_t status = SPMM_OK;

    SPMM_NEW(own, l->n_halo);
    SPMM_NEW(scratch, 6 * s->room[SPMM_ROOM_PARTS] + 2);
    if (own == NULL || scratch == NULL) {
        status = spmmi_fail_memory(&l->shared->env->err, 6 * s->room[SPMM_ROOM_PARTS] + 2,
                                   sizeof *scratch, "an exchange in a node-aware exchange");
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

static spmm_status_t make_room(spmm_node_exchange_t *l)
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

spmm_status_t spmmi_node_exchange_open(spmm_node_exchange_t *l)
{
    spmm_env_t *env = l->shared->env;

    SPMM_TRY(spmmi_agree(env, make_room(l)));
    for (int part = 0; part < SPMM_LEVELS_PARTS; part++) {
        SPMM_TRY(spmmi_agree(env, l->transport->create(l->shared, node_part(l, part), l->row_bytes,
                                                       &l->state[part])));
    }
    return SPMM_OK;
}

bool spmmi_node_exchange_is_alone(const spmm_node_exchange_t *l)
{
    int peers = 0;

    for (int part = 0; part < SPMM_LEVELS_PARTS; part++) {
        peers += node_part(l, part)->n_send_peers + node_part(l, part)->n_recv_peers;
    }
    return peers == 0;
}

spmm_status_t spmmi_node_exchange_take_send_rows(spmm_node_exchange_t *l, spmm_halo_t *halo)
{
    int     *peer = NULL;
    int64_t *ptr  = NULL;

    SPMM_NEW(peer, 1);
    SPMM_NEW(ptr, 2);
    if (peer == NULL || ptr == NULL) {
        spmmi_free_all(peer, ptr);
        return spmmi_fail_memory(&l->shared->env->err, 2, sizeof *ptr, "send rows");
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

const spmm_halo_t *spmmi_node_exchange_flat(const spmm_node_exchange_t *l)
{
    return &l->flat;
}

double spmmi_node_exchange_cost(const spmm_node_exchange_t *l, size_t row_bytes)
{
    const spmm_device_t *device = l->shared->device;
    const double         launch = device->kind == SPMM_DEVICE_CPU ? 0.0 : 3e-6;
    double               cost   = 0.0;

    if (spmmi_node_exchange_is_alone(l)) {
        return 0.0;
    }
    for (int part = 0; part < SPMM_LEVELS_PARTS; part++) {
        if (node_part(l, part)->n_send_peers + node_part(l, part)->n_recv_peers > 0) {
            cost += l->transport->cost(node_part(l, part), row_bytes, device);
        }
    }
    return cost + 4.0 * launch +
           2.0 * (double)(l->lists.room[SPMM_ROOM_PARTS] + l->n_halo) * (double)row_bytes /
               device->mem_bw;
}

void spmmi_node_exchange_flow(const spmm_node_exchange_t *l, spmm_halo_flow_t flow[SPMM_WAYS])
{
    for (int part = 0; part < SPMM_LEVELS_PARTS; part++) {
        spmmi_halo_flow(node_part(l, part), l->shared->env, flow);
    }
}

void spmmi_node_exchange_trace(const spmm_node_exchange_t *l, int64_t *rows)
{
    const bool forward = l->direction == SPMM_HALO_FORWARD;

    for (int part = 0; part < SPMM_LEVELS_PARTS; part++) {
        const spmm_halo_t *h    = node_part(l, part);
        const int          n    = forward ? h->n_recv_peers : h->n_send_peers;
        const int         *peer = forward ? h->recv_peer : h->send_peer;
        const int64_t     *ptr  = forward ? h->recv_ptr : h->send_ptr;

        for (int p = 0; p < n; p++) {
            rows[peer[p]] += ptr[p + 1] - ptr[p];
        }
    }
}

void spmmi_node_exchange_bytes(const spmm_node_exchange_t *l, size_t *host, size_t *device)
{
    const spmm_node_exchange_lists_t *s     = &l->lists;
    const size_t                      rows  = (size_t)s->room[SPMM_ROOM_PARTS];
    const size_t                      lists = (size_t)(spmmi_room_rows(s, SPMM_ROOM_TO_CROSS) +
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

/* In the order of one stream, forward and back:
 *
 * begin   packed rows -> collect -> copy -> cross begins
 * ghost rows -> deal backwards -> sums for a row, in the order of ranks -> cross begins
 * end     cross ends -> copy -> deal -> ghost rows
 * cross ends -> copy -> collect backwards -> send rows */

/** One exchange. */
typedef struct {
    spmm_node_exchange_t  *node;
    const spmm_exchange_t *what;
    spmm_stream_t          stream;
} call_t;

static char *place(const call_t *c, spmm_room_part_t part)
{
    return (char *)c->node->room + (size_t)c->node->lists.room[part] * c->what->row_bytes;
}

static spmm_exchange_t part_of(const call_t *c, int part)
{
    spmm_exchange_t x = {
        .direction = c->what->direction, .row_bytes = c->what->row_bytes, .step = c->what->step};

    x.send_rows = part == SPMM_COLLECT ? c->what->send_rows
                  : part == SPMM_CROSS ? (void *)place(c, SPMM_ROOM_TO_CROSS)
                                       : (void *)place(c, SPMM_ROOM_TO_DEAL);
    x.halo      = place(c, part == SPMM_COLLECT ? SPMM_ROOM_COLLECTED
                           : part == SPMM_CROSS ? SPMM_ROOM_CROSSED
                                                : SPMM_ROOM_DEALT);
    return x;
}

static spmm_status_t begin_part(const call_t *c, int part)
{
    const spmm_exchange_t x = part_of(c, part);

    return c->node->transport->begin(c->node->state[part], &x, c->stream);
}

static spmm_status_t end_part(const call_t *c, int part)
{
    const spmm_exchange_t x = part_of(c, part);

    return c->node->transport->end(c->node->state[part], &x, c->stream);
}

static spmm_status_t run_part(const call_t *c, int part)
{
    SPMM_TRY(begin_part(c, part));
    return end_part(c, part);
}

/* Rows @p list of @p from, one after the other, to @p to. */
static spmm_status_t gather(const call_t *c, const void *from,
                            const spmm_node_exchange_list_t *list, void *to)
{
    const spmm_device_t     *device = c->node->shared->device;
    const size_t             elem   = spmm_type_size(c->node->type);
    const int64_t            n      = (int64_t)(c->what->row_bytes / elem);
    const spmm_gather_args_t args   = {.src        = from,
                                       .ld_src     = n,
                                       .src_layout = SPMM_LAYOUT_ROW,
                                       .row        = list->row,
                                       .n_rows     = list->count,
                                       .n          = n,
                                       .elem_size  = elem,
                                       .dst        = to};

    return list->count == 0 ? SPMM_OK : device->ops->gather_rows(device, &args, c->stream);
}

/* The rows behind those to collect: SELF and DIRECT, in one piece there as here. */
static char *send_rows_behind(const call_t *c)
{
    return (char *)c->what->send_rows +
           (size_t)spmmi_halo_send_rows(&c->node->lists.collect) * c->what->row_bytes;
}

static spmm_status_t begin_forward(const call_t *c)
{
    const spmm_node_exchange_t *l = c->node;
    const size_t bytes            = (size_t)l->lists.room[SPMM_ROOM_COLLECTED] * c->what->row_bytes;

    if (bytes > 0) {
        SPMM_TRY(l->shared->device->ops->copy(l->shared->device, l->room, send_rows_behind(c),
                                              bytes, c->stream));
    }
    SPMM_TRY(run_part(c, SPMM_COLLECT));
    SPMM_TRY(gather(c, l->room, &l->to_cross, place(c, SPMM_ROOM_TO_CROSS)));
    return begin_part(c, SPMM_CROSS);
}

static spmm_status_t end_forward(const call_t *c)
{
    const spmm_node_exchange_t *l = c->node;

    SPMM_TRY(end_part(c, SPMM_CROSS));
    SPMM_TRY(gather(c, l->room, &l->to_deal, place(c, SPMM_ROOM_TO_DEAL)));
    SPMM_TRY(run_part(c, SPMM_DEAL));
    return gather(c, l->room, &l->to_halo, c->what->halo);
}

static spmm_status_t add(const call_t *c)
{
    const spmm_node_exchange_t   *l      = c->node;
    const spmm_device_t          *device = l->shared->device;
    const int64_t                 n      = (int64_t)(c->what->row_bytes / spmm_type_size(l->type));
    const spmm_scatter_add_args_t args   = {.src        = l->room,
                                            .src_type   = l->type,
                                            .row        = l->sums.row,
                                            .ptr        = l->sums.ptr,
                                            .pos        = l->sums.pos,
                                            .n_rows     = l->sums.n_rows,
                                            .n          = n,
                                            .alpha      = {.re = 1.0},
                                            .dst        = l->room,
                                            .dst_type   = l->type,
                                            .ld_dst     = n,
                                            .dst_layout = SPMM_LAYOUT_ROW};

    return args.n_rows == 0 ? SPMM_OK : device->ops->scatter_add_rows(device, &args, c->stream);
}

static spmm_status_t begin_back(const call_t *c)
{
    const spmm_node_exchange_t *l = c->node;

    SPMM_TRY(gather(c, c->what->halo, &l->dealt, place(c, SPMM_ROOM_DEALT)));
    SPMM_TRY(gather(c, c->what->halo, &l->own, place(c, SPMM_ROOM_OWN)));
    SPMM_TRY(run_part(c, SPMM_DEAL));
    SPMM_TRY(gather(c, l->room, &l->crossed, place(c, SPMM_ROOM_CROSSED)));
    SPMM_TRY(add(c));
    return begin_part(c, SPMM_CROSS);
}

static spmm_status_t end_back(const call_t *c)
{
    const spmm_node_exchange_t *l  = c->node;
    char                       *to = send_rows_behind(c);

    SPMM_TRY(end_part(c, SPMM_CROSS));
    SPMM_TRY(gather(c, l->room, &l->collected, place(c, SPMM_ROOM_COLLECTED)));
    SPMM_TRY(run_part(c, SPMM_COLLECT));
    SPMM_TRY(gather(c, l->room, &l->self, to));
    return gather(c, l->room, &l->direct, to + (size_t)l->self.count * c->what->row_bytes);
}

/* Those who wait for rows of this rank in the parts from @p part on get a step that none has. */
static void tell_failure(const call_t *c, int from, int step)
{
    const spmm_node_exchange_t *l = c->node;

    for (int part = from; part >= 0 && part < SPMM_LEVELS_PARTS && l->transport->sees_steps;
         part += step) {
        spmm_exchange_t x = part_of(c, part);

        x.row_bytes = 1;
        x.step      = SPMM_STEP_LOST;
        (void)l->transport->begin(l->state[part], &x, c->stream);
    }
}

static spmm_status_t check(spmm_node_exchange_t *l)
{
    return l->failed ? spmmi_fail(&l->shared->env->err, SPMM_ERR_COMM,
                                  "an earlier exchange of this plan failed: destroy the plan and "
                                  "its context")
                     : SPMM_OK;
}

/* What came of begin() or end(); the parts from @p next on have not begun. */
static spmm_status_t finish(const call_t *c, spmm_status_t status, int next)
{
    if (status != SPMM_OK) {
        c->node->failed = true;
        tell_failure(c, next, c->what->direction == SPMM_HALO_FORWARD ? 1 : -1);
    }
    return status;
}

spmm_status_t spmmi_node_exchange_begin(spmm_node_exchange_t *l, const spmm_exchange_t *exchange,
                                        spmm_stream_t stream)
{
    const call_t c = {.node = l, .what = exchange, .stream = stream};

    SPMM_TRY(check(l));
    return finish(&c, l->direction == SPMM_HALO_FORWARD ? begin_forward(&c) : begin_back(&c),
                  SPMM_CROSS);
}

spmm_status_t spmmi_node_exchange_end(spmm_node_exchange_t *l, const spmm_exchange_t *exchange,
                                      spmm_stream_t stream)
{
    const call_t c = {.node = l, .what = exchange, .stream = stream};

    return l->direction == SPMM_HALO_FORWARD ? finish(&c, end_forward(&c), SPMM_DEAL)
                                             : finish(&c, end_back(&c), SPMM_COLLECT);
}
