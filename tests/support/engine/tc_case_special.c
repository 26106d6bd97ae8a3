/* SPDX-License-Identifier: Apache-2.0 */
/** @file tc_case_special.c  Inf, NaN, and finite values that a kernel could turn into them. */
#include "tc_case.h"

#include <float.h>

#include "spmm_dist/context.h"

static const struct {
    float a, b;
} huge[] = {
    {FLT_MAX, 1.0f},        {1.0f, FLT_MAX},           {FLT_MAX, -0.5f},     {0.5f, -FLT_MAX},
    {-FLT_MAX, FLT_MIN},    {FLT_MIN, -FLT_MAX},       {FLT_MAX, 0.0f},      {0.0f, FLT_MAX},
    {0x1.fffp63f, 0x1p63f}, {0x1p63f, 0x1.fffffep63f}, {0x1.ffep127f, 1.0f}, {1.0f, 0x1.fffp127f},
    {FLT_MAX, 2.0f},        {2.0f, -FLT_MAX},          {1.5f, 1.5f},         {-1.25f, 0.75f},
};
enum { N_HUGE = sizeof huge / sizeof huge[0] };

/* Would rounding to 11 bits overflow? */
static bool at_the_top(float x)
{
    return fabsf(x) >= 0x1.ffep127f;
}

/* Row i is one entry, or none where TF32 must overflow; products i of the list and i + 5. */
static void make_diagonal(const tc_case_t *t, spmm_csr_t *block)
{
    const bool tf32 = t->compute == SPMM_COMPUTE_32F_FAST_TF32;
    int64_t    nnz  = 0;

    spmm_assert_ok(spmmi_csr_alloc(&spmm_test_env, N_HUGE, N_HUGE, N_HUGE, SPMM_R_32F, block));
    block->row_ptr[0] = 0;
    for (int32_t i = 0; i < N_HUGE; i++) {
        if (!tf32 || !(at_the_top(huge[i].a) || at_the_top(huge[i].b))) {
            block->col_idx[nnz] = i;
            spmmi_value_set(SPMM_R_32F, block->values, nnz++, (double)huge[i].a);
        }
        block->row_ptr[i + 1] = nnz;
    }
    block->c_rows = N_HUGE;
}

static void check_diagonal(const tc_case_t *t, double beta)
{
    spmm_csr_t block;
    product_t  p = {.block = &block, .problem = tc_case_problem(t, 35), .alpha = 1.0, .beta = beta};

    make_diagonal(t, &block);
    make_product(&p, 35, 0);
    for (int64_t k = 0; k < p.b_size; k++) {
        const double b = (double)huge[k / p.ldb].b;

        spmmi_value_set(SPMM_R_32F, p.B, k, k % 2 == 0 ? b : -b);
    }
    tc_case_check(t, &p);
    free_product(&p);
    spmmi_csr_free(&block);
}

/* One value at the top of the range in long rows, once of A and once of B. */
static void check_long(const tc_case_t *t, bool in_A)
{
    const float top = 0.9999f * FLT_MAX;
    spmm_csr_t  block;
    product_t   p = {.block = &block, .problem = tc_case_problem(t, 9), .alpha = 1.0, .beta = 0.0};

    make_block(20, t->small ? 800 : 6000, DENSE_ROWS, SPMM_R_32F, false, &block);
    make_product(&p, 9, 0);
    if (in_A) {
        const int64_t at = (block.row_ptr[3] + block.row_ptr[4]) / 2;

        spmmi_value_set(SPMM_R_32F, block.values, at, (double)top);
        for (int64_t j = 0; j < p.n; j++) {
            spmmi_value_set(SPMM_R_32F, p.B, block.col_idx[at] * p.ldb + j, 1.0);
        }
    } else {
        const int64_t row = block.n_cols / 3;

        for (int64_t k = 0; k < spmmi_csr_nnz(&block); k++) {
            if (block.col_idx[k] == row) {
                spmmi_value_set(SPMM_R_32F, block.values, k, 1.0);
            }
        }
        spmmi_value_set(SPMM_R_32F, p.B, row * p.ldb + 4, (double)-top);
    }
    tc_case_check(t, &p);
    free_product(&p);
    spmmi_csr_free(&block);
}

void tc_case_huge(const tc_case_t *t)
{
    if (t->compute == SPMM_COMPUTE_64F || t->type != SPMM_TYPE_AUTO || t->by_columns) {
        return; /* nothing is split or rounded, or it is by rows alike */
    }
    check_diagonal(t, 0.0);
    check_diagonal(t, 0.5);
    if (t->compute == SPMM_COMPUTE_32F) {
        check_long(t, true);
        check_long(t, false);
    }
}

/* Every column moves to an odd place: even rows of B, the first and the last among them, are
 * referenced by no entry, and each has a referenced neighbour.  Some values become zeros. */
static void make_gaps(int32_t n_rows, int32_t n_cols, pattern_kind_t kind, spmm_type_t type,
                      bool mapped, spmm_csr_t *block)
{
    make_block(n_rows, n_cols, kind, type, mapped, block);
    block->n_cols = 2 * n_cols + 1;
    for (int64_t k = 0; k < spmmi_csr_nnz(block); k++) {
        block->col_idx[k] = 2 * block->col_idx[k] + 1;
        if (spmmi_hash2(11, k, 0) % 6 == 0) {
            spmmi_value_set(type, block->values, k, k % 2 == 0 ? 0.0 : -0.0);
        }
    }
}

enum {
    UNREFERENCED,  /* all of the even rows */
    SOME_ROWS,     /* and every 16th of the others, at random */
    SOME_ELEMENTS, /* single elements: Inf alone, -Inf alone, both, NaN in one sum */
    SOME_INFINITE, /* the same without NaN and -Inf */
    EVERYTHING,
    N_SPOILS
};

static void spoil(const product_t *p, int how)
{
    static const double bad[] = {INFINITY, NAN, -INFINITY};
    const int64_t       few   = p->block->n_cols < 3000 ? 30 : p->block->n_cols / 3;

    for (int64_t k = 0; k < p->b_size; k++) {
        const int64_t  row  = p->problem.layout == SPMM_LAYOUT_COL ? k % p->ldb : k / p->ldb;
        const uint64_t hash = spmmi_hash2(12, k, how);
        const bool     hit  = how == EVERYTHING || row % 2 == 0 ||
                         (how == SOME_ROWS && spmmi_hash2(13, row, 0) % 16 == 0) ||
                         (how >= SOME_ELEMENTS && spmmi_below(hash, few) == 0);

        if (hit) {
            spmmi_value_set(p->problem.ab_type, p->B, k,
                            how == SOME_INFINITE && row % 2 != 0 ? bad[0] : bad[hash % 3]);
        }
    }
}

/* What a reference without NaN and infinities could not show is there. */
static void count(const product_t *p, int64_t found[3])
{
    for (int32_t i = 0; i < p->block->n_rows; i++) {
        const int64_t row = p->block->row_map == NULL ? i : p->block->row_map[i];

        for (int64_t j = 0; j < p->n; j++) {
            const bool   columns = p->problem.layout == SPMM_LAYOUT_COL;
            const double c       = spmmi_value_get(p->problem.c_type, p->got,
                                             columns ? row + j * p->ldc : row * p->ldc + j);

            found[isnan(c) ? 0 : isinf(c) ? 1 : 2]++;
        }
    }
}

static void check_gaps(const tc_case_t *t, int32_t n_rows, int32_t n_cols, pattern_kind_t kind,
                       int64_t n)
{
    const spmm_problem_t problem  = tc_case_problem(t, n);
    int64_t              found[3] = {0};

    for (int how = 0; how < N_SPOILS; how++) {
        spmm_csr_t block;
        product_t  p = {.block   = &block,
                        .problem = problem,
                        .alpha   = how % 2 == 0 ? 1.0 : -1.5,
                        .beta    = how % 3 == 0 ? 0.0 : 0.5,
                        .shift   = how % 2};

        make_gaps(n_rows, n_cols, kind, problem.ab_type, how % 2 != 0, &block);
        make_product(&p, n, how % 3);
        spoil(&p, how);
        tc_case_check(t, &p);
        count(&p, found);
        if (how == UNREFERENCED) {
            assert_true(found[0] == 0 && found[1] == 0 && found[2] > 0);
        }
        free_product(&p);
        spmmi_csr_free(&block);
    }
    if (spmmi_is_complex(problem.ab_type)) { /* whose Inf are NaN in one part or the other */
        assert_true(found[0] + found[1] > 0 && (n < 30 || found[2] > 0));
    } else {
        assert_true(found[0] > 0 && (n < 30 || (found[1] > 0 && found[2] > 0)));
    }
}

void tc_case_not_finite(const tc_case_t *t)
{
    check_gaps(t, 100, 60, MIXED, 1);
    check_gaps(t, 100, 60, MIXED, 33);
    check_gaps(t, 300, 40, EMPTY_STRIPES, 128);
    check_gaps(t, 20, 3000, DENSE_ROWS, 40);
    if (!t->small) {
        check_gaps(t, 20, 30000, DENSE_ROWS, 70);
        check_gaps(t, 2000, 700, MIXED, 512);
    }
}
