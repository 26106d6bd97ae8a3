/* SPDX-License-Identifier: Apache-2.0 */
/** @file gpu_engine.h
 *  What tests of engines on a GPU have in common: a table of the ways in which a program runs its
 *  engines, and the tests that each of them must pass.
 */
#ifndef SPMM_GPU_ENGINE_H
#define SPMM_GPU_ENGINE_H

#include "gpu_case.h"
#include "tc_case.h"

/** An engine and the types it runs with. */
typedef struct {
    const char    *engine; /**< NULL: end of the table */
    spmm_compute_t compute;
    spmm_type_t    type;   /**< of A and B; AUTO: FP64 or FP32, as compute says */
    bool           wide_c; /**< of 16-bit A and B: C in FP32; waiting and far rows are not tried */
    bool           by_columns; /**< B and C are column-major */
    bool           brief;      /**< left out where half of the ways show enough */
    /** NULL, or instead of the engine's own */
    spmm_status_t (*build)(const spmm_engine_ops_t *engine, const spmm_csr_t *block,
                           const spmm_problem_t *problem, const spmm_device_t *device,
                           void **format);
} gpu_engine_t;

enum { GPU_ENGINE_WAYS = 24 }; /* at most */

/** The program's own. */
extern const gpu_engine_t gpu_engines[];

/** Opened by test_engine_open(). */
extern spmm_device_t gpu_device;

/** Open it for a test that is named on the command line, where that one has not run. */
void      gpu_engine_ready(void);
int       gpu_engine_count(void);
tc_case_t gpu_engine_case(int k);
/** For all ways, or for those that are not brief. */
void gpu_engine_each(void (*check)(const tc_case_t *t));
void gpu_engine_each_long(void (*check)(const tc_case_t *t));

/* Tests for the list of a program; the first one opens the device. */
void test_engine_open(void **state);
void test_engine_shapes(void **state);
/** For all that read row-major blocks. */
void test_engine_edges(void **state);
void test_engine_accuracy(void **state);
void test_engine_special_values(void **state);
void test_engine_same_bits(void **state);
void test_engine_life(void **state);
/** The first execute after build() must not wait either. */
void test_engine_asynchronous(void **state);
void test_engine_far(void **state);
/** Generators in FP16, by the ways that are not brief. */
void test_engine_matrices(void **state);

#endif /* SPMM_GPU_ENGINE_H */
