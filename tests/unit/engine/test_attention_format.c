/* SPDX-License-Identifier: Apache-2.0 */
/* test: RANKS 1 */
/** @file test_attention_format.c
 *  Masks of attention in windows, groups and panels against the entries they were made from.
 */
#include "format_case.h"

#include <string.h>

#include "base/alloc.h"
#include "engine/attention/attention.h"

enum { BANKS = 8, CHUNK = SPMM_ATTENTION_CHUNK };

/* Rows decode to the entries. */
static void check_rows(const spmm_csr_t *block, const spmm_attention_list_t *list)
{
    const size_t nnz     = (size_t)spmmi_csr_nnz(block);
    int64_t     *row_ptr = spmm_test_malloc(((size_t)block->n_rows + 1) * sizeof *row_ptr);
    int32_t     *col     = spmm_test_malloc((nnz + 1) * sizeof *col);

    spmmi_attention_decode(list, row_ptr, col);
    for (int32_t i = 0; i < block->n_rows; i++) {
        assert_true(row_ptr[i + 1] == block->row_ptr[i + 1]);
    }
    assert_memory_equal(col, block->col_idx, nnz * sizeof *col);
    spmm_test_free(row_ptr, col);
}

/* A group has each column once; long groups come first. */
static void check_groups(const spmm_csr_t *block, const spmm_attention_list_t *list)
{
    char *seen = spmm_test_malloc((size_t)block->n_cols + 1);

    for (int32_t k = 0; k < list->n_groups; k++) {
        const int64_t width = list->variant.width;

        memset(seen, 0, (size_t)block->n_cols + 1);
        assert_true(k == 0 ||
                    list->panels[k + 1] - list->panels[k] <= list->panels[k] - list->panels[k - 1]);
        for (int64_t c = list->panels[k] * width; c < list->panels[k + 1] * width; c++) {
            assert_true(list->col[c] >= -1 && list->col[c] < block->n_cols);
            assert_true(list->col[c] < 0 || !seen[list->col[c]]);
            seen[list->col[c] < 0 ? block->n_cols : list->col[c]] = 1;
        }
    }
    free(seen);
}

/* Slots name places with a column, or none.
 * @return how often two of eight slots share a bank */
static int64_t check_slots(const spmm_attention_list_t *list)
{
    int64_t shared = 0, used = 0;

    for (int64_t e = 0; e < list->n_chunks * CHUNK; e += BANKS) {
        int32_t in_bank[BANKS] = {0};

        for (int64_t s = e; s < e + BANKS; s++) {
            const uint32_t rows  = list->slot[s] >> SPMM_ATTENTION_BITS;
            const int32_t  place = (int32_t)(list->slot[s] & ((1u << SPMM_ATTENTION_BITS) - 1));

            assert_true(rows == 0 ? place == list->variant.width : place < list->variant.width);
            assert_true(rows >> list->variant.height == 0);
            shared += rows != 0 && in_bank[place % BANKS]++ > 0;
            used += rows != 0;
        }
    }
    assert_true(used == list->vectors);
    for (int64_t s = 0; s < (int64_t)SPMM_ATTENTION_AHEAD * CHUNK; s++) {
        assert_true(list->slot[list->n_chunks * CHUNK + s] == (uint32_t)list->variant.width);
    }
    return shared;
}

static const spmm_attention_variant_t variants[] = {
    {8, 4, 64}, {8, 32, 416}, {16, 8, 16}, {16, 16, 208}};
enum { VARIANTS = sizeof variants / sizeof variants[0] };

static void check_block(const spmm_csr_t *block)
{
    for (int v = 0; v < VARIANTS; v++) {
        spmm_attention_list_t list;

        spmm_assert_ok(spmmi_attention_make_list(&spmm_test_env, block, &variants[v], 2, &list));
        check_rows(block, &list);
        check_groups(block, &list);
        (void)check_slots(&list);
        spmmi_attention_free_list(&list);
    }
}

static void test_shapes(void **state)
{
    for (const format_shape_t *s = format_shapes; s->density >= 0.0; s++) {
        spmm_csr_t block;

        format_case_random(s->n_rows, s->n_cols, s->density, SPMM_R_32F, false, 5, &block);
        check_block(&block);
        spmmi_csr_free(&block);
    }
}

/* At random entries fewer than one slot in six meets another in its bank. */
static void test_banks(void **state)
{
    spmm_csr_t            block;
    spmm_attention_list_t list;

    format_case_random(256, 1024, 0.05, SPMM_R_32F, false, 9, &block);
    spmm_assert_ok(spmmi_attention_make_list(&spmm_test_env, &block, &variants[1], 1, &list));
    assert_true(6 * check_slots(&list) < list.vectors);
    spmmi_attention_free_list(&list);
    spmmi_csr_free(&block);
}

SPMM_TESTS(test_shapes, test_banks);
