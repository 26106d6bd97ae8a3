/* SPDX-License-Identifier: Apache-2.0 */
/* test: RANKS 1 LABEL driver INCLUDE bench/papers SOURCES bench/papers/order_walk.c */
/** @file test_orders.c  Published orders of rows: groups of rows with the same columns, dealt out
 *  over the matrix, come together again, so that windows have no more pairs than they must;
 *  patterns without structure and rows without entries are no trouble. */
#include "format_case.h"

#include "engine/windows/windows.h"
#include "orders.h"

enum { GROUPS = 48, GROUP = 8, N = GROUPS * GROUP };

static const spmm_reorderer_t *const orders[] = {&bench_order_acc, &bench_order_rabbit};
enum { N_ORDERS = sizeof orders / sizeof orders[0] };

/* Pairs at height 8 of the rows in the order of @p method, whose result is a permutation. */
static int64_t pairs(const spmm_reorderer_t *method, const spmm_csr_t *block)
{
    int32_t        *order    = test_malloc(((size_t)block->n_rows + 1) * sizeof *order);
    spmm_csr_t      permuted = {0};
    spmm_tc_facts_t facts;
    int64_t         used;

    spmm_assert_ok(spmmi_reorder(&spmm_test_env, method, block, 1, order));
    spmm_assert_ok(spmmi_csr_permute(&spmm_test_env, block, order, &permuted, NULL));
    spmm_assert_ok(spmmi_tc_facts_scan(&spmm_test_env, &permuted, &facts, &used));
    spmmi_csr_free(&permuted);
    test_free(order);
    return facts.pairs[0];
}

/* Row i is of group 7 i mod GROUPS, 7 being prime to it; the columns of a group are its rows. */
static void make_groups(spmm_csr_t *block)
{
    spmm_assert_ok(spmmi_csr_alloc(&spmm_test_env, N, N, (int64_t)N * GROUP, SPMM_R_32F, block));
    for (int32_t i = 0; i < N; i++) {
        int64_t at = (int64_t)i * GROUP;

        block->row_ptr[i] = at;
        for (int32_t j = 0; j < N; j++) {
            if (7 * j % GROUPS == 7 * i % GROUPS) {
                ((float *)block->values)[at] = 1.0F;
                block->col_idx[at++]         = j;
            }
        }
    }
    block->row_ptr[N] = (int64_t)N * GROUP;
}

static void test_groups(void **state)
{
    spmm_csr_t block = {0};

    make_groups(&block);
    for (int k = 0; k < N_ORDERS; k++) {
        assert_int_equal(pairs(orders[k], &block), N);
    }
    spmmi_csr_free(&block);
}

static void test_others(void **state)
{
    static const char *const specs[] = {"rmat:scale=8,degree=4", "stencil5:nx=1,ny=1",
                                        "uniform:rows=60,cols=9,degree=1",
                                        "uniform:rows=9,cols=60,degree=7"};

    for (size_t s = 0; s < sizeof specs / sizeof specs[0]; s++) {
        spmm_csr_t block = {0};

        format_case_matrix(specs[s], SPMM_R_32F, &block);
        for (int k = 0; k < N_ORDERS; k++) {
            assert_true(pairs(orders[k], &block) > 0);
        }
        spmmi_csr_free(&block);
    }
}

SPMM_TESTS(test_groups, test_others);
