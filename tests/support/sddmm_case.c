/* SPDX-License-Identifier: Apache-2.0 */
#include "sddmm_case.h"

enum { OPERAND_X = 1, OPERAND_Y, OPERAND_S };

static bool has(const mask_t *m, int64_t i, int64_t j)
{
    const int64_t v = i / m->vector, b = m->blocks <= 0 ? j : j / m->blocks;

    return v == m->dense || (int)(spmmi_hash2(7, v, b) % 1000) < m->per_mille;
}

/* From rows; odd ones may come in descending order of columns. */
static void fill_rows(masked_t *m, int64_t *row_ptr)
{
    for (int64_t i = 0; i < m->rows; i++) {
        for (int64_t k = 0; k < m->shape.cols; k++) {
            const int64_t g = m->first_row + i;
            const int64_t j = g % 2 == 0 || m->shape.blocks < 0 ? k : m->shape.cols - 1 - k;

            if (has(&m->shape, g, j)) {
                m->row[m->nnz]   = g;
                m->col[m->nnz++] = j;
            }
        }
        row_ptr[i + 1] = m->nnz;
    }
}

/* From blocks; returns the first column of each. */
static int64_t *fill_blocks(masked_t *m, int64_t *block_ptr)
{
    const int64_t V = m->shape.vector, W = m->shape.blocks, n = m->rows / V;
    int64_t *first = spmm_test_malloc((size_t)(n * m->shape.cols + 1) * sizeof *first), count = 0;

    for (int64_t v = 0; v < n; v++) {
        for (int64_t j = 0; j < m->shape.cols; j += W) {
            if (!has(&m->shape, m->first_row + v * V, j)) {
                continue;
            }
            first[count++] = j;
            for (int64_t k = 0; k < V * W; k++) {
                m->row[m->nnz]   = m->first_row + v * V + k % V;
                m->col[m->nnz++] = j + k / V;
            }
        }
        block_ptr[v + 1] = count;
    }
    return first;
}

masked_t make_masked(const mask_t *shape, spmm_type_t type)
{
    masked_t m = {.shape = *shape};
    int64_t  vectors, first;
    int64_t *ptr, *blocks;
    void    *values;

    reference_part(shape->vectors, &first, &vectors);
    reference_part(shape->cols, &m.first_col, &m.cols);
    m.first_row = first * shape->vector;
    m.rows      = vectors * shape->vector;
    ptr         = spmm_test_calloc((size_t)m.rows + 1, sizeof *ptr);
    m.row       = spmm_test_malloc((size_t)(m.rows * shape->cols + 1) * sizeof *m.row);
    m.col       = spmm_test_malloc((size_t)(m.rows * shape->cols + 1) * sizeof *m.col);
    values      = spmm_test_calloc((size_t)(m.rows * shape->cols) + 1, sizeof(double));
    if (shape->blocks <= 0) {
        fill_rows(&m, ptr);
        spmm_assert_ok(spmm_matrix_create_csr(ctx, m.rows, m.cols, ptr, m.col, values, type, &m.A));
    } else {
        blocks = fill_blocks(&m, ptr);
        spmm_assert_ok(spmm_matrix_create_cvse(ctx, m.rows, m.cols, shape->vector, shape->blocks,
                                               ptr, blocks, values, type, &m.A));
        free(blocks);
    }
    spmm_test_free(ptr, values);
    return m;
}

void free_masked(masked_t *m)
{
    spmm_assert_ok(spmm_matrix_destroy(&m->A));
    spmm_test_free(m->row, m->col);
}

double operand(int which, int64_t i, int64_t j, spmm_type_t type, int special)
{
    if (special != 0 && which != OPERAND_S && (i + which) % 11 == 3 && j % 5 == 0) {
        return i % 2 == 0 ? (double)INFINITY : (double)NAN;
    }
    return reference_value((uint64_t)which, i, j, type);
}

void *device_operand(int which, int64_t first, int64_t rows, int64_t k, int64_t ld,
                     spmm_type_t type, int special)
{
    const size_t bytes = (size_t)(rows * ld) * spmm_type_size(type);
    void        *host  = spmm_test_malloc(bytes + 8), *device;

    for (int64_t i = 0; i < rows; i++) {
        for (int64_t j = 0; j < ld; j++) { /* NaN in the gaps */
            spmmi_value_set(type, host, i * ld + j,
                            j < k ? operand(which, first + i, j, type, special) : (double)NAN);
        }
    }
    device = to_device(host, bytes);
    free(host);
    return device;
}

double sampled_bound(spmm_type_t type, spmm_type_t s_type)
{
    /* Tensor cores cut off what they add up. */
    return s_type == SPMM_R_32F && type != SPMM_R_32F ? 2e-5 : reference_bound(s_type);
}

/* Rows [first, first + rows) of k elements each, for the reference: a row serves many entries. */
static double *reference_rows(int which, int64_t first, int64_t rows, const sampled_t *s)
{
    double *all = spmm_test_malloc((size_t)(rows * s->k + 1) * sizeof *all);

    for (int64_t i = 0; i < rows; i++) {
        for (int64_t j = 0; j < s->k; j++) {
            all[i * s->k + j] = operand(which, first + i, j, s->type, s->special);
        }
    }
    return all;
}

/* Entry e, the product of rows @p x and @p y. */
static void check_value(const masked_t *m, const sampled_t *s, int64_t e, const double *x,
                        const double *y, double before, double got)
{
    reference_t want = {0};

    for (int64_t j = 0; j < s->k; j++) {
        reference_add(&want, s->alpha * x[j] * y[j]);
    }
    if (s->beta != 0.0) {
        reference_add(&want, s->beta * before);
    }
    if (!reference_near(&want, got, sampled_bound(s->type, s->s_type), 0.0)) {
        print_error("S(%lld, %lld) = %.9g, expected %.9g (k %lld type %d to %d kernel %s V %lld "
                    "blocks %d)\n",
                    (long long)m->row[e], (long long)m->col[e], got, want.sum, (long long)s->k,
                    (int)s->type, (int)s->s_type, s->kernel, (long long)m->shape.vector,
                    m->shape.blocks);
        fail();
    }
}

static void check_values(const masked_t *m, const sampled_t *s, const char *host, int64_t guard)
{
    double *x = reference_rows(OPERAND_X, m->first_row, m->rows, s);
    double *y = reference_rows(OPERAND_Y, 0, m->shape.cols, s);

    for (int64_t e = -guard; e < m->nnz + guard; e++) {
        const double got = spmmi_value_get(s->s_type, host, e + guard);

        if (e >= 0 && e < m->nnz) {
            check_value(m, s, e, x + (m->row[e] - m->first_row) * s->k, y + m->col[e] * s->k,
                        operand(OPERAND_S, m->row[e], m->col[e], s->s_type, 0), got);
        } else {
            assert_true(got == 3.0);
        }
    }
    spmm_test_free(x, y);
}

/* Guards around S show writes outside of it; 7 of them take it off the alignment of pairs. */
static void run_once(const masked_t *m, const sampled_t *s, spmm_sddmm_plan_t *plan)
{
    const int64_t      guard = s->pad == 0 ? 8 : 7;
    const int64_t      ldx = s->k + s->pad, ldy = s->k + 2 * s->pad;
    const size_t       size  = spmm_type_size(s->s_type);
    const size_t       bytes = (size_t)(m->nnz + 2 * guard) * size;
    char              *host  = spmm_test_malloc(bytes), *S;
    spmm_alloc_stats_t before;
    void *X = device_operand(OPERAND_X, m->first_row, m->rows, s->k, ldx, s->type, s->special);
    void *Y = device_operand(OPERAND_Y, m->first_col, m->cols, s->k, ldy, s->type, s->special);

    for (int64_t e = -guard; e < m->nnz + guard; e++) {
        const bool inside = e >= 0 && e < m->nnz;

        spmmi_value_set(s->s_type, host, e + guard,
                        !inside          ? 3.0
                        : s->beta == 0.0 ? (double)NAN
                                         : operand(OPERAND_S, m->row[e], m->col[e], s->s_type, 0));
    }
    S      = to_device(host, bytes);
    before = spmmi_alloc_get_stats();
    spmm_assert_ok(
        spmm_sddmm(plan, s->k, s->alpha, X, ldx, Y, ldy, s->beta, S + (size_t)guard * size, NULL));
    assert_true(spmmi_alloc_get_stats().calls == before.calls);
    spmm_assert_ok(spmm_buffer_copy(ctx, host, S, bytes));
    check_values(m, s, host, guard);
    test_context_free(ctx, &X, &Y, (void **)&S);
    free(host);
}

static void plan_and_run(const masked_t *m, const sampled_t *s)
{
    spmm_sddmm_options_t o      = SPMM_SDDMM_OPTIONS_INIT;
    sampled_t            narrow = *s;
    spmm_sddmm_plan_t   *plan;
    spmm_matrix_t       *A = m->A;

    o.s_type = s->s_type;
    o.kernel = s->kernel;
    o.tuning = test_context_tuning(NULL);
    spmm_assert_ok(spmm_sddmm_plan_create(m->A, s->planned_k, &o, &plan));
    run_once(m, s, plan);
    narrow.k    = 1;
    narrow.pad  = 3;
    narrow.beta = s->beta == 0.0 ? 0.5 : 0.0;
    run_once(m, &narrow, plan);
    assert_int_equal(spmm_matrix_destroy(&A), SPMM_ERR_ARGUMENT); /* a plan is alive */
    spmm_assert_ok(spmm_sddmm_plan_destroy(&plan));
    assert_null(plan);
}

void check_sampled(const masked_t *m, const sampled_t *s)
{
    sampled_t full = *s;

    full.s_type    = s->s_type == SPMM_TYPE_AUTO ? s->type : s->s_type;
    full.planned_k = s->planned_k == 0 ? s->k : s->planned_k;
    plan_and_run(m, &full);
}
