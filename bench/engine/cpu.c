/* SPDX-License-Identifier: Apache-2.0 */
/** @file cpu.c
 *  Engine csr-cpu against CPU libraries, which are loaded when the program runs:
 *
 *      bench_cpu [--mkl FILE] [--petsc FILE] [--types 64f,32f] [--threads 1,2] [--pairs 21]
 *                N,N,... MATRIX...
 *
 *  Prints a line for each product: tab-separated, medians over pairs of one time of csr-cpu and one
 *  of the library, taken in turns, so that what else the machine does falls on both.
 */
#include <omp.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "block.h"
#include "cpu_peers.h"
#include "spmm_dist/context.h"
#include "tool_common.h"

enum { MOST_WIDTHS = 16, MOST_THREADS = 8 };

/* A time is of as many products as take this long. */
static const double least_seconds = 1e-3;

/** The options, and what of them runs. */
typedef struct {
    const char       *types;
    int64_t           pairs, width[MOST_WIDTHS], threads[MOST_THREADS];
    int               n_widths, n_threads;
    const cpu_peer_t *peer[2];
    spmm_device_t     device;
    bool              is_wrong; /**< a C was */
} bench_t;

/** A product to time: by the engine or by a peer. */
typedef struct {
    const spmm_engine_ops_t *engine;
    void                    *format;
    const spmm_operands_t   *x;
    cpu_product_t            peer;
    int                      threads;
} product_t;

static void multiply(const product_t *p, bool by_peer)
{
    if (by_peer) {
        p->peer.multiply(p->peer.self);
    } else {
        (void)p->engine->execute(p->format, p->x);
    }
}

/* Of this thread where it is the only one, so that what else runs on its core does not count. */
static double now(int threads)
{
    struct timespec t;

    (void)clock_gettime(threads == 1 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double seconds_of(const product_t *p, bool by_peer, int64_t times)
{
    const double start = now(p->threads);

    for (int64_t k = 0; k < times; k++) {
        multiply(p, by_peer);
    }
    return (now(p->threads) - start) / (double)times;
}

/* Medians in *ours, *theirs, and that of the quotients of the pairs. */
static double time_pairs(const product_t *p, int64_t pairs, double *ours, double *theirs)
{
    const double  once  = (seconds_of(p, false, 1), seconds_of(p, false, 1));
    const int64_t times = once < least_seconds ? (int64_t)(least_seconds / once) + 1 : 1;
    double       *time  = spmmi_alloc(3 * pairs, sizeof *time), median;

    if (time == NULL) {
        return 0.0;
    }
    (void)seconds_of(p, true, 1);
    for (int64_t k = 0; k < pairs; k++) {
        time[k]             = seconds_of(p, false, times);
        time[pairs + k]     = seconds_of(p, true, times);
        time[2 * pairs + k] = time[pairs + k] / time[k];
    }
    *ours   = tool_median(time, pairs);
    *theirs = tool_median(time + pairs, pairs);
    median  = tool_median(time + 2 * pairs, pairs);
    spmmi_free(time);
    return median;
}

/* One line: our row-major product beside that of @p peer. */
static spmm_status_t compare(bench_t *b, const spmm_csr_t *A, const int32_t *row_ptr,
                             const char *name, const cpu_peer_t *peer, spmm_operands_t *x,
                             int threads)
{
    product_t            p = {.engine = spmmi_engine_find("csr-cpu"), .x = x, .threads = threads};
    const spmm_problem_t problem = {.ab_type = A->type,
                                    .c_type  = A->type,
                                    .compute =
                                        A->type == SPMM_R_64F ? SPMM_COMPUTE_64F : SPMM_COMPUTE_32F,
                                    .layout = SPMM_LAYOUT_ROW,
                                    .n      = x->n};
    double               ours = 0, theirs = 0, ratio, error = 0;

    b->device.threads = b->device.n_sm = threads;
    SPMM_TRY(p.engine->build(p.engine, A, &problem, &b->device, &p.format));
    memset(x->C, 0xff, (size_t)(A->n_rows * x->n) * spmm_type_size(A->type)); /* NaN */
    multiply(&p, false);
    error = bench_block_error(A, x->n, x->B, x->C);
    b->is_wrong |= !(error <= tool_tolerance(A->type, problem.compute));
    if (peer->open(A, row_ptr, x, threads, &p.peer)) {
        ratio = time_pairs(&p, b->pairs, &ours, &theirs);
        (void)printf("%s\t%d\t%lld\t%s\t%d\t%lld\trow\t%s\t%.5f\t%.5f\t%.3f\t%.1e\n", name,
                     A->n_rows, (long long)spmmi_csr_nnz(A),
                     tool_word_name(tool_types, (int)A->type), threads, (long long)x->n, peer->name,
                     1e3 * ours, 1e3 * theirs, ratio, error);
        (void)fflush(stdout);
        p.peer.close(p.peer.self);
    }
    p.engine->destroy(p.format);
    return SPMM_OK;
}

/* All peers and numbers of threads at one width. */
static spmm_status_t run_width(bench_t *b, const spmm_csr_t *A, const int32_t *row_ptr,
                               const char *name, int64_t n)
{
    const size_t    size   = (size_t)n * spmm_type_size(A->type);
    spmm_operands_t x      = {.ab_type = A->type,
                              .c_type  = A->type,
                              .layout  = SPMM_LAYOUT_ROW,
                              .n       = n,
                              .alpha   = {.re = 1.0},
                              .ldb     = n,
                              .ldc     = n};
    void           *B      = spmmi_alloc(A->n_cols, size);
    spmm_status_t   status = SPMM_OK;

    x.B = B;
    x.C = spmmi_alloc(A->n_rows, size);
    if (x.B == NULL || x.C == NULL) {
        status = spmmi_fail_memory(&b->device.env->err, A->n_cols, size, "B and C");
    } else {
        bench_block_random(A, n, B);
    }
    for (int t = 0; t < b->n_threads; t++) {
        for (int k = 0; k < 2 && status == SPMM_OK; k++) {
            const cpu_peer_t *peer = b->peer[k];

            if (peer != NULL && (b->threads[t] == 1 || peer->threads)) {
                status = compare(b, A, row_ptr, name, peer, &x, (int)b->threads[t]);
            }
        }
    }
    spmmi_free(B);
    spmmi_free(x.C);
    return status;
}

static spmm_status_t run_matrix(bench_t *b, const char *path, spmm_type_t type)
{
    spmm_csr_t    A = {0};
    int32_t      *row_ptr;
    spmm_status_t status;

    SPMM_TRY(bench_block_read(b->device.env, path, type, &A));
    status = SPMM_NEW(row_ptr, (int64_t)A.n_rows + 1) != NULL
                 ? SPMM_OK
                 : spmmi_fail_memory(&b->device.env->err, A.n_rows, sizeof *row_ptr, "rows");
    for (int64_t i = 0; i <= A.n_rows && status == SPMM_OK; i++) {
        row_ptr[i] = (int32_t)A.row_ptr[i];
    }
    for (int w = 0; w < b->n_widths && status == SPMM_OK; w++) {
        status = run_width(b, &A, row_ptr, bench_block_name(path), b->width[w]);
    }
    spmmi_free(row_ptr);
    spmmi_csr_free(&A);
    return status;
}

/* Take the options; the first argument that is none, NULL where one is wrong. */
static char **take_options(bench_t *b, char **argument)
{
    for (; argument[0] != NULL && strncmp(argument[0], "--", 2) == 0; argument += 2) {
        const char *option = argument[0] + 2, *value = argument[1], *why = NULL;

        if (value == NULL) {
            return NULL;
        }
        if (strcmp(option, "mkl") == 0 || strcmp(option, "petsc") == 0) {
            const bool        first = option[0] == 'm';
            const cpu_peer_t *peer  = first ? &bench_peer_mkl : &bench_peer_petsc;

            b->peer[first ? 0 : 1] = peer;
            why                    = peer->load(value);
        } else if (strcmp(option, "types") == 0) {
            b->types = value;
        } else if (strcmp(option, "threads") == 0) {
            b->n_threads = tool_read_widths(value, 1, b->threads, MOST_THREADS);
        } else if (strcmp(option, "pairs") != 0 || !tool_read_int(value, 1, &b->pairs)) {
            return NULL;
        }
        if (why != NULL) {
            (void)fprintf(stderr, "bench_cpu: %s: %s\n", value, why);
            return NULL;
        }
    }
    b->n_widths = argument[0] == NULL ? 0 : tool_read_widths(argument[0], 1, b->width, MOST_WIDTHS);
    return b->n_widths > 0 && b->n_threads > 0 ? argument + 1 : NULL;
}

int main(int argc, char **argv)
{
    bench_t    b    = {.types = "64f,32f", .pairs = 21, .threads = {1}, .n_threads = 1};
    spmm_env_t env  = {.size = 1};
    int        code = 0;
    char     **paths;

    MPI_Init(&argc, &argv);
    env.comm = MPI_COMM_SELF;
    paths    = take_options(&b, argv + 1);
    if (paths == NULL || spmmi_device_open(&env, SPMM_DEVICE_CPU, NULL, &b.device) != SPMM_OK) {
        (void)fprintf(stderr, "usage: bench_cpu [--mkl FILE] [--petsc FILE] [--types TYPE,...] "
                              "[--threads K,...] [--pairs K] N,... MATRIX...\n");
        code = 2;
    }
    (void)printf(
        "matrix\trows\tentries\ttype\tthreads\tN\tlayout\tpeer\tms\tpeer_ms\tratio\terror\n");
    for (; code != 2 && *paths != NULL; paths++) {
        for (const tool_word_t *type = tool_types; type->name != NULL; type++) {
            if (tool_is_listed(b.types, type->name) &&
                run_matrix(&b, *paths, (spmm_type_t)type->value) != SPMM_OK) {
                (void)fprintf(stderr, "bench_cpu: %s: %s\n", *paths, env.err.text);
                spmmi_error_clear(&env.err);
                code = 3;
            }
        }
    }
    MPI_Finalize();
    return code == 0 && b.is_wrong ? 1 : code;
}
