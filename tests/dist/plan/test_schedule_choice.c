/* SPDX-License-Identifier: Apache-2.0 */
/* test: RANKS 1 2 3 4 */
/* test: RANKS 1 2 4 DEVICE cuda */
/** @file test_schedule_choice.c  The choice of a schedule, and what a plan then holds. */
#include "device_test.h"
#include "plan_case.h"

#include "plan/plan.h"

/* The entries of a block are there once: in a format, or where a format borrows them. */
static void check_entries(const spmm_block_t *block)
{
    assert_true(block->borrowed == (block->csr.values != NULL));
}

/* One format is held, not both. */
static void test_bytes(void **state)
{
    spmm_matrix_t *A;
    size_t         rows[2];

    spmm_assert_ok(spmm_matrix_generate(ctx, "stencil9:nx=20,ny=20", SPMM_R_64F, 1, &A));
    for (int merged = 0; merged < 2; merged++) {
        spmm_plan_t *plan =
            test_context_plan(A, 4, .tuning = merged == 0 ? "schedule=overlap" : "schedule=merged");

        check_entries(&plan->blocks.diagonal);
        check_entries(&plan->blocks.off_diagonal);
        check_entries(&plan->blocks.merged.block);
        assert_null(plan->blocks.need);
        rows[merged] = plan->buffer_bytes;
        if (spmm_test_env.size > 1) {
            assert_int_equal(plan->blocks.diagonal.engine == NULL, merged == 1);
            assert_int_equal(plan->blocks.merged.block.engine == NULL, merged == 0);
        }
        spmm_assert_ok(spmm_plan_destroy(&plan));
    }
    spmm_assert_ok(spmm_matrix_destroy(&A));
    /* Own rows of B beside the ghost rows. */
    assert_true(spmm_test_env.size > 1 ? rows[1] > rows[0] : rows[1] == rows[0]);
}

static int count_of(const char *text, const char *part)
{
    int count = 0;

    while ((text = strstr(text, part)) != NULL) {
        count++;
        text += strlen(part);
    }
    return count;
}

static double cost_of(const spmm_halo_t *graph, size_t row_bytes, const spmm_device_t *gpu)
{
    return 14e-6 + (double)spmmi_halo_recv_rows(graph) * (double)row_bytes / 340e9;
}

static spmm_pattern_t pattern_of(int32_t rows, int32_t cols, int32_t near, int64_t nnz)
{
    return (spmm_pattern_t){
        .n_rows    = rows,
        .n_cols    = cols,
        .c_rows    = rows,
        .nnz       = nnz,
        .max_row   = nnz / rows,
        .used_cols = cols,
        .near_cols = near < cols ? near : cols,
        .tc        = {.pairs = {nnz, nnz, nnz}, .tc_blocks = nnz / 4, .bricks = nnz / 2}};
}

/* Predictions on a GPU that need not be there: the number of chunks of the least. */
static int best_on_gpu(int64_t n_halo, int32_t near, int64_t nnz_local, int32_t halo_rows,
                       int64_t nnz_halo)
{
    enum { ROWS = 250000 };
    const spmm_transport_ops_t transport = {.cost = cost_of};
    spmm_device_t              gpu       = device_test_gpu();
    int64_t                    ptr[]     = {0, n_halo};
    const spmm_halo_t          peers     = {
                     .n_send_peers = 1, .n_recv_peers = 1, .send_ptr = ptr, .recv_ptr = ptr};
    spmm_plan_t plan = {.env       = &spmm_test_env,
                        .device    = &gpu,
                        .n         = 128,
                        .op        = SPMM_OP_N,
                        .layout    = SPMM_LAYOUT_ROW,
                        .ab_type   = SPMM_R_32F,
                        .c_type    = SPMM_R_32F,
                        .halo_type = SPMM_R_32F,
                        .compute   = SPMM_COMPUTE_32F,
                        .exchange  = {.transport = &transport, .halo = peers}};
    int         best = 0;

    plan.rows.n_local = plan.cols.n_local = ROWS;
    plan.blocks.diagonal.pattern          = pattern_of(ROWS, ROWS, near, nnz_local);
    plan.blocks.off_diagonal.pattern      = pattern_of(halo_rows, (int32_t)n_halo, near, nnz_halo);
    plan.blocks.diagonal.nnz              = nnz_local;
    plan.blocks.off_diagonal.nnz          = nnz_halo;
    spmm_assert_ok(spmmi_plan_predict(&plan, "csr-cpu"));
    for (int k = 0; k < SPMM_CUTS; k++) { /* an engine that does not run there */
        assert_true(isinf(plan.choice.cuts[k].predicted_s));
    }
    spmm_assert_ok(spmmi_plan_predict(&plan, NULL));
    for (int k = 0; k < SPMM_CUTS; k++) {
        best = plan.choice.cuts[k].predicted_s < plan.choice.cuts[best].predicted_s ? k : best;
    }
    assert_true(plan.choice.cuts[best].predicted_s > 0.0 &&
                plan.choice.cuts[best].predicted_s < 0.1);
    return 1 << best;
}

/* A stencil, whose rows need neighbours; a power law, whose exchange is longer than the local
 * block; one without a diagonal block. */
static void test_predictions(void **state)
{
    assert_int_equal(best_on_gpu(5000, 20000, 6000000, 5000, 60000), 1);
    assert_int_equal(best_on_gpu(600000, 200000, 1000000, 240000, 3000000), 4);
    assert_int_equal(best_on_gpu(740000, 200000, 100, 240000, 3000000), 4);
}

/* How many numbers of chunks are measured: one chunk, the least predicted and, within 1.5 times of
 * it, the next; none where that is one chunk alone. */
static int candidates_of(const spmm_candidate_t cuts[SPMM_CUTS])
{
    int best = 0, next = -1, count = 0;

    for (int k = 1; k < SPMM_CUTS; k++) {
        best = cuts[k].predicted_s < cuts[best].predicted_s ? k : best;
    }
    for (int k = 0; k < SPMM_CUTS; k++) {
        if (k != best && (next < 0 || cuts[k].predicted_s < cuts[next].predicted_s)) {
            next = k;
        }
    }
    for (int k = 0; k < SPMM_CUTS; k++) {
        const bool is_near = cuts[k].predicted_s <= 1.5 * cuts[best].predicted_s;

        count += k == 0 || k == best || (k == next && is_near);
    }
    return count > 1 ? count : 0;
}

static void check_choice(spmm_matrix_t *A, const spmm_plan_options_t *o, bool measures)
{
    spmm_plan_t      *plan = test_context_plan_of(A, 16, o);
    spmm_plan_stats_t stats;
    char             *text = test_context_explain(plan), line[64];

    assert_null(strstr(text, "(null)"));
    for (int k = 0; k < SPMM_CUTS && spmm_test_env.size > 1; k++) {
        (void)snprintf(line, sizeof line, "\n  chunks %-10d ", 1 << k);
        assert_int_equal(count_of(text, line), 1);
    }
    stats = test_context_stats(plan);
    if (spmm_test_env.size > 1) {
        const spmm_candidate_t *c        = plan->choice.cuts;
        int                     measured = 0;

        for (int k = 0; k < SPMM_CUTS; k++) {
            measured += !isnan(c[k].measured_s);
            assert_true(c[k].predicted_s > 0.0);
            assert_true(!(c[k].measured_s < stats.schedule_measured_s));
        }
        assert_int_equal(measured, measures ? candidates_of(c) : 0);
        assert_int_equal(isnan(stats.schedule_measured_s), measured == 0);
        assert_string_equal(stats.schedule, "overlap");
        assert_int_equal(stats.chunks, plan->choice.chunks);
        if (!spmm_test_on_gpu() && !A->env->measures_on_cpu) {
            assert_int_equal(stats.chunks, 1); /* without streams nothing overlaps */
        }
    } else {
        assert_non_null(strstr(text, "\nschedule: no row travels"));
        assert_string_equal(stats.schedule, "none");
    }
    assert_true(isnan(stats.total_s));
    free(text);
    spmm_assert_ok(spmm_plan_destroy(&plan));
}

static void test_choice(void **state)
{
    const bool          is_cpu = getenv("SPMM_TEST_DEVICE") == NULL;
    spmm_plan_options_t o = SPMM_PLAN_OPTIONS_INIT, fixed = o, model = o, back = o;
    spmm_matrix_t      *A;

    fixed.deterministic = 1;
    model.tuning        = "measure=no";
    back.op             = SPMM_OP_T;
    back.layout         = SPMM_LAYOUT_COL;
    spmm_assert_ok(spmm_matrix_generate(ctx, "rmat:scale=9,degree=8", SPMM_R_32F, 1, &A));
    check_choice(A, &o, !is_cpu);
    A->env->measures_on_cpu = true;
    check_choice(A, &o, true);
    check_choice(A, &back, true);
    check_choice(A, &fixed, false);
    check_choice(A, &model, false);
    spmm_assert_ok(spmm_matrix_destroy(&A));
    /* A plan that has measured multiplies as another. */
    (void)check_plan(&(shape_t){61, 61, 5, 17},
                     &(product_t){.type = SPMM_R_64F, .n = 6, .planned_n = 8, .alpha = 1.0});
}

/* Whatever cannot be had while chunks are tried: the plan measures nothing, or says that memory is
 * short. */
static void sweep(spmm_matrix_t *A, int rank)
{
    enum { COLUMNS = 1024 }; /* fewer are not worth cutting */

    A->env->measures_on_cpu = true;
    assert_true(test_context_sweep(A, COLUMNS, NULL, rank, 3) > 0 || spmm_test_env.size == 1);
    A->env->measures_on_cpu = false;
}

enum { ROWS = 512, COLS = 8 };

/* Rows of two entries, one in a column of the next rank, but for the last rank, which has no
 * peers. */
static double hermit(const void *what, int64_t i, int64_t j)
{
    const int64_t rank = i / ROWS, others = spmm_test_env.size - 1;
    const int64_t next = rank < others ? (rank + 1) % others : rank;

    return (j / COLS == rank || j / COLS == next) && j % COLS == i % COLS ? 1.0 : 0.0;
}

static void test_short_of_memory(void **state)
{
    spmm_matrix_t *A;

    if (getenv("SPMM_TEST_DEVICE") != NULL) { /* a sweep of measured plans takes minutes there */
        skip();
    }
    spmm_assert_ok(spmm_matrix_generate(ctx, "stencil5:nx=6,ny=5", SPMM_R_64F, 1, &A));
    sweep(A, spmm_test_env.size - 1);
    spmm_assert_ok(spmm_matrix_destroy(&A));
    if (spmm_test_env.size > 2) {
        A = test_context_rule(ctx, SPMM_R_64F, ROWS * spmm_test_env.rank, ROWS, COLS,
                              COLS * spmm_test_env.size, hermit, NULL);
        sweep(A, 0);
        sweep(A, spmm_test_env.size - 1);
        spmm_assert_ok(spmm_matrix_destroy(&A));
    }
}

PLAN_TESTS(test_bytes, test_predictions, test_choice, test_short_of_memory);
