/* SPDX-License-Identifier: Apache-2.0 */
/** @file test_async.c
 *  On the NCCL path an execute is enqueued, not waited for: with the user's stream held up by a
 *  host function, calls must return all the same, and nothing may be computed before its turn.
 */
#include <stdlib.h>
#include <string.h>

#include "gpu_gate.h"
#include "pair_matrix.h"

enum { ROWS = 3000, N = 32, CALLS = 3 };

static void check(spmm_context_t *ctx, spmm_matrix_t *A, const char *transport)
{
    spmm_plan_options_t o = SPMM_PLAN_OPTIONS_INIT;
    spmm_layout_info_t  b = {.struct_size = sizeof b}, c = {.struct_size = sizeof c};
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
    if (status == SPMM_ERR_UNSUPPORTED && strcmp(transport, "nccl-pull") == 0) {
        print_message("%s\n", spmm_last_error(ctx));
        return;
    }
    spmm_assert_ok(status);
    spmm_assert_ok(spmm_plan_get_layout(plan, SPMM_OPERAND_B, &b));
    spmm_assert_ok(spmm_plan_get_layout(plan, SPMM_OPERAND_C, &c));
    stream = gpu_new_stream();
    bytes  = (size_t)b.local_rows * N * sizeof *host;
    host   = device_test_host(bytes);
    for (int64_t i = 0; i < b.local_rows * N; i++) {
        host[i] = 1.0f;
    }
    spmm_assert_ok(spmm_buffer_alloc_shared(ctx, bytes, &B));
    spmm_assert_ok(spmm_buffer_alloc(ctx, (size_t)c.local_rows * N * sizeof *host, &C));
    spmm_assert_ok(spmm_buffer_copy(ctx, B, host, bytes));
    /* Connections are made by the first exchange, which may wait for them. */
    spmm_assert_ok(spmm_execute(plan, N, 1.0, B, N, 0.0, C, N, stream));
    spmm_assert_ok(spmm_stream_synchronize(ctx, stream));
    /* On the stream, which does not wait for the default one. */
    assert_int_equal(cudaMemsetAsync(C, 0xff, (size_t)c.local_rows * N * sizeof *host, stream),
                     cudaSuccess);

    gpu_gate_close(stream);
    start = spmm_now();
    for (int k = 0; k < CALLS; k++) { /* C = A B, then twice C += A B */
        spmm_assert_ok(spmm_execute(plan, N, 1.0, B, N, k == 0 ? 0.0 : 1.0, C, N, stream));
    }
    took = spmm_now() - start;
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
    spmm_assert_ok(spmm_buffer_free(ctx, &B));
    spmm_assert_ok(spmm_buffer_free(ctx, &C));
    spmm_assert_ok(spmm_plan_destroy(&plan));
    assert_int_equal(cudaStreamDestroy(stream), cudaSuccess);
}

static void test_execute_does_not_wait(void **state)
{
    spmm_device_t   device;
    spmm_context_t *ctx;
    spmm_matrix_t  *A;

    (void)state;
    gpu_test_open(&device); /* skips where there is no GPU */
    spmm_device_close(&device);
    spmm_assert_ok(spmm_context_create(MPI_COMM_WORLD, NULL, &ctx));
    A = pair_matrix(ctx, ROWS);
    check(ctx, A, "nccl");
    check(ctx, A, "nccl-pull");
    spmm_assert_ok(spmm_matrix_destroy(&A));
    spmm_assert_ok(spmm_context_destroy(&ctx));
}

const struct CMUnitTest spmm_tests[] = {
    cmocka_unit_test(test_execute_does_not_wait),
    {0},
};
