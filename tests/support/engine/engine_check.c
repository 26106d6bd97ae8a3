/* SPDX-License-Identifier: Apache-2.0 */
/** @file engine_check.c  What every engine owes beyond one product. */
#include "engine_case.h"

#include "spmm_dist/context.h"

void check_engine_block(const spmm_engine_ops_t *engine, const spmm_device_t *device,
                        const spmm_csr_t *block, spmm_type_t c_type, spmm_layout_t layout,
                        int64_t planned, bool deterministic)
{
    static const double  betas[] = {0.0, 1.0, -0.5};
    const int64_t        n[]     = {planned, 1, planned, planned > 6 ? 7 : 1, planned};
    const spmm_problem_t problem = {.ab_type       = block->type,
                                    .c_type        = c_type,
                                    .compute       = spmmi_is_64f(block->type) ? SPMM_COMPUTE_64F
                                                                               : SPMM_COMPUTE_32F,
                                    .layout        = layout,
                                    .n             = planned,
                                    .deterministic = deterministic};
    char                 why[SPMM_WHY];
    size_t               host = 0, on_device = 0;
    void                *format;

    assert_true(spmmi_engine_supports(engine, &problem, device, why));
    spmm_assert_ok(engine->build(engine, block, &problem, device, &format));
    engine->bytes(format, &host, &on_device);
    assert_true(host > 0);
    assert_true(on_device >= (size_t)spmmi_csr_nnz(block) * (4 + spmm_type_size(block->type)));
    for (int e = 0; e < 5; e++) {
        product_t p = {.block = block, .problem = problem, .alpha = 1.5, .beta = betas[e % 3]};

        make_product(&p, n[e], e % 3);
        run_product(engine, device, format, &p);
        check_product(&p);
        free_product(&p);
    }
    engine->destroy(format);
}

void check_refill(const spmm_engine_ops_t *engine, const spmm_device_t *device,
                  const spmm_problem_t *problem)
{
    spmm_csr_t block;
    void      *format;
    product_t  p = {.block = &block, .problem = *problem, .alpha = -1.0};

    make_block(100, 800, DENSE_ROW, problem->ab_type, false, &block);
    spmm_assert_ok(engine->build(engine, &block, problem, device, &format));
    make_product(&p, problem->n, 0);
    for (int round = 0; round < 3; round++) {
        run_product(engine, device, format, &p);
        check_product(&p);
        for (int64_t k = 0; k < spmmi_csr_nnz(&block); k++) {
            spmmi_value_draw(block.type, block.values, k, 99, k, round);
            if (spmmi_hash2(98, k, round) % 4 == 0) {
                spmmi_value_set(block.type, block.values, k, 0.0);
            }
        }
        spmm_assert_ok(spmmi_engine_refill(engine, device, block.type, format, block.values));
    }
    free_product(&p);
    engine->destroy(format);
    spmmi_csr_free(&block);
}

void check_build_failures(const spmm_engine_ops_t *engine, const spmm_device_t *device,
                          const spmm_problem_t *problem, const spmm_csr_t *block, int least)
{
    spmm_csr_t own      = {0};
    int        failures = 0;

    if (block == NULL) {
        make_block(90, 7000, DENSE_ROW, problem->ab_type, true, &own);
        block = &own;
    }
    for (int64_t k = 0; k < 60; k++) {
        const int64_t live   = spmmi_alloc_get_stats().live;
        void         *format = NULL;
        spmm_status_t status;

        spmmi_error_clear(&spmm_test_env.err);
        spmmi_alloc_inject(k);
        status = engine->build(engine, block, problem, device, &format);
        spmmi_alloc_inject(-1);
        if (status == SPMM_OK) {
            assert_int_equal(spmm_test_env.err.status, SPMM_OK);
            engine->destroy(format);
        } else {
            assert_int_equal(status, SPMM_ERR_MEMORY);
            failures++;
        }
        assert_int_equal(spmmi_alloc_get_stats().live, live);
    }
    assert_in_range(failures, least, 59);
    spmmi_error_clear(&spmm_test_env.err);
    spmmi_csr_free(&own);
}

void check_same_bits(const spmm_engine_ops_t *engine, const spmm_device_t *device, product_t *p,
                     int runs)
{
    const size_t bytes = (size_t)p->c_size * spmm_type_size(p->problem.c_type);
    void        *first = spmm_test_malloc(bytes);

    for (int build = 0; build < 3; build++) {
        void *format;

        spmm_assert_ok(engine->build(engine, p->block, &p->problem, device, &format));
        for (int k = 0; k < (build == 0 ? runs : 3); k++) {
            run_product(engine, device, format, p);
            if (build == 0 && k == 0) {
                memcpy(first, p->got, bytes);
            }
            assert_memory_equal(first, p->got, bytes);
        }
        engine->destroy(format);
    }
    check_product(p);
    free(first);
}
