/* SPDX-License-Identifier: Apache-2.0 */
#include "plan_case.h"

spmm_context_t *ctx;
int             plans_made;

/* Of A and B where terms cancel; a sum of 30 terms is about 200,000, the largest term 16,384. */
enum { SCALE = 128, EQUAL = 64, EQUAL_C = 36864 };

/* The index that a symmetric block repeats. */
static int64_t fold(int64_t i, int64_t n)
{
    return i < n - 1 - i ? i : n - 1 - i;
}

static double complex entry(const shape_t *s, const product_t *p, uint64_t seed, int64_t i,
                            int64_t j)
{
    if (p->values == VALUES_CANCEL) {
        i = fold(i, s->rows);
        j = fold(j, s->cols);
    }
    if (s->one_in == 0 || (i != s->dense_row && spmmi_hash2(7, i, j) % (uint64_t)s->one_in != 0)) {
        return 0.0;
    }
    return p->values == VALUES_EQUAL    ? EQUAL
           : p->values == VALUES_CANCEL ? SCALE * fabs(reference_value(seed, i, j, p->type))
                                        : reference_element(seed, i, j, p->type);
}

enum { SEED_B = 11, SEED_C = 13 };

/* Of B or C, by seed. */
static double complex element(const product_t *p, uint64_t seed, int64_t i, int64_t j)
{
    const spmm_type_t type = seed == SEED_B ? p->b_type : p->c_type;
    double            x;

    if (p->values == VALUES_DRAWN) {
        return reference_element(seed, i, j, type);
    }
    if (p->values == VALUES_EQUAL) {
        return seed == SEED_B ? EQUAL : EQUAL_C;
    }
    if (seed == SEED_C) {
        return EQUAL * reference_value(seed, i, j, type);
    }
    x = SCALE * fabs(reference_value(seed, fold(i, p->inner), j, type));
    return i == 0 ? 2.0 * x : i < p->inner / 2 ? x : -x;
}

/** This rank's CSR rows, as a caller has them. */
typedef struct {
    int64_t *row_ptr, *col;
    void    *values;
    int64_t  rows, cols;
} caller_t;

static caller_t make_caller(const shape_t *s, const product_t *p, uint64_t seed)
{
    caller_t c;
    int64_t  first, first_col, nnz = 0;

    reference_part(s->rows, &first, &c.rows);
    reference_part(s->cols, &first_col, &c.cols);
    c.row_ptr = calloc((size_t)c.rows + 1, sizeof *c.row_ptr);
    c.col     = calloc((size_t)(c.rows * s->cols) + 1, sizeof *c.col);
    c.values  = calloc((size_t)(c.rows * s->cols) + 1, sizeof(double complex));
    for (int64_t i = 0; i < c.rows; i++) {
        for (int64_t k = 0; k < s->cols; k++) {
            /* Odd rows come in descending order of columns. */
            const int64_t        j = (first + i) % 2 == 0 ? k : s->cols - 1 - k;
            const double complex x = entry(s, p, seed, first + i, j);

            if (x != 0.0) {
                c.col[nnz] = j;
                reference_set(p->type, c.values, nnz++, x);
            }
        }
        c.row_ptr[i + 1] = nnz;
    }
    return c;
}

static void free_caller(caller_t *c)
{
    spmm_test_free(c->row_ptr, c->col, c->values);
}

/* A block of @p rows x n in the plan's layout, filled from (global row, column); NaN in the
 * gaps. */
static void *make_dense(const product_t *p, int64_t rows, const int64_t *global_row, uint64_t seed,
                        spmm_type_t type, int64_t *ld, size_t *bytes)
{
    const int64_t width  = p->layout == SPMM_LAYOUT_ROW ? p->n : rows;
    const int64_t blocks = p->layout == SPMM_LAYOUT_ROW ? rows : p->n;
    void         *data;

    *ld    = (width < 1 ? 1 : width) + p->pad;
    *bytes = (size_t)(*ld * blocks) * spmm_type_size(type);
    data   = malloc((size_t)(*ld * blocks + 1) * sizeof(double complex));
    for (int64_t k = 0; k < *ld * blocks; k++) {
        spmmi_value_set(type, data, k, NAN);
    }
    for (int64_t i = 0; i < rows && seed != 0; i++) {
        for (int64_t j = 0; j < p->n; j++) {
            reference_set(type, data, reference_place(p->layout, *ld, i, j),
                          element(p, seed, global_row[i], j));
        }
    }
    return data;
}

/* Bounds are relative to the magnitudes of complex terms. */
static void add_term(reference_t *re, reference_t *im, double complex term)
{
    re->sum += creal(term);
    im->sum += cimag(term);
    re->size += fabs(creal(term)) + fabs(cimag(term));
    im->size = re->size;
}

/* Half of the last place of C, and what FP32 loses on the way to it. */
static bool is_near(const product_t *p, const reference_t *want, double got)
{
    const double half = p->c_type == SPMM_R_16F ? 0x1p-11 : p->c_type == SPMM_R_16BF ? 0x1p-8 : 0.0;

    return p->values == VALUES_DRAWN
               ? reference_near(want, got, reference_bound(p->type), 0.0)
               : reference_near(want, got, reference_bound(SPMM_R_32F), half * fabs(want->sum));
}

/* Compare one block of C, rows given by their global index, with the dense product. */
static void check_c(const shape_t *s, const product_t *p, uint64_t seed, const void *C, int64_t ld,
                    int64_t rows, const int64_t *global_row)
{
    const int64_t inner = p->op == SPMM_OP_N ? s->cols : s->rows;

    for (int64_t i = 0; i < rows; i++) {
        for (int64_t j = 0; j < p->n; j++) {
            const int64_t g  = global_row[i];
            reference_t   re = {0}, im = {0};

            const double complex got =
                reference_get(p->c_type, C, reference_place(p->layout, ld, i, j));

            for (int64_t k = 0; k < inner; k++) {
                const double complex a =
                    p->op == SPMM_OP_N ? entry(s, p, seed, g, k) : entry(s, p, seed, k, g);

                add_term(&re, &im,
                         p->alpha * (p->op == SPMM_OP_H ? conj(a) : a) * element(p, SEED_B, k, j));
            }
            if (p->beta != 0.0) {
                add_term(&re, &im, p->beta * element(p, SEED_C, g, j));
            }
            if (!is_near(p, &re, creal(got)) || !is_near(p, &im, cimag(got))) {
                print_error("C(%lld, %lld) = %.17g, %.17g, expected %.17g, %.17g (op %d layout %d "
                            "type %d C %d beta %g %s %s %s)\n",
                            (long long)g, (long long)j, creal(got), cimag(got), re.sum, im.sum,
                            (int)p->op, (int)p->layout, (int)p->type, (int)p->c_type,
                            creal(p->beta), p->partition, p->tuning, p->transport);
                fail();
            }
        }
    }
}

void *to_device(const void *host, size_t bytes)
{
    void *device;

    spmm_assert_ok(spmm_buffer_alloc(ctx, bytes, &device));
    spmm_assert_ok(spmm_buffer_copy(ctx, device, host, bytes));
    return device;
}

void *to_device_narrow(const int64_t *host, int64_t count)
{
    int32_t *narrow = calloc((size_t)count + 1, sizeof *narrow);
    void    *device;

    assert_non_null(narrow);
    for (int64_t k = 0; k < count; k++) {
        narrow[k] = (int32_t)host[k];
        assert_true(narrow[k] == host[k]);
    }
    device = to_device(narrow, (size_t)count * sizeof *narrow);
    free(narrow);
    return device;
}

/* The same C, moved back to the caller's distribution. */
static void check_gathered(const shape_t *s, const product_t *p, uint64_t seed, spmm_plan_t *plan,
                           const void *C, int64_t ldc, const spmm_layout_info_t *c)
{
    int64_t ld, *row = malloc((size_t)(c->original_rows + 1) * sizeof *row);
    size_t  bytes;
    void   *back, *device;

    for (int64_t i = 0; i < c->original_rows; i++) {
        row[i] = c->original_first + i;
    }
    back   = make_dense(p, c->original_rows, row, 0, p->c_type, &ld, &bytes);
    device = to_device(back, bytes);
    spmm_assert_ok(spmm_plan_gather(plan, SPMM_OPERAND_C, p->n, C, ldc, device, ld, NULL));
    spmm_assert_ok(spmm_buffer_copy(ctx, back, device, bytes));
    check_c(s, p, seed, back, ld, c->original_rows, row);
    spmm_assert_ok(spmm_buffer_free(ctx, &device));
    spmm_test_free(back, row);
}

/* B made in the caller's distribution and moved to the plan's: what execute then reads. */
static void *scattered_b(const product_t *p, spmm_plan_t *plan, const spmm_layout_info_t *b,
                         int64_t *ldb)
{
    int64_t ld, *row = malloc((size_t)(b->original_rows + 1) * sizeof *row);
    size_t  bytes, b_bytes;
    void   *B, *from, *host;

    for (int64_t i = 0; i < b->original_rows; i++) {
        row[i] = b->original_first + i;
    }
    host = make_dense(p, b->original_rows, row, SEED_B, p->b_type, &ld, &bytes);
    from = to_device(host, bytes);
    free(host);
    host = make_dense(p, b->local_rows, b->global_row, 0, p->b_type, ldb, &b_bytes);
    B    = to_device(host, b_bytes);
    free(host);
    spmm_assert_ok(spmm_plan_scatter(plan, SPMM_OPERAND_B, p->n, from, ld, B, *ldb, NULL));
    spmm_assert_ok(spmm_buffer_free(ctx, &from));
    free(row);
    return B;
}

static void run_once(const shape_t *s, const product_t *p, uint64_t seed, spmm_plan_t *plan)
{
    spmm_layout_info_t b = {.struct_size = sizeof b}, c = {.struct_size = sizeof c};
    spmm_alloc_stats_t before;
    int64_t            ldb, ldc;
    size_t             c_bytes;
    void              *B, *C, *host;
    double complex     scalars[2];

    spmm_assert_ok(spmm_plan_get_layout(plan, SPMM_OPERAND_B, &b));
    spmm_assert_ok(spmm_plan_get_layout(plan, SPMM_OPERAND_C, &c));
    reference_set(p->type, scalars, 0, p->alpha);
    reference_set(p->type, scalars, 1, p->beta);
    B = scattered_b(p, plan, &b, &ldb);
    /* beta == 0 must overwrite the NaN that C is then full of. */
    host   = make_dense(p, c.local_rows, c.global_row, p->beta == 0.0 ? 0 : SEED_C, p->c_type, &ldc,
                        &c_bytes);
    C      = to_device(host, c_bytes);
    before = spmmi_alloc_get_stats();
    if (p->alpha == creal(p->alpha) && p->beta == creal(p->beta)) {
        spmm_assert_ok(
            spmm_execute(plan, p->n, creal(p->alpha), B, ldb, creal(p->beta), C, ldc, NULL));
    } else {
        spmm_assert_ok(spmm_execute_scaled(
            plan, p->n, scalars, B, ldb, (char *)scalars + spmm_type_size(p->type), C, ldc, NULL));
    }
    assert_true(spmmi_alloc_get_stats().calls == before.calls);
    spmm_assert_ok(spmm_buffer_copy(ctx, host, C, c_bytes));
    check_c(s, p, seed, host, ldc, c.local_rows, c.global_row);
    check_gathered(s, p, seed, plan, C, ldc, &c);
    test_context_free(ctx, &B, &C);
    free(host);
}

static spmm_matrix_t *create(const caller_t *c, const product_t *p)
{
    spmm_matrix_t *A = NULL;

    if (!p->narrow) {
        spmm_assert_ok(spmm_matrix_create_csr(ctx, c->rows, c->cols, c->row_ptr, c->col, c->values,
                                              p->type, &A));
        return A;
    }

    const int64_t nnz     = c->row_ptr[c->rows];
    void         *row_ptr = to_device_narrow(c->row_ptr, c->rows + 1);
    void         *col     = to_device_narrow(c->col, nnz);
    void         *values  = to_device(c->values, (size_t)nnz * spmm_type_size(p->type));

    spmm_assert_ok(
        spmm_matrix_create_csr32(ctx, c->rows, c->cols, row_ptr, col, values, p->type, &A));
    test_context_free(ctx, &row_ptr, &col, &values);
    return A;
}

static void plan_and_run(const shape_t *s, const product_t *p)
{
    spmm_plan_options_t o = SPMM_PLAN_OPTIONS_INIT;
    spmm_matrix_t      *A;
    spmm_plan_t        *plan;
    caller_t            first = make_caller(s, p, 3), second = make_caller(s, p, 5);
    product_t           narrow = *p;
    spmm_status_t       status;

    o.op           = p->op;
    o.layout       = p->layout;
    o.c_type       = p->c_type;
    o.b_type       = p->b_type;
    o.partition    = p->partition;
    o.engine       = p->engine;
    o.profile      = p->n % 2 == 0;
    o.reproducible = p->reproducible;
    o.transport    = p->transport;
    o.tuning       = test_context_tuning(p->tuning);
    A              = create(&first, p);
    status         = spmm_plan_create(A, p->planned_n, &o, &plan);
    if (p->transport != NULL && status == SPMM_ERR_UNSUPPORTED) {
        assert_non_null(strstr(spmm_last_error(ctx), p->transport));
        test_context_destroy(NULL, &A, NULL);
        free_caller(&first);
        free_caller(&second);
        return;
    }
    spmm_assert_ok(status);
    plans_made++;
    run_once(s, p, 3, plan);
    spmm_assert_ok(spmm_matrix_update_values(A, second.values));
    narrow.n   = 1;
    narrow.pad = 3;
    run_once(s, &narrow, 5, plan);
    spmm_assert_ok(spmm_matrix_drop_entries(A)); /* the plan has its own */
    run_once(s, p, 5, plan);
    if (p->partition == NULL &&
        !(p->reproducible &&
          p->op != SPMM_OP_N)) { /* the first values again, by way of the device */
        void *values =
            to_device(first.values, (size_t)first.row_ptr[first.rows] * spmm_type_size(p->type));

        spmm_assert_ok(spmm_plan_update_values(plan, values, NULL));
        run_once(s, p, 3, plan);
        spmm_assert_ok(spmm_buffer_free(ctx, &values));
    }
    assert_int_equal(spmm_matrix_destroy(&A), SPMM_ERR_ARGUMENT); /* a plan is alive */
    test_context_destroy(&plan, &A, NULL);
    free_caller(&first);
    free_caller(&second);
}

void check_plan(const shape_t *s, const product_t *p)
{
    product_t full = *p;

    full.b_type    = p->b_type == SPMM_TYPE_AUTO ? p->type : p->b_type;
    full.c_type    = p->c_type == SPMM_TYPE_AUTO ? full.b_type : p->c_type;
    full.planned_n = p->planned_n == 0 ? p->n : p->planned_n;
    full.inner     = p->op == SPMM_OP_N ? s->cols : s->rows;
    plan_and_run(s, &full);
}

void open_context(void)
{
    test_context_open(&ctx);
}

void close_context(void)
{
    spmm_assert_ok(spmm_context_destroy(&ctx));
    assert_null(ctx);
}
