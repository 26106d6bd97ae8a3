/* SPDX-License-Identifier: Apache-2.0 */
/* test: RANKS 1 2 3 */
/** @file test_misuse.c  Mistakes of one rank or of one call: all ranks hear of them, the sentence
 *  is that of the last failure, and what a plan says of itself stays true. */
#include "plan_case.h"

#include "plan/plan.h"

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

/* A rank that passes no place for the result must not leave the others waiting. */
static void test_no_place_for_the_result(void **state)
{
    spmm_plan_t *plan = NULL;

    expect_refusal(test_context_matrix(ctx, 1, 0, spmm_test_is_last() ? NULL : &A), "A is NULL");
    spmm_assert_ok(test_context_matrix(ctx, 1, 0, &A));
    expect_refusal(spmm_plan_create(A, 1, NULL, spmm_test_is_last() ? NULL : &plan),
                   "plan is NULL");
    spmm_assert_ok(spmm_plan_create(A, 1, NULL, &plan));
    expect_refusal(
        spmm_plan_write_partition(plan, spmm_test_is_last() ? NULL : "/nonexistent/x.part"),
        "path is NULL");
    spmm_assert_ok(spmm_plan_destroy(&plan));
}

static void test_sentence_is_of_the_last_failure(void **state)
{
    void              *buffer = NULL;
    spmm_layout_info_t info   = {.struct_size = sizeof info};
    const int64_t     *row_ptr;
    spmm_plan_t       *plan;

    spmm_assert_ok(test_context_matrix(ctx, 1, 0, &A));
    spmm_assert_ok(spmm_plan_create(A, 1, NULL, &plan));
    expect_refusal(spmm_execute(plan, 7, 1.0, NULL, 1, 0.0, NULL, 1, NULL), "n is 7");
    expect_refusal(spmm_plan_get_layout(plan, (spmm_operand_t)9, &info), "operand 9");
    expect_refusal(spmm_matrix_get_info(A, NULL), "matrix info");
    expect_refusal(spmm_context_get_info(ctx, NULL), "context info");
    expect_refusal(spmm_plan_explain(plan, NULL), "out is NULL");
    expect_refusal(spmm_matrix_get_csr(A, &row_ptr, NULL, NULL), "col_idx");
    expect_refusal(spmm_buffer_copy(ctx, NULL, &info, 1), "dst is NULL");
    expect_refusal(spmm_buffer_alloc(ctx, 1, NULL), "buffer is NULL");
    assert_int_equal(spmm_buffer_alloc(NULL, 1, &buffer), SPMM_ERR_ARGUMENT);
    spmm_assert_ok(spmm_buffer_alloc(ctx, 8 * (size_t)spmm_test_env.rank, &buffer));
    assert_non_null(buffer);
    spmm_assert_ok(spmm_buffer_free(ctx, &buffer));
    assert_null(buffer);
    spmm_assert_ok(spmm_buffer_free(ctx, &buffer));
    spmm_assert_ok(spmm_plan_destroy(&plan));
}

/* Rank 0 owns column 0, which all others need: with op T they send it their sums. */
static void test_volumes_of_a_star(void **state)
{
    const int64_t     peers = spmm_test_env.size - 1;
    spmm_plan_stats_t stats;
    spmm_plan_t      *plan;

    spmm_assert_ok(test_context_matrix(ctx, 3, 0, &A));
    plan  = test_context_plan(A, 1, .op = SPMM_OP_N);
    stats = test_context_stats(plan);
    assert_int_equal(stats.halo_rows, spmm_test_env.rank == 0 ? 0 : 1);
    assert_int_equal(stats.halo_rows_max, peers > 0 ? 1 : 0);
    assert_int_equal(stats.halo_rows_total, peers);
    assert_int_equal(stats.allgather_rows_total, peers * 3 * spmm_test_env.size);
    spmm_assert_ok(spmm_plan_destroy(&plan));
    plan  = test_context_plan(A, 1, .op = SPMM_OP_T);
    stats = test_context_stats(plan);
    assert_int_equal(stats.halo_rows, spmm_test_env.rank == 0 ? peers : 0);
    assert_int_equal(stats.halo_rows_max, peers);
    assert_int_equal(stats.halo_rows_total, peers);
    assert_int_equal(stats.allgather_rows_total, peers * spmm_test_env.size);
    spmm_assert_ok(spmm_plan_destroy(&plan));
}

static spmm_status_t refuse(void *format, const spmm_operands_t *x)
{
    return spmmi_fail(&spmm_test_env.err, SPMM_ERR_DEVICE, "broken by the test");
}

/* Times are those of the last execute: none before the first, none after one that failed. */
static void test_times_of_failed_execute(void **state)
{
    const double             B[3] = {1, 2, 3};
    double                   C    = 0.0;
    spmm_engine_ops_t        broken;
    const spmm_engine_ops_t *engine;
    spmm_plan_t             *plan;

    spmm_assert_ok(test_context_matrix(ctx, 3, 0, &A));
    plan = test_context_plan(A, 1, .profile = 1, .tuning = "measure=no");
    assert_true(isnan(test_context_stats(plan).total_s));
    spmm_assert_ok(spmm_execute(plan, 1, 1.0, B, 1, 0.0, &C, 1, NULL));
    assert_true(test_context_stats(plan).total_s >= 0.0);
    engine                       = plan->blocks.diagonal.engine;
    broken                       = *engine;
    broken.execute               = refuse;
    plan->blocks.diagonal.engine = &broken;
    assert_int_equal(spmm_execute(plan, 1, 1.0, B, 1, 0.0, &C, 1, NULL), SPMM_ERR_DEVICE);
    assert_true(isnan(test_context_stats(plan).total_s));
    plan->blocks.diagonal.engine = engine;
    spmm_assert_ok(spmm_execute(plan, 1, 1.0, B, 1, 0.0, &C, 1, NULL));
    assert_true(test_context_stats(plan).total_s >= 0.0);
    assert_true(C == 1.0);
    spmm_assert_ok(spmm_plan_destroy(&plan));
}

static void test_buffer_beyond_memory(void **state)
{
    void *buffer = NULL;
    char  bytes[64];

    (void)snprintf(bytes, sizeof bytes, "%zu bytes", SIZE_MAX);
    test_context_refused(ctx, spmm_buffer_alloc(ctx, SIZE_MAX, &buffer), SPMM_ERR_MEMORY, bytes);
    assert_null(buffer);
}

static void expect_no_context(MPI_Comm comm, const spmm_context_options_t *options,
                              const char *sentence)
{
    spmm_context_t *made = NULL;

    test_context_refused(NULL, spmm_context_create(comm, options, &made), SPMM_ERR_ARGUMENT,
                         sentence);
    assert_null(made);
}

static void test_contexts_that_cannot_be(void **state)
{
    const int              lower  = spmm_test_env.rank < spmm_test_env.size / 2;
    const int              remote = lower ? spmm_test_env.size / 2 : 0;
    spmm_context_options_t o      = SPMM_CONTEXT_OPTIONS_INIT;
    spmm_context_t        *made   = NULL;
    MPI_Comm               half, inter;

    expect_no_context(MPI_COMM_NULL, NULL, "pass a communicator");
    test_context_refused(
        NULL, spmm_context_create(spmm_test_env.comm, NULL, spmm_test_is_last() ? NULL : &made),
        SPMM_ERR_ARGUMENT, "ctx is NULL");
    assert_null(made);
    if (spmm_test_env.size == 1) {
        return;
    }
    o.nccl_ctas = spmm_test_is_last() ? 4 : 8;
    expect_no_context(spmm_test_env.comm, &o, "nccl_ctas = 4 and rank 0 nccl_ctas = 8");
    o.nccl_ctas      = 0;
    o.ranks_per_node = spmm_test_is_last() ? 1 : 2;
    expect_no_context(spmm_test_env.comm, &o, "ranks_per_node = 1 and rank 0 ranks_per_node = 2");
    o.ranks_per_node = -1;
    expect_no_context(spmm_test_env.comm, &o, "ranks_per_node is -1, must be >= 0");
    o.ranks_per_node = 0;
    o.timeout_s      = spmm_test_is_last() ? 1.0 : 0.0;
    expect_no_context(spmm_test_env.comm, &o, "timeout_s = 1 and rank 0 timeout_s = 0");
    o.timeout_s = spmm_test_is_last() ? (double)NAN : 0.0;
    expect_no_context(spmm_test_env.comm, &o, "timeout_s is nan, must be >= 0");
    MPI_Comm_split(spmm_test_env.comm, lower, 0, &half);
    MPI_Intercomm_create(half, 0, spmm_test_env.comm, remote, 5, &inter);
    expect_no_context(inter, NULL, "intra-communicator");
    MPI_Comm_free(&inter);
    MPI_Comm_free(&half);
}

/* As MPI answers, until a test says otherwise. */
static bool mpi_is_over;

int MPI_Finalized(int *flag)
{
    const int code = PMPI_Finalized(flag);

    *flag = *flag || mpi_is_over;
    return code;
}

/* Programs that tidy up by atexit() or in destructors do it too late, and must not be ended by
 * it. */
static void test_destroy_after_finalize(void **state)
{
    mpi_is_over = true;
    assert_int_equal(spmm_context_destroy(&ctx), SPMM_ERR_ARGUMENT);
    assert_non_null(ctx);
    assert_non_null(strstr(spmm_last_error(ctx), "MPI_Finalize"));
    mpi_is_over = false;
    spmm_assert_ok(spmm_context_destroy(&ctx));
    assert_null(ctx);
}

static void expect_over(spmm_status_t status)
{
    test_context_refused(ctx, status, SPMM_ERR_ARGUMENT, "MPI_Finalize");
}

/* What would call MPI, and be ended by it. */
static void test_calls_after_finalize(void **state)
{
    const int64_t  row_ptr[] = {0, 0};
    double         B = 1.0, C = 2.0;
    spmm_matrix_t *other = NULL;
    spmm_plan_t   *plan, *second = NULL;

    spmm_assert_ok(test_context_matrix(ctx, 1, 0, &A));
    spmm_assert_ok(spmm_plan_create(A, 1, NULL, &plan));
    mpi_is_over = true;
    expect_over(spmm_matrix_create_csr(ctx, 1, 1, row_ptr, NULL, NULL, SPMM_R_64F, &other));
    expect_over(spmm_matrix_update_values(A, &B));
    expect_over(spmm_plan_create(A, 1, NULL, &second));
    expect_over(spmm_execute(plan, 1, 1.0, &B, 1, 0.0, &C, 1, NULL));
    expect_over(spmm_plan_scatter(plan, SPMM_OPERAND_B, 1, &B, 1, &C, 1, NULL));
    expect_over(spmm_plan_gather(plan, SPMM_OPERAND_C, 1, &B, 1, &C, 1, NULL));
    expect_over(spmm_plan_write_partition(plan, "/nonexistent/x.part"));
    mpi_is_over = false;
    assert_true(C == 2.0 && other == NULL && second == NULL);
    spmm_assert_ok(spmm_plan_destroy(&plan));
}

SPMM_TESTS(test_contexts_that_cannot_be, test_destroy_after_finalize, test_calls_after_finalize,
           test_buffer_beyond_memory, test_no_place_for_the_result,
           test_sentence_is_of_the_last_failure, test_volumes_of_a_star,
           test_times_of_failed_execute);
