/* SPDX-License-Identifier: Apache-2.0 */
/* test: RANKS 1 2 3 4 */
/* test: RANKS 4 AS levels ENV SPMM_TEST_RANKS_PER_NODE=2 */
/* test: RANKS 1 2 4 DEVICE cuda */
/* test: RANKS 4 DEVICE cuda AS cuda_levels ENV SPMM_TEST_RANKS_PER_NODE=2 */
/** @file test_schedule.c  Every schedule against the dense product. */
#include "plan_case.h"

#include "plan/plan.h"

/** A way to run a product. */
typedef struct {
    const char *tuning, *schedule;
    int         chunks;
} way_t;

static const way_t ways[] = {{"schedule=overlap,chunks=1", "overlap", 1},
                             {"chunks=2,schedule=overlap", "overlap", 2},
                             {"schedule=overlap,chunks=4", "overlap", 4},
                             {"schedule=merged,chunks=1", "merged", 1}};
enum { N_WAYS = sizeof ways / sizeof ways[0], N_OVERLAP = N_WAYS - 1 };

/* That of one format is for op N and row-major blocks alone. */
static void check_all(const shape_t *shape, const product_t *p)
{
    const bool joins = p->op == SPMM_OP_N && p->layout == SPMM_LAYOUT_ROW;

    for (int w = 0; w < (joins ? N_WAYS : N_OVERLAP); w++) {
        product_t one = *p;

        one.tuning = ways[w].tuning;
        check_plan(shape, &one);
    }
}

/* check_plan() also runs 1 column, with new values, and poisons C where beta is 0. */
static void test_products(void **state)
{
    const shape_t       shape   = {61, 61, 5, 17};
    const spmm_op_t     ops[]   = {SPMM_OP_N, SPMM_OP_T, SPMM_OP_H};
    const spmm_type_t   types[] = {SPMM_R_32F, SPMM_C_64F, SPMM_R_64F, SPMM_C_32F};
    const spmm_layout_t rows[]  = {SPMM_LAYOUT_ROW, SPMM_LAYOUT_COL};
    static const struct {
        int64_t n, planned_n, pad;
        double  beta;
    } widths[] = {{1, 1, 0, 0.0}, {33, 40, 0, -0.5}, {128, 128, 5, 0.0}, {64, 128, 0, 1.0}};

    for (int v = 0; v < 16; v++) {
        const product_t p = {.type      = types[v % 4],
                             .op        = ops[v % 3],
                             .layout    = rows[v / 2 % 2],
                             .partition = v % 5 == 4 ? "block" : NULL,
                             .n         = widths[v / 4].n,
                             .planned_n = widths[v / 4].planned_n,
                             .pad       = widths[v / 4].pad,
                             .alpha     = 1.5,
                             .beta      = widths[v / 4].beta};

        check_all(&shape, &p);
    }
}

/* Ranks without rows, blocks without entries, more rows than columns and the other way. */
static void test_shapes(void **state)
{
    const shape_t shapes[] = {{50, 23, 4, -1}, {23, 70, 4, 5}, {2, 2, 1, -1}, {30, 30, 0, -1},
                              {0, 12, 0, -1},  {12, 0, 0, -1}, {1, 40, 2, -1}};

    for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++) {
        check_all(&shapes[s], &(product_t){.type      = SPMM_R_64F,
                                           .layout    = SPMM_LAYOUT_ROW,
                                           .n         = 6,
                                           .planned_n = 9,
                                           .alpha     = 1.0,
                                           .beta      = 2.0});
    }
}

/* Formats of tensor-core engines, 16-bit data, rows in another order. */
static void test_engines(void **state)
{
    const shape_t   shape = {61, 61, 5, 17};
    const product_t p     = {.type      = SPMM_R_32F,
                             .op        = SPMM_OP_N,
                             .layout    = SPMM_LAYOUT_ROW,
                             .n         = 40,
                             .planned_n = 64,
                             .pad       = 8,
                             .alpha     = 1.0,
                             .beta      = 1.0,
                             .engine    = "bittcf",
                             .tuning    = "order=affinity"};
    product_t       half  = p;

    half.engine = NULL;
    half.tuning = NULL;
    half.type   = SPMM_R_16F;
    check_all(&shape, &p);
    check_all(&shape, &half);
}

/* Types of 16 bits, whose sums of a part of a row FP16 does not hold. */
static product_t half_product(int v)
{
    const spmm_op_t   ops[]   = {SPMM_OP_N, SPMM_OP_T, SPMM_OP_H};
    const spmm_type_t types[] = {SPMM_R_16F, SPMM_R_16BF};
    const double      betas[] = {0.0, -0.5, 1.0};

    return (product_t){.type      = types[v % 2],
                       .c_type    = v % 5 == 4 ? SPMM_R_32F : SPMM_TYPE_AUTO,
                       .op        = ops[v / 2 % 3],
                       .layout    = v / 6 % 2 == 0 ? SPMM_LAYOUT_ROW : SPMM_LAYOUT_COL,
                       .values    = VALUES_CANCEL,
                       .n         = v % 3 == 2 ? 8 : 9,
                       .planned_n = 16,
                       .pad       = v % 4,
                       .alpha     = 1.5,
                       .beta      = betas[(v / 2 + v / 6) % 3]};
}

static void test_cancelling(void **state)
{
    const shape_t full = {60, 60, 1, -1}, hubs = {90, 90, 90, 0};

    for (int v = 0; v < 12; v++) {
        const product_t p = half_product(v);

        check_all(&full, &p);
        check_all(&hubs, &p);
    }
    for (int v = 0; v < 12; v++) {
        product_t p = half_product(v);

        p.reproducible = true;
        check_plan(&full, &p);
    }
}

/* By each transport that may be used. */
static void test_cancelling_transports(void **state)
{
    const shape_t         full = {60, 60, 1, -1};
    spmm_component_info_t info = {.struct_size = sizeof info};

    for (int t = 0; spmm_transport_info(t, &info) == SPMM_OK; t++) {
        const int before = plans_made;

        for (int v = 0; v < 12; v++) {
            product_t p = half_product(v);

            p.transport = info.name;
            p.tuning    = ways[v % (p.op == SPMM_OP_N && v < 6 ? N_WAYS : N_OVERLAP)].tuning;
            check_plan(&full, &p);
        }
        print_message("%d plans over %s\n", plans_made - before, info.name);
        assert_true(plans_made > before || strcmp(info.name, "mpi-host") != 0);
    }
}

/* alpha A B is beyond the range of FP16, with beta C it is not. */
static void test_beta_cancels(void **state)
{
    const shape_t full = {40, 40, 1, -1};

    for (int v = 0; v < 12; v++) {
        product_t p = half_product(v);

        p.values = VALUES_EQUAL;
        p.alpha  = 1.0;
        p.beta   = -4.0;
        check_all(&full, &p);
        p.reproducible = true;
        check_plan(&full, &p);
    }
}

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

static spmm_plan_stats_t stats_of(const spmm_plan_t *plan)
{
    spmm_plan_stats_t stats = {.struct_size = sizeof stats};

    spmm_assert_ok(spmm_plan_get_stats(plan, &stats));
    return stats;
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
    spmm_plan_options_t o = SPMM_PLAN_OPTIONS_INIT;
    spmm_span_t         spans[SPMM_MOST_SPANS];
    const double        ones[2] = {1.0, 1.0}, zeros[2] = {0};
    int                 count;
    spmm_matrix_t      *A;
    spmm_plan_t        *plan;
    spmm_plan_stats_t   stats;
    void               *b, *c;

    b         = to_device(ones, sizeof ones);
    c         = to_device(zeros, sizeof zeros);
    o.op      = SPMM_OP_T;
    o.profile = 1;
    spmm_assert_ok(create_ring(&A));
    spmm_assert_ok(spmm_plan_create(A, 1, &o, &plan));
    check_traffic(plan, SPMM_OP_T);
    spmm_assert_ok(spmm_plan_get_timeline(plan, SPMM_MOST_SPANS, spans, &count));
    assert_int_equal(count, 0);
    assert_int_equal(spmm_plan_get_timeline(plan, 1, NULL, &count), SPMM_ERR_ARGUMENT);
    assert_int_equal(spmm_plan_get_timeline(plan, 1, spans, NULL), SPMM_ERR_ARGUMENT);
    assert_int_equal(spmm_plan_get_timeline(plan, -1, spans, &count), SPMM_ERR_ARGUMENT);
    spmm_assert_ok(spmm_execute(plan, 1, 1.0, b, 1, 0.0, c, 1, NULL));
    stats = stats_of(plan);
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
        const bool          travels = spmm_test_env.size > 2;
        spmm_plan_options_t o       = SPMM_PLAN_OPTIONS_INIT;
        spmm_plan_t        *plan;
        spmm_plan_stats_t   stats;

        o.tuning  = ways[w].tuning;
        o.profile = 1;
        spmm_assert_ok(spmm_plan_create(A, 1, &o, &plan));
        product_of_ring(plan);
        stats = stats_of(plan);
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
    static spmm_plan_t plan;
    spmm_slice_t       s[SPMM_MOST_CHUNKS];

    for (int64_t n = 1; n <= 300; n++) {
        for (int chunks = 1; chunks <= SPMM_MOST_CHUNKS; chunks++) {
            const int count = spmmi_plan_cut(&plan, n, chunks, s);
            int64_t   at    = 0;

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
    plan.captures = (spmm_captures_t *)&plan; /* only whether there are any counts */
    assert_int_equal(spmmi_plan_cut(&plan, 33, 2, s), 1);
    assert_true(s[0].n == 33);
    assert_int_equal(spmmi_plan_cut(&plan, 34, 2, s), 2);
}

PLAN_TESTS(test_products, test_shapes, test_engines, test_rank_alone, test_timeline_transposed,
           test_cancelling, test_cancelling_transports, test_beta_cancels, test_cut);
