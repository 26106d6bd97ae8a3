/* SPDX-License-Identifier: Apache-2.0 */
/** @file test_bcsr_shape.c
 *  Which thread blocks bcsr and bcsr-sp24 are given, from facts that are counted here again, and
 *  that their predictions keep the order that the formats have.
 */
#include "test_main.h"

#include <math.h>

#include "base/hash.h"
#include "base/scalar.h"
#include "engine/bcsr_shape.h"
#include "engine/engine.h"

enum { N_SM = 132 };

/* Tiles of 16x32, each there with @p density: two entries in every four columns, or all. */
static void make_tiles(int32_t n, double density, bool full, spmm_csr_t *block)
{
    int64_t nnz = 0;

    spmm_assert_ok(spmm_csr_alloc(&spmm_test_env, n, n, (int64_t)n * n, SPMM_R_16F, block));
    block->row_ptr[0] = 0;
    for (int32_t i = 0; i < n; i++) {
        for (int32_t c = 0; c < n; c++) {
            if (spmm_unit(spmm_hash2(1, i / 16, c / 32)) < density && (full || c % 4 < 2)) {
                block->col_idx[nnz] = c;
                spmm_value_set(SPMM_R_16F, block->values, nnz++, 1.0);
            }
        }
        block->row_ptr[i + 1] = nnz;
    }
    block->c_rows = n;
}

static void test_facts(void **state)
{
    (void)state;
    for (int full = 0; full < 2; full++) {
        spmm_pattern_t pattern;
        spmm_csr_t     block;
        int64_t        wide = 0;

        make_tiles(512, 0.3, full != 0, &block);
        for (int32_t r = 0; r < 32; r++) {
            for (int32_t c = 0; c < 16; c++) {
                wide += spmm_unit(spmm_hash2(1, r, c)) < 0.3;
            }
        }
        spmm_assert_ok(spmm_pattern_scan(&spmm_test_env, &block, &pattern));
        for (int k = 0; k < 3; k++) {
            const spmm_bcsr_facts_t *f     = &pattern.bcsr[k];
            int64_t                  steps = 0;

            for (int32_t p = 0; p < 32; p += 4 << k) {
                for (int32_t c = 0; c < 16; c++) {
                    bool any = false;

                    for (int32_t r = p; r < p + (4 << k); r++) {
                        any = any || spmm_unit(spmm_hash2(1, r, c)) < 0.3;
                    }
                    steps += any;
                }
            }
            assert_int_equal(f->steps, steps);
            assert_int_equal(f->sides, 2 * steps);
            assert_int_equal(f->wide, wide);
            assert_int_equal(f->legal, full != 0 ? 0 : wide);
            assert_int_equal(f->sp24, f->legal);
            assert_int_equal(f->tiles, full != 0 ? 2 * wide : 0);
            assert_true(f->longest <= 16 && f->longest * (32 / (4 << k)) >= steps);
        }
        spmm_pattern_free(&pattern);
        spmm_csr_free(&block);
    }
}

/* No slice wider than C needs; a prediction that grows with it. */
static void test_shapes(void **state)
{
    static const int64_t columns[] = {1, 8, 32, 33, 64, 65, 128, 512};
    const spmm_device_t  device    = {
            .kind = SPMM_DEVICE_CUDA, .cc = 90, .n_sm = N_SM, .threads = 2, .mem_bw = 4.8e12};

    (void)state;
    for (int full = 0; full < 2; full++) {
        spmm_pattern_t pattern;
        spmm_csr_t     block;

        double before = 0.0;

        make_tiles(512, 0.5, full != 0, &block);
        spmm_assert_ok(spmm_pattern_scan(&spmm_test_env, &block, &pattern));
        for (int k = 0; k < 8; k++) {
            const spmm_problem_t    problem = {.ab_type = SPMM_R_16F,
                                               .c_type  = SPMM_R_16F,
                                               .compute = SPMM_COMPUTE_32F,
                                               .layout  = SPMM_LAYOUT_ROW,
                                               .n       = columns[k]};
            const spmm_bcsr_shape_t shape =
                spmm_bcsr_shape(pattern.bcsr, block.n_rows, columns[k], N_SM, true);
            const double now = spmm_bcsr_cost(&pattern, &problem, &device);

            assert_true(shape.rows == 4 || shape.rows == 8 || shape.rows == 16);
            assert_true(shape.slice == 32 || (shape.slice <= 128 && shape.slice / 2 < columns[k]));
            assert_true(isfinite(now) && now > 0.0 && now >= before);
            before = now;
        }
        spmm_pattern_free(&pattern);
        spmm_csr_free(&block);
    }
}

static void test_cut(void **state)
{
    (void)state;
    assert_int_equal(spmm_bcsr_cut(N_SM, 128, 100), 8);
    assert_int_equal(spmm_bcsr_cut(N_SM, 128, 264 * 1000), 2000);
    assert_int_equal(spmm_bcsr_cut(1, 1 << 30, INT64_MAX / 4), INT32_MAX);
}

const struct CMUnitTest spmm_tests[] = {
    cmocka_unit_test(test_facts),
    cmocka_unit_test(test_shapes),
    cmocka_unit_test(test_cut),
    {0},
};
