/* SPDX-License-Identifier: Apache-2.0 */
#include "tc_case.h"

#include "spmm_dist/context.h"

spmm_problem_t tc_case_problem(const tc_case_t *t, int64_t n)
{
    const spmm_type_t full = t->compute == SPMM_COMPUTE_64F ? SPMM_R_64F : SPMM_R_32F;
    const spmm_type_t type = t->type != SPMM_TYPE_AUTO ? t->type : full;

    return (spmm_problem_t){.ab_type = type,
                            .c_type  = t->wide_c ? full : type,
                            .compute = t->compute,
                            .layout  = t->by_columns ? SPMM_LAYOUT_COL : SPMM_LAYOUT_ROW,
                            .n       = n};
}

void tc_case_check(const tc_case_t *t, product_t *p)
{
    void *format;

    spmm_assert_ok(t->engine->build(t->engine, p->block, &p->problem, t->device, &format));
    run_product(t->engine, t->device, format, p);
    check_product(p);
    t->engine->destroy(format);
}

void tc_case_widths(const tc_case_t *t, const spmm_csr_t *block, const int64_t *width, int n,
                    const int64_t extra[3], int half)
{
    for (int w = 0; w < 3 * n; w++) {
        product_t p = {.block   = block,
                       .problem = tc_case_problem(t, width[w / 3]),
                       .alpha   = w % 2 == 0 ? 1.0 : -1.5,
                       .beta    = w % 4 == 1 || w % 4 == 2 ? 0.5 : 0.0};

        if (half < 0 || w / 2 % 2 == half) {
            make_product(&p, width[w / 3], extra[w % 3]);
            tc_case_check(t, &p);
            free_product(&p);
        }
    }
}

typedef struct {
    int32_t        n_rows, n_cols;
    pattern_kind_t kind;
    bool           small; /* part of the small cases */
} shape_t;

static const shape_t shapes[] = {
    {203, 150, MIXED, true},
    {61, 999, MIXED, false},
    {5000, 30, MIXED, false},
    {45, 60000, DENSE_ROWS, false},
    {45, 2500, DENSE_ROWS, true},
    {33, 64, DENSE_ROWS, true},
    {400, 90, EMPTY_STRIPES, true},
    {64, 48, EMPTY_STRIPES, false},
    {7, 300, DENSE_ROWS, false},
    {50, 40, NO_ENTRIES, true},
    {50, 0, NO_ENTRIES, true},
    {0, 40, MIXED, true},
    {0, 0, MIXED, true},
    {1, 1, DENSE_ROWS, true},
    {1, 1, NO_ENTRIES, false},
    {1, 9000, DENSE_ROWS, false},
    {3000, 1, DENSE_ROWS, false},
    {31, 15, DENSE_ROWS, true},
};
enum { N_SHAPES = sizeof shapes / sizeof shapes[0] };

static const int64_t widths[] = {1, 7, 12, 24, 32, 33, 100, 128, 512};
enum { N_WIDTHS = sizeof widths / sizeof widths[0], SMALL_WIDTHS = 7 };

/* What lies between the end of a row, or a column, and the leading dimension belongs to nobody. */
static void spoil_padding(const product_t *p)
{
    const bool    columns = p->problem.layout == SPMM_LAYOUT_COL;
    const int64_t lines   = p->b_size == 0 ? 0 : columns ? p->n : p->block->n_cols;

    for (int64_t i = 0; i + 1 < lines; i++) { /* nothing is behind the last one */
        for (int64_t j = columns ? p->block->n_cols : p->n; j < p->ldb; j++) {
            spmmi_value_set(p->problem.ab_type, p->B, i * p->ldb + j, (double)NAN);
        }
    }
}

/* One format, three products of the planned width and a smaller one; @p variant picks scalars,
 * leading dimensions and alignment. */
static void check_width(const tc_case_t *t, const spmm_csr_t *block, int w, int variant)
{
    static const double  alphas[] = {1.5, -1.0, 1.0, 0.0, 0.25}, betas[] = {0.0, 1.0, -0.5};
    const spmm_problem_t problem = tc_case_problem(t, widths[w]);
    const int64_t        n[]     = {widths[w], widths[w > 0 ? w - 1 : 0], widths[w]};
    size_t               host = 0, on_device = 0;
    void                *format;

    spmm_assert_ok(t->engine->build(t->engine, block, &problem, t->device, &format));
    t->engine->bytes(format, &host, &on_device);
    assert_true((t->device->kind == SPMM_DEVICE_CPU ? host : on_device) >=
                (size_t)spmmi_csr_nnz(block) * spmm_type_size(block->type));
    for (int e = 0; e < 3; e++) {
        const int v = 3 * variant + e;
        product_t p = {.block   = block,
                       .problem = problem,
                       .alpha   = alphas[v % 5],
                       .beta    = betas[(v + v / 3) % 3],
                       .shift   = v / 2 % 2,
                       .more_c  = v % 7 == 0 ? 2 : 0};

        make_product(&p, n[e], v / 3 % 2 == 0 ? e : 4 * e);
        spoil_padding(&p);
        run_product(t->engine, t->device, format, &p);
        check_product(&p);
        free_product(&p);
    }
    t->engine->destroy(format);
}

void tc_case_shapes(const tc_case_t *t)
{
    const int n_widths = t->small ? SMALL_WIDTHS : N_WIDTHS;

    for (int s = 0; s < N_SHAPES; s++) {
        const shape_t    *shape = &shapes[s];
        const spmm_type_t type  = tc_case_problem(t, 1).ab_type;

        /* The row map once is enough where the reference takes long. */
        for (int mapped = shape->n_cols > 10000; mapped < 2 && (shape->small || !t->small);
             mapped++) {
            spmm_csr_t block;

            make_block(shape->n_rows, shape->n_cols, shape->kind, type, mapped != 0, &block);
            for (int w = 0; w < n_widths; w++) {
                check_width(t, &block, w, s + w + mapped);
            }
            spmmi_csr_free(&block);
        }
    }
}

/* Rows of B and C begin at multiples of 16 bytes, or of 8, and n ends within one. */
void tc_case_edge(const tc_case_t *t, const spmm_csr_t *block, int64_t n, int k, int variant)
{
    static const double  betas[] = {0.0, 1.0, -0.5};
    const spmm_problem_t problem = tc_case_problem(t, n);
    const int64_t        size    = (int64_t)spmm_type_size(problem.ab_type);
    const int64_t        unit    = size > 8 ? 1 : (k % 4 == 3 ? 8 : 16) / size;
    product_t            p       = {.block   = block,
                                    .problem = problem,
                                    .alpha   = 1.5,
                                    .beta    = betas[k % 3],
                                    .shift   = k % 5 == 4 ? unit : 0};

    p.problem.variant = variant;
    make_product(&p, n, (n + unit - 1) / unit * unit - n + k / 2 % 2 * unit);
    spoil_padding(&p);
    tc_case_check(t, &p);
    free_product(&p);
}

void tc_case_edges(const tc_case_t *t)
{
    static const int64_t n[]     = {7,  33, 130, 3,  5,  6,  9,  13,  15,
                                    17, 20, 21,  31, 49, 63, 66, 127, 129};
    const int            n_edges = t->small ? 3 : (int)(sizeof n / sizeof n[0]);

    for (int k = 0; k < 3 * n_edges; k++) {
        const bool full = k / n_edges == 0; /* rows that are cut; the last row of B is in use */
        spmm_csr_t block;

        make_block(full ? 45 : 203, full ? 3000 : 64, full ? DENSE_ROWS : MIXED,
                   tc_case_problem(t, 1).ab_type, k / n_edges == 2, &block);
        tc_case_edge(t, &block, n[k % n_edges], k, 0);
        spmmi_csr_free(&block);
    }
}

static void make_positive(spmm_type_t type, void *values, int64_t size)
{
    for (int64_t k = 0; k < size; k++) {
        spmmi_value_set(type, values, k, fabs(spmmi_value_get(type, values, k)));
    }
}

void tc_case_positive(const tc_case_t *t)
{
    spmm_csr_t block;
    product_t  p = {.block = &block, .problem = tc_case_problem(t, 33), .alpha = 1.0, .beta = 0.0};

    make_block(20, t->small ? 3000 : 60000, DENSE_ROWS, p.problem.ab_type, false, &block);
    make_product(&p, 33, 0);
    make_positive(block.type, block.values, spmmi_csr_nnz(&block));
    make_positive(p.problem.ab_type, p.B, p.b_size);
    tc_case_check(t, &p);
    free_product(&p);
    spmmi_csr_free(&block);
}

/* 10^x for x from -@p range to @p range, drawn. */
static double scale(uint64_t seed, int64_t i, int64_t j, double range)
{
    return pow(10.0, range * (2.0 * spmmi_unit(spmmi_hash2(seed, i, j)) - 1.0));
}

/* Variant 0: columns of A and rows of B the inverse of each other; 1: every value of A; 2: every
 * value of B. */
static void spread(const product_t *p, int variant)
{
    spmm_csr_t        block   = *p->block;
    const spmm_type_t type    = block.type;
    const bool        columns = p->problem.layout == SPMM_LAYOUT_COL;
    const double      far = type == SPMM_R_16F ? 1.5 : 30, near = type == SPMM_R_16F ? 0.5 : 7;

    for (int64_t k = 0; k < spmmi_csr_nnz(&block); k++) {
        const double by = variant == 0 ? scale(7, block.col_idx[k], 0, far)
                                       : scale(8, k, 0, variant == 1 ? far : near);

        spmmi_value_set(type, block.values, k, by * spmmi_value_get(type, block.values, k));
    }
    for (int64_t k = 0; k < p->b_size; k++) {
        const double by = variant == 0 ? 1 / scale(7, columns ? k % p->ldb : k / p->ldb, 0, far)
                                       : scale(9, k, 0, variant == 1 ? near : far);

        spmmi_value_set(type, p->B, k, by * spmmi_value_get(type, p->B, k));
    }
}

void tc_case_magnitudes(const tc_case_t *t)
{
    for (int variant = 0; variant < 3; variant++) {
        spmm_csr_t block;
        product_t  p = {.block = &block, .problem = tc_case_problem(t, 40), .alpha = 1.0};

        make_block(200, 300, DENSE_ROWS, p.problem.ab_type, false, &block);
        make_product(&p, 40, 0);
        spread(&p, variant);
        tc_case_check(t, &p);
        free_product(&p);
        spmmi_csr_free(&block);
    }
}

void tc_case_same_bits(const tc_case_t *t)
{
    for (int asked = 0; asked < 2; asked++) {
        spmm_csr_t block;
        product_t  p = {.block = &block, .problem = tc_case_problem(t, 64), .alpha = 1.0};

        p.problem.deterministic = asked != 0;
        make_block(t->small ? 50 : 3000, t->small ? 1500 : 9000, DENSE_ROWS, p.problem.ab_type,
                   asked != 0, &block);
        make_product(&p, 64, 0);
        check_same_bits(t->engine, t->device, &p, t->small ? 10 : 100);
        free_product(&p);
        spmmi_csr_free(&block);
    }
}

void tc_case_life(const tc_case_t *t)
{
    const spmm_problem_t problem = tc_case_problem(t, 24);

    check_refill(t->engine, t->device, &problem);
    check_build_failures(t->engine, t->device, &problem, NULL,
                         t->device->kind == SPMM_DEVICE_CPU ? 6 : 12);
}

void tc_case_supports(const tc_case_t *t)
{
    spmm_problem_t problem       = tc_case_problem(t, 16);
    char           why[SPMM_WHY] = "";

    assert_true(spmmi_engine_supports(t->engine, &problem, t->device, why));
    problem.layout = SPMM_LAYOUT_COL;
    if (!spmmi_engine_supports(t->engine, &problem, t->device, why)) {
        assert_string_equal(why, "multiplies row-major blocks");
        assert_false(t->by_columns);
    }
    problem        = tc_case_problem(t, 16);
    problem.c_type = problem.ab_type == SPMM_R_64F ? SPMM_R_32F : SPMM_R_64F;
    assert_false(spmmi_engine_supports(t->engine, &problem, t->device, why));
    assert_non_null(strstr(why, spmmi_is_complex(problem.ab_type) ? "c"
                                : problem.ab_type == SPMM_R_64F   ? "64f"
                                                                  : "32f"));
}
