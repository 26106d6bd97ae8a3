/* SPDX-License-Identifier: Apache-2.0 */
/* test: RANKS 1 */
/** @file test_reorder.c  Orders of rows: permutations, the same for any threads, and good ones. */
#include "format_case.h"

#include "engine/windows/windows.h"
#include "partition/reorder/reorder.h"

static int32_t *order_of(const spmm_reorderer_t *method, const spmm_csr_t *block, int threads)
{
    int32_t *order = malloc((size_t)(block->n_rows + 1) * sizeof *order);

    spmm_assert_ok(spmmi_reorder(&spmm_test_env, method, block, threads, order));
    return order;
}

static void assert_permutation(const spmm_csr_t *block, const int32_t *order)
{
    char *seen = calloc((size_t)block->n_rows + 1, 1);

    for (int32_t k = 0; k < block->n_rows; k++) {
        assert_in_range(order[k], 0, block->n_rows - 1);
        assert_int_equal(seen[order[k]]++, 0);
    }
    free(seen);
}

static int64_t pairs_of(const spmm_csr_t *block, int height)
{
    spmm_tc_facts_t facts;
    int64_t         used;

    spmm_assert_ok(spmmi_tc_facts_scan(&spmm_test_env, block, &facts, &used));
    return facts.pairs[height / 16];
}

static int64_t pairs_after(const spmm_reorderer_t *method, const spmm_csr_t *block, int height)
{
    int32_t   *order = order_of(method, block, 2);
    spmm_csr_t permuted;
    int64_t    pairs;

    spmm_assert_ok(spmmi_csr_permute(&spmm_test_env, block, order, &permuted, NULL));
    pairs = pairs_of(&permuted, height);
    spmmi_csr_free(&permuted);
    free(order);
    return pairs;
}

/* Rectangular, square, unsymmetric, disconnected, with empty rows, without entries or rows. */
static void test_permutations(void **state)
{
    for (const format_shape_t *s = format_shapes; s->density >= 0.0; s++) {
        for (int m = 0; m < spmmi_n_reorderers; m++) {
            spmm_csr_t block;
            int32_t   *order;

            format_case_random(s->n_rows, s->n_cols, s->density, SPMM_R_32F, m % 2 == 1, 1, &block);
            order = order_of(spmmi_reorderers[m], &block, 2);
            assert_permutation(&block, order);
            free(order);
            spmmi_csr_free(&block);
        }
    }
}

static void test_matrices(void **state)
{
    for (int k = 0; format_matrices[k] != NULL; k++) {
        spmm_csr_t block;

        format_case_matrix(format_matrices[k], SPMM_R_32F, &block);
        for (int m = 0; m < spmmi_n_reorderers; m++) {
            int32_t *order = order_of(spmmi_reorderers[m], &block, 2);

            assert_permutation(&block, order);
            free(order);
        }
        spmmi_csr_free(&block);
    }
}

/* More rows than a stretch, so that threads share the work. */
static void test_threads(void **state)
{
    const char *const specs[] = {"rmat:scale=15,degree=8", "stencil5:nx=210,ny=190,shuffle=1",
                                 "uniform:rows=40000,cols=3000,degree=5"};

    const spmm_reorderer_t *const methods[] = {&spmmi_reorderer_affinity, &spmmi_reorderer_sorted};

    for (size_t k = 0; k < 2 * sizeof specs / sizeof specs[0]; k++) {
        const spmm_reorderer_t *method = methods[k % 2];
        spmm_csr_t              block;
        int32_t                *alone;

        format_case_matrix(specs[k / 2], SPMM_R_32F, &block);
        alone = order_of(method, &block, 1);
        for (int threads = 2; threads <= 5; threads++) {
            int32_t *order = order_of(method, &block, threads);

            assert_memory_equal(order, alone, (size_t)block.n_rows * sizeof *order);
            free(order);
        }
        free(alone);
        spmmi_csr_free(&block);
    }
}

/* Rows that lie near those which they share columns with stay in their stretch, so that threads can
 * share the work; others find their like farther away. */
static void test_stretches(void **state)
{
    const char *const specs[]   = {"stencil9:nx=200,ny=200", "stencil9:nx=200,ny=200,shuffle=1"};
    const int32_t     stretch[] = {4096, 2048}; /* of affinity and of sorted */

    for (int k = 0; k < 4; k++) {
        int32_t    far = 0, *order;
        spmm_csr_t block;

        format_case_matrix(specs[k / 2], SPMM_R_32F, &block);
        order =
            order_of(k % 2 == 0 ? &spmmi_reorderer_affinity : &spmmi_reorderer_sorted, &block, 2);
        for (int32_t i = 0; i < block.n_rows; i++) {
            far += order[i] / stretch[k % 2] != i / stretch[k % 2];
        }
        assert_int_equal(far > 0, k / 2 == 1);
        free(order);
        spmmi_csr_free(&block);
    }
}

/* A shuffled matrix gets back what it had before, and more. */
static void test_shuffled(void **state)
{
    static const struct {
        const char *given, *shuffled;
    } cases[] = {
        {"stencil27:nx=12,ny=12,nz=12,dof=3", "stencil27:nx=12,ny=12,nz=12,dof=3,shuffle=1"},
        {"stencil9:nx=120,ny=100", "stencil9:nx=120,ny=100,shuffle=1"},
        {"molecules:count=400,atoms=30", "molecules:count=400,atoms=30,shuffle=1"},
        /* So many rows that communities come first. */
        {"stencil9:nx=260,ny=260", "stencil9:nx=260,ny=260,shuffle=1"},
    };

    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        for (int height = 8; height <= 16; height += 8) {
            spmm_csr_t given, shuffled;
            int64_t    after, sorted;

            format_case_matrix(cases[k].given, SPMM_R_32F, &given);
            format_case_matrix(cases[k].shuffled, SPMM_R_32F, &shuffled);
            after  = pairs_after(&spmmi_reorderer_affinity, &shuffled, height);
            sorted = pairs_after(&spmmi_reorderer_sorted, &shuffled, height);
            print_message(
                "%s, windows of %d rows: %lld pairs, shuffled %lld, reordered %lld, sorted %lld\n",
                cases[k].given, height, (long long)pairs_of(&given, height),
                (long long)pairs_of(&shuffled, height), (long long)after, (long long)sorted);
            assert_true(after <= pairs_of(&given, height));
            assert_true((double)sorted <= 0.75 * (double)pairs_of(&shuffled, height));
            assert_true((double)after <= 0.7 * (double)pairs_of(&shuffled, height));
            spmmi_csr_free(&given);
            spmmi_csr_free(&shuffled);
        }
    }
}

/* @p n_kinds sorts of rows in turn, each with its own @p width columns; every fifth row is
 * empty. */
static void make_kinds(int32_t n_kinds, int32_t rows_each, int32_t width, spmm_csr_t *block)
{
    const int32_t n      = n_kinds * rows_each * 5 / 4;
    int32_t       filled = 0;

    spmm_assert_ok(spmmi_csr_alloc(&spmm_test_env, n, n_kinds * width,
                                   (int64_t)n_kinds * rows_each * width, SPMM_R_32F, block));
    for (int32_t i = 0; i < n; i++) {
        block->row_ptr[i + 1] = block->row_ptr[i];
        for (int32_t k = 0; k < width && i % 5 != 4; k++) {
            block->col_idx[block->row_ptr[i + 1]++] = filled % n_kinds * width + k;
        }
        filled += i % 5 != 4;
    }
}

/* Rows of one kind end up in whole windows, empty ones behind them: the least possible pairs. */
static void test_kinds(void **state)
{
    spmm_csr_t block;
    int32_t   *order;

    make_kinds(10, 32, 6, &block);
    assert_int_equal(pairs_after(&spmmi_reorderer_affinity, &block, 8), 10 * 4 * 6);
    assert_int_equal(pairs_after(&spmmi_reorderer_affinity, &block, 16), 10 * 2 * 6);
    order = order_of(&spmmi_reorderer_affinity, &block, 2);
    for (int32_t k = 320; k < block.n_rows; k++) {
        assert_int_equal(order[k], 5 * (k - 320) + 4);
    }
    free(order);
    spmmi_csr_free(&block);
}

/* Entries go with their rows, and the row map still leads to their rows of C. */
static void test_permute(void **state)
{
    spmm_csr_t block, out;
    uint32_t  *entry;
    int32_t    order[37];

    format_case_random(37, 19, 0.3, SPMM_R_32F, true, 5, &block);
    assert_false(spmmi_csr_row_map_is_identity(&block));
    for (int32_t k = 0; k < 37; k++) {
        order[k] = k * 5 % 37;
    }
    spmm_assert_ok(spmmi_csr_permute(&spmm_test_env, &block, order, &out, &entry));
    assert_int_equal(out.c_rows, block.c_rows);
    assert_int_equal(spmmi_csr_nnz(&out), spmmi_csr_nnz(&block));
    for (int32_t i = 0; i < 37; i++) {
        assert_int_equal(out.row_map[i], block.row_map[order[i]]);
        for (int64_t k = out.row_ptr[i]; k < out.row_ptr[i + 1]; k++) {
            const int64_t from = block.row_ptr[order[i]] + k - out.row_ptr[i];

            assert_int_equal(entry[k], from);
            assert_int_equal(out.col_idx[k], block.col_idx[from]);
            assert_memory_equal((float *)out.values + k, (float *)block.values + from,
                                sizeof(float));
        }
    }
    spmmi_free(entry);
    spmmi_csr_free(&out);
    spmmi_csr_free(&block);
}

typedef struct {
    const spmm_reorderer_t *method;
    const spmm_csr_t       *block;
    int32_t                *order;
} ordering_t;

static spmm_status_t reorder(void *what)
{
    const ordering_t *o = what;

    return spmmi_reorder(&spmm_test_env, o->method, o->block, 2, o->order);
}

/* Every allocation fails once: said, and nothing leaks. */
static void test_memory(void **state)
{
    spmm_csr_t block;
    int32_t   *order;

    format_case_matrix("rmat:scale=9,degree=8", SPMM_R_32F, &block);
    order = spmm_test_malloc((size_t)block.n_rows * sizeof *order);
    for (int m = 0; m < spmmi_n_reorderers; m++) {
        (void)spmm_test_sweep(reorder, &(ordering_t){spmmi_reorderers[m], &block, order}, -1,
                              SPMM_OK);
    }
    free(order);
    spmmi_csr_free(&block);
}

SPMM_TESTS(test_permutations, test_matrices, test_threads, test_stretches, test_shuffled,
           test_kinds, test_permute, test_memory);
