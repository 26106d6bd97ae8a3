/* SPDX-License-Identifier: Apache-2.0 */
/* test: RANKS 1 */
/** @file test_formats_mm.c
 *  Engines bittcf, hrpb, dmma, cvse, bcsr and bcsr-sp24 on the CPU against FP64 sums of the CSR
 *  block they were built from.
 */
#include "format_case.h"

#include "cpu/tc/tc_mm.h"
#include "engine/engine.h"
#include "engine_case.h"
#include "spmm_dist/context.h"

static const struct {
    const char    *name;
    spmm_compute_t compute;
    spmm_type_t    ab_type, c_type;
} engines[] = {{"bittcf", SPMM_COMPUTE_32F, SPMM_R_32F, SPMM_R_32F},
               {"bittcf", SPMM_COMPUTE_32F_FAST_TF32, SPMM_R_32F, SPMM_R_32F},
               {"hrpb", SPMM_COMPUTE_32F, SPMM_R_32F, SPMM_R_32F},
               {"hrpb", SPMM_COMPUTE_32F_FAST_TF32, SPMM_R_32F, SPMM_R_32F},
               {"dmma", SPMM_COMPUTE_64F, SPMM_R_64F, SPMM_R_64F},
               {"cvse", SPMM_COMPUTE_32F, SPMM_R_16F, SPMM_R_16F},
               {"cvse", SPMM_COMPUTE_32F, SPMM_R_16F, SPMM_R_32F},
               {"cvse", SPMM_COMPUTE_32F, SPMM_R_16BF, SPMM_R_16BF},
               {"cvse", SPMM_COMPUTE_32F, SPMM_R_16BF, SPMM_R_32F},
               {"bcsr", SPMM_COMPUTE_32F, SPMM_R_16F, SPMM_R_16F},
               {"bcsr", SPMM_COMPUTE_32F, SPMM_R_16BF, SPMM_R_32F},
               {"bcsr-sp24", SPMM_COMPUTE_32F, SPMM_R_16F, SPMM_R_32F},
               {"bcsr-sp24", SPMM_COMPUTE_32F, SPMM_R_16BF, SPMM_R_16BF}};
enum { N_ENGINES = sizeof engines / sizeof engines[0] };

static spmm_device_t device;

static void open_device(void)
{
    if (device.ops == NULL) {
        spmm_assert_ok(spmmi_device_open(&spmm_test_env, SPMM_DEVICE_CPU, NULL, &device));
    }
}

static spmm_problem_t problem_of(int e)
{
    return (spmm_problem_t){.ab_type       = engines[e].ab_type,
                            .c_type        = engines[e].c_type,
                            .compute       = engines[e].compute,
                            .layout        = SPMM_LAYOUT_ROW,
                            .n             = 128,
                            .deterministic = true};
}

/* Engine e; its format of @p block. */
static const spmm_engine_ops_t *build(int e, const spmm_csr_t *block, void **format)
{
    const spmm_engine_ops_t *engine  = spmmi_engine_find(engines[e].name);
    const spmm_problem_t     problem = problem_of(e);
    size_t                   host = 0, on_device = 1;

    assert_non_null(engine);
    spmm_assert_ok(engine->build(block, &problem, &device, format));
    engine->bytes(*format, &host, &on_device);
    assert_true(host >= (size_t)spmmi_csr_nnz(block) * spmm_type_size(block->type));
    assert_int_equal(on_device, 0);
    return engine;
}

static double worst_of_case(int e, const spmm_csr_t *block)
{
    static const int64_t     columns[] = {1, 7, 32, 100, 128};
    double                   worst     = 0.0;
    void                    *format;
    const spmm_engine_ops_t *engine = build(e, block, &format);

    for (int k = 0; k < 5; k++) {
        for (int scalars = 0; scalars < 3; scalars++) {
            product_t p = {.block   = block,
                           .problem = problem_of(e),
                           .alpha   = scalars == 2 ? -1.0 : 1.5,
                           .beta    = scalars == 0 ? 0.0 : 0.75};

            make_product(&p, columns[k], scalars == 1 ? 0 : 5);
            run_product(engine, &device, format, &p);
            check_product(&p);
            worst = fmax(worst, product_worst(&p).error);
            free_product(&p);
        }
    }
    engine->destroy(format);
    return worst;
}

static void test_products(void **state)
{
    open_device();
    for (int e = 0; e < N_ENGINES; e++) {
        const spmm_problem_t problem = problem_of(e);
        double               worst   = 0.0;

        for (int s = 0; format_shapes[s].density >= 0.0; s++) {
            const format_shape_t *shape = &format_shapes[s];
            spmm_csr_t            block;

            for (int mapped = 0; mapped < 2; mapped++) {
                format_case_random(shape->n_rows, shape->n_cols, shape->density, problem.ab_type,
                                   mapped != 0, (uint64_t)(2 * s), &block);
                worst = fmax(worst, worst_of_case(e, &block));
                spmmi_csr_free(&block);
            }
        }
        /* Rounding to 11 bits must show. */
        assert_true(problem.compute != SPMM_COMPUTE_32F_FAST_TF32 || worst >= 1e-4);
    }
}

/* A row of B that is not finite reaches the rows of C that refer to it and no others. */
static void test_not_finite(void **state)
{
    const double bad[] = {(double)NAN, (double)INFINITY};

    open_device();
    for (int c = 0; c < 2 * N_ENGINES; c++) {
        spmm_csr_t               block;
        void                    *format;
        product_t                p = {.block = &block, .problem = problem_of(c / 2), .alpha = 1.0};
        const spmm_type_t        type = p.problem.ab_type;
        const spmm_engine_ops_t *engine;

        format_case_random(50, 40, 0.2, type, false, 9, &block);
        engine = build(c / 2, &block, &format);
        make_product(&p, 3, 0);
        spmmi_value_set(type, p.B, 13 * 3 + 1, bad[c % 2]);
        run_product(engine, &device, format, &p);
        for (int32_t i = 0; i < block.n_rows; i++) {
            for (int j = 0; j < 3; j++) {
                const bool hit = j == 1 && format_case_find(&block, i, 13) >= 0;

                assert_true((isfinite(spmmi_value_get(p.problem.c_type, p.got, 3 * i + j)) != 0) ==
                            !hit);
            }
        }
        free_product(&p);
        engine->destroy(format);
        spmmi_csr_free(&block);
    }
}

static void test_thread_counts(void **state)
{
    open_device();
    for (int e = 0; e < N_ENGINES; e++) {
        const spmm_problem_t problem = problem_of(e);
        const size_t         size    = spmm_type_size(problem.c_type);
        const int            before  = device.threads;
        product_t            first   = {0};
        spmm_csr_t           block;

        format_case_matrix("rmat:scale=11,degree=9", problem.ab_type, &block);
        for (int threads = 1; threads <= 4; threads++) {
            product_t p = {.block = &block, .problem = problem, .alpha = 1.0};
            void     *format;

            const spmm_engine_ops_t *engine;

            make_product(&p, 33, 0);
            device.threads = threads;
            engine         = build(e, &block, &format);
            run_product(engine, &device, format, &p);
            engine->destroy(format);
            if (threads == 1) {
                first = p;
            } else {
                assert_memory_equal(p.got, first.got, (size_t)p.c_size * size);
                free_product(&p);
            }
        }
        device.threads = before;
        free_product(&first);
        spmmi_csr_free(&block);
    }
}

static void test_tf32_round(void **state)
{
    assert_true(spmmi_cpu_tf32_round(1.0f) == 1.0f);
    assert_true(spmmi_cpu_tf32_round(1.0f + 0x1p-10f) == 1.0f + 0x1p-10f);
    assert_true(spmmi_cpu_tf32_round(1.0f + 0x1p-11f) == 1.0f + 0x1p-10f); /* a tie */
    assert_true(spmmi_cpu_tf32_round(-1.0f - 0x1p-11f) == -1.0f - 0x1p-10f);
    assert_true(spmmi_cpu_tf32_round(1.0f + 0x1p-11f - 0x1p-23f) == 1.0f);
    assert_true(spmmi_cpu_tf32_round(2.0f - 0x1p-23f) == 2.0f);
    assert_true(spmmi_cpu_tf32_round(-0.0f) == 0.0f && signbit(spmmi_cpu_tf32_round(-0.0f)));
    assert_true(isinf(spmmi_cpu_tf32_round(INFINITY)) && isnan(spmmi_cpu_tf32_round(NAN)));
}

/* What the engines refuse, and that a free choice on CPUs stays with CSR. */
static void test_choice(void **state)
{
    spmm_problem_t          problem = problem_of(0);
    spmm_candidate_t        candidates[16];
    const spmm_candidate_t *chosen;

    open_device();
    assert_true(spmmi_n_engines <= 16);
    for (int s = 0; format_shapes[s].density >= 0.0; s++) {
        spmm_pattern_t pattern;
        spmm_csr_t     block;

        format_case_random(format_shapes[s].n_rows, format_shapes[s].n_cols,
                           format_shapes[s].density, SPMM_R_32F, false, 1, &block);
        spmm_assert_ok(spmmi_pattern_scan(&spmm_test_env, &block, &pattern));
        spmmi_engine_consider(&pattern, &problem, &device, candidates);
        spmm_assert_ok(spmmi_engine_pick("auto", &device, candidates, spmmi_n_engines, &chosen));
        assert_string_equal(chosen->engine->name, "csr-cpu");
        spmmi_pattern_free(&pattern);
        spmmi_csr_free(&block);
    }
    for (int e = 0; e < N_ENGINES; e++) {
        const spmm_engine_ops_t *engine        = spmmi_engine_find(engines[e].name);
        spmm_device_t            gpu           = {.kind = SPMM_DEVICE_CUDA, .cc = 75};
        char                     why[SPMM_WHY] = "";

        problem = problem_of(e);
        assert_true(engine->supports(&problem, &device, why));
        assert_false(engine->supports(&problem, &gpu, why));
        assert_non_null(strstr(why, "compute capability 8.0"));
    }
}

SPMM_TESTS(test_products, test_not_finite, test_thread_counts, test_tf32_round, test_choice);
