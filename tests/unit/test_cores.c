/* SPDX-License-Identifier: Apache-2.0 */
/* test: RANKS 1 2 */
/** @file test_cores.c  Threads of ranks that share the cores of a node, or have some each. */
#include "test_main.h"

#include <omp.h>

#include "device/device.h"

enum { N_CORES = 16 };

/* Ranks are bound to @p width cores each, one behind the other, or all to the same when @p step is
 * 0. */
static int share(int ranks, int width, int step, int rank)
{
    int mine[N_CORES] = {0}, ranks_on[N_CORES] = {0};

    for (int r = 0; r < ranks; r++) {
        for (int c = r * step; c < r * step + width; c++) {
            ranks_on[c]++;
            mine[c] += r == rank;
        }
    }
    return spmmi_device_share(N_CORES, mine, ranks_on);
}

static void test_share(void **state)
{
    for (int rank = 0; rank < 4; rank++) {
        assert_int_equal(share(4, 16, 0, rank), 4); /* not bound */
        assert_int_equal(share(4, 4, 4, rank), 4);  /* bound, each to its own */
        assert_int_equal(share(4, 1, 1, rank), 1);
        assert_int_equal(share(4, 2, 0, rank), 1); /* more ranks than cores */
        assert_int_equal(share(4, 8, 0, rank), 2); /* a part of the node for all */
    }
    for (int rank = 0; rank < 3; rank++) {
        assert_int_equal(share(3, 9, 0, rank), 3);
        assert_int_equal(share(3, 16, 0, rank), 5);
    }
    assert_int_equal(share(2, 8, 4, 0), 6); /* half of what overlaps */
    assert_int_equal(share(1, 16, 0, 0), 16);
    assert_int_equal(share(1, 0, 0, 0), 1);
}

/* What the user says counts; else no more threads than cores. */
static void test_count(void **state)
{
    const char *const set     = getenv("OMP_NUM_THREADS");
    int               threads = 0;

    spmm_assert_ok(spmmi_device_count_threads(&spmm_test_env, &threads));
    if (set != NULL) {
        assert_int_equal(threads, omp_get_max_threads());
        assert_int_equal(unsetenv("OMP_NUM_THREADS"), 0);
    }
    spmm_assert_ok(spmmi_device_count_threads(&spmm_test_env, &threads));
    assert_in_range(threads, 1, omp_get_num_procs());
}

/* Of one rank, where all hear of it. */
static void test_too_many(void **state)
{
    const int     before = omp_get_max_threads();
    spmm_device_t device;

    for (int beyond = 0; beyond <= 1; beyond++) {
        omp_set_num_threads(SPMM_DEVICE_THREADS +
                            (spmm_test_env.rank == spmm_test_env.size - 1 ? beyond : 0));
        spmm_assert_error(spmmi_device_open(&spmm_test_env, SPMM_DEVICE_CPU, NULL, &device),
                          beyond == 0 ? SPMM_OK : SPMM_ERR_ARGUMENT,
                          beyond == 0 ? "" : "has 4097 OpenMP threads, and may have 4096");
        spmmi_device_close(&device);
    }
    omp_set_num_threads(before);
}

SPMM_TESTS(test_share, test_count, test_too_many);
