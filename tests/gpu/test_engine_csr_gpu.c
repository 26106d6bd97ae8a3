/* SPDX-License-Identifier: Apache-2.0 */
/* test: RANKS 1 ALL_CORES TIMEOUT 300 LINK OpenMP::OpenMP_C */
/** @file test_engine_csr_gpu.c
 *  Engine csr-gpu on a GPU against FP64 sums over the stored entries.  With SPMM_TEST_SMALL in the
 *  environment only small cases, for compute-sanitizer; with SPMM_TEST_HUGE also more than 2^31
 *  entries (22 GiB on the host and on the device).
 */
#include "gpu_engine.h"

const gpu_engine_t gpu_engines[] = {
    {.engine = "csr-gpu", .compute = SPMM_COMPUTE_32F},
    {.engine = "csr-gpu", .compute = SPMM_COMPUTE_32F_FAST_TF32},
    {.engine = "csr-gpu", .compute = SPMM_COMPUTE_64F},
    {0},
};

/* 16-bit A and B, C of their type and of FP32; complex ones. */
static void test_types(void **state)
{
    static const spmm_type_t types[][2] = {{SPMM_C_64F, SPMM_C_64F},   {SPMM_C_32F, SPMM_C_32F},
                                           {SPMM_R_16F, SPMM_R_16F},   {SPMM_R_16F, SPMM_R_32F},
                                           {SPMM_R_16BF, SPMM_R_16BF}, {SPMM_R_16BF, SPMM_R_32F}};
    static const int64_t     widths[]   = {1, 7, 8, 32, 33, 64, 128, 264, 512};
    const int                n_widths   = gpu_case_small() ? 5 : 9;

    gpu_engine_ready();
    for (int k = 0; k < 6 * 2 * n_widths; k++) {
        const spmm_type_t *type  = types[k % 6];
        const bool         mixed = k % 12 < 6;
        spmm_csr_t         block;

        make_block(mixed ? 203 : 45, mixed ? 150 : 5000, mixed ? MIXED : DENSE_ROWS, type[0],
                   k / 12 % 2 == 0, &block);
        check_engine_block(spmmi_engine_find("csr-gpu"), &gpu_device, &block, type[1],
                           SPMM_LAYOUT_ROW, widths[k / 12], k % 2 != 0);
        spmmi_csr_free(&block);
    }
}

/* The same types where n ends within an access. */
static void test_edges_of_types(void **state)
{
    static const spmm_type_t types[] = {SPMM_R_16F, SPMM_R_16BF, SPMM_C_32F};

    gpu_engine_ready();
    for (int k = 0; k < 5; k++) {
        const tc_case_t t = {.engine  = spmmi_engine_find("csr-gpu"),
                             .device  = &gpu_device,
                             .compute = SPMM_COMPUTE_32F,
                             .type    = types[k % 3],
                             .wide_c  = k >= 3,
                             .small   = gpu_case_small()};

        tc_case_edges(&t);
    }
}

/* Row-major B into column-major C: rows in tiles, those without entries among them, and rows that
 * are long, split, or mapped to others, which are stored one by one; as many columns as slices have
 * and others. */
static void test_columns(void **state)
{
    static const spmm_type_t types[][2] = {{SPMM_R_64F, SPMM_R_64F}, {SPMM_R_32F, SPMM_R_32F},
                                           {SPMM_C_64F, SPMM_C_64F}, {SPMM_C_32F, SPMM_C_32F},
                                           {SPMM_R_16F, SPMM_R_32F}, {SPMM_R_16BF, SPMM_R_16BF}};
    static const int64_t     widths[]   = {31, 128, 1, 3, 8, 32, 48, 130};
    static const double      betas[]    = {0.0, 1.0, -0.5};
    const spmm_engine_ops_t *engine     = spmmi_engine_find("csr-gpu");
    const int                n_widths   = gpu_case_small() ? 2 : 8;

    gpu_engine_ready();
    for (int k = 0; k < 6 * 3 * 2 * n_widths; k++) {
        const spmm_type_t   *type = types[k % 6];
        const int            kind = k / 6 % 3;
        spmm_csr_t           block;
        void                *format;
        const spmm_problem_t problem = {.ab_type = type[0],
                                        .c_type  = type[1],
                                        .compute = spmmi_is_64f(type[0]) ? SPMM_COMPUTE_64F
                                                                         : SPMM_COMPUTE_32F,
                                        .layout  = SPMM_LAYOUT_MIXED,
                                        .n       = widths[k / 36]};
        product_t p = {.block = &block, .problem = problem, .alpha = 1.5, .beta = betas[k % 3]};

        make_block(703, kind == 0 ? 5000 : 350, kind == 0 ? DENSE_ROWS : MIXED, type[0], kind == 2,
                   &block);
        spmm_assert_ok(engine->build(engine, &block, &problem, &gpu_device, &format));
        make_product(&p, k / 18 % 2 == 0 || problem.n == 1 ? problem.n : problem.n - 1, k % 4);
        run_product(engine, &gpu_device, format, &p);
        check_product(&p);
        free_product(&p);
        engine->destroy(format);
        spmmi_csr_free(&block);
    }
}

/* More than 2^31 entries: row i has columns first(i) .. first(i) + LENGTH - 1, and an entry 1 or 2,
 * as its column says.  All sums are whole numbers below 2^24, so exact. */
enum { LENGTH = 1024, HUGE_ROWS = (1 << 21) + 1, HUGE_COLS = 4096, HUGE_N = 8 };

static int32_t first_of(int32_t i)
{
    return (int32_t)(spmmi_hash2(1, i, 0) % (HUGE_COLS - LENGTH + 1));
}

static int entry_of(int32_t col)
{
    return 1 + (int)(spmmi_hash2(2, col, 0) % 2);
}

static int b_of(int32_t i, int32_t j)
{
    return (int)(spmmi_hash2(3, i, j) % 5) - 1;
}

static void make_huge(spmm_csr_t *block)
{
    uint16_t *values;

    spmm_assert_ok(spmmi_csr_alloc(&spmm_test_env, HUGE_ROWS, HUGE_COLS,
                                   (int64_t)HUGE_ROWS * LENGTH, SPMM_R_16F, block));
    values = block->values;
#pragma omp parallel for schedule(static)
    for (int32_t i = 0; i < HUGE_ROWS; i++) {
        const int64_t from = (int64_t)i * LENGTH;

        block->row_ptr[i + 1] = from + LENGTH;
        for (int32_t k = 0; k < LENGTH; k++) {
            block->col_idx[from + k] = first_of(i) + k;
            values[from + k]         = entry_of(first_of(i) + k) == 1 ? 0x3c00 : 0x4000; /* FP16 */
        }
    }
}

/* By sums over the columns in front of each. */
static void check_huge(const float *C, int64_t n)
{
    int32_t wrong = 0;

    for (int32_t j = 0; j < n; j++) {
        int64_t before[HUGE_COLS + 1] = {0};

        for (int32_t c = 0; c < HUGE_COLS; c++) {
            before[c + 1] = before[c] + entry_of(c) * b_of(c, j);
        }
        for (int32_t i = 0; i < HUGE_ROWS; i++) {
            wrong += C[(int64_t)i * HUGE_N + j] !=
                     (float)(before[first_of(i) + LENGTH] - before[first_of(i)]);
        }
    }
    assert_int_equal(wrong, 0);
}

/* One format, for all columns and for one. */
static void run_huge(const spmm_csr_t *block, const uint16_t *b, float *c, bool in_order)
{
    const spmm_engine_ops_t *engine  = spmmi_engine_find("csr-gpu");
    const spmm_pattern_t     pattern = {.used_cols = HUGE_COLS};
    const spmm_problem_t     problem = {.ab_type  = SPMM_R_16F,
                                        .c_type   = SPMM_R_32F,
                                        .compute  = SPMM_COMPUTE_32F,
                                        .layout   = SPMM_LAYOUT_ROW,
                                        .n        = HUGE_N,
                                        .pattern  = &pattern,
                                        .in_order = in_order};
    const size_t             bytes   = (size_t)HUGE_ROWS * HUGE_N * sizeof *c;
    void                    *format = NULL, *B = NULL, *C = NULL;

    spmm_assert_ok(spmmi_device_upload(&gpu_device, b, (size_t)HUGE_COLS * HUGE_N * 2, &B));
    spmm_assert_ok(gpu_device.ops->alloc(&gpu_device, bytes, &C));
    spmm_assert_ok(engine->build(engine, block, &problem, &gpu_device, &format));
    for (int64_t n = 1; n <= HUGE_N; n += HUGE_N - 1) {
        const spmm_operands_t x = {.ab_type = SPMM_R_16F,
                                   .c_type  = SPMM_R_32F,
                                   .layout  = SPMM_LAYOUT_ROW,
                                   .n       = n,
                                   .alpha   = {.re = 1.0},
                                   .B       = B,
                                   .ldb     = HUGE_N,
                                   .C       = C,
                                   .ldc     = HUGE_N};

        memset(c, 0xff, bytes); /* NaN */
        spmm_assert_ok(spmmi_device_write(&gpu_device, C, c, bytes));
        spmm_assert_ok(engine->execute(format, &x));
        spmm_assert_ok(gpu_device.ops->stream_sync(&gpu_device, NULL));
        spmm_assert_ok(gpu_device.ops->fetch(&gpu_device, c, C, bytes));
        check_huge(c, n);
    }
    engine->destroy(format);
    gpu_device.ops->release(&gpu_device, B);
    gpu_device.ops->release(&gpu_device, C);
}

static void test_huge(void **state)
{
    static uint16_t b[HUGE_COLS * HUGE_N];
    float          *c;
    spmm_csr_t      block;

    if (getenv("SPMM_TEST_HUGE") == NULL) {
        return;
    }
    gpu_engine_ready();
    c = spmm_test_malloc((size_t)HUGE_ROWS * HUGE_N * sizeof *c);
    make_huge(&block);
    assert_true(spmmi_csr_nnz(&block) > (int64_t)INT32_MAX + 1);
    for (int k = 0; k < HUGE_COLS * HUGE_N; k++) {
        spmmi_value_set(SPMM_R_16F, b, k, b_of(k / HUGE_N, k % HUGE_N));
    }
    run_huge(&block, b, c, false);
    run_huge(&block, b, c, true);
    spmmi_csr_free(&block);
    free(c);
}

SPMM_TESTS(test_engine_open, test_engine_asynchronous, test_engine_shapes, test_engine_edges,
           test_types, test_edges_of_types, test_columns, test_engine_accuracy,
           test_engine_special_values, test_engine_same_bits, test_engine_life, test_engine_far,
           test_huge);
