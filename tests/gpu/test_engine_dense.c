/* SPDX-License-Identifier: Apache-2.0 */
/* test: RANKS 1 ALL_CORES TIMEOUT 300 */
/** @file test_engine_dense.c
 *  Engine dense on a GPU against FP64 sums over the stored entries: all types and layouts, blocks
 *  that are full, thin and empty, rows of C in another order, Inf and NaN where no entry uses them.
 *  With SPMM_TEST_SMALL in the environment only small cases, for compute-sanitizer.
 */
#include "gpu_engine.h"

#include "base/alloc.h"
#include "format_case.h"
#include "gpu_gate.h"
#include "spmm_dist/context.h"

extern const spmm_engine_ops_t spmmi_engine_dense;
#define ENGINE (&spmmi_engine_dense)

const gpu_engine_t gpu_engines[] = {
    {.engine = "dense", .compute = SPMM_COMPUTE_32F},
    {.engine = "dense", .compute = SPMM_COMPUTE_32F_FAST_TF32},
    {.engine = "dense", .compute = SPMM_COMPUTE_64F},
    {.engine = "dense", .compute = SPMM_COMPUTE_32F, .type = SPMM_R_16F},
    {.engine = "dense", .compute = SPMM_COMPUTE_32F, .type = SPMM_R_16F, .wide_c = true},
    {.engine = "dense", .compute = SPMM_COMPUTE_32F, .type = SPMM_R_16BF},
    {.engine = "dense", .compute = SPMM_COMPUTE_32F, .type = SPMM_R_16BF, .wide_c = true},
    {0},
};

static void test_open(void **state)
{
    gpu_test_open(&gpu_device);
    if (ENGINE->facts.lacks != NULL) {
        spmm_test_skip("this build has no cuBLASLt");
    }
    spmm_assert_ok(spmmi_engines_preload(&gpu_device));
}

/* One format and every kind of operand: fewer columns, steps of 16 bytes and not, shifted
 * addresses, all scalars, spoilt padding. */
static void check_format(const tc_case_t *t, const spmm_csr_t *block, spmm_layout_t layout,
                         int64_t planned, int variant)
{
    static const double alphas[] = {1.5, -1.0, 1.0, 0.0, 0.25}, betas[] = {0.0, 1.0, 0.0, -0.5};
    spmm_problem_t      problem = tc_case_problem(t, planned);
    const int64_t n[] = {planned, planned, 1, planned, planned > 8 ? planned - 3 : 1, planned};
    void         *format;

    problem.layout        = layout;
    problem.deterministic = variant % 2 != 0;
    spmm_assert_ok(ENGINE->build(ENGINE, block, &problem, t->device, &format));
    for (int e = 0; e < 6; e++) {
        product_t p = {.block   = block,
                       .problem = problem,
                       .alpha   = alphas[(e + variant) % 5],
                       .beta    = betas[(e + variant) % 4],
                       .shift   = e == 3,
                       .more_c  = e == 4 ? 3 : 0};

        make_product(&p, n[e], e % 3 == 2 ? 5 : 8 * (e % 3));
        run_product(ENGINE, t->device, format, &p);
        check_product(&p);
        free_product(&p);
    }
    ENGINE->destroy(format);
}

static void check_shapes(const tc_case_t *t)
{
    static const struct {
        int32_t n_rows, n_cols;
        double  density;
    } shapes[]                    = {{64, 96, 0.5},  {100, 121, 0.3},  {33, 33, 1.0}, {1, 90, 0.9},
                                     {257, 40, 0.9}, {9, 1000, 0.6},   {50, 40, 0.0}, {0, 40, 0.0},
                                     {50, 0, 0.0},   {700, 512, 0.05}, {1, 1, 1.0}};
    static const int64_t widths[] = {1, 7, 32, 33, 100, 128, 512};
    const int            n_widths = t->small ? 4 : 7, n_shapes = t->small ? 9 : 11;

    for (int s = 0; s < n_shapes; s++) {
        for (int k = 0; k < 2 * n_widths; k++) {
            const spmm_layout_t layout = (k + s) % 3 == 0 ? SPMM_LAYOUT_COL : SPMM_LAYOUT_ROW;
            spmm_csr_t          block;

            format_case_random(shapes[s].n_rows, shapes[s].n_cols, shapes[s].density,
                               tc_case_problem(t, 1).ab_type, k % 2 != 0, (uint64_t)s, &block);
            check_format(t, &block, layout, widths[k / 2], k + s);
            spmmi_csr_free(&block);
        }
    }
}

static void test_shapes(void **state)
{
    gpu_engine_each(check_shapes);
}

/* The cases of other engines that are full enough. */
static void check_values(const tc_case_t *t)
{
    tc_case_t some = *t;

    tc_case_magnitudes(t);
    if (t->type == SPMM_TYPE_AUTO) {
        tc_case_huge(t);
    }
    some.small = true;
    tc_case_positive(&some);
    tc_case_not_finite(&some);
}

static void test_values(void **state)
{
    gpu_engine_each(check_values);
}

/* Tall C: columns of B are marked in front of the product. */
static void check_marks(const tc_case_t *t)
{
    const int32_t  n_rows  = t->small ? 5000 : 40000;
    spmm_problem_t problem = tc_case_problem(t, 600);
    spmm_csr_t     block;
    product_t      p = {.block = &block, .problem = problem, .alpha = -1.0};
    void          *format;

    format_case_random(n_rows, 50, 0.2, problem.ab_type, false, 5, &block);
    spmm_assert_ok(ENGINE->build(ENGINE, &block, &problem, t->device, &format));
    for (int round = 0; round < 4; round++) {
        p.beta = round == 3 ? 0.5 : 0.0;
        make_product(&p, round == 2 ? 70 : 600, round);
        for (int64_t k = 0; k < p.n && round % 2 == 1; k += 37) {
            spmmi_value_set(problem.ab_type, p.B, (k % 50) * p.ldb + k,
                            k % 2 == 0 ? (double)INFINITY : (double)NAN);
        }
        run_product(ENGINE, t->device, format, &p);
        check_product(&p);
        free_product(&p);
    }
    ENGINE->destroy(format);
    spmmi_csr_free(&block);
}

static void test_marks(void **state)
{
    gpu_engine_each_long(check_marks);
}

/* Column-major C, and a B that is row-major all the same. */
static void check_not_finite_by_column(const tc_case_t *t)
{
    spmm_csr_t block;
    product_t  p = {.block = &block, .problem = tc_case_problem(t, 40), .alpha = 1.0};

    p.problem.layout = SPMM_LAYOUT_COL;
    format_case_random(150, 90, 0.1, p.problem.ab_type, false, 6, &block);
    make_product(&p, 40, 3);
    for (int64_t j = 0; j < p.n; j += 7) {
        spmmi_value_set(p.problem.ab_type, p.B, j * p.ldb + 2 * j,
                        j % 2 == 0 ? (double)INFINITY : NAN);
    }
    tc_case_check(t, &p);
    free_product(&p);
    spmmi_csr_free(&block);
}

static void test_not_finite_by_column(void **state)
{
    gpu_engine_each(check_not_finite_by_column);
}

/* Asked for, also in other formats of the block. */
static void check_bits(const tc_case_t *t)
{
    spmm_csr_t block;
    product_t  p = {.block = &block, .problem = tc_case_problem(t, 64), .alpha = 1.0};

    p.problem.deterministic = true;
    format_case_random(300, 4000, 0.1, p.problem.ab_type, false, 9, &block);
    make_product(&p, 64, 0);
    check_same_bits(ENGINE, t->device, &p, t->small ? 5 : 50);
    free_product(&p);
    spmmi_csr_free(&block);
}

static void test_same_bits(void **state)
{
    gpu_engine_each_long(check_bits);
}

/* Where a refill on the device puts the values: the same places as build() does. */
static void check_places(const tc_case_t *t)
{
    const spmm_problem_t problem = tc_case_problem(t, 8);
    const size_t         size    = spmm_type_size(problem.ab_type);
    spmm_csr_t           block;
    void                *format, *values, *host;
    int64_t              count, seen = 0;
    int32_t             *from;

    format_case_random(37, 53, 0.2, problem.ab_type, true, 4, &block);
    spmm_assert_ok(ENGINE->build(ENGINE, &block, &problem, t->device, &format));
    spmm_assert_ok(ENGINE->places(format, &values, &count, &from));
    assert_true(count >= 37 * 53);
    host = spmm_test_malloc((size_t)count * size);
    spmm_assert_ok(t->device->ops->fetch(t->device, host, values, (size_t)count * size));
    for (int64_t k = 0; k < count; k++) {
        if (from[k] >= 0) {
            assert_memory_equal((char *)host + (size_t)k * size,
                                (char *)block.values + (size_t)from[k] * size, size);
            seen++;
        } else {
            assert_true(spmmi_value_get(problem.ab_type, host, k) == 0.0);
        }
    }
    assert_int_equal(seen, spmmi_csr_nnz(&block));
    spmm_test_free(host, NULL);
    spmmi_free(from);
    ENGINE->destroy(format);
    spmmi_csr_free(&block);
}

static void test_places(void **state)
{
    gpu_engine_each(check_places);
}

/* Neither the first product of the planned width waits, nor one of another that ran before; with
 * beta, and without. */
static void check_not_waiting(const tc_case_t *t)
{
    const spmm_problem_t problem = tc_case_problem(t, 32);
    const size_t         size    = spmm_type_size(problem.c_type);
    const cudaStream_t   stream  = gpu_new_stream();
    spmm_csr_t           block;
    product_t            p = {.block = &block, .problem = problem, .alpha = 1.0};
    spmm_operands_t      x;
    void                *format, *B, *C;

    format_case_random(500, 900, 0.05, problem.ab_type, false, 7, &block);
    make_product(&p, 32, 0);
    (void)device_test_put(t->device, p.B, (size_t)p.b_size * spmm_type_size(problem.ab_type), 0,
                          &B);
    (void)device_test_put(t->device, p.C, (size_t)p.c_size * size, 0, &C);
    spmm_assert_ok(ENGINE->build(ENGINE, &block, &problem, t->device, &format));
    x = operands_of(&p, B, C, (spmm_stream_t)stream);
    gpu_gate_close(stream);
    spmm_assert_ok(ENGINE->execute(format, &x));
    x.beta.re = 0.5;
    spmm_assert_ok(ENGINE->execute(format, &x));
    x.beta.re = 0.0;
    spmm_assert_ok(ENGINE->execute(format, &x));
    assert_int_equal(cudaStreamQuery(stream), cudaErrorNotReady);
    gpu_gate_open();
    assert_int_equal(cudaStreamSynchronize(stream), cudaSuccess);
    spmm_assert_ok(t->device->ops->fetch(t->device, p.got, C, (size_t)p.c_size * size));
    check_product(&p);
    t->device->ops->release(t->device, B);
    t->device->ops->release(t->device, C);
    assert_int_equal(cudaStreamDestroy(stream), cudaSuccess);
    ENGINE->destroy(format);
    free_product(&p);
    spmmi_csr_free(&block);
}

static void test_asynchronous(void **state)
{
    if (!gpu_case_small()) { /* compute-sanitizer may let launches wait */
        gpu_engine_each(check_not_waiting);
    }
}

/* As tc_case_life() with a block that is full enough. */
static void check_life(const tc_case_t *t)
{
    const spmm_problem_t problem = tc_case_problem(t, 24);
    spmm_csr_t           block;

    check_refill(ENGINE, t->device, &problem);
    format_case_random(90, 700, 0.1, problem.ab_type, true, 8, &block);
    check_build_failures(ENGINE, t->device, &problem, &block, 8);
    spmmi_csr_free(&block);
}

static void test_life(void **state)
{
    gpu_engine_each_long(check_life);
}

static void test_refusals(void **state)
{
    const tc_case_t t             = gpu_engine_case(0);
    spmm_problem_t  problem       = tc_case_problem(&t, 64);
    char            why[SPMM_WHY] = "";
    spmm_csr_t      block;
    void           *format = NULL;

    assert_true(spmmi_engine_supports(ENGINE, &problem, t.device, why));
    problem.compute = SPMM_COMPUTE_64F;
    assert_false(spmmi_engine_supports(ENGINE, &problem, t.device, why));
    assert_non_null(strstr(why, "FP64"));
    problem = tc_case_problem(&t, 64);
    format_case_random(900, 900, 0.002, SPMM_R_32F, false, 2, &block);
    spmm_assert_error(ENGINE->build(ENGINE, &block, &problem, t.device, &format),
                      SPMM_ERR_UNSUPPORTED, "times the memory of CSR");
    spmmi_csr_free(&block);
}

SPMM_TESTS(test_open, test_asynchronous, test_shapes, test_values, test_marks,
           test_not_finite_by_column, test_same_bits, test_life, test_places, test_refusals);
