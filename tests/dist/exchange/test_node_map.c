/* SPDX-License-Identifier: Apache-2.0 */
/* test: RANKS 1 2 3 4 */
/** @file test_node_map.c  Which ranks share a node: found, given, or of ranks not there. */
#include "test_context.h"

#include "base/nodes.h"

/* What holds of any nodes: each rank is where node and index say, ranks ascend. */
static void check_arrays(const spmm_nodes_t *nodes, int size)
{
    int most = 0;

    assert_int_equal(nodes->first[0], 0);
    assert_int_equal(nodes->first[nodes->count], size);
    for (int k = 0; k < nodes->count; k++) {
        assert_true(nodes->first[k] < nodes->first[k + 1]);
        for (int at = nodes->first[k]; at < nodes->first[k + 1]; at++) {
            assert_int_equal(nodes->node[nodes->rank[at]], k);
            assert_int_equal(nodes->index[nodes->rank[at]], at - nodes->first[k]);
            assert_true(at == nodes->first[k] || nodes->rank[at - 1] < nodes->rank[at]);
            most = at + 1 - nodes->first[k] > most ? at + 1 - nodes->first[k] : most;
        }
        assert_true(k == 0 || nodes->rank[nodes->first[k - 1]] < nodes->rank[nodes->first[k]]);
    }
    assert_int_equal(nodes->most, most);
}

/* Ranks dealt out over three nodes in turn, of which the last gets fewer. */
static void test_in_turn(void **state)
{
    const int    lowest[8] = {0, 1, 2, 0, 1, 2, 0, 1}, rank[8] = {0, 3, 6, 1, 4, 7, 2, 5};
    spmm_nodes_t nodes;

    spmm_assert_ok(spmmi_nodes_create(&spmm_test_env.err, 8, lowest, &nodes));
    check_arrays(&nodes, 8);
    assert_int_equal(nodes.count, 3);
    assert_memory_equal(nodes.rank, rank, sizeof rank);
    assert_true(spmmi_nodes_share(&nodes, 1, 7));
    assert_false(spmmi_nodes_share(&nodes, 1, 2));
    spmmi_nodes_free(&nodes);
    assert_true(spmmi_nodes_share(&nodes, 1, 2)); /* not known: all is one node */
}

static void test_successive(void **state)
{
    for (int size = 1; size <= 20; size++) {
        for (int per_node = 1; per_node <= 21; per_node++) {
            spmm_nodes_t nodes;

            spmm_assert_ok(spmmi_nodes_split(&spmm_test_env.err, size, per_node, &nodes));
            check_arrays(&nodes, size);
            assert_int_equal(nodes.count, (size + per_node - 1) / per_node);
            assert_int_equal(nodes.node[size - 1], (size - 1) / per_node);
            spmmi_nodes_free(&nodes);
        }
    }
}

/* The ranks of a test run on one machine. */
static void test_found(void **state)
{
    spmm_env_t *env = &spmm_test_env;

    spmm_assert_ok(spmmi_nodes_find(env, 0));
    check_arrays(&env->nodes, env->size);
    assert_int_equal(env->nodes.count, 1);
    spmmi_nodes_free(&env->nodes);
}

/* Through the context: a node of two successive ranks. */
static void test_given(void **state)
{
    spmm_context_options_t o    = SPMM_CONTEXT_OPTIONS_INIT;
    spmm_context_info_t    info = {.struct_size = sizeof info};
    spmm_context_t        *ctx;

    o.device         = SPMM_DEVICE_CPU;
    o.ranks_per_node = 2;
    spmm_assert_ok(spmm_context_create(spmm_test_env.comm, &o, &ctx));
    spmm_assert_ok(spmm_context_get_info(ctx, &info));
    assert_int_equal(info.nodes, (info.size + 1) / 2);
    assert_int_equal(info.node, info.rank / 2);
    spmm_assert_ok(spmm_context_destroy(&ctx));
}

SPMM_TESTS(test_in_turn, test_successive, test_found, test_given);
