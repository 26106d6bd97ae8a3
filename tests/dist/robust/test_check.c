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

static bool is_last(void)
{
    return spmm_test_env.rank == spmm_test_env.size - 1;
}

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

/* The calls; @p odd on the last rank alone. */

static spmm_status_t create(spmm_type_t type, bool narrow)
{
    const int64_t  row_ptr[]   = {0, 0};
    const int32_t  short_ptr[] = {0, 0};
    spmm_matrix_t *made        = NULL;

    return narrow ? spmm_matrix_create_csr32(ctx, 1, 1, short_ptr, NULL, NULL, type, &made)
                  : spmm_matrix_create_csr(ctx, 1, 1, row_ptr, NULL, NULL, type, &made);
}

static spmm_status_t create_type(bool odd)
{
    return create(odd ? SPMM_R_32F : SPMM_R_64F, false);
}

static spmm_status_t create_narrow(bool odd)
{
    return create(SPMM_R_64F, odd);
}

static spmm_status_t create_blocks(bool odd)
{
    const int64_t  ptr[] = {0};
    spmm_matrix_t *made  = NULL;

    return spmm_matrix_create_cvse(ctx, 0, 1, odd ? 4 : 2, 1, ptr, NULL, NULL, SPMM_R_64F, &made);
}

static spmm_status_t read_path(bool odd)
{
    spmm_matrix_t *made = NULL;

    return spmm_matrix_read(ctx, odd ? "/nonexistent/b" : "/nonexistent/a", SPMM_R_64F, 0, &made);
}

static spmm_status_t generate_seed(bool odd)
{
    spmm_matrix_t *made = NULL;

    return spmm_matrix_generate(ctx, "stencil5:nx=3,ny=3", SPMM_R_64F, odd ? 8 : 7, &made);
}

static spmm_status_t plan_n(bool odd)
{
    spmm_plan_t *made = NULL;

    return spmm_plan_create(A, odd ? 3 : N, NULL, &made);
}

static spmm_status_t plan_engine(bool odd)
{
    spmm_plan_options_t o    = SPMM_PLAN_OPTIONS_INIT;
    spmm_plan_t        *made = NULL;

    o.engine = odd ? "bcsr" : NULL;
    return spmm_plan_create(A, N, &o, &made);
}

static spmm_status_t execute(spmm_plan_t *p, int64_t n, double alpha, const void *b, int64_t ldb,
                             double beta)
{
    return spmm_execute(p, n, alpha, b, ldb, beta, C, N, NULL);
}

static spmm_status_t execute_n(bool odd)
{
    return execute(plan, odd ? 2 : 3, 1.0, B, N, 0.0);
}

static spmm_status_t execute_alpha(bool odd)
{
    return execute(plan, N, odd ? 0.5 : 1.0, B, N, 0.0);
}

static spmm_status_t execute_beta(bool odd)
{
    return execute(plan, N, 1.0, B, N, odd ? 1.0 : 0.0);
}

static spmm_status_t execute_ld(bool odd)
{
    return execute(plan, N, 1.0, B, odd ? N + 1 : N, 0.0);
}

static spmm_status_t execute_order(bool odd)
{
    return execute(odd ? other : plan, N, 1.0, B, N, 0.0);
}

static spmm_status_t execute_null(bool odd)
{
    return execute(plan, N, 1.0, odd ? NULL : B, N, 0.0);
}

static spmm_status_t execute_too_wide(bool odd)
{
    return execute(plan, odd ? N + 1 : N, 1.0, B, N + 1, 0.0);
}

static spmm_status_t scatter_n(bool odd)
{
    return spmm_plan_scatter(plan, SPMM_OPERAND_B, odd ? 2 : N, B, N, C, N, NULL);
}

static spmm_status_t scatter_operand(bool odd)
{
    return spmm_plan_scatter(plan, odd ? SPMM_OPERAND_C : SPMM_OPERAND_B, N, B, N, C, N, NULL);
}

static spmm_status_t gather(bool odd)
{
    return odd ? spmm_plan_gather(plan, SPMM_OPERAND_B, N, B, N, C, N, NULL)
               : spmm_plan_scatter(plan, SPMM_OPERAND_B, N, B, N, C, N, NULL);
}

static spmm_status_t write_path(bool odd)
{
    return spmm_plan_write_partition(plan, odd ? "/nonexistent/b" : "/nonexistent/a");
}

static spmm_status_t resync(bool odd)
{
    return odd ? spmm_plan_resync(plan) : spmm_matrix_update_values(A, B);
}

static spmm_status_t sddmm_kernel(bool odd)
{
    spmm_sddmm_options_t o    = SPMM_SDDMM_OPTIONS_INIT;
    spmm_sddmm_plan_t   *made = NULL;
    spmm_status_t        status;

    o.kernel = odd ? "rectangles" : "csr";
    status   = spmm_sddmm_plan_create(A, N, &o, &made);
    (void)spmm_sddmm_plan_destroy(&made);
    return status;
}

static spmm_status_t sddmm_k(bool odd)
{
    return spmm_sddmm(sampler, odd ? 2 : 3, 1.0, B, N, B, N, 0.0, C, NULL);
}

static spmm_status_t sddmm_alpha(bool odd)
{
    return spmm_sddmm(sampler, N, odd ? 2.0 : 1.0, B, N, B, N, 0.0, C, NULL);
}

static spmm_status_t sddmm_ld(bool odd)
{
    return spmm_sddmm(sampler, N, 1.0, B, N, B, odd ? N + 1 : N, 0.0, C, NULL);
}

static spmm_status_t attend(double scale, int64_t ldk, bool backward)
{
    double d[3 * N], lse = 0.0;

    return backward ? spmm_attention_backward(attention, scale, B, N, B, ldk, B, N, C, C, N, &lse,
                                              d, d + N, d + 2 * N, NULL)
                    : spmm_attention(attention, scale, B, N, B, ldk, B, N, C, N, &lse, NULL);
}

static spmm_status_t attention_scale(bool odd)
{
    return attend(odd ? 0.25 : 0.5, N, false);
}

static spmm_status_t attention_ld(bool odd)
{
    return attend(0.5, odd ? N + 1 : N, false);
}

static spmm_status_t backward_ld(bool odd)
{
    return attend(0.5, odd ? N + 1 : N, true);
}

static const struct {
    spmm_status_t (*call)(bool odd);
    const char *sentence; /* with the last rank for %d */
    bool        always;   /* without the option, too */
} misuses[] = {
    {create_type, "spmm_matrix_create_csr: rank %d has type = 2 and rank 0 type = 1", true},
    {create_narrow,
     "rank %d calls spmm_matrix_create_csr32() where rank 0 calls spmm_matrix_create_csr()", true},
    {create_blocks, "rank %d has vector = 4 and rank 0 vector = 2", true},
    {read_path, "rank %d has path = \"/nonexistent/b\" and rank 0 path = \"/nonexistent/a\"",
     false},
    {generate_seed, "rank %d has seed = 8 and rank 0 seed = 7", true},
    {plan_n, "rank %d has n = 3 and rank 0 n = 4", true},
    {plan_engine, "rank %d has engine = \"bcsr\" and rank 0 engine = \"\"", true},
    {execute_n, "spmm_execute: rank %d has n = 2 and rank 0 n = 3", false},
    {execute_alpha, "rank %d has alpha = 0.5 and rank 0 alpha = 1", false},
    {execute_beta, "rank %d has beta = 1 and rank 0 beta = 0", false},
    {execute_ld, "rank %d has ldb = 5 and rank 0 ldb = 4", false},
    {execute_order, "rank %d has plan = 3 and rank 0 plan = 2", false},
    {execute_null, "rank %d: B is NULL", false},
    {execute_too_wide, "rank %d: n is 5, must be 1 to 4 as planned", false},
    {scatter_n, "spmm_plan_scatter: rank %d has n = 2 and rank 0 n = 4", true},
    {scatter_operand, "spmm_plan_scatter: rank %d has operand = 1 and rank 0 operand = 0", true},
    {gather, "rank %d calls spmm_plan_gather() where rank 0 calls spmm_plan_scatter()", true},
    {write_path, "rank %d has path = \"/nonexistent/b\"", true},
    {resync, "rank %d calls spmm_plan_resync() where rank 0 calls spmm_matrix_update_values()",
     false},
    {sddmm_kernel, "rank %d has kernel = \"rectangles\" and rank 0 kernel = \"csr\"", true},
    {sddmm_k, "spmm_sddmm: rank %d has k = 2 and rank 0 k = 3", false},
    {sddmm_alpha, "spmm_sddmm: rank %d has alpha = 2 and rank 0 alpha = 1", false},
    {sddmm_ld, "spmm_sddmm: rank %d has ldy = 5 and rank 0 ldy = 4", false},
    {attention_scale, "spmm_attention: rank %d has scale = 0.25 and rank 0 scale = 0.5", false},
    {attention_ld, "spmm_attention: rank %d has ldk = 5 and rank 0 ldk = 4", false},
    {backward_ld, "spmm_attention_backward: rank %d has ldk = 5 and rank 0 ldk = 4", false},
};

static void expect_sentences(int check)
{
    open_plans(is_last() ? check : 0); /* one rank's wish is enough */
    for (size_t m = 0; m < sizeof misuses / sizeof misuses[0] && spmm_test_env.size > 1; m++) {
        char wanted[200];

        if (check == 0 && !misuses[m].always) {
            continue;
        }
        (void)snprintf(wanted, sizeof wanted, misuses[m].sentence, spmm_test_env.size - 1);
        assert_int_equal(misuses[m].call(is_last()), SPMM_ERR_ARGUMENT);
        if (strstr(spmm_last_error(ctx), wanted) == NULL) {
            fail_msg("no '%s' in: %s", wanted, spmm_last_error(ctx));
        }
        expect_product();
    }
    close_plans();
}

static void test_misuses(void **state)
{
    expect_sentences(1);
}

static void test_misuses_unasked(void **state)
{
    expect_sentences(0);
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
        assert_int_equal(spmm_execute(plan, N, 1.0, B, has ? 3 + rank : 0, 0.0, C, N, NULL),
                         SPMM_ERR_ARGUMENT);
        assert_non_null(strstr(spmm_last_error(ctx), "rank 2 has ldb = 5 and rank 1 ldb = 4"));
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
    assert_int_equal(setenv("SPMM_CHECK", is_last() ? "1" : "", 1), 0);
    open_plans(0);
    if (spmm_test_env.size > 1) {
        assert_int_equal(execute_alpha(is_last()), SPMM_ERR_ARGUMENT);
    }
    expect_product();
    close_plans();
}

SPMM_TESTS(test_misuses, test_misuses_unasked, test_ld_of_no_rows, test_cost, test_environment);
