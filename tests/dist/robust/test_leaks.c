/* SPDX-License-Identifier: Apache-2.0 */
/* test: RANKS 1 3 NEEDS ZLIB_FOUND */
/** @file test_leaks.c  Many contexts, matrices and plans, one after the other: no communicator,
 *  request, descriptor or block of memory is left.
 *
 *   SPMM_TEST_PLANS=K   default 200; scripts/nightly.sh makes 2,000 */
#include "walk.h"

#include <dirent.h>

/* What is open, by the profiling interface of MPI. */
static int communicators, requests;

#define MAKES(count, name, parameters, arguments)                                                  \
    int name parameters                                                                            \
    {                                                                                              \
        const int code = P##name arguments;                                                        \
                                                                                                   \
        (count) += code == MPI_SUCCESS;                                                            \
        return code;                                                                               \
    }

MAKES(communicators, MPI_Comm_dup, (MPI_Comm c, MPI_Comm *d), (c, d))
MAKES(communicators, MPI_Comm_split_type, (MPI_Comm c, int t, int k, MPI_Info i, MPI_Comm *d),
      (c, t, k, i, d))
MAKES(communicators, MPI_Intercomm_merge, (MPI_Comm c, int high, MPI_Comm *d), (c, high, d))
MAKES(requests, MPI_Ibarrier, (MPI_Comm c, MPI_Request *r), (c, r))
MAKES(requests, MPI_Ibcast, (void *a, int n, MPI_Datatype t, int root, MPI_Comm c, MPI_Request *r),
      (a, n, t, root, c, r))
MAKES(requests, MPI_Iallreduce,
      (const void *a, void *b, int n, MPI_Datatype t, MPI_Op o, MPI_Comm c, MPI_Request *r),
      (a, b, n, t, o, c, r))
MAKES(requests, MPI_Iexscan,
      (const void *a, void *b, int n, MPI_Datatype t, MPI_Op o, MPI_Comm c, MPI_Request *r),
      (a, b, n, t, o, c, r))
MAKES(requests, MPI_Iallgather,
      (const void *a, int n, MPI_Datatype t, void *b, int m, MPI_Datatype u, MPI_Comm c,
       MPI_Request *r),
      (a, n, t, b, m, u, c, r))
MAKES(requests, MPI_Ialltoall,
      (const void *a, int n, MPI_Datatype t, void *b, int m, MPI_Datatype u, MPI_Comm c,
       MPI_Request *r),
      (a, n, t, b, m, u, c, r))
MAKES(requests, MPI_Isend,
      (const void *a, int n, MPI_Datatype t, int to, int tag, MPI_Comm c, MPI_Request *r),
      (a, n, t, to, tag, c, r))
MAKES(requests, MPI_Irecv,
      (void *a, int n, MPI_Datatype t, int from, int tag, MPI_Comm c, MPI_Request *r),
      (a, n, t, from, tag, c, r))

int MPI_Comm_idup(MPI_Comm c, MPI_Comm *d, MPI_Request *r)
{
    communicators++;
    requests++;
    return PMPI_Comm_idup(c, d, r);
}

int MPI_Comm_free(MPI_Comm *c)
{
    communicators--;
    return PMPI_Comm_free(c);
}

/* Requests that end become MPI_REQUEST_NULL. */
static int open_of(int n, const MPI_Request r[])
{
    int count = 0;

    for (int k = 0; k < n; k++) {
        count += r[k] != MPI_REQUEST_NULL;
    }
    return count;
}

#define ENDS(name, n, r, parameters, arguments)                                                    \
    int name parameters                                                                            \
    {                                                                                              \
        const int before = open_of(n, r);                                                          \
        const int code   = P##name arguments;                                                      \
                                                                                                   \
        requests -= before - open_of(n, r);                                                        \
        return code;                                                                               \
    }

ENDS(MPI_Wait, 1, r, (MPI_Request * r, MPI_Status *s), (r, s))
ENDS(MPI_Test, 1, r, (MPI_Request * r, int *done, MPI_Status *s), (r, done, s))
ENDS(MPI_Request_free, 1, r, (MPI_Request * r), (r))
ENDS(MPI_Waitall, n, r, (int n, MPI_Request r[], MPI_Status s[]), (n, r, s))
ENDS(MPI_Testall, n, r, (int n, MPI_Request r[], int *done, MPI_Status s[]), (n, r, done, s))

typedef struct {
    int64_t communicators, requests, descriptors, blocks;
} open_t;

static open_t count_open(void)
{
    open_t open    = {communicators, requests, 0, spmmi_alloc_get_stats().live};
    DIR   *entries = opendir("/proc/self/fd");

    while (entries != NULL && readdir(entries) != NULL) {
        open.descriptors++;
    }
    if (entries != NULL) {
        (void)closedir(entries);
    }
    return open;
}

static void go(const char *path, int k)
{
    static const char *const ways[] = {NULL, "schedule=merged", "schedule=overlap",
                                       "schedule=overlap,chunks=2"};
    walk_t                   walk   = {.options = SPMM_PLAN_OPTIONS_INIT};
    held_t                   h      = {0};

    walk.options.tuning    = ways[k % 4];
    walk.options.op        = k % 4 == 1 || k % 2 == 0 ? SPMM_OP_N : SPMM_OP_T;
    walk.options.partition = k % 3 == 0 ? "block" : "keep";
    walk.timeout_s         = k % 4 == 0 ? 30.0 : 0.0;
    walk.path              = k % 7 == 0 ? path : NULL;
    walk.blocks            = k % 7 == 1;
    spmm_assert_ok(walk_open(&walk, &h));
    assert_true(communicators > 0);
    spmm_assert_ok(walk_go(&walk, &h));
    walk_drop(&h);
    walk_close(&h);
}

static void test_many_plans(void **state)
{
    const int64_t plans = spmm_test_number("SPMM_TEST_PLANS", 200);
    const char   *path  = walk_binary_csr();
    open_t        before, after;

    for (int k = 0; k < 8; k++) { /* what MPI opens once */
        go(path, k);
    }
    before = count_open();
    for (int k = 0; k < plans; k++) {
        go(path, k);
    }
    after = count_open();
    assert_memory_equal(&after, &before, sizeof before);
    assert_int_equal(after.requests, 0);
}

SPMM_TESTS(test_many_plans);
