/* SPDX-License-Identifier: Apache-2.0 */
/* test: RANKS 2 3 4 */
/** @file test_lengths.c
 *  Ranks that disagree on n: rows of another length arrive, and each rank that gets them says what
 *  it expected, what came, and from whom; messages in one part and in several.
 */
#include "test_context.h"

#include "plan/plan.h"

enum { MOST = 8, LARGE = 4096, TIMEOUT = 20 /* s: nobody may wait for it */ };

typedef struct {
    spmm_op_t op;
    int64_t
           unit; /* columns for each of n: messages of 4 KiB wait for their receiver, in Open MPI */
    size_t message_limit;
    double timeout_s;
} case_t;

/* Neighbours in a ring need each other's row. */
static spmm_matrix_t *create_ring(spmm_context_t *ctx)
{
    const int      size = spmm_test_env.size, rank = spmm_test_env.rank;
    const int64_t  row_ptr[] = {0, size == 2 ? 1 : 2};
    const int64_t  col[]     = {(rank + 1) % size, (rank + size - 1) % size};
    const double   values[]  = {1.0, 1.0};
    spmm_matrix_t *A         = NULL;

    spmm_assert_ok(spmm_matrix_create_csr(ctx, 1, 1, row_ptr, col, values, SPMM_R_64F, &A));
    return A;
}

static void expect_sentence(const spmm_context_t *ctx, int64_t n, int64_t other)
{
    const char *text = spmm_last_error(ctx);

    if (strstr(text, "is n the same on both?") == NULL) {
        print_error("n %lld, the other rank %lld: %s\n", (long long)n, (long long)other, text);
    }
    assert_non_null(strstr(text, "is n the same on both?"));
    assert_non_null(strstr(text, spmm_test_env.rank == 0 ? "from rank" : "from rank 0"));
}

/* Rank 0 multiplies @p n columns, all others @p other. */
static void multiply(const case_t *c, int64_t n, int64_t other)
{
    const spmm_context_options_t options = {
        .struct_size = sizeof options, .device = SPMM_DEVICE_CPU, .timeout_s = c->timeout_s};
    const int64_t       mine = spmm_test_env.rank == 0 ? n : other, most = MOST * c->unit;
    const double        start = spmmi_now();
    double             *B = calloc((size_t)(2 * most), sizeof *B), *C = B + most;
    spmm_plan_options_t o = SPMM_PLAN_OPTIONS_INIT;
    spmm_context_t     *ctx;
    spmm_matrix_t      *A;
    spmm_plan_t        *plan;
    spmm_status_t       status;

    assert_non_null(B);
    spmm_assert_ok(spmm_context_create(spmm_test_env.comm, &options, &ctx));
    A                     = create_ring(ctx);
    o.op                  = c->op;
    A->env->message_limit = c->message_limit;
    spmm_assert_ok(spmm_plan_create(A, most, &o, &plan));
    spmm_assert_ok(spmm_execute(plan, most, 1.0, B, most, 0.0, C, most, NULL));
    status = spmm_execute(plan, mine * c->unit, 1.0, B, most, 0.0, C, most, NULL);
    if (n == other) {
        spmm_assert_ok(status);
    } else if (spmm_test_env.rank <= 1 || spmm_test_env.rank == spmm_test_env.size - 1) {
        assert_int_equal(status, SPMM_ERR_COMM); /* rank 0 and its neighbours */
        expect_sentence(ctx, n, other);
        assert_int_equal(spmm_execute(plan, most, 1.0, B, most, 0.0, C, most, NULL), SPMM_ERR_COMM);
    }
    assert_true(spmmi_now() - start < TIMEOUT);
    test_context_destroy(&plan, &A, &ctx);
    free(B);
}

static void multiply_both_ways(int64_t unit, size_t message_limit)
{
    for (int k = 0; k < 4; k++) {
        const case_t c = {.op            = k % 2 == 0 ? SPMM_OP_N : SPMM_OP_T,
                          .unit          = unit,
                          .message_limit = message_limit,
                          .timeout_s     = k < 2 ? 0.0 : TIMEOUT};

        for (int64_t n = 1; n < MOST; n += 3) {
            multiply(&c, n, MOST);
            multiply(&c, 5, n);
        }
        multiply(&c, MOST, MOST);
    }
}

static void test_whole_messages(void **state)
{
    multiply_both_ways(1, 0);
    multiply_both_ways(LARGE, 0);
}

static void test_parts(void **state)
{
    multiply_both_ways(1, 24); /* bytes: 3 columns, which divides no n above */
}

SPMM_TESTS(test_whole_messages, test_parts);
