/* SPDX-License-Identifier: Apache-2.0 */
/* test: RANKS 1 LABEL unit NEEDS SPMM_BUILD_TOOLS LINK spmm_bench_block spmm_internal */
/** @file test_bench_block.c  The reference that benchmarks of one block compare C with. */
#include "test_main.h"

#include "block.h"
#include "tool_common.h"

enum { COLUMNS = 5, SEEN = 3 };

/* C = A B, each element rounded once. */
static void *product(const spmm_csr_t *A, const void *B)
{
    void *C = calloc((size_t)A->n_rows * COLUMNS + 1, spmm_type_size(A->type));

    for (int64_t i = 0; i < A->n_rows; i++) {
        for (int64_t j = 0; j < COLUMNS; j++) {
            double sum = 0.0;

            for (int64_t e = A->row_ptr[i]; e < A->row_ptr[i + 1]; e++) {
                sum += spmmi_value_get(A->type, A->values, e) *
                       spmmi_value_get(A->type, B, (int64_t)A->col_idx[e] * COLUMNS + j);
            }
            spmmi_value_set(A->type, C, i * COLUMNS + j, sum);
        }
    }
    return C;
}

/* @p factor of A: a power of two */
static void check(spmm_type_t type, double factor)
{
    const double bound = tool_tolerance(type, SPMM_COMPUTE_AUTO);
    const double bad[] = {(double)NAN, (double)INFINITY, 1e3};
    spmm_csr_t   A     = {0};
    void        *B, *C;

    spmm_assert_ok(bench_block_read(&spmm_test_env, "rmat:scale=8,degree=6", type, &A));
    for (int64_t e = 0; e < spmmi_csr_nnz(&A); e++) {
        spmmi_value_set(type, A.values, e, factor * spmmi_value_get(type, A.values, e));
    }
    B = calloc((size_t)A.n_cols * COLUMNS + 1, spmm_type_size(type));
    bench_block_random(&A, COLUMNS, B);
    C = product(&A, B);
    assert_true(bench_block_error(&A, COLUMNS, B, C) <= bound);
    for (size_t k = 0; k < sizeof bad / sizeof bad[0]; k++) {
        const double was = spmmi_value_get(type, C, SEEN);

        spmmi_value_set(type, C, SEEN, was + factor * bad[k]);
        assert_false(bench_block_error(&A, COLUMNS, B, C) <= bound);
        spmmi_value_set(type, C, SEEN, was);
    }
    /* Zeros do not pass for a product. */
    free(C);
    C = calloc((size_t)A.n_rows * COLUMNS + 1, spmm_type_size(type));
    assert_false(bench_block_error(&A, COLUMNS, B, C) <= bound);
    spmm_test_free(B, C);
    spmmi_csr_free(&A);
}

static void test_wrong_elements_show(void **state)
{
    check(SPMM_R_64F, 1.0);
    check(SPMM_R_32F, 1.0);
    check(SPMM_R_16F, 1.0);
    check(SPMM_R_16BF, 1.0);
}

/* Sums of FP16 that would leave its range unless B is scaled. */
static void test_large_values(void **state)
{
    check(SPMM_R_16F, 0x1p14);
}

SPMM_TESTS(test_wrong_elements_show, test_large_values);
