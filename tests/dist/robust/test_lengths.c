/* SPDX-License-Identifier: Apache-2.0 */
/* test: RANKS 2 3 4 ENV SPMM_CHECK=0 */
/** @file test_lengths.c
 *  Ranks that disagree on n, or of which one refuses an execute: other rows arrive than those of
 *  the same product, and each rank that gets them says what it expected, what came, and from whom;
 *  messages in one part and in several.
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
    const char *tuning;
} case_t;

/* A plan for @p most columns on a ring, and what it multiplies. */
typedef struct {
    int64_t         most;
    double         *B, *C;
    spmm_context_t *ctx;
    spmm_matrix_t  *A;
    spmm_plan_t    *plan;
} ring_t;

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

static double b_of(int rank)
{
    return rank + 1.0;
}

static void open_ring(const case_t *c, int64_t most, ring_t *r)
{
    const spmm_context_options_t options = {
        .struct_size = sizeof options, .device = SPMM_DEVICE_CPU, .timeout_s = c->timeout_s};

    r->most = most;
    r->B    = spmm_test_calloc((size_t)(2 * most), sizeof *r->B);
    r->C    = r->B + most;
    for (int64_t j = 0; j < most; j++) {
        r->B[j] = b_of(spmm_test_env.rank);
    }
    spmm_assert_ok(spmm_context_create(spmm_test_env.comm, &options, &r->ctx));
    r->A                     = create_ring(r->ctx);
    r->A->env->message_limit = c->message_limit;
    r->plan                  = test_context_plan(r->A, most, .op = c->op, .tuning = c->tuning);
}

static void close_ring(ring_t *r)
{
    test_context_destroy(&r->plan, &r->A, &r->ctx);
    free(r->B);
}

static spmm_status_t multiply(const ring_t *r, int64_t n)
{
    const int64_t ld = n < r->most ? r->most : n;

    return spmm_execute(r->plan, n, 1.0, r->B, ld, 0.0, r->C, ld, NULL);
}

/* A product of all ranks, and of no other rows than theirs. */
static void expect_product(const ring_t *r)
{
    const int    size = spmm_test_env.size, rank = spmm_test_env.rank;
    const double next = b_of((rank + 1) % size), last = b_of((rank + size - 1) % size);

    spmm_assert_ok(multiply(r, r->most));
    for (int64_t j = 0; j < r->most; j++) {
        assert_true(r->C[j] == (size == 2 ? next : next + last));
    }
}

/* Rank 0 has made a mistake: it and its neighbours hear of it, and go no further. */
static void expect_sentence(const ring_t *r, spmm_status_t status, const char *words)
{
    const char *text = spmm_last_error(r->ctx);

    if (spmm_test_env.rank > 1 && spmm_test_env.rank < spmm_test_env.size - 1) {
        return;
    }
    if (status != SPMM_ERR_COMM || strstr(text, words) == NULL) {
        print_error("status %d: %s\n", (int)status, text);
    }
    assert_int_equal(status, SPMM_ERR_COMM);
    assert_non_null(strstr(text, words));
    assert_non_null(strstr(text, spmm_test_env.rank == 0 ? "rank " : "rank 0"));
    assert_int_equal(multiply(r, r->most), SPMM_ERR_COMM);
}

/* Rank 0 multiplies @p n columns, all others @p other. */
static void multiply_unlike(const case_t *c, int64_t n, int64_t other)
{
    const int64_t mine  = spmm_test_env.rank == 0 ? n : other;
    const double  start = spmmi_now();
    ring_t        r;
    spmm_status_t status;

    open_ring(c, MOST * c->unit, &r);
    expect_product(&r);
    status = multiply(&r, mine * c->unit);
    if (n == other) {
        spmm_assert_ok(status);
    } else {
        expect_sentence(&r, status, "is n the same on both?");
    }
    assert_true(spmmi_now() - start < TIMEOUT);
    close_ring(&r);
}

static void multiply_both_ways(int64_t unit, size_t message_limit)
{
    for (int k = 0; k < 4; k++) {
        const case_t c = {.op            = k % 2 == 0 ? SPMM_OP_N : SPMM_OP_T,
                          .unit          = unit,
                          .message_limit = message_limit,
                          .timeout_s     = k < 2 ? 0.0 : TIMEOUT};

        for (int64_t n = 1; n < MOST; n += 3) {
            multiply_unlike(&c, n, MOST);
            multiply_unlike(&c, 5, n);
        }
        multiply_unlike(&c, MOST, MOST);
    }
}

static void test_messages(void **state)
{
    multiply_both_ways(1, 0);
    multiply_both_ways(LARGE, 0);
    multiply_both_ways(1, 24); /* bytes: parts of 3 columns, which divides no n above */
}

/* A call that all ranks refuse does no harm; one that rank 0 alone refuses does. */
static void test_refused(void **state)
{
    for (int k = 0; k < 8; k++) {
        const case_t  c      = {.op            = k % 2 == 0 ? SPMM_OP_N : SPMM_OP_T,
                                .message_limit = k < 2 ? 24 : 0,
                                .timeout_s     = k % 4 < 2 ? 0.0 : TIMEOUT};
        const int64_t others = k < 4 ? LARGE : MOST;
        ring_t        r;

        open_ring(&c, k < 4 ? LARGE : MOST, &r);
        for (int64_t n = 0; n <= others + 1; n += others + 1) {
            assert_int_equal(multiply(&r, n), SPMM_ERR_ARGUMENT);
        }
        spmm_assert_ok(spmm_plan_resync(r.plan));
        expect_product(&r);
        if (spmm_test_env.rank == 0) {
            assert_int_equal(multiply(&r, others + 1), SPMM_ERR_ARGUMENT);
        }
        expect_sentence(&r, multiply(&r, others), "out of step");
        MPI_Barrier(spmm_test_env.comm);
        assert_int_equal(spmm_plan_resync(r.plan), SPMM_ERR_COMM);
        close_ring(&r);
    }
}

/* Two columns in two chunks are as wide as one: the second one meets the next product. */
static void test_chunks(void **state)
{
    const case_t  c = {.op = SPMM_OP_N, .tuning = "chunks=2"};
    spmm_status_t status;
    ring_t        r;

    open_ring(&c, 2, &r);
    status = multiply(&r, spmm_test_env.rank == 0 ? 2 : 1);
    if (spmm_test_env.rank != 0) {
        spmm_assert_ok(status);
        assert_true(r.C[0] >= 1.0);
        status = multiply(&r, 1);
    }
    expect_sentence(&r, status, "chunk ");
    close_ring(&r);
}

SPMM_TESTS(test_messages, test_refused, test_chunks);
