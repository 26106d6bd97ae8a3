/* SPDX-License-Identifier: Apache-2.0 */
/* test: RANKS 1 2 3 4 */
/* What PT-Scotch is for, that its parts are the same each time, and its limits. */
#define _GNU_SOURCE /* sched_getaffinity() */
#include <pthread.h>
#include <sched.h>
#include <signal.h>

#include "partition/partition.h"
#include "test_main.h"
#include "test_matrix.h"

int spmm_test_thread_level(void)
{
    return MPI_THREAD_MULTIPLE;
}

static void expect_refusal(const spmm_matrix_t *A, const spmm_partition_options_t *options,
                           spmm_status_t status, const char *sentence)
{
    spmm_partition_t partition;

    spmm_assert_error(spmmi_partition_create(A, "ptscotch", options, &partition), status, sentence);
    assert_null(partition.row_part);
}

#ifdef SPMM_HAVE_PTSCOTCH
static spmm_partition_score_t score_of(const spmm_matrix_t *A, const char *spec, double imbalance)
{
    const spmm_partition_options_t options = {.imbalance = imbalance, .seed = 1};
    spmm_partition_t               partition;
    spmm_partition_score_t         score;

    spmm_assert_ok(spmmi_partition_create(A, spec, &options, &partition));
    assert_string_equal(partition.method, spec);
    for (int32_t i = 0; i < A->n_rows; i++) {
        assert_in_range(partition.row_part[i], 0, spmm_test_env.size - 1);
    }
    spmm_assert_ok(spmmi_partition_score(A, &partition, NULL, &score));
    spmmi_partition_free(&partition);
    return score;
}

/* Far fewer rows than blocks, and not many more than METIS, at the allowed balance.
 * @p most  rows to receive on 4 ranks, measured and a fifth */
static void check_quality(const char *spec, int64_t most)
{
    spmm_matrix_t               *A     = spmm_test_generate(&spmm_test_env, spec, 1);
    const spmm_partition_score_t block = score_of(A, "block", 0.0);
    const spmm_partition_score_t wide  = score_of(A, "ptscotch", 1.10);
    const spmm_partition_score_t score = score_of(A, "ptscotch", 0.0);

    assert_true(score.imbalance <= 1.03);
    assert_true(wide.imbalance <= 1.10);
    if (spmm_test_env.size > 1) {
        assert_true(10 * score.halo_total < 3 * block.halo_total);
        assert_true(spmm_test_env.size != 4 || score.halo_total <= most);
#ifdef SPMM_HAVE_METIS
        assert_true(2 * score.halo_total <= 3 * score_of(A, "metis", 0.0).halo_total);
#endif
    }
    if (spmm_test_env.rank == 0) {
        print_message("%s: block %lld, ptscotch %lld rows to receive, imbalance %.3f\n", spec,
                      (long long)block.halo_total, (long long)score.halo_total, score.imbalance);
    }
    spmmi_matrix_free(A);
}

static void test_quality(void **state)
{
    check_quality("stencil9:nx=200,ny=200,shuffle=1", 1300);
    check_quality("stencil27:nx=24,ny=24,nz=24,shuffle=1", 5200); /* finite elements */
}

static void test_rectangular(void **state)
{
    spmm_matrix_t         *A = spmm_test_matrix(&spmm_test_hidden, SPMM_TEST_EVEN, SPMM_TEST_EVEN);
    spmm_partition_score_t block, score;

    block = score_of(A, "block", 0.0);
    score = score_of(A, "ptscotch", 0.0);
    assert_true(spmm_test_env.size == 1 || score.halo_total < block.halo_total / 2);
    assert_true(score.imbalance < 1.5);
    spmmi_matrix_free(A);
}

/* Half of the vertices have no edge. */
static bool every_other(int64_t i, int64_t j)
{
    return i % 2 == 0 && j % 2 == 0 && (i - j == 2 || j - i == 2 || i == j);
}

static void test_isolated_vertices(void **state)
{
    const spmm_test_rule_t  rule     = {"every other row", 256, 256, every_other};
    const spmm_test_split_t splits[] = {SPMM_TEST_EVEN, SPMM_TEST_FIRST_EMPTY,
                                        SPMM_TEST_ALL_ON_LAST};

    for (size_t s = 0; s < sizeof splits / sizeof splits[0]; s++) {
        spmm_matrix_t *A = spmm_test_matrix(&rule, splits[s], splits[s]);

        assert_true(score_of(A, "ptscotch", 1.2).imbalance <= 1.5);
        spmmi_matrix_free(A);
    }
}

static void make_parts(const spmm_matrix_t *A, uint64_t seed, spmm_partition_t *partition)
{
    const spmm_partition_options_t options = {.seed = seed};

    spmm_assert_ok(spmmi_partition_create(A, "ptscotch", &options, partition));
}

static int differ(const spmm_matrix_t *A, const spmm_partition_t *a, const spmm_partition_t *b)
{
    int differs = memcmp(a->row_part, b->row_part, (size_t)A->n_rows * sizeof *a->row_part) != 0;

    MPI_Allreduce(MPI_IN_PLACE, &differs, 1, MPI_INT, MPI_MAX, spmm_test_env.comm);
    return differs;
}

/* Messages that come in another order each time must change nothing. */
static void test_same_seed_same_parts(void **state)
{
    const char *specs[] = {"stencil5:nx=50,ny=50,shuffle=1", "rmat:scale=12,degree=8",
                           "uniform:rows=900,cols=500,degree=5"};
    bool        another = false;

    for (size_t s = 0; s < sizeof specs / sizeof specs[0]; s++) {
        spmm_matrix_t   *A = spmm_test_generate(&spmm_test_env, specs[s], 1);
        spmm_partition_t first, other;

        make_parts(A, 5, &first);
        for (uint64_t seed = UINT64_MAX; seed != 4; seed++) { /* small graphs have one best cut */
            make_parts(A, seed, &other);
            another |= differ(A, &first, &other) != 0;
            spmmi_partition_free(&other);
        }
        for (int k = 0; k < 8; k++) {
            make_parts(A, 5, &other);
            assert_false(differ(A, &first, &other));
            spmmi_partition_free(&other);
        }
        spmmi_partition_free(&first);
        spmmi_matrix_free(A);
    }
    assert_int_equal(another, spmm_test_env.size > 1);
}

/** A thread's own environment and matrix. */
typedef struct {
    spmm_env_t       env;
    spmm_matrix_t   *A;
    spmm_partition_t alone, other;
    spmm_status_t    status;
    bool             same;
} work_t;

static void *work(void *argument)
{
    const spmm_partition_options_t options = {.seed = 5};
    work_t                        *w       = argument;

    w->same = true;
    for (int k = 0; k < 6 && w->status == SPMM_OK; k++) {
        w->status = spmmi_partition_create(w->A, "ptscotch", &options, &w->other);
        if (w->status == SPMM_OK) {
            w->same = w->same && memcmp(w->alone.row_part, w->other.row_part,
                                        (size_t)w->A->n_rows * sizeof *w->alone.row_part) == 0;
            spmmi_partition_free(&w->other);
        }
    }
    return NULL;
}

/* Two contexts in two threads, which come to PT-Scotch in another order on each rank. */
static void test_threads(void **state)
{
    const char *specs[2] = {"stencil5:nx=60,ny=50,shuffle=1", "stencil9:nx=40,ny=40,shuffle=1"};
    work_t      w[2]     = {0};
    pthread_t   thread[2];
    int         level;

    MPI_Query_thread(&level);
    if (level < MPI_THREAD_MULTIPLE) {
        skip();
    }
    for (int t = 0; t < 2; t++) {
        w[t].env = spmm_test_env;
        MPI_Comm_dup(spmm_test_env.comm, &w[t].env.comm);
        spmm_assert_ok(spmmi_matrix_from_spec(&w[t].env, specs[t], SPMM_R_32F, 1, &w[t].A));
        make_parts(w[t].A, 5, &w[t].alone);
    }
    for (int t = 0; t < 2; t++) { /* another one first on every other rank */
        assert_int_equal(pthread_create(&thread[t], NULL, work, &w[(t + spmm_test_env.rank) % 2]),
                         0);
    }
    for (int t = 0; t < 2; t++) {
        (void)pthread_join(thread[t], NULL);
    }
    for (int t = 0; t < 2; t++) {
        assert_int_equal(w[t].status, SPMM_OK);
        assert_true(w[t].same);
        spmmi_partition_free(&w[t].alone);
        spmmi_matrix_free(w[t].A);
        MPI_Comm_free(&w[t].env.comm);
    }
}

/* Handlers, the cores of this thread and what is printed are the program's. */
static void test_leaves_the_process_alone(void **state)
{
    const int        signals[] = {SIGABRT, SIGTERM, SIGSEGV, SIGINT};
    struct sigaction before[4], after;
    cpu_set_t        cores, then;
    spmm_matrix_t   *A = spmm_test_generate(&spmm_test_env, "stencil5:nx=50,ny=50,shuffle=1", 1);
    spmm_partition_t partition;

    for (int s = 0; s < 4; s++) {
        (void)sigaction(signals[s], NULL, &before[s]);
    }
    (void)sched_getaffinity(0, sizeof cores, &cores);
    make_parts(A, 1, &partition);
    (void)sched_getaffinity(0, sizeof then, &then);
    assert_true(CPU_EQUAL(&cores, &then));
    for (int s = 0; s < 4; s++) {
        (void)sigaction(signals[s], NULL, &after);
        assert_true(after.sa_handler == before[s].sa_handler);
    }
    spmmi_partition_free(&partition);
    spmmi_matrix_free(A);
}

/* Fewer than 16 vertices a part: blocks, and the log says so.  (No entries: test_partition.c.) */
static void test_blocks_instead(void **state)
{
    spmm_matrix_t *A   = spmm_test_generate(&spmm_test_env, "stencil5:nx=3,ny=2", 1);
    const char    *log = spmm_test_keep_log(true);

    assert_int_equal(score_of(A, "ptscotch", 0.0).halo_total, score_of(A, "block", 0.0).halo_total);
    (void)spmm_test_keep_log(false);
    assert_int_equal(strstr(log, "partition ptscotch: too few vertices") != NULL,
                     spmm_test_env.size > 1 && spmm_test_env.rank == 0);
    spmmi_matrix_free(A);
}

static void test_objective(void **state)
{
    const spmm_partition_options_t vol = {.objective = "vol"}, cut = {.objective = "cut"};
    spmm_matrix_t   *A = spmm_test_generate(&spmm_test_env, "stencil5:nx=20,ny=20", 1);
    spmm_partition_t partition;

    expect_refusal(A, &vol, SPMM_ERR_ARGUMENT, "partition ptscotch has no objective vol");
    spmm_assert_ok(spmmi_partition_create(A, "ptscotch", &cut, &partition));
    spmmi_partition_free(&partition);
    spmm_assert_ok(spmmi_partition_create(A, "auto", &vol, &partition));
    spmmi_partition_free(&partition);
    spmmi_matrix_free(A);
}

#else

static void test_missing(void **state)
{
    spmm_matrix_t *A = spmm_test_generate(&spmm_test_env, "stencil5:nx=20,ny=20", 1);

    expect_refusal(A, NULL, SPMM_ERR_UNSUPPORTED, "without PT-Scotch");
    spmmi_matrix_free(A);
}
#endif

#ifdef SPMM_HAVE_PTSCOTCH
SPMM_TESTS(test_quality, test_rectangular, test_isolated_vertices, test_same_seed_same_parts,
           test_threads, test_leaves_the_process_alone, test_blocks_instead, test_objective);
#else
SPMM_TESTS(test_missing);
#endif
