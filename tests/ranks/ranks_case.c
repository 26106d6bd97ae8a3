/* SPDX-License-Identifier: Apache-2.0 */
/* Memory, halo plans and choices; ranks_run.c runs the exchanges. */
#include "ranks_case.h"

#include "exchange/push_share.h"

enum { SPARE = 64 }; /* bytes that rows may begin late, or be apart */

/* Row sizes of all units of the kernels, and of rows shorter and longer than a tile. */
static const size_t row_sizes[] = {2, 6, 8, 16, 24, 32, 132, 512, 1024, 4096, 6000, 12288};
enum { N_SIZES = sizeof row_sizes / sizeof row_sizes[0] };

uint64_t ranks_draw(const ranks_case_t *c, uint64_t round, int rank, int what)
{
    return spmmi_mix64(spmmi_mix64(c->seed + 1000 * round) + (uint64_t)(100 * what + rank)) >> 8;
}

static void make_halo(const ranks_graph_t *g, int r, ranks_case_t *c)
{
    spmm_halo_t *h = &c->rank[r].halo;

    h->send_peer = spmm_test_calloc(RANKS_MOST, sizeof *h->send_peer);
    h->recv_peer = spmm_test_calloc(RANKS_MOST, sizeof *h->recv_peer);
    h->send_ptr  = spmm_test_calloc(RANKS_MOST + 1, sizeof *h->send_ptr);
    h->recv_ptr  = spmm_test_calloc(RANKS_MOST + 1, sizeof *h->recv_ptr);
    for (int p = 0; p < g->n_ranks; p++) {
        if (p != r && g->rows[r][p] != RANKS_NONE) {
            h->send_peer[h->n_send_peers]    = p;
            h->send_ptr[h->n_send_peers + 1] = h->send_ptr[h->n_send_peers] + g->rows[r][p];
            h->n_send_peers++;
        }
        if (p != r && g->rows[p][r] != RANKS_NONE) {
            h->recv_peer[h->n_recv_peers]    = p;
            h->recv_ptr[h->n_recv_peers + 1] = h->recv_ptr[h->n_recv_peers] + g->rows[p][r];
            h->n_recv_peers++;
        }
    }
}

/* What find_firsts() of transport_nccl_push.c finds out: where the rows for, and from,
 * each rank begin. */
static void find_firsts(ranks_case_t *c)
{
    for (int r = 0; r < c->n_ranks; r++) {
        const spmm_halo_t *h = &c->rank[r].halo;

        for (int p = 0; p < h->n_send_peers; p++) {
            c->rank[h->send_peer[p]].first_send_row[r] = h->send_ptr[p];
        }
        for (int p = 0; p < h->n_recv_peers; p++) {
            c->rank[h->recv_peer[p]].first_halo[r] = h->recv_ptr[p];
        }
    }
}

static void list_rows(ranks_case_t *c)
{
    for (int r = 0; r < c->n_ranks; r++) {
        ranks_rank_t *rank = &c->rank[r];
        const int64_t n    = spmmi_halo_send_rows(&rank->halo);

        rank->n_own         = n / 2 + 1;
        rank->halo.send_row = spmm_test_calloc((size_t)n, sizeof(int32_t));
        for (int64_t k = 0; k < n; k++) {
            rank->halo.send_row[k] =
                (int32_t)(ranks_draw(c, (uint64_t)k, r, 0) % (uint64_t)rank->n_own);
        }
    }
}

static void *device_room(const ranks_case_t *c, size_t bytes)
{
    void *memory;

    spmm_assert_ok(c->device->ops->alloc(c->device, bytes, &memory));
    c->machine->fill(0, memory, 0, bytes);
    c->machine->wait();
    return memory;
}

static int32_t *upload_rows(const ranks_case_t *c, const int32_t *row, int64_t n)
{
    void *list;

    spmm_assert_ok(spmmi_device_upload(c->device, row, (size_t)n * sizeof *row, &list));
    return list;
}

/* A window as exchange @p number left it, all earlier ones having been in vain but for the last
 * that had the numbers which begin anew after it: their words are still there. */
static char *make_window(const ranks_case_t *c, uint32_t number)
{
    char *host = spmm_test_calloc(c->head, 1);
    char *window;

    for (int r = 0; r < c->n_ranks; r++) {
        spmm_push_slot_t *slot = (spmm_push_slot_t *)(void *)host + r;

        slot->ready[0] = slot->ready[1] = (uint64_t)number << 32;
        for (uint32_t b = 0; b < SPMM_PUSH_BLOCKS && number > UINT32_MAX / 2; b++) {
            slot->arrived[b] = (uint64_t)(1 + (b + (uint32_t)r) % 8) << 32 | 3;
        }
    }
    window = device_room(c, c->head + c->target_bytes);
    spmm_assert_ok(spmmi_device_write(c->device, window, host, c->head));
    free(host);
    return window;
}

static void fill_rank(ranks_case_t *c, int r, uint32_t number)
{
    ranks_rank_t           *rank  = &c->rank[r];
    const spmm_push_state_t push  = {.number = number};
    void                   *state = NULL, *report = NULL;

    rank->window   = make_window(c, number);
    rank->source   = device_room(c, c->source_bytes);
    rank->target   = device_room(c, c->target_bytes);
    rank->versions = device_room(c, (size_t)c->batch * c->source_bytes);
    rank->results  = device_room(c, (size_t)c->batch * c->target_bytes);
    rank->send_row = upload_rows(c, rank->halo.send_row, spmmi_halo_send_rows(&rank->halo));
    rank->failed   = device_room(c, sizeof *rank->failed);
    spmm_assert_ok(spmmi_device_upload(c->device, &push, sizeof push, &state));
    rank->state = state;
    spmm_assert_ok(c->device->ops->alloc_pinned(c->device, sizeof *rank->report, &report));
    rank->report  = report;
    *rank->report = (spmm_peer_report_t){0};
}

static void find_sizes(ranks_case_t *c)
{
    int64_t own = 0;

    c->most_rows = 1;
    for (int r = 0; r < c->n_ranks; r++) {
        const int64_t out = spmmi_halo_send_rows(&c->rank[r].halo);
        const int64_t in  = spmmi_halo_recv_rows(&c->rank[r].halo);

        own          = c->rank[r].n_own > own ? c->rank[r].n_own : own;
        c->most_rows = out > c->most_rows ? out : c->most_rows;
        c->most_rows = in > c->most_rows ? in : c->most_rows;
    }
    for (int s = 0; s < N_SIZES; s++) {
        if (s == 0 || c->most_rows * (int64_t)row_sizes[s] <= c->most_bytes) {
            c->max_row_bytes = row_sizes[s];
        }
    }
    c->target_bytes = (size_t)c->most_rows * c->max_row_bytes + SPARE;
    c->source_bytes = (size_t)own * (c->max_row_bytes + SPARE) + c->target_bytes;
    c->head         = spmmi_push_head_bytes(c->n_ranks);
}

void ranks_case_open(ranks_case_t *c, const ranks_machine_t *machine, const spmm_device_t *device,
                     const ranks_graph_t *halo, int64_t most_bytes, uint32_t number, int batch)
{
    memset(c, 0, sizeof *c);
    c->machine    = machine;
    c->device     = device;
    c->seed       = 77 + (uint64_t)halo->n_ranks;
    c->n_ranks    = halo->n_ranks;
    c->most_bytes = most_bytes;
    c->batch      = batch;
    for (int r = 0; r < c->n_ranks; r++) {
        make_halo(halo, r, c);
    }
    find_firsts(c);
    list_rows(c);
    find_sizes(c);
    for (int r = 0; r < c->n_ranks; r++) {
        fill_rank(c, r, number);
    }
}

void ranks_case_close(ranks_case_t *c)
{
    for (int r = 0; r < c->n_ranks; r++) {
        ranks_rank_t *rank     = &c->rank[r];
        void *const   device[] = {rank->window,  rank->source, rank->target, rank->versions,
                                  rank->results, rank->state,  rank->failed, rank->send_row};

        for (size_t k = 0; k < sizeof device / sizeof device[0]; k++) {
            c->device->ops->release(c->device, device[k]);
        }
        c->device->ops->release_pinned(c->device, rank->report);
        spmm_test_free(rank->halo.send_peer, rank->halo.recv_peer, rank->halo.send_ptr,
                       rank->halo.recv_ptr, rank->halo.send_row);
    }
}

/* Some rounds are like those before: ranks that only send or only receive may then run far ahead,
 * or fall behind. */
ranks_round_t ranks_round(const ranks_case_t *c, uint64_t number)
{
    const uint64_t like = ranks_draw(c, number / 8, 0, 1) % 2 == 0 ? number : number / 8;
    const bool     back = !c->ahead && ranks_draw(c, like, 0, 2) % 3 == 0;
    size_t         size[N_SIZES];
    uint64_t       n = 0;

    for (int s = 0; s < N_SIZES && row_sizes[s] <= c->max_row_bytes; s++) {
        if (!c->ahead || row_sizes[s] % SPMM_PUSH_UNIT == 0) {
            size[n++] = row_sizes[s];
        }
    }
    return (ranks_round_t){.number    = number,
                           .direction = back ? SPMM_HALO_REVERSE : SPMM_HALO_FORWARD,
                           .row_bytes = size[ranks_draw(c, like, 0, 3) % n]};
}

ranks_place_t ranks_place(const ranks_case_t *c, const ranks_round_t *round, int rank)
{
    static const size_t shift[] = {0, 0, 16, 8, 4, 2}, apart[] = {0, 0, 16, 48, 8, 2};
    const uint64_t      a = ranks_draw(c, round->number, rank, 7), b = a / 6, d = b / 6, e = d / 6;

    return (ranks_place_t){.listed       = round->direction == SPMM_HALO_FORWARD && e % 3 != 0,
                           .elsewhere    = e % 5 == 1,
                           .ld           = round->row_bytes + apart[a % 6],
                           .source_shift = shift[b % 6],
                           .target_shift = shift[d % 6]};
}

char *ranks_target(const ranks_case_t *c, const ranks_place_t *place, int rank)
{
    return (place->elsewhere ? c->rank[rank].target : c->rank[rank].window + c->head) +
           place->target_shift;
}
