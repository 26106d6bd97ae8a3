/* SPDX-License-Identifier: Apache-2.0 */
/* test: RANKS 1 4 8 */
/* Rows parted by nodes first: fewer cross the network, whatever shape the nodes have. */
#include "partition/partition.h"

#include "base/nodes.h"
#include "test_main.h"
#include "test_matrix.h"

/* Parts are cut with or without regard to the nodes, and counted with. */
static spmm_partition_score_t cut(const spmm_matrix_t *A, const char *method,
                                  const spmm_nodes_t *nodes, bool first)
{
    const spmm_partition_options_t options = {.seed = 1, .nodes = first ? nodes : NULL};
    spmm_partition_t               partition;
    spmm_partition_score_t         score;

    spmm_assert_ok(spmmi_partition_create(A, method, &options, &partition));
    for (int32_t i = 0; i < A->n_rows; i++) {
        assert_in_range(partition.row_part[i], 0, spmm_test_env.size - 1);
    }
    spmm_assert_ok(spmmi_partition_score(A, &partition, nodes, &score));
    spmmi_partition_free(&partition);
    return score;
}

static bool is_built(const char *method)
{
    for (int p = 0; p < spmmi_n_partitioners; p++) {
        if (strcmp(spmmi_partitioners[p]->name, method) == 0) {
            return spmmi_partitioners[p]->built;
        }
    }
    return false;
}

/* Nodes of @p lowest, or of @p per_node successive ranks. */
static spmm_nodes_t nodes_of(int per_node, const int *lowest)
{
    spmm_nodes_t nodes;

    spmm_assert_ok(
        lowest != NULL
            ? spmmi_nodes_create(&spmm_test_env.err, spmm_test_env.size, lowest, &nodes)
            : spmmi_nodes_split(&spmm_test_env.err, spmm_test_env.size, per_node, &nodes));
    return nodes;
}

/* @p most  rows over the network to those of a partition that knows no nodes */
static void check_nodes(const char *method, const spmm_matrix_t *A, spmm_nodes_t nodes, double most)
{
    if (is_built(method)) {
        const spmm_partition_score_t flat  = cut(A, method, &nodes, false);
        const spmm_partition_score_t first = cut(A, method, &nodes, true);

        if (spmm_test_env.rank == 0) {
            print_message("%s, %d nodes: network %lld, was %lld; halo %lld, was %lld; "
                          "imbalance %.3f\n",
                          method, nodes.count, (long long)first.network_total,
                          (long long)flat.network_total, (long long)first.halo_total,
                          (long long)flat.halo_total, first.imbalance);
        }
        assert_true((double)first.network_total <= most * (double)flat.network_total);
        assert_true((double)first.halo_total <= 1.25 * (double)flat.halo_total);
        assert_true(first.imbalance <= 1.05);
    }
    spmmi_nodes_free(&nodes);
}

/* Successive ranks get neighbouring parts of both as it is; ranks that are dealt out to nodes in
 * turn do not, nor do nodes of 3, 3 and 2 ranks. */
static void test_grid(void **state)
{
    static const int in_turn[8] = {0, 1, 0, 1, 0, 1, 0, 1};
    const bool       many       = spmm_test_env.size == 8;
    spmm_matrix_t   *A = spmm_test_generate(&spmm_test_env, "stencil9:nx=120,ny=120,shuffle=1", 1);

    check_nodes("metis", A, nodes_of(2, NULL), 1.2);
    check_nodes("metis", A, nodes_of(3, NULL), many ? 0.9 : 1.2);
    check_nodes("metis", A, nodes_of(1, NULL), 1.0);
    if (many) {
        check_nodes("metis", A, nodes_of(0, in_turn), 0.6);
        check_nodes("ptscotch", A, nodes_of(0, in_turn), 0.6);
    }
    spmmi_matrix_free(A);
}

/* Graphs that are small, empty or not square: parts are checked like all. */
static void test_rules(void **state)
{
    spmm_nodes_t nodes = nodes_of(2, NULL);

    for (int r = 0; spmm_test_rules[r].name != NULL && is_built("metis"); r++) {
        spmm_matrix_t *A = spmm_test_matrix(&spmm_test_rules[r], SPMM_TEST_EVEN, SPMM_TEST_EVEN);

        (void)cut(A, "metis", &nodes, true);
        (void)cut(A, "auto", &nodes, true);
        spmmi_matrix_free(A);
    }
    spmmi_nodes_free(&nodes);
}

SPMM_TESTS(test_grid, test_rules);
