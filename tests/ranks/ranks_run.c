/* SPDX-License-Identifier: Apache-2.0 */
#include "ranks_case.h"

#include "exchange/push_share.h"

static bool is_alone(const ranks_case_t *c, int r)
{
    return c->rank[r].halo.n_send_peers == 0 && c->rank[r].halo.n_recv_peers == 0;
}

static spmm_peer_watch_t watch_of(const ranks_case_t *c, int r)
{
    return (spmm_peer_watch_t){.failed     = c->rank[r].failed,
                               .report     = c->rank[r].report,
                               .timeout_ns = (uint64_t)(c->machine->timeout_s * 1e9)};
}

static spmm_exchange_t exchange_of(const ranks_round_t *round)
{
    return (spmm_exchange_t){.direction = round->direction, .row_bytes = round->row_bytes};
}

/* What the words of a round say when it is over. */
static uint32_t over_of(const ranks_round_t *round)
{
    return UINT32_MAX - 1 + (uint32_t)round->number;
}

/* By the library's own arithmetic, as push_begin() of transport_nccl_push.c; the blocks
 * that it asks for. */
static int push_args(const ranks_case_t *c, const ranks_round_t *round, int r,
                     spmm_push_args_t *args)
{
    const ranks_rank_t        *rank     = &c->rank[r];
    const ranks_place_t        place    = ranks_place(c, round, r);
    const spmm_exchange_t      exchange = exchange_of(round);
    const spmm_exchange_side_t source   = spmmi_exchange_source(&rank->halo, &exchange);
    const spmm_exchange_side_t target   = spmmi_exchange_target(&rank->halo, &exchange);
    const bool                 forward  = round->direction == SPMM_HALO_FORWARD;

    memset(args, 0, sizeof *args);
    spmmi_push_share(&c->limits, &source, &target,
                     forward ? rank->first_halo : rank->first_send_row, round->row_bytes, args);
    for (int p = 0; p < source.n_peers; p++) {
        args->window[source.peer[p]] = c->rank[source.peer[p]].window;
    }
    for (int p = 0; p < target.n_peers; p++) {
        args->window[target.peer[p]] = c->rank[target.peer[p]].window;
    }
    args->rank               = r;
    args->n_ranks            = c->n_ranks;
    args->own                = rank->window;
    args->low_latency_offset = (int64_t)spmmi_push_slots_bytes(c->n_ranks);
    args->offset             = c->head + (place.elsewhere ? 0 : place.target_shift);
    args->target             = ranks_target(c, &place, r);
    args->source             = rank->source + place.source_shift;
    args->ld                 = (int64_t)(place.listed ? place.ld : round->row_bytes);
    args->row                = place.listed ? rank->send_row : NULL;
    args->state              = rank->state;
    args->over               = over_of(round);
    args->tells_over         = 1;
    args->watch              = watch_of(c, r);
    return args->n_blocks;
}

typedef struct {
    int              n;
    spmm_push_args_t push[RANKS_MOST];
} arguments_t;

/* The most blocks that a rank asks for. */
static int make_arguments(const ranks_case_t *c, const ranks_round_t *round, arguments_t *args)
{
    int most = 0;

    args->n = 0;
    for (int r = 0; r < c->n_ranks; r++) {
        if (!is_alone(c, r)) {
            const int blocks = push_args(c, round, r, &args->push[args->n]);

            most = blocks > most ? blocks : most;
            args->n++;
        }
    }
    return most;
}

/* All blocks of all ranks must be at work at a time, also of ranks that are some rounds apart: no
 * rank takes more than its part of them. */
static void plan(ranks_case_t *c, const ranks_round_t *round, arguments_t *args)
{
    enum { NONE = -1 };
    static const int    quick[] = {SPMM_PUSH_LOW_LATENCY, SPMM_PUSH_LOW_LATENCY, 4096, NONE};
    static const int    most[]  = {32, 3, 1, 112};
    const uint64_t      a       = ranks_draw(c, round->number, 0, 4);
    spmm_push_limits_t *limits  = &c->limits;

    limits->low_latency_bytes = quick[c->ahead ? 0 : a % 4];
    limits->max_blocks        = most[a / 4 % 4];
    if (c->shared && a / 16 % 4 != 0) {
        *limits = (spmm_push_limits_t){.max_blocks = 1, .low_latency_bytes = NONE};
    }
    while (make_arguments(c, round, args) > c->machine->blocks / c->n_ranks) {
        assert_true(limits->low_latency_bytes > 0 || limits->max_blocks > 1);
        limits->low_latency_bytes =
            limits->low_latency_bytes > 1 ? limits->low_latency_bytes / 2 : NONE;
        limits->max_blocks = (limits->max_blocks + 1) / 2;
    }
}

/* Element @p column of 2 bytes of a row in a round. */
static uint16_t value_of(const ranks_round_t *round, int rank, int64_t row, int64_t column)
{
    const uint32_t x = (uint32_t)round->number * 0x9e3779b1u + (uint32_t)rank * 0x85ebca77u +
                       (uint32_t)row * 0xc2b2ae3du + (uint32_t)column * 0x27d4eb2fu;

    return (uint16_t)((x ^ x >> 15) * 0x2c1b3c6du >> 16);
}

static int64_t source_rows(const ranks_case_t *c, const ranks_round_t *round, int r)
{
    const ranks_place_t place = ranks_place(c, round, r);

    return place.listed                            ? c->rank[r].n_own
           : round->direction == SPMM_HALO_FORWARD ? spmmi_halo_send_rows(&c->rank[r].halo)
                                                   : spmmi_halo_recv_rows(&c->rank[r].halo);
}

static int64_t target_rows(const ranks_case_t *c, const ranks_round_t *round, int r)
{
    return round->direction == SPMM_HALO_FORWARD ? spmmi_halo_recv_rows(&c->rank[r].halo)
                                                 : spmmi_halo_send_rows(&c->rank[r].halo);
}

/* What the source of a rank is to hold, from its shift on. */
static size_t write_source(const ranks_case_t *c, const ranks_round_t *round, int r, char *host)
{
    const ranks_place_t place   = ranks_place(c, round, r);
    const int64_t       rows    = source_rows(c, round, r);
    const int64_t       columns = (int64_t)round->row_bytes / 2;
    const size_t        ld      = place.listed ? place.ld : round->row_bytes;

    for (int64_t i = 0; i < rows; i++) {
        uint16_t *row = (uint16_t *)(void *)(host + (size_t)i * ld);

        for (int64_t j = 0; j < columns; j++) {
            row[j] = value_of(round, r, i, j);
        }
    }
    return (size_t)rows * ld;
}

static void upload_batch(const ranks_case_t *c, uint64_t first, int n)
{
    char *host = spmm_test_malloc((size_t)n * c->source_bytes);

    for (int r = 0; r < c->n_ranks; r++) {
        memset(host, 0x55, (size_t)n * c->source_bytes);
        for (int k = 0; k < n; k++) {
            const ranks_round_t round = ranks_round(c, first + (uint64_t)k);

            (void)write_source(c, &round, r, host + (size_t)k * c->source_bytes);
        }
        spmm_assert_ok(
            spmmi_device_write(c->device, c->rank[r].versions, host, (size_t)n * c->source_bytes));
    }
    free(host);
}

static void before(const ranks_case_t *c, const ranks_round_t *round, int r, int k)
{
    const ranks_machine_t *m     = c->machine;
    const ranks_rank_t    *rank  = &c->rank[r];
    const ranks_place_t    place = ranks_place(c, round, r);
    const size_t           ld    = place.listed ? place.ld : round->row_bytes;

    if (ranks_draw(c, round->number, r, 5) % 8 == 0) {
        m->delay(r, ranks_draw(c, round->number, r, 6) % 4 == 0 ? 300e-6 : 30e-6);
    }
    m->fill(r, rank->window + c->head, 0xee, c->target_bytes);
    m->fill(r, rank->target, 0xee, c->target_bytes);
    m->copy(r, rank->source + place.source_shift, rank->versions + (size_t)k * c->source_bytes,
            (size_t)source_rows(c, round, r) * ld);
}

/* As push_end(): rows that were not quick lie in the window; then keep all of the target, and spoil
 * the source. */
static void after(const ranks_case_t *c, const ranks_round_t *round, int r, int k)
{
    const ranks_machine_t     *m        = c->machine;
    const ranks_rank_t        *rank     = &c->rank[r];
    const ranks_place_t        place    = ranks_place(c, round, r);
    const spmm_exchange_t      exchange = exchange_of(round);
    const spmm_exchange_side_t target   = spmmi_exchange_target(&rank->halo, &exchange);
    char                      *rows     = ranks_target(c, &place, r);
    const size_t               b        = round->row_bytes;

    for (int p = 0; p < target.n_peers && place.elsewhere; p++) {
        const size_t at = (size_t)target.ptr[p] * b;

        if (!spmmi_push_is_low_latency(&c->limits, target.ptr[p + 1] - target.ptr[p], b)) {
            m->copy(r, rows + at, rank->window + c->head + at, spmmi_side_bytes(&target, p, b));
        }
    }
    m->copy(r, rank->results + (size_t)k * c->target_bytes, rows,
            (size_t)target_rows(c, round, r) * b);
    m->fill(r, rank->source + place.source_shift, 0x11,
            (size_t)source_rows(c, round, r) * (place.listed ? place.ld : b));
}

/* The rows that a rank got from its peer @p p. */
static void check_peer(const ranks_case_t *c, const ranks_round_t *round, int r,
                       const spmm_exchange_side_t *target, int p, const char *host)
{
    const int           from    = target->peer[p];
    const bool          forward = round->direction == SPMM_HALO_FORWARD;
    const ranks_place_t place   = ranks_place(c, round, from);
    const int64_t first   = forward ? c->rank[r].first_send_row[from] : c->rank[r].first_halo[from];
    const int64_t columns = (int64_t)round->row_bytes / 2;

    for (int64_t j = target->ptr[p]; j < target->ptr[p + 1]; j++) {
        const int64_t   k   = first + j - target->ptr[p];
        const int64_t   i   = place.listed ? c->rank[from].halo.send_row[k] : k;
        const uint16_t *row = (const uint16_t *)(const void *)(host + (size_t)j * round->row_bytes);

        for (int64_t e = 0; e < columns; e++) {
            if (row[e] != value_of(round, from, i, e)) {
                fail_msg("%s: round %llu of %d ranks, %s, rows of %zu bytes: rank %d, row %lld "
                         "of %lld from rank %d, byte %lld is of another row or round",
                         c->machine->name, (unsigned long long)round->number, c->n_ranks,
                         forward ? "forward" : "reverse", round->row_bytes, r,
                         (long long)(j - target->ptr[p]),
                         (long long)(target->ptr[p + 1] - target->ptr[p]), from,
                         (long long)(2 * e));
            }
        }
    }
}

/* Has the exchange said that it is over, and counted its blocks down? */
static void check_over(const ranks_case_t *c, const ranks_round_t *round, int r)
{
    spmm_push_state_t state;

    if (!is_alone(c, r)) {
        spmm_assert_ok(c->device->ops->fetch(c->device, &state, c->rank[r].state, sizeof state));
        assert_int_equal(state.over, over_of(round));
        assert_int_equal(state.ended, 0);
    }
}

static void check_rank(const ranks_case_t *c, uint64_t first, int n, int r, char *host)
{
    const spmm_peer_report_t *report = c->rank[r].report;

    if (report->failed != 0) {
        fail_msg("%s: rank %d of %d gave up waiting for rank %d in rounds %llu to %llu",
                 c->machine->name, r, c->n_ranks, report->peer, (unsigned long long)first,
                 (unsigned long long)(first + (uint64_t)n - 1));
    }
    spmm_assert_ok(
        c->device->ops->fetch(c->device, host, c->rank[r].results, (size_t)n * c->target_bytes));
    for (int k = 0; k < n; k++) {
        const ranks_round_t        round    = ranks_round(c, first + (uint64_t)k);
        const spmm_exchange_t      exchange = exchange_of(&round);
        const spmm_exchange_side_t target   = spmmi_exchange_target(&c->rank[r].halo, &exchange);

        for (int p = 0; p < target.n_peers; p++) {
            check_peer(c, &round, r, &target, p, host + (size_t)k * c->target_bytes);
        }
    }
}

static void run_batch(ranks_case_t *c, uint64_t first, int n)
{
    char              *host = spmm_test_malloc((size_t)n * c->target_bytes);
    static arguments_t args;

    upload_batch(c, first, n);
    for (int k = 0; k < n; k++) {
        const ranks_round_t round = ranks_round(c, first + (uint64_t)k);

        plan(c, &round, &args);
        for (int r = 0; r < c->n_ranks; r++) {
            before(c, &round, r, k);
        }
        c->machine->push(args.push, args.n);
        for (int r = 0; r < c->n_ranks; r++) {
            after(c, &round, r, k);
        }
    }
    c->machine->wait();
    for (int r = 0; r < c->n_ranks; r++) {
        const ranks_round_t last = ranks_round(c, first + (uint64_t)n - 1);

        check_rank(c, first, n, r, host);
        check_over(c, &last, r);
    }
    free(host);
}

void ranks_case_run(ranks_case_t *c, int n_rounds)
{
    for (int k = 0; k < n_rounds; k += c->batch) {
        run_batch(c, (uint64_t)k, n_rounds - k < c->batch ? n_rounds - k : c->batch);
    }
}

static void expect_report(const ranks_case_t *c, const arguments_t *args, int r)
{
    const spmm_peer_report_t *report = c->rank[r].report;
    const spmm_push_args_t   *mine = &args->push[r], *theirs = &args->push[r == 0 ? 1 : 0];

    assert_int_not_equal(report->failed, 0);
    assert_true(r == 0 ? report->peer > 0 : report->peer == 0);
    assert_int_equal(report->came[0], theirs->row_bytes);
    assert_int_equal(report->came[1], theirs->step);
    assert_int_equal(report->expected[0], mine->row_bytes);
    assert_int_equal(report->expected[1], mine->step);
}

void ranks_case_differ(ranks_case_t *c, int low_latency_bytes, size_t row_bytes, uint32_t step,
                       bool reverse)
{
    const ranks_round_t longer  = {.row_bytes = c->max_row_bytes},
                        shorter = {.row_bytes = row_bytes};
    const ranks_round_t first = reverse ? longer : shorter, others = reverse ? shorter : longer;
    static arguments_t  args;

    c->limits = (spmm_push_limits_t){.max_blocks = 1, .low_latency_bytes = low_latency_bytes};
    assert_true(make_arguments(c, &others, &args) <= c->machine->blocks / c->n_ranks);
    (void)push_args(c, &first, 0, &args.push[0]);
    args.push[0].step = step;
    c->machine->push(args.push, args.n);
    c->machine->wait();
    for (int r = 0; r < c->n_ranks; r++) {
        expect_report(c, &args, r);
        check_over(c, r == 0 ? &first : &others, r);
    }
}
