/* SPDX-License-Identifier: Apache-2.0 */
/* test: RANKS 1 */
/** @file test_csr_marks.c
 *  Which work items of engine csr-gpu name the last row of B, and how many rows its tiles have.
 */
#include "test_main.h"

#include "base/hash.h"
#include "engine/csr/csr_gpu_work.h"

enum { ROWS = 600 };

/* Rows of up to @p most entries, one of 23 longer, a quarter empty; columns at random. */
typedef struct {
    spmm_csr_t block;
    int64_t    row_ptr[ROWS + 1];
    int32_t   *col;
} matrix_t;

static void make(matrix_t *m, int32_t n_cols, int64_t most, uint64_t seed)
{
    m->row_ptr[0] = 0;
    for (int32_t i = 0; i < ROWS; i++) {
        const uint64_t hash   = spmmi_hash2(seed, i, 0);
        const int64_t  length = hash % 4 == 0 ? 0 : spmmi_below(spmmi_mix64(hash), most + 1);

        m->row_ptr[i + 1] = m->row_ptr[i] + (hash % 23 == 3 ? 40 * length : length);
    }
    m->col = spmm_test_calloc((size_t)m->row_ptr[ROWS] + 1, sizeof *m->col);
    for (int64_t k = 0; k < m->row_ptr[ROWS]; k++) {
        m->col[k] = (int32_t)spmmi_below(spmmi_hash2(seed, k, 1), n_cols);
    }
    m->block =
        (spmm_csr_t){.n_rows = ROWS, .n_cols = n_cols, .row_ptr = m->row_ptr, .col_idx = m->col};
}

/* The mark is the sign bit, and says what the entries of the work item say. */
static void check_marks(const matrix_t *m, int64_t limit)
{
    int32_t         marked = 0;
    spmm_csr_work_t plain, w;

    spmm_assert_ok(spmmi_csr_work_create(&spmm_test_env, &m->block, limit, false, 0, 2, &plain));
    spmm_assert_ok(spmmi_csr_work_create(&spmm_test_env, &m->block, limit, false, 0, 2, &w));
    spmmi_csr_work_mark(&m->block, 2, &w);
    for (int32_t p = 0; p < w.n_items; p++) {
        const int64_t from = w.item[p].entry, to = from + (w.item[p].n_entries & INT32_MAX);
        bool          last = false;

        assert_int_equal(to - from, plain.item[p].n_entries);
        for (int64_t k = from; k < to; k++) {
            last = last || m->col[k] == m->block.n_cols - 1;
        }
        assert_int_equal(w.item[p].n_entries < 0, last);
        marked += last;
    }
    assert_true(m->block.n_cols > 1 || marked == w.n_items);
    assert_true(m->block.n_cols < 5000 || marked < w.n_items);
    spmmi_csr_work_free(&plain);
    spmmi_csr_work_free(&w);
}

static void test_marks(void **state)
{
    static const int32_t n_cols[] = {1, 2, 50, 5000};
    matrix_t             m;

    for (int k = 0; k < 4 * 4; k++) {
        make(&m, n_cols[k / 4], 3 + 3 * (k % 4) * (k % 4), (uint64_t)k);
        check_marks(&m, 4 + 60 * (k % 4));
        free(m.col);
    }
}

/* As many as leave a run of 256 bytes of a column of C, where the slice is wide. */
static void test_tile_rows(void **state)
{
    assert_int_equal(spmmi_csr_tile_rows(1000, 4000, 16, 8), SPMM_CSR_TILE);
    assert_int_equal(spmmi_csr_tile_rows(1000, 4000, 32, 8), SPMM_CSR_TILE / 2);
    assert_int_equal(spmmi_csr_tile_rows(1000, 4000, 33, 8), SPMM_CSR_TILE / 4);
    assert_int_equal(spmmi_csr_tile_rows(1000, 4000, 1000, 8), SPMM_CSR_TILE / 4);
    assert_int_equal(spmmi_csr_tile_rows(1000, 4000, 32, 4), SPMM_CSR_TILE);
    for (int64_t size = 2; size <= 4; size += 2) { /* sums have 4 bytes */
        assert_int_equal(spmmi_csr_tile_rows(1000, 4000, 1000, size), SPMM_CSR_TILE / 2);
    }
    assert_int_equal(spmmi_csr_tile_rows(1000, 41000, 32, 8), 0);
}

SPMM_TESTS(test_marks, test_tile_rows);
