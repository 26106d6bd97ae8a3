/* SPDX-License-Identifier: Apache-2.0 */
/** @file driver_options.h  The command line of spmm_dist. */
#ifndef DRIVER_OPTIONS_H
#define DRIVER_OPTIONS_H

#include <stdbool.h>
#include <stdio.h>

#include "driver_job.h"

/** What the program is asked to do. */
typedef enum {
    DRIVER_RUN,
    DRIVER_HELP,
    DRIVER_VERSION,
    DRIVER_LIST_ENGINES,
    DRIVER_LIST_TRANSPORTS,
    DRIVER_LIST_PARTITIONERS,
    DRIVER_DOCTOR,
    DRIVER_CONVERT
} driver_action_t;

enum { DRIVER_SCALE_CASES = 16 };

/** Numbers of ranks to count for. */
typedef struct {
    int     n; /**< 0: --scale was not given */
    int64_t ranks[DRIVER_SCALE_CASES];
} driver_scale_t;

/** Strings are borrowed from argv; NULL where an option was not given. */
typedef struct {
    driver_action_t    action;
    const char        *matrix, *generate; /**< one of the two for DRIVER_RUN */
    const char        *convert[2];        /**< from and to; the first is matrix, too */
    int64_t            columns;
    spmm_type_t        type;
    spmm_compute_t     compute;
    spmm_op_t          op;
    spmm_layout_t      layout;
    spmm_type_t        halo_type; /**< likewise */
    spmm_device_kind_t device;
    const char        *engine, *partition, *transport;
    const char        *write_partition, *json;
    const char        *tuning; /**< as the plan option */
    driver_scale_t     scale;
    int64_t            nccl_ctas;      /**< as the context option */
    int64_t            ranks_per_node; /**< likewise */
    int64_t            executes;       /**< as the plan option */
    double             imbalance, alpha, beta, timeout_s;
    int64_t            warmup, iterations;
    int64_t            pad; /**< elements added to the leading dimensions */
    uint64_t           seed;
    bool verify, explain, deterministic, reproducible, exact_nonfinite, graph, progress;
} driver_options_t;

/** Parse strictly.  Not collective: all ranks see the same arguments and fail alike.
 *  @return DRIVER_USAGE, or DRIVER_OTHER for an option this build lacks the library for */
int driver_options_parse(driver_job_t *job, int argc, char **argv, driver_options_t *options);

/** Can the files of --json and --write-partition be written?  Asked before the work, not after
 *  it.  Collective, agreed. */
int driver_check_outputs(driver_job_t *job, const driver_options_t *options);

/** DRIVER_GOOD for 0, else DRIVER_OTHER with the sentence of the errno @p error
 *  (base/output.h). */
int driver_check_write(driver_job_t *job, const char *path, int error);

void driver_print_help(FILE *out);

/** "64f" and the like, as the options take them. */
const char *driver_type_name(spmm_type_t type);
const char *driver_op_name(spmm_op_t op);
const char *driver_compute_name(spmm_compute_t compute);

/** The mode that SPMM_COMPUTE_AUTO stands for. */
spmm_compute_t driver_compute_resolve(const driver_options_t *options);

#endif /* DRIVER_OPTIONS_H */
