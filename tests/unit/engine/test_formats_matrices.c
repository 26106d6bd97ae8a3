/* SPDX-License-Identifier: Apache-2.0 */
/* test: RANKS 1 */
/** @file test_formats_matrices.c
 *  The formats of format_kind.h over every generator and every matrix of the folder
 *  SPMM_MATRIX_DIR, and made by several threads.
 */
#include "format_case.h"

#include "engine/windows/tc_format.h"
#include "format_kind.h"
#include "matrix/generate/generate.h"

static void test_every_generator(void **state)
{
    for (int g = 0; g < spmmi_n_generator_kinds; g++) {
        const char  *name   = spmmi_generator_kinds[g]->name;
        const size_t length = strlen(name);
        bool         found  = false;

        for (int m = 0; format_matrices[m] != NULL; m++) {
            found = found || (strncmp(format_matrices[m], name, length) == 0 &&
                              format_matrices[m][length] == ':');
        }
        if (!found) {
            fail_msg("format_matrices has no matrix of generator %s", name);
        }
    }
}

/* Columns so far apart that a window is condensed in several passes, the last with the last
 * column. */
static void test_far_columns(void **state)
{
    for (int half = 0; half < 2; half++) {
        spmm_csr_t block;

        format_case_random(41, 3 * 65536 + 1, 0.0004, half != 0 ? SPMM_R_16F : SPMM_R_32F, false,
                           11, &block);
        assert_true(block.row_ptr[40] < block.row_ptr[41]);
        block.col_idx[block.row_ptr[41] - 1] = block.n_cols - 1;
        format_kind_check(&block, NULL);
        spmmi_csr_free(&block);
    }
}

static void check_block(const char *spec, const spmm_csr_t *block)
{
    format_kind_check(block, NULL);
}

static void test_matrices_32f(void **state)
{
    format_case_each(SPMM_R_32F, check_block);
}

static void test_matrices_64f(void **state)
{
    format_case_each(SPMM_R_64F, check_block);
}

/* Values of files fit BF16, whose range is that of FP32. */
static void test_matrices_16bf(void **state)
{
    format_case_each(SPMM_R_16BF, check_block);
}

static void same(const void *a, const void *b, size_t count, size_t size)
{
    assert_memory_equal(a, b, count * size);
}

static void same_format(const format_t *a, const format_t *b)
{
    const int32_t *const block_ptr = a->view.block_ptr;
    const size_t         windows   = (size_t)a->view.n_windows;
    const size_t         blocks = (size_t)block_ptr[windows], height = (size_t)a->view.height;

    same(block_ptr, b->view.block_ptr, windows + 1, sizeof *block_ptr);
    same(a->col, b->col, blocks * (size_t)a->width, sizeof *a->col);
    if (a->vector > 0) {
        same(a->cvse.bits, b->cvse.bits, blocks * height, 2);
        same(a->cvse.values, b->cvse.values, blocks * height, 32);
    } else if (a->tiles > 0) {
        same(a->bittcf.value_ptr, b->bittcf.value_ptr, blocks + 1, 4);
        same(a->bittcf.bits, b->bittcf.bits, blocks * (size_t)a->tiles, 8);
        same(a->bittcf.values, b->bittcf.values, (size_t)a->bittcf.value_ptr[blocks], 4);
    } else {
        same(a->hrpb.size_ptr, b->hrpb.size_ptr, blocks + 1, 4);
        same(a->hrpb.packed, b->hrpb.packed, (size_t)a->hrpb.size_ptr[blocks], 16);
    }
}

static void facts_of(const spmm_csr_t *block, int threads, spmm_tc_facts_t *facts, int64_t *used)
{
    memset(facts, 0, sizeof *facts);
    spmm_test_env.threads = threads;
    spmm_assert_ok(spmmi_tc_facts_scan(&spmm_test_env, block, facts, used));
    spmm_test_env.threads = 0;
}

static const int counts[] = {2, 3, 8}; /* of threads */

static void test_thread_counts(void **state)
{
    spmm_csr_t      block;
    spmm_tc_facts_t facts, others;
    int64_t         used, used_by_others;

    format_case_matrix("rmat:scale=12,degree=9", SPMM_R_32F, &block);
    facts_of(&block, 1, &facts, &used);
    for (int t = 0; t < 3; t++) {
        facts_of(&block, counts[t], &others, &used_by_others);
        assert_memory_equal(&facts, &others, sizeof facts);
        assert_int_equal(used, used_by_others);
    }
    spmmi_csr_free(&block);
}

static void test_equal_formats(void **state)
{
    for (int which = 0; which < FORMAT_KINDS; which++) {
        format_t   first, other;
        spmm_csr_t block;

        format_case_matrix("rmat:scale=12,degree=9", which < 5 ? SPMM_R_32F : SPMM_R_16F, &block);
        assert_true(format_kind_make(&block, which, 1, &first));
        for (int t = 0; t < 3; t++) {
            assert_true(format_kind_make(&block, which, counts[t], &other));
            same_format(&first, &other);
            format_kind_free(&other);
        }
        format_kind_free(&first);
        spmmi_csr_free(&block);
    }
}

SPMM_TESTS(test_every_generator, test_far_columns, test_thread_counts, test_equal_formats,
           test_matrices_16bf, test_matrices_32f, test_matrices_64f);
