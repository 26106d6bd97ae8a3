/* SPDX-License-Identifier: Apache-2.0 */
/* Multiplies until something fails; test_faults.py stops or kills one of the ranks meanwhile.
 *
 *     mpirun -n 3 fault_worker cpu|cuda TRANSPORT TIMEOUT
 *
 * Each rank prints `rank R pid P ready` after a few products, and at the first failure
 * `rank R failed after S s: SENTENCE`, S counted from the start of the call that failed, and
 * `rank R released` when it has given back plan, matrix and context. */
#include <mpi.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "spmm_dist/spmm_dist.h"

enum { COLUMNS = 32, READY_AFTER = 20, MOST_SECONDS = 60 };

static int rank;

/* One write for each line: ranks share the pipe. */
static void say(const char *format, ...) __attribute__((format(printf, 1, 2)));

static void say(const char *format, ...)
{
    char    line[800];
    va_list args;
    size_t  used = (size_t)snprintf(line, sizeof line, "rank %d ", rank);

    va_start(args, format);
    (void)vsnprintf(line + used, sizeof line - used - 1, format, args);
    va_end(args);
    used         = strlen(line);
    line[used++] = '\n';
    if (write(STDOUT_FILENO, line, used) != (ssize_t)used) {
        MPI_Abort(MPI_COMM_WORLD, 4);
    }
}

static void must(spmm_status_t status)
{
    if (status != SPMM_OK) {
        say("could not start: %s", spmm_last_error(NULL));
        MPI_Abort(MPI_COMM_WORLD, 4);
    }
}

/* Until a call fails. */
static void multiply(spmm_context_t *ctx, spmm_plan_t *plan, const void *B, void *C)
{
    const double          first = MPI_Wtime();
    const struct timespec pause = {.tv_nsec = 2000000}; /* leaves the launcher a core */

    for (int k = 0;; k++) {
        const double  start  = MPI_Wtime();
        spmm_status_t status = spmm_execute(plan, COLUMNS, 1.0, B, COLUMNS, 0.0, C, COLUMNS, NULL);

        if (status == SPMM_OK) {
            status = spmm_stream_synchronize(ctx, NULL);
        }
        if (status != SPMM_OK) {
            say("failed after %.2f s: %s", MPI_Wtime() - start, spmm_last_error(ctx));
            return;
        }
        if (k == READY_AFTER) {
            say("pid %ld ready", (long)getpid());
        }
        (void)nanosleep(&pause, NULL);
        if (MPI_Wtime() - first > MOST_SECONDS) {
            say("met no failure in %.0f s", MPI_Wtime() - first);
            return;
        }
    }
}

int main(int argc, char **argv)
{
    spmm_context_options_t c    = SPMM_CONTEXT_OPTIONS_INIT;
    spmm_plan_options_t    o    = SPMM_PLAN_OPTIONS_INIT;
    spmm_matrix_info_t     info = {.struct_size = sizeof info};
    spmm_context_t        *ctx  = NULL;
    spmm_matrix_t         *A    = NULL;
    spmm_plan_t           *plan = NULL;
    void                  *B, *C, *zero;
    size_t                 bytes;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (argc != 4) {
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    c.device    = strcmp(argv[1], "cuda") == 0 ? SPMM_DEVICE_CUDA : SPMM_DEVICE_CPU;
    o.transport = argv[2];
    c.timeout_s = strtod(argv[3], NULL);
    must(spmm_context_create(MPI_COMM_WORLD, &c, &ctx));
    must(spmm_matrix_generate(ctx, "rmat:scale=8,degree=8", SPMM_R_32F, 0, &A));
    must(spmm_plan_create(A, COLUMNS, &o, &plan));
    must(spmm_matrix_get_info(A, &info));
    bytes = (size_t)info.local_rows * COLUMNS * sizeof(float);
    zero  = calloc(bytes + 1, 1);
    must(zero == NULL ? SPMM_ERR_MEMORY : SPMM_OK);
    must(spmm_buffer_alloc(ctx, bytes, &B));
    must(spmm_buffer_alloc(ctx, bytes, &C));
    must(spmm_buffer_copy(ctx, B, zero, bytes));
    free(zero);

    multiply(ctx, plan, B, C);

    (void)spmm_buffer_free(ctx, &B);
    (void)spmm_buffer_free(ctx, &C);
    (void)spmm_plan_destroy(&plan);
    (void)spmm_matrix_destroy(&A);
    (void)spmm_context_destroy(&ctx);
    say("released");
    /* MPI_Finalize would wait for the rank that is gone, and a rank that ends without it ends all:
     * the script does that, when it has heard from every rank. */
    (void)sleep(MOST_SECONDS);
    _exit(0);
}
