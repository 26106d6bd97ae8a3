/* SPDX-License-Identifier: Apache-2.0 */
#include "driver_job.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

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
    text = spmm_last_error(ctx);
    return driver_fail(job, code, "%s", text[0] != '\0' ? text : spmm_status_string(status));
}

int driver_agree(driver_job_t *job, int code)
{
    int first;
    int mine = code == DRIVER_GOOD ? job->size : job->rank;

    MPI_Allreduce(&mine, &first, 1, MPI_INT, MPI_MIN, job->comm);
    if (first == job->size) {
        return DRIVER_GOOD;
    }
    MPI_Bcast(&code, 1, MPI_INT, first, job->comm);
    MPI_Bcast(job->text, DRIVER_TEXT, MPI_CHAR, first, job->comm);
    return code;
}

void *driver_alloc(int64_t count, size_t size)
{
    size_t bytes;

    if (count < 0 || __builtin_mul_overflow((uint64_t)count, size, &bytes)) {
        return NULL;
    }
    return malloc(bytes > 0 ? bytes : 1);
}
