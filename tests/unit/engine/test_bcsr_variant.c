/* SPDX-License-Identifier: Apache-2.0 */
/* test: RANKS 1 */
/** @file test_bcsr_variant.c
 *  Which thread blocks bcsr and bcsr-sp24 are given, from facts that are counted here again, and
 *  that their predictions keep the order that the formats have.
 */
#include "test_main.h"

#include "engine/bcsr/variant.h"
#include "engine/engine.h"

enum { N_SM = 132 };

/* Tiles of 16x32, each there with @p density: two entries in every four columns, or all. */
static void make_tiles(int32_t n, double density, bool full, spmm_csr_t *block)
{
    int64_t nnz = 0;

    spmm_assert_ok(spmmi_csr_alloc(&spmm_test_env, n, n, (int64_t)n * n, SPMM_R_16F, block));
    block->row_ptr[0] = 0;
    for (int32_t i = 0; i < n; i++) {
        for (int32_t c = 0; c < n; c++) {
            if (spmmi_unit(spmmi_hash2(1, i / 16, c / 32)) < density && (full || c % 4 < 2)) {
                block->col_idx[nnz] = c;
                spmmi_value_set(SPMM_R_16F, block->values, nnz++, 1.0);
            }
        }
        block->row_ptr[i + 1] = nnz;
    }
    block->c_rows = n;
}

static void test_facts(void **state)
{
    for (int full = 0; full < 2; full++) {
        spmm_pattern_t pattern;
        spmm_csr_t     block;
        int64_t        wide = 0;

        make_tiles(512, 0.3, full != 0, &block);
        for (int32_t r = 0; r < 32; r++) {
            for (int32_t c = 0; c < 16; c++) {
                wide += spmmi_unit(spmmi_hash2(1, r, c)) < 0.3;
            }
        }
        spmm_assert_ok(spmmi_pattern_scan(&spmm_test_env, &block, &pattern));
        for (int k = 0; k < 3; k++) {
            const spmm_bcsr_facts_t *f     = &spmmi_bcsr_facts(&pattern)[k];
            int64_t                  steps = 0;

            for (int32_t p = 0; p < 32; p += 4 << k) {
                for (int32_t c = 0; c < 16; c++) {
                    bool any = false;

                    for (int32_t r = p; r < p + (4 << k); r++) {
                        any = any || spmmi_unit(spmmi_hash2(1, r, c)) < 0.3;
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
        spmmi_pattern_free(&pattern);
        spmmi_csr_free(&block);
    }
}

static spmm_problem_t problem_of(int64_t n)
{
    return (spmm_problem_t){.ab_type = SPMM_R_16F,
                            .c_type  = SPMM_R_16F,
                            .compute = SPMM_COMPUTE_32F,
                            .layout  = SPMM_LAYOUT_ROW,
                            .n       = n};
}

static const spmm_device_t h200 = {
    .kind = SPMM_DEVICE_CUDA, .cc = 90, .n_sm = N_SM, .threads = 2, .mem_bw = 4.8e12};

/* Is it one that there is a kernel for? */
static bool is_variant(spmm_bcsr_variant_t s)
{
    bool is = false;

    for (int k = 0; k < SPMM_BCSR_VARIANTS; k++) {
        const spmm_bcsr_variant_t one = spmmi_bcsr_variants[k];

        is = is || (one.kernel == s.kernel && one.rows == s.rows && one.slice == s.slice &&
                    one.split == s.split && one.sp24 == s.sp24);
        assert_true(one.kernel == SPMM_BCSR_BY_STEPS
                        ? one.split == 0 && one.rows == 4 && !one.sp24
                        : one.slice <= 64 && one.rows * one.split <= 16 && one.split > 0);
    }
    return is;
}

/* No slice wider than C needs, where there is a choice; the kernel asked for; no variant twice. */
static void check_choice(const spmm_pattern_t *pattern, int64_t n)
{
    for (int kernel = 0; kernel <= SPMM_BCSR_KERNELS; kernel++) {
        for (int sp24 = 0; sp24 < 2; sp24++) {
            spmm_bcsr_variant_t list[SPMM_BCSR_RANKED];
            const int count = spmmi_bcsr_best(spmmi_bcsr_facts(pattern), pattern->n_rows, n, N_SM,
                                              (spmm_bcsr_kernel_t)kernel, sp24 != 0, list);

            const bool rows = kernel == SPMM_BCSR_BY_ROWS;
            const bool only =
                kernel == SPMM_BCSR_BY_STEPS || (kernel == SPMM_BCSR_BY_LISTS && sp24);

            assert_int_equal(count, rows ? 2 - sp24 : only ? 1 : SPMM_BCSR_RANKED);
            for (int k = 0; k < count; k++) {
                assert_true(is_variant(list[k]));
                assert_true(kernel == SPMM_BCSR_KERNELS || (int)list[k].kernel == kernel);
                assert_true(only || list[k].slice == 32 || list[k].slice / 2 < n);
                assert_true(kernel != SPMM_BCSR_KERNELS || n == 16 ||
                            list[k].kernel != SPMM_BCSR_BY_ROWS);
                assert_true(!list[k].sp24 || (sp24 != 0 && list[k].kernel != SPMM_BCSR_BY_STEPS));
                assert_true((kernel != SPMM_BCSR_BY_LISTS && !rows) || list[k].sp24 == (sp24 != 0));
                for (int other = 0; other < k; other++) {
                    assert_memory_not_equal(&list[k], &list[other], sizeof list[k]);
                }
            }
        }
    }
}

/* Predictions grow with C, but 16 columns may take less than fewer, which have no kernel by rows;
 * of 2:4 tiles bcsr-sp24 never is behind bcsr, of others it is its equal. */
static void test_variants(void **state)
{
    static const int64_t columns[] = {1, 8, 16, 32, 33, 64, 65, 128, 512};

    for (int full = 0; full < 2; full++) {
        spmm_pattern_t pattern;
        spmm_csr_t     block;
        double         before = 0.0;

        make_tiles(512, 0.5, full != 0, &block);
        spmm_assert_ok(spmmi_pattern_scan(&spmm_test_env, &block, &pattern));
        for (int k = 0; k < 9; k++) {
            const spmm_problem_t problem = problem_of(columns[k]);
            const double         now =
                spmmi_engine_cost(spmmi_engine_find("bcsr"), &pattern, &problem, &h200);
            const double sp24 =
                spmmi_engine_cost(spmmi_engine_find("bcsr-sp24"), &pattern, &problem, &h200);

            check_choice(&pattern, columns[k]);
            assert_true(isfinite(now) && now > 0.0 && (now >= before || columns[k] == 16));
            assert_true(full != 0 ? sp24 == now : sp24 <= now);
            before = fmax(now, before);
        }
        spmmi_pattern_free(&pattern);
        spmmi_csr_free(&block);
    }
}

/* As of xdys:size=8192,dense=0,sp24=0.2, with @p tiles tiles. */
static spmm_bcsr_variant_t best_of_8192(int64_t n, bool sp24, int64_t tiles)
{
    spmm_bcsr_facts_t   facts[3];
    spmm_bcsr_variant_t list[SPMM_BCSR_RANKED];

    for (int k = 0; k < 3; k++) {
        const int64_t panels = 512 / (4 << k), steps = k == 0 ? 151 : k == 1 ? 213 : 249;

        facts[k] = (spmm_bcsr_facts_t){.steps   = panels * steps,
                                       .longest = steps + 10,
                                       .sides   = 2 * panels * steps,
                                       .sp24    = tiles,
                                       .wide    = tiles,
                                       .legal   = tiles};
    }
    (void)spmmi_bcsr_best(facts, 8192, n, N_SM, SPMM_BCSR_KERNELS, sp24, list);
    return list[0];
}

/* What was the fastest of all variants on an H200, or within 2 % of it. */
static void test_measured(void **state)
{
    static const struct {
        int64_t             n;
        spmm_bcsr_variant_t dense, sp24;
    } fastest[] = {
        {16, {SPMM_BCSR_BY_ROWS, 4, 32, 4, false}, {SPMM_BCSR_BY_ROWS, 4, 32, 4, false}},
        {32, {SPMM_BCSR_BY_LISTS, 4, 32, 4, false}, {SPMM_BCSR_BY_LISTS, 4, 32, 4, false}},
        {128, {SPMM_BCSR_BY_LISTS, 8, 64, 2, false}, {SPMM_BCSR_BY_LISTS, 8, 64, 2, false}},
        {512, {SPMM_BCSR_BY_STEPS, 4, 128, 0, false}, {SPMM_BCSR_BY_LISTS, 16, 64, 1, true}}};

    for (int k = 0; k < 4; k++) {
        for (int sp24 = 0; sp24 < 2; sp24++) {
            const spmm_bcsr_variant_t one  = best_of_8192(fastest[k].n, sp24 != 0, 25968);
            const spmm_bcsr_variant_t want = sp24 != 0 ? fastest[k].sp24 : fastest[k].dense;

            assert_int_equal(one.kernel, want.kernel);
            assert_int_equal(one.rows, want.rows);
            assert_int_equal(one.slice, want.slice);
            assert_int_equal(one.split, want.split);
            assert_int_equal(one.sp24, want.sp24);
            /* More than stay in L2, as of 16384 x 16384: slower as such. */
            assert_false(best_of_8192(fastest[k].n, sp24 != 0, 100000).sp24);
            /* One tile for each step, as in cop20k_A: slower as such. */
            assert_false(best_of_8192(fastest[k].n, sp24 != 0, 8000).sp24);
        }
    }
}

static void test_cut(void **state)
{
    const spmm_bcsr_variant_t steps = {.kernel = SPMM_BCSR_BY_STEPS, .rows = 4, .slice = 128};
    const spmm_bcsr_variant_t lists = {
        .kernel = SPMM_BCSR_BY_LISTS, .rows = 16, .slice = 32, .split = 1};

    assert_int_equal(spmmi_bcsr_cut(steps, N_SM, 128, 100), 8);
    assert_int_equal(spmmi_bcsr_cut(steps, N_SM, 128, 264 * 1000), 2000);
    assert_int_equal(spmmi_bcsr_cut(steps, 1, 1 << 30, INT64_MAX / 4), INT32_MAX);
    assert_int_equal(spmmi_bcsr_cut(lists, N_SM, 128, 100), 64);
    assert_int_equal(spmmi_bcsr_cut(lists, N_SM, 128, 132 * 1000), 12000);
}

SPMM_TESTS(test_facts, test_variants, test_measured, test_cut);
