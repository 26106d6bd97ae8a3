/* SPDX-License-Identifier: Apache-2.0 */
/** @file read.c
 *  bench_read FILE [PARTITION]: read a matrix, and make a plan of it, on all ranks; for each rank
 *  and step seconds of wall clock and CPU and bytes of memory, a line each:
 *
 *      step rank entries wall_s user_s system_s peak_bytes held_bytes
 *
 *  Memory is what the process has more than before it read (VmHWM, VmRSS of Linux).
 */
#define _DEFAULT_SOURCE /* getrusage() */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "spmm_dist/spmm_dist.h"

typedef struct {
    double wall, user, system;
} clocks_t;

static clocks_t now(void)
{
    struct rusage use;

    (void)getrusage(RUSAGE_SELF, &use);
    return (clocks_t){MPI_Wtime(),
                      (double)use.ru_utime.tv_sec + 1e-6 * (double)use.ru_utime.tv_usec,
                      (double)use.ru_stime.tv_sec + 1e-6 * (double)use.ru_stime.tv_usec};
}

/* Bytes of a line of /proc/self/status. */
static long status_of(const char *name)
{
    FILE *file = fopen("/proc/self/status", "r");
    char  line[256];
    long  found = 0;

    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        if (strncmp(line, name, strlen(name)) == 0) {
            found = 1024 * strtol(line + strlen(name), NULL, 10);
        }
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    return found;
}

/* The peak begins anew. */
static void forget_peak(void)
{
    FILE *file = fopen("/proc/self/clear_refs", "w");

    if (file != NULL) {
        (void)fputs("5", file);
        (void)fclose(file);
    }
}

static void report(const char *step, int rank, long long entries, clocks_t since, long base)
{
    const clocks_t at = now();

    (void)printf("%s %d %lld %.4f %.4f %.4f %ld %ld\n", step, rank, entries, at.wall - since.wall,
                 at.user - since.user, at.system - since.system, status_of("VmHWM:") - base,
                 status_of("VmRSS:") - base);
    (void)fflush(stdout);
}

static void check(spmm_context_t *ctx, spmm_status_t status)
{
    if (status != SPMM_OK) {
        (void)fprintf(stderr, "bench_read: %s\n", spmm_last_error(ctx));
        MPI_Abort(MPI_COMM_WORLD, 4);
    }
}

int main(int argc, char **argv)
{
    spmm_context_t     *ctx     = NULL;
    spmm_matrix_t      *A       = NULL;
    spmm_plan_t        *plan    = NULL;
    spmm_matrix_info_t  info    = {.struct_size = sizeof info};
    spmm_plan_options_t options = SPMM_PLAN_OPTIONS_INIT;
    clocks_t            start;
    long                base;
    int                 rank, provided;

    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (argc < 2 || argc > 3) {
        (void)fprintf(stderr, "usage: bench_read FILE [PARTITION]\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    check(ctx, spmm_context_create(MPI_COMM_WORLD, NULL, &ctx));
    base = status_of("VmRSS:");
    forget_peak();
    start = now();
    check(ctx, spmm_matrix_read(ctx, argv[1], SPMM_R_64F, 0, &A));
    check(ctx, spmm_matrix_get_info(A, &info));
    report("read", rank, (long long)info.local_nnz, start, base);
    if (argc > 2) {
        options.partition = argv[2];
        forget_peak();
        start = now();
        check(ctx, spmm_plan_create(A, 64, &options, &plan));
        report("plan", rank, (long long)info.local_nnz, start, base);
    }
    (void)spmm_plan_destroy(&plan);
    (void)spmm_matrix_destroy(&A);
    (void)spmm_context_destroy(&ctx);
    MPI_Finalize();
    return 0;
}
