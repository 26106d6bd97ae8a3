/* SPDX-License-Identifier: Apache-2.0 */
/** @file bench_time.h  Device time of products, by CUDA events. */
#ifndef BENCH_TIME_H
#define BENCH_TIME_H

#include <cuda_runtime_api.h>

#include "bench_dense.h"

/** What all timings of a run share. */
typedef struct {
    cudaStream_t stream;
    size_t       l2_bytes;
    void        *scratch; /**< 2 * l2_bytes, overwritten to give the host a lead */
    cudaEvent_t *mark;    /**< [2 x iterations] before and after each product */
    double      *seconds; /**< [iterations] */
    int64_t      iterations;
    char         device[256];
    int          runtime, driver; /**< CUDA versions, 13000 for 13.0 */
} bench_timer_t;

/** On the current device.  @return an exit code after a sentence on stderr */
int  bench_timer_create(int64_t iterations, bench_timer_t *timer);
void bench_timer_destroy(bench_timer_t *timer);

/** Pairs of B and C that together exceed twice L2; 1 unless the caches are to rotate. */
int bench_timer_sets(const bench_timer_t *timer, const bench_options_t *options, size_t pair_bytes);

/** Median seconds of one execute of @p plan, with one B and C, so that small problems sit in L2, or
 *  with the next of @p dense each time. */
int bench_time_plan(bench_timer_t *timer, int64_t warmup, bool rotates, spmm_plan_t *plan,
                    const bench_dense_t *dense, double *median);

/** Does the device still work?  Waits for it. */
bool bench_timer_alive(void);

#endif /* BENCH_TIME_H */
