/* SPDX-License-Identifier: Apache-2.0 */
/** @file driver_run.h  Operands, timing and verification of one planned product. */
#ifndef DRIVER_RUN_H
#define DRIVER_RUN_H

#include "driver_options.h"
#include "driver_verify.h"

enum { DRIVER_NAME = 64 };

/** Parts of an execute, as spmm_plan_stats_t has them; TOTAL is wall time of the driver. */
enum { DRIVER_PACK, DRIVER_EXCHANGE, DRIVER_LOCAL, DRIVER_HALO, DRIVER_TOTAL, DRIVER_PHASES };

/** Over ranks, of the median over iterations; seconds, NaN where it was not measured. */
typedef struct {
    double min, avg, max;
} driver_spread_t;

/** What there is to report.  Equal on all ranks, except that stats are this rank's own where its
 *  header says so. */
typedef struct {
    spmm_context_info_t context;
    spmm_matrix_info_t  matrix;
    spmm_plan_stats_t   stats;
    char             engine[DRIVER_NAME], halo_engine[DRIVER_NAME]; /**< of all ranks, or "mixed" */
    double           input_s;                                       /**< reading or generating */
    size_t           host_bytes_max, device_bytes_max;              /**< of the plan, on any rank */
    int64_t          recv_bytes_total;                              /**< per execute */
    driver_spread_t  phase[DRIVER_PHASES];
    double           total_s;  /**< median over iterations of the slowest rank */
    double           overlap;  /**< part of the shorter of exchange and work that need not wait for
                                      it that the other hides, mean over ranks; NaN */
    double           flops;    /**< of an entry and a column: 2, complex 8 */
    double           gflops;   /**< flops * nnz * columns / total_s */
    bool             verified; /**< the fields below are set */
    bool             passed;
    driver_verdict_t verdict;
    double           tolerance;
    int64_t          spoiled; /**< elements of C's padding that were overwritten */
} driver_report_t;

/** What the program works on. */
typedef struct {
    driver_job_t           *job;
    const driver_options_t *options;
    spmm_context_t         *ctx;
    spmm_matrix_t          *A;
    spmm_plan_t            *plan;
    driver_report_t        *report;
} driver_run_t;

/** One line on the standard error stream of rank 0, where --progress asks for it. */
void driver_progress(const driver_run_t *run, const char *text);

/** Time the planned product, verify it when asked to, and fill the report.  Collective, agreed. */
int driver_run(driver_run_t *run);

/** Reductions of what the plan's ranks tell apart (driver_stats.c).  Collective, agreed. */
int driver_collect(driver_run_t *run, const double median_s[DRIVER_PHASES], double planned_total_s);

#endif /* DRIVER_RUN_H */
