/* SPDX-License-Identifier: Apache-2.0 */
/* test: RANKS 1 2 3 4 */
/* The distributed graph against its definition, evaluated on the whole matrix. */
#include "partition/ptscotch/dist_graph.h"

#include "base/comm.h"
#include "test_main.h"
#include "test_matrix.h"

static int64_t row_vertex(const spmm_matrix_t *A, int64_t i)
{
    const int p = spmmi_owner(A->row_offset, A->env->size, i);

    return spmmi_matrix_is_square(A) ? i : A->col_offset[p] + i;
}

static int64_t column_vertex(const spmm_matrix_t *A, int64_t j)
{
    const int p = spmmi_owner(A->col_offset, A->env->size, j);

    return spmmi_matrix_is_square(A) ? j : A->row_offset[p + 1] + j;
}

static void expect_neighbours(const spmm_dist_graph_t *graph, int64_t v, const int64_t *expected,
                              int64_t count)
{
    assert_int_equal(graph->ptr[v + 1] - graph->ptr[v], count);
    assert_memory_equal(graph->adj + graph->ptr[v], expected, (size_t)count * sizeof *expected);
}

static void check_row(const spmm_test_rule_t *rule, const spmm_matrix_t *A,
                      const spmm_dist_graph_t *graph, int32_t local)
{
    const bool    square = spmmi_matrix_is_square(A);
    const int64_t i      = A->row_offset[A->env->rank] + local;
    int64_t       expected[512], count = 0;

    for (int64_t j = 0; j < rule->cols; j++) {
        if (square ? i != j && (rule->has(i, j) || rule->has(j, i)) : rule->has(i, j)) {
            expected[count++] = column_vertex(A, j);
        }
    }
    expect_neighbours(graph, local, expected, count);
}

static void check_column(const spmm_test_rule_t *rule, const spmm_matrix_t *A,
                         const spmm_dist_graph_t *graph, int32_t local)
{
    const int64_t j = A->col_offset[A->env->rank] + local;
    int64_t       expected[512], count = 0;

    for (int64_t i = 0; i < rule->rows; i++) {
        if (rule->has(i, j)) {
            expected[count++] = row_vertex(A, i);
        }
    }
    expect_neighbours(graph, (int64_t)A->n_rows + local, expected, count);
}

static void check_edges(const spmm_test_rule_t *rule, const spmm_matrix_t *A)
{
    const bool        square = spmmi_matrix_is_square(A);
    const int64_t     live   = spmmi_alloc_get_stats().live;
    spmm_dist_graph_t graph;
    int64_t           all[2];

    assert_true(rule->rows <= 512 && rule->cols <= 512);
    spmm_assert_ok(spmmi_dist_graph_create(A, "a partitioner", INT64_MAX, &graph));
    assert_int_equal(graph.n_vertices, square ? A->n_rows : A->n_rows + A->n_cols);
    for (int32_t i = 0; i < A->n_rows; i++) {
        check_row(rule, A, &graph, i);
    }
    for (int32_t j = 0; !square && j < A->n_cols; j++) {
        check_column(rule, A, &graph, j);
    }
    all[0] = graph.n_vertices;
    all[1] = graph.ptr[graph.n_vertices];
    MPI_Allreduce(MPI_IN_PLACE, all, 2, MPI_INT64_T, MPI_SUM, spmm_test_env.comm);
    assert_int_equal(graph.all_vertices, all[0]);
    assert_int_equal(graph.all_edges, all[1]);
    spmmi_dist_graph_free(&graph);
    assert_int_equal(spmmi_alloc_get_stats().live, live);
}

static void test_edges(void **state)
{
    spmm_test_all_matrices(check_edges);
}

/* No vertex is heavier than a part.  Where no row is, a row of a square matrix weighs its entries;
 * of others all columns together weigh a 64th of the rows at most. */
static void check_weights(const spmm_test_rule_t *rule, const spmm_matrix_t *A)
{
    const bool        square = spmmi_matrix_is_square(A);
    spmm_dist_graph_t graph;
    int64_t           heaviest = 0, sum[2] = {0, 0}; /* rows, columns */

    spmm_assert_ok(spmmi_dist_graph_create(A, "a partitioner", INT64_MAX, &graph));
    for (int64_t v = 0; v < graph.n_vertices; v++) {
        assert_true(graph.weight[v] >= 1);
        heaviest = graph.weight[v] > heaviest ? graph.weight[v] : heaviest;
        sum[v >= A->n_rows] += graph.weight[v];
    }
    MPI_Allreduce(MPI_IN_PLACE, &heaviest, 1, MPI_INT64_T, MPI_MAX, spmm_test_env.comm);
    MPI_Allreduce(MPI_IN_PLACE, sum, 2, MPI_INT64_T, MPI_SUM, spmm_test_env.comm);
    assert_true(heaviest <= (sum[0] + sum[1]) / spmm_test_env.size + 1);
    for (int32_t i = 0; square && i < A->n_rows; i++) {
        const int64_t length = A->row_ptr[i + 1] - A->row_ptr[i];

        assert_true(graph.weight[i] == heaviest || graph.weight[i] == (length > 1 ? length : 1));
    }
    assert_true(square || A->nnz == 0 || spmm_test_env.size > 1 || sum[1] <= sum[0] / 64 + 1);
    spmmi_dist_graph_free(&graph);
}

static void test_weights(void **state)
{
    spmm_test_all_matrices(check_weights);
}

/* More vertices or edges than the partitioner's integers hold. */
static void check_limit(const spmm_test_rule_t *rule, const spmm_matrix_t *A)
{
    const int64_t     live     = spmmi_alloc_get_stats().live;
    const int64_t     vertices = spmmi_matrix_is_square(A) ? A->rows : A->rows + A->cols;
    spmm_dist_graph_t graph;
    int64_t           edges;

    spmm_assert_ok(spmmi_dist_graph_create(A, "a partitioner", INT64_MAX, &graph));
    edges = graph.all_edges;
    spmmi_dist_graph_free(&graph);
    if (edges > vertices) {
        spmm_assert_error(spmmi_dist_graph_create(A, "a partitioner", edges - 1, &graph),
                          SPMM_ERR_UNSUPPORTED, "edges, too many for this a partitioner");
    }
    if (vertices > 1) {
        spmm_assert_error(spmmi_dist_graph_create(A, "a partitioner", vertices - 1, &graph),
                          SPMM_ERR_UNSUPPORTED, "vertices at least");
    }
    assert_int_equal(spmmi_alloc_get_stats().live, live);
}

static void test_limits(void **state)
{
    spmm_test_all_matrices(check_limit);
}

/* Of each vertex a number that says who its neighbours are: the sum of their weights and
 * degrees. */
static int32_t *fingerprints(const spmm_dist_graph_t *graph)
{
    const int size = spmm_test_env.size, mine = (int)graph->n_vertices;
    int       count[64], start[64];
    int32_t  *local, *all, *sum;

    assert_true(size <= 64);
    assert_non_null(SPMM_NEW(local, graph->n_vertices));
    assert_non_null(SPMM_NEW(all, graph->all_vertices));
    assert_non_null(SPMM_NEW_ZERO(sum, graph->n_vertices));
    for (int64_t v = 0; v < graph->n_vertices; v++) {
        local[v] = (int32_t)(1000 * graph->weight[v] + graph->ptr[v + 1] - graph->ptr[v]);
    }
    MPI_Allgather(&mine, 1, MPI_INT, count, 1, MPI_INT, spmm_test_env.comm);
    for (int p = 0; p < size; p++) {
        start[p] = p == 0 ? 0 : start[p - 1] + count[p - 1];
    }
    assert_int_equal(start[spmm_test_env.rank], graph->first);
    MPI_Allgatherv(local, mine, MPI_INT32_T, all, count, start, MPI_INT32_T, spmm_test_env.comm);
    for (int64_t v = 0; v < graph->n_vertices; v++) {
        sum[v] = 7 * local[v];
        for (int64_t k = graph->ptr[v]; k < graph->ptr[v + 1]; k++) {
            assert_in_range(graph->adj[k], 0, graph->all_vertices - 1);
            sum[v] += all[graph->adj[k]];
        }
    }
    spmmi_free_all(local, all);
    return sum;
}

/* The same graph under other numbers, evenly split, and each vertex comes back to where it was. */
static void check_deal(const spmm_test_rule_t *rule, const spmm_matrix_t *A)
{
    const int64_t     live = spmmi_alloc_get_stats().live;
    spmm_dist_graph_t graph;
    spmm_deal_t       deal;
    int32_t          *before, *dealt, *after;
    int64_t           edges;

    spmm_assert_ok(spmmi_dist_graph_create(A, "a partitioner", INT32_MAX, &graph));
    before = fingerprints(&graph);
    spmm_assert_ok(spmmi_dist_graph_deal(&spmm_test_env, &graph, &deal));
    assert_in_range(graph.n_vertices, graph.all_vertices / spmm_test_env.size,
                    graph.all_vertices / spmm_test_env.size + 1);
    edges = graph.ptr[graph.n_vertices];
    MPI_Allreduce(MPI_IN_PLACE, &edges, 1, MPI_INT64_T, MPI_SUM, spmm_test_env.comm);
    assert_int_equal(edges, graph.all_edges);
    dealt = fingerprints(&graph);
    assert_non_null(SPMM_NEW(after, deal.n_vertices));
    spmm_assert_ok(spmmi_deal_collect(&spmm_test_env, &deal, dealt, after));
    assert_memory_equal(before, after, (size_t)deal.n_vertices * sizeof *after);
    spmmi_free_all(before, dealt, after);
    spmmi_deal_free(&deal);
    spmmi_dist_graph_free(&graph);
    assert_int_equal(spmmi_alloc_get_stats().live, live);
}

/* Stacks of 1 in the small ones, of more in the grid; both leave some behind. */
static void test_deal(void **state)
{
    spmm_matrix_t *grid = spmm_test_generate(&spmm_test_env, "stencil9:nx=61,ny=53", 1);

    spmm_test_all_matrices(check_deal);
    check_deal(NULL, grid);
    spmmi_matrix_free(grid);
}

SPMM_TESTS(test_edges, test_weights, test_limits, test_deal);
