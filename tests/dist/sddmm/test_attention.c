/* SPDX-License-Identifier: Apache-2.0 */
/* test: RANKS 1 2 3 4 */
/* test: RANKS 1 2 4 DEVICE cuda */
/** @file test_attention.c  Softmax over rows of a mask, and behind an SDDMM as new values of a
 *  plan: sparse attention against FP64. */
#include "sddmm_case.h"

enum { Q = 1, K, S, V = 5, P = 6 };

/* Row r of this rank times V by the values @p of its entries; for C(r, j). */
static reference_t product(const masked_t *m, const double *of, int64_t r, int64_t j,
                           spmm_type_t type)
{
    reference_t want = {0};

    for (int64_t e = 0; e < m->nnz; e++) {
        if (m->row[e] == m->first_row + r) {
            reference_add(&want, of[e] * operand(V, m->col[e], j, type, 0));
        }
    }
    return want;
}

/* C = A V with what the plan's values now are. */
static void check_product_of(const masked_t *m, spmm_plan_t *plan, const double *of, int64_t n,
                             spmm_type_t type, double slack)
{
    const size_t bytes = (size_t)(m->rows * n) * spmm_type_size(type);
    void        *B     = device_operand(V, m->first_col, m->cols, n, n, type, 0), *C,
         *host         = spmm_test_malloc(bytes + 8);

    memset(host, 0xff, bytes); /* NaN */
    C = to_device(host, bytes);
    spmm_assert_ok(spmm_execute(plan, n, 1.0, B, n, 0.0, C, n, NULL));
    spmm_assert_ok(spmm_buffer_copy(ctx, host, C, bytes));
    for (int64_t i = 0; i < m->rows; i++) {
        for (int64_t j = 0; j < n; j++) {
            const reference_t want = product(m, of, i, j, type);
            const double      got  = spmmi_value_get(type, host, i * n + j);

            if (!reference_near(&want, got, slack * reference_bound(type), 0.0)) {
                print_error("C(%lld, %lld) = %.9g, expected %.9g (type %d)\n", (long long)i,
                            (long long)j, got, want.sum, (int)type);
                fail();
            }
        }
    }
    test_context_free(ctx, &B, &C);
    free(host);
}

static void test_update_mistakes(void **state)
{
    const mask_t shape = {40, 40, 1, 300, -1, 0};
    masked_t     m;
    spmm_plan_t *plan;
    void        *values;

    m      = make_masked(&shape, SPMM_R_32F);
    values = device_operand(P, 0, 40, 40, 40, SPMM_R_32F, 0);
    assert_int_equal(spmm_plan_update_values(NULL, values, NULL), SPMM_ERR_ARGUMENT);
    plan = test_context_plan_of(m.A, 4, NULL);
    if (m.nnz > 0) {
        assert_int_equal(spmm_plan_update_values(plan, NULL, NULL), SPMM_ERR_ARGUMENT);
    }
    spmm_assert_ok(spmm_plan_destroy(&plan));
    plan = test_context_plan(m.A, 4, .partition = "block");
    if (spmm_test_env.size > 2) { /* rank 1 has rows then */
        assert_int_equal(spmm_plan_update_values(plan, values, NULL), SPMM_ERR_UNSUPPORTED);
    }
    spmm_assert_ok(spmm_plan_destroy(&plan));
    spmm_assert_ok(spmm_buffer_free(ctx, &values));
    free_masked(&m);
}

/* Softmax of the scores @p of by rows, in FP64. */
static void reference_softmax(const masked_t *m, double scale, const double *of, double *p)
{
    double *most = spmm_test_malloc((size_t)(m->rows + 1) * sizeof *most);
    double *sum  = spmm_test_calloc((size_t)m->rows + 1, sizeof *sum);

    for (int64_t r = 0; r < m->rows; r++) {
        most[r] = -INFINITY;
    }
    for (int64_t e = 0; e < m->nnz; e++) {
        const int64_t r = m->row[e] - m->first_row;

        most[r] = fmax(most[r], scale * of[e]);
    }
    for (int64_t e = 0; e < m->nnz; e++) {
        const int64_t r = m->row[e] - m->first_row;

        p[e] = exp(scale * of[e] - most[r]);
        sum[r] += p[e];
    }
    for (int64_t e = 0; e < m->nnz; e++) {
        p[e] /= sum[m->row[e] - m->first_row];
    }
    spmm_test_free(most, sum);
}

/* Scores far beyond what exp() takes; in place where that is possible. */
static void check_softmax(const mask_t *shape, spmm_type_t type, spmm_type_t s_type)
{
    spmm_sddmm_options_t o     = SPMM_SDDMM_OPTIONS_INIT;
    masked_t             m     = make_masked(shape, type);
    const size_t         bytes = (size_t)(m.nnz + 1) * sizeof(double);
    const double         scale = 400.0;
    void                *host  = spmm_test_malloc(bytes), *scores, *p;
    double              *of = spmm_test_malloc(bytes), *want = spmm_test_malloc(bytes);
    spmm_sddmm_plan_t   *plan;

    for (int64_t e = 0; e < m.nnz; e++) {
        of[e] = operand(S, m.row[e], m.col[e], s_type, 0) * 4.0;
        spmmi_value_set(s_type, host, e, of[e]);
    }
    reference_softmax(&m, scale, of, want);
    o.s_type = s_type;
    spmm_assert_ok(spmm_sddmm_plan_create(m.A, 4, &o, &plan));
    scores = to_device(host, (size_t)m.nnz * spmm_type_size(s_type));
    p      = type == s_type ? scores : to_device(host, (size_t)m.nnz * spmm_type_size(type));
    spmm_assert_ok(spmm_sddmm_softmax(plan, scale, scores, p, NULL));
    spmm_assert_ok(spmm_buffer_copy(ctx, host, p, (size_t)m.nnz * spmm_type_size(type)));
    for (int64_t e = 0; e < m.nnz; e++) {
        /* FP32 rounds scores of 1600 to 1e-4, which is what exp() then is off by. */
        const double bound = type == SPMM_R_64F ? 1e-11 : fmax(4e-4, reference_bound(type));

        assert_true(fabs(spmmi_value_get(type, host, e) - want[e]) <= bound * want[e] + 1e-7);
    }
    if (m.nnz > 0 && type != s_type) {
        assert_int_equal(spmm_sddmm_softmax(plan, 1.0, scores, scores, NULL), SPMM_ERR_ARGUMENT);
    }
    if (p != scores) {
        spmm_assert_ok(spmm_buffer_free(ctx, &p));
    }
    spmm_assert_ok(spmm_buffer_free(ctx, &scores));
    spmm_assert_ok(spmm_sddmm_plan_destroy(&plan));
    free_masked(&m);
    spmm_test_free(host, of, want);
}

static const spmm_type_t pairs[][2] = {{SPMM_R_64F, SPMM_R_64F},   {SPMM_R_32F, SPMM_R_32F},
                                       {SPMM_R_16F, SPMM_R_16F},   {SPMM_R_16F, SPMM_R_32F},
                                       {SPMM_R_16BF, SPMM_R_16BF}, {SPMM_R_16BF, SPMM_R_32F}};
enum { PAIRS = sizeof pairs / sizeof pairs[0] };

static void test_softmax(void **state)
{
    const mask_t shapes[] = {{61, 70, 1, 200, 17, 0}, {9, 90, 8, 500, 3, 1},
                             {7, 20, 2, 0, -1, 1},    {5, 400, 16, 600, 0, 1},
                             {6, 90, 4, 300, -1, 1},  {9, 60, 2, 300, 2, 2}};

    for (int s = 0; s < 6; s++) {
        for (int k = 0; k < PAIRS; k++) {
            check_softmax(&shapes[s], pairs[k][0], pairs[k][1]);
        }
    }
}

/* SDDMM, softmax, SpMM, one behind the other on the device. */
static void check_attention(const mask_t *shape, spmm_type_t type, spmm_type_t s_type)
{
    enum { HEAD = 40 };
    spmm_sddmm_options_t o     = SPMM_SDDMM_OPTIONS_INIT;
    masked_t             m     = make_masked(shape, type);
    const size_t         bytes = (size_t)(m.nnz + 1) * sizeof(double);
    const double         scale = 1.0 / sqrt((double)HEAD);
    double              *of = spmm_test_malloc(bytes), *want = spmm_test_malloc(bytes);
    void                *scores, *p;
    void                *q = device_operand(Q, m.first_row, m.rows, HEAD, HEAD, type, 0);
    void                *k = device_operand(K, m.first_col, m.cols, HEAD, HEAD, type, 0);
    spmm_sddmm_plan_t   *sampler;
    spmm_plan_t         *plan;

    for (int64_t e = 0; e < m.nnz; e++) {
        of[e] = 0.0;
        for (int64_t j = 0; j < HEAD; j++) {
            of[e] += operand(Q, m.row[e], j, type, 0) * operand(K, m.col[e], j, type, 0);
        }
    }
    reference_softmax(&m, scale, of, want);
    o.s_type = s_type;
    spmm_assert_ok(spmm_sddmm_plan_create(m.A, HEAD, &o, &sampler));
    spmm_assert_ok(spmm_plan_create(m.A, HEAD, NULL, &plan));
    spmm_assert_ok(spmm_buffer_alloc(ctx, bytes, &scores));
    spmm_assert_ok(spmm_buffer_alloc(ctx, bytes, &p));
    for (int round = 0; round < 2; round++) {
        spmm_assert_ok(spmm_sddmm(sampler, HEAD, 1.0, q, HEAD, k, HEAD, 0.0, scores, NULL));
        spmm_assert_ok(spmm_sddmm_softmax(sampler, scale, scores, p, NULL));
        spmm_assert_ok(spmm_plan_update_values(plan, p, NULL));
    }
    /* Scores and weights are rounded to their types before the product is. */
    check_product_of(&m, plan, want, HEAD, type, 3.0);
    test_context_free(ctx, &q, &k, &scores, &p);
    spmm_assert_ok(spmm_plan_destroy(&plan));
    spmm_assert_ok(spmm_sddmm_plan_destroy(&sampler));
    free_masked(&m);
    spmm_test_free(of, want);
}

static void test_attention(void **state)
{
    const mask_t shapes[] = {{61, 70, 1, 200, 17, 0}, {9, 90, 8, 500, 3, 1}};

    for (int s = 0; s < 2; s++) {
        for (int k = 0; k < PAIRS; k++) {
            check_attention(&shapes[s], pairs[k][0], pairs[k][1]);
        }
    }
}

typedef struct {
    const masked_t *m;
    const char     *kernel;
    void           *memory;
} walk_t;

static spmm_status_t walk(void *what)
{
    const walk_t        *w       = what;
    spmm_sddmm_options_t o       = SPMM_SDDMM_OPTIONS_INIT;
    spmm_sddmm_plan_t   *sampler = NULL;
    spmm_plan_t         *plan    = NULL;
    spmm_status_t        status;

    o.kernel = w->kernel;
    status   = spmm_sddmm_plan_create(w->m->A, 8, &o, &sampler);
    if (status == SPMM_OK) {
        status = spmm_plan_create(w->m->A, 8, NULL, &plan);
    }
    if (status == SPMM_OK) { /* these two are local */
        status = spmm_sddmm_softmax(sampler, 1.0, w->memory, w->memory, NULL);
    }
    if (status == SPMM_OK) {
        status = spmm_plan_update_values(plan, w->memory, NULL);
    }
    MPI_Allreduce(MPI_IN_PLACE, &status, 1, MPI_INT, MPI_MIN, spmm_test_env.comm);
    spmm_assert_ok(spmm_plan_destroy(&plan));
    spmm_assert_ok(spmm_sddmm_plan_destroy(&sampler));
    return status;
}

static void test_no_memory(void **state)
{
    const mask_t shape = {5, 40, 8, 500, 1, 1};
    masked_t     m     = make_masked(&shape, SPMM_R_16F);
    void        *memory;

    memory = device_operand(P, 0, 40, 40, 40, SPMM_R_16F, 0);
    /* On GPUs a plan goes without the engine that there is no memory to try. */
    for (int kernel = 0; kernel < (spmm_test_on_gpu() ? 0 : 2); kernel++) {
        walk_t w = {&m, kernel == 0 ? "csr" : "cvse", memory};

        assert_true(spmm_test_sweep(walk, &w, spmm_test_env.size - 1, SPMM_OK) > 49);
    }
    spmm_assert_ok(spmm_buffer_free(ctx, &memory));
    free_masked(&m);
}

PLAN_TESTS(test_update_mistakes, test_softmax, test_attention, test_no_memory);
