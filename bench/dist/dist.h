/* SPDX-License-Identifier: Apache-2.0 */
/** @file dist.h
 *  bench_dist: one product on several GPUs against what a careful user would write with NCCL and
 *  cuSPARSE.  A failure that only one rank sees ends the program: it is a benchmark.
 */
#ifndef BENCH_DIST_H
#define BENCH_DIST_H

#include <cuda_runtime.h>
#include <nccl.h>

#include "api/context.h"
#include "dist_options.h"
#include "driver_verify.h"
#include "plan/plan.h"

/** What all matrices of a run share. */
typedef struct {
    driver_job_t    job;
    dist_options_t  options;
    spmm_context_t *ctx;
    ncclComm_t      nccl; /**< of the baselines; NULL on one rank */
    cudaStream_t    stream;
    cudaEvent_t    *mark; /**< [iterations + 1] */
    void           *scratch;
    size_t          scratch_bytes; /**< overwritten to give the host a lead over the GPU */
    FILE           *out;           /**< rank 0 only */
} dist_bench_t;

/** One matrix and width, its operands in the distribution of the plans. */
typedef struct {
    dist_bench_t      *bench;
    const char        *name; /**< of the input */
    spmm_matrix_t     *A;
    spmm_matrix_info_t info;
    int64_t            n;
    driver_dense_t     dense; /**< what B is drawn from */
    void              *B, *C; /**< device, owned: [b_rows x n] and [c_rows x n], row-major */
    int64_t            b_rows, c_rows;
    int64_t           *row; /**< [b_rows] original index of each, owned */
} dist_case_t;

/** Milliseconds: largest over ranks of each rank's median, NaN where not measured. */
typedef struct {
    double total_ms, loop_ms; /**< between events; wall time of a loop, a product */
    double pack_ms, exchange_ms, local_ms, halo_ms;
    double overlap;                  /**< mean over ranks */
    double comm_ms, own_ms, rest_ms; /**< exchange, diagonal and off-diagonal block, timed in a row
                                          without phase events */
    double spread;                   /**< largest over mean local_ms of the ranks */
    double host_ms;                  /**< in which spmm_execute() returns */
} dist_times_t;

/** A row of the table. */
typedef struct {
    const char  *input, *variant, *partition, *engine, *halo_engine, *transport, *schedule;
    int64_t      n, rows, nnz, halo_rows, halo_rows_max;
    dist_times_t times;
    double       max_error;
    bool         passed;
} dist_row_t;

/* dist_time.c */

/** Enqueues one product, or a part of it, on the stream of the bench. */
typedef void (*dist_run_t)(void *self);

/** Print the sentence and end all ranks, unless @p status is SPMM_OK. */
void dist_must(const dist_bench_t *b, spmm_status_t status, const char *what);
void dist_must_cuda(const dist_bench_t *b, cudaError_t code, const char *what);
void dist_must_nccl(const dist_bench_t *b, ncclResult_t code, const char *what);

/** Median over iterations of this rank, in ms.  Collective. */
double dist_time_own(const dist_bench_t *b, dist_run_t run, void *self);
/** Milliseconds of the host in one of these products. */
double dist_time_host(void);
/** The same, largest over ranks.  Collective. */
double dist_time(const dist_bench_t *b, dist_run_t run, void *self);
/** Wall time of a loop of iterations over their number, largest over ranks, in ms.  Collective. */
double dist_time_loop(const dist_bench_t *b, dist_run_t run, void *self);
/** The phases of @p plan, which profiles, on this rank into @p own: those of the last of some
 *  products in a row, with the host ahead.  Collective. */
void dist_time_phases(const dist_case_t *c, spmm_plan_t *plan, dist_run_t run, void *self,
                      dist_times_t *own);
/** own->overlap: the hidden share of the shorter of exchange and diagonal block, each timed on its
 *  own, on this rank; NaN where the columns of B travel in chunks, or both blocks are one.  After
 *  own->total_ms. Collective. */
void dist_time_overlap(const dist_case_t *c, spmm_plan_t *plan, dist_times_t *own);
/** The names that ranks have, each once, with + between, into @p text [size].  Collective. */
void dist_join_names(const dist_bench_t *b, const char *name, char *text, size_t size);
/** From the times of each rank to those of all.  Collective. */
void dist_gather_times(const dist_bench_t *b, const dist_times_t *own, dist_times_t *times);

/* dist_base.c: the baselines. */

typedef struct dist_base dist_base_t;

enum { DIST_BASELINES = 3 };
extern const char *const dist_baseline_names[DIST_BASELINES];

/** Prepare all baselines in the distribution of @p plan.  Collective. */
dist_base_t *dist_base_create(const dist_case_t *c, const spmm_plan_t *plan);
/** Time baseline @p k.  Collective. */
void dist_base_time(dist_base_t *base, int k, dist_times_t *times);
/** Enqueue one product of baseline @p k. */
void dist_base_run(dist_base_t *base, int k);
void dist_base_destroy(dist_base_t *base);

/* dist_blocks.c: this rank's rows as one block. */

typedef struct {
    spmm_plan_t parts;  /**< local, remote and halo alone are its own */
    spmm_csr_t  needed; /**< columns: own rows of B, then ghost rows */
    spmm_csr_t  all;    /**< columns: rows of B of all ranks, each padded to stride; empty on one */
    int64_t     stride; /**< most rows of B on a rank */
} dist_blocks_t;

/** Collective.  Free with dist_blocks_free(). */
void dist_blocks_create(const dist_case_t *c, const spmm_plan_t *plan, dist_blocks_t *blocks);
void dist_blocks_free(dist_blocks_t *blocks);

/* dist_check.c */

/** Overwrite C with NaN. */
void dist_poison(const dist_case_t *c);
/** Compare C with the FP64 product of the original matrix on sampled rows.  Collective. */
void dist_check(const dist_case_t *c, const spmm_plan_t *plan, dist_row_t *row);

/* dist_report.c */

void dist_print_header(const dist_bench_t *b, int argc, char **argv);
void dist_print_row(const dist_bench_t *b, const dist_row_t *row, const double base_ms[]);

#endif /* BENCH_DIST_H */
