/* SPDX-License-Identifier: Apache-2.0 */
/* test: RANKS 1 2 3 4 */
/** @file test_comm.c  Agreement, and an all-to-all that breaks: test_layout.c has what it moves,
 *  test_limits.c the offsets. */
#include "test_main.h"

#include "base/alloc.h"
#include "base/comm.h"

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

SPMM_TESTS(test_alltoallv_fails_together, test_agree);
