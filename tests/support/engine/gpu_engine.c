/* SPDX-License-Identifier: Apache-2.0 */
#include "gpu_engine.h"

#include "format_case.h"
#include "gpu_test.h"

spmm_device_t gpu_device;

void gpu_engine_ready(void)
{
    if (gpu_device.ops == NULL) {
        gpu_test_open(&gpu_device);
        spmm_assert_ok(spmmi_engines_preload(&gpu_device));
    }
}

int gpu_engine_count(void)
{
    int n = 0;

    while (gpu_engines[n].engine != NULL) {
        n++;
    }
    return n;
}

static const spmm_engine_ops_t *engine_of(int k)
{
    static spmm_engine_ops_t changed[GPU_ENGINE_WAYS];
    const spmm_engine_ops_t *engine = spmmi_engine_find(gpu_engines[k].engine);

    assert_in_range(k, 0, GPU_ENGINE_WAYS - 1);
    assert_non_null(engine);
    changed[k] = *engine;
    if (gpu_engines[k].build != NULL) {
        changed[k].build = gpu_engines[k].build;
    }
    return &changed[k];
}

tc_case_t gpu_engine_case(int k)
{
    const tc_case_t t = {.engine     = engine_of(k),
                         .device     = &gpu_device,
                         .compute    = gpu_engines[k].compute,
                         .type       = gpu_engines[k].type,
                         .wide_c     = gpu_engines[k].wide_c,
                         .by_columns = gpu_engines[k].by_columns,
                         .small      = gpu_case_small()};

    gpu_engine_ready();
    return t;
}

void gpu_engine_each(void (*check)(const tc_case_t *t))
{
    for (int k = 0; k < gpu_engine_count(); k++) {
        const tc_case_t t = gpu_engine_case(k);

        check(&t);
    }
}

void gpu_engine_each_long(void (*check)(const tc_case_t *t))
{
    for (int k = 0; k < gpu_engine_count(); k++) {
        const tc_case_t t = gpu_engine_case(k);

        if (!gpu_engines[k].brief) {
            check(&t);
        }
    }
}

void test_engine_open(void **state)
{
    gpu_engine_ready();
    gpu_engine_each(tc_case_supports);
}

void test_engine_shapes(void **state)
{
    gpu_engine_each_long(tc_case_shapes);
}

static void check_edges(const tc_case_t *t)
{
    if (!t->by_columns) {
        tc_case_edges(t);
    }
}

void test_engine_edges(void **state)
{
    gpu_engine_each_long(check_edges);
}

void test_engine_accuracy(void **state)
{
    gpu_engine_each(tc_case_positive);
    gpu_engine_each(tc_case_magnitudes);
}

static void check_special_values(const tc_case_t *t)
{
    if (t->type == SPMM_TYPE_AUTO) {
        tc_case_huge(t);
    }
    tc_case_not_finite(t);
}

void test_engine_special_values(void **state)
{
    gpu_engine_each_long(check_special_values);
}

void test_engine_same_bits(void **state)
{
    gpu_engine_each_long(tc_case_same_bits);
}

void test_engine_life(void **state)
{
    gpu_engine_each_long(tc_case_life);
}

static void check_not_waiting(const tc_case_t *t)
{
    const spmm_problem_t problem = tc_case_problem(t, 32);

    /* compute-sanitizer may let launches wait. */
    for (int k = 0; k < 4 && !t->small && !t->wide_c; k++) {
        check_asynchronous(t->engine, t->device, &problem, k % 2 != 0, k / 2 != 0);
    }
}

void test_engine_asynchronous(void **state)
{
    gpu_engine_each(check_not_waiting);
}

static void check_far_rows(const tc_case_t *t)
{
    const spmm_problem_t problem = tc_case_problem(t, 33);

    if (!t->small && !t->wide_c && !t->by_columns) {
        check_far(t->engine, t->device, &problem);
    }
}

void test_engine_far(void **state)
{
    gpu_engine_each_long(check_far_rows);
}

static spmm_csr_t matrix;

static void check_matrix(const tc_case_t *t)
{
    product_t p = {.block = &matrix, .problem = tc_case_problem(t, 128), .alpha = 1.0};

    if (t->type == matrix.type) {
        make_product(&p, matrix.n_rows > 100000 ? 32 : 128, 0);
        tc_case_check(t, &p);
        free_product(&p);
    }
}

void test_engine_matrices(void **state)
{
    for (int m = 0; format_matrices[m] != NULL && !gpu_case_small(); m++) {
        if (strchr(format_matrices[m], ':') != NULL) {
            format_case_matrix(format_matrices[m], SPMM_R_16F, &matrix);
            gpu_engine_each_long(check_matrix);
            spmmi_csr_free(&matrix);
        }
    }
}
