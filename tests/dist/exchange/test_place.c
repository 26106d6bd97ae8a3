/* SPDX-License-Identifier: Apache-2.0 */
/* test: RANKS 1 2 4 */
/** @file test_place.c  Which GPU each rank of a node takes; no GPU is needed. */
#include "test_main.h"

#include "device/place.h"

enum { MOST = SPMM_PLACE_DEVICES, RANKS = 8 };

/* Row r: ids of the GPUs that rank r sees; expected: the ids taken, and how often before. */
static void check(int ranks, const uint64_t ids[][4], const uint64_t *expected, const int *before)
{
    uint64_t seen[RANKS * MOST] = {0}, taken[RANKS];

    for (int r = 0; r < ranks; r++) {
        memcpy(seen + r * MOST, ids[r], sizeof ids[r]);
    }
    for (int r = 0; r < ranks; r++) {
        int       n_before = -1;
        const int index    = spmmi_place_choose(seen, taken, r, &n_before);

        assert_int_equal(seen[r * MOST + index], expected[r]);
        assert_int_equal(n_before, before[r]);
    }
}

static void test_all_visible(void **state)
{
    const uint64_t ids[6][4] = {{9, 8, 7, 6}, {9, 8, 7, 6}, {9, 8, 7, 6},
                                {9, 8, 7, 6}, {9, 8, 7, 6}, {9, 8, 7, 6}};

    check(6, ids, (const uint64_t[]){9, 8, 7, 6, 9, 8}, (const int[]){0, 0, 0, 0, 1, 1});
}

static void test_one_visible(void **state)
{
    const uint64_t ids[4][4] = {{9}, {8}, {7}, {8}};

    check(4, ids, (const uint64_t[]){9, 8, 7, 8}, (const int[]){0, 0, 0, 1});
}

/* Ranks dealt out over two sockets in turn, each with the GPUs of its own. */
static void test_near_visible(void **state)
{
    const uint64_t ids[4][4] = {{9, 8}, {7, 6}, {9, 8}, {7, 6}};

    check(4, ids, (const uint64_t[]){9, 7, 8, 6}, (const int[]){0, 0, 0, 0});
}

/* CUDA_VISIBLE_DEVICES rotated by rank, a common way to give each its own as device 0. */
static void test_rotated(void **state)
{
    const uint64_t ids[3][4] = {{9, 8, 7}, {8, 7, 9}, {7, 9, 8}};

    check(3, ids, (const uint64_t[]){9, 8, 7}, (const int[]){0, 0, 0});
}

static void test_none_visible(void **state)
{
    const uint64_t ids[2][4] = {{0}, {9}};

    check(2, ids, (const uint64_t[]){0, 9}, (const int[]){0, 0});
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

SPMM_TESTS(test_all_visible, test_one_visible, test_near_visible, test_rotated, test_none_visible,
           test_collective);
