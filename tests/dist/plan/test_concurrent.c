/* SPDX-License-Identifier: Apache-2.0 */
/* test: RANKS 1 2 3 SKIPS LINK Threads::Threads */
/* test: RANKS 1 2 DEVICE cuda LINK CUDA::cudart */
/** @file test_concurrent.c  What context.h promises of threads: two plans on two streams, two
 *  contexts in one process, one context for each of two threads at the same time, a plan that
 *  passes from thread to thread.  All numbers are small integers: every result is exact.
 *  SPMM_TEST_DEVICE=cuda: on GPUs. */
#include "test_context.h"

#include <pthread.h>

#ifdef SPMM_HAVE_CUDA
#include <cuda_runtime.h>
#endif

enum { N = 5, LOCAL = 40, LAPS = 60, TWO = 2 };

int spmm_test_thread_level(void)
{
    return MPI_THREAD_MULTIPLE;
}

static bool on_gpu;

/** A product of its own: context (perhaps shared), matrix, plan, operands. */
typedef struct {
    spmm_context_t *ctx;
    spmm_matrix_t  *A;
    spmm_plan_t    *plan;
    spmm_stream_t   stream;
    double          diagonal, next; /**< of A: row i has them in columns i and i + 1, cyclically */
    void           *B, *C;
    spmm_status_t   status; /**< of a thread */
} work_t;

static spmm_stream_t new_stream(void)
{
#ifdef SPMM_HAVE_CUDA
    cudaStream_t stream;

    if (on_gpu) {
        assert_int_equal(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
        return stream;
    }
#endif
    return NULL;
}

static void drop_stream(spmm_stream_t stream)
{
#ifdef SPMM_HAVE_CUDA
    if (stream != NULL) {
        assert_int_equal(cudaStreamDestroy(stream), cudaSuccess);
    }
#else
#endif
}

/* Everything but the context; runs on any thread, so it asserts nothing. */
static spmm_status_t make(work_t *w, const char *transport)
{
    const int64_t       total = (int64_t)LOCAL * spmm_test_env.size;
    const int64_t       first = (int64_t)LOCAL * spmm_test_env.rank;
    spmm_plan_options_t o     = SPMM_PLAN_OPTIONS_INIT;
    int64_t             row_ptr[LOCAL + 1], col[TWO * LOCAL];
    double              values[TWO * LOCAL], B[LOCAL * N];

    for (int64_t i = 0; i <= LOCAL; i++) {
        row_ptr[i] = TWO * i;
    }
    for (int64_t i = 0; i < LOCAL; i++) {
        col[2 * i]        = first + i;
        col[2 * i + 1]    = (first + i + 1) % total;
        values[2 * i]     = w->diagonal;
        values[2 * i + 1] = w->next;
        for (int64_t j = 0; j < N; j++) {
            B[i * N + j] = (double)(first + i + 3 * j);
        }
    }
    o.transport = transport;
    SPMM_TRY(spmm_matrix_create_csr(w->ctx, LOCAL, LOCAL, row_ptr, col, values, SPMM_R_64F, &w->A));
    SPMM_TRY(spmm_plan_create(w->A, N, &o, &w->plan));
    SPMM_TRY(spmm_buffer_alloc(w->ctx, sizeof B, &w->B));
    SPMM_TRY(spmm_buffer_alloc(w->ctx, sizeof B, &w->C));
    return spmm_buffer_copy(w->ctx, w->B, B, sizeof B);
}

static spmm_status_t enqueue(const work_t *w)
{
    return spmm_execute(w->plan, N, 1.0, w->B, N, 0.0, w->C, N, w->stream);
}

/* SPMM_ERR_INTERNAL where the result is wrong. */
static spmm_status_t finish(const work_t *w)
{
    const int64_t total = (int64_t)LOCAL * spmm_test_env.size;
    const int64_t first = (int64_t)LOCAL * spmm_test_env.rank;
    double        C[LOCAL * N];

    SPMM_TRY(spmm_stream_synchronize(w->ctx, w->stream));
    SPMM_TRY(spmm_buffer_copy(w->ctx, C, w->C, sizeof C));
    for (int64_t i = 0; i < LOCAL; i++) {
        for (int64_t j = 0; j < N; j++) {
            const double own   = (double)(first + i + 3 * j);
            const double after = (double)((first + i + 1) % total + 3 * j);

            if (C[i * N + j] != w->diagonal * own + w->next * after) {
                return SPMM_ERR_INTERNAL;
            }
        }
    }
    return SPMM_OK;
}

static void drop(work_t *w)
{
    (void)spmm_buffer_free(w->ctx, &w->B);
    (void)spmm_buffer_free(w->ctx, &w->C);
    (void)spmm_plan_destroy(&w->plan);
    (void)spmm_matrix_destroy(&w->A);
}

static void test_two_streams(void **state)
{
    work_t          w[TWO] = {{.diagonal = 2, .next = 3}, {.diagonal = -1, .next = 5}};
    spmm_context_t *ctx;

    on_gpu = spmm_test_on_gpu();
    test_context_open(&ctx);
    for (int k = 0; k < TWO; k++) {
        w[k].ctx    = ctx;
        w[k].stream = new_stream();
        spmm_assert_ok(make(&w[k], NULL));
    }
    for (int lap = 0; lap < LAPS; lap++) { /* nothing waits in between */
        spmm_assert_ok(enqueue(&w[lap % TWO]));
        spmm_assert_ok(enqueue(&w[1 - lap % TWO]));
    }
    for (int k = 0; k < TWO; k++) {
        spmm_assert_ok(finish(&w[k]));
        drop(&w[k]);
        drop_stream(w[k].stream);
    }
    spmm_assert_ok(spmm_context_destroy(&ctx));
}

static void test_two_contexts(void **state)
{
    work_t w[TWO] = {{.diagonal = 2, .next = 3}, {.diagonal = -1, .next = 5}};

    for (int k = 0; k < TWO; k++) {
        test_context_open(&w[k].ctx);
        spmm_assert_ok(make(&w[k], NULL));
    }
    for (int lap = 0; lap < LAPS; lap++) {
        spmm_assert_ok(enqueue(&w[lap % TWO]));
        spmm_assert_ok(finish(&w[lap % TWO]));
    }
    for (int k = 0; k < TWO; k++) { /* the first made goes first: neither needs the other */
        drop(&w[k]);
        spmm_assert_ok(spmm_context_destroy(&w[k].ctx));
    }
}

static void *run(void *self)
{
    work_t *w = self;

    w->status = SPMM_OK;
    for (int k = 0; k < 3 && w->status == SPMM_OK; k++) {
        w->status = make(w, "mpi-host");
        for (int lap = 0; lap < LAPS && w->status == SPMM_OK; lap++) {
            w->status = enqueue(w);
            if (w->status == SPMM_OK) {
                w->status = finish(w);
            }
        }
        drop(w);
    }
    return NULL;
}

static void test_a_context_for_each_thread(void **state)
{
    work_t    w[TWO] = {{.diagonal = 2, .next = 3}, {.diagonal = -1, .next = 5}};
    pthread_t thread[TWO];
    int       level;

    MPI_Query_thread(&level);
    assert_int_equal(level, MPI_THREAD_MULTIPLE);
    for (int k = 0; k < TWO; k++) {
        test_context_open(&w[k].ctx);
        w[k].stream = new_stream();
    }
    for (int k = 0; k < TWO; k++) {
        assert_int_equal(pthread_create(&thread[k], NULL, run, &w[k]), 0);
    }
    for (int k = 0; k < TWO; k++) {
        assert_int_equal(pthread_join(thread[k], NULL), 0);
        if (w[k].status != SPMM_OK) {
            print_error("thread %d: %s\n", k, spmm_last_error(w[k].ctx));
        }
        assert_int_equal(w[k].status, SPMM_OK);
        drop_stream(w[k].stream);
        spmm_assert_ok(spmm_context_destroy(&w[k].ctx));
    }
}

static void *run_some(void *self)
{
    work_t *w = self;

    w->status = enqueue(w);
    if (w->status == SPMM_OK) {
        w->status = finish(w);
    }
    return NULL;
}

/* A handle is used by one thread at a time, not always the same. */
static void test_a_plan_from_thread_to_thread(void **state)
{
    work_t    w = {.diagonal = 4, .next = -3};
    pthread_t thread;

    test_context_open(&w.ctx);
    spmm_assert_ok(make(&w, NULL));
    for (int k = 0; k < 4; k++) {
        assert_int_equal(pthread_create(&thread, NULL, run_some, &w), 0);
        assert_int_equal(pthread_join(thread, NULL), 0);
        assert_int_equal(w.status, SPMM_OK);
        spmm_assert_ok(enqueue(&w));
    }
    spmm_assert_ok(finish(&w));
    drop(&w);
    spmm_assert_ok(spmm_context_destroy(&w.ctx));
}

SPMM_TESTS(test_two_streams, test_two_contexts, test_a_context_for_each_thread,
           test_a_plan_from_thread_to_thread);
