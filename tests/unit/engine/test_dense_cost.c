/* SPDX-License-Identifier: Apache-2.0 */
/* test: RANKS 1 */
/** @file test_dense_cost.c
 *  The model of engine dense on a GPU that need not be there: sparse blocks are left to others, and
 *  what the terms count.
 */
#include "test_main.h"

#include "engine/engine.h"

extern const spmm_engine_ops_t spmmi_engine_dense;

static const spmm_device_t gpu = {
    .kind = SPMM_DEVICE_CUDA, .cc = 90, .n_sm = 132, .mem_bw = 4.8e12};

static double cost(int32_t n_rows, int32_t n_cols, int64_t nnz, int64_t n, spmm_type_t type,
                   spmm_compute_t compute)
{
    const spmm_pattern_t pattern = {
        .n_rows = n_rows, .n_cols = n_cols, .c_rows = n_rows, .nnz = nnz};
    const spmm_problem_t problem = {
        .ab_type = type, .c_type = type, .compute = compute, .layout = SPMM_LAYOUT_ROW, .n = n};

    return spmmi_engine_cost(&spmmi_engine_dense, &pattern, &problem, &gpu);
}

static double tf32(int32_t n_rows, int32_t n_cols, int64_t nnz, int64_t n)
{
    return cost(n_rows, n_cols, nnz, n, SPMM_R_32F, SPMM_COMPUTE_32F_FAST_TF32);
}

/* More than 64 times the memory of CSR: build() refuses, so nothing is predicted. */
static void test_sparse(void **state)
{
    assert_true(isinf(tf32(1000, 1000, 7812, 128)));
    assert_true(isfinite(tf32(1000, 1000, 7813, 128)));
    assert_true(isinf(tf32(2000000, 2000000, 10000000, 128)));
    assert_true(isfinite(tf32(50, 40, 0, 128)));
}

/* The places count, not the entries; more of anything takes longer. */
static void test_terms(void **state)
{
    const double base = tf32(2048, 512, 200000, 128);

    assert_true(base == tf32(2048, 512, 400000, 128));
    assert_true(tf32(4096, 512, 200000, 128) > base);
    assert_true(tf32(2048, 1024, 200000, 128) > base);
    assert_true(tf32(2048, 512, 200000, 256) > base);
}

/* FP32 is not as fast as TF32, nor that as 16 bits; rows of 33 values have no 16-byte step. */
static void test_kinds(void **state)
{
    const double half  = cost(4096, 1024, 400000, 512, SPMM_R_16F, SPMM_COMPUTE_32F);
    const double fast  = tf32(4096, 1024, 400000, 512);
    const double exact = cost(4096, 1024, 400000, 512, SPMM_R_32F, SPMM_COMPUTE_32F);

    assert_true(half < fast && fast < exact);
    assert_true(tf32(4096, 1024, 400000, 513) > 1.2 * fast);
    assert_true(tf32(4096, 1023, 400000, 512) > 1.2 * fast);
}

SPMM_TESTS(test_sparse, test_terms, test_kinds);
