/* SPDX-License-Identifier: Apache-2.0 */
/** @file walk.h  One walk through every call of the public API, for tests that let something fail
 *  on the way. */
#ifndef SPMM_WALK_H
#define SPMM_WALK_H

#include "test_main.h"

#include "spmm_dist/spmm_dist.h"

/** Write a 2 x 2 full matrix in binary CSR, by spmm_temp_write().  Collective. */
const char *walk_binary_csr(void);

/** What A is made of, and the plan. */
typedef struct {
    const char         *path;   /**< from this file */
    const char         *spec;   /**< from this generator; with neither: a ring from arrays, columns
                                     not in order */
    bool                blocks; /**< the ring's entries as blocks of 2 x 1 instead */
    bool                narrow; /**< the ring's indices in 32 bits */
    spmm_plan_options_t options;
    int                 per_node; /**< ranks of a node; 0: those of this machine */
    double              timeout_s;
    const char         *parts; /**< where the plan writes its partition; NULL: /dev/null */
} walk_t;

/** What a walk holds; NULL where it did not get that far. */
typedef struct {
    spmm_context_t *ctx;
    spmm_matrix_t  *A;
    spmm_plan_t    *plan;
    void           *given, *B, *C; /**< B in the caller's rows; B and C in the plan's */
} held_t;

/** The device of the walks: SPMM_TEST_DEVICE=cuda, else the CPU. */
spmm_device_kind_t walk_device(void);

/** Create the context; SPMM_ERR_UNSUPPORTED where there is no such device. */
spmm_status_t walk_open(const walk_t *walk, held_t *h);
/** All calls after it.  The ranks agree on what is local, as a program would. */
spmm_status_t walk_go(const walk_t *walk, held_t *h);
/** Free what there is but the context, which walk_close() does.  Fails nothing. */
void walk_drop(held_t *h);
void walk_close(held_t *h);

#endif /* SPMM_WALK_H */
