/* SPDX-License-Identifier: Apache-2.0 */
/** @file attention.c
 *  Sparse attention and its gradients on one GPU, FP16:
 *
 *      bench_attention [--iterations K] HEADS COLUMNS SPEC...
 *
 *  COLUMNS: of a head.  SPEC: of a generator; the pattern is the mask.  Device time in
 *  microseconds, median of K (20) calls after 3, the same operands again; by kernel "windows" and
 *  by "rows".
 */
#include <cuda_runtime_api.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/scalar.h"
#include "spmm_dist/spmm_dist.h"

enum { Q, K, V, O, DO, DQ, DK, DV, BLOCKS, MOST = 200, WARM = 3 };

static spmm_context_t *ctx;
static int             iterations = 20;

static void must(spmm_status_t status)
{
    if (status != SPMM_OK) {
        (void)fprintf(stderr, "bench_attention: %s\n", spmm_last_error(ctx));
        MPI_Abort(MPI_COMM_WORLD, 4);
    }
}

static void must_cuda(cudaError_t code)
{
    if (code != cudaSuccess) {
        (void)fprintf(stderr, "bench_attention: %s\n", cudaGetErrorString(code));
        MPI_Abort(MPI_COMM_WORLD, 4);
    }
}

/** What a call takes. */
typedef struct {
    spmm_attention_plan_t *plan;
    int64_t                n, k; /**< columns of blocks, of a head */
    void                  *block[BLOCKS], *lse;
} call_t;

static void run(const call_t *c, int backward)
{
    void *const *b     = c->block;
    const double scale = 1.0 / sqrt((double)c->k);

    must(backward ? spmm_attention_backward(c->plan, scale, b[Q], c->n, b[K], c->n, b[V], c->n,
                                            b[O], b[DO], c->n, c->lse, b[DQ], b[DK], b[DV], NULL)
                  : spmm_attention(c->plan, scale, b[Q], c->n, b[K], c->n, b[V], c->n, b[O], c->n,
                                   c->lse, NULL));
}

static int ascending(const void *a, const void *b)
{
    const float x = *(const float *)a, y = *(const float *)b;

    return (x > y) - (x < y);
}

static double time_calls(const call_t *c, int backward)
{
    float       ms[MOST];
    cudaEvent_t from, to;

    must_cuda(cudaEventCreate(&from));
    must_cuda(cudaEventCreate(&to));
    for (int i = -WARM; i < iterations; i++) {
        must_cuda(cudaEventRecord(from, NULL));
        run(c, backward);
        must_cuda(cudaEventRecord(to, NULL));
        must_cuda(cudaEventSynchronize(to));
        must_cuda(cudaEventElapsedTime(&ms[i < 0 ? 0 : i], from, to));
    }
    must_cuda(cudaEventDestroy(from));
    must_cuda(cudaEventDestroy(to));
    qsort(ms, (size_t)iterations, sizeof ms[0], ascending);
    return 1e3 * (double)ms[iterations / 2];
}

static void *random_block(int64_t count, uint64_t seed)
{
    uint16_t *host = malloc((size_t)count * sizeof *host + 1);
    void     *device;

    if (host == NULL) {
        MPI_Abort(MPI_COMM_WORLD, 4);
    }
    for (int64_t i = 0; i < count; i++) {
        spmmi_value_draw(SPMM_R_16F, host, i, seed, i, 0);
    }
    must(spmm_buffer_alloc(ctx, (size_t)count * sizeof *host, &device));
    must(spmm_buffer_copy(ctx, device, host, (size_t)count * sizeof *host));
    free(host);
    return device;
}

static void bench(const char *spec, int64_t heads, int64_t k)
{
    static const char *const kernels[] = {"windows", "rows"};
    spmm_matrix_info_t       my        = {.struct_size = sizeof my};
    call_t                   c         = {.n = heads * k, .k = k};
    spmm_matrix_t           *mask;

    must(spmm_matrix_generate(ctx, spec, SPMM_R_16F, 1, &mask));
    must(spmm_matrix_get_info(mask, &my));
    for (int b = Q; b < BLOCKS; b++) {
        c.block[b] = random_block(my.local_rows * c.n, (uint64_t)b);
    }
    must(spmm_buffer_alloc(ctx, sizeof(float) * (size_t)(my.local_rows * heads), &c.lse));
    for (int w = 0; w < 2; w++) {
        spmm_attention_options_t o    = SPMM_ATTENTION_OPTIONS_INIT;
        spmm_attention_info_t    info = {.struct_size = sizeof info};
        const double             from = MPI_Wtime();
        double                   seconds;

        o.kernel   = kernels[w];
        o.backward = 1;
        must(spmm_attention_plan_create(mask, heads, k, &o, &c.plan));
        seconds = MPI_Wtime() - from;
        must(spmm_attention_plan_get_info(c.plan, &info));
        printf("%s\t%lld\t%lld\t%s\t%d\t%.1f", spec, (long long)heads, (long long)k, info.kernel,
               info.vector, time_calls(&c, 0));
        printf("\t%.1f\t%.3f\t%.1f\n", time_calls(&c, 1), seconds,
               (double)info.device_bytes / 1048576.0);
        (void)fflush(stdout);
        must(spmm_attention_plan_destroy(&c.plan));
    }
    for (int b = Q; b < BLOCKS; b++) {
        must(spmm_buffer_free(ctx, &c.block[b]));
    }
    must(spmm_buffer_free(ctx, &c.lse));
    must(spmm_matrix_destroy(&mask));
}

int main(int argc, char **argv)
{
    int at = 1;

    MPI_Init(&argc, &argv);
    if (argc > 2 && strcmp(argv[1], "--iterations") == 0) {
        iterations = atoi(argv[2]);
        at         = 3;
    }
    if (argc < at + 3 || iterations < 1 || iterations > MOST) {
        (void)fprintf(stderr, "usage: %s [--iterations K] HEADS COLUMNS SPEC...\n", argv[0]);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    must(spmm_context_create(MPI_COMM_WORLD, NULL, &ctx));
    printf("mask\theads\tk\tkernel\tV\tforward_us\tbackward_us\tplan_s\tplan_MiB\n");
    for (int s = at + 2; s < argc; s++) {
        bench(argv[s], strtoll(argv[at], NULL, 10), strtoll(argv[at + 1], NULL, 10));
    }
    must(spmm_context_destroy(&ctx));
    MPI_Finalize();
    return 0;
}
