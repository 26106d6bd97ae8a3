/* SPDX-License-Identifier: Apache-2.0 */
/* test: RANKS 1 2 3 */
/** @file test_fortran_entries.c  The entries that the Fortran module calls, from C: no Fortran
 *  compiler is needed for them. */
#include "test_context.h"

#include <unistd.h>

static spmm_context_t *open_by(MPI_Comm comm)
{
    const spmm_context_options_t options = {.struct_size = sizeof options,
                                            .device      = SPMM_DEVICE_CPU};
    spmm_context_t              *ctx     = NULL;

    spmm_assert_ok(spmm_context_create_f((int)MPI_Comm_c2f(comm), &options, &ctx));
    return ctx;
}

static spmm_context_info_t info_of(const spmm_context_t *ctx)
{
    spmm_context_info_t info = {.struct_size = sizeof info};

    spmm_assert_ok(spmm_context_get_info(ctx, &info));
    return info;
}

/* All ranks in the opposite order, and this rank alone. */
static void test_communicators(void **state)
{
    MPI_Comm        back;
    spmm_context_t *ctx;

    MPI_Comm_split(spmm_test_env.comm, 0, -spmm_test_env.rank, &back);
    ctx = open_by(back);
    assert_int_equal(info_of(ctx).rank, spmm_test_env.size - 1 - spmm_test_env.rank);
    assert_int_equal(info_of(ctx).size, spmm_test_env.size);
    MPI_Comm_free(&back);
    spmm_assert_ok(spmm_context_destroy(&ctx));
    ctx = open_by(MPI_COMM_SELF);
    assert_int_equal(info_of(ctx).size, 1);
    spmm_assert_ok(spmm_context_destroy(&ctx));
}

static void test_no_communicator(void **state)
{
    const int       none[] = {(int)MPI_Comm_c2f(MPI_COMM_NULL), 100000, -7};
    spmm_context_t *ctx    = NULL;

#ifdef OPEN_MPI /* which knows the numbers of its communicators */
    const int count = 3;
#else
    const int count = 1;
#endif
    for (int i = 0; i < count; i++) {
        test_context_refused(NULL, spmm_context_create_f(none[i], NULL, &ctx), SPMM_ERR_ARGUMENT,
                             "pass a communicator");
        assert_null(ctx);
    }
    test_context_refused(NULL, spmm_context_create_f((int)MPI_Comm_c2f(MPI_COMM_SELF), NULL, NULL),
                         SPMM_ERR_ARGUMENT, "ctx is NULL");
}

/* Twice to one file: what is there stays. */
static void check_file(const spmm_plan_t *plan)
{
    char         path[] = "/tmp/spmm_explain_XXXXXX";
    int          handle = mkstemp(path);
    char        *text   = test_context_explain(plan);
    char        *found  = spmm_test_calloc(2, strlen(text) + 1);
    FILE        *in     = fdopen(handle, "r");
    const size_t n      = strlen(text);

    assert_true(handle >= 0 && in != NULL);
    spmm_assert_ok(spmm_plan_explain_f(plan, path));
    spmm_assert_ok(spmm_plan_explain_f(plan, path));
    assert_int_equal(fread(found, 1, 2 * n + 1, in), 2 * n);
    assert_memory_equal(found, text, n);
    assert_memory_equal(found + n, text, n);
    (void)fclose(in);
    (void)unlink(path);
    spmm_test_free(text, found);
}

static void test_explain(void **state)
{
    spmm_context_t *ctx  = open_by(spmm_test_env.comm);
    spmm_matrix_t  *A    = NULL;
    spmm_plan_t    *plan = NULL;

    spmm_assert_ok(test_context_matrix(ctx, 1, 0, &A));
    spmm_assert_ok(spmm_plan_create(A, 3, NULL, &plan));
    check_file(plan);
    test_context_refused(ctx, spmm_plan_explain_f(plan, "/nonexistent/x"), SPMM_ERR_IO,
                         "cannot write to '/nonexistent/x': No such");
    test_context_refused(ctx, spmm_plan_explain_f(plan, "/dev/full"), SPMM_ERR_IO, "No space left");
    test_context_refused(ctx, spmm_plan_explain_f(plan, NULL), SPMM_ERR_ARGUMENT, "path is NULL");
    test_context_refused(NULL, spmm_plan_explain_f(NULL, "/dev/null"), SPMM_ERR_ARGUMENT,
                         "plan is NULL");
    test_context_destroy(&plan, &A, &ctx);
}

SPMM_TESTS(test_communicators, test_no_communicator, test_explain);
