/* SPDX-License-Identifier: Apache-2.0 */
#include "driver_job.h"

#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int driver_fail(driver_job_t *job, int code, const char *format, ...)
{
    va_list args;

    if (job->text[0] == '\0') {
        va_start(args, format);
        (void)vsnprintf(job->text, sizeof job->text, format, args);
        va_end(args);
    }
    return code;
}

int driver_fail_memory(driver_job_t *job, int64_t count, size_t size, const char *what)
{
    return driver_fail(job, DRIVER_OTHER,
                       "out of memory: %s needs %" PRId64 " elements of %zu bytes on one rank",
                       what, count, size);
}

int driver_check(driver_job_t *job, const spmm_context_t *ctx, spmm_status_t status, int code)
{
    const char *text;

    if (status == SPMM_OK) {
        return DRIVER_GOOD;
    }
    job->broken = job->broken || status == SPMM_ERR_COMM;
    text        = spmm_last_error(ctx);
    return driver_fail(job, code, "%s", text[0] != '\0' ? text : spmm_status_string(status));
}

/* Until a request is done.  Where it is not after @p timeout_s (0: no limit) the job ends. */
static void wait_for(driver_job_t *job, MPI_Request *request, double timeout_s)
{
    const double start = MPI_Wtime();
    int          done  = 0;

    if (timeout_s <= 0.0) {
        MPI_Wait(request, MPI_STATUS_IGNORE);
        return;
    }
    for (MPI_Test(request, &done, MPI_STATUS_IGNORE); !done;
         MPI_Test(request, &done, MPI_STATUS_IGNORE)) {
        if (MPI_Wtime() - start > timeout_s) {
            (void)driver_fail(job, DRIVER_OTHER,
                              "a rank did not come within the timeout of %g s: it is late or gone",
                              timeout_s);
            driver_lost(job);
        }
    }
}

int driver_agree(driver_job_t *job, int code)
{
    MPI_Request request;
    int         first;
    int         mine = code == DRIVER_GOOD ? job->size : job->rank;

    MPI_Iallreduce(&mine, &first, 1, MPI_INT, MPI_MIN, job->comm, &request);
    wait_for(job, &request, job->broken ? DRIVER_GRACE : job->timeout_s);
    if (first == job->size) {
        return DRIVER_GOOD;
    }
    MPI_Bcast(&code, 1, MPI_INT, first, job->comm);
    MPI_Bcast(job->text, DRIVER_TEXT, MPI_CHAR, first, job->comm);
    return code;
}

static void leave(int signal_number)
{
    (void)signal_number;
    _exit(DRIVER_OTHER);
}

void driver_leave_within(double seconds)
{
    (void)signal(SIGALRM, leave);
    (void)alarm(seconds < 1e9 ? (unsigned)ceil(seconds) : 0);
}

void driver_lost(const driver_job_t *job)
{
    (void)fflush(stdout);
    (void)fprintf(stderr, "spmm_dist: rank %d: %s\n", job->rank, job->text);
    driver_leave_within(DRIVER_GRACE); /* MPI_Abort() waits for a launcher that is out of reach */
    MPI_Abort(job->comm, DRIVER_OTHER);
    _exit(DRIVER_OTHER);
}

void *driver_alloc(int64_t count, size_t size)
{
    size_t bytes;

    if (count < 0 || __builtin_mul_overflow((uint64_t)count, size, &bytes)) {
        return NULL;
    }
    return malloc(bytes > 0 ? bytes : 1);
}
