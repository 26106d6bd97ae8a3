/* SPDX-License-Identifier: Apache-2.0 */
/* test: RANKS 1 */
/** @file test_push_share.c  What the thread blocks of nccl-push are told, for any rows between up
 *  to 16 ranks: each block one part, each part one block, and both ranks of a pair the same. */

#include "exchange/push_share.h"
#include "test_main.h"

enum { R = SPMM_PEER_RANKS, TRIALS = 400, WARPS = SPMM_PUSH_THREADS / 32 };

typedef struct {
    int     n, peer[R];
    int64_t ptr[R + 1];
} side_t;

static uint64_t           seed;
static int                n_ranks;
static spmm_push_limits_t limits;
static int64_t            rows[R][R]; /* from, to; -1: no peers */
static side_t             out[R], in[R];

static uint64_t draw(uint64_t below)
{
    return (spmmi_mix64(++seed) >> 8) % below;
}

static void add_peer(side_t *side, int rank, int64_t count)
{
    side->peer[side->n]    = rank;
    side->ptr[side->n + 1] = side->ptr[side->n] + count;
    side->n++;
}

static void make_rows(void)
{
    static const uint64_t below[] = {1, 5, 100, 5000, 1000000};

    memset(out, 0, sizeof out);
    memset(in, 0, sizeof in);
    n_ranks = 2 + (int)draw(R - 1);
    for (int s = 0; s < n_ranks; s++) {
        for (int r = 0; r < n_ranks; r++) {
            rows[s][r] = s == r || draw(4) == 0 ? -1 : (int64_t)draw(below[draw(5)]);
            if (rows[s][r] >= 0) {
                add_peer(&out[s], r, rows[s][r]);
            }
        }
    }
    for (int r = 0; r < n_ranks; r++) {
        for (int s = 0; s < n_ranks; s++) {
            if (rows[s][r] >= 0) {
                add_peer(&in[r], s, rows[s][r]);
            }
        }
    }
}

static spmm_exchange_side_t side_of(const side_t *side)
{
    return (spmm_exchange_side_t){.n_peers = side->n, .peer = side->peer, .ptr = side->ptr};
}

/* Units of quick rows, as blocks of push.cuh share them: 32 bits hold all products.  A block has
 * 16 KiB at most; of less than 4 KiB there are few. */
static void check_units(int64_t count, size_t row_bytes, int32_t n_blocks, int n_peers)
{
    const int64_t all  = count * (int64_t)row_bytes / SPMM_PUSH_UNIT;
    int64_t       next = 0;

    assert_true(count * (int64_t)row_bytes <= (int64_t)n_blocks * 16384);
    assert_true((n_blocks - 1) * (int64_t)4096 < count * (int64_t)row_bytes || n_blocks == 1);
    assert_true(n_blocks <= 64 / n_peers ||
                (n_blocks - 1) * (int64_t)16384 < count * (int64_t)row_bytes);
    assert_true(all * (n_blocks + 1) <= INT32_MAX);
    assert_true(all * SPMM_PUSH_UNIT <= SPMM_PUSH_LOW_LATENCY);
    for (int32_t b = 0; b < n_blocks; b++) {
        assert_int_equal(all * b / n_blocks, next);
        next = all * (b + 1) / n_blocks;
    }
    assert_int_equal(next, all);
}

static void check_senders(int s, size_t row_bytes, const spmm_push_args_t *args)
{
    int32_t block = 1, word = 0;

    assert_int_equal(args->n_to, out[s].n);
    for (int p = 0; p < args->n_to; p++) {
        const spmm_push_reader_t *to = &args->to[p];

        assert_int_equal(to->rank, out[s].peer[p]);
        assert_int_equal(to->count, rows[s][to->rank]);
        assert_int_equal(to->begin, out[s].ptr[p]);
        assert_int_equal(to->first, 100 + to->rank);
        assert_int_equal(to->first_block, block);
        assert_true(to->n_blocks >= 1);
        assert_int_equal(to->is_low_latency,
                         spmmi_push_is_low_latency(&limits, to->count, row_bytes));
        block += to->n_blocks;
        if (to->is_low_latency) {
            check_units(to->count, row_bytes, to->n_blocks, out[s].n);
        } else { /* a word of their own in the reader's slot for each block, whomever it helps */
            assert_int_equal(to->first_word, word);
            /* The reader waits for a tile of each: none waits for a word that may have passed. */
            assert_true((to->n_blocks - 1) * (int64_t)WARPS * SPMM_PUSH_TILE <
                        to->count * (int64_t)row_bytes);
            word += to->n_blocks;
        }
    }
    assert_int_equal(block, args->first_unpacker);
    assert_true(word <= SPMM_PUSH_BLOCKS);
    assert_true(word <= (limits.max_blocks > 0 ? limits.max_blocks : 64) + args->n_to);
}

static void check_owners(int r, size_t row_bytes, const spmm_push_args_t *args)
{
    int32_t block = args->first_unpacker;

    assert_int_equal(args->n_from, in[r].n);
    for (int p = 0; p < args->n_from; p++) {
        const spmm_push_owner_t *from = &args->from[p];

        assert_int_equal(from->rank, in[r].peer[p]);
        assert_int_equal(from->count, rows[from->rank][r]);
        assert_int_equal(from->begin, in[r].ptr[p]);
        assert_int_equal(from->first_block, block);
        assert_int_equal(from->n_blocks > 0,
                         spmmi_push_is_low_latency(&limits, from->count, row_bytes));
        block += from->n_blocks;
        if (from->n_blocks > 0) {
            check_units(from->count, row_bytes, from->n_blocks, in[r].n);
        }
    }
    assert_int_equal(block, args->n_blocks);
}

static size_t any_row_bytes(void)
{
    static const size_t bytes[] = {
        2, 6, 8, 16, 24, 512, 1024, 4096, 65536, SPMM_PUSH_LOW_LATENCY, SPMM_PUSH_LOW_LATENCY + 8};

    return bytes[draw(sizeof bytes / sizeof bytes[0])];
}

static void test_push(void **state)
{
    static const int        quick[] = {-1, 1000, 0, 1 << 20}, most[] = {0, 1, 7, 112, 1000};
    static spmm_push_args_t args;
    int64_t                 first[R];

    for (int r = 0; r < R; r++) {
        first[r] = 100 + r;
    }
    for (int k = 0; k < TRIALS; k++) {
        const size_t row_bytes = any_row_bytes();

        make_rows();
        limits =
            (spmm_push_limits_t){.max_blocks = most[draw(5)], .low_latency_bytes = quick[draw(4)]};
        for (int r = 0; r < n_ranks; r++) {
            const spmm_exchange_side_t source = side_of(&out[r]), target = side_of(&in[r]);

            memset(&args, 0, sizeof args);
            spmmi_push_share(&limits, &source, &target, first, row_bytes, &args);
            assert_int_equal(args.row_bytes, row_bytes);
            check_owners(r, row_bytes, &args);
            check_senders(r, row_bytes, &args);
        }
    }
    limits = (spmm_push_limits_t){0};
}

/* The room for quick rows lies behind the slots and holds two places of two words each for each
 * rank. */
static void test_push_window(void **state)
{
    for (int n = 1; n <= R; n++) {
        assert_true(spmmi_push_slots_bytes(n) >= (size_t)n * sizeof(spmm_push_slot_t));
        assert_int_equal(spmmi_push_slots_bytes(n) % SPMM_PEER_ALIGN, 0);
        assert_int_equal(spmmi_push_head_bytes(n) % SPMM_PEER_ALIGN, 0);
        assert_int_equal(spmmi_push_head_bytes(n) - spmmi_push_slots_bytes(n),
                         2 * n * 2 * SPMM_PUSH_LOW_LATENCY);
    }
}

/* Quick or not, no rows are nobody's to wait for. */
static void test_low_latency(void **state)
{
    assert_true(spmmi_push_is_low_latency(&limits, 0, 6));
    assert_false(spmmi_push_is_low_latency(&limits, 1, 6));
    assert_true(spmmi_push_is_low_latency(&limits, 1, 8));
    assert_true(spmmi_push_is_low_latency(&limits, SPMM_PUSH_LOW_LATENCY / 512, 512));
    assert_false(spmmi_push_is_low_latency(&limits, SPMM_PUSH_LOW_LATENCY / 512 + 1, 512));
    assert_true(spmmi_push_is_low_latency(&limits, 1, SPMM_PUSH_LOW_LATENCY));
    assert_false(spmmi_push_is_low_latency(&limits, 1, SPMM_PUSH_LOW_LATENCY + 8));
    assert_false(spmmi_push_is_low_latency(&limits, INT64_C(1) << 40, 8));
}

SPMM_TESTS(test_push, test_push_window, test_low_latency);
