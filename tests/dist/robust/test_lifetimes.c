/* SPDX-License-Identifier: Apache-2.0 */
/* test: RANKS 1 2 4 */
/** @file test_lifetimes.c  What programs do around products: contexts on parts of their ranks,
 *  several at a time, ranks that own nothing, several plans of one matrix, and all of it destroyed
 *  in any order that is allowed. */
#include "test_context.h"

static int size_of(const spmm_context_t *ctx)
{
    spmm_context_info_t info = {.struct_size = sizeof info};

    spmm_assert_ok(spmm_context_get_info(ctx, &info));
    return info.size;
}

/* One row and column a rank, but none on rank @p none; each row is full and holds @p value. */
static spmm_matrix_t *create_full(spmm_context_t *ctx, int none, double value)
{
    spmm_context_info_t info = {.struct_size = sizeof info};
    int64_t             row_ptr[2], col[16];
    double              values[16];
    spmm_matrix_t      *A;
    int64_t             n;

    spmm_assert_ok(spmm_context_get_info(ctx, &info));
    n = info.size - (none >= 0);
    assert_true(n <= 16);
    for (int64_t k = 0; k < n; k++) {
        col[k]    = k;
        values[k] = value;
    }
    row_ptr[0] = 0;
    row_ptr[1] = n;
    if (info.rank == none) {
        spmm_assert_ok(spmm_matrix_create_csr(ctx, 0, 0, NULL, NULL, NULL, SPMM_R_64F, &A));
    } else {
        spmm_assert_ok(spmm_matrix_create_csr(ctx, 1, 1, row_ptr, col, values, SPMM_R_64F, &A));
    }
    return A;
}

/* C = A B for B of ones is @p want everywhere; a rank without rows has no B and no C. */
static void expect_product(spmm_plan_t *plan, int64_t n, bool has_rows, double want)
{
    double B[4] = {1.0, 1.0, 1.0, 1.0}, C[4] = {NAN, NAN, NAN, NAN};

    spmm_assert_ok(
        spmm_execute(plan, n, 1.0, has_rows ? B : NULL, n, 0.0, has_rows ? C : NULL, n, NULL));
    for (int64_t j = 0; j < n && has_rows; j++) {
        assert_true(C[j] == want);
    }
}

/* Two halves of the ranks work for themselves, while a third context spans them all. */
static void test_parts_of_the_ranks(void **state)
{
    const int       upper = 2 * spmm_test_env.rank >= spmm_test_env.size;
    MPI_Comm        comm;
    spmm_context_t *all, *half;
    spmm_matrix_t  *A, *H;
    spmm_plan_t    *of_all, *of_half;

    MPI_Comm_split(spmm_test_env.comm, upper, -spmm_test_env.rank, &comm);
    all  = test_context_on(spmm_test_env.comm, 0);
    half = test_context_on(comm, 0);
    MPI_Comm_free(&comm); /* the context has its own */
    A = create_full(all, -1, 1.0);
    H = create_full(half, -1, 3.0);
    spmm_assert_ok(spmm_plan_create(H, 4, NULL, &of_half));
    spmm_assert_ok(spmm_plan_create(A, 4, NULL, &of_all));
    expect_product(of_half, 2, true, 3.0 * size_of(half));
    expect_product(of_all, 4, true, 1.0 * size_of(all));
    expect_product(of_half, 4, true, 3.0 * size_of(half));
    test_context_destroy(&of_all, &A, &all);
    expect_product(of_half, 1, true, 3.0 * size_of(half));
    test_context_destroy(&of_half, &H, &half);
}

/* The last rank owns nothing and has no arrays at all. */
static void test_ranks_without_anything(void **state)
{
    const int       last = spmm_test_env.size - 1;
    const bool      owns = spmm_test_env.rank != last;
    spmm_context_t *ctx  = test_context_on(spmm_test_env.comm, 0);
    spmm_matrix_t  *A    = create_full(ctx, last, 2.0);
    spmm_plan_t    *plan;

    for (int op = SPMM_OP_N; op <= SPMM_OP_T; op++) {
        plan = test_context_plan(A, 3, .op = (spmm_op_t)op);
        expect_product(plan, 3, owns, 2.0 * last);
        spmm_assert_ok(spmm_plan_update_values(plan, owns ? (double[16]){0} : NULL, NULL));
        expect_product(plan, 2, owns, 0.0);
        spmm_assert_ok(spmm_plan_destroy(&plan));
    }
    test_context_destroy(NULL, &A, &ctx);
}

/* Plans of one matrix, the oldest, the youngest and one between destroyed first; those that are
 * left follow new values. */
static void test_plans_in_any_order(void **state)
{
    enum { PLANS = 4 };
    static const int orders[][PLANS] = {{0, 1, 2, 3}, {3, 2, 1, 0}, {2, 0, 3, 1}};
    spmm_context_t  *ctx             = test_context_on(spmm_test_env.comm, 0);
    spmm_context_t  *kept            = ctx;

    for (size_t o = 0; o < sizeof orders / sizeof orders[0]; o++) {
        const int64_t  before = spmmi_alloc_get_stats().live;
        spmm_matrix_t *A = create_full(ctx, -1, 1.0), *same = A;
        spmm_plan_t   *plan[PLANS];
        double         values[16];

        for (int p = 0; p < PLANS; p++) {
            plan[p] = test_context_plan(A, 1 + p % 3, .op = p % 2 == 0 ? SPMM_OP_N : SPMM_OP_T,
                                        .tuning = p == 2 ? "schedule=merged" : NULL);
        }
        for (int gone = 0; gone < PLANS; gone++) {
            for (int k = 0; k < 16; k++) {
                values[k] = 1.0 + gone;
            }
            spmm_assert_ok(spmm_matrix_update_values(A, values));
            for (int p = 0; p < PLANS; p++) {
                if (plan[p] != NULL) {
                    expect_product(plan[p], 1, true, (1.0 + gone) * spmm_test_env.size);
                }
            }
            assert_int_equal(spmm_matrix_destroy(&A), SPMM_ERR_ARGUMENT);
            assert_ptr_equal(A, same);
            spmm_assert_ok(spmm_plan_destroy(&plan[orders[o][gone]]));
        }
        assert_int_equal(spmm_context_destroy(&ctx), SPMM_ERR_ARGUMENT);
        assert_ptr_equal(ctx, kept);
        spmm_assert_ok(spmm_matrix_destroy(&A));
        assert_int_equal(spmmi_alloc_get_stats().live, before);
    }
    spmm_assert_ok(spmm_context_destroy(&ctx));
}

SPMM_TESTS(test_parts_of_the_ranks, test_ranks_without_anything, test_plans_in_any_order);
