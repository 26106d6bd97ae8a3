/* SPDX-License-Identifier: Apache-2.0 */
/* test: RANKS 1 2 4 */
/** @file test_place.c  Which GPU each rank of a node takes; no GPU is needed. */
#include "test_main.h"

#include "device/place.h"

enum { MOST = SPMM_PLACE_DEVICES, RANKS = 8 };

/* Rows of ids: the GPUs that each rank sees; those taken, and how often before. */
static const struct {
    int      ranks;
    uint64_t ids[6][4], taken[6];
    int      before[6];
} cases[] = {
    /* All ranks see all. */
    {6,
     {{9, 8, 7, 6}, {9, 8, 7, 6}, {9, 8, 7, 6}, {9, 8, 7, 6}, {9, 8, 7, 6}, {9, 8, 7, 6}},
     {9, 8, 7, 6, 9, 8},
     {0, 0, 0, 0, 1, 1}},
    /* Each sees one. */
    {4, {{9}, {8}, {7}, {8}}, {9, 8, 7, 8}, {0, 0, 0, 1}},
    /* Ranks dealt out over two sockets in turn, each with the GPUs of its own. */
    {4, {{9, 8}, {7, 6}, {9, 8}, {7, 6}}, {9, 7, 8, 6}, {0}},
    /* CUDA_VISIBLE_DEVICES rotated by rank, a common way to give each its own as device 0. */
    {3, {{9, 8, 7}, {8, 7, 9}, {7, 9, 8}}, {9, 8, 7}, {0}},
    /* One sees none. */
    {2, {{0}, {9}}, {0, 9}, {0}},
};

static void test_choices(void **state)
{
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        uint64_t seen[RANKS * MOST] = {0}, taken[RANKS];

        for (int r = 0; r < cases[k].ranks; r++) {
            memcpy(seen + r * MOST, cases[k].ids[r], sizeof cases[k].ids[r]);
        }
        for (int r = 0; r < cases[k].ranks; r++) {
            int       n_before = -1;
            const int index    = spmmi_place_choose(seen, taken, r, &n_before);

            assert_int_equal(seen[r * MOST + index], cases[k].taken[r]);
            assert_int_equal(n_before, cases[k].before[r]);
        }
    }
}

/* The ranks of the test share a node. */
static void test_collective(void **state)
{
    spmm_env_t env        = {.comm = MPI_COMM_WORLD};
    uint64_t   mine[MOST] = {5, 4, 3};
    int        index = -1, n_before = -1;

    assert_int_equal(MPI_Comm_rank(env.comm, &env.rank), MPI_SUCCESS);
    assert_int_equal(MPI_Comm_size(env.comm, &env.size), MPI_SUCCESS);
    assert_int_equal(spmmi_place_device(&env, mine, &index, &n_before), SPMM_OK);
    assert_int_equal(index, env.rank % 3);
    assert_int_equal(n_before, env.rank / 3);
}

SPMM_TESTS(test_choices, test_collective);
