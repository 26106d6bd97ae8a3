/* SPDX-License-Identifier: Apache-2.0 */
/* test: RANKS 1 2 3 4 */
/* test: RANKS 4 AS nodes ENV SPMM_TEST_RANKS_PER_NODE=3 */
/* test: RANKS 1 2 4 DEVICE cuda */
/** @file test_attention_plan.c  Sparse attention in one operation: O and the log of sums against
 *  FP64, mistakes, failed allocations. */
#include "attention_case.h"

static double score(const masked_t *m, const case_t *c, int64_t e, int64_t h)
{
    double sum = 0.0;

    for (int64_t j = h * c->k; j < (h + 1) * c->k; j++) {
        sum += operand(Q, m->row[e], j, c->type, 0) * operand(K, m->col[e], j, c->type, 0);
    }
    return scale_of(c) * sum;
}

/* Row r of this rank and head h, whose entries are number[0] to number[count - 1]. */
static void check_row(const masked_t *m, const case_t *c, int64_t r, int64_t h,
                      const int64_t *number, int64_t count, const blocks_t *b, const double *O,
                      const double *lse)
{
    double *weight = spmm_test_malloc((size_t)(count + 1) * sizeof *weight);
    double  most = -INFINITY, sum = 0.0;

    for (int64_t e = 0; e < count; e++) {
        weight[e] = score(m, c, number[e], h);
        most      = fmax(most, weight[e]);
    }
    for (int64_t e = 0; e < count; e++) {
        sum += exp(weight[e] - most);
    }
    if (count == 0) {
        assert_true(lse[r * c->heads + h] == -INFINITY);
    } else {
        assert_true(fabs(lse[r * c->heads + h] - most - log(sum)) <=
                    (c->type == SPMM_R_64F ? 1e-12 : 1e-5));
    }
    for (int64_t j = h * c->k; j < (h + 1) * c->k; j++) {
        reference_t want = {0};

        for (int64_t e = 0; e < count; e++) {
            reference_add(&want, exp(weight[e] - most) / sum *
                                     operand(V, m->col[number[e]], j, c->type, 0));
        }
        /* O is rounded once by each of two blocks; weights of the tensor cores, too. */
        if (!reference_near(&want, O[r * b->ld + j], 2.0 * reference_bound(c->type), 0.0)) {
            print_error("O(%lld, %lld) = %.9g, expected %.9g (heads %lld k %lld type %d %s)\n",
                        (long long)r, (long long)j, O[r * b->ld + j], want.sum, (long long)c->heads,
                        (long long)c->k, (int)c->type, c->kernel);
            fail();
        }
    }
    free(weight);
}

/* Every row number @p step. */
static void check_forward(const mask_t *shape, const case_t *c, int64_t step)
{
    attention_t        a      = open_attention(shape, c, 0);
    const masked_t    *m      = &a.m;
    const blocks_t     b      = a.b;
    int64_t           *number = spmm_test_malloc((size_t)(m->nnz + 1) * sizeof *number);
    spmm_alloc_stats_t before;
    double            *O, *lse;

    run_attention(a.plan, c, &b);
    before = spmmi_alloc_get_stats();
    run_attention(a.plan, c, &b);
    assert_true(spmmi_alloc_get_stats().calls == before.calls);
    O   = fetch(b.O, m->rows * b.ld, c->type);
    lse = fetch(b.lse, m->rows * c->heads, sum_type(c->type));
    for (int64_t r = 0; r < m->rows; r += step) {
        int64_t count = 0;

        for (int64_t e = 0; e < m->nnz; e++) {
            if (m->row[e] == m->first_row + r) {
                number[count++] = e;
            }
        }
        for (int64_t h = 0; h < c->heads; h++) {
            check_row(m, c, r, h, number, count, &b, O, lse);
        }
        for (int64_t j = b.n; j < b.ld; j++) {
            assert_true(isnan(O[r * b.ld + j]));
        }
    }
    spmm_test_free(O, lse, number);
    close_attention(&a);
}

/* Full rows, empty ones, one entry in a row, vectors of blocks, no entry at all, and ranks without
 * columns. */
static const mask_t shapes[] = {
    {61, 70, 1, 200, 17, 0}, {90, 75, 1, 12, 3, 0}, {20, 2, 1, 600, 3, 0},  {9, 90, 8, 500, 3, 1},
    {5, 96, 16, 300, -1, 2}, {30, 20, 1, 0, -1, 0}, {40, 700, 1, 700, 5, 0}};
enum { SHAPES = sizeof shapes / sizeof shapes[0] };

/* @p count cases on as many of the shapes. */
static void each(int n_shapes, const case_t *cases, size_t count,
                 void (*check)(const mask_t *shape, const case_t *c))
{
    for (int s = 0; s < n_shapes; s++) {
        for (size_t k = 0; k < count; k++) {
            check(&shapes[s], &cases[k]);
        }
    }
}

static void check_all_rows(const mask_t *shape, const case_t *c)
{
    check_forward(shape, c, 1);
}

static void test_rows(void **state)
{
    const case_t cases[] = {{SPMM_R_64F, 1, 5, 0, "rows"},
                            {SPMM_R_64F, 2, 150, 3, "rows"},
                            {SPMM_R_32F, 3, 64, 0, "rows"},
                            {SPMM_R_16F, 2, 40, 1, "rows"},
                            {SPMM_R_16BF, 1, 200, 0, "rows"}};

    each(SHAPES - 1, cases, 5, check_all_rows);
}

static void test_windows(void **state)
{
    const case_t cases[] = {{SPMM_R_16F, 2, 64, 8, "windows"},
                            {SPMM_R_16F, 1, 40, 0, "windows"},
                            {SPMM_R_16BF, 3, 24, 0, "windows"},
                            {SPMM_R_16F, 2, 128, 0, "windows"},
                            {SPMM_R_16BF, 1, 72, 16, NULL}};

    each(SHAPES, cases, 1, check_all_rows);
    each(SHAPES - 1, cases + 1, 4, check_all_rows);
}

/* Groups of 32 windows, and of 16 of 16 rows, which only masks with many rows and heads get. */
static void test_wide(void **state)
{
    const mask_t masks[] = {{4096, 2048, 1, 30, 5, 0}, {256, 2048, 16, 100, 7, 0}};
    const case_t cases[] = {{SPMM_R_16F, 8, 64, 8, "windows"}, {SPMM_R_16BF, 8, 40, 0, "windows"}};

    if (!spmm_test_on_gpu() || getenv("SPMM_TEST_SMALL") != NULL) {
        skip(); /* on CPUs kernels do not depend on it */
    }
    for (int k = 0; k < 2; k++) {
        check_forward(&masks[k], &cases[k], 89);
    }
}

/* V with an Inf and a NaN: what rows without these columns become is as without. */
static void check_special(const mask_t *shape, const case_t *c)
{
    const int64_t   inf_col = 5, nan_col = 11, j = c->k - 1;
    attention_t     a   = open_attention(shape, c, 0);
    const masked_t *m   = &a.m;
    const blocks_t  b   = a.b;
    int            *has = spmm_test_calloc((size_t)m->rows + 1, sizeof *has);
    double         *O, *clean;

    run_attention(a.plan, c, &b);
    clean = fetch(b.O, m->rows * b.ld, c->type);
    spoil(m, c, &b, V, inf_col, j, (double)INFINITY);
    spoil(m, c, &b, V, nan_col, j, (double)NAN);
    run_attention(a.plan, c, &b);
    O = fetch(b.O, m->rows * b.ld, c->type);
    for (int64_t e = 0; e < m->nnz; e++) {
        has[m->row[e] - m->first_row] |= m->col[e] == inf_col || m->col[e] == nan_col;
    }
    for (int64_t r = 0; r < m->rows; r++) {
        for (int64_t at = r * b.ld; at < r * b.ld + b.n; at++) {
            if (at - r * b.ld == j && has[r] != 0) {
                assert_true(isfinite(O[at]) == 0);
            } else { /* weights are of magnitude 1, and V is below that */
                assert_true(fabs(O[at] - clean[at]) <= 4.0 * reference_bound(c->type));
            }
        }
    }
    spmm_test_free(O, clean, has);
    close_attention(&a);
}

static void test_special(void **state)
{
    const case_t cases[] = {{SPMM_R_16F, 2, 64, 8, "windows"},
                            {SPMM_R_16BF, 1, 104, 0, "windows"},
                            {SPMM_R_32F, 2, 40, 0, "rows"}};

    each(SHAPES, cases, 3, check_special);
}

static void refuse(const masked_t *m, int64_t heads, int64_t k, const char *kernel,
                   spmm_status_t want)
{
    spmm_attention_options_t o    = SPMM_ATTENTION_OPTIONS_INIT;
    spmm_attention_plan_t   *plan = NULL;

    o.kernel = kernel;
    assert_int_equal(spmm_attention_plan_create(m->A, heads, k, &o, &plan), want);
    assert_null(plan);
}

static void test_mistakes(void **state)
{
    const mask_t           shape = {40, 40, 1, 300, -1, 0};
    const case_t           c     = {SPMM_R_16F, 2, 16, 0, "windows"};
    masked_t               m     = make_masked(&shape, c.type), wide;
    spmm_attention_plan_t *plan  = make_attention(&m, &c, 0);
    blocks_t               b     = make_blocks(&m, &c);
    spmm_attention_info_t  info  = {.struct_size = sizeof info};

    spmm_assert_ok(spmm_attention_plan_get_info(plan, &info));
    assert_string_equal(info.kernel, "windows");
    assert_true(info.vector == 8 || info.vector == 16);
    assert_true(info.device_bytes > 0);
    assert_int_equal(spmm_attention_plan_get_info(NULL, &info), SPMM_ERR_ARGUMENT);
    assert_int_equal(spmm_attention(NULL, 1.0, NULL, 0, NULL, 0, NULL, 0, NULL, 0, NULL, NULL),
                     SPMM_ERR_ARGUMENT);
    assert_int_equal(spmm_attention(plan, 1.0, b.in[Q], b.n - 1, b.in[K], b.n, b.in[V], b.n, b.O,
                                    b.n, NULL, NULL),
                     SPMM_ERR_ARGUMENT);
    if (spmm_test_env.size < 3) { /* all ranks have rows */
        assert_int_equal(spmm_attention(plan, 1.0, b.in[Q], b.n, b.in[K], b.n, b.in[V], b.n,
                                        b.in[Q], b.n, NULL, NULL),
                         SPMM_ERR_ARGUMENT);
    }
    assert_int_equal(spmm_attention_backward(plan, 1.0, b.in[Q], b.n, b.in[K], b.n, b.in[V], b.n,
                                             b.O, b.in[DO], b.n, b.lse, b.dQ, b.dK, b.dV, NULL),
                     SPMM_ERR_UNSUPPORTED);
    refuse(&m, 0, 16, NULL, SPMM_ERR_ARGUMENT);
    refuse(&m, 1, 0, NULL, SPMM_ERR_ARGUMENT);
    refuse(&m, 1, 12, "windows", SPMM_ERR_UNSUPPORTED);
    refuse(&m, 1, 136, "windows", SPMM_ERR_UNSUPPORTED);
    refuse(&m, 1, 16, "bricks", SPMM_ERR_ARGUMENT);
    assert_int_equal(spmm_matrix_destroy(&m.A), SPMM_ERR_ARGUMENT); /* a plan is alive */
    free_blocks(&b);
    spmm_assert_ok(spmm_attention_plan_destroy(&plan));
    spmm_assert_ok(spmm_attention_plan_destroy(&plan));
    free_masked(&m);
    wide = make_masked(&shape, SPMM_R_32F);
    refuse(&wide, 1, 16, "windows", SPMM_ERR_UNSUPPORTED);
    free_masked(&wide);
}

static spmm_status_t create_and_destroy(void *A)
{
    spmm_attention_options_t o    = SPMM_ATTENTION_OPTIONS_INIT;
    spmm_attention_plan_t   *plan = NULL;
    spmm_status_t            status;

    o.backward = 1;
    o.kernel   = "windows";
    status     = spmm_attention_plan_create(A, 2, 8, &o, &plan);
    spmm_assert_ok(spmm_attention_plan_destroy(&plan));
    return status;
}

static void test_no_memory(void **state)
{
    const mask_t shape = {5, 40, 8, 500, 1, 1};
    masked_t     m     = make_masked(&shape, SPMM_R_16F);

    assert_true(spmm_test_sweep(create_and_destroy, m.A, spmm_test_env.size - 1, SPMM_OK) > 29);
    free_masked(&m);
}

PLAN_TESTS(test_rows, test_windows, test_wide, test_special, test_mistakes, test_no_memory);
