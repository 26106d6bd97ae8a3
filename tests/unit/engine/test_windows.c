/* SPDX-License-Identifier: Apache-2.0 */
/* test: RANKS 1 */
/** @file test_windows.c
 *  Windows of rows against the entries of a matrix, and what is said about its pattern.
 */
#include "format_case.h"

#include "engine/windows/windows.h"
#include "spmm_dist/context.h"

enum { THREADS = 2 };

static bool near(double a, double b)
{
    return fabs(a - b) <= 1e-12 * fabs(b);
}

/* An active column of the window at row @p first, and the rows it says have an entry. */
static void check_active(const spmm_csr_t *block, int32_t first, int32_t height, int32_t expected,
                         int32_t col, uint32_t rows)
{
    assert_int_equal(col, expected);
    for (int32_t r = 0; r < 32; r++) {
        const bool stored = r < height && format_case_find(block, first + r, col) >= 0;

        assert_true(stored == ((rows >> r & 1) != 0));
    }
}

/* Windows cut from tall ones are those made from the entries. */
static void check_split(const spmm_csr_t *block, const spmm_windows_t *windows)
{
    spmm_windows_t tall, cut;

    spmm_assert_ok(spmmi_windows_create(&spmm_test_env, block, SPMM_WINDOWS_TALL, THREADS, &tall));
    spmm_assert_ok(
        spmmi_windows_split(&spmm_test_env, block, &tall, windows->height, THREADS, &cut));
    assert_int_equal(cut.n_windows, windows->n_windows);
    for (int32_t w = 0; w < cut.n_windows; w++) {
        const size_t n = (size_t)windows->count[w];

        assert_int_equal(cut.count[w], windows->count[w]);
        assert_memory_equal(cut.col + cut.first[w], windows->col + windows->first[w],
                            n * sizeof *cut.col);
        assert_memory_equal(cut.rows + cut.first[w], windows->rows + windows->first[w],
                            n * sizeof *cut.rows);
    }
    spmmi_windows_free(&tall);
    spmmi_windows_free(&cut);
}

/* The facts of @p block by counting places; the windows on the way. */
static void check_facts(const spmm_csr_t *block)
{
    const int32_t   heights[] = {8, 16, 32};
    spmm_tc_facts_t facts;
    int32_t         active[FORMAT_CASE_COLS];
    int64_t         used, tc_blocks = 0, bricks = 0;
    double          nnz = (double)spmmi_csr_nnz(block), off = 0.0;

    spmm_assert_ok(spmmi_tc_facts_scan(&spmm_test_env, block, &facts, &used));
    assert_int_equal(used, format_case_active(block, 0, block->n_rows, active));
    for (int h = 0; h < SPMM_TC_HEIGHTS; h++) {
        spmm_windows_t windows;
        int64_t        pairs = 0;

        spmm_assert_ok(spmmi_windows_create(&spmm_test_env, block, heights[h], THREADS, &windows));
        for (int32_t w = 0; w < windows.n_windows; w++) {
            const int32_t n = format_case_active(block, w * heights[h], heights[h], active);

            assert_int_equal(windows.count[w], n);
            for (int32_t c = 0; c < n; c++) {
                check_active(block, w * heights[h], heights[h], active[c],
                             windows.col[windows.first[w] + c], windows.rows[windows.first[w] + c]);
            }
            pairs += n;
            tc_blocks += h == 0 ? (n + 7) / 8 : 0;
            bricks += h == 1 ? (n + 3) / 4 : 0;
        }
        assert_int_equal(facts.pairs[h], pairs);
        check_split(block, &windows);
        spmmi_windows_free(&windows);
    }
    assert_int_equal(facts.tc_blocks, tc_blocks);
    assert_int_equal(facts.bricks, bricks);
    if (nnz > 0) {
        const int32_t n_windows = (block->n_rows + 7) / 8;

        for (int32_t w = 0; w < n_windows; w++) {
            const int32_t blocks = (format_case_active(block, 8 * w, 8, active) + 7) / 8;

            off += fabs(blocks - (double)tc_blocks / n_windows);
        }
        assert_true(near(facts.ibd, off / n_windows));
        assert_true(near(facts.mean_nnz_tc, nnz / (double)tc_blocks));
        assert_true(near(facts.alpha, nnz / (double)bricks / 64));
        assert_true(near(facts.oi_shmem, 8 * nnz / (double)bricks));
        assert_true(near(facts.synergy, nnz / (double)facts.pairs[1] / 16));
    }
}

static void test_windows_and_facts(void **state)
{
    for (int s = 0; format_shapes[s].density >= 0.0; s++) {
        spmm_csr_t block;

        format_case_random(format_shapes[s].n_rows, format_shapes[s].n_cols,
                           format_shapes[s].density, SPMM_R_32F, false, (uint64_t)s, &block);
        check_facts(&block);
        spmmi_csr_free(&block);
    }
    assert_string_equal(spmmi_tc_synergy_class(0.1249), "low");
    assert_string_equal(spmmi_tc_synergy_class(0.125), "medium");
    assert_string_equal(spmmi_tc_synergy_class(0.25), "high");
}

/* A block of so many entries that threads share it: the same windows as one thread makes. */
static void test_threads(void **state)
{
    enum { MANY = 131072 }; /* of spmmi_cpu_team_for() */
    spmm_csr_t     block;
    spmm_windows_t one, more;

    format_case_random(700, 300, 0.7, SPMM_R_32F, false, 7, &block);
    assert_true(spmmi_csr_nnz(&block) > MANY);
    spmm_assert_ok(spmmi_windows_create(&spmm_test_env, &block, SPMM_WINDOWS_TALL, 1, &one));
    spmm_assert_ok(spmmi_windows_create(&spmm_test_env, &block, SPMM_WINDOWS_TALL, 3, &more));
    for (int32_t w = 0; w < one.n_windows; w++) {
        const size_t n = (size_t)one.count[w];

        assert_int_equal(more.count[w], one.count[w]);
        assert_int_equal(more.first[w], one.first[w]);
        assert_memory_equal(more.col + more.first[w], one.col + one.first[w], n * sizeof *one.col);
        assert_memory_equal(more.rows + more.first[w], one.rows + one.first[w],
                            n * sizeof *one.rows);
    }
    spmmi_windows_free(&one);
    spmmi_windows_free(&more);
    spmmi_csr_free(&block);
}

static spmm_status_t scan(void *block)
{
    spmm_tc_facts_t facts;
    int64_t         used;

    return spmmi_tc_facts_scan(&spmm_test_env, block, &facts, &used);
}

/* Every allocation on the way to the facts fails once. */
static void test_memory(void **state)
{
    spmm_csr_t block;

    format_case_random(40, 30, 0.3, SPMM_R_32F, false, 5, &block);
    assert_true(spmm_test_sweep(scan, &block, -1, SPMM_OK) > 1);
    spmmi_csr_free(&block);
}

SPMM_TESTS(test_windows_and_facts, test_threads, test_memory);
