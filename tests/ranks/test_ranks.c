/* SPDX-License-Identifier: Apache-2.0 */
/** @file test_ranks.c  The kernel of nccl-push between 2 to 16 ranks of one process: what only many
 *  readers and owners bring about needs no machine with as many GPUs. */
#include "ranks_case.h"

static spmm_device_t device;
static ranks_scale_t scale;

/* From 1 to 2000, each order of magnitude as often. */
static int64_t any_rows(int s, int r, uint64_t seed)
{
    static const int64_t below[] = {4, 40, 300, 2000};
    const uint64_t       a       = spmmi_mix64(seed + 16 * (uint64_t)s + (uint64_t)r) >> 8;

    return 1 + (int64_t)(a / 4 % (uint64_t)below[a % 4]);
}

static bool chance(int s, int r, uint64_t seed, int percent)
{
    return (spmmi_mix64(seed + 16 * (uint64_t)s + (uint64_t)r) >> 8) % 100 < (uint64_t)percent;
}

/* Ranks are peers whether or not rows travel. */
static int64_t even(int n, int s, int r)
{
    (void)n, (void)s, (void)r;
    return 40;
}

static int64_t mixed(int n, int s, int r)
{
    return any_rows(s, r, 1);
}

/* One reader of a hundred times what others read. */
static int64_t skewed(int n, int s, int r)
{
    (void)n, (void)s;
    return r == 0 ? 1200 : 12;
}

/* One owner of a hundred times what others own, for one reader. */
static int64_t heavy_pair(int n, int s, int r)
{
    return s == n - 1 && r == 0 ? 3000 : 30;
}

static int64_t sparse(int n, int s, int r)
{
    return chance(s, r, 2, n > 8 ? 30 : 50) ? any_rows(s, r, 3) : RANKS_NONE;
}

/* The first rank only sends, the last one only receives. */
static int64_t downhill(int n, int s, int r)
{
    return s < r && (n <= 8 || r - s <= 4) ? any_rows(s, r, 4) : RANKS_NONE;
}

static int64_t star(int n, int s, int r)
{
    return s == 1 ? any_rows(s, r, 5) : RANKS_NONE;
}

/* Of few rows, so that they are quick and their owner is never held up but by those who fall
 * behind. */
static int64_t fountain(int n, int s, int r)
{
    (void)n, (void)r;
    return s == 1 ? 40 : RANKS_NONE;
}

static int64_t ring(int n, int s, int r)
{
    return r == (s + 1) % n ? 150 : RANKS_NONE;
}

/* Some rows of pairs are none at all. */
static int64_t gaps(int n, int s, int r)
{
    return n > 8 && !chance(s, r, 6, 25) ? RANKS_NONE : chance(s, r, 7, 40) ? 0 : any_rows(s, r, 8);
}

static int64_t (*const makers[])(int n, int s, int r) = {
    even, mixed, skewed, heavy_pair, sparse, downhill, star, ring, gaps};
enum { N_MAKERS = sizeof makers / sizeof makers[0] };

/* Blocks that rank @p a takes at least to send to peers of which it gets rows, or the reverse: one
 * of its own, one for each peer to send to, and one for each that has no rows for it. */
static int blocks_to_send(const ranks_graph_t *halo, int a, bool forward)
{
    int blocks = 1;

    for (int b = 0; b < halo->n_ranks; b++) {
        const int64_t out = forward ? halo->rows[a][b] : halo->rows[b][a];
        const int64_t in  = forward ? halo->rows[b][a] : halo->rows[a][b];

        blocks += (out != RANKS_NONE) + (in == 0);
    }
    return blocks;
}

static bool fits(const ranks_graph_t *halo, const ranks_machine_t *machine)
{
    for (int a = 0; a < halo->n_ranks; a++) {
        if (blocks_to_send(halo, a, true) > machine->blocks / halo->n_ranks ||
            blocks_to_send(halo, a, false) > machine->blocks / halo->n_ranks) {
            return false;
        }
    }
    return true;
}

static ranks_graph_t halo_of(int n, int64_t (*rows)(int n, int s, int r))
{
    ranks_graph_t halo = {.n_ranks = n};

    for (int s = 0; s < n; s++) {
        for (int r = 0; r < n; r++) {
            halo.rows[s][r] = s == r ? RANKS_NONE : rows(n, s, r);
        }
    }
    return halo;
}

static void run(const ranks_machine_t *machine, int n, int64_t (*rows)(int n, int s, int r),
                int64_t bytes, uint32_t number, int rounds, int batch)
{
    const ranks_graph_t halo = halo_of(n, rows);
    ranks_case_t       *c    = spmm_test_malloc(sizeof *c);

    if (!fits(&halo, machine)) {
        print_message("left out: a halo of %d ranks, for %s with %d thread blocks at a time\n", n,
                      machine->name, machine->blocks);
        free(c);
        return;
    }
    ranks_case_open(c, machine, &device, &halo, bytes, number, batch);
    c->ahead  = rows == fountain;
    c->shared = bytes == scale.wide_bytes;
    ranks_case_run(c, (rounds + machine->one_of - 1) / machine->one_of);
    ranks_case_close(c);
    free(c);
}

/* Each number of ranks on each machine. */
static void each_size(void (*test)(const ranks_machine_t *machine, int k, int n))
{
    for (int m = 0; ranks_machines[m] != NULL; m++) {
        for (int k = 0; k < scale.n_sizes; k++) {
            test(ranks_machines[m], k, scale.size[k]);
        }
    }
}

static void run_halos(const ranks_machine_t *machine, int k, int n)
{
    for (int g = 0; g < N_MAKERS; g++) {
        run(machine, n, makers[g], scale.bytes, 0, scale.rounds, 16);
    }
}

/* Many exchanges in a row, whose numbers begin anew on the way. */
static void run_long(const ranks_machine_t *machine, int k, int n)
{
    run(machine, n, k % 2 == 0 ? mixed : sparse, scale.bytes, 0u - (uint32_t)scale.long_rounds / 2,
        scale.long_rounds, 16);
}

static void run_ahead(const ranks_machine_t *machine, int k, int n)
{
    run(machine, n, fountain, 64 * 1024, 0, 2 * scale.long_rounds, 16);
}

/* Exchanges of many more tiles than warps begin with. */
static void run_wide(const ranks_machine_t *machine, int k, int n)
{
    run(machine, n, skewed, scale.wide_bytes, 5, scale.wide_rounds, 4);
    run(machine, n, heavy_pair, scale.wide_bytes, 6, scale.wide_rounds, 4);
    run(machine, n, mixed, scale.wide_bytes, 7, scale.wide_rounds, 4);
}

static void test_push(void **state)
{
    each_size(run_halos);
    each_size(run_long);
    each_size(run_ahead);
    each_size(run_wide);
}

/* Ranks whose products differ by n, or of which one has refused an execute. */
static void test_differ(void **state)
{
    static const int low_latency_bytes[] = {0, 4096, -1};

    for (int m = 0; ranks_machines[m] != NULL; m++) {
        for (int k = 0; k < 3 * 3 * 2; k++) {
            const ranks_graph_t halo = halo_of(2 + k % 2, even);
            ranks_case_t       *c    = spmm_test_malloc(sizeof *c);
            const int           what = k / 6; /* step, length, length in reverse */

            ranks_case_open(c, ranks_machines[m], &device, &halo, 32 * 1024, 0, 1);
            ranks_case_differ(c, low_latency_bytes[k / 2 % 3], what == 0 ? c->max_row_bytes : 8,
                              what == 0 ? SPMM_MOST_CHUNKS : 0, what == 2);
            ranks_case_close(c);
            free(c);
        }
    }
}

static void test_open(void **state)
{
    ranks_machines_open(&device, &scale);
}

static void test_close(void **state)
{
    ranks_machines_close(&device);
}

SPMM_TESTS(test_open, test_push, test_differ, test_close);
