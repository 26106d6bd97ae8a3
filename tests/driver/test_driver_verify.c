/* SPDX-License-Identifier: Apache-2.0 */
/* test: RANKS 1 2 4 NEEDS SPMM_BUILD_TOOLS LINK spmm_tools spmm_internal */
/* A program that only ever sees right results must still fail on wrong ones. */

#include "test_context.h"

#include "driver_verify.h"
#include "tool_common.h"

/* Row 1 is empty, row 2 holds an explicit zero, row 3 a dense line. */
enum { ROWS = 4, COLS = 5, NNZ = 9, N = 300 };
static const int64_t row_ptr[ROWS + 1] = {0, 3, 3, 4, 9};
static const int64_t col_idx[NNZ]      = {0, 2, 4, 1, 0, 1, 2, 3, 4};
static const double  values[NNZ]       = {1.5, -2.0, 0.375, 0.0, 1.0, 3.0, -0.125, 8.0, 0.5};

typedef struct {
    driver_rows_t    rows;
    driver_block_t   block;
    driver_product_t product;
    double           C[(ROWS + 2) * (N + 2)]; /**< of any type */
} case_t;

/** Element (i, j) of the product, straight from the definition. */
static double expect(const case_t *c, int64_t i, int64_t j)
{
    const driver_product_t *p   = &c->product;
    double                  sum = 0.0;

    for (int64_t e = row_ptr[i]; e < row_ptr[i + 1]; e++) {
        sum += values[e] * driver_dense_value(&p->B, driver_dense_row(&p->B, col_idx[e]), j);
    }
    sum *= p->alpha;
    if (p->beta != 0.0) {
        sum += p->beta * driver_dense_value(&p->C0, driver_dense_row(&p->C0, i + 10), j);
    }
    return sum;
}

static void set_up(case_t *c, spmm_type_t type, spmm_layout_t layout, double alpha, double beta)
{
    *c         = (case_t){0};
    c->rows    = (driver_rows_t){.first   = 10,
                                 .n_rows  = ROWS,
                                 .row_ptr = row_ptr,
                                 .col     = col_idx,
                                 .values  = values,
                                 .type    = SPMM_R_64F};
    c->block   = (driver_block_t){.rows    = ROWS,
                                  .columns = N,
                                  .ld      = layout == SPMM_LAYOUT_COL ? ROWS + 2 : N + 2,
                                  .layout  = layout,
                                  .type    = type};
    c->product = (driver_product_t){.rows  = &c->rows,
                                    .B     = driver_dense(3, type),
                                    .C0    = driver_dense(4, type),
                                    .alpha = alpha,
                                    .beta  = beta,
                                    .block = &c->block,
                                    .C     = c->C};
    for (int64_t i = 0; i < ROWS; i++) {
        for (int64_t j = 0; j < N; j++) {
            spmmi_value_set(type, c->C, driver_block_index(&c->block, i, j), expect(c, i, j));
        }
    }
}

static void right_results_pass(void **state)
{
    static const spmm_type_t types[] = {SPMM_R_64F, SPMM_R_32F, SPMM_R_16F, SPMM_R_16BF};

    for (int t = 0; t < 4; t++) {
        for (int k = 0; k < 4; k++) {
            case_t           c;
            driver_verdict_t verdict;

            set_up(&c, types[t], k % 2 == 0 ? SPMM_LAYOUT_ROW : SPMM_LAYOUT_COL, -0.75,
                   k < 2 ? 0.0 : 2.0);
            verdict = driver_compare(&c.product);
            assert_int_equal(verdict.compared, ROWS * N);
            assert_int_equal(verdict.out_of_range, 0);
            assert_true(verdict.max_error <= tool_tolerance(types[t], SPMM_COMPUTE_AUTO));
        }
    }
}

static void one_wrong_element_is_found(void **state)
{
    static const int64_t places[][2] = {{0, 0}, {3, N - 1}, {3, 127}, {0, 128}};

    for (int k = 0; k < 4; k++) {
        const int64_t    i = places[k][0], j = places[k][1];
        case_t           c;
        double          *wrong;
        driver_verdict_t verdict;

        set_up(&c, SPMM_R_64F, SPMM_LAYOUT_COL, 1.0, 0.5);
        wrong = c.C + driver_block_index(&c.block, i, j);
        *wrong += 1e-10;
        verdict = driver_compare(&c.product);
        assert_true(verdict.max_error > tool_tolerance(SPMM_R_64F, SPMM_COMPUTE_64F));
        assert_true(verdict.max_error < 1e-8);
        assert_int_equal(verdict.row, 10 + i);
        assert_int_equal(verdict.col, j);
        assert_true(verdict.got == *wrong);
        assert_true(fabs(verdict.want - expect(&c, i, j)) < 1e-14);
    }
}

static void poison_and_nonzero_empty_rows_are_found(void **state)
{
    static const double bad[] = {NAN, INFINITY, 1e-30};

    for (int k = 0; k < 3; k++) {
        for (int64_t i = 1; i < 3; i++) { /* the empty row and the row of a zero */
            case_t           c;
            driver_verdict_t verdict;

            set_up(&c, SPMM_R_32F, SPMM_LAYOUT_ROW, 1.0, 0.0);
            spmmi_value_set(SPMM_R_32F, c.C, driver_block_index(&c.block, i, 7), bad[k]);
            verdict = driver_compare(&c.product);
            assert_true(isinf(verdict.max_error));
            assert_int_equal(verdict.row, 10 + i);
            assert_int_equal(verdict.col, 7);
        }
    }
}

static void a_neighbouring_row_of_b_is_found(void **state)
{
    case_t           c;
    driver_verdict_t verdict;

    set_up(&c, SPMM_R_16BF, SPMM_LAYOUT_ROW, 1.0, 0.0);
    c.product.B = driver_dense(5, SPMM_R_16BF); /* another B than C was made from */
    verdict     = driver_compare(&c.product);
    assert_true(verdict.max_error > tool_tolerance(SPMM_R_16BF, SPMM_COMPUTE_32F));
}

static void what_may_overflow_is_not_compared(void **state)
{
    case_t           c;
    driver_verdict_t verdict;

    set_up(&c, SPMM_R_16F, SPMM_LAYOUT_ROW, 1.0, 0.0);
    c.product.alpha = 1e6; /* rows 0 and 3 leave the range, the others are 0 */
    verdict         = driver_compare(&c.product);
    assert_int_equal(verdict.out_of_range, 2 * N);
    assert_int_equal(verdict.compared, 2 * N);
    assert_true(verdict.max_error == 0.0);
}

static void random_values_are_exact_in_their_type(void **state)
{
    static const spmm_type_t types[] = {SPMM_R_64F, SPMM_R_32F, SPMM_R_16F, SPMM_R_16BF};

    for (int t = 0; t < 4; t++) {
        driver_dense_t dense    = driver_dense(11, types[t]);
        int            negative = 0, small = 0;

        for (int k = 0; k < 4000; k++) {
            const uint64_t key = driver_dense_row(&dense, k / 50);
            const double   x   = driver_dense_value(&dense, key, k % 50);
            double         stored;

            spmmi_value_set(types[t], &stored, 0, x);
            assert_true(spmmi_value_get(types[t], &stored, 0) == x);
            assert_true(fabs(x) >= 0.25 && fabs(x) < 1.0);
            negative += x < 0.0;
            small += fabs(x) < 0.5;
        }
        /* Half of 4000, within five standard deviations (32). */
        assert_in_range(negative, 1840, 2160);
        assert_in_range(small, 1840, 2160);
    }
}

static void the_worst_rank_is_reported(void **state)
{
    const int        size = spmm_test_env.size;
    driver_job_t     job  = {.comm = spmm_test_env.comm, .rank = spmm_test_env.rank, .size = size};
    driver_verdict_t mine = {.max_error    = job.rank == size - 1 ? 0.5 : 0.25,
                             .compared     = 3,
                             .out_of_range = 2,
                             .row          = 100 + job.rank,
                             .col          = 7};
    driver_verdict_t all;

    all = driver_verdict_reduce(&job, &mine);
    assert_true(all.max_error == 0.5);
    assert_int_equal(all.row, 100 + size - 1);
    assert_int_equal(all.compared, 3 * size);
    assert_int_equal(all.out_of_range, 2 * size);
    if (job.rank == size - 1) { /* a rank that compared nothing does not win */
        mine.row       = -1;
        mine.max_error = 0.0;
    }
    all = driver_verdict_reduce(&job, &mine);
    assert_true(all.max_error == (size > 1 ? 0.25 : 0.0));
}

/** Entry (i, j) of a 40 x 23 matrix; 0 where there is none. */
static double entry(const void *what, int64_t i, int64_t j)
{
    return spmmi_mix64((uint64_t)(i * 23 + j)) % 4 == 0 ? (double)(i * 100 + j + 1) : 0.0;
}

static void the_transpose_has_every_entry_once(void **state)
{
    enum { M = 40, K = 23 };
    const int       size = spmm_test_env.size, rank = spmm_test_env.rank;
    driver_job_t    job   = {.comm = spmm_test_env.comm, .rank = rank, .size = size};
    const int64_t   from  = rank == 0 ? 0 : M * rank / size; /* uneven on purpose */
    const int64_t   to    = M * (rank + 1) / size;
    const int64_t   n_col = rank == size - 1 ? K : 0; /* ranks without columns */
    int64_t         found = 0;
    spmm_context_t *ctx   = NULL;
    spmm_matrix_t  *A;
    driver_rows_t   rows;

    spmm_assert_ok(spmm_context_create(job.comm, NULL, &ctx));
    A = test_context_rule(ctx, SPMM_R_64F, from, to - from, n_col, K, entry, NULL);
    assert_int_equal(driver_rows_create(&job, ctx, A, SPMM_OP_T, &rows), DRIVER_GOOD);
    assert_int_equal(rows.n_rows, n_col);
    for (int64_t r = 0; r < rows.n_rows; r++) {
        for (int64_t e = rows.row_ptr[r]; e < rows.row_ptr[r + 1]; e++) {
            assert_true(spmmi_value_get(rows.type, rows.values, e) ==
                        entry(NULL, rows.col[e], rows.first + r));
            found++;
        }
        for (int64_t i = 0; i < M; i++) { /* each row of A at most once */
            int times = 0;

            for (int64_t e = rows.row_ptr[r]; e < rows.row_ptr[r + 1]; e++) {
                times += rows.col[e] == i;
            }
            assert_int_equal(times, entry(NULL, i, rows.first + r) != 0.0);
        }
    }
    if (n_col > 0) {
        assert_true(found > M * K / 8);
    }
    driver_rows_free(&rows);
    test_context_destroy(NULL, &A, &ctx);
}

/* Near the least number of the type one step is forgiven, two are not. */
static void tiny_results_may_be_a_step_off(void **state)
{
    const tool_range_t half = tool_range(SPMM_R_16F, 3), single = tool_range(SPMM_R_32F, 3);

    assert_true(tool_relative_error(0x1p-24, 0x1.8p-25, 0x1p-24, half.eta) == 0.0);
    assert_true(tool_relative_error(0x1p-23, 0x1p-25, 0x1p-24, half.eta) > 0.9);
    assert_true(tool_relative_error(0.0, 0x1p-127, 0x1p-127, single.eta) == 0.0);
    assert_true(tool_relative_error(0.0, 0x1p-120, 0x1p-120, single.eta) > 0.9);
    assert_true(isinf(tool_relative_error(0x1p-149, 0.0, 0.0, single.eta)));
    assert_true(isinf(tool_relative_error(NAN, 1.0, 1.0, single.eta)));
    assert_true(half.largest == 65504.0);
}

SPMM_TESTS(right_results_pass, one_wrong_element_is_found, poison_and_nonzero_empty_rows_are_found,
           a_neighbouring_row_of_b_is_found, what_may_overflow_is_not_compared,
           tiny_results_may_be_a_step_off, random_values_are_exact_in_their_type,
           the_worst_rank_is_reported, the_transpose_has_every_entry_once);
