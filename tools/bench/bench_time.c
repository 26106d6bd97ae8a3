/* SPDX-License-Identifier: Apache-2.0 */
#include "bench_time.h"

#include <stdlib.h>
#include <string.h>

#include "tool_common.h"

enum { MOST_SETS = 64, LEAD_EVERY = 64, LEAD_COPIES = 32 };

static int check(cudaError_t code, const char *what)
{
    if (code == cudaSuccess) {
        return BENCH_GOOD;
    }
    (void)fprintf(stderr, "spmm_bench: %s failed: %s\n", what, cudaGetErrorString(code));
    return BENCH_OTHER;
}

/* Leave the function with the exit code of a failed CUDA call. */
#define CHECK(call)                                                                                \
    do {                                                                                           \
        if (check((call), #call) != BENCH_GOOD) {                                                  \
            return BENCH_OTHER;                                                                    \
        }                                                                                          \
    } while (0)

static int read_device(bench_timer_t *timer)
{
    struct cudaDeviceProp prop;
    int                   device = 0;

    CHECK(cudaGetDevice(&device));
    CHECK(cudaGetDeviceProperties(&prop, device));
    CHECK(cudaRuntimeGetVersion(&timer->runtime));
    CHECK(cudaDriverGetVersion(&timer->driver));
    (void)snprintf(timer->device, sizeof timer->device, "%s", prop.name);
    timer->l2_bytes = (size_t)prop.l2CacheSize;
    return BENCH_GOOD;
}

static int make_events(bench_timer_t *timer)
{
    CHECK(cudaStreamCreateWithFlags(&timer->stream, cudaStreamNonBlocking));
    CHECK(cudaMalloc(&timer->scratch, 2 * timer->l2_bytes + 1));
    for (int64_t k = 0; k < 2 * timer->iterations; k++) {
        CHECK(cudaEventCreate(&timer->mark[k]));
    }
    return BENCH_GOOD;
}

int bench_timer_create(int64_t iterations, bench_timer_t *timer)
{
    int code;

    memset(timer, 0, sizeof *timer);
    timer->iterations = iterations;
    timer->mark       = calloc(2 * (size_t)iterations, sizeof *timer->mark);
    timer->seconds    = calloc((size_t)iterations, sizeof *timer->seconds);
    if (timer->mark == NULL || timer->seconds == NULL) {
        (void)fprintf(stderr, "spmm_bench: out of memory for %lld iterations\n",
                      (long long)iterations);
        bench_timer_destroy(timer);
        return BENCH_OTHER;
    }
    code = read_device(timer);
    if (code == BENCH_GOOD) {
        code = make_events(timer);
    }
    if (code != BENCH_GOOD) {
        bench_timer_destroy(timer);
    }
    return code;
}

void bench_timer_destroy(bench_timer_t *timer)
{
    for (int64_t k = 0; k < 2 * timer->iterations && timer->mark != NULL; k++) {
        if (timer->mark[k] != NULL) {
            (void)check(cudaEventDestroy(timer->mark[k]), "cudaEventDestroy");
        }
    }
    if (timer->stream != NULL) {
        (void)check(cudaStreamDestroy(timer->stream), "cudaStreamDestroy");
    }
    (void)check(cudaFree(timer->scratch), "cudaFree");
    free(timer->mark);
    free(timer->seconds);
    memset(timer, 0, sizeof *timer);
}

int bench_timer_sets(const bench_timer_t *timer, const bench_options_t *options, size_t pair_bytes)
{
    size_t sets;

    if (!options->also_rotate || pair_bytes == 0) {
        return 1;
    }
    sets = 2 * timer->l2_bytes / pair_bytes + 2;
    return sets < MOST_SETS ? (int)sets : MOST_SETS;
}

static int overwrite(bench_timer_t *timer)
{
    for (int k = 0; k < LEAD_COPIES; k++) {
        CHECK(cudaMemsetAsync(timer->scratch, k, 2 * timer->l2_bytes, timer->stream));
    }
    return BENCH_GOOD;
}

static int product(const bench_timer_t *timer, bool rotates, spmm_plan_t *plan,
                   const bench_dense_t *dense, int64_t k)
{
    const int set = rotates ? (int)(k % dense->n_sets) : 0;

    if (spmm_execute(plan, dense->n, 1.0, dense->B[set].data, dense->B[set].ld, 0.0,
                     dense->C[set].data, dense->C[set].ld, timer->stream) != SPMM_OK) {
        (void)fprintf(stderr, "spmm_bench: %s\n", spmm_last_error(dense->ctx));
        return BENCH_OTHER;
    }
    return BENCH_GOOD;
}

static int median_of(bench_timer_t *timer, double *median)
{
    for (int64_t k = 0; k < timer->iterations; k++) {
        float ms = 0.0f;

        CHECK(cudaEventElapsedTime(&ms, timer->mark[2 * k], timer->mark[2 * k + 1]));
        timer->seconds[k] = 1e-3 * (double)ms;
    }
    *median = tool_median(timer->seconds, timer->iterations);
    return BENCH_GOOD;
}

int bench_time_plan(bench_timer_t *timer, int64_t warmup, bool rotates, spmm_plan_t *plan,
                    const bench_dense_t *dense, double *median)
{
    int code = BENCH_GOOD;

    for (int64_t k = 0; k < warmup && code == BENCH_GOOD; k++) {
        code = product(timer, rotates, plan, dense, k);
    }
    for (int64_t k = 0; k < timer->iterations && code == BENCH_GOOD; k++) {
        /* The GPU is kept busy first, so that the host is ahead and its launches are not timed. */
        if (k % LEAD_EVERY == 0) {
            code = overwrite(timer);
        }
        if (code == BENCH_GOOD && k % LEAD_EVERY == 0 && !rotates) {
            /* what the overwriting took from the cache */
            code = product(timer, rotates, plan, dense, k);
        }
        if (code == BENCH_GOOD) {
            CHECK(cudaEventRecord(timer->mark[2 * k], timer->stream));
            code = product(timer, rotates, plan, dense, k);
            CHECK(cudaEventRecord(timer->mark[2 * k + 1], timer->stream));
        }
    }
    CHECK(cudaStreamSynchronize(timer->stream));
    return code == BENCH_GOOD ? median_of(timer, median) : code;
}

bool bench_timer_alive(void)
{
    return check(cudaDeviceSynchronize(), "the device") == BENCH_GOOD;
}
