/* SPDX-License-Identifier: Apache-2.0 */
/* test: RANKS 1 NEEDS NCCL_FOUND LINK CUDA::cudart */
/** @file test_push.c  Whole plans whose ranks push rows of B to their peers.  B changes in stream
 *  order between executes that nobody waits for: rows read too early or too late give sums of
 *  another round. */
#include "api/context.h"
#include "gpu_gate.h"
#include "pair_matrix.h"
#include "plan/blocks/formats.h"
#include "plan/plan.h"
#include "test_context.h"

enum { ROWS = 700, CUT_ROWS = 1500, N = 20, LD = 24, BATCH = 25, FULL = 5000 };

static spmm_context_t *ctx;
static cudaStream_t    stream;
static double          late_s; /* before each product, of one rank after the other */

/* Small integers: sums are exact. */
static float b_at(int64_t row, int64_t j, int64_t round)
{
    return (float)((row * 31 + j * 7 + round * 113) % 1021);
}

static void *room(size_t bytes)
{
    void *device;

    spmm_assert_ok(spmm_buffer_alloc(ctx, bytes, &device));
    assert_int_equal(cudaMemset(device, 0xff, bytes), cudaSuccess);
    return device;
}

/** Room for a batch of products of @p rows rows of a rank; B, versions, results: device. */
typedef struct {
    int64_t rows;
    size_t  one; /**< bytes of a block */
    float  *host;
    void   *B, *versions, *results;
} batch_t;

static batch_t open_batch(int64_t rows)
{
    const size_t one = (size_t)rows * LD * sizeof(float);

    return (batch_t){.rows     = rows,
                     .one      = one,
                     .host     = spmm_test_malloc(BATCH * one),
                     .B        = room(one),
                     .versions = room(BATCH * one),
                     .results  = room(BATCH * one)};
}

static void close_batch(batch_t *b)
{
    free(b->host);
    test_context_free(ctx, &b->B, &b->versions, &b->results);
}

/* Enqueue BATCH products of B = its version of the round, keep each C, then compare. */
static void run_batch(spmm_plan_t *plan, int64_t first_round, int64_t n, const batch_t *b)
{
    const int64_t rows = b->rows;
    const size_t  one  = b->one;
    float        *host = b->host, *versions = b->versions, *results = b->results;

    for (int64_t k = 0; k < BATCH; k++) {
        for (int64_t e = 0; e < (int64_t)rows * LD; e++) {
            host[k * rows * LD + e] =
                b_at(rows * (int64_t)spmm_test_env.rank + e / LD, e % LD, first_round + k);
        }
    }
    spmm_assert_ok(spmm_buffer_copy(ctx, versions, host, BATCH * one));
    for (int64_t k = 0; k < BATCH; k++) {
        assert_int_equal(
            cudaMemcpyAsync(b->B, versions + k * rows * LD, one, cudaMemcpyDefault, stream),
            cudaSuccess);
        if (late_s > 0.0 && k % spmm_test_env.size == spmm_test_env.rank) {
            spmm_assert_ok(ctx->device.ops->delay(&ctx->device, late_s, stream));
        }
        spmm_assert_ok(
            spmm_execute(plan, n, 1.0, b->B, LD, 0.0, results + k * rows * LD, LD, stream));
    }
    spmm_assert_ok(spmm_stream_synchronize(ctx, stream));
    spmm_assert_ok(spmm_buffer_copy(ctx, host, results, BATCH * one));
    for (int64_t k = 0; k < BATCH; k++) {
        for (int64_t i = 0; i < rows; i++) {
            const int64_t row = rows * (int64_t)spmm_test_env.rank + i;

            for (int64_t j = 0; j < n; j++) {
                assert_true(host[(k * rows + i) * LD + j] ==
                            b_at(row, j, first_round + k) +
                                2.0f * b_at(pair_other(row, rows), j, first_round + k));
            }
        }
    }
}

/* @p schedule may be NULL.  With schedule overlap in one chunk off-diagonal blocks of csr-gpu wait
 * for their rows themselves. */
static void run(int64_t products, int64_t n, const char *engine, const char *tuning)
{
    spmm_plan_options_t o = SPMM_PLAN_OPTIONS_INIT;
    spmm_matrix_t      *A = pair_matrix(ctx, ROWS);
    batch_t             b = open_batch(ROWS);
    spmm_plan_t        *plan;
    spmm_status_t       status;

    o.transport = "nccl-push";
    o.engine    = engine;
    o.tuning    = tuning;
    status      = spmm_plan_create(A, N, &o, &plan);
    if (status == SPMM_OK) {
        for (int64_t round = 0; round < products; round += BATCH) {
            run_batch(plan, round, n, &b);
        }
        assert_true((ctx->shared.waiting.stream != 0) ==
                    (ctx->shared.push.waits == 0 && spmm_test_env.size > 1 && tuning != NULL &&
                     strncmp(tuning, "schedule=overlap", 16) == 0 &&
                     strcmp(engine, "csr-gpu") == 0));
        spmm_assert_ok(spmm_plan_destroy(&plan));
        assert_true(ctx->shared.waiting.stream == 0);
    } else { /* GPUs that ranks share, or that are out of reach */
        assert_int_equal(status, SPMM_ERR_UNSUPPORTED);
        assert_non_null(strstr(spmm_last_error(ctx), "transport nccl-push"));
        print_message("%s\n", spmm_last_error(ctx));
    }
    close_batch(&b);
    spmm_assert_ok(spmm_matrix_destroy(&A));
}

static void test_schedules(void **state)
{
    static const char *const way[] = {"schedule=overlap,chunks=1", "schedule=overlap,chunks=2",
                                      "schedule=merged"};

    for (size_t w = 0; w < sizeof way / sizeof way[0]; w++) {
        run(BATCH, N, "cusparse", way[w]);
        run(BATCH, 7, "cusparse", way[w]);
    }
    ctx->shared.push.low_latency_bytes = -1;
    for (size_t w = 0; w < sizeof way / sizeof way[0]; w++) {
        run(BATCH, N, "cusparse", way[w]);
    }
    ctx->shared.push.low_latency_bytes = 0;
}

static void test_stress(void **state)
{
    const int64_t full = getenv("SPMM_TEST_SMALL") != NULL ? 2 * BATCH : FULL;

    run(full, N, "cusparse", NULL);
    ctx->shared.push.low_latency_bytes = -1;
    run(full, N, "cusparse", NULL);
    ctx->shared.push.low_latency_bytes = 0;
}

/* Rows of 80 bytes, and of 28, which are no multiples of 8 and so never quick. */
static void test_waits(void **state)
{
    const int64_t full = getenv("SPMM_TEST_SMALL") != NULL ? 2 * BATCH : FULL;

    for (int low_latency_bytes = -1; low_latency_bytes <= 0; low_latency_bytes++) {
        ctx->shared.push.low_latency_bytes = low_latency_bytes;
        run(full, N, "csr-gpu", "schedule=overlap,chunks=1");
        run(2 * BATCH, 7, "csr-gpu", "schedule=overlap,chunks=1");
    }
    ctx->shared.push.waits = -1;
    run(2 * BATCH, N, "csr-gpu", "schedule=overlap,chunks=1");
    ctx->shared.push.waits = 0;
}

/* Products in line, of blocks that do not wait on the device themselves.  The off-diagonal block
 * sees what an exchange brings that ends long after the diagonal block.  With @p full rows a second
 * kernel, which the exchange has no part in, sums up a window of the diagonal block. */
static void run_in_line(const char *engine, int64_t n, int64_t rows, int64_t full)
{
    spmm_plan_options_t o = SPMM_PLAN_OPTIONS_INIT;
    spmm_matrix_t      *A = pair_matrix_full(ctx, rows, full);
    batch_t             b = open_batch(rows);
    spmm_plan_t        *plan;

    o.transport     = "nccl-push";
    o.engine        = engine;
    o.tuning        = "chunks=1";
    o.deterministic = 1;
    if (spmm_plan_create(A, N, &o, &plan) == SPMM_OK) {
        char *text = test_context_explain(plan);

        plan->blocks.diagonal.measured_s = 1e-6; /* the exchange is what a product waits for */
        spmmi_plan_decide(plan);
        assert_int_equal(plan->exchange.in_line, spmm_test_env.size > 1 && ctx->device.cc >= 90);
        assert_int_equal(strstr(text, "balanced: yes, 1 longer than") != NULL, full > 0);
        spmm_test_free(text);
        for (int64_t round = 0; round < 4 * (int64_t)BATCH; round += BATCH) {
            late_s = round % 2 == 0 ? 100e-6 : 0.0;
            run_batch(plan, round, n, &b);
        }
        late_s = 0.0;
        assert_true(ctx->shared.waiting.stream == 0);
        spmm_assert_ok(spmm_plan_destroy(&plan));
    }
    close_batch(&b);
    spmm_assert_ok(spmm_matrix_destroy(&A));
}

static void test_in_line(void **state)
{
    static const char *const engine[] = {"csr-gpu", "bittcf", "hrpb"};

    for (int low_latency_bytes = -1; low_latency_bytes <= 0; low_latency_bytes++) {
        ctx->shared.push.low_latency_bytes = low_latency_bytes;
        for (size_t e = 0; e < sizeof engine / sizeof engine[0]; e++) {
            run_in_line(engine[e], N, ROWS, 0);
            run_in_line(engine[e], 7, ROWS, 0);
        }
        run_in_line("bittcf", N, CUT_ROWS, 8);
        run_in_line("hrpb", N, CUT_ROWS, 8);
    }
    ctx->shared.push.low_latency_bytes = 0;
    late_s                             = 100e-6;
    run(2 * BATCH, N, "csr-gpu", "schedule=overlap,chunks=1"); /* blocks that wait themselves */
    late_s = 0.0;
}

/* Two plans, each on a stream of its own and of which one at a time may wait on the device. */
static void test_waits_of_streams(void **state)
{
    enum { STREAMS = 2, TURNS = 100 };
    const size_t   one        = (size_t)ROWS * N * sizeof(float);
    spmm_matrix_t *A          = pair_matrix(ctx, ROWS);
    float         *host       = spmm_test_malloc(one);
    void          *B[STREAMS] = {room(one), room(one)}, *C[STREAMS] = {room(one), room(one)};
    cudaStream_t   on[STREAMS]   = {stream, gpu_new_stream()};
    spmm_plan_t   *plan[STREAMS] = {NULL};
    spmm_status_t  status        = SPMM_OK;

    for (int s = 0; s < STREAMS && status == SPMM_OK; s++) {
        spmm_plan_options_t o = SPMM_PLAN_OPTIONS_INIT;

        o.transport = "nccl-push";
        o.engine    = "csr-gpu";
        o.tuning    = "chunks=1";
        for (int64_t e = 0; e < (int64_t)ROWS * N; e++) {
            host[e] = b_at(ROWS * (int64_t)spmm_test_env.rank + e / N, e % N, s);
        }
        spmm_assert_ok(spmm_buffer_copy(ctx, B[s], host, one));
        status = spmm_plan_create(A, N, &o, &plan[s]);
    }
    for (int k = 0; k < TURNS && status == SPMM_OK; k++) {
        for (int s = 0; s < STREAMS; s++) {
            spmm_assert_ok(
                spmm_execute(plan[s], N, 1.0, B[s], N, k == 0 ? 0.0 : 1.0, C[s], N, on[s]));
        }
    }
    for (int s = 0; s < STREAMS && status == SPMM_OK; s++) {
        spmm_assert_ok(spmm_stream_synchronize(ctx, on[s]));
        spmm_assert_ok(spmm_buffer_copy(ctx, host, C[s], one));
        for (int64_t e = 0; e < (int64_t)ROWS * N; e++) {
            const int64_t row = ROWS * (int64_t)spmm_test_env.rank + e / N;

            assert_true(host[e] == (float)TURNS * (b_at(row, e % N, s) +
                                                   2.0f * b_at(pair_other(row, ROWS), e % N, s)));
        }
    }
    for (int s = 0; s < STREAMS; s++) {
        spmm_assert_ok(spmm_plan_destroy(&plan[s]));
        test_context_free(ctx, &B[s], &C[s]);
    }
    assert_int_equal(cudaStreamDestroy(on[1]), cudaSuccess);
    free(host);
    spmm_assert_ok(spmm_matrix_destroy(&A));
}

/* Row i of rank 0 is row i of every rank, those of the others are themselves: for op T rank 0 has
 * much to send and nothing to receive, and the others the reverse. */
static spmm_matrix_t *make_uneven(void)
{
    const int64_t  all               = spmm_test_env.rank == 0 ? spmm_test_env.size : 1;
    int64_t       *col               = spmm_test_malloc((size_t)(ROWS * all) * sizeof *col);
    float         *value             = spmm_test_malloc((size_t)(ROWS * all) * sizeof *value);
    int64_t        row_ptr[ROWS + 1] = {0};
    spmm_matrix_t *A;

    for (int64_t i = 0; i < ROWS; i++) {
        for (int64_t p = 0; p < all; p++) {
            col[i * all + p]   = ROWS * (spmm_test_env.rank + p) + i;
            value[i * all + p] = 1.0f;
        }
        row_ptr[i + 1] = (i + 1) * all;
    }
    spmm_assert_ok(spmm_matrix_create_csr(ctx, ROWS, ROWS, row_ptr, col, value, SPMM_R_32F, &A));
    spmm_test_free(col, value);
    return A;
}

static void test_uneven_transpose(void **state)
{
    const size_t        one   = (size_t)ROWS * N * sizeof(float);
    const int64_t       first = ROWS * (int64_t)spmm_test_env.rank;
    spmm_plan_options_t o     = SPMM_PLAN_OPTIONS_INIT;
    spmm_matrix_t      *A     = make_uneven();
    float              *host  = spmm_test_malloc(one);
    void               *B = room(one), *C = room(one);
    spmm_plan_t        *plan;
    spmm_status_t       status;

    o.op        = SPMM_OP_T;
    o.transport = "nccl-push";
    status      = spmm_plan_create(A, N, &o, &plan);
    for (int64_t e = 0; e < (int64_t)ROWS * N; e++) {
        host[e] = b_at(first + e / N, e % N, 0);
    }
    spmm_assert_ok(spmm_buffer_copy(ctx, B, host, one));
    if (status == SPMM_OK) {
        spmm_assert_ok(spmm_execute(plan, N, 1.0, B, N, 0.0, C, N, stream));
        spmm_assert_ok(spmm_stream_synchronize(ctx, stream));
        spmm_assert_ok(spmm_buffer_copy(ctx, host, C, one));
        for (int64_t e = 0; e < (int64_t)ROWS * N; e++) {
            assert_true(host[e] == b_at(first + e / N, e % N, 0) +
                                       (first == 0 ? 0.0f : b_at(e / N, e % N, 0)));
        }
        spmm_assert_ok(spmm_plan_destroy(&plan));
    } else {
        assert_int_equal(status, SPMM_ERR_UNSUPPORTED);
    }
    free(host);
    test_context_free(ctx, &B, &C);
    spmm_assert_ok(spmm_matrix_destroy(&A));
}

/* What the context's plans over these transports give in turn, some in CUDA graphs. */
static void run_together(void)
{
    static const char *const name[] = {"nccl-push", "nccl", "nccl-push", NULL, "nccl-push"};
    enum { PLANS = sizeof name / sizeof name[0] };
    batch_t        b           = open_batch(ROWS);
    spmm_matrix_t *A           = pair_matrix(ctx, ROWS);
    spmm_plan_t   *plan[PLANS] = {NULL};
    spmm_status_t  status      = SPMM_OK;

    for (int p = 0; p < PLANS && status == SPMM_OK; p++) {
        spmm_plan_options_t o = SPMM_PLAN_OPTIONS_INIT;

        o.transport = name[p];
        o.engine    = "cusparse";
        o.graph     = p % 2;
        status      = spmm_plan_create(A, N, &o, &plan[p]);
        assert_true(status == SPMM_OK || status == SPMM_ERR_UNSUPPORTED);
    }
    for (int64_t round = 0; round < 4 && status == SPMM_OK; round++) {
        for (int p = 0; p < PLANS; p++) {
            run_batch(plan[p], round * BATCH, N, &b);
        }
    }
    if (status == SPMM_OK && spmm_test_env.size > 1 && spmm_test_env.size <= 4) {
        assert_string_equal(test_context_stats(plan[3]).transport, "nccl-push"); /* auto */
    }
    for (int p = 0; p < PLANS; p++) {
        spmm_assert_ok(spmm_plan_destroy(&plan[p]));
    }
    close_batch(&b);
    spmm_assert_ok(spmm_matrix_destroy(&A));
}

/* In two contexts alive at once. */
static void test_together(void **state)
{
    spmm_context_t *first = ctx;

    run_together();
    spmm_assert_ok(spmm_context_create(MPI_COMM_WORLD, NULL, &ctx));
    run_together();
    spmm_assert_ok(spmm_context_destroy(&ctx));
    ctx = first;
    run_together();
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

SPMM_TESTS(test_open, test_schedules, test_stress, test_waits, test_in_line, test_waits_of_streams,
           test_uneven_transpose, test_together, test_close);
