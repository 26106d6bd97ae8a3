/* SPDX-License-Identifier: Apache-2.0 */
/* test: RANKS 1 2 3 4 */
/** @file test_tune.c
 *  Plans that find their engines by use: on CPUs the decoders of the tensor-core formats take part,
 *  and a device whose events say what the test wants chooses the winner.
 */
#include "plan_case.h"

#include <dirent.h>
#include <unistd.h>

#include "api/context.h"
#include "plan/plan.h"

enum { ROWS = 40, N = 32, SEED_A = 3, SEED_B = 5, MOST = SPMM_TRY_PRODUCTS + 2 };

static spmm_matrix_t *A;
static spmm_plan_t   *plan;
static const char    *winner; /* of engines, by the events of the device */

static spmm_device_ops_t device_ops;
static reference_t       reference[2][ROWS][N]; /* of op N and T */

/* The engine whose product is timed from @p from. */
static const char *engine_of(const spmm_event_t *from)
{
    for (int b = 0; b < SPMM_PLAN_BLOCKS && plan != NULL; b++) {
        const spmm_tries_t *tries = spmmi_plan_block(plan, b)->tries;

        for (int k = 0; tries != NULL && k < tries->count; k++) {
            for (int e = 0; e < SPMM_TRY_SAMPLES; e++) {
                if (tries->of[k].from[e] == from) {
                    return tries->of[k].candidate->name;
                }
            }
        }
    }
    return "";
}

static spmm_status_t told_elapsed(const spmm_device_t *device, spmm_event_t *from, spmm_event_t *to,
                                  double *seconds)
{
    *seconds = strcmp(engine_of(from), winner) == 0 ? 1e-3 : 1.2e-3;
    return SPMM_OK;
}

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
    device_ops               = *ctx->device.ops;
    device_ops.event_elapsed = told_elapsed;
    ctx->device.ops          = &device_ops;
    A->env->tries_on_cpu     = true;
    winner                   = "hrpb";
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

/* All ranks make as many products. */
static void multiply_until_settled(spmm_op_t op, float C[ROWS * N])
{
    for (int k = 0; k < MOST; k++) {
        multiply(op, N, 1.0, 0.0, C);
    }
    assert_in_range(stats_of().tuned_since, 1, SPMM_TRY_PRODUCTS + 1);
}

/* The winner is taken, by each block on its own; its bits are those of the engine by name. */
static void check_winner(const spmm_plan_options_t *o)
{
    spmm_plan_options_t named = *o;
    float               C[ROWS * N], again[ROWS * N];
    spmm_plan_stats_t   stats;
    size_t              held;
    char               *text;

    spmm_assert_ok(spmm_plan_create(A, N, o, &plan));
    stats = stats_of();
    held  = stats.host_bytes;
    assert_int_equal(stats.tuned_since, 0);
    assert_string_equal(stats.tuned, "use");
    multiply(o->op, N, 1.0, 0.0, C);
    text = test_context_explain(plan);
    assert_non_null(strstr(text, "\n  trying in use, 1 of at most 64 products so far:"));
    free(text);
    multiply_until_settled(o->op, C);
    stats = stats_of();
    assert_string_equal(stats.engine, winner);
    if (plan->blocks.halo.nnz > 0) {
        assert_string_equal(stats.halo_engine, winner);
    }
    assert_true(stats.local_measured_s == 1e-3);
    assert_int_equal(stats.host_bytes, held); /* no execute frees what lost */
    spmm_assert_ok(spmm_plan_resync(plan));
    stats = stats_of();
    assert_true(stats.host_bytes < held);
    assert_string_equal(stats.engine, winner);
    text = test_context_explain(plan);
    assert_non_null(strstr(text, "won in use and runs since product "));
    free(text);
    multiply(o->op, N, 1.0, 0.0, C);
    spmm_assert_ok(spmm_plan_destroy(&plan));

    named.engine = winner;
    spmm_assert_ok(spmm_plan_create(A, N, &named, &plan));
    assert_string_equal(stats_of().tuned, "name");
    assert_int_equal(stats_of().tuned_since, 1);
    multiply(o->op, N, 1.0, 0.0, again);
    assert_memory_equal(C, again, sizeof C);
    spmm_assert_ok(spmm_plan_destroy(&plan));
}

static void test_winner(void **state)
{
    static const char *const schedules[] = {"overlap", "chunks2", "merged", "allgather"};
    spmm_plan_options_t      o           = options();

    for (size_t s = 0; s < sizeof schedules / sizeof schedules[0]; s++) {
        o.schedule = schedules[s];
        winner     = s % 2 == 0 ? "hrpb" : "bittcf";
        check_winner(&o);
    }
    o.schedule = "overlap";
    o.op       = SPMM_OP_T;
    check_winner(&o);
    winner = "csr-cpu";
    check_winner(&o);
}

/* New values reach all formats, from the host and from the device, before the choice and after. */
static void test_new_values(void **state)
{
    const int64_t       nnz = spmmi_matrix_local_nnz(A);
    spmm_plan_options_t o   = options();
    float               C[ROWS * N], *values = calloc((size_t)nnz + 1, sizeof *values);
    int64_t             at     = 0;
    const int64_t       first  = (int64_t)ROWS * spmm_test_env.rank;
    float              *scaled = calloc((size_t)nnz + 1, sizeof *scaled);

    for (int64_t i = 0; i < ROWS; i++) {
        for (int64_t j = 0; j < all_rows(); j++) {
            if (element(first + i, j) != 0.0) {
                values[at++] = (float)element(first + i, j);
            }
        }
    }
    assert_int_equal(at, nnz);
    for (int way = 0; way < 2; way++) {
        spmm_assert_ok(spmm_plan_create(A, N, &o, &plan));
        for (int k = 0; k < MOST; k++) {
            const double scale = 1 << k % 5;

            for (int64_t e = 0; e < nnz; e++) {
                scaled[e] = (float)scale * values[e];
            }
            spmm_assert_ok(way == 0 ? spmm_plan_update_values(plan, scaled, NULL)
                                    : spmm_matrix_update_values(A, scaled));
            multiply(SPMM_OP_N, N, scale, 0.0, C);
        }
        assert_string_equal(stats_of().engine, winner);
        assert_null(plan->blocks.local.tries);
        spmm_assert_ok(spmm_plan_destroy(&plan));
        spmm_assert_ok(spmm_matrix_update_values(A, values));
    }
    spmm_test_free(values, scaled);
}

/* Other widths and beta: right, and they count. */
static void test_other_products(void **state)
{
    spmm_plan_options_t o = options();
    float               C[ROWS * N];

    spmm_assert_ok(spmm_plan_create(A, N, &o, &plan));
    for (int k = 0; k < MOST; k++) {
        multiply(SPMM_OP_N, k % 3 == 0 ? N : N - k % 7, 1.0, k % 2, C);
    }
    assert_in_range(stats_of().tuned_since, 2, SPMM_TRY_PRODUCTS + 1);
    spmm_assert_ok(spmm_plan_destroy(&plan)); /* and in the midst of it */
    spmm_assert_ok(spmm_plan_create(A, N, &o, &plan));
    multiply(SPMM_OP_N, N, 1.0, 0.0, C);
}

/* What has to stay as it is chooses before its first product. */
static void test_before(void **state)
{
    for (int way = 0; way < 6; way++) {
        spmm_plan_options_t o = options();

        o.tune          = way == 0 ? "none" : way == 1 ? "before" : way == 2 ? "use" : NULL;
        o.no_autotune   = way == 2 && spmm_test_env.rank == 0;
        o.deterministic = way == 3;
        o.layout        = way == 4 ? SPMM_LAYOUT_COL : SPMM_LAYOUT_ROW;
        o.engine        = way == 5 ? "bittcf" : NULL;
        spmm_assert_ok(spmm_plan_create(A, N, &o, &plan));
        if (way != 2 || spmm_test_env.rank == 0) {
            assert_int_equal(stats_of().tuned_since, 1);
            assert_string_not_equal(stats_of().tuned, "use");
        }
        if (way == 1 || way == 5) {
            assert_string_equal(stats_of().tuned, way == 1 ? "before" : "name");
        }
        spmm_assert_ok(spmm_plan_destroy(&plan));
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

/* The second plan starts with the winner of the first; all ranks write into one folder. */
static void check_remembered(const char *folder)
{
    spmm_plan_options_t o = options();
    float               C[ROWS * N], again[ROWS * N];
    char               *text;
    int                 ends = 0;

    for (int round = 0; round < 2; round++) { /* freed by resync, and with the plan */
        spmm_assert_ok(spmm_plan_create(A, N, &o, &plan));
        assert_string_equal(stats_of().tuned, "use");
        multiply_until_settled(SPMM_OP_N, C);
        assert_int_equal(count_files(folder, "", false), 0); /* no execute writes */
        MPI_Barrier(spmm_test_env.comm);
        if (round == 0) {
            spmm_assert_ok(spmm_plan_resync(plan));
        }
        spmm_assert_ok(spmm_plan_destroy(&plan));
        MPI_Barrier(spmm_test_env.comm);
        assert_in_range(count_files(folder, "choice-", false), 1, 2 * spmm_test_env.size);
        assert_int_equal(count_files(folder, "choice-", false), count_files(folder, "", false));
        winner = "csr-cpu"; /* by the events: nobody asks them */
        spmm_assert_ok(spmm_plan_create(A, N, &o, &plan));
        winner = "hrpb";
        assert_string_equal(stats_of().tuned, "remembered");
        assert_int_equal(stats_of().tuned_since, 1);
        assert_string_equal(stats_of().engine, winner);
        assert_true(fabs(stats_of().local_measured_s - 1e-3) < 1e-9);
        text = test_context_explain(plan);
        assert_non_null(strstr(text, "engine hrpb won in use in an earlier plan"));
        free(text);
        multiply(SPMM_OP_N, N, 1.0, 0.0, again);
        assert_memory_equal(C, again, sizeof C);
        spmm_assert_ok(spmm_plan_destroy(&plan));
        MPI_Barrier(spmm_test_env.comm);
        ends += spmm_test_env.rank == 0 ? count_files(folder, "", true) : 0;
        MPI_Barrier(spmm_test_env.comm);
    }
    assert_true(ends > 0 || spmm_test_env.rank > 0);
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

static void test_refusals(void **state)
{
    spmm_plan_options_t o = options();

    o.tune = "never";
    assert_int_equal(spmm_plan_create(A, N, &o, &plan), SPMM_ERR_ARGUMENT);
    assert_non_null(strstr(spmm_last_error(ctx), "tune \"never\" is none of use"));
    o.tune = spmm_test_env.rank == 0 ? "before" : "none";
    assert_int_equal(spmm_plan_create(A, N, &o, &plan),
                     spmm_test_env.size > 1 ? SPMM_ERR_ARGUMENT : SPMM_OK);
}

/* Whatever memory is short of, nothing leaks, and all ranks hear of it. */
static void test_sweep(void **state)
{
    const bool victim = spmm_test_env.rank == spmm_test_env.size - 1;
    int        over   = 0;

    ctx->device.ops = &device_ops;
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

SPMM_TESTS(test_winner, test_new_values, test_other_products, test_before, test_remembered,
           test_refusals, test_sweep);
