/* SPDX-License-Identifier: Apache-2.0 */
/* test: RANKS 1 ALL_CORES TIMEOUT 300 */
/* Engine cusparse against an FP64 product of the same stored values. */
#include "gpu_case.h"
#include "gpu_test.h"

extern const spmm_engine_ops_t spmmi_engine_cusparse;

static spmm_device_t device;

typedef struct {
    spmm_type_t ab, c;
} types_t;

static const types_t type_pairs[] = {{SPMM_R_64F, SPMM_R_64F},   {SPMM_R_32F, SPMM_R_32F},
                                     {SPMM_R_16F, SPMM_R_16F},   {SPMM_R_16F, SPMM_R_32F},
                                     {SPMM_R_16BF, SPMM_R_16BF}, {SPMM_R_16BF, SPMM_R_32F},
                                     {SPMM_C_64F, SPMM_C_64F},   {SPMM_C_32F, SPMM_C_32F}};
enum { N_PAIRS = sizeof type_pairs / sizeof type_pairs[0] };

/* Row-major, of one type. */
static spmm_problem_t problem_of(spmm_type_t type, int64_t n)
{
    return (spmm_problem_t){.ab_type = type,
                            .c_type  = type,
                            .compute = SPMM_COMPUTE_32F,
                            .layout  = SPMM_LAYOUT_ROW,
                            .n       = n};
}

static void check_shape(int32_t n_rows, int32_t n_cols, pattern_kind_t kind, int64_t planned)
{
    for (int t = 0; t < N_PAIRS; t++) {
        for (int v = 0; v < 8; v++) {
            spmm_csr_t block;

            make_block(n_rows, n_cols, kind, type_pairs[t].ab, v % 2 != 0, &block);
            check_engine_block(&spmmi_engine_cusparse, &device, &block, type_pairs[t].c,
                               v / 2 % 2 == 0 ? SPMM_LAYOUT_ROW : SPMM_LAYOUT_COL, planned,
                               v / 4 != 0);
            spmmi_csr_free(&block);
        }
    }
}

static void test_open(void **state)
{
    gpu_test_open(&device);
}

static void test_mixed(void **state)
{
    static const int64_t widths[] = {1, 2, 7, 32, 33, 128};

    for (size_t w = 0; w < sizeof widths / sizeof widths[0]; w++) {
        check_shape(203, 150, MIXED, widths[w]);
    }
    check_shape(61, 999, MIXED, 512);
}

/* Rows of 16-bit sums that begin and end between two elements of a word: what lies beside them
 * keeps its bits, with every algorithm. */
static void test_beside(void **state)
{
    static const spmm_type_t types[] = {SPMM_R_16F, SPMM_R_16BF};
    static const int64_t     n[]     = {1, 31, 32};
    spmm_csr_t               block;
    void                    *format;

    for (int t = 0; t < 2; t++) {
        make_block(203, 150, MIXED, types[t], false, &block);
        for (int k = 0; k < 4 * 3; k++) {
            spmm_problem_t problem = problem_of(types[t], n[k % 3]);

            problem.variant = k / 3;
            spmm_assert_ok(spmmi_engine_cusparse.build(&spmmi_engine_cusparse, &block, &problem,
                                                       &device, &format));
            for (int extra = 0; extra < 4; extra++) {
                product_t p = {.block = &block, .problem = problem, .alpha = 1.5};

                make_product(&p, problem.n, extra);
                run_product(&spmmi_engine_cusparse, &device, format, &p);
                check_product(&p);
                free_product(&p);
            }
            spmmi_engine_cusparse.destroy(format);
        }
        spmmi_csr_free(&block);
    }
}

static void test_dense_row(void **state)
{
    check_shape(40, 6000, DENSE_ROW, 16);
    check_shape(40, 6000, DENSE_ROW, 128);
}

static void test_empty(void **state)
{
    check_shape(50, 40, NO_ENTRIES, 32);
    check_shape(50, 0, NO_ENTRIES, 3);
    check_shape(0, 40, MIXED, 8);
    check_shape(0, 0, MIXED, 1);
    check_shape(1, 1, MIXED, 5);
}

static void test_refill(void **state)
{
    const spmm_problem_t problem = problem_of(SPMM_R_32F, 16);

    check_refill(&spmmi_engine_cusparse, &device, &problem);
}

/* deterministic: equal bits from run to run and from build to build. */
static void test_deterministic(void **state)
{
    spmm_csr_t block;
    product_t  p = {.block = &block, .problem = problem_of(SPMM_R_32F, 64), .alpha = 1.0};

    p.problem.deterministic = true;
    make_block(3000, 9000, DENSE_ROW, SPMM_R_32F, false, &block);
    make_product(&p, 64, 0);
    check_same_bits(&spmmi_engine_cusparse, &device, &p, 5);
    free_product(&p);
    spmmi_csr_free(&block);
}

/* A shape other than the last one's is preprocessed first, for which cuSPARSE does wait. */
static void test_asynchronous(void **state)
{
    const spmm_problem_t problem = problem_of(SPMM_R_32F, 32);

    check_asynchronous(&spmmi_engine_cusparse, &device, &problem, false, true);
    check_asynchronous(&spmmi_engine_cusparse, &device, &problem, true, true);
}

static void test_allocation_failures(void **state)
{
    const spmm_problem_t problem = problem_of(SPMM_R_16F, 8);

    check_build_failures(&spmmi_engine_cusparse, &device, &problem, NULL, 5);
}

static void test_refusals(void **state)
{
    spmm_problem_t types = problem_of(SPMM_R_32F, 8), compute = types, tf32 = types, wide;
    char           why[SPMM_WHY] = "";

    types.c_type    = SPMM_R_16F;
    compute.compute = SPMM_COMPUTE_64F;
    tf32.compute    = SPMM_COMPUTE_32F_FAST_TF32;
    wide            = tf32;
    assert_false(spmmi_engine_supports(&spmmi_engine_cusparse, &types, &device, why));
    assert_true(strlen(why) > 10);
    assert_false(spmmi_engine_supports(&spmmi_engine_cusparse, &compute, &device, why));
    assert_true(spmmi_engine_supports(&spmmi_engine_cusparse, &tf32, &device, why));
    wide.n = 65535 * 16; /* what a grid of cuSPARSE holds */
    assert_true(spmmi_engine_supports(&spmmi_engine_cusparse, &wide, &device, why));
    wide.n++;
    assert_false(spmmi_engine_supports(&spmmi_engine_cusparse, &wide, &device, why));
    assert_non_null(strstr(why, "columns at most"));
}

SPMM_TESTS(test_open, test_mixed, test_beside, test_dense_row, test_empty, test_refill,
           test_deterministic, test_asynchronous, test_allocation_failures, test_refusals);
