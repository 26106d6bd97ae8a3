/* SPDX-License-Identifier: Apache-2.0 */
/* test: RANKS 1 NEEDS NCCL_FOUND LINK CUDA::cudart */
/** @file test_plan_streams.c  One plan on streams in turn: its buffers belong to an execute until
 *  that is done, so one on another stream has to wait for it, also where that stream has the handle
 *  of one that is gone. */

#include "gpu_gate.h"
#include "pair_matrix.h"

enum { ROWS = 1000, N = 32, TURNS = 3 };

/* B of turn k is all k + 1. */
static void fill(spmm_context_t *ctx, void *B[TURNS], void *C[TURNS], float *host)
{
    const size_t bytes = (size_t)ROWS * N * sizeof *host;

    for (int k = 0; k < TURNS; k++) {
        spmm_assert_ok(spmm_buffer_alloc(ctx, bytes, &B[k]));
        spmm_assert_ok(spmm_buffer_alloc(ctx, bytes, &C[k]));
        for (int64_t e = 0; e < (int64_t)ROWS * N; e++) {
            host[e] = (float)(k + 1);
        }
        spmm_assert_ok(spmm_buffer_copy(ctx, B[k], host, bytes));
        assert_int_equal(cudaMemset(C[k], 0xff, bytes), cudaSuccess);
    }
}

static void check(spmm_context_t *ctx, void *B[TURNS], void *C[TURNS], float *host)
{
    for (int k = 0; k < TURNS; k++) {
        spmm_assert_ok(spmm_buffer_copy(ctx, host, C[k], (size_t)ROWS * N * sizeof *host));
        for (int64_t e = 0; e < (int64_t)ROWS * N; e++) {
            assert_true(host[e] == (float)(PAIR_ROW_SUM * (k + 1)));
        }
        test_context_free(ctx, &B[k], &C[k]);
    }
}

static void run(spmm_context_t *ctx, spmm_matrix_t *A, bool again)
{
    float       *host     = spmm_test_malloc((size_t)ROWS * N * sizeof *host);
    void        *B[TURNS] = {NULL}, *C[TURNS] = {NULL};
    cudaStream_t stream[TURNS];
    spmm_plan_t *plan;

    /* cuSPARSE, when it is tried, waits for the device once. */
    plan = test_context_plan(A, N, .partition = "block", .tuning = "measure=no");
    fill(ctx, B, C, host);
    stream[0] = gpu_new_stream();
    /* Connections are made by the first exchange, which may wait for them. */
    spmm_assert_ok(spmm_execute(plan, N, 1.0, B[0], N, 0.0, C[0], N, stream[0]));
    spmm_assert_ok(spmm_stream_synchronize(ctx, stream[0]));

    gpu_gate_close(stream[0]);
    for (int k = 0; k < TURNS; k++) {
        if (k > 0 && again) { /* the next one may get its handle; its work goes on */
            assert_int_equal(cudaStreamDestroy(stream[k - 1]), cudaSuccess);
        }
        stream[k] = k == 0 ? stream[0] : gpu_new_stream();
        spmm_assert_ok(spmm_execute(plan, N, 1.0, B[k], N, 0.0, C[k], N, stream[k]));
    }
    gpu_sleep_ms(50);
    assert_int_equal(cudaStreamQuery(stream[TURNS - 1]), cudaErrorNotReady);
    MPI_Barrier(MPI_COMM_WORLD);
    gpu_gate_open();
    assert_int_equal(cudaDeviceSynchronize(), cudaSuccess);
    check(ctx, B, C, host);
    for (int k = again ? TURNS - 1 : 0; k < TURNS; k++) {
        assert_int_equal(cudaStreamDestroy(stream[k]), cudaSuccess);
    }
    free(host);
    spmm_assert_ok(spmm_plan_destroy(&plan));
}

static void test_streams_in_turn(void **state)
{
    spmm_context_t *ctx = gpu_context();
    spmm_matrix_t  *A   = pair_matrix(ctx, ROWS);

    run(ctx, A, false);
    run(ctx, A, true);
    test_context_destroy(NULL, &A, &ctx);
}

SPMM_TESTS(test_streams_in_turn);
