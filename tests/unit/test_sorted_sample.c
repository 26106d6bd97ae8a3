/* SPDX-License-Identifier: Apache-2.0 */
/* test: RANKS 1 */
/** @file test_sorted_sample.c  What a sample of order `sorted` says of the whole order. */
#include "format_case.h"

#include "engine/windows/windows.h"
#include "partition/reorder/reorder.h"
#include "partition/reorder/sorted.h"

/* Pairs for each entry, of the rows as they are and in order `sorted`. */
static void whole_pairs(const spmm_csr_t *block, double given[2], double sorted[2])
{
    const double    nnz   = (double)spmmi_csr_nnz(block);
    int32_t        *order = malloc((size_t)block->n_rows * sizeof *order);
    spmm_tc_facts_t before, after;
    spmm_csr_t      permuted;
    int64_t         used;

    spmm_assert_ok(spmmi_reorder(&spmm_test_env, &spmmi_reorderer_sorted, block, 2, order));
    spmm_assert_ok(spmmi_csr_permute(&spmm_test_env, block, order, &permuted, NULL));
    spmm_assert_ok(spmmi_tc_facts_scan(&spmm_test_env, block, &before, &used));
    spmm_assert_ok(spmmi_tc_facts_scan(&spmm_test_env, &permuted, &after, &used));
    for (int h = 0; h < 2; h++) {
        given[h]  = (double)before.pairs[h] / nnz;
        sorted[h] = (double)after.pairs[h] / nnz;
    }
    spmmi_csr_free(&permuted);
    free(order);
}

/* Some stretches, shorter than those of the order, find nearly as many pairs as all of them. */
static void test_whole(void **state)
{
    const char *const specs[] = {"stencil9:nx=200,ny=200", "stencil9:nx=200,ny=200,shuffle=1",
                                 "rmat:scale=14,degree=8", "molecules:count=900,atoms=30,shuffle=1",
                                 "uniform:rows=40000,cols=3000,degree=5"};

    for (size_t k = 0; k < sizeof specs / sizeof specs[0]; k++) {
        double     given[2], sorted[2], sample[2];
        spmm_csr_t block;

        format_case_matrix(specs[k], SPMM_R_32F, &block);
        whole_pairs(&block, given, sorted);
        spmm_assert_ok(spmmi_sorted_sample(&spmm_test_env, &block, 3, sample));
        for (int h = 0; h < 2; h++) {
            print_message("%s, %d rows: %.3f pairs for each entry, sorted %.3f, by a sample %.3f\n",
                          specs[k], 8 << h, given[h], sorted[h], sample[h]);
            assert_true(sample[h] >= 0.85 * sorted[h]);
            assert_true(sample[h] <= 1.2 * sorted[h]);
        }
        spmmi_csr_free(&block);
    }
}

/* Blocks smaller than a stretch, too. */
static void test_threads(void **state)
{
    const char *const specs[] = {"stencil5:nx=11,ny=9,shuffle=1", "rmat:scale=13,degree=5",
                                 "uniform:rows=700,cols=1,degree=1"};

    for (size_t k = 0; k < sizeof specs / sizeof specs[0]; k++) {
        double     alone[2], sample[2];
        spmm_csr_t block;

        format_case_matrix(specs[k], SPMM_R_32F, &block);
        spmm_assert_ok(spmmi_sorted_sample(&spmm_test_env, &block, 1, alone));
        for (int threads = 2; threads <= 5; threads++) {
            spmm_assert_ok(spmmi_sorted_sample(&spmm_test_env, &block, threads, sample));
            assert_true(sample[0] == alone[0] && sample[1] == alone[1]);
        }
        spmmi_csr_free(&block);
    }
}

static spmm_status_t take_sample(void *block)
{
    double sample[2];

    return spmmi_sorted_sample(&spmm_test_env, block, 2, sample);
}

/* Nothing leaks where memory is short. */
static void test_memory(void **state)
{
    spmm_csr_t block;

    format_case_matrix("rmat:scale=11,degree=6", SPMM_R_32F, &block);
    (void)spmm_test_sweep(take_sample, &block, -1, SPMM_OK);
    spmmi_csr_free(&block);
}

SPMM_TESTS(test_whole, test_threads, test_memory);
