/* SPDX-License-Identifier: Apache-2.0 */
/* test: RANKS 1 ALL_CORES TIMEOUT 300 */
/** @file test_engine_bell.c
 *  Engine cusparse-bell on a GPU against FP64 sums over the stored entries, A and B in FP16 and
 *  BF16, C in that type and in FP32: blocks that divide the matrix and that do not, operands that
 *  cuSPARSE gets as they lie and that are copied.
 */
#include "format_case.h"
#include "gpu_case.h"
#include "gpu_test.h"
#include "spmm_dist/context.h"

extern const spmm_engine_ops_t spmmi_engine_cusparse_bell;
#define ENGINE (&spmmi_engine_cusparse_bell)

static spmm_device_t device;

typedef struct {
    spmm_type_t ab, c;
} types_t;

static const types_t types[] = {{SPMM_R_16F, SPMM_R_16F},
                                {SPMM_R_16F, SPMM_R_32F},
                                {SPMM_R_16BF, SPMM_R_16BF},
                                {SPMM_R_16BF, SPMM_R_32F}};
enum { N_TYPES = sizeof types / sizeof types[0] };

static spmm_problem_t problem_of(int t, int64_t n)
{
    return (spmm_problem_t){.ab_type = types[t].ab,
                            .c_type  = types[t].c,
                            .compute = SPMM_COMPUTE_32F,
                            .layout  = SPMM_LAYOUT_ROW,
                            .n       = n};
}

static void test_open(void **state)
{
    gpu_test_open(&device);
}

/* One format and every kind of operand: whole and odd widths, leading dimensions of 16 bytes and
 * not, shifted addresses, all scalars. */
static void check_format(const spmm_csr_t *block, int t, int64_t planned)
{
    static const double  alphas[] = {1.5, -1.0, 1.0, 0.0, 0.25}, betas[] = {0.0, 1.0, -0.5};
    const spmm_problem_t problem = problem_of(t, planned);
    const int64_t n[] = {planned, planned, 1, planned, planned > 8 ? planned - 3 : 1, planned};
    void         *format;

    spmm_assert_ok(ENGINE->build(block, &problem, &device, &format));
    for (int e = 0; e < 6; e++) {
        product_t p = {.block   = block,
                       .problem = problem,
                       .alpha   = alphas[(e + t) % 5],
                       .beta    = betas[(e + e / 3) % 3],
                       .shift   = e == 3,
                       .more_c  = e == 4 ? 3 : 0};

        make_product(&p, n[e], e % 3 == 2 ? 5 : 8 * (e % 3));
        run_product(ENGINE, &device, format, &p);
        check_product(&p);
        free_product(&p);
    }
    ENGINE->destroy(format);
}

static void check_widths(const spmm_csr_t *block, int t)
{
    static const int64_t widths[] = {1, 8, 32, 33, 64, 100, 128, 512};
    const int            n_widths = gpu_case_small() ? 4 : 8;

    for (int w = 0; w < n_widths; w++) {
        check_format(block, t, widths[w]);
    }
}

/* Dense and thin blocks, ragged edges, rows of C in another order. */
static void test_shapes(void **state)
{
    static const struct {
        int32_t n_rows, n_cols;
        double  density;
    } shapes[]         = {{64, 96, 0.5},  {100, 120, 0.3}, {33, 33, 1.0},   {1, 90, 0.9},
                          {257, 40, 0.9}, {64, 64, 0.1},   {512, 256, 0.4}, {9, 1000, 0.6}};
    const int n_shapes = gpu_case_small() ? 4 : 8;

    for (int s = 0; s < n_shapes; s++) {
        for (int t = 0; t < N_TYPES; t++) {
            spmm_csr_t block;

            format_case_random(shapes[s].n_rows, shapes[s].n_cols, shapes[s].density, types[t].ab,
                               (s + t) % 2 != 0, (uint64_t)s, &block);
            check_widths(&block, t);
            spmmi_csr_free(&block);
        }
    }
}

static void test_empty(void **state)
{
    for (int t = 0; t < N_TYPES; t++) {
        for (int mapped = 0; mapped < 2; mapped++) {
            spmm_csr_t block;

            format_case_random(50, 40, 0.0, types[t].ab, mapped != 0, 1, &block);
            check_format(&block, t, 32);
            spmmi_csr_free(&block);
            format_case_random(0, 40, 0.0, types[t].ab, mapped != 0, 1, &block);
            check_format(&block, t, 8);
            spmmi_csr_free(&block);
        }
    }
}

/* Tiles of xdys, also few in a row of blocks, which -1 fills up; and the matrices that do not pad
 * too much. */
static void test_matrices(void **state)
{
    int taken = 0;

    for (int m = 0; format_matrices[m] != NULL && !gpu_case_small(); m++) {
        for (int t = 0; t < N_TYPES; t += 2) {
            const spmm_problem_t problem = problem_of(t, 64);
            product_t            p       = {.problem = problem, .alpha = 1.0};
            spmm_csr_t           block;
            void                *format;

            if (strchr(format_matrices[m], ':') == NULL) {
                continue;
            }
            format_case_matrix(format_matrices[m], types[t].ab, &block);
            if (ENGINE->build(&block, &problem, &device, &format) != SPMM_OK) {
                spmm_assert_error(spmm_test_env.err.status, SPMM_ERR_UNSUPPORTED, NULL);
                spmmi_csr_free(&block);
                continue;
            }
            taken++;
            p.block = &block;
            make_product(&p, 64, 0);
            run_product(ENGINE, &device, format, &p);
            check_product(&p);
            free_product(&p);
            ENGINE->destroy(format);
            spmmi_csr_free(&block);
        }
    }
    assert_true(gpu_case_small() || taken >= 6);
}

/* New values for the pattern of the old ones. */
static void test_refill(void **state)
{
    const spmm_problem_t problem = problem_of(0, 24);
    spmm_csr_t           block, other;
    product_t            p = {.block = &other, .problem = problem, .alpha = -1.0};
    void                *format;

    format_case_random(90, 70, 0.4, SPMM_R_16F, true, 3, &block);
    format_case_random(90, 70, 0.4, SPMM_R_16F, true, 3, &other);
    for (int64_t k = 0; k < spmmi_csr_nnz(&other); k++) {
        ((uint16_t *)other.values)[k] = (uint16_t)(0x3800 + k % 1024); /* 0.5 to 1 */
    }
    spmm_assert_ok(ENGINE->build(&block, &problem, &device, &format));
    spmm_assert_ok(ENGINE->refill(format, other.values));
    make_product(&p, 24, 0);
    run_product(ENGINE, &device, format, &p);
    check_product(&p);
    free_product(&p);
    ENGINE->destroy(format);
    spmmi_csr_free(&block);
    spmmi_csr_free(&other);
}

/* Equal bits from run to run, which cuSPARSE documents for this algorithm. */
static void test_same_bits(void **state)
{
    spmm_csr_t block;
    product_t  p = {.block = &block, .problem = problem_of(1, 64), .alpha = 1.0};

    format_case_random(300, 500, 0.5, SPMM_R_16F, false, 9, &block);
    make_product(&p, 64, 0);
    check_same_bits(ENGINE, &device, &p, 20);
    free_product(&p);
    spmmi_csr_free(&block);
}

static void test_refusal(void **state)
{
    const spmm_problem_t problem = problem_of(0, 64);
    spmm_csr_t           block;
    void                *format = NULL;

    format_case_random(900, 900, 0.002, SPMM_R_16F, false, 2, &block);
    spmm_assert_error(ENGINE->build(&block, &problem, &device, &format), SPMM_ERR_UNSUPPORTED,
                      "values for each entry");
    spmmi_csr_free(&block);
}

SPMM_TESTS(test_open, test_shapes, test_empty, test_matrices, test_refill, test_same_bits,
           test_refusal);
