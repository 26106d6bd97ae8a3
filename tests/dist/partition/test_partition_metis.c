/* SPDX-License-Identifier: Apache-2.0 */
/* test: RANKS 1 2 3 4 */
/* What METIS is for, its limits, and the choice of auto. */
#define _POSIX_C_SOURCE 200809L /* sigaction() */

#include <pthread.h>
#include <signal.h>

#include "partition/metis/graph.h"
#include "partition/metis/parts.h"
#include "partition/partition.h"
#include "test_main.h"
#include "test_matrix.h"

static spmm_partition_score_t score_of(const spmm_matrix_t *A, const char *spec,
                                       const char *objective, const char *winner)
{
    const spmm_partition_options_t options = {.objective = objective, .seed = 1};
    spmm_partition_t               partition;
    spmm_partition_score_t         score;

    spmm_assert_ok(spmmi_partition_create(A, spec, &options, &partition));
    assert_string_equal(partition.method, winner);
    spmm_assert_ok(spmmi_partition_score(A, &partition, NULL, &score));
    assert_int_equal(partition.note != NULL && strstr(partition.note, "taken by auto") != NULL,
                     strcmp(spec, "auto") == 0 && spmm_test_env.size > 1);
    if (strcmp(spec, "auto") == 0 && strcmp(winner, "ptscotch") == 0) {
        assert_non_null(strstr(partition.note, "; METIS "));
    }
    spmmi_partition_free(&partition);
    return score;
}

#ifdef SPMM_HAVE_METIS
/* Measured with 4 parts: block 431,332 rows to receive, metis 1,794. */
static void test_shuffled_grid(void **state)
{
    spmm_matrix_t         *A;
    spmm_partition_score_t block, vol, cut;

    if (spmm_test_env.size != 4) {
        skip();
    }
    A     = spmm_test_generate(&spmm_test_env, "stencil9:nx=400,ny=400,shuffle=1", 1);
    block = score_of(A, "block", "vol", "block");
    vol   = score_of(A, "metis", "vol", "metis");
    cut   = score_of(A, "metis", "cut", "metis");
    assert_true(block.halo_total > 400000);
    assert_true(vol.halo_total <= 2000);
    assert_true(cut.halo_total <= 2400);
    assert_true(vol.imbalance <= 1.04);
    assert_true(vol.halo_max <= vol.halo_total / 2);
    assert_int_equal(score_of(A, "auto", "vol", "metis").halo_total, vol.halo_total);
    if (spmm_test_env.rank == 0) {
        print_message("shuffled 400x400 grid: block %lld, vol %lld, cut %lld\n",
                      (long long)block.halo_total, (long long)vol.halo_total,
                      (long long)cut.halo_total);
    }
    spmmi_matrix_free(A);
}

static void test_rectangular(void **state)
{
    spmm_matrix_t         *A = spmm_test_matrix(&spmm_test_hidden, SPMM_TEST_EVEN, SPMM_TEST_EVEN);
    spmm_partition_score_t block, metis;

    block = score_of(A, "block", "vol", "block");
    metis = score_of(A, "metis", "vol", "metis");
    assert_true(spmm_test_env.size == 1 || metis.halo_total < block.halo_total / 2);
    assert_true(metis.imbalance < 1.5);
    spmmi_matrix_free(A);
}

/* A row of 140 of 418 entries is 1.34 of 4 parts: METIS cannot balance that, the log says so. */
static void test_heavy_row(void **state)
{
    spmm_matrix_t *A   = spmm_test_matrix(&spmm_test_rules[9], SPMM_TEST_EVEN, SPMM_TEST_EVEN);
    const char    *log = spmm_test_keep_log(true);

    assert_string_equal(spmm_test_rules[9].name, "arrow");
    (void)score_of(A, "metis", "vol", "metis");
    (void)spmm_test_keep_log(false);
    assert_int_equal(strstr(log, "the heaviest row weighs 1.340 of a part") != NULL,
                     spmm_test_env.size == 4 && spmm_test_env.rank == 0);
    spmmi_matrix_free(A);
}

static void make_parts(const spmm_matrix_t *A, uint64_t seed, spmm_partition_t *partition)
{
    const spmm_partition_options_t options = {.seed = seed};

    spmm_assert_ok(spmmi_partition_create(A, "metis", &options, partition));
}

static void test_same_seed_same_parts(void **state)
{
    spmm_matrix_t   *A = spmm_test_generate(&spmm_test_env, "stencil5:nx=50,ny=50,shuffle=1", 1);
    spmm_partition_t a, b, c;
    int              differs;

    make_parts(A, 5, &a);
    make_parts(A, 5, &b);
    make_parts(A, UINT64_MAX, &c);
    assert_memory_equal(a.row_part, b.row_part, (size_t)A->n_rows * sizeof *a.row_part);
    differs = memcmp(a.row_part, c.row_part, (size_t)A->n_rows * sizeof *a.row_part) != 0;
    MPI_Allreduce(MPI_IN_PLACE, &differs, 1, MPI_INT, MPI_MAX, spmm_test_env.comm);
    assert_int_equal(differs, spmm_test_env.size > 1);
    spmmi_partition_free(&a);
    spmmi_partition_free(&b);
    spmmi_partition_free(&c);
    spmmi_matrix_free(A);
}

/* A matrix that only claims to be too large: metis must refuse before it gathers anything. */
static void test_too_large(void **state)
{
    spmm_matrix_t   *A   = spmm_test_matrix(&spmm_test_rules[7], SPMM_TEST_EVEN, SPMM_TEST_EVEN);
    const int64_t    nnz = A->nnz;
    spmm_partition_t partition;

    if (spmm_test_env.size == 1) {
        spmmi_matrix_free(A);
        skip();
    }
    A->nnz = INT64_MAX / 2;
    spmm_assert_error(spmmi_partition_create(A, "metis", NULL, &partition), SPMM_ERR_UNSUPPORTED,
                      "use partition ptscotch, block or file");
    spmm_assert_ok(spmmi_partition_create(A, "auto", NULL, &partition));
    assert_string_equal(partition.method, "block");
    assert_int_equal(spmm_test_env.err.status, SPMM_OK);
    A->nnz = nnz;
    spmmi_partition_free(&partition);
    spmmi_matrix_free(A);
}

/* Where METIS refuses, auto takes ptscotch, whatever the objective; without it block. */
static void test_auto_beyond_metis(void **state)
{
    spmm_matrix_t *A      = spmm_test_generate(&spmm_test_env, "stencil5:nx=40,ny=40,shuffle=1", 1);
    const char    *winner = "block";

#ifdef SPMM_HAVE_PTSCOTCH
    winner = spmm_test_env.size == 1 ? "block" : "ptscotch";
#endif
    spmmi_metis_most = 9000; /* 6,240 edges, three times for vol */
    (void)score_of(A, "auto", "vol", winner);
    (void)score_of(A, "auto", NULL, winner);
    (void)score_of(A, "auto", "cut", spmm_test_env.size == 1 ? "block" : "metis");
    spmmi_metis_most = 6000;
    (void)score_of(A, "auto", "cut", winner);
    spmmi_metis_most = IDX_MAX;
    assert_int_equal(spmm_test_env.err.status, SPMM_OK);
    spmmi_matrix_free(A);
}

/* 6,240 edges, both directions counted, in two parts: large where more are not small. */
static void test_large_in_two(void **state)
{
    static const idx_t small[] = {6240, 6239};
    const idx_t        before  = spmmi_metis_small;
    spmm_matrix_t     *A = spmm_test_generate(&spmm_test_env, "stencil5:nx=40,ny=40,shuffle=1", 1);

    for (int k = 0; k < 2; k++) {
        const bool  cuts = k == 1 && spmm_test_env.size == 2 && spmm_test_env.rank == 0;
        const char *log  = spmm_test_keep_log(true);

        spmmi_metis_small = small[k];
        (void)score_of(A, "metis", NULL, "metis");
        assert_int_equal(strstr(log, "objective cut") != NULL, cuts);
        (void)spmm_test_keep_log(true);
        (void)score_of(A, "metis", "vol", "metis");
        assert_null(strstr(log, "objective cut"));
    }
    (void)spmm_test_keep_log(false);
    spmmi_metis_small = before;
    spmmi_matrix_free(A);
}

#else

static void test_missing(void **state)
{
    spmm_matrix_t   *A = spmm_test_generate(&spmm_test_env, "stencil5:nx=20,ny=20", 1);
    spmm_partition_t partition;

    spmm_assert_error(spmmi_partition_create(A, "metis", NULL, &partition), SPMM_ERR_UNSUPPORTED,
                      "METIS");
    spmmi_matrix_free(A);
}
#endif

/* Nothing beats consecutive rows of a matrix without neighbours. */
static void test_auto_takes_block(void **state)
{
    spmm_matrix_t *A = spmm_test_matrix(&spmm_test_rules[5], SPMM_TEST_EVEN, SPMM_TEST_EVEN);

    assert_string_equal(spmm_test_rules[5].name, "diagonal");
    assert_int_equal(score_of(A, "auto", "vol", "block").halo_total, 0);
    spmmi_matrix_free(A);
}

static void test_auto_says_why(void **state)
{
    spmm_matrix_t *A   = spmm_test_generate(&spmm_test_env, "stencil5:nx=40,ny=40,shuffle=1", 1);
    const char    *log = spmm_test_keep_log(true);

#ifdef SPMM_HAVE_METIS
    (void)score_of(A, "auto", "vol", spmm_test_env.size == 1 ? "block" : "metis");
#elif defined(SPMM_HAVE_PTSCOTCH)
    (void)score_of(A, "auto", "vol", spmm_test_env.size == 1 ? "block" : "ptscotch");
#else
    (void)score_of(A, "auto", "vol", "block");
#endif
    (void)spmm_test_keep_log(false);
    if (spmm_test_env.rank == 0 && spmm_test_env.size > 1) {
        assert_non_null(strstr(log, "partition auto: "));
        assert_non_null(strstr(log, "block"));
    }
    spmmi_matrix_free(A);
}

#ifdef SPMM_HAVE_METIS
enum { CALLERS = 4, PARTS = 8 };

/** A graph cut by a thread of its own, as contexts of several threads do. */
typedef struct {
    spmm_env_t                env;
    const spmm_metis_graph_t *graph;
    idx_t                    *part;
    spmm_status_t             status;
} caller_t;

static void *call(void *self)
{
    static const spmm_partition_options_t options = {.imbalance = 1.03, .seed = 1};
    caller_t                             *c       = self;

    c->status = spmmi_metis_parts(&c->env, &options, c->graph, PARTS, c->part);
    return NULL;
}

static caller_t new_caller(const spmm_metis_graph_t *graph)
{
    return (caller_t){.env   = spmm_test_env,
                      .graph = graph,
                      .part  = spmm_test_malloc((size_t)graph->n_vertices * sizeof(idx_t))};
}

/* METIS is called by one thread at a time: others change no part, and no handler of a signal is
 * left behind. */
static void test_callers(void **state)
{
    spmm_matrix_t     *A = spmm_test_generate(&spmm_test_env, "rmat:scale=11,degree=6", 1);
    spmm_metis_graph_t graph;
    struct sigaction   before, after;
    caller_t           alone, caller[CALLERS];
    pthread_t          thread[CALLERS];

    assert_int_equal(sigaction(SIGTERM, NULL, &before), 0);
    spmm_assert_ok(spmmi_metis_graph_create(A, PARTS, INT32_MAX / 4, &graph));
    if (spmm_test_env.rank == 0) { /* which has the graph */
        alone = new_caller(&graph);
        (void)call(&alone);
        spmm_assert_ok(alone.status);
        for (int k = 0; k < CALLERS; k++) {
            caller[k] = new_caller(&graph);
            assert_int_equal(pthread_create(&thread[k], NULL, call, &caller[k]), 0);
        }
        for (int k = 0; k < CALLERS; k++) {
            assert_int_equal(pthread_join(thread[k], NULL), 0);
            spmm_assert_ok(caller[k].status);
            assert_memory_equal(caller[k].part, alone.part,
                                (size_t)graph.n_vertices * sizeof(idx_t));
            free(caller[k].part);
        }
        free(alone.part);
    }
    spmmi_metis_graph_free(&graph);
    spmmi_matrix_free(A);
    assert_int_equal(sigaction(SIGTERM, NULL, &after), 0);
    assert_true(after.sa_handler == before.sa_handler);
}

SPMM_TESTS(test_shuffled_grid, test_rectangular, test_heavy_row, test_same_seed_same_parts,
           test_too_large, test_auto_beyond_metis, test_large_in_two, test_auto_takes_block,
           test_auto_says_why, test_callers);
#else
SPMM_TESTS(test_missing, test_auto_takes_block, test_auto_says_why);
#endif
