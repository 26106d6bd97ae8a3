/* SPDX-License-Identifier: Apache-2.0 */
/* test: RANKS 1 2 SANITIZED SPMM_TEST_SMALL=1 */
/** @file test_plan_memory.c
 *  Bytes an entry that plans on CPUs hold, and that the process has at the peak while one is made,
 *  as Linux counts them (VmHWM).  With SPMM_TEST_SMALL in the environment, for sanitizers, which
 *  take memory themselves, only what plans say.  B has one column: rows in exchange are few bytes.
 */
#include "test_context.h"

#include <stdio.h>

enum { ROWS = 150000 }; /* of a rank, with ten entries or so each */

/* Bytes of a line of /proc/self/status, 0 where there is none. */
static int64_t status_of(const char *name)
{
    FILE   *file = fopen("/proc/self/status", "r");
    char    line[256];
    int64_t found = 0;

    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        if (strncmp(line, name, strlen(name)) == 0) {
            found = 1024 * (int64_t)strtol(line + strlen(name), NULL, 10);
        }
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    return found;
}

/* The peak begins anew.  False: not on this system. */
static bool forget_peak(void)
{
    FILE *file = fopen("/proc/self/clear_refs", "w");
    bool  done = file != NULL && fputs("5", file) >= 0;

    return file != NULL && fclose(file) == 0 && done && getenv("SPMM_TEST_SMALL") == NULL;
}

/* @p most: bytes an entry that the plan may hold */
static void check(const char *pattern, const char *partition, int64_t most)
{
    const int64_t      room = 4 << 20; /* messages of MPI, and what malloc rounds */
    const int64_t      base = status_of("VmRSS:");
    spmm_plan_stats_t  stats;
    spmm_matrix_info_t info = {.struct_size = sizeof info};
    spmm_context_t    *ctx  = NULL;
    spmm_matrix_t     *A    = NULL;
    spmm_plan_t       *plan = NULL;
    char               spec[128];
    bool               counts;

    (void)snprintf(spec, sizeof spec, pattern, ROWS * spmm_test_env.size);
    test_context_open(&ctx);
    spmm_assert_ok(spmm_matrix_generate(ctx, spec, SPMM_R_64F, 1, &A));
    spmm_assert_ok(spmm_matrix_get_info(A, &info));
    counts = forget_peak();
    plan   = test_context_plan(A, 1, .partition = partition);
    stats  = test_context_stats(plan);
    print_message("%s, %s: plan %.1f, peak %.1f bytes an entry\n", spec, partition,
                  (double)stats.host_bytes / (double)info.local_nnz,
                  (double)(status_of("VmHWM:") - base) / (double)info.local_nnz);
    assert_true((int64_t)stats.host_bytes <= most * info.local_nnz);
    assert_true(!counts || status_of("VmHWM:") - base <= 45 * info.local_nnz + room);
    test_context_destroy(&plan, &A, &ctx);
}

static void test_near(void **state)
{
    check("banded:rows=%d,band=5", "keep", 19);
    check("banded:rows=%d,band=5", "block", 19);
}

/* Nearly every row of B is needed: numbers of rows, and rows in exchange, count. */
static void test_anywhere(void **state)
{
    check("uniform:rows=%d,degree=10", "keep", 23);
    check("uniform:rows=%d,degree=10", "block", 23);
}

SPMM_TESTS(test_near, test_anywhere);
