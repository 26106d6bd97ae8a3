/* SPDX-License-Identifier: Apache-2.0 */
/** @file scale.h  spmm_dist --scale: what a product would exchange and take on more ranks. */
#ifndef DRIVER_SCALE_H
#define DRIVER_SCALE_H

#include "driver_options.h"

/** What the prediction knows of a machine; read_machine() says what a file may hold. */
typedef struct {
    double gather;               /**< bytes/s of rows of B that the product of a rank reads */
    double within, between;      /**< bytes/s in, and as many out, of a rank within its node, and
                                      through its adapter */
    double latency_s, message_s; /**< of the first message between nodes, and of each further one */
} scale_machine_t;

/** What limits a rank: the longest of these, all at the same time (max-rate model). */
typedef enum {
    SCALE_WORK,     /**< its product */
    SCALE_ADAPTER,  /**< bytes between nodes */
    SCALE_WITHIN,   /**< bytes within the node */
    SCALE_MESSAGES, /**< their number */
    SCALE_LIMITS
} scale_limit_t;

/** One way to exchange on one number of ranks. */
typedef struct {
    const char   *exchange;    /**< "flat", "node", "cover", "cover-node" */
    bool          nodes_first; /**< the partition knows of nodes */
    int           groups;      /**< of columns */
    spmm_flow_t   between;
    double        within_bytes; /**< of the busiest rank; but for flat a bound */
    double        seconds[SCALE_LIMITS];
    scale_limit_t limit; /**< the longest of them */
} scale_row_t;

enum { SCALE_ROWS = 12, SCALE_CASES = 16 };

/** One number of ranks.  Row 0 is flat on a partition that knows nothing of nodes. */
typedef struct {
    int         ranks, nodes, n_rows;
    scale_row_t row[SCALE_ROWS];
} scale_case_t;

typedef struct {
    scale_machine_t machine;
    int             per_node, n_cases;
    const char     *partition;
    scale_case_t    item[SCALE_CASES];
} scale_t;

/** Count, print and write what options->scale asks for.  Collective, agreed. */
int driver_scale(driver_job_t *job, const driver_options_t *options);

/** H200 with one adapter of 400 Gb/s each, where @p path is NULL. */
int scale_read_machine(driver_job_t *job, const char *path, scale_machine_t *machine);

/** Fill seconds and limit.
 *  @param[in] work_bytes  of rows of B that the busiest rank reads */
void scale_predict(const scale_machine_t *machine, double work_bytes, scale_row_t *row);

/** "work" and the like. */
const char *scale_limit_name(scale_limit_t limit);

void scale_print(FILE *out, const scale_t *scale);
/** --json (driver_json.c). */
int scale_write_json(driver_job_t *job, const driver_options_t *options, const scale_t *scale);

#endif /* DRIVER_SCALE_H */
