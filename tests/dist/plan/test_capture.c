/* SPDX-License-Identifier: Apache-2.0 */
/* test: RANKS 1 2 */
/* Option graph: where it is refused, when it captures, and results where arguments change.  Without
 * a GPU for each rank only refusals are tested. */

#include "test_context.h"

#include "plan/plan.h"

enum { COLUMNS = 16 };

static spmm_context_t *ctx;
static spmm_matrix_t  *A;

static spmm_status_t open_all(spmm_device_kind_t device, double timeout_s)
{
    spmm_context_options_t o = SPMM_CONTEXT_OPTIONS_INIT;
    spmm_status_t          status;

    o.device    = device;
    o.timeout_s = timeout_s;
    status      = spmm_context_create(MPI_COMM_WORLD, &o, &ctx);
    if (status == SPMM_OK) {
        spmm_assert_ok(
            spmm_matrix_generate(ctx, "stencil9:nx=40,ny=30,shuffle=1", SPMM_R_64F, 1, &A));
    }
    return status;
}

static void close_all(void)
{
    test_context_destroy(NULL, &A, &ctx);
}

static void expect_refusal(const char *transport, const char *sentence)
{
    spmm_plan_options_t o    = SPMM_PLAN_OPTIONS_INIT;
    spmm_plan_t        *plan = NULL;

    o.transport = transport;
    o.graph     = 1;
    test_context_refused(ctx, spmm_plan_create(A, COLUMNS, &o, &plan), SPMM_ERR_UNSUPPORTED,
                         sentence);
    assert_null(plan);
}

static void cpus_are_refused(void **state)
{
    spmm_assert_ok(open_all(SPMM_DEVICE_CPU, 0.0));
    expect_refusal(NULL, "option graph needs GPUs");
    close_all();
}

/* A GPU for each rank, as nccl wants it. */
static bool open_gpus(double timeout_s)
{
    spmm_plan_options_t o    = SPMM_PLAN_OPTIONS_INIT;
    spmm_plan_t        *plan = NULL;

    if (open_all(SPMM_DEVICE_CUDA, timeout_s) != SPMM_OK) {
        return false;
    }
    o.transport = "nccl";
    if (spmm_plan_create(A, COLUMNS, &o, &plan) != SPMM_OK) {
        close_all();
        return false;
    }
    spmm_assert_ok(spmm_plan_destroy(&plan));
    return true;
}

static void host_transports_and_timeouts_are_refused(void **state)
{
    if (spmm_test_env.size == 1 || !open_gpus(0.0)) {
        skip();
    }
    expect_refusal("mpi-host", "transport");
    close_all();
    assert_true(open_gpus(30.0));
    expect_refusal("nccl", "timeout_s");
    close_all();
}

static void profiling_says_why_not(void **state)
{
    spmm_plan_t *plan;

    if (!open_gpus(0.0)) {
        skip();
    }
    plan = test_context_plan(A, COLUMNS, .graph = 1, .profile = 1);
    test_context_explains(plan, "graphs: not captured, since the plan profiles");
    spmm_assert_ok(spmm_plan_destroy(&plan));
    close_all();
}

/** Two plans of one matrix, with and without graphs, and operands for both. */
typedef struct {
    spmm_plan_t *with, *without;
    int64_t      rows;
    double      *B[2], *C[3]; /**< device; C[2] is that of the plan without */
    double      *host[2];
} pair_t;

static void open_pair(pair_t *p)
{
    size_t bytes;

    /* Equal bits from equal arguments. */
    p->without = test_context_plan(A, COLUMNS, .deterministic = 1);
    p->with    = test_context_plan(A, COLUMNS, .deterministic = 1, .graph = 1);
    p->rows    = test_context_layout(p->with, SPMM_OPERAND_C).local_rows;
    bytes      = (size_t)(p->rows * COLUMNS) * sizeof(double);
    for (int k = 0; k < 2; k++) {
        p->host[k] = spmm_test_malloc(bytes + 1);
    }
    for (int k = 0; k < 2; k++) {
        for (int64_t i = 0; i < p->rows * COLUMNS; i++) {
            p->host[0][i] = sin((double)(i * (k + 1) + 1000 * spmm_test_env.rank));
        }
        spmm_assert_ok(spmm_buffer_alloc(ctx, bytes, (void **)&p->B[k]));
        spmm_assert_ok(spmm_buffer_copy(ctx, p->B[k], p->host[0], bytes));
    }
    for (int k = 0; k < 3; k++) {
        spmm_assert_ok(spmm_buffer_alloc(ctx, bytes, (void **)&p->C[k]));
        spmm_assert_ok(spmm_buffer_copy(ctx, p->C[k], p->host[0], bytes));
    }
}

static void close_pair(pair_t *p)
{
    test_context_destroy(&p->with, NULL, NULL);
    test_context_destroy(&p->without, NULL, NULL);
    test_context_free(ctx, (void **)&p->B[0], (void **)&p->B[1], (void **)&p->C[0],
                      (void **)&p->C[1], (void **)&p->C[2]);
    spmm_test_free(p->host[0], p->host[1]);
}

/* One call of each plan: equal bits, C read too where beta is not 0. */
static void compare(pair_t *p, int b, int c, int64_t n, double alpha, double beta,
                    spmm_stream_t stream)
{
    const size_t bytes = (size_t)(p->rows * COLUMNS) * sizeof(double);

    spmm_assert_ok(spmm_buffer_copy(ctx, p->host[0], p->C[c], bytes));
    spmm_assert_ok(spmm_buffer_copy(ctx, p->C[2], p->host[0], bytes));
    spmm_assert_ok(
        spmm_execute(p->with, n, alpha, p->B[b], COLUMNS, beta, p->C[c], COLUMNS, stream));
    spmm_assert_ok(
        spmm_execute(p->without, n, alpha, p->B[b], COLUMNS, beta, p->C[2], COLUMNS, stream));
    spmm_assert_ok(spmm_stream_synchronize(ctx, stream));
    spmm_assert_ok(spmm_buffer_copy(ctx, p->host[0], p->C[c], bytes));
    spmm_assert_ok(spmm_buffer_copy(ctx, p->host[1], p->C[2], bytes));
    assert_memory_equal(p->host[0], p->host[1], bytes);
}

static void expect_counts(const pair_t *p, int64_t captured, int64_t launched)
{
    int64_t c, l;

    spmmi_plan_count_captures(p->with, &c, &l);
    assert_int_equal(c, captured);
    assert_int_equal(l, launched);
}

static void results_are_those_without(void **state)
{
    pair_t p;

    if (!open_gpus(0.0)) {
        skip();
    }
    open_pair(&p);
    for (int k = 0; k < 5; k++) {
        compare(&p, 0, 0, COLUMNS, 1.0, 0.0, NULL);
    }
    expect_counts(&p, 1, 4);
    for (int k = 0; k < 8; k++) { /* operands swapped, as in an iteration */
        compare(&p, k % 2, k % 2, COLUMNS, 0.5, 0.25, NULL);
    }
    expect_counts(&p, 3, 10);
    for (int k = 0; k < 3; k++) { /* another shape voids them */
        compare(&p, 0, 1, 7, -1.0, 1.0, NULL);
    }
    expect_counts(&p, 4, 12);
    for (int k = 0; k < 12; k++) { /* more than are kept, each used once */
        compare(&p, 1, 0, COLUMNS, 1.0 + k, 0.0, NULL);
    }
    compare(&p, 1, 0, COLUMNS, 12.0, 0.0, NULL);
    expect_counts(&p, 5, 13);
    close_pair(&p);
    close_all();
}

static void new_values_are_seen(void **state)
{
    spmm_matrix_info_t info = {.struct_size = sizeof info};
    double            *values;
    pair_t             p;

    if (!open_gpus(0.0)) {
        skip();
    }
    spmm_assert_ok(spmm_matrix_get_info(A, &info));
    values = spmm_test_malloc((size_t)info.local_nnz * sizeof *values + 1);
    open_pair(&p);
    for (int round = 0; round < 3; round++) {
        for (int64_t k = 0; k < info.local_nnz; k++) {
            values[k] = cos((double)(k + round));
        }
        spmm_assert_ok(spmm_matrix_update_values(A, values));
        compare(&p, 0, 0, COLUMNS, 1.0, 0.0, NULL);
        compare(&p, 0, 0, COLUMNS, 1.0, 0.0, NULL);
    }
    expect_counts(&p, 1, 5);
    close_pair(&p);
    free(values);
    close_all();
}

SPMM_TESTS(cpus_are_refused, host_transports_and_timeouts_are_refused, profiling_says_why_not,
           results_are_those_without, new_values_are_seen);
