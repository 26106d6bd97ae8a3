/* SPDX-License-Identifier: Apache-2.0 */
/* test: RANKS 2 3 ENV SPMM_CHECK=0 */
/** @file test_late_rank.c  A rank is late for an exchange, and the others destroy their plans
 *  meanwhile, or give up their setup: messages that MPI cannot take back any more find their
 *  memory. */
#define _DEFAULT_SOURCE /* usleep() */
#include "test_context.h"

#include <unistd.h>

#include "base/comm.h"
#include "partition/partitioners.h"
#include "plan/plan.h"

enum { ROWS = 4, COLUMNS = 32768, BLOCKS = 4 }; /* messages of 1 MiB, which travel in pieces */

static spmm_context_t *ctx;

static double one(const void *what, int64_t i, int64_t j)
{
    return 1.0;
}

/* Every rank needs all rows of all others. */
static spmm_matrix_t *create_full(void)
{
    return test_context_rule(ctx, SPMM_R_64F, ROWS * spmm_test_env.rank, ROWS, ROWS,
                             ROWS * spmm_test_env.size, one, NULL);
}

/* Starts the exchange in time and makes no call of MPI for longer than the timeout. */
static void run_late(spmm_plan_t *plan, double *B, double *C)
{
    const spmm_operands_t x   = {.ab_type = SPMM_R_64F,
                                 .c_type  = SPMM_R_64F,
                                 .layout  = SPMM_LAYOUT_ROW,
                                 .n       = COLUMNS,
                                 .alpha   = {.re = 1.0},
                                 .B       = B,
                                 .ldb     = COLUMNS,
                                 .C       = C,
                                 .ldc     = COLUMNS};
    const spmm_slice_t    all = {.n = COLUMNS, .halo = plan->exchange.ghost_rows};

    spmm_assert_ok(spmmi_plan_begin_rows(plan, &x, &all, NULL));
    (void)usleep(1500000);
    (void)spmmi_plan_end_rows(plan, &x, &all, NULL); /* others may have come to it or not */
}

/* Memory where what was freed may have been. */
static void take_blocks(unsigned char *block[BLOCKS], size_t bytes)
{
    for (int k = 0; k < BLOCKS; k++) {
        block[k] = spmm_test_malloc(bytes);
        memset(block[k], 0x5a, bytes);
    }
}

/* Nobody wrote there. */
static void free_blocks(unsigned char *block[BLOCKS], size_t bytes)
{
    for (int k = 0; k < BLOCKS; k++) {
        for (size_t i = 0; i < bytes; i++) {
            assert_int_equal(block[k][i], 0x5a);
        }
        free(block[k]);
    }
}

static void late_rank(spmm_op_t op)
{
    const spmm_context_options_t options = {
        .struct_size = sizeof options, .device = SPMM_DEVICE_CPU, .timeout_s = 0.4};
    const size_t   bytes = (size_t)ROWS * COLUMNS * sizeof(double);
    const bool     late  = spmm_test_is_last();
    const size_t   halo  = bytes * (size_t)(spmm_test_env.size - 1);
    double        *B = spmm_test_calloc(1, bytes), *C = spmm_test_calloc(1, bytes);
    unsigned char *block[BLOCKS];
    spmm_matrix_t *A;
    spmm_plan_t   *plan;

    spmm_assert_ok(spmm_context_create(spmm_test_env.comm, &options, &ctx));
    A    = create_full();
    plan = test_context_plan(A, COLUMNS, .op = op);
    MPI_Barrier(spmm_test_env.comm);
    if (late) {
        run_late(plan, B, C);
    } else {
        assert_int_equal(spmm_execute(plan, COLUMNS, 1.0, B, COLUMNS, 0.0, C, COLUMNS, NULL),
                         SPMM_ERR_COMM);
    }
    spmm_assert_ok(spmm_plan_destroy(&plan));
    take_blocks(block, halo);
    MPI_Barrier(spmm_test_env.comm); /* the late rank's messages go on */
    free_blocks(block, halo);
    MPI_Barrier(spmm_test_env.comm);
    test_context_destroy(NULL, &A, &ctx);
    spmm_test_free(B, C);
}

static void test_products(void **state)
{
    late_rank(SPMM_OP_N);
    late_rank(SPMM_OP_T);
}

#ifdef MPICH_VERSION /* its receiver fetches a message itself: the sender is never late */
enum { FETCHES = 1 };
#else
enum { FETCHES = 0 };
#endif
enum { MESSAGE = 1 << 20 };

/* Rank 1: a message that has begun when its sender goes away for longer than rank 0 waits. */
static void send_late(spmm_env_t *env, int tag)
{
    char       *data = spmm_test_calloc(1, MESSAGE);
    MPI_Request request;

    MPI_Isend(data, MESSAGE, MPI_BYTE, 0, tag, env->comm, &request);
    (void)usleep(1000000);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    free(data);
}

static spmm_status_t receive_all_to_all(spmm_env_t *env, char *data)
{
    const int64_t none[2] = {0, 0}, from[2] = {0, MESSAGE};

    return spmmi_alltoallv(env, NULL, none, data, from, 1);
}

static spmm_status_t receive_piece(spmm_env_t *env, char *data)
{
    return spmmi_recv_bytes(env, data, MESSAGE, 1);
}

/* Rank 0 receives into memory that it frees and that the program gets next. */
static void late_sender(int tag, spmm_status_t (*receive)(spmm_env_t *env, char *data), bool agrees)
{
    static spmm_env_t env; /* MPI may write its vote later */
    unsigned char    *block[BLOCKS];
    char             *data;

    env = (spmm_env_t){.rank = spmm_test_env.rank, .size = 2, .timeout_s = 0.2};
    MPI_Comm_dup(spmm_test_env.comm, &env.comm);
    MPI_Comm_set_errhandler(env.comm, MPI_ERRORS_RETURN);
    if (env.rank == 1) {
        spmm_assert_ok(agrees ? spmmi_agree(&env, SPMM_OK) : SPMM_OK);
        send_late(&env, tag);
    } else {
        assert_non_null(SPMM_NEW(data, MESSAGE));
        assert_int_equal(receive(&env, data), SPMM_ERR_COMM);
        spmmi_free(data);
        take_blocks(block, MESSAGE);
    }
    MPI_Barrier(spmm_test_env.comm); /* the message goes on */
    if (env.rank == 0) {
        free_blocks(block, MESSAGE);
    }
}

static void test_senders(void **state)
{
    if (spmm_test_env.size != 2 || FETCHES) {
        skip();
    }
    late_sender(SPMM_TAG_ALLTOALL, receive_all_to_all, true);
    late_sender(SPMM_TAG_BYTES, receive_piece, false);
}

/* A rank does not come to set-up: the others say who, at about the same time, and what it sends
 * later does not reach their memory. */
static void test_setup(void **state)
{
    const int         late = spmm_test_env.size - 1;
    static spmm_env_t env;
    int               sum = 1;
    char              says[80];
    double            start;

    env = (spmm_env_t){
        .rank = spmm_test_env.rank, .size = late + 1, .timeout_s = 0.1, .stage = "a stage"};
    MPI_Comm_dup(spmm_test_env.comm, &env.comm);
    MPI_Comm_set_errhandler(env.comm, MPI_ERRORS_RETURN);
    if (env.rank != late) {
        assert_int_equal(spmmi_allreduce(&env, &sum, 1, MPI_INT, MPI_SUM), SPMM_ERR_COMM);
        (void)snprintf(says, sizeof says, "a stage: rank %d did not come within the timeout of",
                       late);
        assert_ptr_equal(strstr(env.err.text, says), env.err.text);
    }
    MPI_Barrier(spmm_test_env.comm);
    if (env.rank == late) { /* the others were there */
        (void)spmmi_allreduce(&env, &sum, 1, MPI_INT, MPI_SUM);
    }
    start = spmmi_now();
    assert_int_equal(spmmi_agree(&env, SPMM_OK), SPMM_ERR_COMM);
    assert_true(spmmi_now() - start < 3.0);
    MPI_Barrier(spmm_test_env.comm);
    assert_true(sum == 1 || env.rank == late);
}

/* Nobody has a communicator yet on which to ask who is missing. */
static void test_create(void **state)
{
    const bool             is_late = spmm_test_is_last();
    spmm_context_options_t options = SPMM_CONTEXT_OPTIONS_INIT;
    spmm_context_t        *made    = NULL;
    MPI_Comm               comm;

    options.timeout_s = 0.1;
    MPI_Comm_dup(spmm_test_env.comm, &comm); /* what is left open on it stays so */
    for (int turn = 0; turn < 2; turn++) {   /* then the late rank waits for the others */
        if (is_late == (turn == 1)) {
            assert_int_equal(spmm_context_create(comm, &options, &made), SPMM_ERR_COMM);
            assert_null(made);
            assert_non_null(strstr(spmm_last_error(NULL), "spmm_context_create: a rank did not "
                                                          "come within the timeout of 5.1 s"));
        }
        MPI_Barrier(spmm_test_env.comm);
    }
}

SPMM_TESTS(test_products, test_senders, test_setup, test_create);
