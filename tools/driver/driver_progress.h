/* SPDX-License-Identifier: Apache-2.0 */
/** @file driver_progress.h
 *  One line on stderr that tells what takes long.  A thread of its own draws it, so that it also
 *  moves while the library says nothing; the thread never calls MPI.
 */
#ifndef DRIVER_PROGRESS_H
#define DRIVER_PROGRESS_H

#include <pthread.h>
#include <stdbool.h>
#include <time.h>

typedef struct {
    pthread_t       thread;
    pthread_mutex_t lock;
    pthread_cond_t  changed;
    bool            running;   /**< the thread exists */
    bool            quit;      /**< it shall end */
    bool            shown;     /**< a line stands on the screen */
    char            text[160]; /**< "" between phases */
    struct timespec started;   /**< of the phase, CLOCK_MONOTONIC */
} driver_progress_t;

/** Nothing is ever drawn unless @p enabled. */
void driver_progress_open(driver_progress_t *progress, bool enabled);
/** A phase begins; its line appears when it takes over a second. */
void driver_progress_phase(driver_progress_t *progress, const char *text);
/** An spmm_log_fn_t: @p line replaces the text of the phase. */
void driver_progress_log(void *progress, const char *line);
/** The phase is over; its line is erased. */
void driver_progress_done(driver_progress_t *progress);
void driver_progress_close(driver_progress_t *progress);

#endif /* DRIVER_PROGRESS_H */
