/* SPDX-License-Identifier: Apache-2.0 */
/* test: RANKS 1 2 3 ENV SPMM_CHECK=0 */
/** @file test_check.c
 *  A call that one rank makes otherwise than the others is refused on all, with a sentence that
 *  names argument and rank, and the next one goes well: of set-up calls always, of products with
 *  context option check.
 */
#include "test_context.h"

#include "spmm_dist/attention.h"
#include "spmm_dist/sddmm.h"

enum { N = 4 };

static spmm_context_t        *ctx;
static spmm_matrix_t         *A;
static spmm_plan_t           *plan, *other;
static spmm_sddmm_plan_t     *sampler;
static spmm_attention_plan_t *attention;
static double                 B[2 * N], C[2 * N];

static void open_plans(int check)
{
    const spmm_context_options_t o = {
        .struct_size = sizeof o, .device = SPMM_DEVICE_CPU, .check = check};
    spmm_attention_options_t attends = SPMM_ATTENTION_OPTIONS_INIT;

    spmm_assert_ok(spmm_context_create(spmm_test_env.comm, &o, &ctx));
    spmm_assert_ok(test_context_matrix(ctx, 1, 0, &A));
    spmm_assert_ok(spmm_plan_create(A, N, NULL, &plan));
    spmm_assert_ok(spmm_plan_create(A, N, NULL, &other));
    spmm_assert_ok(spmm_sddmm_plan_create(A, N, NULL, &sampler));
    attends.backward = 1;
    spmm_assert_ok(spmm_attention_plan_create(A, 1, N, &attends, &attention));
    for (int j = 0; j < 2 * N; j++) {
        B[j] = spmm_test_env.rank + 1.0;
    }
}

static void close_plans(void)
{
    spmm_assert_ok(spmm_attention_plan_destroy(&attention));
    spmm_assert_ok(spmm_sddmm_plan_destroy(&sampler));
    spmm_assert_ok(spmm_plan_destroy(&other));
    test_context_destroy(&plan, &A, &ctx);
}

/* Every row is that of rank 0. */
static void expect_product(void)
{
    spmm_assert_ok(spmm_execute(plan, N, 1.0, B, N, 0.0, C, N, NULL));
    assert_true(C[0] == 1.0 && C[N - 1] == 1.0);
}

/* A call that the last rank makes otherwise has failed on all; @p sentence has that rank for %d. */
static void refused(spmm_status_t status, const char *sentence)
{
    char wanted[200];

    (void)snprintf(wanted, sizeof wanted, sentence, spmm_test_env.size - 1);
    test_context_refused(ctx, status, SPMM_ERR_ARGUMENT, wanted);
    expect_product();
}

static const int64_t no_rows[] = {0, 0};

static spmm_status_t create(spmm_type_t type, spmm_matrix_t **made)
{
    return spmm_matrix_create_csr(ctx, 1, 1, no_rows, NULL, NULL, type, made);
}

static spmm_status_t scatter(spmm_operand_t operand, int64_t n)
{
    return spmm_plan_scatter(plan, operand, n, B, N, C, N, NULL);
}

/* What is compared without the option, too; @p odd on the last rank.  Nothing is made. */
static void misuse_setup(bool odd)
{
    const int32_t        narrow[] = {0, 0};
    spmm_plan_options_t  o        = {.struct_size = sizeof o, .engine = odd ? "bcsr" : NULL};
    spmm_sddmm_options_t sampling = {.struct_size = sizeof sampling,
                                     .kernel      = odd ? "rectangles" : "csr"};
    spmm_matrix_t       *made     = NULL;
    spmm_plan_t         *planned  = NULL;
    spmm_sddmm_plan_t   *sampled  = NULL;

    refused(create(odd ? SPMM_R_32F : SPMM_R_64F, &made),
            "spmm_matrix_create_csr: rank %d has type = 2 and rank 0 type = 1");
    refused(odd ? spmm_matrix_create_csr32(ctx, 1, 1, narrow, NULL, NULL, SPMM_R_64F, &made)
                : create(SPMM_R_64F, &made),
            "rank %d calls spmm_matrix_create_csr32() where rank 0 calls spmm_matrix_create_csr()");
    refused(
        spmm_matrix_create_cvse(ctx, 0, 1, odd ? 4 : 2, 1, no_rows, NULL, NULL, SPMM_R_64F, &made),
        "rank %d has vector = 4 and rank 0 vector = 2");
    refused(spmm_matrix_generate(ctx, "stencil5:nx=3,ny=3", SPMM_R_64F, odd ? 8 : 7, &made),
            "rank %d has seed = 8 and rank 0 seed = 7");
    refused(spmm_plan_create(A, odd ? 3 : N, NULL, &planned), "rank %d has n = 3 and rank 0 n = 4");
    refused(spmm_plan_create(A, N, &o, &planned),
            "rank %d has engine = \"bcsr\" and rank 0 engine = \"\"");
    refused(scatter(SPMM_OPERAND_B, odd ? 2 : N),
            "spmm_plan_scatter: rank %d has n = 2 and rank 0 n = 4");
    refused(scatter(odd ? SPMM_OPERAND_C : SPMM_OPERAND_B, N),
            "spmm_plan_scatter: rank %d has operand = 1 and rank 0 operand = 0");
    refused(odd ? spmm_plan_gather(plan, SPMM_OPERAND_B, N, B, N, C, N, NULL)
                : scatter(SPMM_OPERAND_B, N),
            "rank %d calls spmm_plan_gather() where rank 0 calls spmm_plan_scatter()");
    refused(spmm_plan_write_partition(plan, odd ? "/nonexistent/b" : "/nonexistent/a"),
            "rank %d has path = \"/nonexistent/b\"");
    refused(spmm_sddmm_plan_create(A, N, &sampling, &sampled),
            "rank %d has kernel = \"rectangles\" and rank 0 kernel = \"csr\"");
}

static spmm_status_t execute(int64_t n, double alpha, const double *b, int64_t ldb, double beta)
{
    return spmm_execute(plan, n, alpha, b, ldb, beta, C, N, NULL);
}

static spmm_status_t sample(int64_t k, double alpha, int64_t ldy)
{
    return spmm_sddmm(sampler, k, alpha, B, N, B, ldy, 0.0, C, NULL);
}

static spmm_status_t attend(double scale, int64_t ldk, bool backward)
{
    double d[3 * N], lse = 0.0;

    return backward ? spmm_attention_backward(attention, scale, B, N, B, ldk, B, N, C, C, N, &lse,
                                              d, d + N, d + 2 * N, NULL)
                    : spmm_attention(attention, scale, B, N, B, ldk, B, N, C, N, &lse, NULL);
}

/* What the option is for. */
static void misuse_products(bool odd)
{
    spmm_matrix_t *made = NULL;

    refused(spmm_matrix_read(ctx, odd ? "/nonexistent/b" : "/nonexistent/a", SPMM_R_64F, 0, &made),
            "rank %d has path = \"/nonexistent/b\" and rank 0 path = \"/nonexistent/a\"");
    refused(execute(odd ? 2 : 3, 1.0, B, N, 0.0),
            "spmm_execute: rank %d has n = 2 and rank 0 n = 3");
    refused(execute(N, odd ? 0.5 : 1.0, B, N, 0.0), "rank %d has alpha = 0.5 and rank 0 alpha = 1");
    refused(execute(N, 1.0, B, N, odd ? 1.0 : 0.0), "rank %d has beta = 1 and rank 0 beta = 0");
    refused(execute(N, 1.0, B, odd ? N + 1 : N, 0.0), "rank %d has ldb = 5 and rank 0 ldb = 4");
    refused(spmm_execute(odd ? other : plan, N, 1.0, B, N, 0.0, C, N, NULL),
            "rank %d has plan = 3 and rank 0 plan = 2");
    refused(execute(N, 1.0, odd ? NULL : B, N, 0.0), "rank %d: B is NULL");
    refused(execute(odd ? N + 1 : N, 1.0, B, N + 1, 0.0),
            "rank %d: n is 5, must be 1 to 4 as planned");
    refused(odd ? spmm_plan_resync(plan) : spmm_matrix_update_values(A, B),
            "rank %d calls spmm_plan_resync() where rank 0 calls spmm_matrix_update_values()");
    refused(sample(odd ? 2 : 3, 1.0, N), "spmm_sddmm: rank %d has k = 2 and rank 0 k = 3");
    refused(sample(N, odd ? 2.0 : 1.0, N),
            "spmm_sddmm: rank %d has alpha = 2 and rank 0 alpha = 1");
    refused(sample(N, 1.0, odd ? N + 1 : N), "spmm_sddmm: rank %d has ldy = 5 and rank 0 ldy = 4");
    refused(attend(odd ? 0.25 : 0.5, N, false),
            "spmm_attention: rank %d has scale = 0.25 and rank 0 scale = 0.5");
    refused(attend(0.5, odd ? N + 1 : N, false),
            "spmm_attention: rank %d has ldk = 5 and rank 0 ldk = 4");
    refused(attend(0.5, odd ? N + 1 : N, true),
            "spmm_attention_backward: rank %d has ldk = 5 and rank 0 ldk = 4");
}

/* One rank's wish for the option is enough. */
static void test_misuses(void **state)
{
    for (int check = 0; check < 2 && spmm_test_env.size > 1; check++) {
        open_plans(spmm_test_is_last() ? check : 0);
        misuse_setup(spmm_test_is_last());
        if (check != 0) {
            misuse_products(spmm_test_is_last());
        }
        close_plans();
    }
}

/* Ranks without rows read no leading dimension; the first that reads one is compared with. */
static void test_ld_of_no_rows(void **state)
{
    const spmm_context_options_t o = {
        .struct_size = sizeof o, .device = SPMM_DEVICE_CPU, .check = 1};
    const int     rank      = spmm_test_env.rank;
    const bool    has       = spmm_test_env.size == 1 || rank > 0;
    const int64_t row_ptr[] = {0, 1}, col = 0;
    const double  value = 2.0;

    spmm_assert_ok(spmm_context_create(spmm_test_env.comm, &o, &ctx));
    spmm_assert_ok(spmm_matrix_create_csr(ctx, has, has, row_ptr, &col, &value, SPMM_R_64F, &A));
    spmm_assert_ok(spmm_plan_create(A, N, NULL, &plan));
    spmm_assert_ok(spmm_execute(plan, N, 1.0, B, has ? N : 0, 0.0, C, has ? N : -7, NULL));
    if (spmm_test_env.size > 2) {
        test_context_refused(ctx,
                             spmm_execute(plan, N, 1.0, B, has ? 3 + rank : 0, 0.0, C, N, NULL),
                             SPMM_ERR_ARGUMENT, "rank 2 has ldb = 5 and rank 1 ldb = 4");
        spmm_assert_ok(spmm_execute(plan, N, 1.0, B, has ? N : 9, 0.0, C, N, NULL));
    }
    test_context_destroy(&plan, &A, &ctx);
}

/* Reductions of the library. */
static int64_t reductions;

int MPI_Allreduce(const void *send, void *recv, int count, MPI_Datatype type, MPI_Op op,
                  MPI_Comm comm)
{
    reductions++;
    return PMPI_Allreduce(send, recv, count, type, op, comm);
}

static void test_cost(void **state)
{
    for (int check = 0; check < 2; check++) {
        open_plans(check);
        reductions = 0;
        expect_product();
        assert_int_equal(reductions, check != 0 && spmm_test_env.size > 1 ? 1 : 0);
        close_plans();
    }
}

static void test_environment(void **state)
{
    assert_int_equal(setenv("SPMM_CHECK", spmm_test_is_last() ? "1" : "", 1), 0);
    open_plans(0);
    if (spmm_test_env.size > 1) {
        assert_int_equal(execute(N, spmm_test_is_last() ? 0.5 : 1.0, B, N, 0.0), SPMM_ERR_ARGUMENT);
    }
    expect_product();
    close_plans();
}

SPMM_TESTS(test_misuses, test_ld_of_no_rows, test_cost, test_environment);
