/* SPDX-License-Identifier: Apache-2.0 */
/* test: RANKS 1 3 NEEDS ZLIB_FOUND SANITIZED SPMM_TEST_STRIDE=5 */
/* test: RANKS 1 2 DEVICE cuda NEEDS ZLIB_FOUND ENV SPMM_TEST_STRIDE=7 */
/** @file test_sweep.c  Every allocation of the public API fails once, on the last rank alone: all
 *  ranks must hear of it with the same status, none may be left in a collective, and nothing may
 *  leak.  With SPMM_TEST_DEVICE=cuda those of device memory count, too. */
#include "walk.h"

#include "temp_file.h"

/* All ranks must hold what rank 0 holds, failed or not. */
static void assert_same_status(spmm_status_t status, int64_t k)
{
    int range[2] = {(int)status, -(int)status};

    MPI_Allreduce(MPI_IN_PLACE, range, 2, MPI_INT, MPI_MAX, spmm_test_env.comm);
    if (range[0] != -range[1]) {
        print_error("allocation %lld: this rank has status %d: %s\n", (long long)k, (int)status,
                    spmmi_error_thread_text());
    }
    assert_int_equal(range[0], -range[1]);
}

/* Allocation @p k of the last rank fails on the way through @p walk, in a context that stands
 * already (@p h->ctx) or is made anew.  @p reached: the walk has so many.  @return blocks of this
 * rank that are left. */
static int64_t fail_once(const walk_t *walk, held_t *h, int64_t k, int *reached)
{
    const spmm_alloc_stats_t before = spmmi_alloc_get_stats();
    const bool               victim = spmm_test_env.rank == spmm_test_env.size - 1;
    const bool               opened = h->ctx != NULL;
    spmm_status_t            status = SPMM_OK;
    int64_t                  left;

    spmmi_alloc_inject(victim ? k : -1);
    if (!opened) {
        status = walk_open(walk, h);
    }
    if (status == SPMM_OK) {
        status = walk_go(walk, h);
    }
    *reached = victim && spmmi_alloc_get_stats().calls - before.calls > k;
    spmmi_alloc_inject(-1);
    MPI_Allreduce(MPI_IN_PLACE, reached, 1, MPI_INT, MPI_MAX, spmm_test_env.comm);
    assert_same_status(status, k);
    if (*reached == 0 || walk_device() == SPMM_DEVICE_CPU || status != SPMM_OK) {
        assert_int_equal(status, *reached ? SPMM_ERR_MEMORY : SPMM_OK);
    } /* on GPUs a plan goes on without what it only wanted to measure */
    walk_drop(h);
    if (!opened) {
        walk_close(h);
    }
    left = spmmi_alloc_get_stats().live - before.live;
    if (left != 0) {
        print_message("allocation %lld: %lld blocks are left after status %d: %s\n", (long long)k,
                      (long long)left, (int)status, spmmi_error_thread_text());
    }
    return left;
}

/* A plan that goes on by another transport or engine than those before it leaves what its context
 * keeps for the next ones, once: a leak comes again.  False: the walk does not have so many. */
static bool fail_one(const walk_t *walk, held_t *h, int64_t k)
{
    const bool kept = h->ctx != NULL;
    int        reached;
    int64_t    left = fail_once(walk, h, k, &reached);
    int        some = left != 0;

    MPI_Allreduce(MPI_IN_PLACE, &some, 1, MPI_INT, MPI_MAX, spmm_test_env.comm);
    if (some != 0 && kept) {
        left = fail_once(walk, h, k, &reached);
    }
    assert_int_equal(left, 0);
    return reached != 0;
}

/* On GPUs contexts take long to make: one serves a whole sweep, after a walk in which it takes what
 * it keeps.  SPMM_TEST_STRIDE lets only every so many-th allocation fail. */
static void sweep(const walk_t *walk)
{
    const char   *text   = getenv("SPMM_TEST_STRIDE");
    const int64_t stride = text == NULL ? 1 : strtol(text, NULL, 10);
    held_t        h      = {0};
    int64_t       k      = 0;

    if (walk_device() == SPMM_DEVICE_CUDA) {
        spmm_assert_ok(walk_open(walk, &h));
        spmm_assert_ok(walk_go(walk, &h));
        walk_drop(&h);
    }
    while (fail_one(walk, &h, k)) {
        k += stride;
    }
    if (spmm_test_env.rank == 0) {
        print_message("%lld allocations\n", (long long)(k / stride));
    }
    assert_true(k > 50); /* a walk that was really walked */
    if (h.ctx != NULL) {
        walk_close(&h);
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

/* Contexts themselves. */
static void test_context(void **state)
{
    const walk_t walk = {.options = SPMM_PLAN_OPTIONS_INIT};
    int          more = 1;

    for (int64_t k = 0; more; k++) {
        const spmm_alloc_stats_t before = spmmi_alloc_get_stats();
        const bool               victim = spmm_test_env.rank == spmm_test_env.size - 1;
        held_t                   h      = {0};
        spmm_status_t            status;

        spmmi_alloc_inject(victim ? k : -1);
        status = walk_open(&walk, &h);
        more   = victim && spmmi_alloc_get_stats().calls - before.calls > k;
        spmmi_alloc_inject(-1);
        MPI_Allreduce(MPI_IN_PLACE, &more, 1, MPI_INT, MPI_MAX, spmm_test_env.comm);
        assert_same_status(status, k);
        assert_int_equal(status, more ? SPMM_ERR_MEMORY : SPMM_OK);
        walk_close(&h);
        assert_true(spmmi_alloc_get_stats().live == before.live);
    }
}

#define SHUFFLED "stencil9:nx=6,ny=5,shuffle=1"
#define GRAPH    "stencil9:nx=9,ny=8,shuffle=1" /* enough vertices that they are not cut into blocks */
#define TALL     "uniform:rows=50,cols=20,degree=3"

static const walk_t walks[] = {
    {.options = {.engine = NULL}}, /* from arrays */
    {.narrow = true},
    {.blocks = true},
    {.options = {.schedule = "merged"}},
    {.options = {.chunks = 4}},
    {.spec    = SHUFFLED,
     .options = {.partition = "auto", .op = SPMM_OP_T, .layout = SPMM_LAYOUT_COL}},
    {.spec = "stencil9:nx=6,ny=5", .options = {.layout = SPMM_LAYOUT_COL, .engine = "dmma"}},
    {.spec = SHUFFLED, .options = {.reorder = "affinity", .engine = "dmma"}},
    {.spec = SHUFFLED, .options = {.reorder = "affinity", .engine = "dmma", .op = SPMM_OP_T}},
    {.spec = SHUFFLED,
     .options =
         {.reproducible = 1, .partition = "block", .op = SPMM_OP_T, .layout = SPMM_LAYOUT_COL}},
    {.spec = "uniform:rows=20,cols=9,degree=3", .options = {.partition = "block"}},
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
        sweep(&walk);
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
    sweep(&walk);
    walk.path = spmm_temp_write_gzip(market, sizeof market - 1, 0, 0);
    sweep(&walk);
    walk.path = walk_binary_csr();
    sweep(&walk);
    walk.path = spmm_temp_write(smtx, sizeof smtx - 1);
    sweep(&walk);
    (void)snprintf(option, sizeof option, "file:%s", spmm_temp_write(part, sizeof part - 1));
    walk.path              = NULL;
    walk.spec              = "banded:rows=5,band=1";
    walk.options.partition = option;
    sweep(&walk);
}

SPMM_TESTS(test_device, test_context, test_walks, test_files);
