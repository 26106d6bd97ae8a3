/* SPDX-License-Identifier: Apache-2.0 */
/* test: RANKS 1 */
/** @file test_cover.c  Least vertex covers of bipartite graphs, against trying all of them. */
#include "test_main.h"

#include "base/hash.h"
#include "partition/cover/cover.h"

enum { MOST = 10 }; /* vertices of a side of the graphs that are tried in full */

typedef struct {
    int64_t  ptr[MOST + 1];
    int32_t  right[MOST * MOST];
    unsigned reach[MOST]; /* bit v: an edge to right vertex v */
} edges_t;

/* An edge at about every one_in-th place. */
static spmm_bipartite_t draw(edges_t *e, int32_t n_left, int32_t n_right, int one_in, uint64_t seed)
{
    int64_t n = 0;

    for (int32_t u = 0; u < n_left; u++) {
        e->ptr[u]   = n;
        e->reach[u] = 0;
        for (int32_t v = 0; v < n_right; v++) {
            if (spmmi_hash2(seed, u, v) % (uint64_t)one_in == 0) {
                e->right[n++] = v;
                e->reach[u] |= 1u << v;
            }
        }
    }
    e->ptr[n_left] = n;
    return (spmm_bipartite_t){n_left, n_right, e->ptr, e->right};
}

/* For each choice of left vertices the right ones that the others need. */
static int64_t least_of_all(const edges_t *e, int32_t n_left)
{
    int64_t least = INT64_MAX;

    for (unsigned taken = 0; taken < 1u << n_left; taken++) {
        unsigned need = 0;
        int64_t  count;

        for (int32_t u = 0; u < n_left; u++) {
            need |= (taken >> u & 1u) != 0 ? 0 : e->reach[u];
        }
        count = __builtin_popcount(taken) + __builtin_popcount(need);
        least = count < least ? count : least;
    }
    return least;
}

/* @return vertices of the cover, which covers every edge */
static int64_t check_cover(const spmm_bipartite_t *g)
{
    bool   *left = malloc((size_t)g->n_left + 1), *right = malloc((size_t)g->n_right + 1);
    int64_t count, seen                                  = 0;

    spmm_assert_ok(spmmi_cover_least(&spmm_test_env.err, g, left, right, &count));
    for (int32_t u = 0; u < g->n_left; u++) {
        seen += left[u];
        for (int64_t k = g->ptr[u]; k < g->ptr[u + 1]; k++) {
            assert_true(left[u] || right[g->right[k]]);
        }
    }
    for (int32_t v = 0; v < g->n_right; v++) {
        seen += right[v];
    }
    assert_int_equal(count, seen);
    spmm_test_free(left, right);
    return count;
}

static void test_against_all(void **state)
{
    for (uint64_t seed = 0; seed < 300; seed++) {
        const int32_t          n_left = (int32_t)(seed % (MOST + 1)), n_right = (int32_t)(seed % 7);
        edges_t                e;
        const spmm_bipartite_t g = draw(&e, n_left, n_right + 3, 1 + (int)(seed % 5), seed);

        assert_int_equal(check_cover(&g), least_of_all(&e, n_left));
    }
}

/* Left u has edges to right u and u + 1, the last to its own alone: the first choices of all but
 * the last must be undone one after the other where right vertices are named backwards. */
static void test_long_paths(void **state)
{
    enum { LONG = 5000 };
    int64_t *ptr   = malloc((LONG + 1) * sizeof *ptr);
    int32_t *right = malloc(2 * LONG * sizeof *right);
    int64_t  n     = 0;

    for (int32_t u = 0; u < LONG; u++) {
        ptr[u]     = n;
        right[n++] = u + 1 < LONG ? u + 1 : 1;
        if (u + 1 < LONG) {
            right[n++] = u;
        }
    }
    ptr[LONG] = n;
    assert_int_equal(check_cover(&(spmm_bipartite_t){LONG, LONG, ptr, right}), LONG);
    spmm_test_free(ptr, right);
}

/* A row that all columns are in, and a column that all rows are in: two vertices. */
static void test_hubs(void **state)
{
    enum { SIDE = 1000 };
    int64_t *ptr   = malloc((SIDE + 1) * sizeof *ptr);
    int32_t *right = malloc(2 * SIDE * sizeof *right);
    int64_t  n     = 0;

    for (int32_t u = 0; u < SIDE; u++) {
        ptr[u] = n;
        for (int32_t v = 0; v < (u == 7 ? SIDE : 1); v++) {
            right[n++] = u == 7 ? v : 11;
        }
    }
    ptr[SIDE] = n;
    assert_int_equal(check_cover(&(spmm_bipartite_t){SIDE, SIDE, ptr, right}), 2);
    spmm_test_free(ptr, right);
}

static void test_without_memory(void **state)
{
    edges_t                e;
    const spmm_bipartite_t g = draw(&e, 3, 3, 1, 1);
    bool                   left[3], right[3];

    for (int k = 0; k < 2; k++) {
        spmmi_alloc_inject(k);
        spmm_assert_error(spmmi_cover_least(&spmm_test_env.err, &g, left, right, NULL),
                          SPMM_ERR_MEMORY, "a cover of entries");
    }
    spmmi_alloc_inject(-1);
}

SPMM_TESTS(test_against_all, test_long_paths, test_hubs, test_without_memory);
