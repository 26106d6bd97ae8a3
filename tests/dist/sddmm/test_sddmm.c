/* SPDX-License-Identifier: Apache-2.0 */
/* test: RANKS 1 2 3 4 */
/* test: RANKS 4 AS nodes ENV SPMM_TEST_RANKS_PER_NODE=3 */
/* test: RANKS 1 2 4 DEVICE cuda */
/* test: RANKS 4 DEVICE cuda AS cuda_nodes ENV SPMM_TEST_RANKS_PER_NODE=3 */
/** @file test_sddmm.c  Dot products at masks of all kinds, in all types and formats, and
 *  mistakes. */
#include "sddmm_case.h"

#include "api/context.h"

static const spmm_type_t types[][2] = {{SPMM_R_64F, SPMM_R_64F},   {SPMM_R_32F, SPMM_R_32F},
                                       {SPMM_R_16F, SPMM_R_16F},   {SPMM_R_16F, SPMM_R_32F},
                                       {SPMM_R_16BF, SPMM_R_16BF}, {SPMM_R_16BF, SPMM_R_32F}};
enum { TYPES = sizeof types / sizeof types[0] };

static const char *const kernels[] = {"csr", "rectangles", "cvse", "dense"};
static const int64_t     widths[]  = {64, 1, 100, 8, 32, 128, 256};

static bool is_small(void)
{
    return getenv("SPMM_TEST_SMALL") != NULL;
}

static int n_widths(void)
{
    return is_small() ? 3 : (int)(sizeof widths / sizeof widths[0]);
}

/* The first so many of kernels take a type. */
static int kernels_of(spmm_type_t type)
{
    return type == SPMM_R_64F ? 2 : type == SPMM_R_32F ? 3 : 4;
}

/* All widths, with and without a gap between rows. */
static void check_widths(const mask_t *shape, int t, const char *kernel)
{
    masked_t m = make_masked(shape, types[t][0]);

    for (int w = 0; w < n_widths(); w++) {
        for (int64_t pad = 0; pad < 16; pad += 8 + w % 2 * 8) {
            check_sampled(&m, &(sampled_t){.type      = types[t][0],
                                           .s_type    = types[t][1],
                                           .k         = widths[w],
                                           .planned_k = widths[w] + pad,
                                           .pad       = pad == 0 ? 0 : pad - w % 3,
                                           .alpha     = 1.5,
                                           .beta      = w % 2 == 0 ? 0.0 : -0.5,
                                           .kernel    = kernel});
        }
    }
    free_masked(&m);
}

/* What the kernels are for, in all of their types. */
static const struct {
    const char *kernel;
    mask_t      shape;
    bool        large; /* not in a small test */
} ways[] = {
    {"csr", {61, 70, 1, 200, 17, 0}, false},
    /* Rectangles of rows and columns: several for a thread block, more tasks than it has threads,
     * rows of many boxes, and lines past the end of rows. */
    {"rectangles", {61, 70, 1, 200, 17, 0}, false},
    {"rectangles", {150, 300, 1, 60, 3, -1}, false},
    {"rectangles", {9, 90, 8, 500, 3, 1}, true},
    {"rectangles", {600, 130, 1, 600, 5, -1}, true},
    /* On tensor cores: vectors of all heights, by rows and as blocks, and no vectors at all. */
    {"cvse", {9, 90, 8, 500, 3, 1}, false},
    {"cvse", {5, 90, 16, 500, -1, 1}, false},
    {"cvse", {13, 60, 4, 300, 2, 1}, false},
    {"cvse", {21, 60, 2, 300, -1, 2}, false},
    {"cvse", {9, 90, 8, 400, -1, 0}, false},
    {"cvse", {61, 70, 1, 200, 17, 0}, false},
    /* Squares in full, with edges, empty ones, rows in order and not, lines of blocks. */
    {"dense", {300, 270, 1, 60, 17, 0}, false},
    {"dense", {300, 270, 1, 60, 17, -1}, false},
    {"dense", {33, 384, 8, 100, 3, 1}, false}};

static void test_kernels(void **state)
{
    for (size_t w = 0; w < sizeof ways / sizeof ways[0]; w++) {
        for (int t = 0; t < TYPES && !(ways[w].large && is_small()); t++) {
            for (int kernel = 0; kernel < kernels_of(types[t][0]); kernel++) {
                if (strcmp(kernels[kernel], ways[w].kernel) == 0) {
                    check_widths(&ways[w].shape, t, ways[w].kernel);
                }
            }
        }
    }
}

/* Every kernel in every type that it takes. */
static void check_kernels(const mask_t *shape, sampled_t s, int first)
{
    for (int t = 0; t < TYPES; t++) {
        masked_t m = make_masked(shape, types[t][0]);

        s.type   = types[t][0];
        s.s_type = types[t][1];
        for (int kernel = first; kernel < kernels_of(s.type); kernel++) {
            s.kernel = kernels[kernel];
            check_sampled(&m, &s);
        }
        s.beta   = 1.0;
        s.kernel = first % 2 == 0 ? "auto" : NULL;
        check_sampled(&m, &s);
        s.beta = 0.0;
        free_masked(&m);
    }
}

static void test_shapes(void **state)
{
    const mask_t shapes[] = {
        {0, 12, 1, 500, -1, 0}, {12, 0, 1, 500, -1, 0}, {40, 40, 1, 0, -1, 0},
        {1, 90, 1, 500, 0, 0},  {90, 1, 1, 500, -1, 0}, {3, 400, 8, 0, 1, 1},
        {64, 7, 2, 900, -1, 1}, {2, 2, 1, 1000, -1, 0}, {1, 100, 16, 700, -1, 1}};

    for (int s = 0; s < 9; s++) {
        check_kernels(&shapes[s], (sampled_t){.k = 40, .planned_k = 48, .alpha = -1.0}, s % 2);
    }
}

/* Inf and NaN of a row of X or Y are seen in the entries that it is in and nowhere else. */
static void test_special(void **state)
{
    const mask_t shapes[] = {
        {61, 70, 1, 200, 17, 0}, {9, 90, 8, 500, 3, 1}, {150, 140, 1, 200, 17, -1}};

    for (int s = 0; s < 3; s++) { /* 72: for sweeps */
        check_kernels(&shapes[s], (sampled_t){.k = s < 2 ? 70 : 72, .alpha = 2.0, .special = 1}, 0);
    }
}

/* More work than the threads of a GPU take at once, more squares than it has multiprocessors. */
static void test_large(void **state)
{
    const mask_t shape = {512, 1536, 8, 800, -1, 1}, squares = {2100, 2200, 1, 9, 17, -1};
    sampled_t    s = {SPMM_R_16F, SPMM_R_32F, .k = 8, .alpha = 1.0};

    if (!is_small() && getenv("SPMM_TEST_DEVICE") != NULL) {
        masked_t m = make_masked(&shape, SPMM_R_16F), of_squares = make_masked(&squares, s.type);

        for (int kernel = 0; kernel < kernels_of(SPMM_R_16F); kernel++) {
            s.kernel = kernels[kernel];
            check_sampled(&m, &s);
        }
        for (s.s_type = s.type, s.k = 64; s.k <= 256; s.k += 64) {
            for (int kernel = 1; kernel < 4; kernel += 2) { /* rectangles and dense */
                s.kernel = kernels[kernel];
                check_sampled(&of_squares, &s);
            }
        }
        free_masked(&m);
        free_masked(&of_squares);
        m = make_masked(&shape, SPMM_R_32F); /* several rectangles for a thread block */
        check_sampled(&m, &(sampled_t){SPMM_R_32F, SPMM_R_32F, .k = 72, .alpha = 1.0,
                                       .kernel = "rectangles"});
        free_masked(&m);
    }
}

static void test_info(void **state)
{
    const mask_t         shape = {16, 64, 8, 500, -1, 1};
    spmm_sddmm_options_t o     = SPMM_SDDMM_OPTIONS_INIT;
    spmm_sddmm_info_t    info  = {.struct_size = sizeof info};
    spmm_sddmm_plan_t   *plan;
    masked_t             m;

    m        = make_masked(&shape, SPMM_R_16BF);
    o.kernel = "cvse";
    spmm_assert_ok(spmm_sddmm_plan_create(m.A, 64, &o, &plan));
    spmm_assert_ok(spmm_sddmm_plan_get_info(plan, &info));
    assert_string_equal(info.kernel, "cvse");
    assert_true(info.vector == 8 || info.vector == 16); /* by the bytes of this rank's part */
    assert_true(info.vector * info.vectors + info.halo_vector * info.halo_vectors >= m.nnz);
    assert_true(info.vectors + info.halo_vectors <= m.nnz / 8);
    assert_true(m.nnz == 0 || info.device_bytes > 0);
    assert_true(spmm_test_env.size > 1 || info.halo_rows == 0);
    spmm_assert_ok(spmm_sddmm_plan_destroy(&plan));
    free_masked(&m);
}

static void test_mistakes(void **state)
{
    const mask_t         shape = {20, 20, 1, 500, -1, 0};
    spmm_sddmm_options_t o     = SPMM_SDDMM_OPTIONS_INIT;
    spmm_sddmm_plan_t   *plan  = NULL;
    masked_t             m;
    void                *X;

    m = make_masked(&shape, SPMM_R_64F);
    X = device_operand(1, 0, 20, 8, 8, SPMM_R_64F, 0);
    assert_int_equal(spmm_sddmm_plan_create(NULL, 8, NULL, &plan), SPMM_ERR_ARGUMENT);
    assert_int_equal(spmm_sddmm_plan_create(m.A, 8, NULL, NULL), SPMM_ERR_ARGUMENT);
    assert_int_equal(spmm_sddmm_plan_create(m.A, 0, NULL, &plan), SPMM_ERR_ARGUMENT);
    o.kernel = "cvse";
    assert_int_equal(spmm_sddmm_plan_create(m.A, 8, &o, &plan), SPMM_ERR_UNSUPPORTED);
    o.kernel = "fast";
    assert_int_equal(spmm_sddmm_plan_create(m.A, 8, &o, &plan), SPMM_ERR_ARGUMENT);
    o.kernel = NULL;
    o.s_type = SPMM_R_16F;
    assert_int_equal(spmm_sddmm_plan_create(m.A, 8, &o, &plan), SPMM_ERR_ARGUMENT);
    assert_null(plan);
    if (spmm_test_env.size > 1) {
        o.s_type = SPMM_TYPE_AUTO;
        o.kernel = spmm_test_env.rank == 0 ? "csr" : NULL;
        assert_int_equal(spmm_sddmm_plan_create(m.A, 8, &o, &plan), SPMM_ERR_ARGUMENT);
    }
    spmm_assert_ok(spmm_sddmm_plan_create(m.A, 8, NULL, &plan));
    assert_int_equal(spmm_sddmm(NULL, 8, 1.0, X, 8, X, 8, 0.0, X, NULL), SPMM_ERR_ARGUMENT);
    assert_int_equal(spmm_sddmm(plan, 9, 1.0, X, 9, X, 9, 0.0, X, NULL), SPMM_ERR_ARGUMENT);
    assert_int_equal(spmm_sddmm(plan, 8, 1.0, X, 7, X, 8, 0.0, X, NULL), SPMM_ERR_ARGUMENT);
    assert_int_equal(spmm_sddmm(plan, 8, 1.0, X, 8, X, 7, 0.0, X, NULL), SPMM_ERR_ARGUMENT);
    if (m.nnz > 0 || ctx->env.check) { /* one rank's refusal is then that of all */
        assert_int_equal(spmm_sddmm(plan, 8, 1.0, NULL, 8, X, 8, 0.0, X, NULL), SPMM_ERR_ARGUMENT);
        assert_int_equal(spmm_sddmm(plan, 8, 1.0, X, 8, X, 8, 0.0, NULL, NULL), SPMM_ERR_ARGUMENT);
    }
    if (m.nnz > 0) {
        assert_int_equal(spmm_sddmm_softmax(plan, 1.0, NULL, X, NULL), SPMM_ERR_ARGUMENT);
    }
    spmm_assert_ok(spmm_sddmm_plan_destroy(&plan));
    spmm_assert_ok(spmm_sddmm_plan_destroy(&plan));
    spmm_assert_ok(spmm_sddmm_plan_destroy(NULL));
    spmm_assert_ok(spmm_buffer_free(ctx, &X));
    free_masked(&m);
}

PLAN_TESTS(test_kernels, test_shapes, test_special, test_large, test_info, test_mistakes);
