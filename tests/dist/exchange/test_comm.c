/* SPDX-License-Identifier: Apache-2.0 */
/* test: RANKS 1 2 3 4 */
/** @file test_comm.c  Agreement and the all-to-all of setup. */
#include "test_main.h"

#include "base/alloc.h"
#include "base/comm.h"

/* Rank p sends count(p, q) numbers f(p, q, k) to rank q. */
static int64_t count_of(int p, int q)
{
    return (p * 7 + q * 3) % 5 == 0 ? 0 : 1000 * p + 17 * q + 1;
}

static uint64_t number_of(int p, int q, int64_t k)
{
    return spmmi_hash2((uint64_t)(p * 64 + q), k, 1);
}

static void test_alltoallv(void **state)
{
    spmm_env_t *env    = &spmm_test_env;
    int64_t    *send   = spmm_test_calloc((size_t)env->size, sizeof *send);
    int64_t    *recv   = spmm_test_calloc((size_t)env->size, sizeof *recv);
    int64_t     n_send = 0, n_recv, at = 0;
    uint64_t   *out, *in;

    for (int q = 0; q < env->size; q++) {
        send[q] = count_of(env->rank, q);
        n_send += send[q];
    }
    out = spmm_test_malloc((size_t)(n_send + 1) * sizeof *out);
    for (int q = 0; q < env->size; q++) {
        for (int64_t k = 0; k < send[q]; k++) {
            out[at++] = number_of(env->rank, q, k);
        }
    }
    spmm_assert_ok(spmmi_alltoall_counts(env, send, recv, &n_recv));
    in = spmm_test_malloc((size_t)(n_recv + 1) * sizeof *in);
    spmm_assert_ok(spmmi_alltoallv(env, out, send, in, recv, sizeof *in));
    at = 0;
    for (int p = 0; p < env->size; p++) {
        assert_int_equal(recv[p], count_of(p, env->rank));
        for (int64_t k = 0; k < recv[p]; k++) {
            assert_true(in[at++] == number_of(p, env->rank, k));
        }
    }
    assert_true(at == n_recv);
    spmm_test_free(send, recv, out, in);
}

/* A message that breaks on one rank is an error of all: none goes on to the next collective. */
static void test_alltoallv_fails_together(void **state)
{
    spmm_env_t   *env    = &spmm_test_env;
    const int     last   = env->size - 1;
    int64_t      *send   = spmm_test_calloc((size_t)env->size, sizeof *send);
    int64_t      *recv   = spmm_test_calloc((size_t)env->size, sizeof *recv);
    const int64_t out[2] = {1, 2};
    int64_t       in[2];
    char          name[SPMM_RANK_NAME];

    if (env->size > 1) {
        send[last] = env->rank == 0 ? 2 : 0;
        recv[0]    = env->rank == last ? 1 : 0; /* one less than rank 0 sends */
        spmm_assert_ok(spmmi_gather_hosts(env));
        assert_int_equal(spmmi_alltoallv(env, out, send, in, recv, sizeof *in), SPMM_ERR_COMM);
        (void)spmmi_rank_name(env, 0, name);
        assert_non_null(strstr(name, "rank 0 on "));
        assert_non_null(strstr(env->err.text, name));
        assert_non_null(strstr(env->err.text, "runcated")); /* the cause, in words of any MPI */
        spmmi_error_clear(&env->err);
        spmmi_free(env->hosts);
        env->hosts = NULL;
    }
    spmm_test_free(send, recv);
}

static void test_agree(void **state)
{
    spmm_env_t *env = &spmm_test_env;
    char        text[64];

    assert_int_equal(spmmi_agree(env, SPMM_OK), SPMM_OK);
    for (int bad = 0; bad < env->size; bad++) {
        spmm_status_t mine = SPMM_OK;

        spmmi_error_clear(&env->err);
        if (env->rank >= bad) { /* the lowest failing rank speaks */
            mine = spmmi_fail(&env->err, env->rank == bad ? SPMM_ERR_IO : SPMM_ERR_MEMORY,
                              "broken on %d", env->rank);
        }
        assert_int_equal(spmmi_agree(env, mine), SPMM_ERR_IO);
        if (bad == 0) {
            (void)snprintf(text, sizeof text, "broken on 0");
        } else {
            (void)snprintf(text, sizeof text, "rank %d: broken on %d", bad, bad);
        }
        assert_string_equal(env->err.text, text);
    }
    spmmi_error_clear(&env->err);
}

static void test_offsets(void **state)
{
    spmm_env_t *env    = &spmm_test_env;
    int64_t    *offset = spmm_test_calloc((size_t)env->size + 1, sizeof *offset);

    spmm_assert_ok(spmmi_allgather_offsets(env, env->rank * ((int64_t)1 << 40), offset));
    for (int p = 0; p <= env->size; p++) {
        assert_true(offset[p] == (int64_t)p * (p - 1) / 2 * ((int64_t)1 << 40));
    }
    free(offset);
}

SPMM_TESTS(test_alltoallv, test_alltoallv_fails_together, test_agree, test_offsets);
