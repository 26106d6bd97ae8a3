/* SPDX-License-Identifier: Apache-2.0 */
/* test: RANKS 1 2 3 4 */
/* test: RANKS 1 2 4 DEVICE cuda */
/** @file test_schedule.c  Every schedule where a rank is alone, and times of its parts.  Products
 *  are those of test_plan.c. */
#include "plan_case.h"

#include "plan/plan.h"

/** A way to run a product. */
typedef struct {
    const char *schedule;
    int         chunks;
} way_t;

static const way_t ways[] = {{"overlap", 1}, {"overlap", 2}, {"overlap", 4}, {"merged", 1}};
enum { N_WAYS = sizeof ways / sizeof ways[0] };

/* Rank 0 has a block of its own; the others form a ring.  2 rows a rank. */
static int next_of(int rank)
{
    return rank == 0 ? 0 : rank % (spmm_test_env.size - 1) + 1;
}

static spmm_status_t create_ring(spmm_matrix_t **A)
{
    const int64_t me        = spmm_test_env.rank;
    const int64_t next      = next_of(spmm_test_env.rank);
    const int64_t row_ptr[] = {0, 2, 3};
    const int64_t col[]     = {2 * me, 2 * next + (next == me), 2 * next};
    const double  values[]  = {2.0, 3.0, 5.0};

    return spmm_matrix_create_csr(ctx, 2, 2, row_ptr, col, values, SPMM_R_64F, A);
}

static void product_of_ring(spmm_plan_t *plan)
{
    const int    me = spmm_test_env.rank, next = next_of(me);
    const double own = (double)(1 + 2 * me), other = (double)(1 + 2 * next);
    double       B[2] = {own, own + 1.0}, C[2] = {NAN, NAN};
    void        *b = to_device(B, sizeof B), *c = to_device(C, sizeof C);

    spmm_assert_ok(spmm_execute(plan, 1, 1.0, b, 1, 0.0, c, 1, NULL));
    spmm_assert_ok(spmm_buffer_copy(ctx, C, c, sizeof C));
    assert_true(C[0] == 2.0 * own + 3.0 * (next == me ? other + 1.0 : other));
    assert_true(C[1] == 5.0 * other);
    test_context_free(ctx, &b, &c);
}

/* Spans lie within the execute and add up to what the stats say. */
static void check_timeline(const spmm_plan_t *plan, const spmm_plan_stats_t *stats)
{
    spmm_span_t spans[SPMM_MOST_SPANS];
    double      pack = 0.0, exchange = 0.0, halo = 0.0, local = 0.0;
    int         count;

    spmm_assert_ok(spmm_plan_get_timeline(plan, SPMM_MOST_SPANS, spans, &count));
    assert_true(count >= 1 && count <= SPMM_MOST_SPANS);
    for (int k = 0; k < count; k++) {
        const double took = spans[k].to_s - spans[k].from_s;

        assert_true(spans[k].from_s >= -1e-6 && took >= 0.0);
        assert_true(spans[k].to_s <= stats->total_s * (1.0 + 1e-6) + 1e-6);
        assert_true(spans[k].chunk >= 0 && spans[k].chunk < stats->chunks);
        *(spans[k].phase[0] == 'p'   ? &pack
          : spans[k].phase[0] == 'e' ? &exchange
          : spans[k].phase[0] == 'h' ? &halo
                                     : &local) += took;
    }
    assert_true(fabs(pack - stats->pack_s) < 1e-5 && fabs(exchange - stats->exchange_s) < 1e-5);
    assert_true(fabs(halo - stats->halo_s) < 1e-5 && fabs(local - stats->local_s) < 1e-5);
}

/* Op N brings rows from the next in the ring, op T sums from the one before. */
static void check_traffic(const spmm_plan_t *plan, spmm_op_t op)
{
    const int me = spmm_test_env.rank;
    int64_t   rows[8];

    assert_true(spmm_test_env.size <= 8);
    spmm_assert_ok(spmm_plan_get_traffic(plan, rows));
    for (int p = 0; p < spmm_test_env.size; p++) {
        const bool linked = op == SPMM_OP_N ? next_of(me) == p : next_of(p) == me;

        assert_int_equal(rows[p], linked && p != me ? 1 : 0);
    }
    assert_int_equal(spmm_plan_get_traffic(plan, NULL), SPMM_ERR_ARGUMENT);
    assert_int_equal(spmm_plan_get_traffic(NULL, rows), SPMM_ERR_ARGUMENT);
}

static void test_timeline_transposed(void **state)
{
    spmm_span_t       spans[SPMM_MOST_SPANS];
    const double      ones[2] = {1.0, 1.0}, zeros[2] = {0};
    int               count;
    spmm_matrix_t    *A;
    spmm_plan_t      *plan;
    spmm_plan_stats_t stats;
    void             *b, *c;

    b = to_device(ones, sizeof ones);
    c = to_device(zeros, sizeof zeros);
    spmm_assert_ok(create_ring(&A));
    plan = test_context_plan(A, 1, .op = SPMM_OP_T, .profile = 1);
    check_traffic(plan, SPMM_OP_T);
    spmm_assert_ok(spmm_plan_get_timeline(plan, SPMM_MOST_SPANS, spans, &count));
    assert_int_equal(count, 0);
    assert_int_equal(spmm_plan_get_timeline(plan, 1, NULL, &count), SPMM_ERR_ARGUMENT);
    assert_int_equal(spmm_plan_get_timeline(plan, 1, spans, NULL), SPMM_ERR_ARGUMENT);
    assert_int_equal(spmm_plan_get_timeline(plan, -1, spans, &count), SPMM_ERR_ARGUMENT);
    spmm_assert_ok(spmm_execute(plan, 1, 1.0, b, 1, 0.0, c, 1, NULL));
    stats = test_context_stats(plan);
    check_timeline(plan, &stats);
    spans[1].chunk = -7; /* a caller with little room keeps what lies behind it */
    spmm_assert_ok(spmm_plan_get_timeline(plan, 1, spans, &count));
    assert_true(count == 1 && spans[0].chunk == 0 && spans[1].chunk == -7);
    test_context_free(ctx, &b, &c);
    test_context_destroy(&plan, &A, NULL);
}

/* A rank without peers takes its short cut beside ranks that exchange. */
static void test_rank_alone(void **state)
{
    spmm_matrix_t *A;

    spmm_assert_ok(create_ring(&A));
    for (int w = 0; w < N_WAYS; w++) {
        const bool        travels = spmm_test_env.size > 2;
        char              tuning[40];
        spmm_plan_t      *plan;
        spmm_plan_stats_t stats;

        (void)snprintf(tuning, sizeof tuning, "schedule=%s,chunks=%d", ways[w].schedule,
                       ways[w].chunks);
        plan = test_context_plan(A, 1, .tuning = tuning, .profile = 1);
        product_of_ring(plan);
        stats = test_context_stats(plan);
        assert_string_equal(stats.schedule, travels ? ways[w].schedule : "none");
        assert_int_equal(stats.chunks, travels ? ways[w].chunks : 1);
        assert_true(stats.total_s > 0.0 && stats.exchange_s >= 0.0 && stats.local_s >= 0.0 &&
                    stats.halo_s >= 0.0 && stats.pack_s >= 0.0);
        check_timeline(plan, &stats);
        check_traffic(plan, SPMM_OP_N);
        if (spmm_test_env.rank == 0) {
            assert_int_equal(stats.recv_bytes, 0);
        }
        spmm_assert_ok(spmm_plan_destroy(&plan));
    }
    spmm_assert_ok(spmm_matrix_destroy(&A));
}

static void test_cut(void **state)
{
    static int64_t     no_rows[1];
    static spmm_plan_t plan = {.exchange.halo.recv_ptr = no_rows};
    spmm_slice_t       s[SPMM_MOST_CHUNKS];

    for (int64_t n = 1; n <= 300; n++) {
        for (plan.choice.chunks = 1; plan.choice.chunks <= SPMM_MOST_CHUNKS; plan.choice.chunks++) {
            const int chunks = plan.choice.chunks, count = spmmi_plan_cut(&plan, n, s);
            int64_t   at = 0;

            assert_true(count >= 1 && count <= chunks && (count == chunks || n < chunks));
            for (int c = 0; c < count; c++) {
                assert_true(s[c].index == c && s[c].first == at && s[c].n > 0);
                assert_true(n % chunks != 0 || s[c].n == n / chunks);
                assert_true(n % (32 * chunks) != 0 || s[c].first % 32 == 0);
                assert_true(n < 8 * chunks || n % chunks == 0 || s[c].first % 8 == 0);
                at += s[c].n;
            }
            assert_true(at == n);
        }
    }
    plan.captures      = (spmm_captures_t *)&plan; /* only whether there are any counts */
    plan.choice.chunks = 2;
    assert_int_equal(spmmi_plan_cut(&plan, 33, s), 1);
    assert_true(s[0].n == 33);
    assert_int_equal(spmmi_plan_cut(&plan, 34, s), 2);
}

PLAN_TESTS(test_rank_alone, test_timeline_transposed, test_cut);
