/* SPDX-License-Identifier: Apache-2.0 */
/* test: RANKS 1 2 3 4 */
/** @file test_tune.c
 *  Plans that choose their engines by times, on CPUs, where the decoders of the tensor-core formats
 *  take part, and remember the winner.
 */
#include "plan_case.h"

#include <dirent.h>
#include <unistd.h>

#include "api/context.h"
#include "plan/plan.h"

enum { ROWS = 40, N = 32 };

static shape_t        shape; /* ROWS a rank */
static spmm_matrix_t *A;
static spmm_plan_t   *plan;

void spmm_test_set_up(void)
{
    open_context();
    shape =
        (shape_t){ROWS * (int64_t)spmm_test_env.size, ROWS * (int64_t)spmm_test_env.size, 3, -1};
    A                       = plan_case_matrix(&shape, &(product_t){.type = SPMM_R_32F});
    A->env->measures_on_cpu = true;
    assert_int_equal(setenv("SPMM_REMEMBER", "0", 1), 0);
}

void spmm_test_tear_down(void)
{
    test_context_destroy(&plan, &A, NULL);
    close_context();
}

static spmm_plan_options_t options(void)
{
    spmm_plan_options_t o = SPMM_PLAN_OPTIONS_INIT;

    o.executes = (int64_t)1 << 40; /* whatever the host's clock says, all formats are worth it */
    return o;
}

/* One product, against FP64, whose bits are to be freed. */
static void *multiply(const spmm_plan_options_t *o, int64_t n, double beta, size_t *bytes)
{
    const product_t p = {.type = SPMM_R_32F, .n = n, .alpha = 1.0, .beta = beta, .o = *o};

    return plan_case_run(&shape, &p, plan, bytes);
}

/* Bits are those of the engine by name, for either op; a rank measures unless it does not want to,
 * or all want equal bits. */
static void test_winner(void **state)
{
    for (int way = 0; way < 5; way++) {
        const bool          has_rows = spmm_test_env.size < 3 || spmm_test_env.rank != 1;
        const bool          measures = has_rows && way < 2;
        spmm_plan_options_t o = options(), named = o;
        spmm_plan_stats_t   stats;
        void               *C, *again;
        size_t              bytes, unused;

        o.op            = way == 1 ? SPMM_OP_T : SPMM_OP_N;
        o.deterministic = way == 2;
        o.engine        = way == 3 ? "bittcf" : NULL;
        o.tuning        = way == 4 ? "schedule=overlap,measure=no" : "schedule=overlap";
        spmm_assert_ok(spmm_plan_create(A, N, &o, &plan));
        stats = test_context_stats(plan);
        C     = multiply(&o, N, 0.0, &bytes);
        free(multiply(&o, N - 3, 1.0, &unused));
        spmm_assert_ok(spmm_plan_destroy(&plan));
        assert_int_equal(isnan(stats.local_measured_s), !measures);
        if (spmm_test_env.size == 1) { /* engines of ranks and blocks may differ */
            named.op     = o.op;
            named.engine = stats.engine;
            spmm_assert_ok(spmm_plan_create(A, N, &named, &plan));
            again = multiply(&named, N, 0.0, &bytes);
            assert_memory_equal(C, again, bytes);
            spmm_assert_ok(spmm_plan_destroy(&plan));
            free(again);
        }
        free(C);
    }
}

/* Files of the folder that begin with @p name; @p removes: they go. */
static int count_files(const char *folder, const char *name, bool removes)
{
    DIR           *dir   = opendir(folder);
    int            count = 0;
    struct dirent *entry;
    char           path[600];

    assert_non_null(dir);
    while ((entry = readdir(dir)) != NULL) {
        const bool is_one =
            entry->d_name[0] != '.' && strncmp(entry->d_name, name, strlen(name)) == 0;

        count += is_one;
        (void)snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        assert_true(!is_one || !removes || remove(path) == 0);
    }
    assert_int_equal(closedir(dir), 0);
    return count;
}

/* The second plan takes the winner of the first, which it does not measure anew; all ranks write
 * into one folder. */
static void check_remembered(const char *folder)
{
    spmm_plan_options_t o = options();
    spmm_plan_stats_t   first, second;
    void               *C, *again;
    size_t              bytes;
    int                 removed = 0;

    o.tuning = "schedule=overlap"; /* merged has another block */
    spmm_assert_ok(spmm_plan_create(A, N, &o, &plan));
    first = test_context_stats(plan);
    C     = multiply(&o, N, 0.0, &bytes);
    spmm_assert_ok(spmm_plan_destroy(&plan));
    MPI_Barrier(spmm_test_env.comm);
    assert_in_range(count_files(folder, "choice-", false), 1, 2 * spmm_test_env.size);
    assert_int_equal(count_files(folder, "choice-", false), count_files(folder, "", false));
    spmm_assert_ok(spmm_plan_create(A, N, &o, &plan));
    second = test_context_stats(plan);
    assert_string_equal(second.engine, first.engine);
    assert_true(isnan(first.local_measured_s) || /* no rows here */
                fabs(second.local_measured_s - first.local_measured_s) < 1e-11);
    if (!isnan(first.local_measured_s)) {
        test_context_explains(plan, "was the fastest in an earlier plan");
    }
    again = multiply(&o, N, 0.0, &bytes);
    assert_memory_equal(C, again, bytes);
    spmm_test_free(C, again);
    spmm_assert_ok(spmm_plan_destroy(&plan));
    MPI_Barrier(spmm_test_env.comm);
    removed = spmm_test_env.rank == 0 ? count_files(folder, "", true) : 1;
    assert_true(removed > 0);
}

static void test_remembered(void **state)
{
    char folder[] = "/tmp/spmm_tune_XXXXXX";

    if (spmm_test_env.rank == 0) {
        assert_non_null(mkdtemp(folder));
    }
    MPI_Bcast(folder, sizeof folder, MPI_CHAR, 0, spmm_test_env.comm);
    assert_int_equal(setenv("SPMM_CACHE_DIR", folder, 1), 0);
    assert_int_equal(setenv("SPMM_REMEMBER", "1", 1), 0);
    check_remembered(folder);
    if (spmm_test_env.rank == 0) {
        assert_int_equal(rmdir(folder), 0);
    }
    assert_int_equal(unsetenv("SPMM_CACHE_DIR"), 0);
}

/* Whatever memory is short of, nothing leaks, and all ranks hear of it. */
static void test_sweep(void **state)
{
    const spmm_plan_options_t o = options();

    (void)test_context_sweep(A, N, &o, spmm_test_env.size - 1, 5);
}

SPMM_TESTS(test_winner, test_remembered, test_sweep);
