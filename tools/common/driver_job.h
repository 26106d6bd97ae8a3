/* SPDX-License-Identifier: Apache-2.0 */
/** @file driver_job.h
 *  The ranks of one run of the driver, and how they fail: with the same exit code on every rank and
 *  one sentence on the standard error stream of rank 0.
 */
#ifndef DRIVER_JOB_H
#define DRIVER_JOB_H

#include <mpi.h>
#include <stdbool.h>

#include "spmm_dist/spmm_dist.h"

/** What the program exits with; documented in --help. */
enum {
    DRIVER_GOOD       = 0,
    DRIVER_USAGE      = 2, /**< 1: launchers say it where a rank ended by a signal */
    DRIVER_INPUT      = 3, /**< matrix file, generator, partition file, value out of range */
    DRIVER_OTHER      = 4,
    DRIVER_UNVERIFIED = 5 /**< the result differs from the reference */
};

enum { DRIVER_TEXT = 640 };

/** Seconds that a rank whose communicator broke waits for the others, which may hang in it. */
enum { DRIVER_GRACE = 3 };

typedef struct {
    MPI_Comm comm;
    int      rank, size;
    char     text[DRIVER_TEXT]; /**< sentence of the first failure; "" when there was none */
    bool     broken;            /**< this rank met SPMM_ERR_COMM */
    double   timeout_s;         /**< of --timeout; 0: none */
} driver_job_t;

/** Record a sentence, without the program's name, unless one stands.  Returns @p code. */
int driver_fail(driver_job_t *job, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/** DRIVER_OTHER for @p count elements of @p size bytes meant as @p what. */
int driver_fail_memory(driver_job_t *job, int64_t count, size_t size, const char *what);

/** DRIVER_GOOD for SPMM_OK, else @p code with the sentence of @p ctx (may be NULL). */
int driver_check(driver_job_t *job, const spmm_context_t *ctx, spmm_status_t status, int code);

/** Collective.  Every rank gets code and sentence of the lowest rank that failed.  Where a rank
 *  does not come within the timeout of the job, or DRIVER_GRACE seconds after SPMM_ERR_COMM, the
 *  program ends as driver_lost() does. */
int driver_agree(driver_job_t *job, int code);
/** A rank is lost, so that no collective would return: print the sentence and end all ranks with
 *  DRIVER_OTHER, this one also where MPI cannot. */
void driver_lost(const driver_job_t *job);

/** This process ends with DRIVER_OTHER in @p seconds, whatever MPI waits for until then. */
void driver_leave_within(double seconds);

/** @p count elements of @p size bytes; never NULL for count == 0; NULL when the product overflows
 *  or memory is out.  Free with free(). */
void *driver_alloc(int64_t count, size_t size);

#endif /* DRIVER_JOB_H */
