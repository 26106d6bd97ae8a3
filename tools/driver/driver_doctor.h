/* SPDX-License-Identifier: Apache-2.0 */
/** @file driver_doctor.h
 *  --doctor: what this build and this machine have, whether it works, and how to get what is
 *  missing.
 */
#ifndef DRIVER_DOCTOR_H
#define DRIVER_DOCTOR_H

#include "driver_options.h"

enum { DRIVER_CHECKS = 64, DRIVER_CHECK_TEXT = 400 };

typedef enum {
    DRIVER_CHECK_GOOD,
    DRIVER_CHECK_MISSING, /**< works without it */
    DRIVER_CHECK_PROBLEM
} driver_state_t;

typedef struct {
    driver_state_t state;
    const char    *topic; /**< static storage */
    char           text[DRIVER_CHECK_TEXT], advice[DRIVER_CHECK_TEXT];
} driver_finding_t;

/** What was found, on rank 0. */
typedef struct {
    int              count;
    driver_finding_t finding[DRIVER_CHECKS];
} driver_checkup_t;

/** Add a finding; there is room for several times as many as there are checks.
 *  @param[in] advice  how to get what is missing; "": nothing to do */
void driver_find(driver_checkup_t *checkup, driver_state_t state, const char *topic,
                 const char *advice, const char *format, ...) __attribute__((format(printf, 5, 6)));

/** "good", "missing" or "problem". */
const char *driver_state_name(driver_state_t state);

/** Examine, print on rank 0, write options->json where given.  Collective, agreed.
 *  @return DRIVER_OTHER when there is a problem */
int driver_doctor(driver_job_t *job, const driver_options_t *options);

/** A small product over each transport of this build (driver_doctor_try.c).  Collective. */
void driver_check_transports(driver_checkup_t *checkup, driver_job_t *job, spmm_context_t *ctx);

/** A message from every rank to every other, where ranks are not too many; the job ends with a
 *  sentence of each rank that waits for one in vain.  Collective. */
void driver_check_reach(driver_job_t *job, double timeout_s);

/* driver_doctor_gpu.c: local, no MPI. */

/** What the CUDA part of this build is and sees.
 *  @return visible GPUs */
int driver_check_cuda(driver_checkup_t *checkup);
/** What the kernels of a build for @p architectures, as "80,90-real,100a" of
 *  CMAKE_CUDA_ARCHITECTURES, are on a GPU of capability @p cc, as 90 for 9.0, and what is missing
 *  there (driver_checkup.c). */
void driver_check_code(driver_checkup_t *checkup, const char *architectures, int cc);
/** Same for NCCL. */
void driver_check_nccl(driver_checkup_t *checkup);

/** The findings as JSON (driver_json.c). */
int driver_write_checkup(driver_job_t *job, const char *path, const driver_checkup_t *checkup);

#endif /* DRIVER_DOCTOR_H */
