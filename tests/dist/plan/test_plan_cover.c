/* SPDX-License-Identifier: Apache-2.0 */
/* test: RANKS 1 2 4 ENV SPMM_CHECK=0 */
/** @file test_plan_cover.c  Option cover: what is taken, refused and reported, and equal bits from
 *  run to run.  Products are those of test_schedule.c, run as cover and cover_levels; what is
 *  predicted is counted in test_scale.c. */
#include "test_context.h"

#include <stdlib.h>

enum { N = 3 };

static spmm_context_t *ctx;
static spmm_matrix_t  *A;

/* Ranks own EACH rows.  Of the entries between ranks those of the first row of each rank need all
 * columns, and those of the first column of each rank all rows: two rows a pair cover them. */
enum { EACH = 12 };

static void open_hubs(int ranks_per_node)
{
    spmm_context_options_t o = SPMM_CONTEXT_OPTIONS_INIT;
    const int64_t          n = (int64_t)EACH * spmm_test_env.size;
    int64_t                ptr[EACH + 1], *col = malloc(sizeof *col * EACH * (size_t)n);
    double                *values = malloc(sizeof *values * EACH * (size_t)n);

    ptr[0] = 0;
    for (int64_t i = 0; i < EACH; i++) {
        ptr[i + 1] = ptr[i];
        for (int64_t j = 0; j < n; j++) {
            if (i == 0 || j % EACH == 0) {
                values[ptr[i + 1]] = spmmi_random_value(7, spmm_test_env.rank * EACH + i, j);
                col[ptr[i + 1]++]  = j;
            }
        }
    }
    o.device         = SPMM_DEVICE_CPU;
    o.ranks_per_node = ranks_per_node;
    spmm_assert_ok(spmm_context_create(spmm_test_env.comm, &o, &ctx));
    spmm_assert_ok(spmm_matrix_create_csr(ctx, EACH, EACH, ptr, col, values, SPMM_R_64F, &A));
    spmm_test_free(col, values);
}

static void close_hubs(void)
{
    test_context_destroy(NULL, &A, &ctx);
}

static spmm_status_t make(const spmm_plan_options_t *o, spmm_plan_t **plan)
{
    return spmm_plan_create(A, N, o, plan);
}

static spmm_plan_stats_t stats_of(const spmm_plan_t *plan)
{
    spmm_plan_stats_t stats = {.struct_size = sizeof stats};

    spmm_assert_ok(spmm_plan_get_stats(plan, &stats));
    return stats;
}

/* Two rows between each two ranks, or nodes, in place of EACH. */
static void check_counts(spmm_op_t op, int per_node)
{
    spmm_plan_options_t o     = SPMM_PLAN_OPTIONS_INIT;
    const int64_t       ranks = spmm_test_env.size, nodes = ranks / per_node;
    int64_t             traffic[4], sum                   = 0;
    spmm_plan_t        *plan;
    spmm_plan_stats_t   s;
    char               *text;

    o.op     = op;
    o.levels = per_node > 1 ? "node" : "flat";
    o.cover  = "both";
    open_hubs(per_node);
    spmm_assert_ok(make(&o, &plan));
    s = stats_of(plan);
    assert_string_equal(s.cover, "both");
    assert_true(s.moved_nnz > 0);
    assert_int_equal(s.between.rows, nodes * (nodes - 1) * 2 * per_node);
    assert_int_equal(s.between.bytes, s.between.rows * N * (int64_t)sizeof(double));
    spmm_assert_ok(spmm_plan_get_traffic(plan, traffic));
    for (int p = 0; p < ranks; p++) {
        sum += traffic[p];
    }
    MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_INT64_T, MPI_SUM, spmm_test_env.comm);
    assert_int_equal(sum, s.between.rows + s.within.rows);
    text = test_context_explain(plan);
    assert_non_null(strstr(text, per_node > 1 ? "cover both of pairs of nodes, "
                                              : "cover both of pairs of ranks, "));
    free(text);
    test_context_destroy(&plan, NULL, NULL);
    close_hubs();
}

static void test_counts(void **state)
{
    if (spmm_test_env.size > 1) {
        check_counts(SPMM_OP_N, 1);
        check_counts(SPMM_OP_T, 1);
    }
    if (spmm_test_env.size == 4) {
        check_counts(SPMM_OP_N, 2);
        check_counts(SPMM_OP_T, 2);
    }
}

/* Two plans and two products of each give the same bits. */
static void test_equal_bits(void **state)
{
    spmm_plan_options_t o = SPMM_PLAN_OPTIONS_INIT;
    double              B[EACH * N], C[4][EACH * N];

    o.cover         = "both";
    o.deterministic = 1;
    open_hubs(1);
    for (int k = 0; k < EACH * N; k++) {
        B[k] = spmmi_random_value(3, spmm_test_env.rank, k);
    }
    for (int c = 0; c < 4; c += 2) {
        spmm_plan_t *plan;

        spmm_assert_ok(make(&o, &plan));
        spmm_assert_ok(spmm_execute(plan, N, 1.0, B, N, 0.0, C[c], N, NULL));
        spmm_assert_ok(spmm_execute(plan, N, 1.0, B, N, 0.0, C[c + 1], N, NULL));
        test_context_destroy(&plan, NULL, NULL);
    }
    for (int c = 1; c < 4; c++) {
        assert_memory_equal(C[0], C[c], sizeof C[0]);
    }
    close_hubs();
}

/* Rank 0 alone refuses a product: all hear of it in that or the next one, without a timeout that
 * they would need if one of both exchanges were left out. */
static void check_out_of_step(spmm_op_t op, int per_node)
{
    spmm_plan_options_t o               = SPMM_PLAN_OPTIONS_INIT;
    const bool          first           = spmm_test_env.rank == 0;
    static double       B[EACH * N + 1] = {1.0}, C[EACH * N + 1];
    spmm_status_t       status[2];
    spmm_plan_t        *plan;

    o.op     = op;
    o.cover  = "both";
    o.levels = per_node > 1 ? "node" : "flat";
    open_hubs(per_node);
    spmm_assert_ok(make(&o, &plan));
    for (int k = 0; k < 2; k++) {
        status[k] = spmm_execute(plan, first && k == 0 ? N + 1 : N, 1.0, B, N, 0.0, C, N, NULL);
    }
    assert_int_equal(status[0], first ? SPMM_ERR_ARGUMENT : SPMM_ERR_COMM);
    assert_int_equal(status[1], SPMM_ERR_COMM);
    test_context_destroy(&plan, NULL, NULL);
    close_hubs();
}

static void test_out_of_step(void **state)
{
    if (spmm_test_env.size > 1) {
        check_out_of_step(SPMM_OP_N, 1);
        check_out_of_step(SPMM_OP_T, 1);
    }
    if (spmm_test_env.size == 4) {
        check_out_of_step(SPMM_OP_N, 2);
        check_out_of_step(SPMM_OP_T, 2);
    }
}

/* Where rows move between ranks of several nodes auto compares; else it leaves entries alone. */
static void test_auto(void **state)
{
    spmm_plan_options_t o     = SPMM_PLAN_OPTIONS_INIT;
    const bool          nodes = spmm_test_env.size > 1;
    spmm_plan_t        *plan;
    char               *text;

    open_hubs(1);
    spmm_assert_ok(make(&o, &plan));
    assert_string_equal(stats_of(plan).cover, "rows");
    text = test_context_explain(plan);
    assert_true(!nodes || strstr(text, "cover rows: both is taken by name alone where no row"));
    free(text);
    test_context_destroy(&plan, &A, NULL);
    spmm_assert_ok(spmm_matrix_generate(ctx, "rmat:scale=9,degree=8", SPMM_R_64F, 1, &A));
    o.partition = "metis";
    spmm_assert_ok(make(&o, &plan));
    text = test_context_explain(plan);
    assert_true(!nodes || strstr(text, ": between nodes rows of B alone are predicted to take "));
    free(text);
    test_context_destroy(&plan, NULL, NULL);
    close_hubs();
}

static void check_refused(const spmm_plan_options_t *o, spmm_status_t status, const char *sentence)
{
    spmm_plan_t *plan = NULL;

    assert_int_equal(make(o, &plan), status);
    assert_non_null(strstr(spmm_last_error(ctx), sentence));
    assert_null(plan);
}

static void test_refused(void **state)
{
    spmm_plan_options_t o = SPMM_PLAN_OPTIONS_INIT;
    spmm_plan_t        *plan;
    double              values[1] = {0.0};

    open_hubs(1);
    o.cover = "least";
    check_refused(&o, SPMM_ERR_ARGUMENT, "there is no cover \"least\"; there are rows, both, and ");
    o.cover        = "both";
    o.reproducible = 1;
    check_refused(&o, SPMM_ERR_UNSUPPORTED, "cover both is not for reproducible plans");
    o.reproducible = 0;
    spmm_assert_ok(make(&o, &plan));
    if (spmm_test_env.size > 1) {
        int64_t rows[EACH * 4];

        assert_int_equal(spmm_plan_update_values(plan, values, NULL), SPMM_ERR_UNSUPPORTED);
        assert_int_equal(spmm_plan_get_halo(plan, rows), SPMM_ERR_UNSUPPORTED);
        o.cover = spmm_test_env.rank == 0 ? "both" : "rows";
        test_context_destroy(&plan, NULL, NULL);
        check_refused(&o, SPMM_ERR_ARGUMENT, "cover");
    } else {
        test_context_destroy(&plan, NULL, NULL);
    }
    close_hubs();
}

SPMM_TESTS(test_counts, test_equal_bits, test_auto, test_refused, test_out_of_step);
