/* SPDX-License-Identifier: Apache-2.0 */
/** @file test_engine_cvse.c
 *  Engine cvse on a GPU against FP64 sums over the stored entries, A and B in FP16 and BF16, C in
 *  that type and in FP32.  With SPMM_TEST_SMALL in the environment only small cases, for
 *  compute-sanitizer.
 */
#include "engine/cvse_shape.h"
#include "format_case.h"
#include "gpu_case.h"
#include "gpu_test.h"
#include "spmm_dist/context.h"
#include "tc_case.h"

static spmm_device_t device;

enum { N_CASES = 4 };

static bool is_small(void)
{
    return getenv("SPMM_TEST_SMALL") != NULL;
}

static tc_case_t case_of(int c)
{
    const tc_case_t t = {.engine  = spmm_engine_find("cvse"),
                         .device  = &device,
                         .compute = SPMM_COMPUTE_32F,
                         .half    = c / 2 == 0 ? SPMM_R_16F : SPMM_R_16BF,
                         .wide_c  = c % 2 != 0,
                         .small   = is_small()};

    assert_non_null(t.engine);
    return t;
}

static void each(void (*check)(const tc_case_t *t))
{
    for (int c = 0; c < N_CASES; c++) {
        const tc_case_t t = case_of(c);

        check(&t);
    }
}

static void test_open(void **state)
{
    (void)state;
    gpu_test_open(&device);
    each(tc_case_supports);
}

static void test_shapes(void **state)
{
    (void)state;
    each(tc_case_shapes);
}

/* Every width at which another kernel is chosen, with leading dimensions for accesses of 16, 8 and 2
 * bytes. */
static void check_widths(const tc_case_t *t, const spmm_csr_t *block)
{
    static const int64_t widths[] = {1,  4,  8,  12,  31,  32,  36,  40,  64,
                                     72, 96, 99, 100, 128, 136, 256, 300, 512};
    const int            n_widths = t->small ? 9 : 18;

    for (int w = 0; w < 3 * n_widths; w++) {
        const int64_t extra[] = {0, 4, 8};
        product_t     p       = {.block   = block,
                                 .problem = tc_case_problem(t, widths[w / 3]),
                                 .alpha   = w % 2 == 0 ? 1.0 : -1.5,
                                 .beta    = w % 4 == 1 ? 0.5 : 0.0};

        make_product(&p, widths[w / 3], extra[w % 3]);
        tc_case_check(t, &p);
        free_product(&p);
    }
}

/* Windows of 8 rows where rows share few columns, of 16 where they share most; few windows and many;
 * windows cut into pieces. */
static void test_widths(void **state)
{
    static const struct {
        int32_t n_rows, n_cols;
        double  density;
    } shapes[] = {
        {203, 150, 0.05}, {75, 90, 0.9}, {40, 3000, 0.8}, {30, 3000, 0.1}, {6000, 40, 0.6}};
    const int n_shapes = is_small() ? 2 : 5;

    (void)state;
    for (int s = 0; s < n_shapes * N_CASES; s++) {
        const tc_case_t t = case_of(s % N_CASES);
        spmm_csr_t      block;

        format_case_random(shapes[s / N_CASES].n_rows, shapes[s / N_CASES].n_cols,
                           shapes[s / N_CASES].density, t.half, s % 3 == 0, (uint64_t)s, &block);
        check_widths(&t, &block);
        spmm_csr_free(&block);
    }
}

/* Every way to share the work out: windows for one warp, for teams and empty ones; new values. */
static void check_shape(const tc_case_t *t, const spmm_csr_t *block, int shape, int k)
{
    static const int64_t widths[] = {32, 36, 64, 72, 128, 136, 160, 33};
    const int64_t        n        = widths[k % 8];
    product_t            p        = {.block   = block,
                                     .problem = tc_case_problem(t, n),
                                     .alpha   = k % 2 == 0 ? 1.0 : -1.5,
                                     .beta    = k % 4 == 1 ? 0.5 : 0.0};

    p.problem.shape = SPMM_CVSE_SHAPES + shape;
    make_product(&p, n, k % 3 == 0 ? 8 : 0);
    tc_case_check(t, &p);
    free_product(&p);
}

static void test_every_shape(void **state)
{
    static const struct {
        int32_t n_rows, n_cols;
        double  density;
    } blocks[]         = {{203, 150, 0.05}, {75, 900, 0.4}, {30, 3000, 0.3}};
    const int n_blocks = is_small() ? 1 : 3;

    (void)state;
    for (int s = 0; s < n_blocks * N_CASES; s++) {
        const tc_case_t   t = case_of(s % N_CASES);
        spmm_cvse_shape_t shape;
        spmm_csr_t        block;

        format_case_random(blocks[s / N_CASES].n_rows, blocks[s / N_CASES].n_cols,
                           blocks[s / N_CASES].density, t.half, s % 3 == 1, (uint64_t)s + 40,
                           &block);
        for (int k = 0; spmm_cvse_shape_at(k, &shape); k++) {
            for (int w = 0; w < 2 && (shape.chain <= 1 || shape.chain == 3); w++) {
                check_shape(&t, &block, k, k / 2 + 3 * w + s);
            }
        }
        spmm_csr_free(&block);
    }
}

/* Generators; values of files of shared matrices fit BF16 and not always FP16. */
static void check_matrix(const char *spec, const spmm_csr_t *block)
{
    for (int c = block->type == SPMM_R_16F ? 0 : 2; c < (block->type == SPMM_R_16F ? 2 : 4); c++) {
        const tc_case_t t = case_of(c);
        product_t       p = {.block = block, .problem = tc_case_problem(&t, 128), .alpha = 1.0};

        make_product(&p, block->n_rows > 100000 ? 32 : 128, 0);
        tc_case_check(&t, &p);
        free_product(&p);
    }
    (void)spec;
}

static void test_matrices(void **state)
{
    (void)state;
    if (is_small()) {
        return;
    }
    for (int m = 0; format_matrices[m] != NULL; m++) {
        if (strchr(format_matrices[m], ':') != NULL) {
            spmm_csr_t block;

            format_case_matrix(format_matrices[m], SPMM_R_16F, &block);
            check_matrix(format_matrices[m], &block);
            spmm_csr_free(&block);
        }
    }
    format_case_each(SPMM_R_16BF, check_matrix);
}

static void test_accuracy(void **state)
{
    (void)state;
    each(tc_case_positive);
    each(tc_case_magnitudes);
}

static void test_special_values(void **state)
{
    (void)state;
    each(tc_case_not_finite);
}

static void test_same_bits(void **state)
{
    (void)state;
    each(tc_case_same_bits);
}

static void test_life(void **state)
{
    (void)state;
    each(tc_case_life);
}

/* The first execute after build() must not wait either. */
static void test_asynchronous(void **state)
{
    (void)state;
    for (int c = 0; c < N_CASES; c += 2) {
        const tc_case_t      t       = case_of(c);
        const spmm_problem_t problem = tc_case_problem(&t, 32);

        /* compute-sanitizer may let launches wait. */
        for (int k = 0; k < 4 && !t.small; k++) {
            check_asynchronous(t.engine, &device, &problem, k % 2 != 0, k / 2 != 0);
        }
    }
}

static void test_far(void **state)
{
    (void)state;
    for (int c = 0; c < N_CASES; c += 2) {
        const tc_case_t      t       = case_of(c);
        const spmm_problem_t problem = tc_case_problem(&t, 33);

        if (!t.small) {
            check_far(t.engine, &device, &problem);
        }
    }
}

const struct CMUnitTest spmm_tests[] = {
    cmocka_unit_test(test_open),      cmocka_unit_test(test_asynchronous),
    cmocka_unit_test(test_widths),    cmocka_unit_test(test_every_shape),
    cmocka_unit_test(test_shapes),    cmocka_unit_test(test_matrices),
    cmocka_unit_test(test_accuracy),  cmocka_unit_test(test_special_values),
    cmocka_unit_test(test_same_bits), cmocka_unit_test(test_life),
    cmocka_unit_test(test_far),       {0},
};
