/* SPDX-License-Identifier: Apache-2.0 */
/* test: RANKS 1 */
/** @file test_reorder.c  Orders of rows: permutations, the same for any threads, and good ones. */
#define _POSIX_C_SOURCE 200809L /* sigaction() */
#include "format_case.h"

#include <pthread.h>
#include <signal.h>

#include "engine/tc/windows.h"
#include "matrix/generate/shuffle.h"
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

            if (!spmmi_reorderers[m]->built) {
                continue;
            }
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
            if (spmmi_reorderers[m]->built) {
                int32_t *order = order_of(spmmi_reorderers[m], &block, 2);

                assert_permutation(&block, order);
                free(order);
            }
        }
        spmmi_csr_free(&block);
    }
}

/* More rows than a stretch, so that threads share the work. */
static void test_threads(void **state)
{
    const char *const specs[] = {"rmat:scale=15,degree=8", "stencil5:nx=210,ny=190,shuffle=1",
                                 "uniform:rows=40000,cols=3000,degree=5"};

    const spmm_reorderer_t *const methods[] = {&spmmi_reorderer_affinity, &spmmi_reorderer_sorted,
                                               &spmmi_reorderer_tiles};

    for (size_t k = 0; k < 3 * sizeof specs / sizeof specs[0]; k++) {
        const spmm_reorderer_t *method = methods[k % 3];
        spmm_csr_t              block;
        int32_t                *alone;

        format_case_matrix(specs[k / 3], SPMM_R_32F, &block);
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

/* (tile row of 16, group of 16 columns) pairs with an entry. */
static int64_t tiles_of(const spmm_csr_t *block)
{
    int32_t *last  = malloc((size_t)(block->n_cols / 16 + 1) * sizeof *last);
    int64_t  tiles = 0;

    memset(last, 0xff, (size_t)(block->n_cols / 16 + 1) * sizeof *last); /* -1 */
    for (int32_t i = 0; i < block->n_rows; i++) {
        for (int64_t k = block->row_ptr[i]; k < block->row_ptr[i + 1]; k++) {
            tiles += last[block->col_idx[k] / 16] != i / 16;
            last[block->col_idx[k] / 16] = i / 16;
        }
    }
    free(last);
    return tiles;
}

static int64_t tiles_after(const spmm_reorderer_t *method, const spmm_csr_t *block)
{
    int32_t   *order = order_of(method, block, 2);
    spmm_csr_t permuted;
    int64_t    tiles;

    spmm_assert_ok(spmmi_csr_permute(&spmm_test_env, block, order, &permuted, NULL));
    tiles = tiles_of(&permuted);
    spmmi_csr_free(&permuted);
    free(order);
    return tiles;
}

/* Rows of ten kinds in turn, all with one entry in the same group of columns and no column in
 * common: "tiles" makes the least possible tiles of them. */
static void test_tiles(void **state)
{
    enum { KINDS = 10, EACH = 48, N = KINDS * EACH };
    static const char *const specs[] = {"stencil27:nx=12,ny=12,nz=12,dof=3,shuffle=1",
                                        "banded:rows=4000,band=30,fill=0.2,shuffle=1"};
    spmm_csr_t               block;

    spmm_assert_ok(spmmi_csr_alloc(&spmm_test_env, N, 16 * KINDS, N, SPMM_R_32F, &block));
    for (int32_t i = 0; i < N; i++) {
        block.row_ptr[i + 1] = i + 1;
        block.col_idx[i]     = i % KINDS * 16 + i / KINDS % 16;
    }
    assert_int_equal(tiles_after(&spmmi_reorderer_none, &block), KINDS * N / 16);
    assert_int_equal(tiles_after(&spmmi_reorderer_tiles, &block), N / 16);
    spmmi_csr_free(&block);
    for (size_t k = 0; k < sizeof specs / sizeof specs[0]; k++) {
        int64_t given, after;

        format_case_matrix(specs[k], SPMM_R_32F, &block);
        given = tiles_of(&block);
        after = tiles_after(&spmmi_reorderer_tiles, &block);
        print_message("%s: %lld tiles, reordered %lld\n", specs[k], (long long)given,
                      (long long)after);
        assert_true((double)after <= 0.8 * (double)given);
        spmmi_csr_free(&block);
    }
}

/* Reverse Cuthill-McKee finds a path again from its shuffled vertices. */
static void test_rcm_path(void **state)
{
    enum { N = 500 };
    spmm_shuffle_t shuffle;
    spmm_csr_t     block;
    int32_t       *order, label[N], place[N];

    spmmi_shuffle_init(&shuffle, N, 1, 1);
    spmm_assert_ok(spmmi_csr_alloc(&spmm_test_env, N, N, N - 1, SPMM_R_32F, &block));
    for (int32_t v = 0; v < N; v++) {
        label[spmmi_shuffle(&shuffle, v)] = v; /* place on the path of each row */
    }
    for (int32_t i = 0; i < N; i++) { /* half of each edge: the graph must mend it */
        block.row_ptr[i + 1] = block.row_ptr[i];
        if (label[i] + 1 < N) {
            block.col_idx[block.row_ptr[i + 1]++] = (int32_t)spmmi_shuffle(&shuffle, label[i] + 1);
        }
    }
    order = order_of(&spmmi_reorderer_rcm, &block, 1);
    for (int32_t k = 0; k < N; k++) {
        place[order[k]] = k;
    }
    for (int32_t i = 0; i < N; i++) {
        for (int64_t k = block.row_ptr[i]; k < block.row_ptr[i + 1]; k++) {
            assert_int_equal(abs(place[i] - place[block.col_idx[k]]), 1);
        }
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

static void test_names(void **state)
{
    const spmm_reorderer_t *found = NULL;

    spmm_assert_ok(spmmi_reorderer_find(&spmm_test_env, "rcm", &found));
    assert_ptr_equal(found, &spmmi_reorderer_rcm);
    spmm_assert_error(spmmi_reorderer_find(&spmm_test_env, "amd", &found), SPMM_ERR_ARGUMENT,
                      "affinity");
}

/* Every allocation fails once: said, and nothing leaks. */
static void test_memory(void **state)
{
    for (int m = 0; m < spmmi_n_reorderers; m++) {
        const spmm_reorderer_t *method = spmmi_reorderers[m];
        spmm_status_t           status = SPMM_ERR_MEMORY;
        spmm_csr_t              block;
        int32_t                *order;

        if (!method->built) {
            continue;
        }
        format_case_matrix("rmat:scale=9,degree=8", SPMM_R_32F, &block);
        order = malloc((size_t)block.n_rows * sizeof *order);
        for (int64_t k = 0; status != SPMM_OK; k++) {
            const spmm_alloc_stats_t before = spmmi_alloc_get_stats();

            spmmi_alloc_inject(k);
            status = spmmi_reorder(&spmm_test_env, method, &block, 2, order);
            spmmi_alloc_inject(-1);
            assert_true(status == SPMM_OK || status == SPMM_ERR_MEMORY);
            assert_int_equal(status == SPMM_OK, spmmi_alloc_get_stats().calls - before.calls <= k);
            assert_true(spmmi_alloc_get_stats().live == before.live);
        }
        spmmi_error_clear(&spmm_test_env.err);
        free(order);
        spmmi_csr_free(&block);
    }
}

enum { CALLERS = 4 };

/** An order made by a thread of its own, as contexts of several threads do. */
typedef struct {
    spmm_env_t              env;
    const spmm_reorderer_t *method;
    const spmm_csr_t       *block;
    int32_t                *order;
    spmm_status_t           status;
} caller_t;

static void *call(void *self)
{
    caller_t *c = self;

    c->status = spmmi_reorder(&c->env, c->method, c->block, 1, c->order);
    return NULL;
}

/* What others do meanwhile changes no order, and no handler of a signal is left behind. */
static void test_callers(void **state)
{
    struct sigaction before, after;
    spmm_csr_t       block;

    assert_int_equal(sigaction(SIGTERM, NULL, &before), 0);
    format_case_matrix("rmat:scale=11,degree=6", SPMM_R_64F, &block);
    for (int m = 0; m < spmmi_n_reorderers; m++) {
        caller_t  caller[CALLERS];
        pthread_t thread[CALLERS];
        int32_t  *alone;

        if (!spmmi_reorderers[m]->built) {
            continue;
        }
        alone = order_of(spmmi_reorderers[m], &block, 1);
        for (int k = 0; k < CALLERS; k++) {
            caller[k] = (caller_t){.env    = spmm_test_env,
                                   .method = spmmi_reorderers[m],
                                   .block  = &block,
                                   .order  = malloc((size_t)block.n_rows * sizeof *alone)};
            assert_non_null(caller[k].order);
            assert_int_equal(pthread_create(&thread[k], NULL, call, &caller[k]), 0);
        }
        for (int k = 0; k < CALLERS; k++) {
            assert_int_equal(pthread_join(thread[k], NULL), 0);
            spmm_assert_ok(caller[k].status);
            assert_memory_equal(caller[k].order, alone, (size_t)block.n_rows * sizeof *alone);
            free(caller[k].order);
        }
        free(alone);
    }
    spmmi_csr_free(&block);
    assert_int_equal(sigaction(SIGTERM, NULL, &after), 0);
    assert_true(after.sa_handler == before.sa_handler);
}

SPMM_TESTS(test_permutations, test_matrices, test_threads, test_stretches, test_shuffled,
           test_kinds, test_tiles, test_rcm_path, test_permute, test_names, test_callers,
           test_memory);
