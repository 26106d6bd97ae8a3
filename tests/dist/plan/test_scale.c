/* SPDX-License-Identifier: Apache-2.0 */
/* test: RANKS 1 2 3 4 8 */
/** @file test_scale.c  What is counted for ranks that are not there: as plans of as many ranks
 *  count it, and for eight ranks by looking at every pair of entries. */
#include "test_context.h"

/* What @p spec would exchange, counted on this rank alone. */
static spmm_scale_info_t count(const char *spec, int64_t n, const spmm_scale_options_t *o)
{
    spmm_context_t   *ctx  = test_context_on(MPI_COMM_SELF, 0);
    spmm_scale_info_t info = {.struct_size = sizeof info};
    spmm_matrix_t    *A;

    spmm_assert_ok(spmm_matrix_generate(ctx, spec, SPMM_R_32F, 5, &A));
    spmm_assert_ok(spmm_matrix_scale(A, n, o, &info));
    test_context_destroy(NULL, &A, &ctx);
    return info;
}

static void assert_flow(const spmm_flow_t *a, const spmm_flow_t *b)
{
    assert_int_equal(a->rows, b->rows);
    assert_int_equal(a->rows_max, b->rows_max);
    assert_int_equal(a->bytes, b->bytes);
    assert_int_equal(a->bytes_max, b->bytes_max);
    assert_int_equal(a->messages, b->messages);
    assert_int_equal(a->messages_max, b->messages_max);
}

/* A plan of all ranks counts what was predicted for it: flat or node-aware. */
static void check_plan(const char *spec, const char *partition, int per_node, const char *exchange)
{
    spmm_context_t      *ctx = test_context_on(spmm_test_env.comm, per_node);
    spmm_scale_options_t o   = SPMM_SCALE_OPTIONS_INIT;
    spmm_plan_stats_t    stats;
    const bool           node = strcmp(exchange, "node") == 0;
    spmm_scale_info_t    info;
    spmm_matrix_t       *A;
    spmm_plan_t         *plan;

    o.ranks          = spmm_test_env.size;
    o.ranks_per_node = per_node;
    o.partition      = partition;
    info             = count(spec, 24, &o);
    spmm_assert_ok(spmm_matrix_generate(ctx, spec, SPMM_R_32F, 5, &A));
    plan  = test_context_plan(A, 24, .partition = partition,
                              .tuning = node ? "exchange=node" : "exchange=flat");
    stats = test_context_stats(plan);
    assert_string_equal(info.partition, partition);
    assert_int_equal(info.nodes, (spmm_test_env.size + per_node - 1) / per_node);
    assert_flow(node ? &info.node_between : &info.flat_between, &stats.between);
    if (!node) {
        assert_flow(&info.flat_within, &stats.within);
        assert_true(spmm_test_env.size == 1 || stats.within.rows + stats.between.rows > 0);
    }
    test_context_destroy(&plan, &A, &ctx);
}

static void test_ways(void **state)
{
    const char *const specs[][2] = {{"rmat:scale=12,degree=3", "metis"}, /* has hubs */
                                    {"rmat:scale=9,degree=6", "block"},
                                    {"uniform:rows=300,cols=700,degree=4", "block"}};

    for (int per_node = 2; per_node < spmm_test_env.size && per_node <= 3; per_node++) {
        for (int k = 0; k < 3; k++) {
            check_plan(specs[k][0], specs[k][1], per_node, "node");
        }
    }
}

static void test_plans(void **state)
{
    const char *const specs[][2] = {{"rmat:scale=9,degree=6", "metis"},
                                    {"stencil9:nx=31,ny=40,shuffle=1", "metis"},
                                    {"stencil9:nx=31,ny=40,shuffle=1", "block"},
                                    {"uniform:rows=700,cols=300,degree=4", "metis"},
                                    {"uniform:rows=300,cols=700,degree=4", "block"}};

    for (int per_node = 1; per_node <= 3; per_node++) {
        for (int k = 0; k < 5; k++) {
            check_plan(specs[k][0], specs[k][1], per_node, "flat");
        }
    }
}

/** A matrix in blocks of equally many rows and columns on ranks. */
enum { SIDE = 96, RANKS = 8, EACH = SIDE / RANKS, PER_NODE = 2 };
typedef struct {
    bool a[SIDE][SIDE];
} dense_t;

/* Rows of @p length entries each, which block parts evenly; every third row has its own in few
 * columns, and all have one in column 40. */
static void draw(dense_t *d, int length)
{
    memset(d, 0, sizeof *d);
    for (int i = 0; i < SIDE; i++) {
        const int among = i % 3 == 0 ? 2 * length : SIDE;

        d->a[i][40] = true;
        for (int64_t k = 0, n = 1; n < length; k++) {
            const int j = (int)(spmmi_hash2(3, i, k) % (uint64_t)among);

            n += !d->a[i][j];
            d->a[i][j] = true;
        }
    }
}

/* Columns of [from, from + n) with an entry in rows [to, to + m). */
static int64_t needed(const dense_t *d, int from, int n, int to, int m)
{
    int64_t count = 0;

    for (int j = from; j < from + n; j++) {
        bool used = false;

        for (int i = to; i < to + m; i++) {
            used = used || d->a[i][j];
        }
        count += used;
    }
    return count;
}

/* The counts of eight ranks, two a node, from the definition. */
static void count_all(const dense_t *d, spmm_scale_info_t *want)
{
    const int node = EACH * PER_NODE;

    memset(want, 0, sizeof *want);
    for (int p = 0; p < RANKS; p++) {
        for (int q = 0; q < RANKS; q++) {
            const bool    within = p / PER_NODE == q / PER_NODE;
            spmm_flow_t  *flow   = within ? &want->flat_within : &want->flat_between;
            const int64_t rows   = p == q ? 0 : needed(d, q * EACH, EACH, p * EACH, EACH);

            flow->rows += rows;
            flow->messages += rows > 0;
        }
    }
    for (int from = 0; from < SIDE; from += node) {
        for (int to = 0; to < SIDE; to += node) {
            want->node_between.rows += from == to ? 0 : needed(d, from, node, to, node);
        }
    }
}

static double entry_of(const void *dense, int64_t i, int64_t j)
{
    return ((const dense_t *)dense)->a[i][j] ? 1.0 : 0.0;
}

static void test_by_definition(void **state)
{
    static dense_t       d;
    spmm_scale_options_t o = SPMM_SCALE_OPTIONS_INIT;

    o.ranks          = RANKS;
    o.ranks_per_node = PER_NODE;
    o.partition      = "block";
    for (int length = 1; length < SIDE / 2; length *= 3) {
        spmm_context_t   *ctx  = test_context_on(MPI_COMM_SELF, 0);
        spmm_scale_info_t info = {.struct_size = sizeof info}, want;
        spmm_matrix_t    *A;

        draw(&d, length);
        A = test_context_rule(ctx, SPMM_R_64F, 0, SIDE, SIDE, SIDE, entry_of, &d);
        spmm_assert_ok(spmm_matrix_scale(A, 1, &o, &info));
        count_all(&d, &want);
        assert_int_equal(info.flat_within.rows, want.flat_within.rows);
        assert_int_equal(info.flat_between.rows, want.flat_between.rows);
        assert_int_equal(info.flat_between.messages, want.flat_between.messages);
        assert_int_equal(info.node_between.rows, want.node_between.rows);
        assert_true(info.node_between.messages_max <= RANKS / PER_NODE - 1);
        assert_true(info.node_between.rows_max * RANKS >= info.node_between.rows);
        test_context_destroy(NULL, &A, &ctx);
    }
}

static void expect_refused(spmm_matrix_t *A, const spmm_scale_options_t *o, spmm_status_t status,
                           const char *words)
{
    spmm_scale_info_t info = {.struct_size = sizeof info};

    assert_int_equal(spmm_matrix_scale(A, 4, o, &info), status);
    assert_non_null(strstr(spmmi_error_thread_text(), words));
}

static void test_refused(void **state)
{
    spmm_context_t      *ctx = test_context_on(spmm_test_env.comm, 0);
    spmm_scale_options_t o   = SPMM_SCALE_OPTIONS_INIT;
    spmm_matrix_t       *A;

    spmm_assert_ok(spmm_matrix_generate(ctx, "banded:rows=99,band=1", SPMM_R_64F, 0, &A));
    o.ranks = 8;
    if (spmm_test_env.size > 1) {
        expect_refused(A, &o, SPMM_ERR_UNSUPPORTED, "is counted on one rank");
    } else {
        expect_refused(A, NULL, SPMM_ERR_ARGUMENT, "the scale options are NULL");
        o.ranks = 0;
        expect_refused(A, &o, SPMM_ERR_ARGUMENT, "ranks is 0, must be 1 to 16384");
        o.ranks          = 8;
        o.ranks_per_node = -1;
        expect_refused(A, &o, SPMM_ERR_ARGUMENT, "ranks_per_node is -1, must be >= 0");
        o.ranks_per_node = 3;
        o.partition      = "keep";
        expect_refused(A, &o, SPMM_ERR_ARGUMENT, "partition 'keep' cannot be made");
        o.partition = "block";
        o.tuning    = "objective=most";
        expect_refused(A, &o, SPMM_ERR_ARGUMENT, "objective takes auto, vol, cut, not \"most\"");
        o.tuning = "seed=4,chunks=2";
        expect_refused(A, &o, SPMM_ERR_ARGUMENT, "no key \"chunks\" here; there is objective seed");
        o.tuning    = NULL;
        o.imbalance = NAN;
        expect_refused(A, &o, SPMM_ERR_ARGUMENT, "partition imbalance nan");
    }
    test_context_destroy(NULL, &A, &ctx);
}

SPMM_TESTS(test_plans, test_ways, test_by_definition, test_refused);
