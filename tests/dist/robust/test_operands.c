/* SPDX-License-Identifier: Apache-2.0 */
/* test: RANKS 1 2 */
/** @file test_operands.c  Dense operands that no call can take: they are refused, and nothing is
 *  written. */
#include "plan_case.h"

static spmm_matrix_t *A;

void spmm_test_set_up(void)
{
    open_context();
}

void spmm_test_tear_down(void)
{
    test_context_destroy(NULL, &A, &ctx);
}

static void expect_refusal(spmm_status_t status, const char *sentence)
{
    test_context_refused(ctx, status, SPMM_ERR_ARGUMENT, sentence);
}

/* Leading dimensions that would overflow where rows are found, as of a variable that was never
 * set. */
static void test_endless_blocks(void **state)
{
    const int64_t      row_ptr[] = {0, 0, 0}, huge = INT64_MAX / 2 + 1;
    const double       B[4] = {1.0, 1.0};
    double             C[4] = {NAN, NAN};
    spmm_plan_t       *plan;
    spmm_sddmm_plan_t *sampler;

    spmm_assert_ok(spmm_matrix_create_csr(ctx, 2, 2, row_ptr, NULL, NULL, SPMM_R_64F, &A));
    for (int columns = 0; columns < 2; columns++) {
        plan = test_context_plan(A, 2, .layout = columns ? SPMM_LAYOUT_COL : SPMM_LAYOUT_ROW);
        expect_refusal(spmm_execute(plan, 2, 1.0, B, huge, 0.0, C, 2, NULL), "ld of B");
        expect_refusal(spmm_execute(plan, 2, 1.0, B, 2, 0.0, C, huge, NULL), "ld of C");
        spmm_assert_ok(spmm_plan_destroy(&plan));
    }
    plan = test_context_plan(A, 1, .b_type = SPMM_C_64F); /* elements of 16 bytes */
    expect_refusal(spmm_execute(plan, 1, 1.0, B, 1, 0.0, C, huge / 16, NULL), "ld of C");
    spmm_assert_ok(spmm_plan_destroy(&plan));
    spmm_assert_ok(spmm_sddmm_plan_create(A, 1, NULL, &sampler));
    expect_refusal(spmm_sddmm(sampler, 1, 1.0, B, 1, B, huge, 0.0, NULL, NULL), "ld of Y");
    spmm_assert_ok(spmm_sddmm_plan_destroy(&sampler));
    assert_true(isnan(C[0]) && isnan(C[1]));
}

/* Columns of one array: @p b_at and @p c_at elements from its beginning. */
static spmm_status_t multiply_within(spmm_plan_t *plan, double *all, int64_t b_at, int64_t ldb,
                                     int64_t c_at, int64_t ldc)
{
    return spmm_execute(plan, 2, 1.0, all + b_at, ldb, 0.0, all + c_at, ldc, NULL);
}

static void expect_overlap(spmm_plan_t *plan, double *all, int64_t b_at, int64_t ldb, int64_t c_at,
                           int64_t ldc)
{
    test_context_refused(ctx, multiply_within(plan, all, b_at, ldb, c_at, ldc), SPMM_ERR_ARGUMENT,
                         "C overlaps B");
}

enum { ROWS = 3, K = 4, SIZE = ROWS * K };

/* Each rank's A is the identity of 3 rows; @p count numbers in a row for its operands. */
static void make_identity(double *all, int count)
{
    const int64_t row_ptr[ROWS + 1] = {0, 1, 2, 3}, first = (int64_t)ROWS * spmm_test_env.rank;
    const int64_t col[ROWS]    = {first, first + 1, first + 2};
    const double  values[ROWS] = {1, 1, 1};

    for (int k = 0; k < count; k++) {
        all[k] = k;
    }
    if (A == NULL) {
        spmm_assert_ok(
            spmm_matrix_create_csr(ctx, ROWS, ROWS, row_ptr, col, values, SPMM_R_64F, &A));
    }
}

/* B and C are blocks of 3 x 2, in either order. */
static void test_overlap(void **state)
{
    enum { LD = 8, APART = 3 * LD };

    for (int columns = 0; columns < 2; columns++) {
        const int64_t wide = columns != 0 ? ROWS : 2; /* elements of a block side by side */
        double        all[3 * APART];
        spmm_plan_t  *plan;

        make_identity(all, 3 * APART);
        plan = test_context_plan(A, 2, .layout = columns ? SPMM_LAYOUT_COL : SPMM_LAYOUT_ROW);
        expect_overlap(plan, all, 0, LD, 0, LD);
        expect_overlap(plan, all, 0, LD, wide - 1, LD);
        expect_overlap(plan, all, wide - 1, LD, 0, LD);
        expect_overlap(plan, all, LD, LD, 0, LD);
        expect_overlap(plan, all, 0, LD, LD - 1, LD); /* by its second row or column */
        expect_overlap(plan, all, LD - 1, LD, 0, LD);
        expect_overlap(plan, all, 0, LD, wide, LD - 1);
        spmm_assert_ok(multiply_within(plan, all, 0, LD, wide, LD));
        assert_true(all[wide] == 0.0 && all[LD + wide] == LD && all[wide + 1] == 1.0);
        spmm_assert_ok(multiply_within(plan, all, wide, LD, 0, LD));
        spmm_assert_ok(multiply_within(plan, all, 0, LD, LD - wide, LD));
        spmm_assert_ok(multiply_within(plan, all, 0, LD, LD + wide, LD));
        spmm_assert_ok(multiply_within(plan, all, 0, LD, APART, LD));
        spmm_assert_ok(multiply_within(plan, all, APART, LD - 1, 0, LD));
        spmm_assert_ok(spmm_plan_destroy(&plan));
    }
}

/* The leading dimension of a single row means nothing: 2^61 elements are 0 bytes modulo 2^64. */
static void test_overlap_of_one_row(void **state)
{
    const int64_t row_ptr[] = {0, 1}, col = spmm_test_env.rank, ld = (int64_t)1 << 61;
    const double  value  = 2.0;
    double        all[2] = {5.0, 7.0};
    spmm_plan_t  *plan;

    spmm_assert_ok(spmm_matrix_create_csr(ctx, 1, 1, row_ptr, &col, &value, SPMM_R_64F, &A));
    spmm_assert_ok(spmm_plan_create(A, 1, NULL, &plan));
    expect_refusal(spmm_execute(plan, 1, 1.0, all, ld, 0.0, all, ld, NULL), "C overlaps B");
    spmm_assert_ok(spmm_plan_resync(plan));
    spmm_assert_ok(spmm_execute(plan, 1, 1.0, all, ld, 0.0, all + 1, ld, NULL));
    assert_true(all[0] == 5.0 && all[1] == 10.0);
    spmm_assert_ok(spmm_plan_destroy(&plan));
}

/* Blocks that are moved: of 2 rows in the caller's order and in the plan's. */
static void test_overlap_of_moves(void **state)
{
    enum { LD = 7, APART = 2 * LD };
    const int64_t row_ptr[] = {0, 0, 0};
    double        all[3 * APART];
    spmm_plan_t  *plan;

    spmm_assert_ok(spmm_matrix_create_csr(ctx, 2, 2, row_ptr, NULL, NULL, SPMM_R_64F, &A));
    for (int way = 0; way < 4; way++) {
        spmm_status_t (*const move)(spmm_plan_t *, spmm_operand_t, int64_t, const void *, int64_t,
                                    void *, int64_t, spmm_stream_t) =
            way % 2 == 0 ? spmm_plan_scatter : spmm_plan_gather;

        for (int k = 0; k < 3 * APART; k++) {
            all[k] = k;
        }
        plan = test_context_plan(A, 2, .layout = way < 2 ? SPMM_LAYOUT_ROW : SPMM_LAYOUT_COL);
        expect_refusal(move(plan, SPMM_OPERAND_B, 2, all, LD, all, LD, NULL), "dst overlaps src");
        expect_refusal(move(plan, SPMM_OPERAND_C, 2, all, LD, all + 1, LD, NULL),
                       "dst overlaps src");
        expect_refusal(move(plan, SPMM_OPERAND_B, 2, all + LD + 1, LD, all, LD, NULL),
                       "dst overlaps src");
        expect_refusal(move(plan, SPMM_OPERAND_C, 2, all, LD, all + 2, LD - 1, NULL),
                       "dst overlaps src");
        /* One rank's blocks are enough. */
        expect_refusal(move(plan, SPMM_OPERAND_B, 2, all, LD,
                            spmm_test_env.rank == 0 ? all : all + APART, LD, NULL),
                       "dst overlaps src");
        assert_true(all[0] == 0.0 && all[1] == 1.0 && all[2] == 2.0 && all[LD + 1] == LD + 1);
        spmm_assert_ok(move(plan, SPMM_OPERAND_B, 2, all, LD, all + 2, LD, NULL));
        spmm_assert_ok(move(plan, SPMM_OPERAND_C, 2, all, LD, all + APART, LD - 1, NULL));
        assert_true(all[2] == 0.0 && all[3] == 1.0 && all[LD + 2] == LD && all[APART] == 0.0);
        spmm_assert_ok(spmm_plan_destroy(&plan));
    }
}

static void test_overlap_of_sddmm(void **state)
{
    double             X[4 * SIZE], *Y = X + SIZE, *S = X + 2 * SIZE;
    spmm_sddmm_plan_t *plan;

    make_identity(X, 4 * SIZE);
    spmm_assert_ok(spmm_sddmm_plan_create(A, K, NULL, &plan));
    expect_refusal(spmm_sddmm(plan, K, 1.0, X, K, Y, K, 0.0, X + SIZE - 1, NULL), "S overlaps X");
    expect_refusal(spmm_sddmm(plan, K, 1.0, X, K, Y, K, 0.0, S - 1, NULL), "S overlaps Y");
    expect_refusal(spmm_sddmm_softmax(plan, 1.0, S, S + 1, NULL), "P overlaps S");
    spmm_assert_ok(spmm_sddmm(plan, K, 0.0, X, K, Y, K, 0.0, S, NULL));
    spmm_assert_ok(spmm_sddmm_softmax(plan, 1.0, S, S, NULL));
    assert_true(S[0] == 1.0 && S[ROWS - 1] == 1.0 && S[ROWS] == 2 * SIZE + ROWS);
    assert_true(X[SIZE - 1] == SIZE - 1 && S[-1] == 2 * SIZE - 1);
    spmm_assert_ok(spmm_sddmm_plan_destroy(&plan));
}

static void test_overlap_of_attention(void **state)
{
    double                   Q[4 * SIZE], *KK = Q + SIZE, *V = Q + 2 * SIZE, *O = Q + 3 * SIZE;
    double                   lse[ROWS];
    spmm_attention_options_t o = SPMM_ATTENTION_OPTIONS_INIT;
    spmm_attention_plan_t   *plan;

    make_identity(Q, 4 * SIZE);
    o.backward = 1;
    spmm_assert_ok(spmm_attention_plan_create(A, 1, K, &o, &plan));
    expect_refusal(spmm_attention(plan, 1.0, Q, K, KK, K, V, K, O, K, Q, NULL), "lse overlaps Q");
    expect_refusal(spmm_attention(plan, 1.0, Q, K, KK, K, V, K, O, K, O + 1, NULL),
                   "lse overlaps O");
    expect_refusal(spmm_attention(plan, 1.0, Q, K, KK, K, V, K, V, K, lse, NULL), "O overlaps V");
    assert_true(Q[0] == 0.0 && O[1] == 3 * SIZE + 1);
    spmm_assert_ok(spmm_attention(plan, 1.0, Q, K, KK, K, V, K, O, K, lse, NULL));
    assert_true(O[0] == V[0] && O[SIZE - 1] == V[SIZE - 1]); /* one entry in each row */
    expect_refusal(
        spmm_attention_backward(plan, 1.0, Q, K, KK, K, V, K, O, V, K, lse, lse, KK, V, NULL),
        "lse overlaps dQ");
    spmm_assert_ok(spmm_attention_plan_destroy(&plan));
}

/* Elements lie at multiples of their size, complex ones of their parts': processors fault
 * elsewhere, or a GPU does and takes the context with it. */
static void test_between_elements(void **state)
{
    double             B[4 * SIZE], C[SIZE + 1];
    char              *odd = (char *)C + 4;
    spmm_plan_t       *plan;
    spmm_sddmm_plan_t *sampler;

    make_identity(B, 4 * SIZE);
    spmm_assert_ok(spmm_plan_create(A, K, NULL, &plan));
    expect_refusal(spmm_execute(plan, K, 1.0, odd, K, 0.0, B, K, NULL), "B begins at");
    expect_refusal(spmm_execute(plan, K, 1.0, B, K, 0.0, odd, K, NULL), "C begins at");
    expect_refusal(spmm_plan_update_values(plan, odd, NULL), "values begins at");
    spmm_assert_ok(spmm_plan_resync(plan));
    spmm_assert_ok(spmm_execute(plan, K, 1.0, B, K, 0.0, C, K, NULL));
    assert_memory_equal(B, C, SIZE * sizeof *B);
    spmm_assert_ok(spmm_plan_destroy(&plan));
    plan = test_context_plan(A, K / 2, .b_type = SPMM_C_64F);
    spmm_assert_ok(spmm_execute(plan, K / 2, 1.0, B, K / 2, 0.0, C + 1, K / 2, NULL));
    assert_memory_equal(B, C + 1, SIZE * sizeof *B);
    spmm_assert_ok(spmm_plan_destroy(&plan));
    spmm_assert_ok(spmm_sddmm_plan_create(A, K, NULL, &sampler));
    expect_refusal(spmm_sddmm(sampler, K, 1.0, B, K, odd, K, 0.0, C, NULL), "Y begins at");
    spmm_assert_ok(spmm_sddmm_plan_destroy(&sampler));
}

SPMM_TESTS(test_overlap, test_overlap_of_one_row, test_overlap_of_moves, test_endless_blocks,
           test_overlap_of_sddmm, test_overlap_of_attention, test_between_elements);
