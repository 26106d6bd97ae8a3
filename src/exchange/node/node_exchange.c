/* SPDX-License-Identifier: Apache-2.0 */
#include "exchange/node/node_exchange.h"

#include <stdio.h>

#include "base/alloc.h"
#include "base/nodes.h"
#include "spmm_dist/context.h"

/** The three exchanges. */
enum { SPMM_COLLECT, SPMM_CROSS, SPMM_DEAL, SPMM_NODE_PARTS };

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
    void                       *state[SPMM_NODE_PARTS];
    void                       *room; /**< device [lists.room rows x row_bytes], owned */

    /* Forward: TO_CROSS, TO_DEAL, ghost rows.  Back: DEALT and OWN of the ghost rows, the first
     * addend of each CROSSED, send rows of SELF, DIRECT, and COLLECTED of the room. */
    spmm_node_exchange_list_t to_cross, to_deal, to_halo, dealt, own, crossed, self, direct,
        collected;
    spmm_node_exchange_sums_t sums;
    bool                      failed; /**< a part failed: no exchange may follow */
};

static const spmm_halo_t *node_part(const spmm_node_exchange_t *e, int part)
{
    return part == SPMM_COLLECT ? &e->lists.collect
           : part == SPMM_CROSS ? &e->lists.cross
                                : &e->lists.deal;
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

void spmmi_node_exchange_destroy(spmm_node_exchange_t *e)
{
    const spmm_device_t *device;

    if (e == NULL) {
        return;
    }
    device = e->shared->device;
    for (int part = 0; part < SPMM_NODE_PARTS; part++) {
        if (e->state[part] != NULL) {
            e->transport->destroy(e->state[part]);
        }
    }
    if (!e->shared->env->unfinished) { /* MPI may come back to it */
        device->ops->release(device, e->room);
    }
    drop(device, &e->to_cross);
    drop(device, &e->to_deal);
    drop(device, &e->to_halo);
    drop(device, &e->dealt);
    drop(device, &e->own);
    drop(device, &e->crossed);
    drop(device, &e->self);
    drop(device, &e->direct);
    drop(device, &e->collected);
    device->ops->release(device, e->sums.row);
    device->ops->release(device, e->sums.ptr);
    device->ops->release(device, e->sums.pos);
    spmmi_node_exchange_lists_free(&e->lists);
    spmmi_halo_free(&e->flat);
    spmmi_free(e);
}

spmm_status_t spmmi_node_exchange_create(spmm_transport_shared_t         *shared,
                                         const spmm_transport_ops_t      *transport,
                                         const spmm_node_exchange_need_t *need,
                                         spmm_node_exchange_t           **made)
{
    spmm_env_t           *env    = shared->env;
    spmm_status_t         status = SPMM_OK;
    spmm_node_exchange_t *e;

    if (SPMM_NEW_ZERO(e, 1) == NULL) {
        status = spmmi_fail_memory(&env->err, 1, sizeof *e, "a node-aware exchange");
    }
    status = spmmi_agree(env, status);
    if (status != SPMM_OK) {
        spmmi_free(e);
        return status;
    }
    *e     = (spmm_node_exchange_t){.shared    = shared,
                                    .transport = transport,
                                    .direction = need->direction,
                                    .type      = need->type,
                                    .row_bytes = need->row_bytes,
                                    .n_halo    = spmmi_halo_recv_rows(need->flat)};
    status = spmmi_node_exchange_lists_create(env, need->flat, need->offset, need->need, &e->lists);
    if (status != SPMM_OK) {
        spmmi_node_exchange_destroy(e);
        return status;
    }
    *made = e;
    return SPMM_OK;
}

static spmm_status_t upload_list(const spmm_node_exchange_t *e, const int32_t *host, int64_t count,
                                 spmm_node_exchange_list_t *list)
{
    list->count = count;
    return count == 0 ? SPMM_OK
                      : spmmi_device_upload_list(e->shared->device, host, count, &list->row);
}

static spmm_status_t upload_forward(spmm_node_exchange_t *e)
{
    const spmm_node_exchange_lists_t *s = &e->lists;

    SPMM_TRY(upload_list(e, s->to_cross, spmmi_room_rows(s, SPMM_ROOM_TO_CROSS), &e->to_cross));
    SPMM_TRY(upload_list(e, s->to_deal, spmmi_room_rows(s, SPMM_ROOM_TO_DEAL), &e->to_deal));
    return upload_list(e, s->to_halo, e->n_halo, &e->to_halo);
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
static spmm_status_t upload_inverse(const spmm_node_exchange_t *e, const int32_t *from,
                                    int64_t count, int64_t base, spmm_room_part_t part,
                                    int32_t *place, spmm_node_exchange_list_t *list)
{
    invert(&e->lists, from, count, base, part, place);
    return upload_list(e, place, spmmi_room_rows(&e->lists, part), list);
}

/* The addends of each row that goes back across: places in TO_DEAL, by rank, and then in OWN, whose
 * ghost rows go to @p own.  The first is copied, the others are added.  @p scratch [4 * crossed
 * rows + addends + 2] */
static spmm_status_t upload_sums(spmm_node_exchange_t *e, int32_t *own, int32_t *scratch)
{
    const spmm_device_t              *device  = e->shared->device;
    const spmm_node_exchange_lists_t *s       = &e->lists;
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
    for (int64_t k = 0; k < n_deal + e->n_halo; k++) { /* count */
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
    for (int64_t k = 0; k < n_deal + e->n_halo; k++) {
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
    e->sums.n_rows = n_rows;
    SPMM_TRY(upload_list(e, own, n_own, &e->own));
    SPMM_TRY(upload_list(e, first, n, &e->crossed));
    if (n_rows == 0) {
        return SPMM_OK;
    }
    SPMM_TRY(spmmi_device_upload_list(device, row, n_rows, &e->sums.row));
    SPMM_TRY(spmmi_device_upload_list(device, ptr, n_rows + 1, &e->sums.ptr));
    return spmmi_device_upload_list(device, pos, n_pos, &e->sums.pos);
}

static spmm_status_t upload_back(spmm_node_exchange_t *e)
{
    const spmm_node_exchange_lists_t *s       = &e->lists;
    const int64_t                     n_cross = spmmi_room_rows(s, SPMM_ROOM_TO_CROSS);
    const int64_t                     n_deal  = spmmi_room_rows(s, SPMM_ROOM_TO_DEAL);
    const int64_t cross = s->room[SPMM_ROOM_TO_CROSS], deal = s->room[SPMM_ROOM_TO_DEAL];
    int32_t      *own = NULL, *scratch = NULL;
    spmm_status_t status = SPMM_OK;

    SPMM_NEW(own, e->n_halo);
    SPMM_NEW(scratch, 6 * s->room[SPMM_ROOM_PARTS] + 2);
    if (own == NULL || scratch == NULL) {
        status = spmmi_fail_memory(&e->shared->env->err, 6 * s->room[SPMM_ROOM_PARTS] + 2,
                                   sizeof *scratch, "a node-aware exchange");
    }
    if (status == SPMM_OK) {
        status = upload_inverse(e, s->to_halo, e->n_halo, 0, SPMM_ROOM_DEALT, scratch, &e->dealt);
    }
    if (status == SPMM_OK) {
        status = upload_inverse(e, s->to_cross, n_cross, cross, SPMM_ROOM_SELF, scratch, &e->self);
    }
    if (status == SPMM_OK) {
        status = upload_inverse(e, s->to_cross, n_cross, cross, SPMM_ROOM_COLLECTED, scratch,
                                &e->collected);
    }
    if (status == SPMM_OK) {
        status = upload_inverse(e, s->to_deal, n_deal, deal, SPMM_ROOM_DIRECT, scratch, &e->direct);
    }
    if (status == SPMM_OK) {
        status = upload_sums(e, own, scratch);
    }
    spmmi_free_all(own, scratch);
    return status;
}

static spmm_status_t make_room(spmm_node_exchange_t *e)
{
    const spmm_device_t *device = e->shared->device;
    const int64_t        rows   = e->lists.room[SPMM_ROOM_PARTS];
    size_t               bytes;

    if (!spmmi_size_mul((size_t)rows, e->row_bytes, &bytes)) {
        return spmmi_fail_memory(&device->env->err, rows, e->row_bytes, "rows on their way");
    }
    SPMM_TRY(device->ops->alloc(device, bytes, &e->room));
    return e->direction == SPMM_HALO_FORWARD ? upload_forward(e) : upload_back(e);
}

spmm_status_t spmmi_node_exchange_open(spmm_node_exchange_t *e)
{
    spmm_env_t *env = e->shared->env;

    SPMM_TRY(spmmi_agree(env, make_room(e)));
    for (int part = 0; part < SPMM_NODE_PARTS; part++) {
        SPMM_TRY(spmmi_agree(env, e->transport->create(e->shared, node_part(e, part), e->row_bytes,
                                                       &e->state[part])));
    }
    return SPMM_OK;
}

bool spmmi_node_exchange_is_alone(const spmm_node_exchange_t *e)
{
    int peers = 0;

    for (int part = 0; part < SPMM_NODE_PARTS; part++) {
        peers += node_part(e, part)->n_send_peers + node_part(e, part)->n_recv_peers;
    }
    return peers == 0;
}

spmm_status_t spmmi_node_exchange_take_send_rows(spmm_node_exchange_t *e, spmm_halo_t *halo)
{
    int     *peer = NULL;
    int64_t *ptr  = NULL;

    SPMM_NEW(peer, 1);
    SPMM_NEW(ptr, 2);
    if (peer == NULL || ptr == NULL) {
        spmmi_free_all(peer, ptr);
        return spmmi_fail_memory(&e->shared->env->err, 2, sizeof *ptr, "send rows");
    }
    e->flat.n_send_peers = halo->n_send_peers;
    e->flat.send_peer    = halo->send_peer;
    e->flat.send_ptr     = halo->send_ptr;
    e->flat.send_row     = halo->send_row;

    peer[0]            = e->shared->env->rank;
    ptr[0]             = 0;
    ptr[1]             = e->lists.n_packed;
    halo->n_send_peers = 1;
    halo->send_peer    = peer;
    halo->send_ptr     = ptr;
    halo->send_row     = e->lists.packed;
    e->lists.packed    = NULL;
    return SPMM_OK;
}

const spmm_halo_t *spmmi_node_exchange_flat(const spmm_node_exchange_t *e)
{
    return &e->flat;
}

double spmmi_node_exchange_cost(const spmm_node_exchange_t *e, size_t row_bytes)
{
    const spmm_device_t *device = e->shared->device;
    const double         launch = device->kind == SPMM_DEVICE_CPU ? 0.0 : 3e-6;
    double               cost   = 0.0;

    if (spmmi_node_exchange_is_alone(e)) {
        return 0.0;
    }
    for (int part = 0; part < SPMM_NODE_PARTS; part++) {
        if (node_part(e, part)->n_send_peers + node_part(e, part)->n_recv_peers > 0) {
            cost += e->transport->cost(node_part(e, part), row_bytes, device);
        }
    }
    return cost + 4.0 * launch +
           2.0 * (double)(e->lists.room[SPMM_ROOM_PARTS] + e->n_halo) * (double)row_bytes /
               device->mem_bw;
}

void spmmi_node_exchange_flow(const spmm_node_exchange_t *e, spmm_halo_flow_t flow[SPMM_WAYS])
{
    for (int part = 0; part < SPMM_NODE_PARTS; part++) {
        spmmi_halo_flow(node_part(e, part), e->shared->env, flow);
    }
}

void spmmi_node_exchange_trace(const spmm_node_exchange_t *e, int64_t *rows)
{
    const bool forward = e->direction == SPMM_HALO_FORWARD;

    for (int part = 0; part < SPMM_NODE_PARTS; part++) {
        const spmm_halo_t *h    = node_part(e, part);
        const int          n    = forward ? h->n_recv_peers : h->n_send_peers;
        const int         *peer = forward ? h->recv_peer : h->send_peer;
        const int64_t     *ptr  = forward ? h->recv_ptr : h->send_ptr;

        for (int p = 0; p < n; p++) {
            rows[peer[p]] += ptr[p + 1] - ptr[p];
        }
    }
}

void spmmi_node_exchange_bytes(const spmm_node_exchange_t *e, size_t *host, size_t *device)
{
    const spmm_node_exchange_lists_t *s     = &e->lists;
    const size_t                      rows  = (size_t)s->room[SPMM_ROOM_PARTS];
    const size_t                      lists = (size_t)(spmmi_room_rows(s, SPMM_ROOM_TO_CROSS) +
                                  spmmi_room_rows(s, SPMM_ROOM_TO_DEAL) + e->n_halo);

    *host   = sizeof *e + lists * sizeof *s->to_halo + spmmi_halo_bytes(&e->flat);
    *device = rows * e->row_bytes +
              sizeof *s->to_halo *
                  (e->direction == SPMM_HALO_FORWARD
                       ? lists
                       : (size_t)(e->dealt.count + e->own.count + e->crossed.count + e->self.count +
                                  e->direct.count + e->collected.count + 2 * e->sums.n_rows));
    for (int part = 0; part < SPMM_NODE_PARTS; part++) {
        size_t more_host, more_device;

        e->transport->bytes(e->state[part], &more_host, &more_device);
        *host += more_host;
        *device += more_device;
    }
}

/* In the order of one stream:
 *
 *     forward  begin  packed rows -> collect -> copy -> cross begins
 *              end    cross ends -> copy -> deal -> ghost rows
 *     back     begin  ghost rows -> deal backwards -> sums for a row, by rank -> cross begins
 *              end    cross ends -> copy -> collect backwards -> send rows */

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
    const spmm_node_exchange_t *e = c->node;
    const size_t bytes            = (size_t)e->lists.room[SPMM_ROOM_COLLECTED] * c->what->row_bytes;

    if (bytes > 0) {
        SPMM_TRY(e->shared->device->ops->copy(e->shared->device, e->room, send_rows_behind(c),
                                              bytes, c->stream));
    }
    SPMM_TRY(run_part(c, SPMM_COLLECT));
    SPMM_TRY(gather(c, e->room, &e->to_cross, place(c, SPMM_ROOM_TO_CROSS)));
    return begin_part(c, SPMM_CROSS);
}

static spmm_status_t end_forward(const call_t *c)
{
    const spmm_node_exchange_t *e = c->node;

    SPMM_TRY(end_part(c, SPMM_CROSS));
    SPMM_TRY(gather(c, e->room, &e->to_deal, place(c, SPMM_ROOM_TO_DEAL)));
    SPMM_TRY(run_part(c, SPMM_DEAL));
    return gather(c, e->room, &e->to_halo, c->what->halo);
}

static spmm_status_t add(const call_t *c)
{
    const spmm_node_exchange_t   *e      = c->node;
    const spmm_device_t          *device = e->shared->device;
    const int64_t                 n      = (int64_t)(c->what->row_bytes / spmm_type_size(e->type));
    const spmm_scatter_add_args_t args   = {.src        = e->room,
                                            .src_type   = e->type,
                                            .row        = e->sums.row,
                                            .ptr        = e->sums.ptr,
                                            .pos        = e->sums.pos,
                                            .n_rows     = e->sums.n_rows,
                                            .n          = n,
                                            .alpha      = {.re = 1.0},
                                            .dst        = e->room,
                                            .dst_type   = e->type,
                                            .ld_dst     = n,
                                            .dst_layout = SPMM_LAYOUT_ROW};

    return args.n_rows == 0 ? SPMM_OK : device->ops->scatter_add_rows(device, &args, c->stream);
}

static spmm_status_t begin_back(const call_t *c)
{
    const spmm_node_exchange_t *e = c->node;

    SPMM_TRY(gather(c, c->what->halo, &e->dealt, place(c, SPMM_ROOM_DEALT)));
    SPMM_TRY(gather(c, c->what->halo, &e->own, place(c, SPMM_ROOM_OWN)));
    SPMM_TRY(run_part(c, SPMM_DEAL));
    SPMM_TRY(gather(c, e->room, &e->crossed, place(c, SPMM_ROOM_CROSSED)));
    SPMM_TRY(add(c));
    return begin_part(c, SPMM_CROSS);
}

static spmm_status_t end_back(const call_t *c)
{
    const spmm_node_exchange_t *e  = c->node;
    char                       *to = send_rows_behind(c);

    SPMM_TRY(end_part(c, SPMM_CROSS));
    SPMM_TRY(gather(c, e->room, &e->collected, place(c, SPMM_ROOM_COLLECTED)));
    SPMM_TRY(run_part(c, SPMM_COLLECT));
    SPMM_TRY(gather(c, e->room, &e->self, to));
    return gather(c, e->room, &e->direct, to + (size_t)e->self.count * c->what->row_bytes);
}

/* Those who wait for rows of this rank in the parts from @p part on get a step that none has. */
static void tell_failure(const call_t *c, int from, int step)
{
    const spmm_node_exchange_t *e = c->node;

    for (int part = from; part >= 0 && part < SPMM_NODE_PARTS && e->transport->sees_steps;
         part += step) {
        spmm_exchange_t x = part_of(c, part);

        x.row_bytes = 1;
        x.step      = SPMM_STEP_LOST;
        (void)e->transport->begin(e->state[part], &x, c->stream);
    }
}

static spmm_status_t check(spmm_node_exchange_t *e)
{
    return e->failed ? spmmi_fail(&e->shared->env->err, SPMM_ERR_COMM,
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

spmm_status_t spmmi_node_exchange_begin(spmm_node_exchange_t *e, const spmm_exchange_t *exchange,
                                        spmm_stream_t stream)
{
    const call_t c = {.node = e, .what = exchange, .stream = stream};

    SPMM_TRY(check(e));
    return finish(&c, e->direction == SPMM_HALO_FORWARD ? begin_forward(&c) : begin_back(&c),
                  SPMM_CROSS);
}

spmm_status_t spmmi_node_exchange_end(spmm_node_exchange_t *e, const spmm_exchange_t *exchange,
                                      spmm_stream_t stream)
{
    const call_t c = {.node = e, .what = exchange, .stream = stream};

    return e->direction == SPMM_HALO_FORWARD ? finish(&c, end_forward(&c), SPMM_DEAL)
                                             : finish(&c, end_back(&c), SPMM_COLLECT);
}
