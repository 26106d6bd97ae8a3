/* SPDX-License-Identifier: Apache-2.0 */
/* test: RANKS 1 2 3 4 */
/* test: RANKS 1 2 DEVICE cuda */
/** @file test_numerics.c
 *  Whole plans of every engine in every mode against the FP64 product, on matrices whose values
 *  span the range of their type: |C - ref| <= bound * (|alpha| |A||B| + |beta||C0|) element by
 *  element. The bound is relative to the sum of magnitudes, not to C: no order of summation could
 *  keep the latter.  The same matrix on every number of ranks.  SPMM_TEST_DEVICE=cuda: on GPUs.
 */
#include "plan_case.h"

#include <float.h>

enum { ROWS = 90, N = 37, PAD = 3, SEED_A = 101, SEED_B = 102, SEED_C = 103 };

/** A mode of cuBLAS's names, its bound, and powers of two that A and B span. */
typedef struct {
    spmm_type_t    type;
    spmm_compute_t compute;
    double         bound;
    int            span;
    double         least; /**< what flushing denormal terms and results may cost, each */
} numeric_mode_t;

static const numeric_mode_t modes[] = {
    {SPMM_R_64F, SPMM_COMPUTE_64F, 1e-12, 200, DBL_MIN},
    {SPMM_R_32F, SPMM_COMPUTE_32F, 5e-6, 25, FLT_MIN},
    {SPMM_R_32F, SPMM_COMPUTE_32F_FAST_TF32, 2e-3, 25, FLT_MIN},
    {SPMM_R_16F, SPMM_COMPUTE_32F, 2e-3, 5, 0x1p-24},
    {SPMM_R_16BF, SPMM_COMPUTE_32F, 1.6e-2, 25, FLT_MIN},
};
enum { N_MODES = sizeof modes / sizeof *modes };

/** What is special about the operands. */
typedef enum { PLAIN, SPOILED_B, DENORMAL } kind_t;

typedef struct {
    const numeric_mode_t *mode;
    const char           *engine;
    spmm_op_t             op;
    spmm_layout_t         layout;
    kind_t                kind;
    double                alpha, beta;
    int                   deterministic;
} case_t;

/* Magnitude 2^-span .. 2^span, either sign. */
static double wide(uint64_t seed, int64_t i, int64_t j, const numeric_mode_t *mode)
{
    const uint64_t h = spmmi_hash2(seed, i, j);
    const int      e = (int)spmmi_below(spmmi_mix64(h), 2 * mode->span + 1) - mode->span;
    double         rounded;

    spmmi_value_set(mode->type, &rounded, 0, ldexp((h & 1) != 0 ? 1.0 + spmmi_unit(h) : -1.25, e));
    return spmmi_value_get(mode->type, &rounded, 0);
}

static bool has_entry(int64_t i, int64_t j)
{
    return i % 11 != 3 && (i == 40 || spmmi_hash2(7, i, j) % 6 == 0); /* empty rows, a full one */
}

/* Below the smallest normal number of the type. */
static double denormal(uint64_t seed, int64_t i, int64_t j, spmm_type_t type)
{
    const double unit = type == SPMM_R_64F   ? 0x1p-1074
                        : type == SPMM_R_16F ? 0x1p-24
                                             : (type == SPMM_R_32F ? 0x1p-149 : 0x1p-133);

    return unit * (double)(1 + spmmi_hash2(seed, i, j) % 60);
}

static double a_of(const case_t *c, int64_t i, int64_t j)
{
    if (c->kind == DENORMAL && (i + j) % 3 == 0) {
        return denormal(SEED_A, i, j, c->mode->type);
    }
    return wide(SEED_A, i, j, c->mode);
}

static double b_of(const case_t *c, int64_t i, int64_t j)
{
    static const double bad[] = {INFINITY, -INFINITY, NAN};

    if (c->kind == SPOILED_B && spmmi_hash2(9, i, j) % 40 == 0) {
        return bad[spmmi_hash2(10, i, j) % 3];
    }
    if (c->kind == DENORMAL && (i * 5 + j) % 3 == 0) {
        return denormal(SEED_B, i, j, c->mode->type);
    }
    return wide(SEED_B, i, j, c->mode);
}

static double c_of(const case_t *c, int64_t i, int64_t j)
{
    return c->beta == 0.0 ? (double)NAN : wide(SEED_C, i, j, c->mode);
}

static spmm_matrix_t *make_matrix(const case_t *c)
{
    const int64_t  first   = ROWS * spmm_test_env.rank / spmm_test_env.size;
    const int64_t  rows    = ROWS * (spmm_test_env.rank + 1) / spmm_test_env.size - first;
    int64_t       *row_ptr = calloc((size_t)rows + 1, sizeof *row_ptr), nnz = 0;
    int64_t       *col    = calloc((size_t)(rows * ROWS) + 1, sizeof *col);
    void          *values = calloc((size_t)(rows * ROWS) + 1, sizeof(double));
    spmm_matrix_t *A;

    for (int64_t i = 0; i < rows; i++) {
        for (int64_t j = 0; j < ROWS; j++) {
            if (has_entry(first + i, j)) {
                spmmi_value_set(c->mode->type, values, nnz, a_of(c, first + i, j));
                col[nnz++] = j;
            }
        }
        row_ptr[i + 1] = nnz;
    }
    spmm_assert_ok(
        spmm_matrix_create_csr(ctx, rows, rows, row_ptr, col, values, c->mode->type, &A));
    spmm_test_free(row_ptr, col, values);
    return A;
}

static void check_element(const case_t *c, int64_t i, int64_t j, double got)
{
    reference_t want  = {0};
    double      least = c->mode->least;
    int64_t     terms = 2;

    if (c->kind == DENORMAL && spmm_test_on_gpu()) {
        least = ldexp(least, c->mode->span); /* tensor cores may flush operands, too */
    }
    for (int64_t k = 0; k < ROWS && c->alpha != 0.0; k++) {
        if (c->op == SPMM_OP_N ? has_entry(i, k) : has_entry(k, i)) {
            const double a = c->op == SPMM_OP_N ? a_of(c, i, k) : a_of(c, k, i);

            reference_add(&want, c->alpha * a * b_of(c, k, j));
            terms++;
        }
    }
    if (c->beta != 0.0) {
        reference_add(&want, c->beta * c_of(c, i, j));
    }
    if (reference_near(&want, got, c->mode->bound, least * (double)terms)) {
        return;
    }
    print_error(
        "%s type %s compute %d op %d layout %d kind %d alpha %g beta %g: C(%d, %d) = %.17g, "
        "expected %.17g, magnitudes %.3g, error %.3g of them\n",
        c->engine, spmmi_type_name(c->mode->type), (int)c->mode->compute, (int)c->op,
        (int)c->layout, (int)c->kind, c->alpha, c->beta, (int)i, (int)j, got, want.sum, want.size,
        fabs(got - want.sum) / want.size);
    fail();
}

/* False: the plan refuses this engine for this problem, with a reason. */
static bool make_plan(const case_t *c, spmm_matrix_t *A, spmm_plan_t **plan)
{
    spmm_plan_options_t o = SPMM_PLAN_OPTIONS_INIT;
    spmm_status_t       status;

    o.engine        = c->engine;
    o.op            = c->op;
    o.layout        = c->layout;
    o.compute       = c->mode->compute;
    o.deterministic = c->deterministic;
    o.tuning        = "order=none,measure=no";
    /* Engines that multiply padding with what is not finite refuse. */
    o.exact_nonfinite = c->kind == SPOILED_B;
    status            = spmm_plan_create(A, N, &o, plan);
    if (status == SPMM_ERR_UNSUPPORTED) {
        assert_true(spmm_last_error(ctx)[0] != '\0');
        return false;
    }
    spmm_assert_ok(status);
    return true;
}

/* C of one plan on the host, to be freed; *bytes of it. */
static void *multiply(const case_t *c, spmm_plan_t *plan, const spmm_layout_info_t *rows,
                      int64_t ld, size_t *bytes)
{
    const size_t  size  = spmm_type_size(c->mode->type);
    const int64_t count = ld * (c->layout == SPMM_LAYOUT_COL ? N : rows->local_rows);
    void         *B = calloc((size_t)count + 1, size), *C = calloc((size_t)count + 1, size);
    void         *device_b, *device_c;

    *bytes = (size_t)count * size;
    for (int64_t i = 0; i < rows->local_rows; i++) {
        for (int64_t j = 0; j < N; j++) {
            spmmi_value_set(c->mode->type, B, reference_place(c->layout, ld, i, j),
                            b_of(c, rows->global_row[i], j));
            spmmi_value_set(c->mode->type, C, reference_place(c->layout, ld, i, j),
                            c_of(c, rows->global_row[i], j));
        }
    }
    device_b = to_device(B, *bytes);
    device_c = to_device(C, *bytes);
    spmm_assert_ok(spmm_execute(plan, N, c->alpha, device_b, ld, c->beta, device_c, ld, NULL));
    spmm_assert_ok(spmm_stream_synchronize(ctx, NULL));
    spmm_assert_ok(spmm_buffer_copy(ctx, C, device_c, *bytes));
    test_context_free(ctx, &device_b, &device_c);
    free(B);
    return C;
}

/* Returns whether the engine could. */
static bool check(const case_t *c)
{
    spmm_layout_info_t rows = {.struct_size = sizeof rows};
    spmm_matrix_t     *A    = make_matrix(c);
    spmm_plan_t       *plan = NULL;
    void              *first, *second;
    size_t             bytes;
    int64_t            ld;
    bool               could = make_plan(c, A, &plan);

    if (could) {
        spmm_assert_ok(spmm_plan_get_layout(plan, SPMM_OPERAND_C, &rows));
        ld    = (c->layout == SPMM_LAYOUT_COL ? rows.local_rows : N) + PAD;
        first = multiply(c, plan, &rows, ld, &bytes);
        for (int64_t i = 0; i < rows.local_rows; i++) {
            for (int64_t j = 0; j < N; j++) {
                check_element(
                    c, rows.global_row[i], j,
                    spmmi_value_get(c->mode->type, first, reference_place(c->layout, ld, i, j)));
            }
        }
        if (c->deterministic) { /* another plan, the same bits */
            spmm_assert_ok(spmm_plan_destroy(&plan));
            assert_true(make_plan(c, A, &plan));
            spmm_assert_ok(spmm_plan_get_layout(plan, SPMM_OPERAND_C, &rows));
            second = multiply(c, plan, &rows, ld, &bytes);
            assert_memory_equal(first, second, bytes);
            free(second);
        }
        free(first);
    }
    test_context_destroy(&plan, &A, NULL);
    return could;
}

/* By every engine in every mode that it takes. */
static void for_all(case_t c, int least_found)
{
    spmm_component_info_t info  = {.struct_size = sizeof info};
    int                   found = 0;

    for (int m = 0; m < N_MODES; m++) {
        for (int e = 0; spmm_engine_info(e, &info) == SPMM_OK; e++) {
            c.mode   = &modes[m];
            c.engine = info.name;
            found += info.built && check(&c);
        }
    }
    assert_true(found >= least_found);
}

static void test_range(void **state)
{
    for_all((case_t){.alpha = 1.0}, N_MODES);
    for_all((case_t){.alpha = -0.75, .beta = 2.0, .layout = SPMM_LAYOUT_COL}, N_MODES);
    for_all((case_t){.alpha = 1.0, .beta = -1.0, .op = SPMM_OP_T}, N_MODES);
}

static void test_not_finite(void **state)
{
    for_all((case_t){.alpha = 1.0, .kind = SPOILED_B}, N_MODES);
    for_all((case_t){.alpha = 1.0, .beta = 1.0, .kind = SPOILED_B, .op = SPMM_OP_T}, N_MODES);
}

static void test_denormal(void **state)
{
    for_all((case_t){.alpha = 1.0, .kind = DENORMAL}, N_MODES);
}

/* C = beta C, whatever A and B are, with 0 for C full of NaN. */
static void test_alpha_zero(void **state)
{
    for_all((case_t){.alpha = 0.0, .beta = 0.0}, N_MODES);
    for_all((case_t){.alpha = 0.0, .beta = -2.0}, N_MODES);
}

static void test_deterministic(void **state)
{
    for_all((case_t){.alpha = 1.0, .deterministic = 1}, N_MODES);
    for_all((case_t){.alpha = 1.0, .beta = 1.0, .op = SPMM_OP_T, .deterministic = 1}, N_MODES);
}

static void test_open(void **state)
{
    open_context();
}

static void test_close(void **state)
{
    close_context();
}

SPMM_TESTS(test_open, test_range, test_not_finite, test_denormal, test_alpha_zero,
           test_deterministic, test_close);
