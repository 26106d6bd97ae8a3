/* SPDX-License-Identifier: Apache-2.0 */
/** @file test_formats_mm.c
 *  Engines bittcf and hrpb on the CPU against FP64 sums of the CSR block they were built from.
 */
#include "format_case.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/scalar.h"
#include "engine/format_bittcf.h"
#include "engine/format_hrpb.h"
#include "engine/tc_format.h"
#include "spmm_dist/context.h"

static const char *const engines[] = {"bittcf", "hrpb"};
static spmm_device_t     device;

static void open_device(void)
{
    if (device.ops == NULL) {
        spmm_assert_ok(spmm_device_open(&spmm_test_env, SPMM_DEVICE_CPU, NULL, &device));
    }
}

/** One product and its dense blocks. */
typedef struct {
    const spmm_csr_t *block;
    spmm_type_t       type;
    spmm_layout_t     layout;
    int64_t           n, ldb, ldc, b_size, c_size;
    double            alpha, beta;
    void             *B, *C, *got;
} product_t;

static product_t make_product(const spmm_csr_t *block, spmm_layout_t layout, int64_t n,
                              int64_t extra, double alpha, double beta)
{
    const bool   cols = layout == SPMM_LAYOUT_COL;
    const size_t size = spmm_type_size(block->type);
    product_t    p    = {.block  = block,
                         .type   = block->type,
                         .layout = layout,
                         .n      = n,
                         .ldb    = (cols ? block->n_cols : n) + extra,
                         .ldc    = (cols ? block->c_rows : n) + extra,
                         .alpha  = alpha,
                         .beta   = beta};

    p.b_size = (cols ? n : block->n_cols) * p.ldb;
    p.c_size = (cols ? n : block->c_rows) * p.ldc;
    p.B      = spmm_alloc(p.b_size, size);
    p.C      = spmm_alloc(p.c_size, size);
    p.got    = spmm_alloc(p.c_size, size);
    assert_true(p.B != NULL && p.C != NULL && p.got != NULL);
    for (int64_t k = 0; k < p.b_size; k++) {
        spmm_value_set(p.type, p.B, k, spmm_random_value(3, k, n));
    }
    for (int64_t k = 0; k < p.c_size; k++) {
        spmm_value_set(p.type, p.C, k, beta == 0.0 ? (double)NAN : spmm_random_value(4, k, n));
    }
    memcpy(p.got, p.C, (size_t)p.c_size * size);
    return p;
}

static void free_product(product_t *p)
{
    spmm_free(p->B);
    spmm_free(p->C);
    spmm_free(p->got);
}

static int64_t place(const product_t *p, int64_t ld, int64_t i, int64_t j)
{
    return p->layout == SPMM_LAYOUT_COL ? i + j * ld : i * ld + j;
}

/* Largest |got - reference| / (|alpha| |A| |B| + |beta C|) over the rows that A maps to; asserts
 * that all else in C is as it was. */
static double worst_error(const product_t *p)
{
    const size_t size  = spmm_type_size(p->type);
    double       worst = 0.0;
    char        *other = spmm_alloc_zero(p->c_size, 1);

    assert_non_null(other);
    for (int32_t i = 0; i < p->block->n_rows; i++) {
        const int64_t row = p->block->row_map == NULL ? i : p->block->row_map[i];

        for (int64_t j = 0; j < p->n; j++) {
            const int64_t at  = place(p, p->ldc, row, j);
            double        sum = 0.0, size_of_sum = 0.0, c = 0.0, error;

            for (int64_t k = p->block->row_ptr[i]; k < p->block->row_ptr[i + 1]; k++) {
                const double product =
                    spmm_value_get(p->type, p->block->values, k) *
                    spmm_value_get(p->type, p->B, place(p, p->ldb, p->block->col_idx[k], j));

                sum += product;
                size_of_sum += fabs(product);
            }
            c           = p->beta == 0.0 ? 0.0 : p->beta * spmm_value_get(p->type, p->C, at);
            size_of_sum = fabs(p->alpha) * size_of_sum + fabs(c);
            error       = fabs(spmm_value_get(p->type, p->got, at) - (p->alpha * sum + c));
            assert_false(isnan(error));
            if (size_of_sum == 0.0) {
                assert_true(error == 0.0);
            } else if (error / size_of_sum > worst) {
                worst = error / size_of_sum;
            }
            other[at] = 1;
        }
    }
    for (int64_t k = 0; k < p->c_size; k++) {
        if (other[k] == 0) {
            assert_memory_equal((char *)p->got + (size_t)k * size, (char *)p->C + (size_t)k * size,
                                size);
        }
    }
    spmm_free(other);
    return worst;
}

static spmm_problem_t problem_of(spmm_compute_t compute, spmm_layout_t layout)
{
    return (spmm_problem_t){.ab_type       = SPMM_R_32F,
                            .c_type        = SPMM_R_32F,
                            .compute       = compute,
                            .layout        = layout,
                            .n             = 128,
                            .deterministic = true};
}

static void *build(const spmm_engine_ops_t *engine, const spmm_csr_t *block, spmm_compute_t compute,
                   spmm_layout_t layout)
{
    const spmm_problem_t problem = problem_of(compute, layout);
    void                *format  = NULL;
    size_t               host = 0, on_device = 1;

    spmm_assert_ok(engine->build(block, &problem, &device, &format));
    engine->bytes(format, &host, &on_device);
    assert_true(host >= (size_t)spmm_csr_nnz(block) * 4 && on_device == 0);
    return format;
}

static void run(const spmm_engine_ops_t *engine, void *format, product_t *p)
{
    const int64_t calls = spmm_alloc_get_stats().calls;

    spmm_assert_ok(
        engine->execute(format, p->n, p->alpha, p->B, p->ldb, p->beta, p->got, p->ldc, NULL));
    assert_int_equal(spmm_alloc_get_stats().calls, calls);
}

static double worst_of_case(const spmm_engine_ops_t *engine, const spmm_csr_t *block,
                            spmm_compute_t compute)
{
    static const int64_t columns[] = {1, 7, 32, 100, 128};
    double               worst     = 0.0;

    for (int layout = SPMM_LAYOUT_ROW; layout <= SPMM_LAYOUT_COL; layout++) {
        void *format = build(engine, block, compute, (spmm_layout_t)layout);

        for (int k = 0; k < 5; k++) {
            for (int scalars = 0; scalars < 3; scalars++) {
                product_t p =
                    make_product(block, (spmm_layout_t)layout, columns[k], scalars == 1 ? 0 : 5,
                                 scalars == 2 ? -1.0 : 1.5, scalars == 0 ? 0.0 : 0.75);

                run(engine, format, &p);
                worst = fmax(worst, worst_error(&p));
                free_product(&p);
            }
        }
        engine->destroy(format);
    }
    return worst;
}

static void test_products(void **state)
{
    (void)state;
    open_device();
    for (int e = 0; e < 2; e++) {
        const spmm_engine_ops_t *engine  = spmm_engine_find(engines[e]);
        double                   in_tf32 = 0.0;

        assert_non_null(engine);
        for (int s = 0; format_shapes[s].density >= 0.0; s++) {
            const format_shape_t *shape = &format_shapes[s];
            spmm_csr_t            block;

            for (int mapped = 0; mapped < 2; mapped++) {
                format_case_random(shape->n_rows, shape->n_cols, shape->density, SPMM_R_32F,
                                   mapped != 0, (uint64_t)(2 * s), &block);
                assert_true(worst_of_case(engine, &block, SPMM_COMPUTE_32F) <= 5e-6);
                in_tf32 = fmax(in_tf32, worst_of_case(engine, &block, SPMM_COMPUTE_32F_FAST_TF32));
                spmm_csr_free(&block);
            }
        }
        /* Rounding to 11 bits must show, and stay within its bound. */
        assert_true(in_tf32 <= 2e-3);
        assert_true(in_tf32 >= 1e-4);
    }
}

static void test_matrices(void **state)
{
    (void)state;
    open_device();
    for (int m = 0; format_matrices[m] != NULL; m++) {
        spmm_csr_t block;

        format_case_matrix(format_matrices[m], SPMM_R_32F, &block);
        for (int e = 0; e < 2; e++) {
            const spmm_engine_ops_t *engine = spmm_engine_find(engines[e]);
            void     *format = build(engine, &block, SPMM_COMPUTE_32F, SPMM_LAYOUT_ROW);
            product_t p      = make_product(&block, SPMM_LAYOUT_ROW, 9, 0, 1.0, 0.0);

            run(engine, format, &p);
            assert_true(worst_error(&p) <= 5e-6);
            free_product(&p);
            engine->destroy(format);
        }
        spmm_csr_free(&block);
    }
}

/* New values: where there was a zero there may be none now. */
static void test_refill(void **state)
{
    spmm_csr_t block;

    (void)state;
    open_device();
    format_case_random(77, 60, 0.3, SPMM_R_32F, true, 5, &block);
    for (int e = 0; e < 2; e++) {
        const spmm_engine_ops_t *engine = spmm_engine_find(engines[e]);
        void                    *format = build(engine, &block, SPMM_COMPUTE_32F, SPMM_LAYOUT_ROW);

        for (int round = 0; round < 2; round++) {
            product_t p = make_product(&block, SPMM_LAYOUT_ROW, 20, 1, 2.0, 1.0);

            for (int64_t k = 0; k < spmm_csr_nnz(&block); k++) {
                ((float *)block.values)[k] = (float)spmm_random_value(50, k, round);
            }
            spmm_assert_ok(engine->refill(format, block.values));
            run(engine, format, &p);
            assert_true(worst_error(&p) <= 5e-6);
            free_product(&p);
        }
        engine->destroy(format);
    }
    spmm_csr_free(&block);
}

/* A row of B that is not finite reaches the rows of C that refer to it and no others. */
static void test_not_finite(void **state)
{
    const float bad[] = {NAN, INFINITY};
    spmm_csr_t  block;

    (void)state;
    open_device();
    format_case_random(50, 40, 0.2, SPMM_R_32F, false, 9, &block);
    for (int c = 0; c < 8; c++) {
        const spmm_engine_ops_t *engine = spmm_engine_find(engines[c % 2]);
        const spmm_compute_t compute = c / 4 == 0 ? SPMM_COMPUTE_32F : SPMM_COMPUTE_32F_FAST_TF32;
        void                *format  = build(engine, &block, compute, SPMM_LAYOUT_ROW);
        product_t            p       = make_product(&block, SPMM_LAYOUT_ROW, 3, 0, 1.0, 0.0);

        ((float *)p.B)[13 * 3 + 1] = bad[c / 2 % 2];
        run(engine, format, &p);
        for (int32_t i = 0; i < block.n_rows; i++) {
            for (int j = 0; j < 3; j++) {
                const bool hit = j == 1 && format_case_find(&block, i, 13) >= 0;

                assert_true((isfinite(((float *)p.got)[3 * i + j]) != 0) == !hit);
            }
        }
        free_product(&p);
        engine->destroy(format);
    }
    spmm_csr_free(&block);
}

static void test_thread_counts(void **state)
{
    spmm_csr_t block;

    (void)state;
    open_device();
    format_case_matrix("rmat:scale=11,degree=9", SPMM_R_32F, &block);
    for (int e = 0; e < 2; e++) {
        const spmm_engine_ops_t *engine = spmm_engine_find(engines[e]);
        product_t                first  = {0};

        for (int threads = 1; threads <= 4; threads++) {
            const int before = device.n_sm;
            product_t p      = make_product(&block, SPMM_LAYOUT_ROW, 33, 0, 1.0, 0.0);
            void     *format;

            device.n_sm = threads;
            format      = build(engine, &block, SPMM_COMPUTE_32F, SPMM_LAYOUT_ROW);
            device.n_sm = before;
            run(engine, format, &p);
            engine->destroy(format);
            if (threads == 1) {
                first = p;
            } else {
                assert_memory_equal(p.got, first.got, (size_t)p.c_size * 4);
                free_product(&p);
            }
        }
        free_product(&first);
    }
    spmm_csr_free(&block);
}

/* FP64 through the 8-row format: what an FP64 engine over it computes on CPUs. */
static void test_bittcf_64f(void **state)
{
    spmm_csr_t           block;
    spmm_bittcf_t        format;
    spmm_bittcf_arrays_t arrays;
    spmm_tc_view_t       view;
    product_t            p;

    (void)state;
    format_case_random(90, 70, 0.2, SPMM_R_64F, true, 3, &block);
    spmm_assert_ok(spmm_bittcf_create(&spmm_test_env, &block, 2, &format));
    p      = make_product(&block, SPMM_LAYOUT_COL, 40, 2, -0.5, 3.0);
    arrays = spmm_bittcf_arrays(&format);
    view   = spmm_cpu_bittcf_view(&arrays);
    spmm_cpu_tc_mm(&view, &(spmm_tc_mm_args_t){.row_map = block.row_map,
                                               .compute = SPMM_COMPUTE_64F,
                                               .layout  = p.layout,
                                               .n       = p.n,
                                               .alpha   = p.alpha,
                                               .beta    = p.beta,
                                               .B       = p.B,
                                               .ldb     = p.ldb,
                                               .C       = p.got,
                                               .ldc     = p.ldc,
                                               .threads = 2});
    assert_true(worst_error(&p) <= 1e-12);
    free_product(&p);
    spmm_bittcf_free(&format);
    spmm_csr_free(&block);
}

static void test_tf32_round(void **state)
{
    (void)state;
    assert_true(spmm_cpu_tf32_round(1.0f) == 1.0f);
    assert_true(spmm_cpu_tf32_round(1.0f + 0x1p-10f) == 1.0f + 0x1p-10f);
    assert_true(spmm_cpu_tf32_round(1.0f + 0x1p-11f) == 1.0f + 0x1p-10f); /* a tie */
    assert_true(spmm_cpu_tf32_round(-1.0f - 0x1p-11f) == -1.0f - 0x1p-10f);
    assert_true(spmm_cpu_tf32_round(1.0f + 0x1p-11f - 0x1p-23f) == 1.0f);
    assert_true(spmm_cpu_tf32_round(2.0f - 0x1p-23f) == 2.0f);
    assert_true(spmm_cpu_tf32_round(-0.0f) == 0.0f && signbit(spmm_cpu_tf32_round(-0.0f)));
    assert_true(isinf(spmm_cpu_tf32_round(INFINITY)) && isnan(spmm_cpu_tf32_round(NAN)));
}

/* Every allocation of build() fails once: an error, and nothing is left. */
static void test_memory(void **state)
{
    const spmm_problem_t problem = problem_of(SPMM_COMPUTE_32F, SPMM_LAYOUT_ROW);
    spmm_csr_t           block;

    (void)state;
    open_device();
    format_case_random(60, 50, 0.3, SPMM_R_32F, true, 5, &block);
    for (int e = 0; e < 2; e++) {
        const spmm_engine_ops_t *engine = spmm_engine_find(engines[e]);
        const int64_t            live   = spmm_alloc_get_stats().live;
        int                      failed = 0;

        for (spmm_status_t status = SPMM_ERR_MEMORY; status != SPMM_OK; failed++) {
            void *format = NULL;

            assert_true(failed < 50);
            spmm_error_clear(&spmm_test_env.err);
            spmm_alloc_inject(failed);
            status = engine->build(&block, &problem, &device, &format);
            spmm_alloc_inject(-1);
            if (status == SPMM_OK) {
                engine->destroy(format);
            } else {
                assert_int_equal(status, SPMM_ERR_MEMORY);
            }
            assert_int_equal(spmm_alloc_get_stats().live, live);
        }
        assert_true(failed > 8);
    }
    spmm_csr_free(&block);
}

/* What the engines refuse, and that a free choice on CPUs stays with CSR. */
static void test_choice(void **state)
{
    spmm_problem_t           problem = problem_of(SPMM_COMPUTE_32F, SPMM_LAYOUT_ROW);
    spmm_device_t            gpu     = {.kind = SPMM_DEVICE_CUDA, .env = &spmm_test_env};
    spmm_engine_candidate_t  candidates[16];
    const spmm_engine_ops_t *chosen;
    char                     why[SPMM_WHY];

    (void)state;
    open_device();
    assert_true(spmm_n_engines <= 16);
    for (int s = 0; format_shapes[s].density >= 0.0; s++) {
        spmm_pattern_t pattern;
        spmm_csr_t     block;

        format_case_random(format_shapes[s].n_rows, format_shapes[s].n_cols,
                           format_shapes[s].density, SPMM_R_32F, false, 1, &block);
        spmm_assert_ok(spmm_pattern_scan(&spmm_test_env, &block, &pattern));
        spmm_assert_ok(
            spmm_engine_choose("auto", &pattern, &problem, &device, candidates, &chosen));
        assert_string_equal(chosen->name, "csr-cpu");
        spmm_csr_free(&block);
    }
    for (int e = 0; e < 2; e++) {
        const spmm_engine_ops_t *engine = spmm_engine_find(engines[e]);

        assert_false(engine->supports(&problem, &gpu, why));
        assert_string_equal(why, "has no GPU kernel in this build");
        problem.ab_type = problem.c_type = SPMM_R_64F;
        assert_false(engine->supports(&problem, &device, why));
        assert_non_null(strstr(why, "32f"));
        problem = problem_of(SPMM_COMPUTE_32F_FAST_TF32, SPMM_LAYOUT_COL);
        assert_true(engine->supports(&problem, &device, why));
    }
}

const struct CMUnitTest spmm_tests[] = {
    cmocka_unit_test(test_products),      cmocka_unit_test(test_matrices),
    cmocka_unit_test(test_refill),        cmocka_unit_test(test_not_finite),
    cmocka_unit_test(test_thread_counts), cmocka_unit_test(test_bittcf_64f),
    cmocka_unit_test(test_tf32_round),    cmocka_unit_test(test_memory),
    cmocka_unit_test(test_choice),        {0},
};
