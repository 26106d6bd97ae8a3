/* SPDX-License-Identifier: Apache-2.0 */
/* test: RANKS 1 2 3 4 */
/** @file test_network.c  What the ways between ranks cost: measured, kept, and in predictions. */
#include "test_context.h"

#include "api/context.h"
#include "device/network.h"

enum { PATH_BYTES = 64 };
static char folder[PATH_BYTES] = "/tmp/spmm_network_XXXXXX";

static void assert_close(double a, double b, double most)
{
    assert_true(fabs(a - b) <= most);
}

static void check_sane(const spmm_network_t *network, bool within)
{
    for (int way = within ? SPMM_WITHIN : SPMM_BETWEEN; way < SPMM_WAYS; way++) {
        assert_true(network->latency_s[way] > 1e-8 && network->latency_s[way] < 10.0);
        assert_true(network->message_s[way] >= 0.0 && network->message_s[way] < 10.0);
        assert_true(network->rate[way] > 1e3 && network->rate[way] < 1e13);
    }
    assert_true(network->alone > 1e3 && network->alone < 1e13);
}

/* Measured by the first context, the same on all ranks, and taken from the file by the next. */
static void test_measured_once(void **state)
{
    const int per_node = spmm_test_env.size > 2 ? 2 : 1;

    assert_int_equal(unsetenv("SPMM_CALIBRATE"), 0);
    for (int run = 0; run < 2; run++) {
        static spmm_network_t first;
        spmm_context_t       *ctx     = test_context_on(spmm_test_env.comm, per_node);
        spmm_network_t        network = ctx->device.network, root = network;

        if (spmm_test_env.size == 1) { /* one node: nothing to know */
            assert_true(network.rate[SPMM_BETWEEN] == 0.0);
        } else {
            check_sane(&network, per_node > 1);
            MPI_Bcast(&root, sizeof root, MPI_BYTE, 0, spmm_test_env.comm);
            assert_memory_equal(&network, &root, sizeof root);
        }
        for (int way = 0; way < SPMM_WAYS && run > 0; way++) { /* whole numbers in the file */
            assert_close(network.latency_s[way], first.latency_s[way], 1e-9);
            assert_close(network.rate[way], first.rate[way], 1.0);
        }
        first = network;
        spmm_assert_ok(spmm_context_destroy(&ctx));
    }
}

static void test_typical(void **state)
{
    spmm_context_t *ctx;

    assert_int_equal(setenv("SPMM_CALIBRATE", "0", 1), 0);
    ctx = test_context_on(spmm_test_env.comm, 1);
    if (spmm_test_env.size > 1) {
        check_sane(&ctx->device.network, true);
        assert_true(ctx->device.network.rate[SPMM_BETWEEN] == 22e9);
    }
    spmm_assert_ok(spmm_context_destroy(&ctx));
    assert_int_equal(unsetenv("SPMM_CALIBRATE"), 0);
}

static void test_time(void **state)
{
    const spmm_network_t network = {
        .latency_s = {1.0, 10.0}, .message_s = {0.5, 2.0}, .rate = {100.0, 4.0}, .alone = 10.0};
    const spmm_load_t none = {0, 0.0, 40.0};
    const spmm_load_t busy = {3, 200.0, 40.0}; /* this rank more than its node */
    const spmm_load_t idle = {1, 20.0, 40.0};  /* the others of the node more */

    assert_true(spmmi_network_time(&network, SPMM_BETWEEN, &none) == 0.0);
    assert_true(spmmi_network_time(&network, SPMM_WITHIN, &busy) == 1.0 + 2 * 0.5 + 2.0);
    assert_true(spmmi_network_time(&network, SPMM_BETWEEN, &busy) == 10.0 + 2 * 2.0 + 20.0);
    assert_true(spmmi_network_time(&network, SPMM_BETWEEN, &idle) == 10.0 + 10.0);
}

/* Each rank gets row p of each rank p: transport mpi-host by the costs of both ways. */
static void test_transport(void **state)
{
    const int       size = spmm_test_env.size, rank = spmm_test_env.rank;
    const int       per_node = 2, at_home = rank / 2 == size / 2 ? size % 2 : 2;
    spmm_context_t *ctx     = test_context_on(spmm_test_env.comm, per_node);
    spmm_network_t *network = &ctx->device.network;
    int64_t         offset[5], need[4];
    int             n_need = 0;
    spmm_halo_t     halo;
    double          seconds;

    for (int p = 0; p <= size; p++) {
        offset[p] = p;
        if (p < size && p != rank) {
            need[n_need++] = p;
        }
    }
    spmm_assert_ok(spmmi_halo_create(&ctx->env, offset, need, n_need, &halo));
    assert_int_equal(halo.node_rows, at_home * (size - at_home));
    seconds = spmmi_transport_find("mpi-host")->cost(&halo, 1000, &ctx->device);
    if (size > 2) {
        const spmm_load_t within  = {at_home - 1, 1000.0 * (at_home - 1), 0.0};
        const spmm_load_t between = {size - at_home, 1000.0 * (size - at_home),
                                     1000.0 * (size - at_home)};

        assert_close(seconds,
                     spmmi_network_time(network, SPMM_WITHIN, &within) +
                         spmmi_network_time(network, SPMM_BETWEEN, &between),
                     1e-15);
    }
    spmmi_halo_free(&halo);
    spmm_assert_ok(spmm_context_destroy(&ctx));
}

void spmm_test_set_up(void)
{
    static bool made = false;

    if (!made && spmm_test_env.rank == 0) {
        made = true;
        assert_non_null(mkdtemp(folder));
        assert_int_equal(setenv("SPMM_CACHE_DIR", folder, 1), 0);
    }
}

static void test_clean_up(void **state)
{
    char command[2 * PATH_BYTES];

    if (spmm_test_env.rank == 0) {
        (void)snprintf(command, sizeof command, "rm -r %s", folder);
        assert_int_equal(system(command), 0);
    }
}

SPMM_TESTS(test_measured_once, test_typical, test_time, test_transport, test_clean_up);
