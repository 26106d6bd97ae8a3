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

enum { ROWS = 40, N = 32, SEED_A = 3, SEED_B = 5 };

static spmm_matrix_t *A;
static spmm_plan_t   *plan;

static reference_t reference[2][ROWS][N]; /* of op N and T */

static double element(int64_t i, int64_t j)
{
    return spmmi_hash2(SEED_A, i, j) % 3 == 0 ? reference_value(SEED_A, i, j, SPMM_R_32F) : 0.0;
}

static int64_t all_rows(void)
{
    return (int64_t)ROWS * spmm_test_env.size;
}

static void make_references(void)
{
    const int64_t first = (int64_t)ROWS * spmm_test_env.rank;

    memset(reference, 0, sizeof reference);
    for (int64_t i = 0; i < ROWS; i++) {
        for (int64_t j = 0; j < all_rows(); j++) {
            const double a[] = {element(first + i, j), element(j, first + i)};

            for (int64_t c = 0; c < N; c++) {
                const double b = reference_value(SEED_B, j, c, SPMM_R_32F);

                reference_add(&reference[0][i][c], a[0] * b);
                reference_add(&reference[1][i][c], a[1] * b);
            }
        }
    }
}

void spmm_test_set_up(void)
{
    const int64_t n = all_rows(), first = (int64_t)ROWS * spmm_test_env.rank;
    int64_t       row_ptr[ROWS + 1] = {0}, nnz = 0;
    int64_t      *col    = calloc((size_t)(ROWS * n), sizeof *col);
    float        *values = calloc((size_t)(ROWS * n), sizeof *values);

    open_context();
    make_references();
    for (int64_t i = 0; i < ROWS; i++) {
        for (int64_t j = 0; j < n; j++) {
            if (element(first + i, j) != 0.0) {
                col[nnz]      = j;
                values[nnz++] = (float)element(first + i, j);
            }
        }
        row_ptr[i + 1] = nnz;
    }
    spmm_assert_ok(spmm_matrix_create_csr(ctx, ROWS, ROWS, row_ptr, col, values, SPMM_R_32F, &A));
    spmm_test_free(col, values);
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

static spmm_plan_stats_t stats_of(void)
{
    spmm_plan_stats_t stats = {.struct_size = sizeof stats};

    spmm_assert_ok(spmm_plan_get_stats(plan, &stats));
    return stats;
}

/* One product of @p n columns, against FP64; @p scale: of the values of A.  Nothing is
 * allocated. */
static void multiply(spmm_op_t op, int64_t n, double scale, double beta, float C[ROWS * N])
{
    const int64_t first = (int64_t)ROWS * spmm_test_env.rank;
    float         B[ROWS * N];
    int64_t       calls;

    for (int64_t i = 0; i < ROWS * n; i++) {
        B[i] = (float)reference_value(SEED_B, first + i / n, i % n, SPMM_R_32F);
        C[i] = beta != 0.0 ? 2.0f : (float)NAN;
    }
    calls = spmmi_alloc_get_stats().calls;
    spmm_assert_ok(spmm_execute(plan, n, 1.0, B, n, beta, C, n, NULL));
    assert_int_equal(spmmi_alloc_get_stats().calls, calls);
    for (int64_t i = 0; i < ROWS; i++) {
        for (int64_t c = 0; c < n; c++) {
            const reference_t *one = &reference[op != SPMM_OP_N][i][c];
            const reference_t  r = {2.0 * beta + scale * one->sum, 2.0 * beta + scale * one->size};

            assert_true(reference_near(&r, C[i * n + c], reference_bound(SPMM_R_32F), 0.0));
        }
    }
}

/* Bits are those of the engine by name, for either op; plans measure unless they are not to, or
 * are to have equal bits. */
static void test_winner(void **state)
{
    for (int way = 0; way < 5; way++) {
        const bool          measures = way < 2;
        spmm_plan_options_t o = options(), named = o;
        spmm_plan_stats_t   stats;
        float               C[ROWS * N], again[ROWS * N];

        o.op            = way == 1 ? SPMM_OP_T : SPMM_OP_N;
        o.deterministic = way == 2;
        o.engine        = way == 3 ? "bittcf" : NULL;
        o.tuning        = way == 4 ? "schedule=overlap,measure=no" : "schedule=overlap";
        spmm_assert_ok(spmm_plan_create(A, N, &o, &plan));
        stats = stats_of();
        multiply(o.op, N, 1.0, 0.0, C);
        multiply(o.op, N - 3, 1.0, 1.0, again);
        spmm_assert_ok(spmm_plan_destroy(&plan));
        assert_int_equal(isnan(stats.local_measured_s), !measures);
        if (spmm_test_env.size == 1) { /* engines of ranks and blocks may differ */
            named.op     = o.op;
            named.engine = stats.engine;
            spmm_assert_ok(spmm_plan_create(A, N, &named, &plan));
            multiply(o.op, N, 1.0, 0.0, again);
            assert_memory_equal(C, again, sizeof C);
            spmm_assert_ok(spmm_plan_destroy(&plan));
        }
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
    float               C[ROWS * N], again[ROWS * N];
    char               *text;
    int                 removed = 0;

    o.tuning = "schedule=overlap"; /* merged has another block */
    spmm_assert_ok(spmm_plan_create(A, N, &o, &plan));
    first = stats_of();
    multiply(SPMM_OP_N, N, 1.0, 0.0, C);
    spmm_assert_ok(spmm_plan_destroy(&plan));
    MPI_Barrier(spmm_test_env.comm);
    assert_in_range(count_files(folder, "choice-", false), 1, 2 * spmm_test_env.size);
    assert_int_equal(count_files(folder, "choice-", false), count_files(folder, "", false));
    spmm_assert_ok(spmm_plan_create(A, N, &o, &plan));
    second = stats_of();
    assert_string_equal(second.engine, first.engine);
    assert_true(fabs(second.local_measured_s - first.local_measured_s) < 1e-11);
    text = test_context_explain(plan);
    assert_non_null(strstr(text, "was the fastest in an earlier plan"));
    free(text);
    multiply(SPMM_OP_N, N, 1.0, 0.0, again);
    assert_memory_equal(C, again, sizeof C);
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
    const bool victim = spmm_test_env.rank == spmm_test_env.size - 1;
    int        over   = 0;

    for (int64_t k = 0; over == 0; k += 5) {
        const spmm_plan_options_t o      = options();
        const spmm_alloc_stats_t  before = spmmi_alloc_get_stats();
        spmm_status_t             status;

        spmmi_alloc_inject(victim ? k : -1);
        status = spmm_plan_create(A, N, &o, &plan);
        over   = !victim || spmmi_alloc_get_stats().calls - before.calls <= k;
        spmmi_alloc_inject(-1);
        MPI_Allreduce(MPI_IN_PLACE, &over, 1, MPI_INT, MPI_MIN, spmm_test_env.comm);
        assert_true(status == SPMM_OK || (over == 0 && status == SPMM_ERR_MEMORY));
        spmm_assert_ok(spmm_plan_destroy(&plan));
        assert_int_equal(spmmi_alloc_get_stats().live, before.live);
    }
}

SPMM_TESTS(test_winner, test_remembered, test_sweep);
