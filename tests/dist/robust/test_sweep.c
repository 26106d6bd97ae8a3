/* SPDX-License-Identifier: Apache-2.0 */
/* test: RANKS 1 3 NEEDS ZLIB_FOUND TIMEOUT 240 SANITIZED SPMM_TEST_STRIDE=5 */
/* test: RANKS 1 2 DEVICE cuda NEEDS ZLIB_FOUND ENV SPMM_TEST_STRIDE=7 */
/** @file test_sweep.c  Every allocation of the public API fails once, on the last rank alone, and
 *  where files are read on the first, too: all ranks must hear of it with the same status, none may
 *  be left in a collective, and nothing may leak.  With SPMM_TEST_DEVICE=cuda allocations of device
 *  memory count, too. */
#include "walk.h"

#include "temp_file.h"

/** A walk in a context that stands already (held.ctx) or is made anew. */
typedef struct {
    walk_t walk;
    held_t held;
} sweep_t;

static spmm_status_t go(void *what)
{
    sweep_t      *s      = what;
    const bool    opened = s->held.ctx != NULL;
    spmm_status_t status = opened ? SPMM_OK : walk_open(&s->walk, &s->held);

    if (status == SPMM_OK) {
        status = walk_go(&s->walk, &s->held);
    }
    walk_drop(&s->held);
    if (!opened) {
        walk_close(&s->held);
    }
    return status;
}

/* On GPUs contexts take long to make: one serves a whole sweep, after a walk in which it takes what
 * it keeps. */
static void sweep_on(const walk_t *walk, int victim)
{
    sweep_t s = {.walk = *walk};
    int64_t k;

    if (spmm_test_on_gpu()) {
        spmm_assert_ok(walk_open(walk, &s.held));
        spmm_assert_ok(walk_go(walk, &s.held));
        walk_drop(&s.held);
    }
    k = spmm_test_sweep(go, &s, victim, SPMM_OK);
    if (spmm_test_env.rank == 0) {
        print_message("%lld allocations\n", (long long)k);
    }
    assert_true(k > 50); /* a walk that was really walked */
    if (s.held.ctx != NULL) {
        walk_close(&s.held);
    }
}

static void sweep(const walk_t *walk)
{
    sweep_on(walk, spmm_test_env.size - 1);
}

/* Rank 0 has a part of its own in reading. */
static void sweep_file(const walk_t *walk)
{
    sweep(walk);
    if (spmm_test_env.size > 1) {
        sweep_on(walk, 0);
    }
}

/* Is there such a device?  A program without one ends as skipped. */
static void test_device(void **state)
{
    const walk_t  walk = {.options = SPMM_PLAN_OPTIONS_INIT};
    held_t        h    = {0};
    spmm_status_t status;

    status = walk_open(&walk, &h);
    if (walk_device() == SPMM_DEVICE_CUDA && status == SPMM_ERR_UNSUPPORTED) {
        spmm_test_skip(spmm_last_error(NULL));
    }
    spmm_assert_ok(status);
    walk_close(&h);
}

static spmm_status_t open_and_close(void *what)
{
    const walk_t        walk   = {.options = SPMM_PLAN_OPTIONS_INIT};
    held_t              h      = {0};
    const spmm_status_t status = walk_open(&walk, &h);

    walk_close(&h);
    return status;
}

/* Contexts themselves. */
static void test_context(void **state)
{
    assert_true(spmm_test_sweep(open_and_close, NULL, spmm_test_env.size - 1, SPMM_OK) > 0);
}

#define SHUFFLED "stencil9:nx=6,ny=5,shuffle=1"
#define GRAPH    "stencil9:nx=9,ny=8,shuffle=1" /* too many vertices for blocks */
#define TALL     "uniform:rows=50,cols=20,degree=3"

static const walk_t walks[] = {
    {.options = {.engine = NULL}}, /* from arrays */
    {.narrow = true},
    {.blocks = true},
    {.options = {.tuning = "schedule=merged"}},
    {.options = {.tuning = "chunks=4"}},
    {.spec    = SHUFFLED,
     .options = {.partition = "auto", .op = SPMM_OP_T, .layout = SPMM_LAYOUT_COL}},
    {.spec = "stencil9:nx=6,ny=5", .options = {.layout = SPMM_LAYOUT_COL, .engine = "dmma"}},
    {.spec = SHUFFLED, .options = {.tuning = "order=affinity", .engine = "dmma"}},
    {.spec = SHUFFLED, .options = {.tuning = "order=affinity", .engine = "dmma", .op = SPMM_OP_T}},
    {.spec = SHUFFLED,
     .options =
         {.reproducible = 1, .partition = "block", .op = SPMM_OP_T, .layout = SPMM_LAYOUT_COL}},
    {.spec = "uniform:rows=20,cols=9,degree=3", .options = {.partition = "block"}},
    {.spec = SHUFFLED, .options = {.partition = "one"}},
    {.per_node = 2, .options = {.tuning = "exchange=node"}},
    {.per_node = 2, .options = {.tuning = "exchange=node", .op = SPMM_OP_T}},
    {.spec = TALL, .options = {.partition = "auto"}},
#ifdef SPMM_HAVE_METIS
    {.spec = GRAPH, .options = {.partition = "metis"}},
    {.spec = TALL, .options = {.partition = "metis"}},
#endif
#ifdef SPMM_HAVE_PTSCOTCH
    {.spec = GRAPH, .options = {.partition = "ptscotch"}},
    {.spec = TALL, .options = {.partition = "ptscotch"}},
#endif
};

static void test_walks(void **state)
{
    for (size_t k = 0; k < sizeof walks / sizeof walks[0]; k++) {
        walk_t walk = walks[k];

        walk.options.struct_size = sizeof walk.options;
        if (walk.per_node == 0 || (spmm_test_env.size > 2 && !spmm_test_on_gpu())) {
            sweep(&walk);
        }
    }
}

/* A path of 5 in each format of files, and a file of parts. */
static void test_files(void **state)
{
    static const char market[] = "%%MatrixMarket matrix coordinate real symmetric\n"
                                 "% a path of 5\n"
                                 "5 5 6\n"
                                 "1 1 2.0\n2 1 -1.0\n3 2 -1.0\n4 3 -1.0\n5 4 -1.0\n5 5 2.0\n";
    static const char smtx[] = "3, 3, 4\n0 2 3 4\n0 2 1 2\n", part[] = "0\n0\n0\n0\n0\n";
    char              option[4096];
    walk_t            walk = {.options = SPMM_PLAN_OPTIONS_INIT};

    walk.path = spmm_temp_write(market, sizeof market - 1);
    sweep_file(&walk);
    walk.path = spmm_temp_write_gzip(market, sizeof market - 1, 0, 0);
    sweep_file(&walk);
    walk.path = spmm_temp_write_bgzf(market, sizeof market - 1, 40, 0);
    sweep_file(&walk);
    walk.path = walk_binary_csr();
    sweep_file(&walk);
    walk.path = spmm_temp_write(smtx, sizeof smtx - 1);
    sweep_file(&walk);
    (void)snprintf(option, sizeof option, "file:%s", spmm_temp_write(part, sizeof part - 1));
    walk.path              = NULL;
    walk.spec              = "banded:rows=5,band=1";
    walk.options.partition = option;
    sweep_file(&walk);
}

SPMM_TESTS(test_device, test_context, test_walks, test_files);
