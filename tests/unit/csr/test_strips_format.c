/* SPDX-License-Identifier: Apache-2.0 */
/* test: RANKS 1 */
/** @file test_strips_format.c
 *  Strips of engine strips: every row and entry in one of them and in order, their columns those
 *  that their entries have, the limits kept, long rows in work items; and what patterns say of
 *  them.
 */
#include "test_main.h"

#include <math.h>

#include "engine/csr/strips_format.h"
#include "engine/engine.h"

enum { COLS = 5000 };

/* Rows of @p most entries at most, every 97th of them up to 30 times as long; columns near the
 * diagonal, or anywhere. */
static void make_block_of(int32_t n_rows, int64_t most, bool near, spmm_csr_t *block)
{
    int64_t nnz = 0;

    for (int pass = 0; pass < 2; pass++) {
        nnz = 0;
        for (int32_t i = 0; i < n_rows; i++) {
            const int64_t length =
                i % 97 == 5 ? 30 * most : spmmi_below(spmmi_hash2(1, i, 0), most);
            const int32_t step = near ? 1 : (int32_t)(COLS / (length + 1));
            const int32_t from = near ? (int32_t)((int64_t)i * (COLS - 3000) / n_rows) : i % 7;

            for (int64_t k = 0; k < length; k++, nnz++) {
                if (pass == 1) {
                    block->col_idx[nnz] = from + (int32_t)k * step;
                    assert_in_range(block->col_idx[nnz], 0, COLS - 1);
                }
            }
            if (pass == 1) {
                block->row_ptr[i + 1] = nnz;
            }
        }
        if (pass == 0) {
            spmm_assert_ok(spmmi_csr_alloc(&spmm_test_env, n_rows, COLS, nnz, SPMM_R_64F, block));
        }
    }
}

static void check_entries(const spmm_csr_t *block, const spmm_strips_t *s, const spmm_strip_t *one)
{
    const int32_t  *col   = s->col + one->col;
    const uint16_t *index = s->index + one->entry;

    for (int32_t k = 1; k < one->n_cols; k++) {
        assert_true(col[k - 1] < col[k]);
    }
    for (int32_t e = 0; e < one->n_entries; e++) {
        assert_in_range(index[e], 0, one->n_cols - 1);
        assert_int_equal(col[index[e]], block->col_idx[(int64_t)one->entry + e]);
    }
}

/* Of a strip of whole rows. */
static void check_rows(const spmm_csr_t *block, const spmm_strips_t *s, const spmm_strip_t *one,
                       int32_t rows)
{
    assert_in_range(one->n_sums, 1, rows);
    for (int32_t i = 0; i <= one->n_sums; i++) {
        assert_int_equal(one->entry + s->ptr[one->ptr + i], block->row_ptr[one->row + i]);
    }
    assert_int_equal(s->ptr[one->ptr + one->n_sums], one->n_entries);
}

/* Work items of the split row that begins with strip k. */
static void check_items(const spmm_csr_t *block, const spmm_strips_t *s, int32_t k)
{
    const int32_t             row   = s->strip[k].row;
    const spmm_strip_split_t *split = &s->split[s->strip[k].split];

    assert_true(block->row_ptr[row + 1] - block->row_ptr[row] > SPMM_STRIP_COLS);
    for (int32_t p = 0; p < split->n_items; p++, k++) {
        const spmm_strip_t *one = &s->strip[k];

        assert_int_equal(one->row, row);
        assert_int_equal(one->item, split->item + p);
        assert_int_equal(one->n_sums, SPMM_STRIP_SUMS);
        assert_int_equal(s->ptr[one->ptr], 0);
        assert_int_equal(s->ptr[one->ptr + SPMM_STRIP_SUMS], one->n_entries);
        for (int32_t i = 0; i < SPMM_STRIP_SUMS; i++) {
            assert_true(s->ptr[one->ptr + i] <= s->ptr[one->ptr + i + 1]);
        }
    }
}

static void check_strips(const spmm_csr_t *block, const spmm_strips_t *s, int32_t rows)
{
    int32_t row = 0, split = 0;
    int64_t entry = 0;

    for (int32_t k = 0; k < s->n_strips; k++) {
        const spmm_strip_t *one = &s->strip[k];

        assert_int_equal(one->row, row);
        assert_int_equal(one->entry, entry);
        assert_in_range(one->n_cols, 0, s->most_cols);
        assert_in_range(one->n_entries, 0, s->most_entries);
        check_entries(block, s, one);
        entry += one->n_entries;
        if (one->split < 0) {
            check_rows(block, s, one, rows);
            row += one->n_sums;
            continue;
        }
        assert_int_equal(one->split, split);
        if (one->item == s->split[split].item) {
            check_items(block, s, k);
        }
        if (one->item == s->split[split].item + s->split[split].n_items - 1) {
            row++;
            split++;
        }
    }
    assert_int_equal(row, block->n_rows);
    assert_int_equal(entry, spmmi_csr_nnz(block));
    assert_int_equal(split, s->n_splits);
    assert_in_range(s->most_cols, 0, SPMM_STRIP_COLS);
    assert_in_range(s->most_entries, 0, SPMM_STRIP_ENTRIES);
}

static void test_strips(void **state)
{
    static const struct {
        int32_t n_rows, rows;
        int64_t most;
        bool    near;
    } cases[] = {{0, 128, 4, true},    {1, 64, 4, true},      {127, 128, 4, true},
                 {9000, 128, 9, true}, {9000, 64, 40, false}, {4097, 128, 90, true},
                 {300, 128, 90, false}};

    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        spmm_csr_t    block;
        spmm_strips_t strips;

        make_block_of(cases[k].n_rows, cases[k].most, cases[k].near, &block);
        for (int threads = 1; threads <= 2; threads++) {
            spmm_assert_ok(
                spmmi_strips_create(&spmm_test_env, &block, cases[k].rows, threads, &strips));
            check_strips(&block, &strips, cases[k].rows);
            spmmi_strips_free(&strips);
        }
        spmmi_csr_free(&block);
    }
}

/* Where rows are alike the facts are what the format has: columns, and the sectors they are in. */
static void test_facts(void **state)
{
    spmm_csr_t     block;
    spmm_strips_t  strips;
    spmm_pattern_t pattern;

    spmm_assert_ok(spmmi_csr_alloc(&spmm_test_env, 1024, 1024, 3 * 1024, SPMM_R_32F, &block));
    for (int32_t i = 0; i < 1024; i++) { /* three neighbours in the same group of 8 rows */
        for (int32_t k = 0; k < 3; k++) {
            block.col_idx[3 * i + k] = i / 8 * 8 + k;
        }
        block.row_ptr[i + 1] = 3 * (i + 1);
    }
    spmm_assert_ok(spmmi_strips_create(&spmm_test_env, &block, 128, 1, &strips));
    spmm_assert_ok(spmmi_pattern_scan(&spmm_test_env, &block, &pattern));
    assert_int_equal(strips.n_strips, 8);
    assert_int_equal(strips.n_cols, 8 * 16 * 3);
    assert_int_equal(spmmi_strips_facts(&pattern).strips, 8);
    assert_int_equal(spmmi_strips_facts(&pattern).cols, 8 * 16 * 3);
    assert_int_equal(spmmi_strips_facts(&pattern).quads, 8 * 16);
    assert_int_equal(spmmi_strips_facts(&pattern).octs, 8 * 16);
    spmmi_pattern_free(&pattern);
    spmmi_strips_free(&strips);
    spmmi_csr_free(&block);
}

/* Rows that share nothing: parts of a window, and rows where these do not fit either. */
static void test_facts_of_wide_rows(void **state)
{
    for (int64_t length = 16; length <= 128; length *= 8) {
        spmm_csr_t     block;
        spmm_pattern_t pattern;

        spmm_assert_ok(spmmi_csr_alloc(&spmm_test_env, 64, 64 * (int32_t)length, 64 * length,
                                       SPMM_R_64F, &block));
        for (int64_t e = 0; e < 64 * length; e++) {
            block.col_idx[e]              = (int32_t)e;
            block.row_ptr[e / length + 1] = (e / length + 1) * length;
        }
        spmm_assert_ok(spmmi_pattern_scan(&spmm_test_env, &block, &pattern));
        assert_int_equal(spmmi_strips_facts(&pattern).cols, 64 * length);
        assert_in_range(spmmi_strips_facts(&pattern).strips, 64 * length / SPMM_STRIP_COLS,
                        2 * 64 * length / SPMM_STRIP_COLS);
        spmmi_pattern_free(&pattern);
        spmmi_csr_free(&block);
    }
}

/* More columns take longer, and a model without facts is none. */
static void test_model(void **state)
{
    const spmm_engine_ops_t *engine = spmmi_engine_find("strips");
    const spmm_device_t device = {.kind = SPMM_DEVICE_CUDA, .cc = 90, .n_sm = 132, .mem_bw = 3e12};
    spmm_csr_t          block;
    spmm_pattern_t      pattern;

    make_block_of(9000, 9, true, &block);
    spmm_assert_ok(spmmi_pattern_scan(&spmm_test_env, &block, &pattern));
    for (int type = 0; type < 2; type++) {
        spmm_problem_t problem = {.ab_type = type == 0 ? SPMM_R_64F : SPMM_R_32F,
                                  .compute = type == 0 ? SPMM_COMPUTE_64F : SPMM_COMPUTE_32F,
                                  .layout  = SPMM_LAYOUT_COL};
        double         before  = 0.0;

        problem.c_type = problem.ab_type;
        for (problem.n = 2; problem.n <= 1024; problem.n *= 2) {
            const double seconds = spmmi_engine_cost(engine, &pattern, &problem, &device);

            assert_true(seconds > before && seconds < 1e-2);
            before = seconds;
        }
    }
    spmmi_pattern_free(&pattern);
    spmm_assert_ok(spmmi_pattern_measure(&spmm_test_env, &block, &pattern));
    assert_true(isinf(spmmi_engine_cost(
        engine, &pattern,
        &(spmm_problem_t){
            .ab_type = SPMM_R_64F, .c_type = SPMM_R_64F, .layout = SPMM_LAYOUT_COL, .n = 8},
        &device)));
    spmmi_pattern_free(&pattern);
    spmmi_csr_free(&block);
}

SPMM_TESTS(test_model, test_strips, test_facts, test_facts_of_wide_rows);
