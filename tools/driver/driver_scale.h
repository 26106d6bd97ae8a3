/* SPDX-License-Identifier: Apache-2.0 */
/** @file driver_scale.h  --scale: what a product would exchange on more ranks. */
#ifndef DRIVER_SCALE_H
#define DRIVER_SCALE_H

#include "driver_run.h"

enum { SCALE_WAYS = 2, DRIVER_SCALE_NODE = 8 /**< ranks of a node, unless given */ };

/** One way to exchange, and what crosses the network. */
typedef struct {
    const char        *exchange; /**< "flat", "node" */
    const spmm_flow_t *between;  /**< of the info */
} scale_way_t;
scale_way_t driver_scale_way(const spmm_scale_info_t *info, int way);

/** Count for options->scale, print and write options->json.  On one rank. */
int driver_scale(driver_run_t *run);

/** The counts of each number of ranks as JSON (driver_json.c). */
int driver_write_scale(driver_job_t *job, const driver_options_t *options,
                       const spmm_scale_info_t *info);

#endif /* DRIVER_SCALE_H */
