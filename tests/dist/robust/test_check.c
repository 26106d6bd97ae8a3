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

/** The calls. */
typedef enum {
    CREATE_TYPE,
    CREATE_NARROW,
    CREATE_BLOCKS,
    READ_PATH,
    GENERATE_SEED,
    PLAN_N,
    PLAN_ENGINE,
    EXECUTE_N,
    EXECUTE_ALPHA,
    EXECUTE_BETA,
    EXECUTE_LD,
    EXECUTE_ORDER,
    EXECUTE_NULL,
    EXECUTE_TOO_WIDE,
    SCATTER_N,
    SCATTER_OPERAND,
    GATHER,
    WRITE_PATH,
    RESYNC,
    SDDMM_KERNEL,
    SDDMM_K,
    SDDMM_ALPHA,
    SDDMM_LD,
    ATTENTION_SCALE,
    ATTENTION_LD,
    BACKWARD_LD
} call_t;

static spmm_status_t attend(double scale, int64_t ldk, bool backward)
{
    double d[3 * N], lse = 0.0;

    return backward ? spmm_attention_backward(attention, scale, B, N, B, ldk, B, N, C, C, N, &lse,
                                              d, d + N, d + 2 * N, NULL)
                    : spmm_attention(attention, scale, B, N, B, ldk, B, N, C, N, &lse, NULL);
}

/* Nothing is made. */
static spmm_status_t create(call_t call, bool odd)
{
    const int64_t        row_ptr[] = {0, 0};
    const int32_t        narrow[]  = {0, 0};
    const char          *path      = odd ? "/nonexistent/b" : "/nonexistent/a";
    spmm_plan_options_t  o         = {.struct_size = sizeof o, .engine = odd ? "bcsr" : NULL};
    spmm_sddmm_options_t sampling  = {.struct_size = sizeof sampling,
                                      .kernel      = odd ? "rectangles" : "csr"};
    spmm_matrix_t       *made      = NULL;
    spmm_plan_t         *planned   = NULL;
    spmm_sddmm_plan_t   *sampled   = NULL;

    switch (call) {
    case CREATE_TYPE:
        return spmm_matrix_create_csr(ctx, 1, 1, row_ptr, NULL, NULL, odd ? SPMM_R_32F : SPMM_R_64F,
                                      &made);
    case CREATE_NARROW:
        return odd ? spmm_matrix_create_csr32(ctx, 1, 1, narrow, NULL, NULL, SPMM_R_64F, &made)
                   : spmm_matrix_create_csr(ctx, 1, 1, row_ptr, NULL, NULL, SPMM_R_64F, &made);
    case CREATE_BLOCKS:
        return spmm_matrix_create_cvse(ctx, 0, 1, odd ? 4 : 2, 1, row_ptr, NULL, NULL, SPMM_R_64F,
                                       &made);
    case READ_PATH:
        return spmm_matrix_read(ctx, path, SPMM_R_64F, 0, &made);
    case GENERATE_SEED:
        return spmm_matrix_generate(ctx, "stencil5:nx=3,ny=3", SPMM_R_64F, odd ? 8 : 7, &made);
    case PLAN_N:
        return spmm_plan_create(A, odd ? 3 : N, NULL, &planned);
    case PLAN_ENGINE:
        return spmm_plan_create(A, N, &o, &planned);
    case WRITE_PATH:
        return spmm_plan_write_partition(plan, path);
    default:
        return spmm_sddmm_plan_create(A, N, &sampling, &sampled);
    }
}

/* Call @p call, otherwise if @p odd. */
static spmm_status_t make_call(call_t call, bool odd)
{
    switch (call) {
    case EXECUTE_N:
        return spmm_execute(plan, odd ? 2 : 3, 1.0, B, N, 0.0, C, N, NULL);
    case EXECUTE_ALPHA:
        return spmm_execute(plan, N, odd ? 0.5 : 1.0, B, N, 0.0, C, N, NULL);
    case EXECUTE_BETA:
        return spmm_execute(plan, N, 1.0, B, N, odd ? 1.0 : 0.0, C, N, NULL);
    case EXECUTE_LD:
        return spmm_execute(plan, N, 1.0, B, odd ? N + 1 : N, 0.0, C, N, NULL);
    case EXECUTE_ORDER:
        return spmm_execute(odd ? other : plan, N, 1.0, B, N, 0.0, C, N, NULL);
    case EXECUTE_NULL:
        return spmm_execute(plan, N, 1.0, odd ? NULL : B, N, 0.0, C, N, NULL);
    case EXECUTE_TOO_WIDE:
        return spmm_execute(plan, odd ? N + 1 : N, 1.0, B, N + 1, 0.0, C, N, NULL);
    case SCATTER_N:
        return spmm_plan_scatter(plan, SPMM_OPERAND_B, odd ? 2 : N, B, N, C, N, NULL);
    case SCATTER_OPERAND:
        return spmm_plan_scatter(plan, odd ? SPMM_OPERAND_C : SPMM_OPERAND_B, N, B, N, C, N, NULL);
    case GATHER:
        return odd ? spmm_plan_gather(plan, SPMM_OPERAND_B, N, B, N, C, N, NULL)
                   : spmm_plan_scatter(plan, SPMM_OPERAND_B, N, B, N, C, N, NULL);
    case RESYNC:
        return odd ? spmm_plan_resync(plan) : spmm_matrix_update_values(A, B);
    case SDDMM_K:
        return spmm_sddmm(sampler, odd ? 2 : 3, 1.0, B, N, B, N, 0.0, C, NULL);
    case SDDMM_ALPHA:
        return spmm_sddmm(sampler, N, odd ? 2.0 : 1.0, B, N, B, N, 0.0, C, NULL);
    case SDDMM_LD:
        return spmm_sddmm(sampler, N, 1.0, B, N, B, odd ? N + 1 : N, 0.0, C, NULL);
    case ATTENTION_SCALE:
        return attend(odd ? 0.25 : 0.5, N, false);
    case ATTENTION_LD:
    case BACKWARD_LD:
        return attend(0.5, odd ? N + 1 : N, call == BACKWARD_LD);
    default:
        return create(call, odd);
    }
}

static const struct {
    call_t      call;
    const char *sentence; /* with the last rank for %d */
    bool        always;   /* without the option, too */
} misuses[] = {
    {CREATE_TYPE, "spmm_matrix_create_csr: rank %d has type = 2 and rank 0 type = 1", true},
    {CREATE_NARROW,
     "rank %d calls spmm_matrix_create_csr32() where rank 0 calls spmm_matrix_create_csr()", true},
    {CREATE_BLOCKS, "rank %d has vector = 4 and rank 0 vector = 2", true},
    {READ_PATH, "rank %d has path = \"/nonexistent/b\" and rank 0 path = \"/nonexistent/a\"",
     false},
    {GENERATE_SEED, "rank %d has seed = 8 and rank 0 seed = 7", true},
    {PLAN_N, "rank %d has n = 3 and rank 0 n = 4", true},
    {PLAN_ENGINE, "rank %d has engine = \"bcsr\" and rank 0 engine = \"\"", true},
    {EXECUTE_N, "spmm_execute: rank %d has n = 2 and rank 0 n = 3", false},
    {EXECUTE_ALPHA, "rank %d has alpha = 0.5 and rank 0 alpha = 1", false},
    {EXECUTE_BETA, "rank %d has beta = 1 and rank 0 beta = 0", false},
    {EXECUTE_LD, "rank %d has ldb = 5 and rank 0 ldb = 4", false},
    {EXECUTE_ORDER, "rank %d has plan = 3 and rank 0 plan = 2", false},
    {EXECUTE_NULL, "rank %d: B is NULL", false},
    {EXECUTE_TOO_WIDE, "rank %d: n is 5, must be 1 to 4 as planned", false},
    {SCATTER_N, "spmm_plan_scatter: rank %d has n = 2 and rank 0 n = 4", true},
    {SCATTER_OPERAND, "spmm_plan_scatter: rank %d has operand = 1 and rank 0 operand = 0", true},
    {GATHER, "rank %d calls spmm_plan_gather() where rank 0 calls spmm_plan_scatter()", true},
    {WRITE_PATH, "rank %d has path = \"/nonexistent/b\"", true},
    {RESYNC, "rank %d calls spmm_plan_resync() where rank 0 calls spmm_matrix_update_values()",
     false},
    {SDDMM_KERNEL, "rank %d has kernel = \"rectangles\" and rank 0 kernel = \"csr\"", true},
    {SDDMM_K, "spmm_sddmm: rank %d has k = 2 and rank 0 k = 3", false},
    {SDDMM_ALPHA, "spmm_sddmm: rank %d has alpha = 2 and rank 0 alpha = 1", false},
    {SDDMM_LD, "spmm_sddmm: rank %d has ldy = 5 and rank 0 ldy = 4", false},
    {ATTENTION_SCALE, "spmm_attention: rank %d has scale = 0.25 and rank 0 scale = 0.5", false},
    {ATTENTION_LD, "spmm_attention: rank %d has ldk = 5 and rank 0 ldk = 4", false},
    {BACKWARD_LD, "spmm_attention_backward: rank %d has ldk = 5 and rank 0 ldk = 4", false},
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
        test_context_refused(ctx, make_call(misuses[m].call, is_last()), SPMM_ERR_ARGUMENT, wanted);
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
    assert_int_equal(setenv("SPMM_CHECK", is_last() ? "1" : "", 1), 0);
    open_plans(0);
    if (spmm_test_env.size > 1) {
        assert_int_equal(make_call(EXECUTE_ALPHA, is_last()), SPMM_ERR_ARGUMENT);
    }
    expect_product();
    close_plans();
}

SPMM_TESTS(test_misuses, test_misuses_unasked, test_ld_of_no_rows, test_cost, test_environment);
