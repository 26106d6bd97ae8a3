/* SPDX-License-Identifier: Apache-2.0 */
/* test: RANKS 1 */
/** @file test_format_dense.c  Where engine dense stores an entry, and what it refuses. */
#include "format_case.h"

#include "base/alloc.h"
#include "engine/dense/format.h"

static void check(int32_t n_rows, int32_t n_cols, double density, spmm_type_t type)
{
    const int64_t ld = spmmi_dense_ld(n_cols, type);
    spmm_csr_t    block;
    int32_t      *row_ptr, *from;

    format_case_random(n_rows, n_cols, density, type, false, 1, &block);
    SPMM_NEW(row_ptr, n_rows + 1);
    SPMM_NEW(from, n_rows * ld);
    assert_true(row_ptr != NULL && from != NULL);
    for (int32_t i = 0; i <= n_rows; i++) {
        row_ptr[i] = (int32_t)block.row_ptr[i];
    }
    spmmi_dense_places(n_rows, ld, row_ptr, block.col_idx, 2, from);
    for (int32_t i = 0; i < n_rows; i++) {
        for (int32_t j = 0; j < ld; j++) {
            assert_int_equal(from[i * ld + j],
                             j < n_cols ? format_case_find(&block, i, j) : (int64_t)-1);
        }
    }
    spmmi_free_all(row_ptr, from);
    spmmi_csr_free(&block);
}

static void test_places(void **state)
{
    static const spmm_type_t types[] = {SPMM_R_64F, SPMM_R_32F, SPMM_R_16F};

    for (int t = 0; t < 3; t++) {
        check(17, 23, 0.3, types[t]);
        check(1, 64, 1.0, types[t]);
        check(40, 1, 0.5, types[t]);
        check(5, 9, 0.0, types[t]);
        check(0, 9, 0.0, types[t]);
    }
}

/* Rows begin at multiples of 16 bytes, no farther apart than that takes. */
static void test_ld(void **state)
{
    assert_int_equal(spmmi_dense_ld(1, SPMM_R_64F), 2);
    assert_int_equal(spmmi_dense_ld(8, SPMM_R_32F), 8);
    assert_int_equal(spmmi_dense_ld(9, SPMM_R_32F), 12);
    assert_int_equal(spmmi_dense_ld(9, SPMM_R_16F), 16);
    assert_int_equal(spmmi_dense_ld(INT32_MAX, SPMM_R_16BF), 2147483648LL);
}

/* At the bound, one entry fewer, and beyond what int32_t counts. */
static void test_fits(void **state)
{
    assert_true(spmmi_dense_fits(1000, 1000, 7813, SPMM_R_32F));
    assert_false(spmmi_dense_fits(1000, 1000, 7812, SPMM_R_32F));
    assert_true(spmmi_dense_fits(1000, 1000, 5209, SPMM_R_16F));
    assert_false(spmmi_dense_fits(1000, 1000, 5208, SPMM_R_16F));
    assert_false(spmmi_dense_fits(1000, 1000, 0, SPMM_R_32F));
    assert_true(spmmi_dense_fits(65536, 32767, 2147418112, SPMM_R_32F));
    assert_false(spmmi_dense_fits(65536, 32768, 2147483648, SPMM_R_32F));
    assert_false(spmmi_dense_fits(INT32_MAX, INT32_MAX, INT32_MAX, SPMM_R_64F));
}

SPMM_TESTS(test_places, test_ld, test_fits);
