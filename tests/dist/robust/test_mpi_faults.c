/* SPDX-License-Identifier: Apache-2.0 */
/* test: RANKS 1 3 NEEDS ZLIB_FOUND ENV SPMM_CHECK=0 SANITIZED SPMM_TEST_STRIDE=11
 *      INCLUDE tests
 *      SOURCES tests/faults/faults.c tests/faults/faults_mpi.c */
/** @file test_mpi_faults.c  Every MPI call of the library fails once, the same one on all ranks:
 *  SPMM_ERR_COMM (of files SPMM_ERR_IO) and one sentence on all of them, nothing leaks, nothing
 *  crashes, nothing waits. */
#include "walk.h"

#include <unistd.h>

#include "faults/faults.h"
#include "temp_file.h"

enum { SECONDS = 60 }; /* for one walk that hangs */

typedef struct {
    const char   *call;
    spmm_status_t status;
} fault_t;

static const fault_t faults[] = {
    {"MPI_Allreduce", SPMM_ERR_COMM},
    {"MPI_Exscan", SPMM_ERR_COMM},
    {"MPI_Bcast", SPMM_ERR_COMM},
    {"MPI_Allgather", SPMM_ERR_COMM},
    {"MPI_Alltoall", SPMM_ERR_COMM},
    {"MPI_Barrier", SPMM_ERR_COMM},
    {"MPI_Ibarrier", SPMM_ERR_COMM},
    {"MPI_Comm_dup", SPMM_ERR_COMM},
    {"MPI_Comm_idup", SPMM_ERR_COMM},
    {"MPI_Iallreduce", SPMM_ERR_COMM},
    {"MPI_Comm_split_type", SPMM_ERR_COMM},
    {"MPI_Comm_rank", SPMM_ERR_COMM},
    {"MPI_Comm_size", SPMM_ERR_COMM},
    {"MPI_Comm_set_errhandler", SPMM_ERR_COMM},
    {"MPI_Get_processor_name", SPMM_ERR_COMM},
    {"MPI_Test", SPMM_ERR_COMM},
    {"MPI_Test of a barrier", SPMM_ERR_COMM},
    {"MPI_Get_count", SPMM_ERR_COMM},
    {"MPI_File_open", SPMM_ERR_IO},
    {"MPI_File_read_at", SPMM_ERR_IO},
    {"end of file", SPMM_ERR_IO},
    {"short read", SPMM_OK},
};

static void check_sentence(const fault_t *fault, int64_t k, spmm_status_t status)
{
    const char *text = spmmi_error_thread_text();

    if (status != fault->status) {
        print_error("rank %d, %s %lld: status %d: %s\n", spmm_test_env.rank, fault->call,
                    (long long)k, (int)status, text);
    }
    assert_int_equal(status, fault->status);
    assert_true(status == SPMM_OK || text[0] != '\0');
}

/* False: the walk has no k-th such call. */
static bool fail_one(const walk_t *walk, const fault_t *fault, int64_t k)
{
    const spmm_alloc_stats_t before = spmmi_alloc_get_stats();
    held_t                   h      = {0};
    spmm_status_t            status;
    bool                     reached;

    faults_arm(fault->call, k);
    (void)alarm(SECONDS);
    status = walk_open(walk, &h);
    if (status == SPMM_OK) {
        status = walk_go(walk, &h);
    }
    reached = faults_met() > k;
    faults_arm(NULL, -1);
    if (reached) {
        check_sentence(fault, k, status);
    } else { /* another rank may have sent more messages, and failed */
        assert_true(status == SPMM_OK || status == fault->status);
    }
    walk_drop(&h);
    walk_close(&h);
    (void)alarm(0);
    if (spmmi_alloc_get_stats().live != before.live) {
        print_error("rank %d, %s %lld: %lld blocks leaked\n", spmm_test_env.rank, fault->call,
                    (long long)k, (long long)(spmmi_alloc_get_stats().live - before.live));
    }
    assert_true(spmmi_alloc_get_stats().live == before.live);
    return reached;
}

/* SPMM_TEST_STRIDE lets only every so many-th call fail. */
static void fail_each(const walk_t *walk)
{
    const int64_t stride = spmm_test_number("SPMM_TEST_STRIDE", 1);
    int64_t       total  = 0;

    for (size_t f = 0; f < sizeof faults / sizeof *faults; f++) {
        int64_t k = 0;
        int     more;

        do { /* ranks differ in how many messages they send */
            more = fail_one(walk, &faults[f], k);
            k += stride;
            total += more;
            PMPI_Allreduce(MPI_IN_PLACE, &more, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
        } while (more);
    }
    if (spmm_test_env.rank == 0) {
        print_message("%lld faults\n", (long long)total);
    }
    assert_true(total > 10);
}

static void test_walks(void **state)
{
    static const char   market[] = "%%MatrixMarket matrix coordinate real symmetric\n5 5 6\n"
                                   "1 1 2.0\n2 1 -1.0\n3 2 -1.0\n4 3 -1.0\n5 4 -1.0\n5 5 2.0\n";
    static const walk_t walks[]  = {
         {.options = {.engine = NULL}}, /* from arrays */
         {.spec = "stencil9:nx=6,ny=5,shuffle=1", .options = {.partition = "auto"}},
#ifdef SPMM_HAVE_PTSCOTCH /* the calls around it; its own it makes as they are */
        {.spec = "stencil9:nx=9,ny=8,shuffle=1", .options = {.partition = "ptscotch"}},
#endif
    };
    walk_t walk;

    for (size_t k = 0; k < sizeof walks / sizeof walks[0]; k++) {
        walk                     = walks[k];
        walk.options.struct_size = sizeof walk.options;
        fail_each(&walk);
    }
    walk = (walk_t){.options = SPMM_PLAN_OPTIONS_INIT, .path = walk_binary_csr()};
    fail_each(&walk);
    walk.path              = spmm_temp_write(market, sizeof market - 1);
    walk.options.partition = "block";
    walk.options.op        = SPMM_OP_T;
    fail_each(&walk);
}

SPMM_TESTS(test_walks);
