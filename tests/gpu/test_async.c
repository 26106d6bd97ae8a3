/* SPDX-License-Identifier: Apache-2.0 */
/* test: RANKS 1 NEEDS NCCL_FOUND LINK CUDA::cudart */
/** @file test_async.c  On the NCCL path an execute is enqueued, not waited for: with the user's
 *  stream held up by a host function, calls must return all the same, and nothing may be computed
 *  before its turn. */

#include "gpu_gate.h"
#include "pair_matrix.h"

enum { ROWS = 3000, N = 32, CALLS = 3 };

static void check(spmm_context_t *ctx, spmm_matrix_t *A, const char *transport)
{
    spmm_plan_options_t o = SPMM_PLAN_OPTIONS_INIT;
    spmm_layout_info_t  b, c;
    spmm_plan_t        *plan;
    spmm_status_t       status;
    cudaStream_t        stream;
    double              start, took;
    float              *host;
    void               *B, *C;
    size_t              bytes;

    o.transport = transport;
    o.partition = "block";
    status      = spmm_plan_create(A, N, &o, &plan);
    if (status == SPMM_ERR_UNSUPPORTED && strcmp(transport, "nccl-push") == 0) {
        print_message("%s\n", spmm_last_error(ctx));
        return;
    }
    spmm_assert_ok(status);
    b      = test_context_layout(plan, SPMM_OPERAND_B);
    c      = test_context_layout(plan, SPMM_OPERAND_C);
    stream = gpu_new_stream();
    bytes  = (size_t)b.local_rows * N * sizeof *host;
    host   = spmm_test_malloc(bytes);
    for (int64_t i = 0; i < b.local_rows * N; i++) {
        host[i] = 1.0f;
    }
    spmm_assert_ok(spmm_buffer_alloc(ctx, bytes, &B));
    spmm_assert_ok(spmm_buffer_alloc(ctx, (size_t)c.local_rows * N * sizeof *host, &C));
    spmm_assert_ok(spmm_buffer_copy(ctx, B, host, bytes));
    /* Connections are made by the first exchange, which may wait for them. */
    spmm_assert_ok(spmm_execute(plan, N, 1.0, B, N, 0.0, C, N, stream));
    spmm_assert_ok(spmm_stream_synchronize(ctx, stream));
    /* On the stream, which does not wait for the default one. */
    assert_int_equal(cudaMemsetAsync(C, 0xff, (size_t)c.local_rows * N * sizeof *host, stream),
                     cudaSuccess);

    gpu_gate_close(stream);
    start = spmmi_now();
    for (int k = 0; k < CALLS; k++) { /* C = A B, then twice C += A B */
        spmm_assert_ok(spmm_execute(plan, N, 1.0, B, N, k == 0 ? 0.0 : 1.0, C, N, stream));
    }
    took = spmmi_now() - start;
    assert_int_equal(cudaStreamQuery(stream), cudaErrorNotReady);
    MPI_Barrier(MPI_COMM_WORLD); /* every rank returned while its stream was held up */
    gpu_gate_open();
    spmm_assert_ok(spmm_stream_synchronize(ctx, stream));
    assert_true(took < 5.0);
    spmm_assert_ok(spmm_buffer_copy(ctx, host, C, (size_t)c.local_rows * N * sizeof *host));
    for (int64_t i = 0; i < c.local_rows * N; i++) {
        assert_true(host[i] == CALLS * PAIR_ROW_SUM);
    }
    free(host);
    test_context_free(ctx, &B, &C);
    spmm_assert_ok(spmm_plan_destroy(&plan));
    assert_int_equal(cudaStreamDestroy(stream), cudaSuccess);
}

static void test_execute_does_not_wait(void **state)
{
    spmm_context_t *ctx = gpu_context();
    spmm_matrix_t  *A   = pair_matrix(ctx, ROWS);

    check(ctx, A, "nccl");
    check(ctx, A, "nccl-push");
    test_context_destroy(NULL, &A, &ctx);
}

/* A program that captures a graph while an exchange is on its way, in the strictest mode. */
static void capture_meanwhile(void *memory, size_t bytes)
{
    cudaStream_t other = gpu_new_stream();
    cudaGraph_t  graph = NULL;

    assert_int_equal(cudaStreamBeginCapture(other, cudaStreamCaptureModeGlobal), cudaSuccess);
    gpu_sleep_ms(50); /* in which the watchdog looks 25 times */
    assert_int_equal(cudaMemsetAsync(memory, 0, bytes, other), cudaSuccess);
    assert_int_equal(cudaStreamEndCapture(other, &graph), cudaSuccess);
    assert_int_equal(cudaGraphDestroy(graph), cudaSuccess);
    assert_int_equal(cudaStreamDestroy(other), cudaSuccess);
}

static void test_captures_of_the_program(void **state)
{
    const spmm_context_options_t options = {.struct_size = sizeof options, .timeout_s = 60.0};
    const cudaStream_t           stream  = gpu_new_stream();
    spmm_context_t              *ctx;
    spmm_matrix_t               *A;
    spmm_plan_t                 *plan;
    void                        *B, *C;
    size_t                       bytes;

    spmm_assert_ok(spmm_context_create(MPI_COMM_WORLD, &options, &ctx));
    A     = pair_matrix(ctx, ROWS);
    plan  = test_context_plan(A, N, .transport = "nccl", .partition = "block");
    bytes = (size_t)test_context_layout(plan, SPMM_OPERAND_C).local_rows * N * sizeof(float);
    spmm_assert_ok(spmm_buffer_alloc(ctx, bytes, &B)); /* the matrix is square */
    spmm_assert_ok(spmm_buffer_alloc(ctx, bytes, &C));
    assert_int_equal(cudaMemset(B, 0, bytes), cudaSuccess);
    spmm_assert_ok(spmm_execute(plan, N, 1.0, B, N, 0.0, C, N, stream));
    spmm_assert_ok(spmm_stream_synchronize(ctx, stream));
    gpu_gate_close(stream);
    spmm_assert_ok(spmm_execute(plan, N, 1.0, B, N, 0.0, C, N, stream));
    capture_meanwhile(C, bytes);
    gpu_gate_open();
    spmm_assert_ok(spmm_stream_synchronize(ctx, stream));
    spmm_assert_ok(spmm_execute(plan, N, 1.0, B, N, 0.0, C, N, stream));
    spmm_assert_ok(spmm_stream_synchronize(ctx, stream));
    test_context_free(ctx, &B, &C);
    test_context_destroy(&plan, &A, &ctx);
    assert_int_equal(cudaStreamDestroy(stream), cudaSuccess);
}

SPMM_TESTS(test_execute_does_not_wait, test_captures_of_the_program);
