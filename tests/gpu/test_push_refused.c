/* SPDX-License-Identifier: Apache-2.0 */
/* test: RANKS 1 NEEDS NCCL_FOUND LINK CUDA::cudart */
/** @file test_push_refused.c  Products over nccl-push on which ranks do not agree. */
#include "api/context.h"
#include "gpu_gate.h"
#include "pair_matrix.h"

enum { ROWS = 700, N = 20, LD = 24 };

static spmm_context_t *ctx;
static cudaStream_t    stream;

static void *room(size_t bytes)
{
    void *device;

    spmm_assert_ok(spmm_buffer_alloc(ctx, bytes, &device));
    return device;
}

/* Rank 0 multiplies @p n columns, or is refused them and multiplies N in its next call: all ranks
 * get rows of others that are not those of their product. */
static void differ(int64_t n, int low_latency_bytes, const char *words)
{
    const int64_t       mine  = spmm_test_env.rank == 0 && n <= N ? n : N;
    spmm_context_t     *first = ctx;
    spmm_plan_options_t o     = SPMM_PLAN_OPTIONS_INIT;
    spmm_plan_t        *plan  = NULL;
    spmm_matrix_t      *A;
    void               *B, *C;
    spmm_status_t       status;

    spmm_assert_ok(spmm_context_create(MPI_COMM_WORLD, NULL, &ctx)); /* it does not survive */
    ctx->shared.push.low_latency_bytes = low_latency_bytes;
    A                                  = pair_matrix(ctx, ROWS);
    B                                  = room(ROWS * LD * sizeof(float));
    C                                  = room(ROWS * LD * sizeof(float));
    o.transport                        = "nccl-push";
    o.tuning                           = "chunks=1";
    if (spmm_plan_create(A, N, &o, &plan) == SPMM_OK) {
        spmm_assert_ok(spmm_execute(plan, N, 1.0, B, LD, 0.0, C, LD, stream));
        if (spmm_test_env.rank == 0 && n > N) {
            assert_int_equal(spmm_execute(plan, n, 1.0, B, LD, 0.0, C, LD, stream),
                             SPMM_ERR_ARGUMENT);
        }
        status = spmm_execute(plan, mine, 1.0, B, LD, 0.0, C, LD, stream);
        if (status == SPMM_OK) {
            status = spmm_stream_synchronize(ctx, stream);
        }
        assert_int_equal(status, SPMM_ERR_COMM);
        assert_non_null(strstr(spmm_last_error(ctx), words));
        assert_int_equal(spmm_execute(plan, N, 1.0, B, LD, 0.0, C, LD, stream), SPMM_ERR_COMM);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    test_context_free(ctx, &B, &C);
    test_context_destroy(&plan, &A, &ctx);
    ctx = first;
}

static void test_differ(void **state)
{
    for (int low_latency_bytes = -1; low_latency_bytes <= 0 && spmm_test_env.size > 1;
         low_latency_bytes++) {
        differ(N + 1, low_latency_bytes, "out of step");
        differ(N - 1, low_latency_bytes, "is n the same on both?");
        differ(4, low_latency_bytes, "is n the same on both?");
    }
}

static void test_open(void **state)
{
    ctx    = gpu_context();
    stream = gpu_new_stream();
}

static void test_close(void **state)
{
    assert_int_equal(cudaStreamDestroy(stream), cudaSuccess);
    spmm_assert_ok(spmm_context_destroy(&ctx));
}

SPMM_TESTS(test_open, test_differ, test_close);
